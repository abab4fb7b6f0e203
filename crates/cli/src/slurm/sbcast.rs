//! `sbcast`: copies a file to the nodes of a job. Where nodes share a disk the copy of one serves the others;
//! folders that each node has for itself, such as `/tmp` of isolated ones, get one each.

use super::connection::{connect, engine_dir, has_nodes};
use super::file_on_node::{Copied, NotCopied, Placing, place, place_on};
use crate::printer::Printer;
use api::JobFilter;
use model::sbcast::{SbcastArgs, SbcastShow, parse};
use model::{JobId, JobState, NodeName};
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// What `--help` prints.
pub const HELP: &str = "\
Usage: sbcast [OPTIONS] SOURCE DEST
Copies a file to the nodes of a job of Trainyard's embedded engine as Slurm's sbcast does on a cluster.
Nodes with a /tmp and /dev/shm of their own get a copy each there, by a step of the job; elsewhere one serves all.

  -f, --force       replace a file that is there
  -j, --jobid=JOB   the job, where it is not the one around it
  -p, --preserve    keep the times of the source
  -v, --verbose     say what is done
      --usage       one line of help
  -V, --version     what this is

Taken, and without a meaning where no network is: --compress, --exclude, --fanout, --send-libs, --size,
--timeout.
";

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
    match asked.show {
        Some(SbcastShow::Help) => printer.data(HELP),
        Some(SbcastShow::Usage) => {
            printer.line("Usage: sbcast [--exclude] [-CfFjpvV] [--send-libs] SOURCE DEST");
        }
        Some(SbcastShow::Version) => printer.line(&super::version_line()),
        None => return copy(&asked, printer),
    }
    0
}

fn copy(asked: &SbcastArgs, printer: &Printer) -> u8 {
    let error = |text: &str| printer.say(&format!("sbcast: error: {text}"));
    let source = PathBuf::from(&*sys::odd_text::bytes(&asked.source));
    let opened = File::open(&source).and_then(|file| Ok((file.metadata()?, file)));
    let (facts, file) = match opened {
        Ok(opened) => opened,
        Err(why) => {
            let words = super::system_words(&why);
            error(&format!("Can't open `{}`: {words}", asked.source));
            return FAILED;
        }
    };
    if !facts.is_file() {
        error(&format!(
            "Can't mmap file `{}`, No such device.",
            asked.source
        ));
        return FAILED;
    }
    let job = asked.job.unwrap_or(JobId(0));
    let nodes = match nodes_of(job) {
        Ok(nodes) => nodes,
        Err(why) => {
            error(&format!("Slurm job {job} lookup error: {why}"));
            return FAILED;
        }
    };
    if asked.verbose {
        for (name, value) in [
            ("jobid     ", job.to_string()),
            ("source    ", asked.source.clone()),
            ("dest      ", asked.destination.clone()),
            ("force     ", asked.force.to_string()),
            ("preserve  ", asked.preserve.to_string()),
            ("size      ", facts.len().to_string()),
        ] {
            printer.say(&format!("sbcast: {name} = {value}"));
        }
    }
    let times = asked
        .preserve
        .then(|| facts.modified().ok().zip(facts.accessed().ok()));
    let placing = Placing {
        destination: asked.destination.clone(),
        mode: facts.permissions().mode() & 0o777,
        force: asked.force,
        times: times.flatten(),
    };
    let one_serves_all = !is_of_each_node(&asked.destination);
    let mut copies: Vec<Copied> = Vec::new();
    for node in nodes {
        let made = if one_serves_all || is_here(job, &node) {
            place(&mut &file, &placing, &copies)
        } else {
            place_on(&node, job, &source, &placing, &copies)
        };
        match made {
            Ok(copied) => copies.push(copied),
            // What the node's daemon finds before it writes has the system's words and number.
            Err(NotCopied::Opening { words, number }) => {
                error(&format!("REQUEST_FILE_BCAST({node}): {words}"));
                return number
                    .and_then(|it| u8::try_from(it).ok())
                    .unwrap_or(FAILED);
            }
            Err(NotCopied::Writing { words }) => {
                error(&format!("REQUEST_FILE_BCAST({node}): Unspecified error"));
                printer.say(&format!(
                    "sbcast:   {}: {words}; nothing of it was left",
                    asked.destination
                ));
                return FAILED;
            }
        }
    }
    0
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
