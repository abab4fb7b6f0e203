//! `sbcast`: copies a file to the nodes of a job. Where nodes share a disk the copy of one serves the others;
//! folders that each node has for itself, such as `/tmp` of isolated ones, get one each.

use super::connection::{connect, engine_dir, has_nodes};
use super::file_on_node::{Copied, NotCopied, Placing, place_here, place_on};
use crate::printer::Printer;
use api::JobFilter;
use model::sbcast::{SbcastArgs, SbcastShow, parse};
use model::{JobId, JobState, NodeName};
use std::fs::{File, Metadata};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::SystemTime;

/// What `--help` prints.
/// What `--help` says above the options.
const ABOUT: &str = "\
Usage: sbcast [OPTIONS] SOURCE DEST
Copies a file to the nodes of a job of Trainyard's embedded engine as Slurm's sbcast does on a cluster.
Nodes with a /tmp and /dev/shm of their own get a copy each there, by a step of the job; elsewhere one serves all.
";

/// `sbcast --help`
pub fn help() -> String {
    super::command_help("sbcast", ABOUT, "")
}

/// What Slurm's command ends with where it says no number of its own.
const FAILED: u8 = 255;

/// Runs it; returns its exit status.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    if let Some(status) = super::file_on_node::run(args, printer) {
        return status;
    }
    let asked = match parse(args, &super::variable) {
        Ok(asked) => asked,
        Err(text) => {
            printer.say(&text);
            return 1;
        }
    };
    for line in &asked.said {
        printer.say(line);
    }
    match asked.show {
        Some(SbcastShow::Help) => printer.data(&help()),
        Some(SbcastShow::Usage) => {
            printer.line("Usage: sbcast [--exclude] [-CfFjpvV] [--send-libs] SOURCE DEST");
        }
        Some(SbcastShow::Version) => printer.line(&super::version_line()),
        None => return copy(&asked, printer),
    }
    0
}

fn copy(asked: &SbcastArgs, printer: &Printer) -> u8 {
    let copying = Copying {
        command: "sbcast",
        job: asked.job.unwrap_or(JobId(0)),
        component: None,
        source: &asked.source,
        printer,
    };
    match copying.run(asked) {
        Ok(()) => 0,
        Err(code) => code,
    }
}

/// A file that is copied to nodes of a job, for a command that says what goes wrong.
pub(super) struct Copying<'a> {
    /// The command.
    pub command: &'static str,
    /// The job.
    pub job: JobId,
    /// The component of it, where it is heterogeneous.
    pub component: Option<u32>,
    /// The file, as text.
    pub source: &'a str,
    /// Where it is said.
    pub printer: &'a Printer,
}

impl Copying<'_> {
    fn run(&self, asked: &SbcastArgs) -> Result<(), u8> {
        let facts = self.facts()?;
        let job = self.job;
        let nodes = nodes_of(job).map_err(|why| {
            self.error(&format!("Slurm job {job} lookup error: {why}"));
            FAILED
        })?;
        if asked.verbose {
            for (name, value) in [
                ("jobid     ", job.to_string()),
                ("source    ", asked.source.clone()),
                ("dest      ", asked.destination.clone()),
                ("force     ", asked.force.to_string()),
                ("preserve  ", asked.preserve.to_string()),
                ("size      ", facts.len().to_string()),
            ] {
                self.printer.say(&format!("sbcast: {name} = {value}"));
            }
        }
        let placing = |_: &NodeName| Placing {
            destination: asked.destination.clone(),
            mode: facts.permissions().mode() & 0o777,
            force: asked.force,
            times: times(&facts).filter(|_| asked.preserve),
        };
        self.to(&nodes, &placing)
    }

    fn error(&self, text: &str) {
        self.printer
            .say(&format!("{}: error: {text}", self.command));
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(&*sys::odd_text::bytes(self.source))
    }

    /// The file's mode, size and times.
    ///
    /// # Errors
    /// The exit code: it can't be read.
    pub fn facts(&self) -> Result<Metadata, u8> {
        let facts = File::open(self.path()).and_then(|file| file.metadata());
        let facts = facts.map_err(|why| {
            let words = super::system_words(&why);
            self.error(&format!("Can't open `{}`: {words}", self.source));
            FAILED
        })?;
        if !facts.is_file() {
            let source = self.source;
            self.error(&format!("Can't mmap file `{source}`, No such device."));
            return Err(FAILED);
        }
        Ok(facts)
    }

    /// Copies it to these nodes, to where it goes on each.
    ///
    /// # Errors
    /// The exit code: one has no copy.
    pub fn to(&self, nodes: &[NodeName], placing: &dyn Fn(&NodeName) -> Placing) -> Result<(), u8> {
        let mut copies: Vec<Copied> = Vec::new();
        for node in nodes {
            let placing = placing(node);
            let is_here = !is_of_each_node(&placing.destination) || is_here(self.job, node);
            let made = if is_here {
                place_here(&self.path(), &placing, &copies)
            } else {
                place_on(
                    node,
                    (self.job, self.component),
                    &self.path(),
                    &placing,
                    &copies,
                )
            };
            match made {
                Ok(copied) => copies.push(copied),
                // What the node's daemon finds before it writes has the system's words and number.
                Err(NotCopied::Opening { words, number }) => {
                    self.error(&format!("REQUEST_FILE_BCAST({node}): {words}"));
                    return Err(number
                        .and_then(|it| u8::try_from(it).ok())
                        .unwrap_or(FAILED));
                }
                Err(NotCopied::Writing { words }) => {
                    self.error(&format!("REQUEST_FILE_BCAST({node}): Unspecified error"));
                    self.printer.say(&format!(
                        "{}:   {}: {words}; nothing of it was left",
                        self.command, placing.destination
                    ));
                    return Err(FAILED);
                }
            }
        }
        Ok(())
    }
}

/// When a file was changed and read.
pub(super) fn times(facts: &Metadata) -> Option<(SystemTime, SystemTime)> {
    facts.modified().ok().zip(facts.accessed().ok())
}

/// Whether nodes have that place each for itself: isolated ones have these folders.
fn is_of_each_node(destination: &str) -> bool {
    let folder = engine_dir();
    if !folder.is_ok_and(|folder| has_nodes(&folder)) {
        return false;
    }
    let place = std::env::current_dir().unwrap_or_default();
    let place = place.join(&*sys::odd_text::bytes(destination));
    ["/tmp", "/dev/shm"]
        .iter()
        .any(|own| place.starts_with(own))
}

/// Whether this process runs on that node of the job, and sees its folders.
fn is_here(job: JobId, node: &NodeName) -> bool {
    let is = |name: &str, value: &str| super::variable(name).as_deref() == Some(value);
    is("SLURM_JOB_ID", &job.to_string()) && is("SLURMD_NODENAME", node.as_str())
}

/// The nodes of a running job; else why there are none.
fn nodes_of(job: JobId) -> Result<Vec<NodeName>, String> {
    let mut client = connect().map_err(|error| error.to_string())?;
    let jobs = client.jobs(JobFilter::of(&[job]));
    let jobs = jobs.map_err(|error| error.to_string())?;
    let record = jobs.first().ok_or("Invalid job id specified")?;
    match &record.state {
        JobState::Running { allocation, .. } => {
            let nodes = allocation.nodes.iter();
            Ok(nodes.map(|share| share.node.clone()).collect())
        }
        JobState::Pending { .. } => Err("Job is pending execution".to_owned()),
        JobState::Ended { .. } => Err("Job/step already completing or completed".to_owned()),
    }
}
