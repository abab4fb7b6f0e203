//! Requested against used, and what to ask next time.

use super::facts::RunFacts;
use super::html::number;
use crate::{Measure, Subject};
use model::say_length;

/// One thing that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub what: &'static str,
    pub asked: String,
    pub used: String,
    /// What to ask next time; empty where what was asked is right, or not enough is known.
    pub next: String,
    /// The share that was used, in percent, at the peak.
    pub share: Option<u32>,
}

/// Less than this share in use is worth asking less.
const ROOMY: f64 = 0.6;
/// So much more than the peak is asked for.
const ROOM: f64 = 1.2;

/// The rows of a run.
pub(super) fn rows(run: &RunFacts) -> Vec<Row> {
    let asked = &run.asked;
    let mut rows = Vec::new();
    let ranks = |measure: Measure| -> Vec<(f64, f64)> {
        let all = run.usage.of(measure);
        let ranks = all.filter(|(_, subject, _)| matches!(subject, Subject::Rank(_)));
        ranks
            .map(|(.., track)| (track.mean(), track.peak()))
            .collect()
    };
    let cpus = ranks(Measure::Cpu);
    if let Some((mean, peak)) = mean_and_peak(&cpus) {
        // With torchrun and its like one task a node holds the CPUs of all its ranks.
        let tasks = u32::try_from(cpus.len()).unwrap_or(u32::MAX);
        let of_task =
            f64::from(asked.cpus_per_rank) * f64::from(asked.ranks) / f64::from(tasks.max(1));
        let of_task = of_task.max(f64::from(asked.cpus_per_rank));
        let per_rank = of_task / f64::from(asked.cpus_per_rank.max(1));
        let next = (peak / per_rank * ROOM).ceil().max(1.0);
        rows.push(Row {
            what: "CPUs of a rank",
            asked: asked.cpus_per_rank.to_string(),
            used: spread(mean / per_rank, peak / per_rank, ""),
            next: less(
                next,
                f64::from(asked.cpus_per_rank),
                peak / of_task,
                "cpus_per_rank = ",
            ),
            share: share(peak, of_task),
        });
    }
    let nodes = run.usage.nodes();
    let memory = nodes.iter().map(|node| {
        let of_node = run.usage.of(Measure::Memory);
        let own =
            of_node.filter(|(on, subject, _)| on == node && matches!(subject, Subject::Rank(_)));
        own.fold((0.0, 0.0), |sum, (.., track)| {
            (sum.0 + track.mean(), sum.1 + track.peak())
        })
    });
    let memory: Vec<(f64, f64)> = memory.filter(|(mean, _)| *mean > 0.0).collect();
    if let Some((mean, peak)) = mean_and_peak(&memory) {
        let asked = asked.memory_mib.map(|mib| mib as f64);
        let next = (peak * ROOM / 1024.0).ceil().max(1.0);
        rows.push(Row {
            what: "Memory of a node",
            asked: asked.map_or("the default, or all".to_owned(), gib),
            used: format!("{}, at most {}", gib(mean), gib(peak)),
            next: asked.map_or(String::new(), |asked| {
                let next = less(next * 1024.0, asked, peak / asked, "");
                if next.is_empty() {
                    next
                } else {
                    format!("memory = \"{}G\"", (peak * ROOM / 1024.0).ceil().max(1.0))
                }
            }),
            share: asked.and_then(|asked| share(peak, asked)),
        });
    }
    let gpus = run.usage.of(Measure::Busy);
    let gpus: Vec<(f64, f64)> = gpus
        .map(|(.., track)| (track.mean(), track.peak()))
        .collect();
    if let Some((mean, _)) = mean_and_peak(&gpus) {
        let idle = gpus.iter().filter(|(mean, _)| *mean < 5.0).count();
        let next = match idle {
            0 => String::new(),
            idle if idle == gpus.len() => "none: the program used no GPU".to_owned(),
            idle => format!(
                "{}: {idle} did nothing",
                run.gpus().saturating_sub(u32::try_from(idle).unwrap_or(0))
            ),
        };
        let kind = asked.gpu_type.as_deref().unwrap_or("any");
        rows.push(Row {
            what: "GPUs",
            asked: format!("{} × {kind}", run.gpus()),
            used: format!("{mean:.0} % busy"),
            next,
            share: share(mean, 100.0),
        });
    }
    let totals = run
        .usage
        .of(Measure::GpuMemoryTotal)
        .map(|(.., track)| track.peak());
    let total = totals.fold(0.0, f64::max);
    let used = run.usage.of(Measure::GpuMemory);
    let used: Vec<(f64, f64)> = used
        .map(|(.., track)| (track.mean(), track.peak()))
        .collect();
    if let Some((mean, peak)) = mean_and_peak(&used).filter(|_| total > 0.0) {
        rows.push(Row {
            what: "GPU memory",
            asked: gib(total),
            used: format!("{}, at most {}", gib(mean), gib(peak)),
            next: match peak / total {
                0.95.. => "more, or a smaller batch: it was nearly full".to_owned(),
                0.5.. => String::new(),
                _ => "a larger batch, or a smaller GPU".to_owned(),
            },
            share: share(peak, total),
        });
    }
    if let Some(limit) = asked.time {
        let longest = run
            .starts
            .iter()
            .map(|start| start.to.since(start.from))
            .max();
        let longest = longest.unwrap_or(0);
        let limit_ms = i64::try_from(limit.saturating_mul(1000)).unwrap_or(i64::MAX);
        let of_limit = longest as f64 / limit_ms.max(1) as f64;
        let minutes = (longest as f64 * ROOM / 60_000.0).ceil().max(5.0);
        let came_back = run.starts.len() > 1;
        rows.push(Row {
            what: "Time of a job",
            asked: say_length(limit_ms),
            used: say_length(longest),
            next: if of_limit < ROOMY && !came_back && run.state == "done" {
                format!("time = \"{minutes}m\", which starts earlier")
            } else {
                String::new()
            },
            share: share(longest as f64, limit_ms as f64),
        });
    }
    rows
}

fn mean_and_peak(tracks: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = tracks.len() as f64;
    let mean = tracks.iter().map(|(mean, _)| mean).sum::<f64>() / count;
    let peak = tracks.iter().map(|(_, peak)| *peak).reduce(f64::max)?;
    Some((mean, peak))
}

fn spread(mean: f64, peak: f64, unit: &str) -> String {
    format!("{}{unit}, at most {}{unit}", number(mean), number(peak))
}

/// What to ask in place of what was far too much.
fn less(next: f64, asked: f64, used: f64, key: &str) -> String {
    if used < ROOMY && next < asked {
        format!("{key}{next}")
    } else {
        String::new()
    }
}

fn share(used: f64, asked: f64) -> Option<u32> {
    let share = (used / asked * 100.0).round();
    share.is_finite().then_some(share.clamp(0.0, 999.0) as u32)
}

fn gib(mib: f64) -> String {
    match mib {
        1024.0.. => format!("{} GiB", number(mib / 1024.0)),
        _ => format!("{mib:.0} MiB"),
    }
}
