//! A batch script rewritten for another cluster.
//!
//! What one cluster file and the other say is carried over, each change with its reason. What they
//! don't say is asked, not guessed. Text that isn't concerned stays byte for byte.

mod accounts;
mod container_words;
mod containers;
mod features;
mod folders;
mod gpu_items;
mod gpus;
mod later_components;
mod modules;
mod partitions;
mod paths;
mod porter;
mod replaced;
mod sizes;
mod surroundings;
mod traces;
mod unknown_folders;
mod variables;

pub use porter::{Change, Mistake, Ported, Question};

use crate::cut_short::LookedAt;
use crate::input::{FolderFact, LintInput};
use crate::script::Script;
use cluster_file::ClusterFile;
use model::option_table::Key;
use model::{Severity, Timestamp};
use porter::Porter;
use resources::{Denial, Fate, Finding as Denied, Subject};
use std::path::Path;

/// A script and the clusters that it goes from and to.
#[derive(Clone, Copy, Debug)]
pub struct PortInput<'a> {
    /// The script's name, for messages.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Where it runs.
    pub from: &'a ClusterFile,
    /// Where it shall run.
    pub to: &'a ClusterFile,
    /// Whose job it is there, for accounts and QOS; anybody's where none is named.
    pub user: Option<&'a str>,
}

/// Rewrites a script for another cluster. A cluster's own scripts come back as they are.
#[must_use]
pub fn port(input: &PortInput<'_>) -> Ported {
    let PortInput {
        name,
        text,
        from,
        to,
        user,
    } = *input;
    let same = ClusterFile {
        name: from.name.clone(),
        ..to.clone()
    };
    if same == *from {
        return Ported {
            text: text.to_owned(),
            refused: mistakes(&read(name, text, from)),
            changes: Vec::new(),
            questions: Vec::new(),
        };
    }
    let looked = LookedAt::of(text);
    let script = read(name, &looked.text, from);
    let mut porter = Porter::new(&script, from, to, user);
    porter.options();
    porter.replaced();
    porter.containers();
    porter.paths();
    porter.site_variables();
    porter.modules();
    porter.surroundings();
    porter.later_components(name);
    if let Some(rest) = &looked.rest {
        let line = script.lines.number(rest.start());
        porter.ask(Some(line), rest.message.clone(), "what do they ask for?");
    }
    let mut ported = porter.finish(text);
    ported.refused = mistakes(&script);
    still_refused(name, &mut ported, to, user);
    ported
}

/// Why `sbatch` refuses a script, whatever the cluster has and allows.
fn mistakes(script: &Script<'_>) -> Vec<Mistake> {
    let errors = script.diagnostics.iter();
    let errors = errors.filter(|diagnostic| diagnostic.severity == Severity::Error);
    let mistake = |diagnostic: &model::Diagnostic| Mistake {
        line: match diagnostic.span {
            model::Span::Script { line, .. } => Some(line),
            model::Span::Whole | model::Span::Argument(_) | model::Span::Variable(_) => None,
        },
        words: one_line(&diagnostic.message),
    };
    errors.map(mistake).collect()
}

/// Lines of `sbatch`'s words in one: some go on in the next line.
fn one_line(message: &str) -> String {
    let mut text = String::new();
    for line in message.lines() {
        let goes_on = line.starts_with(char::is_lowercase) || text.ends_with('.');
        text.push_str(match (text.is_empty(), goes_on) {
            (true, _) => "",
            (false, true) => " ",
            (false, false) => "; ",
        });
        text.push_str(line);
    }
    text.replace(".  ", ". ")
}

/// Which of several clusters a script was written for: those whose partitions, accounts, GPUs,
/// features and folders it names, best first, with what was found.
#[must_use]
pub fn fits<'a>(
    name: &str,
    text: &str,
    clusters: &'a [ClusterFile],
) -> Vec<(&'a ClusterFile, Vec<String>)> {
    let mut fits: Vec<(&ClusterFile, Vec<String>)> = clusters
        .iter()
        .filter_map(|cluster| {
            let script = read(name, text, cluster);
            let found = traces::traces(&script, cluster, clusters)?;
            Some((cluster, found))
        })
        .collect();
    fits.sort_by_key(|(_, found)| std::cmp::Reverse(found.len()));
    fits
}

/// Says what the other cluster would still refuse.
fn still_refused(name: &str, ported: &mut Ported, to: &ClusterFile, user: Option<&str>) {
    let text = LookedAt::of(&ported.text).text.into_owned();
    let script = read(name, &text, to);
    for mistake in mistakes(&script) {
        let known = |old: &Mistake| old.words == mistake.words;
        if !ported.refused.iter().any(known) {
            ported.questions.push(Question {
                line: mistake.line,
                about: format!("sbatch of {} refuses it: {}", to.name, mistake.words),
                ask: "which value belongs there?".to_owned(),
                covers: None,
            });
        }
    }
    let first = resources::findings(to, script.request(), user);
    tell_refusals(&first, "", ported);
    let mut text = script.text.to_owned();
    for (number, line) in (1..).zip(later_components::separators(&script)) {
        text = later_components::without_first(&text, name, to, line);
        let component = read(name, &text, to);
        let of = format!("component {number}: ");
        // What goes on from the first component is said of that.
        let mut refusals = resources::findings(to, component.request(), user);
        refusals.retain(|own| {
            let same = |one: &Denied| (one.denial, &one.asked) == (own.denial, &own.asked);
            !first.iter().any(same)
        });
        tell_refusals(&refusals, &of, ported);
    }
}

/// Says what the other cluster would refuse of a component; `of` names it.
fn tell_refusals(refusals: &[Denied], of: &str, ported: &mut Ported) {
    for refusal in refusals {
        let is_its = |question: &Question| match of {
            "" => !question.about.starts_with("component "),
            of => question.about.starts_with(of),
        };
        // A node of the other name has been asked about, whatever it would mean there.
        let node = [Key::NodeList, Key::Exclude].map(Subject::Option);
        let node = node.contains(&refusal.about);
        let covered = |question: &Question| {
            question.covers == Some(refusal.denial)
                || node && question.covers == Some(Denial::NodeName)
        };
        let known = |question: &Question| covered(question) && is_its(question);
        if ported.questions.iter().any(known) {
            continue;
        }
        // That a partition is down is sure; how long it will be is not.
        let is_unsure = match &refusal.fate {
            Fate::Refused => refusal.assumed,
            Fate::Waits(reason) => refusal.assumed && reason != "PartitionDown",
            Fate::WaitsOnceReleased(_) | Fate::Cut => false,
        };
        let unsure = if is_unsure {
            " (its file isn't sure)"
        } else {
            ""
        };
        let what = match &refusal.fate {
            Fate::Waits(reason) => format!("there the job would wait for ever ({reason})"),
            Fate::Refused => format!("there sbatch would refuse it: {}", refusal.denial.words()),
            Fate::WaitsOnceReleased(reason) => {
                format!("there the held job would not start once released ({reason})")
            }
            Fate::Cut => "there the job would be ended at the limit".to_owned(),
        };
        ported.questions.push(Question {
            line: None,
            about: format!("{of}{what}; asked {}{unsure}", refusal.asked()),
            ask: format!("{}; {}", refusal.there(), refusal.todo()),
            covers: Some(refusal.denial),
        });
    }
}

fn read<'a>(name: &'a str, text: &'a str, cluster: &'a ClusterFile) -> Script<'a> {
    Script::read(&lint_input(name, text, cluster))
}

fn lint_input<'a>(name: &'a str, text: &'a str, cluster: &'a ClusterFile) -> LintInput<'a> {
    // Times of day and folders are no concern of a port.
    static UTC: jiff::tz::TimeZone = jiff::tz::TimeZone::UTC;
    LintInput {
        name,
        text,
        args: &[],
        cluster: Some(cluster),
        version: None,
        user: None,
        cwd: Path::new("/"),
        zone: &UTC,
        now: Timestamp(0),
        folders: &|_| FolderFact::Unknown,
    }
}

#[cfg(test)]
mod said_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod user_tests;
