//! `sbatch`'s command line, environment and script, put together.

use crate::diagnostic::{Diagnostic, Span};
use crate::getopt::{Given, Word};
use crate::given_options::{Origin, Reading, Show, Surroundings};
use crate::job_environment::{OF_ONE_JOB, submission_variables};
use crate::option_table::{Command, Key};
use crate::{Export, Request, asked_job, getopt, script};
use std::path::Path;

/// Where the script comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptSource {
    /// A file, its name as it was given.
    File(String),
    /// Standard input: no name was given.
    Stdin,
    /// `--wrap`: this command line.
    Wrap(String),
}

/// What `sbatch` was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Sbatch {
    /// The job.
    pub request: Request,
    /// Where its script comes from.
    pub source: ScriptSource,
    /// The script: what was given, or what `--wrap` makes.
    pub script: String,
    /// Arguments of the script.
    pub args: Vec<String>,
    /// Which of the caller's variables go along.
    pub export: Export,
    /// `--export-file`
    pub export_file: Option<String>,
    /// `--clusters`
    pub clusters: Option<String>,
    /// `--parsable`
    pub parsable: bool,
    /// `--test-only`
    pub test_only: bool,
    /// `--wait`
    pub wait: bool,
    /// `--quiet`
    pub quiet: bool,
    /// How often `--verbose`.
    pub verbose: u32,
    /// Something to print instead.
    pub show: Option<Show>,
}

impl Sbatch {
    /// The environment that is sent with the job: what `--export` leaves of the caller's, without
    /// what belongs to a job that `sbatch` was called in, and what `sbatch` sets.
    #[must_use]
    pub fn environment(
        &self,
        caller: &[(String, String)],
        host: &str,
        cwd: &Path,
        umask: u32,
    ) -> Vec<(String, String)> {
        let foreign = |name: &str| OF_ONE_JOB.iter().any(|prefix| name.starts_with(prefix));
        let caller: Vec<(String, String)> = caller
            .iter()
            .filter(|(name, _)| !foreign(name))
            .cloned()
            .collect();
        let mut environment = self.export.filter(&caller);
        let mut added = submission_variables(&self.request, host, cwd, umask);
        let has = |name: &str| caller.iter().any(|(known, _)| known == name);
        if self.export != Export::All && !has("SLURM_EXPORT_ENV") {
            added.push(("SLURM_EXPORT_ENV".to_owned(), self.export.to_string()));
        }
        environment.retain(|(name, _)| !added.iter().any(|(known, _)| known == name));
        environment.extend(added);
        environment
    }
}

/// Tells where the script comes from, so that it can be read before [`resolve`].
#[must_use]
pub fn script_source(args: &[String]) -> ScriptSource {
    let words = words(args);
    let taken = getopt::take(Command::Sbatch, &words);
    let wrap = taken.given.iter().rev().find(|given| is(given, Key::Wrap));
    match (wrap, args.get(taken.used)) {
        (Some(wrap), _) => ScriptSource::Wrap(wrap.value.clone().unwrap_or_default()),
        (None, Some(name)) => ScriptSource::File(name.clone()),
        (None, None) => ScriptSource::Stdin,
    }
}

/// Puts together what was asked for: the command line goes before the environment (`variables`
/// looks up a name), which goes before the script's directives.
///
/// `args` are the words after the command's name; `script` the text that [`script_source`] named,
/// and needn't be given for `--wrap`. Where an error is among the diagnostics, Slurm would refuse,
/// and stop at the first one.
#[must_use]
pub fn resolve(
    args: &[String],
    variables: &dyn Fn(&str) -> Option<String>,
    script: Option<&str>,
    surroundings: &Surroundings<'_>,
) -> (Sbatch, Vec<Diagnostic>) {
    let words = words(args);
    let taken = getopt::take(Command::Sbatch, &words);
    let source = script_source(args);
    let mut reading = Reading::new(Command::Sbatch, surroundings);
    reading.diagnostics = taken.diagnostics;
    let rest = &args[taken.used..];
    let shows =
        |given: &Given| is(given, Key::Help) || is(given, Key::Usage) || is(given, Key::Version);
    let needs_script = !taken.given.iter().any(shows);
    let text = match &source {
        ScriptSource::Wrap(command) => {
            if !rest.is_empty() {
                let message = "Script arguments not permitted with --wrap option";
                let span = Span::Argument(taken.used);
                let error = Diagnostic::error("wrap-arguments", span, message, 1);
                reading.diagnostics.push(error);
            }
            format!("#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{command}\n")
        }
        ScriptSource::File(_) | ScriptSource::Stdin => script.unwrap_or_default().to_owned(),
    };
    let base = match &source {
        ScriptSource::File(name) => name.rsplit('/').next().unwrap_or(name),
        ScriptSource::Stdin | ScriptSource::Wrap(_) => "stdin",
    };
    if needs_script {
        reading.diagnostics.extend(script::check(&text));
        directives(&mut reading, base, &text);
    }
    reading.environment(variables);
    reading.given(&taken.given, Origin::Arguments);
    asked_job::settle(&mut reading);
    let name = match &source {
        ScriptSource::Wrap(_) => "wrap",
        ScriptSource::Stdin => "sbatch",
        ScriptSource::File(_) => base,
    };
    let o = &reading.options;
    let sbatch = Sbatch {
        request: asked_job::request(&reading, name),
        script: text,
        args: rest.get(1..).unwrap_or_default().to_vec(),
        export: o.export.clone().unwrap_or_default(),
        export_file: o.export_file.clone(),
        clusters: o.clusters.clone(),
        parsable: o.parsable,
        test_only: o.test_only,
        wait: o.wait_for_end,
        quiet: o.quiet,
        verbose: o.verbose,
        show: o.show,
        source,
    };
    (sbatch, reading.diagnostics)
}

/// Options that `sbatch` takes from the command line alone.
const NOT_IN_SCRIPTS: &[Key] = &[
    Key::Help,
    Key::Quiet,
    Key::Usage,
    Key::Verbose,
    Key::Version,
    Key::Wrap,
];

fn directives(reading: &mut Reading<'_>, name: &str, text: &str) {
    let (words, diagnostics) = script::directives(name, text);
    reading.diagnostics.extend(diagnostics);
    let mut taken = getopt::take(Command::Sbatch, &words);
    reading.diagnostics.append(&mut taken.diagnostics);
    let (left_out, given): (Vec<Given>, Vec<Given>) = taken
        .given
        .into_iter()
        .partition(|given| NOT_IN_SCRIPTS.iter().any(|key| is(given, *key)));
    for given in left_out {
        let message = format!("--{} in a script has no effect", given.option.long);
        let note = Diagnostic::note("no-effect", given.span, message);
        reading.diagnostics.push(note);
    }
    reading.given(&given, Origin::Script);
    if let Some(word) = words.get(taken.used) {
        let message = format!("Invalid directive found in batch script: {}", word.text);
        let error = Diagnostic::error("directive-word", word.span.clone(), message, 255);
        reading.diagnostics.push(error);
    }
}

fn is(given: &Given, key: Key) -> bool {
    given.option.effect == crate::option_table::Effect::Sets(key)
}

fn words(args: &[String]) -> Vec<Word> {
    let word = |(index, text): (usize, &String)| Word {
        text: text.clone(),
        span: Span::Argument(index),
    };
    args.iter().enumerate().map(word).collect()
}
