//! Where the jobs of batch scripts write, and what they wrote: an array's elements together.

use crate::failure::{Failure, FailureKind, not_done};
use crate::printer::Printer;
use crate::slurm::connection;
use api::JobFilter;
use backend::OutputFile;
use folder::FileTail;
use model::{ArrayTaskInfo, JobId, JobInfo, JobRecord, Timestamp, ViewFacts};
use runs::FILE_PAUSE;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Files are dated by the kernel's coarse clock, which can lag this far behind.
const CLOCK_TICK_MS: i64 = 20;

/// What stands before a file's lines: the number of the element that alone writes it.
fn prefix(file: &OutputFile) -> String {
    file.element
        .map_or_else(String::new, |element| format!("[{element}] "))
}

/// What the embedded engine says of a job, or of an array's rows in the order of their elements.
pub fn job_infos(cluster: &str, job: JobId, element: Option<u32>) -> Result<Vec<JobInfo>, Failure> {
    let failure = |failure: connection::CommandError| {
        Failure::new(FailureKind::Unreachable, failure.to_string())
    };
    let mut client = connection::connect_to(cluster).map_err(failure)?;
    let facts =
        connection::view_facts_of(cluster.to_owned(), Some(&mut client)).map_err(failure)?;
    let records = client.jobs(JobFilter::of(&[job])).map_err(not_done)?;
    let infos = records.iter().map(|record| JobInfo::of(record, &facts));
    let mut infos: Vec<JobInfo> = infos.filter(|info| is_of(info, element)).collect();
    infos.sort_by_key(|info| (first_element(info), info.id));
    Ok(infos)
}

/// Shows what a job, or an array's elements, write, until all have ended.
pub fn follow_job(
    cluster: &str,
    job: JobId,
    element: Option<u32>,
    printer: &Printer,
) -> Result<(), Failure> {
    let failure = |failure: connection::CommandError| {
        Failure::new(FailureKind::Unreachable, failure.to_string())
    };
    let mut client = connection::connect_to(cluster).map_err(failure)?;
    let facts =
        connection::view_facts_of(cluster.to_owned(), Some(&mut client)).map_err(failure)?;
    let show = |prefix: &str, line: &[u8]| printer.output_line(prefix, line);
    let mut output = JobOutput::default();
    loop {
        let mut records = client.jobs(JobFilter::of(&[job])).map_err(not_done)?;
        records.retain(|record| is_of(&JobInfo::of(record, &facts), element));
        for record in &records {
            output.see(record, &facts);
        }
        if !records.iter().any(|record| record.state.is_live()) {
            output.finish(&show);
            return Ok(());
        }
        output.show_news(&show);
        output.show_redrawn(printer);
        std::thread::sleep(FILE_PAUSE);
    }
}

fn is_of(info: &JobInfo, element: Option<u32>) -> bool {
    let Some(element) = element else { return true };
    match info.array.as_ref().map(|array| &array.task) {
        Some(ArrayTaskInfo::One(task)) => *task == element,
        Some(ArrayTaskInfo::Waiting(tasks)) => tasks.contains(&element),
        None => false,
    }
}

fn first_element(info: &JobInfo) -> Option<u32> {
    match &info.array.as_ref()?.task {
        ArrayTaskInfo::One(task) => Some(*task),
        ArrayTaskInfo::Waiting(tasks) => tasks.first().copied(),
    }
}

/// Whether it ever ran: one that was cancelled before has no output.
pub fn has_begun(info: &JobInfo) -> bool {
    !info.is_pending() && info.allocation.is_some()
}

/// The files that a job writes: its output and, where that is another file, its errors.
pub fn files(info: &JobInfo) -> Vec<OutputFile> {
    let mut paths = vec![(info.stdout_path(), JobInfo::stdout_path as fn(&_) -> _)];
    if info.stderr_path() != info.stdout_path() {
        paths.push((info.stderr_path(), JobInfo::stderr_path));
    }
    let file = |(path, of): (String, fn(&JobInfo) -> String)| OutputFile {
        element: one_element(info).filter(|_| of(&next_element(info)) != path),
        path: path.into(),
    };
    paths.into_iter().map(file).collect()
}

/// The element's number; `None` where several wait together.
pub fn one_element(info: &JobInfo) -> Option<u32> {
    match info.array.as_ref().map(|array| &array.task) {
        Some(ArrayTaskInfo::One(task)) => Some(*task),
        Some(ArrayTaskInfo::Waiting(_)) | None => None,
    }
}

/// Another element of the same array, to see whether its files are others.
fn next_element(info: &JobInfo) -> JobInfo {
    let mut next = info.clone();
    next.id = next.id.wrapping_add(1);
    if let Some(ArrayTaskInfo::One(task)) = next.array.as_mut().map(|array| &mut array.task) {
        *task = task.wrapping_add(1);
    }
    next
}

/// Whether a file was written since then: until a job opens it, an older job's may stand there.
pub fn is_written_since(path: &Path, since: Timestamp) -> bool {
    let changed = std::fs::metadata(path).and_then(|facts| facts.modified());
    let Ok(changed) = changed else { return false };
    let changed = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(changed.as_millis()).is_ok_and(|changed| changed + CLOCK_TICK_MS >= since.0)
}

/// Follows the files of a job, or of an array's elements.
#[derive(Debug, Default)]
pub struct JobOutput {
    /// By path: elements may share one.
    files: BTreeMap<PathBuf, Followed>,
}

/// One file that is followed.
#[derive(Debug)]
pub struct Followed {
    file: OutputFile,
    tail: FileTail,
    since: Timestamp,
    stage: Stage,
}

/// How far a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// More may be written.
    Open,
    /// Its writers have ended.
    Ended,
    /// All of it was shown.
    Shown,
}

impl JobOutput {
    /// Takes note of a file that is written from then on.
    pub fn add(&mut self, file: OutputFile, since: Timestamp) -> &mut Followed {
        let followed = self.files.entry(file.path.clone());
        followed.or_insert_with(|| Followed {
            tail: FileTail::new(file.path.clone()),
            file,
            since,
            stage: Stage::Open,
        })
    }

    /// Takes note of what a job's row says now.
    pub fn see(&mut self, record: &JobRecord, facts: &ViewFacts) {
        let info = JobInfo::of(record, facts);
        if !has_begun(&info) {
            return;
        }
        let is_array = info.array.is_some();
        for file in files(&info) {
            let own = file.element.is_some() || !is_array;
            let followed = self.add(file, info.start.unwrap_or_default());
            if own && !record.state.is_live() && followed.stage == Stage::Open {
                followed.stage = Stage::Ended;
            }
        }
    }

    /// Shows what came since the last call, in whole lines; of ended jobs all of it. Whether there
    /// was anything.
    pub fn show_news(&mut self, show: &impl Fn(&str, &[u8])) -> bool {
        let mut any = false;
        for followed in self.files.values_mut() {
            any |= followed.show_news(show);
        }
        any
    }

    /// Shows the lines that programs draw over, such as progress bars, where they changed.
    pub fn show_redrawn(&mut self, printer: &Printer) {
        for followed in self.files.values_mut() {
            if let Some(line) = followed.tail.redrawn() {
                printer.redraw(&format!("{}{line}", prefix(&followed.file)));
            }
        }
    }

    /// All jobs have ended: shows what is left.
    pub fn finish(&mut self, show: &impl Fn(&str, &[u8])) {
        for followed in self.files.values_mut() {
            if followed.stage == Stage::Open {
                followed.stage = Stage::Ended;
            }
        }
        self.show_news(show);
    }
}

impl Followed {
    /// Whether there was anything; a file that can't be read has nothing.
    fn show_news(&mut self, show: &impl Fn(&str, &[u8])) -> bool {
        let mut any = false;
        if self.stage == Stage::Shown {
            return any;
        }
        let over = self.stage == Stage::Ended;
        if is_written_since(self.tail.path(), self.since) {
            loop {
                for line in self.tail.read_bytes(over).unwrap_or_default() {
                    any = true;
                    show(&prefix(&self.file), &line);
                }
                if !(over && self.tail.has_more()) {
                    break;
                }
            }
        }
        if over {
            self.stage = Stage::Shown;
        }
        any
    }
}

/// Shows all that is in a file now, line by line.
pub fn show_whole(file: &OutputFile, printer: &Printer) -> std::io::Result<()> {
    let mut tail = FileTail::new(file.path.clone());
    loop {
        let (prefix, lines) = (prefix(file), tail.read_bytes(true)?);
        printer.output_lines(lines.iter().map(|line| (&prefix, line.as_slice())));
        if !tail.has_more() {
            return Ok(());
        }
    }
}
