//! `yard run SCRIPT`: a batch script, submitted as it stands and followed.

use super::interrupt::Interrupt;
use super::story::row;
use crate::exit_code;
use crate::failure::{Failure, Outcome};
use crate::printer::Printer;
use crate::slurm::connection;
use crate::words;
use api::{Client, JobFilter};
use backend::{FILE_PAUSE, JobView, ViewState};
use model::{JobId, JobInfo, JobRecord, Timestamp};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Instant, UNIX_EPOCH};

/// Files are dated by the kernel's coarse clock, which can lag this far behind.
const CLOCK_TICK_MS: i64 = 20;

/// Submits the script to the embedded engine as `sbatch` does, with Slurm's flags before it, and
/// follows its output.
pub fn run(
    script: &Path,
    flags: &[String],
    detach: bool,
    interrupt: &Interrupt,
    printer: &Printer,
) -> Outcome {
    let begun = Instant::now();
    let mut args = flags.to_vec();
    args.push(script.display().to_string());
    let job = match crate::slurm::sbatch::queue(&args, printer) {
        Ok(job) => job,
        // sbatch has said why.
        Err(0) => return Ok(exit_code::DONE),
        Err(_) => return Ok(exit_code::REFUSED),
    };
    printer.line(&format!("{} · local · job {job}", script.display()));
    if detach {
        printer.line(&come_back(job));
        return Ok(exit_code::DONE);
    }
    let trouble = |trouble: connection::Trouble| {
        Failure::new(exit_code::UNREACHABLE, trouble.to_string()).todo(come_back(job))
    };
    let mut client = connection::connect().map_err(trouble)?;
    let facts = connection::view_facts(Some(&mut client)).map_err(trouble)?;
    let mut output = Output::default();
    let mut started = false;
    loop {
        if interrupt.asked() {
            printer.line(&format!("job {job} goes on without this terminal"));
            printer.line(&come_back(job));
            return Ok(exit_code::DONE);
        }
        let record = of(&mut client, job)?;
        let view = JobView::from(&record);
        if !started && !matches!(view.state, ViewState::Waiting { .. }) {
            started = true;
            output = Output::of(&JobInfo::of(&record, &facts));
        }
        let over = !view.state.is_live();
        printer.data(&output.news(over));
        if over {
            let took = i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX);
            let ViewState::Ended { how, exit, .. } = &view.state else {
                continue;
            };
            printer.line(&format!(
                "job {job} {how} after {} (exit {exit})",
                words::length(took)
            ));
            return Ok(match view.state.is_completed() {
                true => exit_code::DONE,
                false => exit_code::FAILED,
            });
        }
        if let ViewState::Waiting { reason } = &view.state
            && begun.elapsed().as_millis() > 500
        {
            printer.moving("waits", reason);
        }
        std::thread::sleep(FILE_PAUSE);
    }
}

fn of(client: &mut Client, job: JobId) -> Result<JobRecord, Failure> {
    let filter = JobFilter {
        ids: Some(vec![job]),
        ended_since: Some(Timestamp(0)),
        comment: None,
    };
    client.jobs(filter)?.into_iter().next().ok_or_else(|| {
        Failure::new(
            exit_code::UNREACHABLE,
            format!("the engine no longer knows job {job}"),
        )
    })
}

/// How to see it again, and how to end it.
fn come_back(job: JobId) -> String {
    format!(
        "{}\n{}",
        row("look", &format!("yard show {job}")),
        row("end", &format!("yard cancel {job}"))
    )
}

/// The job's output file, as far as it was shown.
#[derive(Debug, Default)]
struct Output {
    path: Option<PathBuf>,
    since: Timestamp,
    offset: u64,
}

impl Output {
    fn of(job: &JobInfo) -> Output {
        Output {
            path: Some(job.stdout_path().into()),
            since: job.start.unwrap_or_default(),
            offset: 0,
        }
    }

    /// The file, once this job has opened it: until then an older job's may stand there.
    fn opened(&self) -> Option<File> {
        let file = File::open(self.path.as_ref()?).ok()?;
        let changed = file.metadata().ok()?.modified().ok()?;
        let changed = changed.duration_since(UNIX_EPOCH).ok()?.as_millis();
        (i64::try_from(changed).ok()? + CLOCK_TICK_MS >= self.since.0).then_some(file)
    }

    /// What came since the last call, in whole lines; at the end all of it. A file that is not
    /// there has nothing.
    fn news(&mut self, over: bool) -> String {
        let mut bytes = Vec::new();
        let Some(mut file) = self.opened() else {
            return String::new();
        };
        let read = file
            .seek(SeekFrom::Start(self.offset))
            .and_then(|_offset| file.read_to_end(&mut bytes));
        if read.is_err() {
            return String::new();
        }
        let whole = match bytes.iter().rposition(|byte| *byte == b'\n') {
            _ if over => bytes.len(),
            Some(end) => end + 1,
            None => 0,
        };
        self.offset += whole as u64;
        String::from_utf8_lossy(&bytes[..whole]).into_owned()
    }
}
