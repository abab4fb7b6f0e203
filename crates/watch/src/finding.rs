//! What samples mean, in words.

use crate::{Measure, Subject, Track, Usage};
use std::fmt;

/// Something that a person should know of how a training uses what it was given.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// A GPU does nothing.
    IdleGpu {
        /// Its node.
        node: String,
        /// Its index.
        gpu: u32,
        /// Percent of the time in which it worked.
        busy: f64,
    },
    /// The GPUs of a node wait while its ranks use all their CPUs.
    WaitsForLoader {
        /// The node.
        node: String,
        /// Percent of the time in which the GPUs worked.
        busy: f64,
        /// CPUs that the ranks use.
        cpus: f64,
        /// CPUs that they have.
        of: u32,
    },
    /// The memory of a GPU is all but full.
    GpuMemoryNearEnd {
        /// Its node.
        node: String,
        /// Its index.
        gpu: u32,
        /// MiB in use, at most.
        used_mib: f64,
        /// MiB there.
        total_mib: f64,
    },
    /// A GPU's memory made errors that could not be corrected.
    MemoryErrors {
        /// Its node.
        node: String,
        /// Its index.
        gpu: u32,
        /// How many came while the run was sampled.
        count: f64,
    },
    /// The driver reported an error of a GPU.
    Xid {
        /// Its node.
        node: String,
        /// Its index.
        gpu: u32,
        /// The error's number.
        xid: u32,
    },
    /// A GPU runs slower than all others that do the same.
    SlowGpu {
        /// Its node.
        node: String,
        /// Its index.
        gpu: u32,
        /// The rank that uses it, where known.
        rank: Option<u32>,
        /// Its clock in MHz.
        mhz: f64,
        /// That of the others.
        others_mhz: f64,
        /// Its temperature in °C, where known.
        celsius: Option<f64>,
    },
    /// A rank computes while the others wait for it.
    SlowRank {
        /// Its node.
        node: String,
        /// The rank.
        rank: u32,
        /// CPUs that it uses.
        cpus: f64,
        /// CPUs that the others use.
        others: f64,
    },
}

/// Fewer samples say nothing: at one every 5 s, 100 s.
const LEAST_SAMPLES: u32 = 20;
/// A GPU that works less than so many percent of the time is idle.
const IDLE: f64 = 5.0;
/// GPUs that work more than so many percent of the time don't wait for much.
const WELL_USED: f64 = 70.0;
/// Ranks that use so much of their CPUs use all of them.
const ALL_CPUS: f64 = 0.9;
/// So much of a GPU's memory in use is all but full.
const NEAR_END: f64 = 0.95;
/// A clock below so much of the others' is a slow one.
const SLOW_CLOCK: f64 = 0.8;
/// A rank that uses so many times the others' CPUs computes while they wait.
const SLOW_RANK: f64 = 1.5;

/// What a run's samples mean. `cpus_per_rank`: CPUs that each rank was given.
#[must_use]
pub fn findings(usage: &Usage, cpus_per_rank: u32) -> Vec<Finding> {
    let mut found = Vec::new();
    for (node, subject, busy) in tracks(usage, Measure::Busy) {
        if let Subject::Gpu(gpu) = subject
            && busy.mean() < IDLE
        {
            found.push(Finding::IdleGpu {
                node: node.to_owned(),
                gpu,
                busy: busy.mean(),
            });
        }
    }
    let nodes = usage.nodes().into_iter();
    found.extend(nodes.filter_map(|node| waits_for_loader(usage, node, cpus_per_rank)));
    for (node, subject, used) in tracks(usage, Measure::GpuMemory) {
        let total = usage.track(node, subject, Measure::GpuMemoryTotal);
        if let (Subject::Gpu(gpu), Some(total)) = (subject, total)
            && used.peak() >= NEAR_END * total.peak()
        {
            found.push(Finding::GpuMemoryNearEnd {
                node: node.to_owned(),
                gpu,
                used_mib: used.peak(),
                total_mib: total.peak(),
            });
        }
    }
    for (node, subject, errors) in usage.of(Measure::Ecc) {
        let count = errors.peak() - errors.lowest();
        if let Subject::Gpu(gpu) = subject
            && count > 0.0
        {
            let node = node.to_owned();
            found.push(Finding::MemoryErrors { node, gpu, count });
        }
    }
    for (node, subject, xids) in usage.of(Measure::Xid) {
        if let Subject::Gpu(gpu) = subject {
            let node = node.to_owned();
            let xid = xids.peak() as u32;
            found.push(Finding::Xid { node, gpu, xid });
        }
    }
    found.extend(slow_gpu(usage));
    found.extend(slow_rank(usage));
    found
}

fn tracks(usage: &Usage, measure: Measure) -> impl Iterator<Item = (&str, Subject, &Track)> {
    let all = usage.of(measure);
    all.filter(|(_, _, track)| track.samples() >= LEAST_SAMPLES)
}

fn waits_for_loader(usage: &Usage, node: &str, cpus_per_rank: u32) -> Option<Finding> {
    let own = |measure| tracks(usage, measure).filter(move |(on, ..)| *on == node);
    let busy: Vec<f64> = own(Measure::Busy).map(|(.., track)| track.mean()).collect();
    let ranks = own(Measure::Cpu).filter(|(_, subject, _)| matches!(subject, Subject::Rank(_)));
    let cpus: Vec<f64> = ranks.map(|(.., track)| track.mean()).collect();
    let of = cpus_per_rank.saturating_mul(u32::try_from(cpus.len()).ok()?);
    let busy = mean(&busy)?;
    let cpus: f64 = cpus.iter().sum();
    let waits = (IDLE..WELL_USED).contains(&busy) && cpus >= ALL_CPUS * f64::from(of);
    (waits && of > 0).then(|| Finding::WaitsForLoader {
        node: node.to_owned(),
        busy,
        cpus,
        of,
    })
}

/// A GPU whose clock is far below that of all the others, which are alike.
fn slow_gpu(usage: &Usage) -> Option<Finding> {
    let clocks: Vec<_> = tracks(usage, Measure::Clock)
        .filter(|(node, subject, _)| {
            let busy = usage.track(node, *subject, Measure::Busy);
            busy.is_some_and(|busy| busy.mean() >= IDLE)
        })
        .collect();
    let means: Vec<f64> = clocks.iter().map(|(.., clock)| clock.mean()).collect();
    let slowest = least(&means)?;
    let others = without(&means, slowest);
    let others_mhz = *others.first().filter(|_| others.len() >= 2)?;
    let (node, subject, clock) = clocks[slowest];
    let Subject::Gpu(gpu) = subject else {
        return None;
    };
    let of = |measure| usage.track(node, subject, measure).map(Track::mean);
    (clock.mean() < SLOW_CLOCK * others_mhz).then(|| Finding::SlowGpu {
        node: node.to_owned(),
        gpu,
        rank: of(Measure::Rank).map(|rank| rank as u32),
        mhz: clock.mean(),
        others_mhz,
        celsius: of(Measure::Temperature),
    })
}

/// Without GPUs, whose ranks wait busily: one that uses far more CPU than all the others, which are
/// alike and wait for it.
fn slow_rank(usage: &Usage) -> Option<Finding> {
    if usage.of(Measure::Busy).next().is_some() {
        return None;
    }
    let ranks: Vec<_> = tracks(usage, Measure::Cpu)
        .filter_map(|(node, subject, track)| match subject {
            Subject::Rank(rank) => Some((node, rank, track.mean())),
            Subject::Node | Subject::Gpu(_) => None,
        })
        .collect();
    let negative: Vec<f64> = ranks.iter().map(|(.., cpus)| -cpus).collect();
    let most = least(&negative)?;
    let others = without(&negative, most);
    let next = -*others.first().filter(|_| others.len() >= 2)?;
    let (node, rank, cpus) = ranks[most];
    let others = -mean(&others)?;
    (cpus > SLOW_RANK * next && cpus > 0.5).then(|| Finding::SlowRank {
        node: node.to_owned(),
        rank,
        cpus,
        others,
    })
}

fn least(numbers: &[f64]) -> Option<usize> {
    (0..numbers.len()).min_by(|a, b| numbers[*a].total_cmp(&numbers[*b]))
}

/// The others, in order.
fn without(numbers: &[f64], one: usize) -> Vec<f64> {
    let others = numbers
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != one);
    let mut others: Vec<f64> = others.map(|(_, number)| *number).collect();
    others.sort_by(f64::total_cmp);
    others
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

impl Finding {
    /// Whether it says the same of the same thing as another, whatever the numbers.
    #[must_use]
    pub fn is_as(&self, other: &Finding) -> bool {
        self.key() == other.key()
    }

    /// Whether it is an error of the hardware or its driver, which needs no time to be seen.
    #[must_use]
    pub fn is_error(&self) -> bool {
        matches!(self, Finding::MemoryErrors { .. } | Finding::Xid { .. })
    }

    fn key(&self) -> (u8, &str, u32) {
        match self {
            Finding::IdleGpu { node, gpu, .. } => (0, node, *gpu),
            Finding::WaitsForLoader { node, .. } => (1, node, 0),
            Finding::GpuMemoryNearEnd { node, gpu, .. } => (2, node, *gpu),
            Finding::MemoryErrors { node, gpu, .. } => (3, node, *gpu),
            // Each error is one of its own.
            Finding::Xid { node, gpu, xid } => {
                (6, node, gpu.saturating_add(xid.saturating_mul(1000)))
            }
            Finding::SlowGpu { node, gpu, .. } => (4, node, *gpu),
            Finding::SlowRank { node, rank, .. } => (5, node, *rank),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::IdleGpu { node, gpu, busy } => write!(
                f,
                "GPU {gpu} on {node} is idle ({busy:.0} % busy): ask for fewer GPUs, or see \
                 whether the program uses it"
            ),
            Finding::WaitsForLoader {
                node,
                busy,
                cpus,
                of,
            } => write!(
                f,
                "the GPUs on {node} wait ({busy:.0} % busy) while the ranks use {cpus:.1} of their \
                 {of} CPUs: the data loader is too slow; ask for more CPUs a rank or prepare less \
                 at run time"
            ),
            Finding::GpuMemoryNearEnd {
                node,
                gpu,
                used_mib,
                total_mib,
            } => write!(
                f,
                "the memory of GPU {gpu} on {node} is nearly full ({:.1} of {:.1} GiB): a little \
                 more and the program runs out of it",
                used_mib / 1024.0,
                total_mib / 1024.0
            ),
            Finding::MemoryErrors { node, gpu, count } => write!(
                f,
                "the memory of GPU {gpu} on {node} made {count:.0} errors that could not be \
                 corrected: tell who runs the cluster, and keep away from that node"
            ),
            Finding::Xid { node, gpu, xid } => {
                let (what, todo) = crate::xid::words(*xid);
                write!(
                    f,
                    "the driver reported Xid {xid} of GPU {gpu} on {node} ({what}): {todo}"
                )
            }
            Finding::SlowGpu {
                node,
                gpu,
                rank,
                mhz,
                others_mhz,
                celsius,
            } => {
                write!(f, "GPU {gpu} on {node}")?;
                if let Some(rank) = rank {
                    write!(f, " (rank {rank})")?;
                }
                write!(f, " runs at {mhz:.0} MHz, the others at {others_mhz:.0}")?;
                if let Some(celsius) = celsius {
                    write!(f, " ({celsius:.0} °C)")?;
                }
                f.write_str(": all ranks wait for it")
            }
            Finding::SlowRank {
                node,
                rank,
                cpus,
                others,
            } => write!(
                f,
                "rank {rank} on {node} computes ({cpus:.1} CPUs) while the others wait for it \
                 ({others:.1} CPUs each): it has more to do, or its node is slower"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Extent, Sample};
    use Measure::{Busy, Clock, Cpu, Ecc, GpuMemory, GpuMemoryTotal, Temperature};
    use Subject::{Gpu, Rank};
    use model::Timestamp;

    /// Samples every 5 s for 5 min, the first half with the first value and the rest with the second.
    #[track_caller]
    fn check(values: &[(&str, Subject, Measure, f32, f32)], want: &[&str]) {
        let extent = Extent {
            from: Timestamp(0),
            to: Timestamp(300_000),
        };
        let mut usage = Usage::new(extent);
        for (node, subject, measure, first, second) in values {
            for turn in 0..60 {
                let mut sample = Sample::new(Timestamp(turn * 5000), 1, 0, *subject);
                sample.set(*measure, if turn < 30 { *first } else { *second });
                usage.add(node, &sample);
            }
        }
        let found: Vec<String> = findings(&usage, 4)
            .iter()
            .map(ToString::to_string)
            .collect();
        let begins = |(found, want): (&String, &&str)| found.contains(*want);
        assert!(
            found.len() == want.len() && found.iter().zip(want).all(begins),
            "{found:#?}"
        );
    }

    #[test]
    fn gpus_that_are_used_are_not_worth_a_word() {
        check(
            &[
                ("n1", Gpu(0), Busy, 90.0, 95.0),
                ("n1", Rank(0), Cpu, 4.0, 4.0),
            ],
            &[],
        );
        check(&[("n1", Rank(0), Cpu, 0.0, 0.0)], &[]);
        check(&[], &[]);
    }

    #[test]
    fn an_idle_gpu() {
        check(
            &[
                ("n1", Gpu(0), Busy, 90.0, 95.0),
                ("n1", Gpu(1), Busy, 0.0, 4.0),
            ],
            &["GPU 1 on n1 is idle (2 % busy)"],
        );
    }

    #[test]
    fn a_loader_that_is_too_slow() {
        check(
            &[
                ("n1", Gpu(0), Busy, 30.0, 50.0),
                ("n1", Rank(0), Cpu, 3.9, 3.9),
            ],
            &["the GPUs on n1 wait (40 % busy) while the ranks use 3.9 of their 4 CPUs"],
        );
        // The CPUs are free: it waits for something else.
        check(
            &[
                ("n1", Gpu(0), Busy, 30.0, 50.0),
                ("n1", Rank(0), Cpu, 1.0, 1.0),
            ],
            &[],
        );
    }

    #[test]
    fn memory_near_its_end_and_broken() {
        check(
            &[
                ("n1", Gpu(2), GpuMemory, 20_000.0, 31_800.0),
                ("n1", Gpu(2), GpuMemoryTotal, 32_768.0, 32_768.0),
            ],
            &["the memory of GPU 2 on n1 is nearly full (31.1 of 32.0 GiB)"],
        );
        check(
            &[("n1", Gpu(2), Ecc, 1.0, 3.0)],
            &["the memory of GPU 2 on n1 made 2 errors"],
        );
        check(&[("n1", Gpu(2), Ecc, 7.0, 7.0)], &[]);
    }

    #[test]
    fn one_gpu_is_slower() {
        let mut values = Vec::new();
        for gpu in 0..4 {
            let mhz = if gpu == 3 { 900.0 } else { 1400.0 };
            values.push(("n1", Gpu(gpu), Busy, 99.0, 99.0));
            values.push(("n1", Gpu(gpu), Clock, mhz, mhz));
            values.push(("n1", Gpu(gpu), Temperature, 60.0, 60.0));
        }
        check(
            &values,
            &["GPU 3 on n1 runs at 900 MHz, the others at 1400 (60 °C)"],
        );
        // Of two no one knows which is as it should be.
        check(&values[6..], &[]);
    }

    #[test]
    fn one_rank_is_slower() {
        let rank = |rank, cpus| ("n1", Rank(rank), Cpu, cpus, cpus);
        check(
            &[rank(0, 0.4), rank(1, 0.4), rank(2, 1.0), rank(3, 0.4)],
            &["rank 2 on n1 computes (1.0 CPUs) while the others wait for it (0.4 CPUs each)"],
        );
        check(&[rank(0, 0.9), rank(1, 1.0), rank(2, 1.0)], &[]);
        check(&[rank(0, 0.1), rank(1, 1.0)], &[]);
    }

    #[test]
    fn what_the_driver_reported() {
        let sample = |xid: Option<f32>, at: i64| {
            let mut sample = Sample::new(Timestamp(at), 1, 0, Gpu(3));
            sample.set(Busy, 90.0);
            if let Some(xid) = xid {
                sample.set(Measure::Xid, xid);
            }
            sample
        };
        let mut usage = Usage::new(Extent {
            from: Timestamp(0),
            to: Timestamp(300_000),
        });
        // One is enough.
        usage.add("n1", &sample(None, 0));
        usage.add("n1", &sample(Some(79.0), 5000));
        let said: Vec<String> = findings(&usage, 4)
            .iter()
            .map(ToString::to_string)
            .collect();
        let [said] = &said[..] else {
            panic!("{said:#?}");
        };
        assert!(
            said.starts_with(
                "the driver reported Xid 79 of GPU 3 on n1 (the GPU has fallen off the bus): tell"
            ),
            "{said}"
        );
    }
}
