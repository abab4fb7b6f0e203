//! What a schedule of a trace was worth: waits, slowdowns, use of the machine.

use super::series::{SizeClass, waits_by_size};
use super::{Played, Rules};
use serde::Serialize;
use std::collections::BTreeMap;

/// A run time below which a slowdown is not counted further, in seconds: a job of a second that
/// waited a minute does not count sixty times (Feitelson and Rudolph, 1998).
const SHORTEST: f64 = 10.0;

/// A policy, and what it came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// By which rules.
    #[serde(flatten)]
    pub rules: Rules,
    /// Jobs that the machine could never run.
    pub never: usize,
    /// What it came to.
    #[serde(flatten)]
    pub measures: Measures,
}

/// What a schedule was worth. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measures {
    /// Jobs that ran.
    pub jobs: usize,
    /// Time between submission and start.
    pub wait: Spread,
    /// (wait + run) / run, with a run of at least ten seconds, and at least 1.
    pub bounded_slowdown: Spread,
    /// From the first submission to the last end.
    pub length: f64,
    /// Share of the processors' time that jobs held, from the first submission to the last end;
    /// `None` where there are none, or the log does not
    /// say what jobs used.
    pub cpu_use: Option<f64>,
    /// The same of the GPUs.
    pub gpu_use: Option<f64>,
    /// Share of the jobs that started before one that was ahead of them.
    pub backfilled: f64,
    /// Waits by size: by GPUs where the log has any, else by processors.
    pub sizes: Vec<SizeClass>,
    /// By user, those that used most first.
    pub users: Vec<Part>,
    /// By queue, likewise.
    pub queues: Vec<Part>,
}

/// Some values, in short.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Their mean.
    pub mean: f64,
    /// Half of them are at most this.
    pub median: f64,
    /// 95 of 100 are at most this.
    pub p95: f64,
    /// The greatest.
    pub max: f64,
}

/// The jobs of one user or queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Whose; empty where the trace does not say.
    pub name: Box<str>,
    /// How many jobs.
    pub jobs: usize,
    /// Their mean wait.
    pub mean_wait: f64,
    /// Their mean bounded slowdown.
    pub mean_bounded_slowdown: f64,
    /// Hours of processors.
    pub cpu_hours: f64,
    /// Hours of GPUs.
    pub gpu_hours: f64,
}

/// One job as it is measured; times in seconds.
struct Job<'a> {
    user: &'a str,
    queue: &'a str,
    wait: f64,
    slowdown: f64,
    cpu_time: f64,
    gpu_time: f64,
}

impl Measures {
    /// Measures what was played on a machine of so many processors and GPUs.
    #[must_use]
    pub fn of(played: &Played<'_>, cpus: u64, gpus: u64) -> Measures {
        let starts = || {
            played
                .starts
                .iter()
                .map(|start| (&played.trace.jobs[start.job], start))
        };
        let seconds = |millis: i64| millis as f64 / 1000.0;
        let jobs: Vec<Job<'_>> = starts()
            .map(|(job, start)| {
                let (wait, run) = (seconds(start.at.0 - job.submit.0), seconds(job.run));
                Job {
                    user: &job.user,
                    queue: &job.queue,
                    wait,
                    slowdown: ((wait + run) / run.max(SHORTEST)).max(1.0),
                    cpu_time: run * f64::from(job.cpus),
                    gpu_time: run * f64::from(job.gpus),
                }
            })
            .collect();
        let first = starts().map(|(job, _)| job.submit.0).min().unwrap_or(0);
        let last = starts().map(|(job, start)| start.at.0 + job.run).max();
        let length = seconds(last.unwrap_or(first) - first);
        let used = |time: fn(&Job<'_>) -> f64, there: u64| {
            let sum: f64 = jobs.iter().map(time).sum();
            // A log that does not say what jobs used says nothing of the machine's use.
            (there > 0 && length > 0.0 && sum > 0.0).then(|| sum / (there as f64 * length))
        };
        let backfilled = played
            .starts
            .iter()
            .filter(|start| start.backfilled)
            .count();
        Measures {
            jobs: jobs.len(),
            wait: Spread::of(jobs.iter().map(|job| job.wait).collect()),
            bounded_slowdown: Spread::of(jobs.iter().map(|job| job.slowdown).collect()),
            length,
            cpu_use: used(|job| job.cpu_time, cpus),
            gpu_use: used(|job| job.gpu_time, gpus),
            backfilled: backfilled as f64 / jobs.len().max(1) as f64,
            sizes: waits_by_size(played),
            users: parts(&jobs, |job| job.user),
            queues: parts(&jobs, |job| job.queue),
        }
    }
}

impl Spread {
    /// Of some values.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Spread {
        let sum: f64 = values.iter().sum();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (share * values.len() as f64).ceil() as usize;
            values.get(place.saturating_sub(1)).copied().unwrap_or(0.0)
        };
        Spread {
            mean: sum / values.len().max(1) as f64,
            median: at(0.5),
            p95: at(0.95),
            max: values.last().copied().unwrap_or(0.0),
        }
    }
}

fn parts<'a>(jobs: &[Job<'a>], name: fn(&Job<'a>) -> &'a str) -> Vec<Part> {
    let mut all: BTreeMap<&str, Vec<&Job<'_>>> = BTreeMap::new();
    for job in jobs {
        all.entry(name(job)).or_default().push(job);
    }
    let mut parts: Vec<Part> = all
        .into_iter()
        .map(|(name, jobs)| {
            let sum = |of: fn(&Job<'_>) -> f64| jobs.iter().map(|job| of(job)).sum::<f64>();
            Part {
                name: name.into(),
                jobs: jobs.len(),
                mean_wait: sum(|job| job.wait) / jobs.len() as f64,
                mean_bounded_slowdown: sum(|job| job.slowdown) / jobs.len() as f64,
                cpu_hours: sum(|job| job.cpu_time) / 3600.0,
                gpu_hours: sum(|job| job.gpu_time) / 3600.0,
            }
        })
        .collect();
    let weight = |part: &Part| (part.gpu_hours, part.cpu_hours);
    parts.sort_by(|a, b| {
        weight(b)
            .partial_cmp(&weight(a))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    parts
}
