//! A batch script rewritten for another cluster.
//!
//! What one cluster file and the other say is carried over, each change with its reason. What they
//! don't say is asked, not guessed. Text that isn't concerned stays byte for byte.

mod accounts;
mod containers;
mod gpus;
mod modules;
mod paths;
mod porter;
mod sizes;
mod surroundings;

pub use porter::{Change, Ported, Question};

use crate::input::{FolderFact, LintInput};
use crate::script::Script;
use model::Timestamp;
use model::cluster::{ClusterFile, Denial};
use porter::Porter;
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
}

/// Rewrites a script for another cluster. A cluster's own scripts come back as they are.
#[must_use]
pub fn port(input: &PortInput<'_>) -> Ported {
    let PortInput {
        name,
        text,
        from,
        to,
    } = *input;
    let same = ClusterFile {
        name: from.name.clone(),
        ..to.clone()
    };
    if same == *from {
        return Ported {
            text: text.to_owned(),
            changes: Vec::new(),
            questions: Vec::new(),
        };
    }
    let script = read(name, text, from);
    let mut porter = Porter::new(&script, from, to);
    porter.gpus();
    porter.partition();
    porter.sizes();
    porter.time();
    porter.account();
    porter.qos();
    porter.mail();
    porter.of_one_cluster();
    porter.containers();
    porter.paths();
    porter.modules();
    porter.surroundings();
    let mut ported = porter.finish();
    still_refused(name, &mut ported, to);
    ported
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
            let found = porter::traces(&script, cluster)?;
            Some((cluster, found))
        })
        .collect();
    fits.sort_by_key(|(_, found)| std::cmp::Reverse(found.len()));
    fits
}

/// Says what the other cluster would still refuse.
fn still_refused(name: &str, ported: &mut Ported, to: &ClusterFile) {
    let text = ported.text.clone();
    let script = read(name, &text, to);
    for refusal in to.refusals(script.request(), None) {
        let asked = ported
            .questions
            .iter()
            .any(|question| question.covers == Some(refusal.denial));
        // What rests on a guess is told where it is a limit that a person can choose another for.
        let guess = refusal.assumed && refusal.denial != Denial::Policy;
        if guess || asked {
            continue;
        }
        let unsure = if refusal.assumed {
            " (its file isn't sure)"
        } else {
            ""
        };
        let what = match refusal.waits {
            Some(reason) => format!("there the job would wait for ever ({reason})"),
            None => format!("there sbatch would refuse it: {}", refusal.denial.words()),
        };
        ported.questions.push(Question {
            line: None,
            about: format!("{what}; asked {}{unsure}", refusal.asked),
            ask: format!("{}; {}", refusal.there, refusal.todo),
            covers: Some(refusal.denial),
        });
    }
}

fn read<'a>(name: &'a str, text: &'a str, cluster: &'a ClusterFile) -> Script<'a> {
    // Times of day and folders are no concern of a port.
    static UTC: jiff::tz::TimeZone = jiff::tz::TimeZone::UTC;
    Script::read(&LintInput {
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
    })
}

#[cfg(test)]
mod tests;
