//! The monitor: samples this node, its ranks and its GPUs as long as the agent lives, and says what
//! the samples mean.
//!
//! It is an actor of its own: a disk or a driver that hangs holds up the samples and nothing else. It
//! ends with the process.

mod driver_log;
mod file;
mod gpus;
mod rates;
mod recent;

use super::ranks;
use driver_log::DriverLog;
use file::MonitorFile;
use folder::Attempt;
use gpus::Gpus;
use model::Timestamp;
use rates::Rates;
use recent::Recent;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use sys::process::{TreeUsage, tree_usage};
use watch::{Measure, Sample, Subject, csv_row};

/// What is sampled, and where to.
#[derive(Clone, Debug)]
pub(super) struct Monitored {
    /// `monitor/<node>.csv` in the run folder.
    pub file: PathBuf,
    /// The node-local folder.
    pub local: PathBuf,
    /// Which start of which job.
    pub attempt: Attempt,
    /// The node's name.
    pub node: String,
    /// Its index in the job.
    pub node_index: u32,
    /// Whether the job has GPUs here.
    pub has_gpus: bool,
    /// CPUs that each rank was given.
    pub cpus_per_rank: u32,
}

/// How often samples are taken.
const EVERY: Duration = Duration::from_secs(5);
/// How often at first, so that a short run has some, too.
const FIRST_EVERY: Duration = Duration::from_secs(1);
/// How many are taken so.
const FIRST: u32 = 5;

/// Samples until the process ends. `note` takes what a person should read.
pub(super) fn run(at: &Monitored, note: impl Fn(String)) {
    let mut sampler = Sampler::new(at);
    let mut file = MonitorFile::new(at.file.clone());
    let mut recent = Recent::new(at.node.clone(), at.cpus_per_rank);
    let mut is_written = true;
    for count in 0u32.. {
        std::thread::sleep(if count < FIRST { FIRST_EVERY } else { EVERY });
        let samples = sampler.sample(Timestamp(sys::now()));
        let rows: String = samples.iter().map(csv_row).collect();
        let mut notes = recent.add(samples);
        match file.append(&rows) {
            Ok(()) => is_written = true,
            Err(error) if is_written => {
                is_written = false;
                let path = at.file.display();
                notes.push(format!(
                    "samples of {} can't be written: {path}: {error}",
                    at.node
                ));
            }
            Err(_) => {}
        }
        notes.extend(sampler.gpus.complaint());
        notes.extend(std::mem::take(&mut sampler.notes));
        for text in notes {
            note(text);
        }
    }
}

/// Takes samples, each against the counters of the one before.
struct Sampler<'a> {
    at: &'a Monitored,
    rates: Rates,
    gpus: Gpus,
    driver_log: Option<DriverLog>,
    /// What a person should read.
    notes: Vec<String>,
    before: Instant,
}

impl Sampler<'_> {
    fn new(at: &Monitored) -> Sampler<'_> {
        let ranks = ranks::numbered(&at.local, at.node_index);
        let roots: Vec<u32> = ranks.iter().map(|(_, rank)| rank.child).collect();
        let mut rates = Rates::default();
        rates.machine(sys::usage::machine(), 0.0);
        for (rank, usage) in ranks.iter().zip(tree_usage(&roots)) {
            rates.rank(rank.0, &usage, 0.0);
        }
        let gpus = if at.has_gpus {
            Gpus::start(at.node.clone())
        } else {
            Gpus::none()
        };
        let driver_log = at
            .has_gpus
            .then(|| DriverLog::open(Path::new(sys::KERNEL_LOG)));
        Sampler {
            at,
            rates,
            gpus,
            driver_log: driver_log.flatten(),
            notes: Vec::new(),
            before: Instant::now(),
        }
    }

    fn sample(&mut self, now: Timestamp) -> Vec<Sample> {
        let elapsed = self.before.elapsed().as_secs_f64();
        self.before = Instant::now();
        let Attempt { job, restart } = self.at.attempt;
        let new = |subject| Sample::new(now, job, restart, subject);
        let mut samples = Vec::new();
        let mut node = self.rates.machine(sys::usage::machine(), elapsed);
        let free = sys::disk_free(&self.at.local).ok();
        node.push((Measure::DiskFree, free.map(rates::mib)));
        samples.push(filled(new(Subject::Node), node));
        let ranks = ranks::numbered(&self.at.local, self.at.node_index);
        let roots: Vec<u32> = ranks.iter().map(|(_, rank)| rank.child).collect();
        let usages = tree_usage(&roots);
        for ((rank, _), usage) in ranks.iter().zip(&usages) {
            let values = self.rates.rank(*rank, usage, elapsed);
            samples.push(filled(new(Subject::Rank(*rank)), values));
        }
        let numbers: Vec<u32> = ranks.iter().map(|(rank, _)| *rank).collect();
        let mut gpus = self.gpus.sample();
        if let Some(log) = &mut self.driver_log {
            self.notes.extend(log.read(&self.at.node, &mut gpus));
        }
        for gpu in gpus {
            let rank = rank_of(&gpu.processes, &numbers, &usages);
            let values = rates::gpu(&gpu, rank);
            samples.push(filled(new(Subject::Gpu(gpu.index)), values));
        }
        samples
    }
}

/// The first rank that one of these processes belongs to.
fn rank_of(processes: &[u32], ranks: &[u32], usages: &[TreeUsage]) -> Option<u32> {
    let owns = |usage: &TreeUsage| usage.processes.iter().any(|own| processes.contains(own));
    let owner = usages.iter().position(owns)?;
    ranks.get(owner).copied()
}

fn filled(mut sample: Sample, values: Vec<(Measure, Option<f32>)>) -> Sample {
    for (measure, value) in values {
        sample.set_some(measure, value);
    }
    sample
}
