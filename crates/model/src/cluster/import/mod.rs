//! A cluster file made of a Slurm's own configuration: `slurm.conf`, `gres.conf`, `sacctmgr dump`.
//!
//! The forms are those of the manual pages slurm.conf(5), gres.conf(5) and sacctmgr(1), and of
//! `read_config.c` of 22.05. What can't be carried over is noted, each option with its line.

mod conf_line;
mod dump;
mod global;
mod gres;
mod nodes;
mod partitions;

use super::{ClusterFile, Source, Sourced};
use conf_line::{ConfLine, Pair, conf_lines};

/// What is imported.
#[derive(Clone, Copy)]
pub struct ImportInput<'a> {
    /// The cluster's name; `ClusterName` where none is given.
    pub name: Option<&'a str>,
    /// The text of `slurm.conf`.
    pub slurm_conf: &'a str,
    /// Reads a file that an `Include` names; none where it can't be read.
    pub include: &'a dyn Fn(&str) -> Option<String>,
    /// The text of `gres.conf`.
    pub gres_conf: Option<&'a str>,
    /// What `sacctmgr dump` wrote.
    pub dump: Option<&'a str>,
}

/// A cluster file, and what did not go into it.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The cluster file.
    pub file: ClusterFile,
    /// What was not carried over, in the order in which it stands.
    pub notes: Vec<ImportNote>,
}

/// One thing that was not carried over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportNote {
    /// The file, such as `slurm.conf`.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The option.
    pub option: String,
    /// Why; none for what only concerns how daemons run.
    pub why: Option<String>,
}

/// Reads a Slurm's configuration.
#[must_use]
pub fn import(input: &ImportInput<'_>) -> Imported {
    let mut importer = Importer::default();
    let mut lines = Vec::new();
    importer.read("slurm.conf", input.slurm_conf, input.include, 0, &mut lines);
    for line in &mut lines {
        importer.without_values(line);
    }
    importer.node_sets(&lines);
    for line in &lines {
        match line.first().to_ascii_lowercase().as_str() {
            "nodename" => importer.node(line),
            "partitionname" => importer.partition(line),
            "nodeset" => {}
            "downnodes" => importer.whole(
                line,
                "nodes that are down now: a cluster file says what there is",
            ),
            "frontendname" => {
                importer.whole(
                    line,
                    "a front end stands for nodes: the nodes are taken as they are described",
                );
            }
            _ => importer.global(line),
        }
    }
    if let Some(text) = input.gres_conf {
        importer.gres_conf(text);
    }
    if let Some(text) = input.dump {
        importer.dump(text);
    }
    let cluster_name = importer
        .file
        .cluster_name
        .as_ref()
        .map(|name| name.value.clone());
    importer.file.name = input
        .name
        .map(str::to_owned)
        .or(cluster_name)
        .unwrap_or_else(|| "cluster".to_owned());
    importer.models();
    Imported {
        file: importer.file,
        notes: importer.notes,
    }
}

impl Imported {
    /// The cluster file as text, with what was not carried over in comments behind it.
    #[must_use]
    pub fn toml(&self) -> String {
        let mut text = self.file.to_string();
        let (said, daemons): (Vec<&ImportNote>, Vec<&ImportNote>) =
            self.notes.iter().partition(|note| note.why.is_some());
        if !said.is_empty() {
            text.push_str("\n# Not carried over:\n");
        }
        for note in said {
            let why = note.why.as_deref().unwrap_or_default();
            text.push_str(&format!(
                "#   {}:{} {}: {why}\n",
                note.file, note.line, note.option
            ));
        }
        if !daemons.is_empty() {
            text.push_str("\n# Left out, since it says how daemons run, not what jobs can have:\n");
            let mut row = "#  ".to_owned();
            for note in daemons {
                let word = format!(" {} ({}:{})", note.option, note.file, note.line);
                if row.len() + word.len() > 100 {
                    text.push_str(&format!("{row}\n"));
                    row = "#  ".to_owned();
                }
                row.push_str(&word);
            }
            text.push_str(&format!("{row}\n"));
        }
        text
    }
}

/// Files that include each other in a circle end here.
const DEEPEST: usize = 8;

/// Collects a cluster file.
#[derive(Default)]
struct Importer {
    file: ClusterFile,
    notes: Vec<ImportNote>,
    /// Names of node sets and what they stand for.
    sets: Vec<(String, String)>,
    /// `NodeName=DEFAULT` and `PartitionName=DEFAULT`: what lines behind it begin with.
    node_defaults: Vec<Pair>,
    partition_defaults: Vec<Pair>,
}

impl Importer {
    /// Takes a text's lines, those of included files in their place.
    fn read(
        &mut self,
        name: &str,
        text: &str,
        include: &dyn Fn(&str) -> Option<String>,
        depth: usize,
        lines: &mut Vec<ConfLine>,
    ) {
        for line in conf_lines(name, text) {
            let Some(path) = line.include() else {
                if !line.pairs.is_empty() {
                    lines.push(line);
                }
                continue;
            };
            match include(&path).filter(|_| depth < DEEPEST) {
                Some(text) => self.read(&path, &text, include, depth + 1, lines),
                None => self.notes.push(ImportNote {
                    file: line.file.clone(),
                    line: line.number,
                    option: format!("Include {path}"),
                    why: Some("that file can't be read".to_owned()),
                }),
            }
        }
    }

    /// Notes options that have no value, and leaves them out.
    fn without_values(&mut self, line: &mut ConfLine) {
        let (empty, pairs): (Vec<Pair>, Vec<Pair>) = line
            .pairs
            .drain(..)
            .partition(|pair| pair.value.trim().is_empty());
        line.pairs = pairs;
        for pair in empty {
            self.note(line, &pair.key, "it has no value");
        }
    }

    /// Notes an option that isn't carried over.
    fn note(&mut self, line: &ConfLine, option: &str, why: impl Into<String>) {
        self.notes.push(ImportNote {
            file: line.file.clone(),
            line: line.number,
            option: option.to_owned(),
            why: Some(why.into()),
        });
    }

    /// Notes an option that only says how daemons run.
    fn daemon(&mut self, line: &ConfLine, option: &str) {
        self.notes.push(ImportNote {
            file: line.file.clone(),
            line: line.number,
            option: option.to_owned(),
            why: None,
        });
    }

    /// Notes a line as a whole.
    fn whole(&mut self, line: &ConfLine, why: &str) {
        let Some(first) = line.pairs.first() else {
            return;
        };
        self.note(line, &format!("{}={}", first.key, first.value), why);
    }
}

/// A value with the line that says it.
fn said<T>(line: &ConfLine, value: T) -> Option<Sourced<T>> {
    Some(Sourced::new(
        value,
        Source::Quote(format!("{}:{}", line.file, line.number)),
    ))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails loudly")]
mod tests;
