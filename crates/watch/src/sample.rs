//! One sample of one thing.

use crate::Measure;
use model::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The node.
    Node,
    /// A rank, by its task's number.
    Rank(u32),
    /// A GPU, by NVML's index on its node.
    Gpu(u32),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Node => f.write_str("node"),
            Subject::Rank(rank) => write!(f, "rank {rank}"),
            Subject::Gpu(index) => write!(f, "gpu {index}"),
        }
    }
}

impl FromStr for Subject {
    type Err = ();

    fn from_str(text: &str) -> Result<Subject, ()> {
        let number = |text: &str| text.parse().map_err(|_| ());
        match text.split_once(' ') {
            None if text == "node" => Ok(Subject::Node),
            Some(("rank", rank)) => number(rank).map(Subject::Rank),
            Some(("gpu", index)) => number(index).map(Subject::Gpu),
            _ => Err(()),
        }
    }
}

/// What was measured of one subject at one moment; rates are means since the sample before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// When, by the node's clock.
    pub at: Timestamp,
    /// The job.
    pub job: u32,
    /// How often it was requeued before.
    pub restart: u32,
    /// Of what.
    pub subject: Subject,
    /// By measure; NaN where there is none.
    #[serde(with = "values")]
    values: Values,
}

type Values = [f32; Measure::ALL.len()];

/// Values as a list in the order of their measures: what was not measured is `null`, since JSON has no NaN.
mod values {
    use super::{Measure, Values};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(values: &Values, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(
            values
                .iter()
                .map(|value| value.is_finite().then_some(*value)),
        )
    }

    /// A program of another version may know fewer measures, or more.
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Values, D::Error> {
        let mut values = [f32::NAN; Measure::ALL.len()];
        let sent = Vec::<Option<f32>>::deserialize(from)?;
        for (value, sent) in values.iter_mut().zip(sent) {
            *value = sent.unwrap_or(f32::NAN);
        }
        Ok(values)
    }
}

impl Sample {
    /// One without values yet.
    #[must_use]
    pub fn new(at: Timestamp, job: u32, restart: u32, subject: Subject) -> Sample {
        Sample {
            at,
            job,
            restart,
            subject,
            values: [f32::NAN; Measure::ALL.len()],
        }
    }

    /// What was measured; `None` where it was not.
    #[must_use]
    pub fn get(&self, measure: Measure) -> Option<f32> {
        let value = self.values[measure as usize];
        value.is_finite().then_some(value)
    }

    /// Adds a value. One that is no finite number is none.
    pub fn set(&mut self, measure: Measure, value: f32) {
        self.values[measure as usize] = value;
    }

    /// The same, where there is one.
    pub fn set_some(&mut self, measure: Measure, value: Option<f32>) {
        self.set(measure, value.unwrap_or(f32::NAN));
    }
}

/// Two of which the same was not measured are alike.
impl PartialEq for Sample {
    fn eq(&self, other: &Sample) -> bool {
        let head = |of: &Sample| (of.at, of.job, of.restart, of.subject);
        let mut measures = Measure::ALL.iter();
        head(self) == head(other) && measures.all(|one| self.get(*one) == other.get(*one))
    }
}
