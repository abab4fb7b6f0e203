//! A copy of a file on a node of a job: made where this process runs, or by a step there that reads the file
//! from its standard input and says what came of it in a line.

use crate::printer::Printer;
use model::{JobId, NodeName};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{self, File, FileTimes};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// The first word of the command line of such a step.
const WORD: &str = "--place-on-this-node";
/// "File exists", errno(3).
const EEXIST: i32 = 17;

/// Where a copy goes, and how.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Placing {
    /// As text, in which bytes that are no UTF-8 stand for themselves.
    pub destination: String,
    /// The permissions of the file.
    pub mode: u32,
    /// A file that is there is replaced.
    pub force: bool,
    /// When the source was changed and read.
    pub times: Option<(SystemTime, SystemTime)>,
}

/// A copy that was made: its disk and its number there, by which another node sees that it has it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Copied {
    device: u64,
    inode: u64,
}

/// Why there is no copy.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum NotCopied {
    /// It can't be made there.
    Opening {
        /// The system's words.
        words: String,
        /// The system's number.
        number: Option<i32>,
    },
    /// It began; nothing of it was left.
    Writing {
        /// The system's words.
        words: String,
    },
}

impl NotCopied {
    fn opening(why: &io::Error) -> NotCopied {
        NotCopied::Opening {
            words: super::system_words(why),
            number: why.raw_os_error(),
        }
    }

    fn writing(why: &io::Error) -> NotCopied {
        NotCopied::Writing {
            words: super::system_words(why),
        }
    }
}

/// Makes the copy on a node of the job, by a step there.
pub(super) fn place_on(
    node: &NodeName,
    (job, component): (JobId, Option<u32>),
    source: &Path,
    placing: &Placing,
    before: &[Copied],
) -> Result<Copied, NotCopied> {
    let broken = |words: String| NotCopied::Writing { words };
    let asked = serde_json::to_string(&(placing, before)).map_err(|why| broken(why.to_string()))?;
    let program = std::env::current_exe().map_err(|why| NotCopied::writing(&why))?;
    let source = File::open(source).map_err(|why| NotCopied::writing(&why))?;
    let mut step = Command::new(&program);
    // What the job around was asked for is not asked again of this step.
    for (name, _) in std::env::vars_os() {
        let bytes = name.clone().into_vec();
        if bytes.starts_with(b"SLURM_") || bytes.starts_with(b"SRUN_") {
            step.env_remove(name);
        }
    }
    // As from inside of the job: of a heterogeneous one the first component is meant, or that one.
    step.env("SLURM_JOB_ID", job.to_string());
    if let Some(component) = component {
        step.env("SLURM_HET_SIZE", (component + 1).to_string());
    }
    let group = component.map(|component| format!("--het-group={component}"));
    let options = ["slurm", "srun", "-Q", "--overlap", "-N1", "-n1", "--mem=0"];
    let output = step
        .args(options)
        .arg(format!("--jobid={job}"))
        .args(group)
        .arg(format!("--nodelist={node}"))
        .args(["--job-name=sbcast", "--"])
        .arg(&program)
        .args(["slurm", "sbcast", WORD, &asked])
        .stdin(Stdio::from(source))
        .output()
        .map_err(|why| NotCopied::writing(&why))?;
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(broken(model::one_line(said.trim()).into_owned()))
    })
}

/// Makes the copy where this process runs.
pub(super) fn place_here(
    source: &Path,
    placing: &Placing,
    before: &[Copied],
) -> Result<Copied, NotCopied> {
    let mut source = File::open(source).map_err(|why| NotCopied::writing(&why))?;
    place(&mut source, placing, before)
}

/// What such a step does; none where these are not its words.
pub(super) fn run(args: &[String], printer: &Printer) -> Option<u8> {
    let [word, asked] = args else { return None };
    if word != WORD {
        return None;
    }
    let (placing, before): (Placing, Vec<Copied>) = serde_json::from_str(asked).ok()?;
    let made = place(&mut io::stdin(), &placing, &before);
    let line = serde_json::to_string(&made).ok()?;
    printer.line(&line);
    Some(0)
}

/// Makes the copy beside its place and puts it there whole. One of `before` that is there already, since nodes
/// share a disk, is it.
fn place(source: &mut dyn Read, placing: &Placing, before: &[Copied]) -> Result<Copied, NotCopied> {
    let to = &PathBuf::from(&*sys::odd_text::bytes(&placing.destination));
    if let Ok(facts) = to.symlink_metadata() {
        let there = Copied::of(&facts);
        if before.contains(&there) {
            return Ok(there);
        }
        if !placing.force {
            return Err(NotCopied::opening(&io::Error::from_raw_os_error(EEXIST)));
        }
    }
    let mut beside = OsString::from(".");
    beside.push(to.file_name().unwrap_or_default());
    beside.push(format!(".sbcast-{}", sys::unique()));
    let beside = to.with_file_name(beside);
    let options = &mut File::options();
    let copy = options.write(true).create_new(true).open(&beside);
    let mut copy = copy.map_err(|why| NotCopied::opening(&why))?;
    let written = write(source, &mut copy, placing);
    let placed = written
        .map_err(|why| NotCopied::writing(&why))
        .and_then(|made| {
            let placed = if placing.force {
                fs::rename(&beside, to)
            } else {
                // Unlike a renaming this does not replace what came meanwhile.
                fs::hard_link(&beside, to)
            };
            placed.map_err(|why| NotCopied::opening(&why))?;
            Ok(made)
        });
    if placed.is_err() || !placing.force {
        let _gone = fs::remove_file(&beside);
    }
    placed
}

impl Copied {
    fn of(facts: &fs::Metadata) -> Copied {
        Copied {
            device: facts.dev(),
            inode: facts.ino(),
        }
    }
}

fn write(source: &mut dyn Read, copy: &mut File, placing: &Placing) -> io::Result<Copied> {
    io::copy(source, copy)?;
    copy.set_permissions(fs::Permissions::from_mode(placing.mode))?;
    if let Some((modified, accessed)) = placing.times {
        let times = FileTimes::new();
        copy.set_times(times.set_modified(modified).set_accessed(accessed))?;
    }
    Ok(Copied::of(&copy.metadata()?))
}
