//! Notices that the ranks show no sign of life: nothing printed, no event file, no checkpoint, no
//! work of a GPU, no byte of a disk.

use super::Message;
use super::state::{Concerns, StateEvent, TrialId};
use folder::{Attempt, FileTail, RunFolder};
use model::Timestamp;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant, UNIX_EPOCH};
use watch::{CsvReader, HEADER, Measure, Sample, Subject};

/// How often it is looked, at most and at least.
const LOOK: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(15));
/// A measure below so much is no work: percent of a GPU, MiB a second of a disk.
const LEAST: f32 = 1.0;
/// So much of a monitor's file is read at first.
const SAMPLES: u64 = 1 << 16;
/// Folders of event files below `{logs}` that are looked at.
const DEEPEST: u32 = 4;

/// What is watched.
pub struct QuietWatch {
    /// The run.
    pub run: RunFolder,
    /// Which training.
    pub trial: TrialId,
    /// Which start.
    pub attempt: Attempt,
    /// How long without a sign of life.
    pub after: Duration,
    /// The conductor's loop.
    pub sender: Sender<Message>,
}

/// When what last showed that the training goes on, by whichever clock: only that it changes counts,
/// since the clocks of nodes and disks differ.
#[derive(Debug, Default, PartialEq, Eq)]
struct Signs {
    printed: Option<Timestamp>,
    saved: Option<Timestamp>,
    logged: Option<Timestamp>,
    worked: Option<Timestamp>,
}

impl QuietWatch {
    /// Watches until the conductor is over. A silence is reported once, and again only after a sign
    /// of life.
    pub fn watch(self) {
        let pause = (self.after / 20).clamp(LOOK.0, LOOK.1);
        let mut work = GpuWork::default();
        let mut signs = Signs::default();
        let mut since = Instant::now();
        let mut reported = false;
        loop {
            std::thread::sleep(pause);
            let now = self.signs(&mut work);
            if now != signs {
                (signs, since, reported) = (now, Instant::now(), false);
            }
            if reported || since.elapsed() < self.after {
                continue;
            }
            reported = true;
            let quiet = since.elapsed();
            if self
                .sender
                .send(Message::State(
                    Concerns::Trial(self.trial),
                    StateEvent::Quiet { quiet },
                ))
                .is_err()
            {
                return;
            }
        }
    }

    fn signs(&self, work: &mut GpuWork) -> Signs {
        work.read(&self.run, self.attempt);
        Signs {
            printed: self.run.last_output(self.attempt),
            saved: changed(&self.run.checkpoints()).max(newest(&self.run.incoming(), 0)),
            logged: newest(&self.run.tensorboard(), 0),
            worked: work.last,
        }
    }
}

/// When a GPU or a disk of this start last worked, by the monitors' samples.
#[derive(Default)]
struct GpuWork {
    files: BTreeMap<PathBuf, (FileTail, CsvReader)>,
    last: Option<Timestamp>,
}

impl GpuWork {
    fn read(&mut self, run: &RunFolder, attempt: Attempt) {
        for (_, path) in run.monitor_files() {
            let (tail, reader) = self.files.entry(path).or_insert_with_key(|path| {
                let mut reader = CsvReader::default();
                reader.read(HEADER.as_bytes(), |_| {});
                (FileTail::near_end(path.clone(), SAMPLES), reader)
            });
            // A file that can't be read now is read at the next look.
            for line in tail.read(false).unwrap_or_default() {
                reader.read(format!("{line}\n").as_bytes(), |sample| {
                    let own = (sample.job, sample.restart) == (attempt.job, attempt.restart);
                    if own && is_work(&sample) {
                        self.last = self.last.max(Some(sample.at));
                    }
                });
            }
        }
    }
}

/// Whether a sample shows that a rank gets on. A GPU on which ranks wait for each other is busy all
/// the time, and does not touch its memory; a CPU may be busy with waiting too.
fn is_work(sample: &Sample) -> bool {
    let at_least = |measure| sample.get(measure).map(|value| value >= LEAST);
    match sample.subject {
        Subject::Node => false,
        Subject::Rank(_) => [Measure::Read, Measure::Write]
            .map(at_least)
            .contains(&Some(true)),
        Subject::Gpu(_) => at_least(Measure::MemoryBusy).or(at_least(Measure::Busy)) == Some(true),
    }
}

fn changed(path: &Path) -> Option<Timestamp> {
    let since = path
        .metadata()
        .ok()?
        .modified()
        .ok()?
        .duration_since(UNIX_EPOCH)
        .ok()?;
    Some(Timestamp(i64::try_from(since.as_millis()).ok()?))
}

/// When a file below a folder last changed.
fn newest(folder: &Path, depth: u32) -> Option<Timestamp> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let times = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() && depth < DEEPEST => newest(&entry.path(), depth + 1),
        Ok(kind) if kind.is_file() => changed(&entry.path()),
        _ => None,
    });
    times.max().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(subject: Subject, values: &[(Measure, f32)], want: bool) {
        let mut sample = Sample::new(Timestamp(1), 1, 0, subject);
        for (measure, value) in values {
            sample.set(*measure, *value);
        }
        assert_eq!(is_work(&sample), want, "{subject} {values:?}");
    }

    #[test]
    fn a_gpu_that_waits_for_others_does_not_work() {
        let gpu = Subject::Gpu(0);
        check(
            gpu,
            &[(Measure::Busy, 100.0), (Measure::MemoryBusy, 40.0)],
            true,
        );
        check(
            gpu,
            &[(Measure::Busy, 100.0), (Measure::MemoryBusy, 0.0)],
            false,
        );
        check(gpu, &[(Measure::Busy, 100.0)], true);
        check(gpu, &[], false);
        check(Subject::Rank(3), &[(Measure::Cpu, 8.0)], false);
        check(Subject::Rank(3), &[(Measure::Read, 200.0)], true);
        check(Subject::Node, &[(Measure::Read, 200.0)], false);
    }
}
