//! `sbcast`: copies a file to the nodes of a job. The engine's nodes share this machine's disks, so
//! that one copy serves all of them.

use super::connection::connect;
use crate::printer::Printer;
use api::JobFilter;
use model::sbcast::{SbcastArgs, SbcastShow, parse};
use model::{JobId, JobState};
use std::fs::{self, File, FileTimes};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What `--help` prints.
pub const HELP: &str = "\
Usage: sbcast [OPTIONS] SOURCE DEST
Copies a file to the nodes of a job of Trainyard's embedded engine as Slurm's sbcast does on a cluster.
The nodes share this machine's disks: there is one copy.

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
    let destination = PathBuf::from(&*sys::odd_text::bytes(&asked.destination));
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
    let node = match first_node(job) {
        Ok(node) => node,
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
    let made = place(&file, &facts, &destination, asked.force, times.flatten());
    match made {
        Ok(()) => 0,
        // What the node's daemon finds before it writes has the system's words and number.
        Err(Failure::Opening(why)) => {
            let words = super::system_words(&why);
            error(&format!("REQUEST_FILE_BCAST({node}): {words}"));
            why.raw_os_error()
                .and_then(|number| u8::try_from(number).ok())
                .unwrap_or(FAILED)
        }
        Err(Failure::Writing(why)) => {
            error(&format!("REQUEST_FILE_BCAST({node}): Unspecified error"));
            let words = super::system_words(&why);
            printer.say(&format!(
                "sbcast:   {}: {words}; nothing of it was left",
                asked.destination
            ));
            FAILED
        }
    }
}

/// The first node of a running job; else why there is none.
fn first_node(job: JobId) -> Result<String, String> {
    let mut client = connect().map_err(|error| error.to_string())?;
    let jobs = client.jobs(JobFilter::of(&[job]));
    let jobs = jobs.map_err(|error| error.to_string())?;
    let record = jobs.first().ok_or("Invalid job id specified")?;
    match &record.state {
        JobState::Running { allocation, .. } => {
            let first = allocation.nodes.first();
            Ok(first.map_or_else(sys::host_name, |share| share.node.to_string()))
        }
        JobState::Pending { .. } => Err("Job is pending execution".to_owned()),
        JobState::Ended { .. } => Err("Job/step already completing or completed".to_owned()),
    }
}

enum Failure {
    Opening(io::Error),
    Writing(io::Error),
}

type Times = (std::time::SystemTime, std::time::SystemTime);

/// Makes the copy beside its place and puts it there whole.
fn place(
    source: &File,
    facts: &fs::Metadata,
    to: &Path,
    force: bool,
    times: Option<Times>,
) -> Result<(), Failure> {
    if !force && to.symlink_metadata().is_ok() {
        return Err(Failure::Opening(io::Error::from_raw_os_error(EEXIST)));
    }
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    let beside = to.with_file_name(format!(".{name}.sbcast-{}", sys::unique()));
    let options = &mut File::options();
    let copy = options.write(true).create_new(true).open(&beside);
    let mut copy = copy.map_err(Failure::Opening)?;
    let written = write(source, &mut copy, facts, times).map_err(Failure::Writing);
    let placed = written.and_then(|()| {
        let placed = if force {
            fs::rename(&beside, to)
        } else {
            // Unlike a renaming this does not replace what came meanwhile.
            fs::hard_link(&beside, to)
        };
        placed.map_err(Failure::Opening)
    });
    if placed.is_err() || !force {
        let _gone = fs::remove_file(&beside);
    }
    placed
}

/// "File exists", errno(3).
const EEXIST: i32 = 17;

fn write(
    mut source: &File,
    copy: &mut File,
    facts: &fs::Metadata,
    times: Option<Times>,
) -> io::Result<()> {
    io::copy(&mut source, copy)?;
    let mode = facts.permissions().mode() & 0o777;
    copy.set_permissions(fs::Permissions::from_mode(mode))?;
    if let Some((modified, accessed)) = times {
        copy.set_times(
            FileTimes::new()
                .set_modified(modified)
                .set_accessed(accessed),
        )?;
    }
    Ok(())
}
