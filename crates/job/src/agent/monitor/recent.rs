//! The samples of the last minutes, and what they mean: each thing is said once.

use std::collections::VecDeque;
use watch::{Extent, Finding, Measure, Sample, Usage, findings};

/// So far back samples count, in milliseconds.
const WINDOW: i64 = 10 * 60 * 1000;
/// Every how many rounds of samples they are judged.
const JUDGED: u32 = 12;
/// More things are not said by one start: a log is for people.
const MOST: usize = 20;

/// The samples of the last ten minutes.
#[derive(Debug)]
pub(super) struct Recent {
    node: String,
    cpus_per_rank: u32,
    samples: VecDeque<Sample>,
    round: u32,
    known: Vec<Finding>,
}

impl Recent {
    /// None yet, of that node.
    pub fn new(node: String, cpus_per_rank: u32) -> Recent {
        Recent {
            node,
            cpus_per_rank,
            samples: VecDeque::new(),
            round: 0,
            known: Vec::new(),
        }
    }

    /// Adds the samples of one moment; what is new to say, in words.
    pub fn add(&mut self, samples: Vec<Sample>) -> Vec<String> {
        let Some(now) = samples.last().map(|sample| sample.at) else {
            return Vec::new();
        };
        let reports = |sample: &Sample| {
            let corrupted = sample.get(Measure::Ecc).is_some_and(|count| count > 0.0);
            corrupted || sample.get(Measure::Xid).is_some()
        };
        let has_errors = samples.iter().any(reports);
        self.samples.extend(samples);
        while self
            .samples
            .front()
            .is_some_and(|old| now.since(old.at) > WINDOW)
        {
            self.samples.pop_front();
        }
        self.round += 1;
        let from = self.samples.front().map_or(now, |old| old.at);
        // What a program does while it starts says little: the window must be full.
        let is_due = self.round.is_multiple_of(JUDGED) && now.since(from) >= WINDOW - WINDOW / 10;
        if !is_due && !has_errors {
            return Vec::new();
        }
        let mut usage = Usage::new(Extent { from, to: now });
        for sample in &self.samples {
            usage.add(&self.node, sample);
        }
        let mut found = findings(&usage, self.cpus_per_rank);
        // An error is said at once.
        found.retain(|new| is_due || new.is_error());
        found.retain(|new| !self.known.iter().any(|old| old.is_as(new)));
        found.truncate(MOST.saturating_sub(self.known.len()));
        let texts = found.iter().map(ToString::to_string).collect();
        self.known.extend(found);
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;
    use watch::Subject;

    #[test]
    fn an_idle_gpu_is_said_once_and_not_at_the_start() {
        let mut recent = Recent::new("n1".to_owned(), 4);
        let mut said = Vec::new();
        for turn in 0..500 {
            let mut sample = Sample::new(Timestamp(turn * 5000), 1, 0, Subject::Gpu(1));
            sample.set(Measure::Busy, 0.0);
            let texts = recent.add(vec![sample]);
            said.extend(texts.into_iter().map(|text| (turn, text)));
        }
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].0 > 100 && said[0].1.starts_with("GPU 1 on n1 is idle"),
            "{said:?}"
        );
        assert!(recent.samples.len() < 130);
    }

    #[test]
    fn errors_are_said_at_once_each_one_time() {
        let mut recent = Recent::new("n1".to_owned(), 4);
        let mut said = Vec::new();
        for (turn, xid, errors) in [(0, None, 2.0), (1, Some(31.0), 2.0), (2, None, 3.0)] {
            let mut sample = Sample::new(Timestamp(turn * 5000), 1, 0, Subject::Gpu(1));
            sample.set(Measure::Busy, 0.0);
            sample.set(Measure::Ecc, errors);
            if let Some(xid) = xid {
                sample.set(Measure::Xid, xid);
            }
            said.push(recent.add(vec![sample]));
        }
        assert_eq!(said[0], Vec::<String>::new(), "older than the run");
        assert!(said[1][0].contains("Xid 31 of GPU 1 on n1"), "{said:?}");
        let [memory] = &said[2][..] else {
            panic!("{said:?}");
        };
        assert!(memory.contains("made 1 errors"), "{memory}");
    }
}
