//! A cluster file made of a Slurm's own configuration: `slurm.conf`, `gres.conf`, `sacctmgr dump`.
//!
//! The forms are those of the manual pages slurm.conf(5), gres.conf(5) and sacctmgr(1), and of
//! `read_config.c` of 22.05. What can't be carried over is noted, each option with its line.

mod conf_line;
mod dump;
mod global;
mod gres;
mod known_options;
mod listed;
mod members;
mod node_sets;
mod nodes;
mod partitions;
mod topology;

use super::{ClusterFile, Extent, Source, Sourced};
use conf_line::{AN_OPTION, ConfLine, Pair, conf_lines};
use listed::Listed;
use members::Members;
use model::Seconds;
use node_sets::NodeSets;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// What is imported.
#[derive(Clone, Copy)]
pub struct ImportInput<'a> {
    /// The cluster's name; `ClusterName` where none is given.
    pub name: Option<&'a str>,
    /// `slurm.conf`.
    pub slurm_conf: ConfText<'a>,
    /// Reads a file that an `Include` names; none where it can't be read.
    pub include: &'a dyn Fn(&str) -> Option<String>,
    /// `gres.conf`.
    pub gres_conf: Option<ConfText<'a>>,
    /// `topology.conf`, of `topology/tree`.
    pub topology_conf: Option<ConfText<'a>>,
    /// What `sacctmgr dump` wrote.
    pub dump: Option<ConfText<'a>>,
}

/// A configuration file.
#[derive(Clone, Copy, Debug)]
pub struct ConfText<'a> {
    /// The file's own name, for sources.
    pub name: &'a str,
    /// What it holds.
    pub text: &'a str,
}

impl<'a> ConfText<'a> {
    /// A file of that name with that text.
    #[must_use]
    pub fn new(name: &'a str, text: &'a str) -> ConfText<'a> {
        ConfText { name, text }
    }
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
    /// Slurm itself refuses it: a value or a line that it can't read.
    pub refused: bool,
}

/// Reads a Slurm's configuration.
#[must_use]
pub fn import(input: &ImportInput<'_>) -> Imported {
    let mut importer = Importer::default();
    let mut lines = Vec::new();
    let conf = input.slurm_conf;
    importer.read(conf.name, conf.text, input.include, &[], &mut lines);
    for line in &mut lines {
        importer.left_over(line);
        importer.without_values(line);
    }
    let is = |line: &&ConfLine, key: &str| line.first().eq_ignore_ascii_case(key);
    // Slurm looks for the nodes of sets and partitions when it has read everything.
    for line in lines.iter().filter(|line| is(line, "NodeName")) {
        importer.node(line);
    }
    importer.node_sets(&lines);
    for line in &lines {
        match line.first().to_ascii_lowercase().as_str() {
            "nodeset" => importer.unknown_options(line, known_options::NODE_SET),
            "" | "nodename" => {}
            "partitionname" => importer.partition(line),
            "downnodes" => {
                importer.unknown_options(line, known_options::DOWN_NODES);
                importer.whole(
                    line,
                    "nodes that are down now: a cluster file says what there is",
                );
            }
            "frontendname" => {
                importer.unknown_options(line, known_options::FRONTEND);
                importer.whole(
                    line,
                    "a front end stands for nodes: the nodes are taken as they are described",
                );
            }
            _ => importer.global(line),
        }
    }
    if let Some(conf) = input.gres_conf {
        importer.gres_conf(conf);
    }
    if let Some(conf) = input.topology_conf {
        importer.topology_conf(conf);
    }
    if let Some(dump) = input.dump {
        importer.dump(dump);
    }
    importer.qos_of_partitions();
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
    // An unread file may say it.
    if !importer.file.nodes.is_empty() && !importer.unread {
        let assumed = || Source::Assumed("Slurm's default".to_owned());
        let scheduling = &mut importer.file.scheduling;
        let rule = &mut scheduling.return_to_service;
        rule.get_or_insert(Sourced::new(0, assumed()));
        let delay = &mut scheduling.requeue_delay;
        delay.get_or_insert(Sourced::new(REQUEUE_DELAY, assumed()));
    }
    let mut files: HashMap<&str, usize> = HashMap::new();
    let named = [input.gres_conf, input.topology_conf, input.dump];
    let lines = lines.iter().map(|line| &*line.file);
    let named = named.iter().flatten().map(|conf| conf.name);
    for file in [conf.name].into_iter().chain(lines).chain(named) {
        let next = files.len();
        files.entry(file).or_insert(next);
    }
    let place = |note: &ImportNote| (files.get(&*note.file).copied(), note.line);
    importer.notes.sort_by_cached_key(place);
    Imported {
        file: importer.file,
        notes: importer.notes,
    }
}

impl fmt::Display for ImportNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ImportNote {
            file, line, option, ..
        } = self;
        write!(f, "{file}:{line} {option}")?;
        match &self.why {
            Some(why) => write!(f, ": {why}"),
            None => Ok(()),
        }
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
            text.push_str(&format!("#   {note}\n"));
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

/// Files that are included deeper than this are not read.
const DEEPEST: usize = 8;
/// So long a job that is queued again waits where `AuthInfo` says nothing: the life of a credential, and a second
/// (`DEFAULT_EXPIRATION_WINDOW` of slurm_cred.c).
const REQUEUE_DELAY: Seconds = Seconds(121);
/// No more are read than so many files, and bytes of them together: no site has as many.
const MOST_INCLUDED: usize = 1000;
const MOST_INCLUDED_BYTES: usize = 64 << 20;
/// For so many unknown options the nearest known one is looked for.
const MOST_HINTS: usize = 100;

/// Collects a cluster file.
#[derive(Default)]
struct Importer {
    file: ClusterFile,
    notes: Vec<ImportNote>,
    /// The name of what `sacctmgr dump` wrote.
    dump_name: String,
    /// Names of node sets and what they stand for.
    sets: NodeSets,
    /// All nodes by name.
    listed: Listed,
    /// Names of groups of nodes that are taken, and by which number the next of a kind goes on.
    group_names: HashSet<String>,
    group_numbers: HashMap<String, u32>,
    partition_names: HashSet<String>,
    /// Accounts and users of the dump by name.
    members: Members,
    /// How many files were included, and their bytes.
    included: usize,
    included_bytes: usize,
    /// A file that is included was not read: what it holds isn't known.
    unread: bool,
    /// How many unknown options there were.
    unknown: usize,
    /// `NodeName=DEFAULT` and `PartitionName=DEFAULT`: what lines behind it begin with.
    node_defaults: Vec<Pair>,
    partition_defaults: Vec<Pair>,
}

impl Importer {
    /// Takes a text's lines, those of included files in their place; `above` are the texts that
    /// include it.
    fn read(
        &mut self,
        name: &str,
        text: &str,
        include: &dyn Fn(&str) -> Option<String>,
        above: &[&str],
        lines: &mut Vec<ConfLine>,
    ) {
        for line in conf_lines(name, text) {
            let Some(path) = &line.include else {
                lines.push(line);
                continue;
            };
            let option = format!("Include {path}");
            self.included += 1;
            if self.included > MOST_INCLUDED || self.included_bytes > MOST_INCLUDED_BYTES {
                if !std::mem::replace(&mut self.unread, true) {
                    let why = format!(
                        "no more files are read than {MOST_INCLUDED}, of {} MiB together",
                        MOST_INCLUDED_BYTES >> 20
                    );
                    self.refused(&line, &option, why);
                }
                continue;
            }
            let all: Vec<&str> = above.iter().copied().chain([text]).collect();
            match include(path) {
                // By what they hold: a file has many names.
                Some(text) if all.contains(&&*text) => {
                    self.refused(&line, &option, "files include each other in a circle");
                }
                Some(_) if all.len() > DEEPEST => {
                    self.refused(&line, &option, "files include each other too deep");
                }
                Some(text) => {
                    self.included_bytes += text.len();
                    self.read(path, &text, include, &all, lines);
                }
                None => {
                    self.unread = true;
                    self.note(&line, &option, "that file can't be read");
                }
            }
        }
    }

    /// QOS that partitions name: accounting defines them, so that there are more than are read here.
    fn qos_of_partitions(&mut self) {
        if self.file.lists.qos.is_some() {
            return;
        }
        let named = self.file.partitions.iter().find_map(|partition| {
            let of_own = partition.qos.as_ref().map(|own| &own.source);
            let lists = [&partition.allow_qos, &partition.deny_qos];
            of_own.or_else(|| Some(&lists.into_iter().flatten().next()?.source))
        });
        if let Some(Source::Quote(line)) = named {
            let why = format!("{line} names QOS, which no slurm.conf defines");
            self.file.lists.qos = Some(Sourced::new(Extent::Some, Source::Quote(why)));
        }
    }

    /// Notes what is no `Key=value`.
    fn left_over(&mut self, line: &ConfLine) {
        if line.junk {
            self.refused(line, "this line", NO_OPTION);
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
            let option = if known_options::anywhere(&pair.key) {
                &pair.key
            } else {
                AN_OPTION
            };
            self.note(line, option, "it has no value");
        }
    }

    /// Notes an option that isn't carried over. What is named must be understood: `option` goes into
    /// the cluster file.
    fn note(&mut self, line: &ConfLine, option: &str, why: impl Into<String>) {
        self.notes.push(ImportNote {
            file: line.file.as_ref().to_owned(),
            line: line.number,
            option: option.to_owned(),
            why: Some(why.into()),
            refused: false,
        });
    }

    /// Notes what Slurm itself refuses.
    fn refused(&mut self, line: &ConfLine, option: &str, why: impl Into<String>) {
        self.note(line, option, why);
        if let Some(note) = self.notes.last_mut() {
            note.refused = true;
        }
    }

    /// Notes an option whose value was not taken: Slurm can't read it, has no such option on such a
    /// line, or a cluster file has no key for it.
    fn not_taken(&mut self, line: &ConfLine, pair: &Pair, taken: Option<bool>, known: &[&str]) {
        let option = || format!("{}={}", pair.key, pair.value);
        match taken {
            Some(true) => {}
            Some(false) => self.refused(line, &option(), "Slurm takes no such value"),
            None if known_options::has(known, &pair.key) => {
                self.note(line, &option(), "a cluster file has no key for it");
            }
            None => self.unknown_option(line, pair, known),
        }
    }

    /// Notes an option that Slurm hasn't, without its value: that may be a secret of another program.
    fn unknown_option(&mut self, line: &ConfLine, pair: &Pair, known: &[&str]) {
        self.unknown += 1;
        let near = if self.unknown <= MOST_HINTS {
            model::nearest(&pair.key, known.iter().copied())
        } else {
            None
        };
        self.refused(line, pair.option(), unknown(near));
    }

    /// Notes the options of a line that Slurm has not on such a line.
    fn unknown_options(&mut self, line: &ConfLine, known: &[&str]) {
        for pair in line.pairs.iter().skip(1) {
            if !known_options::has(known, &pair.key) {
                self.unknown_option(line, pair, known);
            }
        }
    }

    /// Notes an option that only says how daemons run.
    fn daemon(&mut self, line: &ConfLine, option: &str) {
        self.notes.push(ImportNote {
            file: line.file.as_ref().to_owned(),
            line: line.number,
            option: option.to_owned(),
            why: None,
            refused: false,
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

/// Of a line, nothing of which is shown.
const NO_OPTION: &str = "something in it is no option with a value";

/// Of an option that no Slurm has.
fn unknown(near: Option<&str>) -> String {
    let which = "Slurm has no such option there, and refuses the file";
    match near {
        Some(near) => format!("{which}; did you mean {near}?"),
        None => which.to_owned(),
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
