//! Counters as values of a sample: what grew since the sample before, by the time between. Pure.

use std::collections::HashMap;
use sys::GpuSample;
use sys::process::TreeUsage;
use sys::usage::MachineUsage;
use watch::Measure;

/// Values of one subject.
pub(super) type Values = Vec<(Measure, Option<f32>)>;

/// The counters of the sample before.
#[derive(Debug, Default)]
pub(super) struct Rates {
    machine: MachineUsage,
    ranks: HashMap<u32, TreeUsage>,
}

/// Bytes in MiB.
pub(super) fn mib(bytes: u64) -> f32 {
    (bytes as f64 / f64::from(1 << 20)) as f32
}

/// What a counter grew by a second; none where no time passed, and 0 where it began anew.
fn rate(before: u64, now: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| now.saturating_sub(before) as f64 / seconds)
}

fn cpus(before_ms: u64, now_ms: u64, seconds: f64) -> Option<f32> {
    rate(before_ms, now_ms, seconds).map(|rate| (rate / 1000.0) as f32)
}

fn mib_s(before: u64, now: u64, seconds: f64) -> Option<f32> {
    rate(before, now, seconds).map(|rate| (rate / f64::from(1 << 20)) as f32)
}

impl Rates {
    /// The node, `seconds` after the sample before.
    pub fn machine(&mut self, now: MachineUsage, seconds: f64) -> Values {
        let before = std::mem::replace(&mut self.machine, now);
        vec![
            (Measure::Cpu, cpus(before.cpu_ms, now.cpu_ms, seconds)),
            (Measure::Memory, Some(mib(now.memory))),
            (Measure::MemoryTotal, Some(mib(now.memory_total))),
            (Measure::Read, mib_s(before.read, now.read, seconds)),
            (Measure::Write, mib_s(before.written, now.written, seconds)),
            (
                Measure::Receive,
                mib_s(before.received, now.received, seconds),
            ),
            (Measure::Send, mib_s(before.sent, now.sent, seconds)),
        ]
    }

    /// A rank, `seconds` after the sample before; one that was not there then has no rates.
    pub fn rank(&mut self, rank: u32, now: &TreeUsage, seconds: f64) -> Values {
        let before = self.ranks.insert(rank, now.clone());
        let memory = (Measure::Memory, Some(mib(now.memory)));
        let Some(before) = before else {
            return vec![memory];
        };
        vec![
            memory,
            (Measure::Cpu, cpus(before.cpu_ms, now.cpu_ms, seconds)),
            (Measure::Read, mib_s(before.read, now.read, seconds)),
            (Measure::Write, mib_s(before.written, now.written, seconds)),
        ]
    }
}

/// A GPU, and the rank that uses it.
pub(super) fn gpu(gpu: &GpuSample, rank: Option<u32>) -> Values {
    let number = |value: Option<u32>| value.map(|value| value as f32);
    let large = |value: Option<u64>| value.map(|value| value as f32);
    vec![
        (Measure::Power, gpu.power),
        (Measure::Temperature, number(gpu.temperature)),
        (Measure::Busy, number(gpu.busy)),
        (Measure::MemoryBusy, number(gpu.memory_busy)),
        (Measure::Encoder, number(gpu.encoder)),
        (Measure::Decoder, number(gpu.decoder)),
        (Measure::MemoryClock, number(gpu.memory_clock)),
        (Measure::Clock, number(gpu.clock)),
        (Measure::GpuMemory, large(gpu.used_mib)),
        (Measure::GpuMemoryTotal, large(gpu.total_mib)),
        (Measure::Ecc, large(gpu.ecc_errors)),
        (Measure::Xid, number(gpu.xid)),
        (Measure::Rank, number(rank)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(values: &Values, measure: Measure) -> Option<f32> {
        values.iter().find(|(own, _)| *own == measure)?.1
    }

    #[test]
    fn what_grew_by_the_time_between() {
        let mut rates = Rates::default();
        let usage = |cpu_ms, read| TreeUsage {
            cpu_ms,
            read,
            memory: 3 << 20,
            ..TreeUsage::default()
        };
        let first = rates.rank(0, &usage(1000, 0), 5.0);
        assert_eq!(value(&first, Measure::Cpu), None);
        assert_eq!(value(&first, Measure::Memory), Some(3.0));
        let second = rates.rank(0, &usage(11_000, 10 << 20), 5.0);
        assert_eq!(value(&second, Measure::Cpu), Some(2.0));
        assert_eq!(value(&second, Measure::Read), Some(2.0));
        // A process of it has ended, with its counters.
        let third = rates.rank(0, &usage(4000, 0), 5.0);
        assert_eq!(value(&third, Measure::Cpu), Some(0.0));
        let at_once = rates.rank(0, &usage(9000, 0), 0.0);
        assert_eq!(value(&at_once, Measure::Cpu), None);
    }
}
