//! `yard plan SCRIPT`: what a batch script that exists already would be.

use super::{Shown, end, json, now, said, say_refusals};
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use cluster_file::ClusterFile;
use jiff::tz::TimeZone;
use model::sbatch::{self, Sbatch};
use model::script_lines::{LineKind, script_lines};
use model::{Denial, Origin, Severity, SlurmVersion, Surroundings};
use runs::input_file;
use runs::{Described, JobToTest, Target, would_take};
use std::path::{Path, PathBuf};
use sys::Places;
use sys::users::this_user;
use train::site::{JobFate, Objection, ScriptPlan};

/// Plans a script for a cluster that is known by its file, or for the engine here.
pub fn plan(
    args: &Shown,
    path: &Path,
    flags: Vec<String>,
    on: Option<&str>,
    file: Option<Described>,
    places: &Places,
    printer: &Printer,
) -> Outcome {
    let text = read(path)?;
    let script = with_flags(&text, &flags);
    let around = Around::here();
    let mut words = flags;
    words.push(path.display().to_string());
    let (plan, script) = match file {
        Some(described) => {
            let file = described.file()?;
            let surroundings = around.on(&file);
            let (read, note) = resolve(path, &words, &variable, &text, &surroundings, &file.name)?;
            let mut plan = ScriptPlan::of(&read, &file, Some(this_user()));
            plan.written.extend(note);
            plan.written.extend(other_components(&text));
            (plan, script)
        }
        None => {
            let target = runs::target(places, on)?;
            let (read, note) = around.resolve_here(path, &words, &text, &target)?;
            let (described, differences) = Described::target(&target, places)?;
            let file = described.file()?;
            let mut plan = ScriptPlan::of(&read, &file, Some(this_user()));
            // What the file assumes holds there.
            plan.assumed.clear();
            plan.written.extend(note);
            plan.written.extend(other_components(&text));
            plan.written.extend(differences);
            // What is refused for sure is not asked; of this machine's own engine nothing is known before.
            let is_known = matches!(described, Described::File(_));
            plan.refusals
                .retain(|one| one.fate.is_warning() || is_known && !one.assumed);
            if !plan.is_refused() {
                let job = JobToTest {
                    request: read.request.clone(),
                    script: script.clone(),
                    flags: of_environment(&read),
                };
                let answer = would_take(&target.cluster(), &job, places)?;
                let (mut refusals, start) = said(answer, &target.cluster());
                if read.request.hold {
                    held(&mut refusals, &plan.refusals);
                }
                plan.refusals.extend(refusals);
                // A held job waits for its release.
                let start = start.filter(|_| !read.request.hold);
                plan.rows.extend(start);
            }
            (plan, script)
        }
    };
    if args.json {
        printer.line(&json::of_script(&plan, &script).to_string());
    } else if args.script {
        printer.data(&script);
        say_refusals(&plan.refusals, printer);
    } else {
        printer.shown(&plan.show());
    }
    Ok(end(plan.is_refused()))
}

/// What a question says of nodes is no refusal of a held job, which is taken and looked at once it is released. `known` was
/// said before.
fn held(refusals: &mut Vec<Objection>, known: &[Objection]) {
    refusals.retain_mut(|one| {
        if one.denial != Denial::NodeConfig {
            return true;
        }
        one.fate = JobFate::WaitsOnceReleased("BadConstraints".to_owned());
        one.assumed = true;
        let is_told = |known: &Objection| matches!(known.fate, JobFate::WaitsOnceReleased(_));
        !known.iter().any(is_told)
    });
}

/// What surrounds a call of this command.
pub struct Around {
    zone: TimeZone,
    cwd: PathBuf,
}

impl Around {
    /// This machine's time zone, and the current folder.
    pub fn here() -> Around {
        Around {
            zone: sys::local_zone(),
            cwd: std::env::current_dir().unwrap_or_default(),
        }
    }

    /// As sbatch of that cluster reads options.
    pub fn on(&self, file: &ClusterFile) -> Surroundings<'_> {
        cluster_file::surroundings(Some(file), None, now(), &self.zone, &self.cwd)
    }

    fn resolve_here(
        &self,
        path: &Path,
        words: &[String],
        text: &str,
        target: &Target,
    ) -> Result<(Sbatch, Option<String>), Failure> {
        let facts = &target.facts;
        let version = target.scheduler.split(' ').nth(1);
        let version = version.and_then(|text| text.parse::<SlurmVersion>().ok());
        let surroundings = if facts.embedded {
            let has_nodes = facts.name != backend::LOCAL;
            Surroundings::embedded(now(), &self.zone, &self.cwd)
                .with_nodes(has_nodes)
                .reading_files(crate::slurm::named_input::read_text)
        } else {
            cluster_file::surroundings(None, version, now(), &self.zone, &self.cwd)
        };
        resolve(path, words, &variable, text, &surroundings, &facts.name)
    }
}

/// Reads a script's options, with what a person should know of them; what sbatch would refuse is a
/// failure. Of options that a plugin brings it is not sure that the plugin isn't there.
pub fn resolve(
    path: &Path,
    words: &[String],
    variables: &dyn Fn(&str) -> Option<String>,
    text: &str,
    surroundings: &Surroundings<'_>,
    cluster: &str,
) -> Result<(Sbatch, Option<String>), Failure> {
    let read = |surroundings: &Surroundings<'_>| {
        let (read, remarks) = sbatch::resolve(words, variables, Some(text), surroundings);
        let mut remarks = remarks.into_iter();
        match remarks.find(|remark| remark.severity == Severity::Error) {
            Some(wrong) => Err(wrong),
            None => Ok(read),
        }
    };
    let wrong = match read(surroundings) {
        Ok(read) => return Ok((read, None)),
        Err(wrong) => wrong,
    };
    let with_plugin = Surroundings {
        pyxis: true,
        ..*surroundings
    };
    if !surroundings.embedded
        && let Ok(read) = read(&with_plugin)
    {
        let note = format!(
            "options of the plugin pyxis, which {cluster} is not known to have, are refused without it"
        );
        return Ok((read, Some(note)));
    }
    let on = if surroundings.embedded {
        String::new()
    } else {
        format!(" --on {cluster}")
    };
    Err(Failure::new(
        FailureKind::Refused,
        format!("sbatch would refuse {}", path.display()),
    )
    .there(wrong.message.replace('\n', " "))
    .todo(format!("yard lint {}{on}", path.display())))
}

/// A script's text; bytes that are no UTF-8 are replaced.
pub fn read(path: &Path) -> Result<String, Failure> {
    Ok(input_file::read(path)?.into_text())
}

/// What is set for sbatch, with bytes that are no UTF-8 standing for themselves.
fn variable(name: &str) -> Option<String> {
    Some(sys::odd_text::text(&std::env::var_os(name)?))
}

/// What the environment says, as options of the command line.
fn of_environment(read: &Sbatch) -> Vec<String> {
    let given = read.given.iter();
    let given = given.filter(|given| given.origin == Origin::Environment);
    given
        .map(|given| match &given.value {
            Some(value) => format!("--{}={value}", given.option.long),
            None => format!("--{}", given.option.long),
        })
        .collect()
}

/// What is to be said of a heterogeneous job, of which one component is planned.
fn other_components(text: &str) -> Option<String> {
    let lines = script_lines(text).kinds;
    let mut separators = lines.iter().enumerate();
    let mut separators = separators
        .by_ref()
        .filter(|(_, kind)| **kind == LineKind::Separator);
    let (first, _) = separators.next()?;
    let others = separators.count() + 1;
    let components = match others {
        1 => "another component".to_owned(),
        others => format!("{others} other components"),
    };
    Some(format!(
        "line {}: a heterogeneous job with {components}, and only the first is planned; plan each \
         as a script of its own",
        first + 1
    ))
}

/// The script with what the flags say as its last directives: the last of two counts.
fn with_flags(text: &str, flags: &[String]) -> String {
    if flags.is_empty() {
        return text.to_owned();
    }
    let lines = script_lines(text).kinds;
    let separator = lines.iter().position(|kind| *kind == LineKind::Separator);
    let first_component = &lines[..separator.unwrap_or(lines.len())];
    let is_read = |kind: &LineKind| {
        matches!(
            kind,
            LineKind::Interpreter
                | LineKind::Directive
                | LineKind::OldDirective
                | LineKind::Foreign
        )
    };
    let after = first_component.iter().rposition(is_read);
    let mut all: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let at = after.map_or(0, |line| line + 1).min(all.len());
    if let Some(before) = at.checked_sub(1).and_then(|line| all.get_mut(line))
        && !before.ends_with('\n')
    {
        before.push('\n');
    }
    let own = flags
        .iter()
        .map(|flag| format!("#SBATCH {}\n", train::directive(flag)));
    all.splice(at..at, own);
    all.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        let flags = ["--time=01:00:00".to_owned(), "--comment=a b".to_owned()];
        assert_eq!(with_flags(text, &flags), want);
        assert_eq!(with_flags(text, &[]), text);
    }

    #[test]
    fn flags_stand_behind_what_they_replace() {
        let own = "#SBATCH --time=01:00:00\n#SBATCH --comment=\"a b\"\n";
        check(
            "#!/bin/sh\n#SBATCH -t 5\n\n# x\nsrun a\n#SBATCH -n 2\n",
            &format!("#!/bin/sh\n#SBATCH -t 5\n{own}\n# x\nsrun a\n#SBATCH -n 2\n"),
        );
        check("#!/bin/sh", &format!("#!/bin/sh\n{own}"));
        check(
            "#!/bin/sh\n#SBATCH -t 5\n#SBATCH hetjob\n#SBATCH -n 2\ntrue\n",
            &format!("#!/bin/sh\n#SBATCH -t 5\n{own}#SBATCH hetjob\n#SBATCH -n 2\ntrue\n"),
        );
    }
}
