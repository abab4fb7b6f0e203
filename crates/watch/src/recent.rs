//! The newest sample of each node, rank and GPU, and how busy each was in the minutes before.

use crate::{Measure, Sample, Subject};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// So many samples of the past are kept: ten minutes at one every 5 s.
const KEPT: usize = 120;

/// What is known of one subject now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latest {
    /// The newest sample.
    pub sample: Sample,
    /// How busy it was, the oldest first: of a GPU percent, of a node or rank CPUs.
    pub busy: VecDeque<f32>,
}

/// What is known now, by node and subject.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recent {
    subjects: BTreeMap<(String, Subject), Latest>,
}

impl Recent {
    /// Takes the next sample of a node. One of an earlier start gives way to any of a later one.
    pub fn add(&mut self, node: &str, sample: Sample) {
        let measure = match sample.subject {
            Subject::Gpu(_) => Measure::Busy,
            Subject::Node | Subject::Rank(_) => Measure::Cpu,
        };
        let busy = sample.get(measure);
        let key = (node.to_owned(), sample.subject);
        let latest = self.subjects.entry(key).or_insert_with(|| Latest {
            sample: sample.clone(),
            busy: VecDeque::new(),
        });
        let start = |sample: &Sample| (sample.job, sample.restart);
        if start(&latest.sample) != start(&sample) {
            latest.busy.clear();
        }
        latest.busy.extend(busy);
        let superfluous = latest.busy.len().saturating_sub(KEPT);
        latest.busy.drain(..superfluous);
        latest.sample = sample;
    }

    /// What belongs to this start, by node and subject.
    pub fn of(&self, job: u32, restart: u32) -> impl Iterator<Item = (&str, Subject, &Latest)> {
        let own = self.subjects.iter().filter(move |(_, latest)| {
            (latest.sample.job, latest.sample.restart) == (job, restart)
        });
        own.map(|((node, subject), latest)| (node.as_str(), *subject, latest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;

    #[test]
    fn the_newest_start_counts_and_the_past_is_bounded() {
        let mut recent = Recent::default();
        for (at, restart) in [(0, 0), (5, 0), (10, 1)] {
            let mut sample = Sample::new(Timestamp(at), 7, restart, Subject::Gpu(0));
            sample.set(Measure::Busy, at as f32);
            recent.add("n1", sample);
        }
        assert_eq!(recent.of(7, 0).count(), 0);
        let (node, subject, latest) = recent.of(7, 1).next().unwrap();
        assert_eq!((node, subject), ("n1", Subject::Gpu(0)));
        assert_eq!(latest.busy, [10.0]);
        for _ in 0..1000 {
            let (.., latest) = recent.of(7, 1).next().unwrap();
            let sample = latest.sample.clone();
            recent.add("n1", sample);
        }
        assert_eq!(recent.of(7, 1).next().unwrap().2.busy.len(), KEPT);
    }
}
