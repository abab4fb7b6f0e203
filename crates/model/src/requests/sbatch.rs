//! `sbatch`'s command line, environment and script, put together.

use crate::options::defined_options::defined_options;
use crate::options::diagnostic::{Diagnostic, Span};
use crate::options::getopt::{Taken, Word};
use crate::options::given::{Given, Origin};
use crate::options::option_table::{Command, Dialect, Key};
use crate::options::reading::Reading;
use crate::options::text_lengths::{LONGEST_NAME, TOO_LONG};
use crate::options::{Show, Surroundings, getopt};
use crate::requests::job_description::JobDescription;
use crate::requests::submission_environment::{
    JOB_NAME, OF_ONE_JOB, option_variables, submission_variables,
};
use crate::requests::{Request, asked_job, component, described_job};
use crate::scripts::{foreign_directives, script};
use crate::values::{Export, PassedLimits, StepContainer};
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
    /// Its other components, where it is heterogeneous.
    pub later: Vec<Request>,
    /// What `sbatch` would send: all that was asked, as it was asked.
    pub description: JobDescription,
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
    /// `--get-user-env`
    pub get_user_env: bool,
    /// `--uid`: the user that root submits it for, by name or number.
    pub uid: Option<String>,
    /// `--gid`: the group that root has it run with, by name or number.
    pub gid: Option<String>,
    /// `--container-image` and its like: of the script.
    pub container: StepContainer,
    /// `--propagate`
    pub limits: PassedLimits,
    /// `--clusters`
    pub clusters: Option<String>,
    /// `--parsable`
    pub parsable: bool,
    /// `--test-only`
    pub test_only: bool,
    /// `--wait`
    pub wait: bool,
    /// `--quiet`: only errors are said.
    pub quiet: bool,
    /// `--quiet` twice: errors are not said either.
    pub silent: bool,
    /// What `--verbose` says of the options that were given.
    pub defined: Vec<String>,
    /// Something to print instead.
    pub show: Option<Show>,
    /// All options that were given, in the order in which they were read: script, environment,
    /// command line.
    pub given: Vec<Given>,
}

impl Sbatch {
    /// Whether the job gets the variables that a login sets, below those that are sent with it:
    /// where `--export` leaves some out, or with `--get-user-env` (sbatch(1)).
    #[must_use]
    pub fn wants_login(&self) -> bool {
        !self.export.is_all() || self.get_user_env
    }

    /// The environment that is sent with the job: what `--export` leaves of the caller's, without
    /// what belongs to a job that `sbatch` was called in, and what `sbatch` sets. Below it lies what
    /// a `login` sets, of which there is some where [`Sbatch::wants_login`] says so.
    #[must_use]
    pub fn environment(
        &self,
        caller: &[(String, String)],
        login: &[(String, String)],
        host: &str,
        cwd: &Path,
        umask: u32,
    ) -> Vec<(String, String)> {
        let is_named = self.source != ScriptSource::Stdin
            || self.given.iter().any(|given| is(given, Key::JobName));
        // A script that is piped in has no name, and leaves the caller's variable alone.
        let foreign = |name: &str| {
            let belongs = OF_ONE_JOB.iter().any(|prefix| name.starts_with(prefix));
            belongs && (is_named || name != JOB_NAME)
        };
        let caller: Vec<(String, String)> = caller
            .iter()
            .filter(|(name, _)| !foreign(name))
            .cloned()
            .collect();
        let mut environment = self.export.for_job(&caller);
        let below = login
            .iter()
            .filter(|(name, _)| !environment.iter().any(|(known, _)| known == name));
        let below: Vec<_> = below.cloned().collect();
        environment.extend(below);
        let mut added = submission_variables(&self.request, host, cwd, umask);
        added.retain(|(name, _)| is_named || name != JOB_NAME);
        added.extend(option_variables(&self.request, &self.description));
        let has = |name: &str| caller.iter().any(|(known, _)| known == name);
        if self.wants_login() {
            added.push(("SLURM_GET_USER_ENV".to_owned(), "1".to_owned()));
        }
        if !self.export.is_all() && !has("SLURM_EXPORT_ENV") {
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
    source_in(Dialect::Embedded, args)
}

fn source_in(dialect: Dialect, args: &[String]) -> ScriptSource {
    let taken = component::take(Command::Sbatch, dialect, &Word::of(args));
    let given = taken.iter().rev().flat_map(|taken| taken.given().rev());
    let wrap = given.into_iter().find(|given| is(given, Key::Wrap));
    let used = taken.last().map_or(0, |taken| taken.used);
    match (wrap, args.get(used)) {
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
    let words = Word::of(args);
    let dialect = surroundings.dialect();
    let all = component::take(Command::Sbatch, dialect, &words);
    let (taken, last) = (&all[0], &all[all.len() - 1]);
    let source = source_in(dialect, args);
    let rest = &args[last.used..];
    let text = match &source {
        ScriptSource::Wrap(command) => {
            format!("#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{command}\n")
        }
        ScriptSource::File(_) | ScriptSource::Stdin => script.unwrap_or_default().to_owned(),
    };
    let base = match &source {
        ScriptSource::File(name) => name.rsplit('/').next().unwrap_or(name),
        ScriptSource::Stdin | ScriptSource::Wrap(_) => "stdin",
    };
    let first = Component {
        taken,
        variables,
        script: base,
        text: &text,
        index: 0,
        wrapped: matches!(source, ScriptSource::Wrap(_)),
    };
    let mut reading = Reading::new(Command::Sbatch, surroundings);
    let mut carried = Vec::new();
    let mut more = first.read(&mut reading, &mut carried);
    let description = asked_job::settle(&mut reading);
    let name = match &source {
        ScriptSource::Wrap(_) => "wrap",
        ScriptSource::Stdin => "sbatch",
        ScriptSource::File(_) => base,
    };
    let mut later = Vec::new();
    let mut index = 1;
    // What is wrong with one component is wrong with all of a heterogeneous job. The last of the
    // command line goes for all that follow in the script.
    while more || index < all.len() {
        let mut other = Reading::new(Command::Sbatch, surroundings);
        let taken = all.get(index).unwrap_or(last);
        more = Component {
            taken,
            index,
            ..first
        }
        .read(&mut other, &mut carried);
        let description = asked_job::settle(&mut other);
        later.push(described_job::request(&other, &description, name));
        reading.diagnostics.extend(other.diagnostics);
        index += 1;
    }
    if reading.options.job_name.is_none() && name.len() > LONGEST_NAME {
        reading.refuse_whole_as_controller(TOO_LONG);
    }
    let mut request = described_job::request(&reading, &description, name);
    // As with Slurm's own, what the last component says of that holds for those that say nothing.
    if let Some(requeue) = later.last().and_then(|last| last.rare.requeue) {
        for component in std::iter::once(&mut request).chain(&mut later) {
            component.rare.requeue.get_or_insert(requeue);
        }
    }
    let o = &reading.options;
    let mut sbatch = Sbatch {
        request,
        later,
        description,
        script: text,
        args: rest.get(1..).unwrap_or_default().to_vec(),
        export: o.export.clone().unwrap_or_default(),
        export_file: o.export_file.clone(),
        get_user_env: o.get_user_env,
        uid: o.uid.clone(),
        gid: o.gid.clone(),
        container: o.container.clone(),
        limits: o.passed_limits(),
        clusters: o.clusters.clone(),
        parsable: o.parsable,
        test_only: o.test_only,
        wait: o.wait_for_end,
        quiet: o.quiet > 0,
        silent: o.quiet > 1,
        defined: defined_options(&reading.given, o.verbose),
        show: o.show,
        source,
        given: Vec::new(),
    };
    let (remarks, given) = reading.into_remarks();
    sbatch.given = given;
    (sbatch, remarks)
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

/// One component of a job: the only one, unless the job is heterogeneous.
#[derive(Clone, Copy)]
struct Component<'a> {
    taken: &'a Taken,
    variables: &'a dyn Fn(&str) -> Option<String>,
    script: &'a str,
    text: &'a str,
    index: usize,
    wrapped: bool,
}

impl Component<'_> {
    /// Reads script, environment and command line, in this order; tells whether another component
    /// follows. What goes on from those before is `carried`, and of this one afterwards too.
    fn read(
        &self,
        reading: &mut Reading<'_>,
        carried: &mut Vec<Result<Given, Diagnostic>>,
    ) -> bool {
        // What is wrong with it was said of the component that has it.
        reading.read(carried.clone());
        reading.diagnostics.clear();
        let shown = [Key::Help, Key::Usage, Key::Version];
        let shows = |given: &Given| shown.iter().any(|key| is(given, *key));
        let needs_script = !self.taken.given().any(shows);
        let mut more = false;
        let start = reading.diagnostics.len();
        if self.wrapped && self.taken.used < self.taken.words {
            let message = "Script arguments not permitted with --wrap option";
            let span = Span::Argument(self.taken.used);
            let error = Diagnostic::error("wrap-arguments", span, message, 1);
            reading.diagnostics.push(error);
        }
        if needs_script {
            reading.diagnostics.extend(script::check(self.text));
            more = self.directives(reading, carried);
            let ignored = self.taken.given().any(|given| is(given, Key::IgnorePbs))
                || (self.variables)("SBATCH_IGNORE_PBS").is_some()
                || reading.options.ignore_pbs;
            if !ignored {
                foreign_directives::read(reading, self.script, self.text);
            }
            if script_size(self.text) > LONGEST_SCRIPT {
                reading.refuse_whole_as_controller(TOO_LONG);
            }
        }
        reading.environment(self.variables);
        // Its words are read first, to find the script, and so told of first; they count last.
        let before = reading.diagnostics.split_off(start);
        reading.read(self.taken.read.clone());
        carried.extend(component::carried(&self.taken.read));
        reading.diagnostics.extend(before);
        more
    }

    fn directives(
        &self,
        reading: &mut Reading<'_>,
        carried: &mut Vec<Result<Given, Diagnostic>>,
    ) -> bool {
        let (words, remarks, more) = script::directives(self.script, self.text, self.index);
        reading.diagnostics.extend(remarks);
        let dialect = reading.surroundings.dialect();
        let mut taken = getopt::take(Command::Sbatch, dialect, Origin::Script, &words);
        taken.read.retain(|read| {
            let Ok(given) = read else { return true };
            let idle = NOT_IN_SCRIPTS.iter().any(|key| is(given, *key));
            if idle {
                let message = format!("--{} in a script has no effect", given.option.long);
                let note = Diagnostic::note("no-effect", given.span.clone(), message);
                reading.diagnostics.push(note);
            }
            !idle
        });
        carried.extend(component::carried(&taken.read));
        reading.read(taken.read);
        if let Some(word) = words.get(taken.used) {
            let message = format!("Invalid directive found in batch script: {}", word.text);
            let error = Diagnostic::error("directive-word", word.span.clone(), message, 255);
            reading.diagnostics.push(error);
        }
        more
    }
}

/// `max_script_size` of a controller where nothing else is configured.
const LONGEST_SCRIPT: usize = 4 * 1024 * 1024;

/// How many bytes a script has whose text this is. What was no UTF-8 stands in it as a character of
/// three bytes for each that it was (U+F780 to U+F7FF, or U+FFFD).
#[must_use]
pub fn script_size(text: &str) -> usize {
    if text.len() <= LONGEST_SCRIPT {
        return text.len();
    }
    let stands_in = |c: &char| matches!(c, '\u{f780}'..='\u{f7ff}' | '\u{fffd}');
    text.len() - 2 * text.chars().filter(stands_in).count()
}

fn is(given: &Given, key: Key) -> bool {
    given.option.key == Some(key)
}

#[cfg(test)]
mod tests;
