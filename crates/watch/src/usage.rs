//! Many samples as few numbers: means, peaks and a line over time, in memory that does not grow.

use crate::{Measure, Sample, Subject};
use model::Timestamp;
use std::collections::BTreeMap;

/// From when to when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first moment.
    pub from: Timestamp,
    /// The last one.
    pub to: Timestamp,
}

impl Extent {
    /// Milliseconds, at least 1.
    #[must_use]
    pub fn length_ms(self) -> i64 {
        self.to.since(self.from).max(1)
    }
}

/// So many points a line has at most.
const BUCKETS: usize = 240;

/// One measure of one subject over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    extent: Extent,
    sum: f64,
    count: u32,
    peak: f32,
    lowest: f32,
    last: f32,
    buckets: Vec<(f32, u32)>,
}

impl Track {
    fn new(extent: Extent) -> Track {
        Track {
            extent,
            sum: 0.0,
            count: 0,
            peak: f32::MIN,
            lowest: f32::MAX,
            last: 0.0,
            buckets: vec![(0.0, 0); BUCKETS],
        }
    }

    fn add(&mut self, at: Timestamp, value: f32) {
        self.sum += f64::from(value);
        self.count += 1;
        self.peak = self.peak.max(value);
        self.lowest = self.lowest.min(value);
        self.last = value;
        let place = at.since(self.extent.from).max(0) as f64 / self.extent.length_ms() as f64;
        let bucket = (place * BUCKETS as f64) as usize;
        let (sum, count) = &mut self.buckets[bucket.min(BUCKETS - 1)];
        *sum += value;
        *count += 1;
    }

    /// The mean of all samples.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum / f64::from(self.count.max(1))
    }

    /// The highest sample.
    #[must_use]
    pub fn peak(&self) -> f64 {
        f64::from(self.peak)
    }

    /// The lowest sample.
    #[must_use]
    pub fn lowest(&self) -> f64 {
        f64::from(self.lowest)
    }

    /// The newest sample.
    #[must_use]
    pub fn last(&self) -> f64 {
        f64::from(self.last)
    }

    /// How many samples it is made of.
    #[must_use]
    pub fn samples(&self) -> u32 {
        self.count
    }

    /// Means over equal parts of the time; `None` where no sample was taken.
    pub fn line(&self) -> impl Iterator<Item = (Timestamp, Option<f64>)> {
        let width = self.extent.length_ms() as f64 / BUCKETS as f64;
        let buckets = self.buckets.iter().enumerate();
        buckets.map(move |(index, (sum, count))| {
            let at = self.extent.from.0 + ((index as f64 + 0.5) * width) as i64;
            let mean = (*count > 0).then(|| f64::from(*sum) / f64::from(*count));
            (Timestamp(at), mean)
        })
    }
}

/// What a run used, by node and subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    extent: Extent,
    tracks: BTreeMap<(String, Subject), BTreeMap<Measure, Track>>,
    samples: u64,
}

/// What is kept over time.
const KEPT: [Measure; 16] = [
    Measure::Cpu,
    Measure::Memory,
    Measure::MemoryTotal,
    Measure::Read,
    Measure::Write,
    Measure::Receive,
    Measure::Send,
    Measure::Power,
    Measure::Temperature,
    Measure::Busy,
    Measure::Clock,
    Measure::GpuMemory,
    Measure::GpuMemoryTotal,
    Measure::Ecc,
    Measure::Xid,
    Measure::Rank,
];

impl Usage {
    /// Nothing yet, for samples of that time.
    #[must_use]
    pub fn new(extent: Extent) -> Usage {
        Usage {
            extent,
            tracks: BTreeMap::new(),
            samples: 0,
        }
    }

    /// Adds a sample of a node. One of another time is passed over.
    pub fn add(&mut self, node: &str, sample: &Sample) {
        if sample.at < self.extent.from || sample.at > self.extent.to {
            return;
        }
        self.samples += 1;
        let key = (node.to_owned(), sample.subject);
        let tracks = self.tracks.entry(key).or_default();
        for measure in KEPT {
            if let Some(value) = sample.get(measure) {
                let track = tracks.entry(measure);
                let track = track.or_insert_with(|| Track::new(self.extent));
                track.add(sample.at, value);
            }
        }
    }

    /// Whether nothing was sampled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// The time that it covers.
    #[must_use]
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// One measure of all subjects that have it: node, subject, track.
    pub fn of(&self, measure: Measure) -> impl Iterator<Item = (&str, Subject, &Track)> {
        let all = self.tracks.iter();
        all.filter_map(move |((node, subject), tracks)| {
            Some((node.as_str(), *subject, tracks.get(&measure)?))
        })
    }

    /// One measure of one subject.
    #[must_use]
    pub fn track(&self, node: &str, subject: Subject, measure: Measure) -> Option<&Track> {
        let key = (node.to_owned(), subject);
        self.tracks.get(&key)?.get(&measure)
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> Vec<&str> {
        let mut nodes: Vec<&str> = self.tracks.keys().map(|(node, _)| node.as_str()).collect();
        nodes.dedup();
        nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_peaks_and_gaps() {
        let extent = Extent {
            from: Timestamp(0),
            to: Timestamp(240_000),
        };
        let mut usage = Usage::new(extent);
        for (at, busy) in [
            (0, 10.0),
            (500, 30.0),
            (239_999, 80.0),
            (240_000, 80.0),
            (900_000, 99.0),
        ] {
            let mut sample = Sample::new(Timestamp(at), 1, 0, Subject::Gpu(0));
            sample.set(Measure::Busy, busy);
            usage.add("n1", &sample);
        }
        let track = usage.track("n1", Subject::Gpu(0), Measure::Busy).unwrap();
        assert_eq!(
            (track.mean(), track.peak(), track.samples()),
            (50.0, 80.0, 4)
        );
        let line: Vec<_> = track.line().filter_map(|(_, mean)| mean).collect();
        assert_eq!(line, [20.0, 80.0]);
        assert_eq!(usage.nodes(), ["n1"]);
    }
}
