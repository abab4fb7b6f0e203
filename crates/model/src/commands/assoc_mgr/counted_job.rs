//! A job as `scontrol show assoc_mgr` counts it.

use crate::records::{ArrayTaskInfo, JobInfo};
use crate::values::{NodeName, Timestamp};

/// A job as limits count it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CountedJob {
    /// Whose.
    pub user: String,
    /// Its account.
    pub account: String,
    /// The first of its partitions.
    pub partition: String,
    /// Its QOS.
    pub qos: String,
    /// It waits or runs.
    pub is_live: bool,
    /// It runs.
    pub is_running: bool,
    /// How many jobs it is: the elements of an array that wait together.
    pub elements: u64,
    /// What it has, in the order of [`super::AssocMgrFacts::tres`].
    pub tres: Vec<u64>,
    /// Where it runs: a node of several jobs is counted once.
    pub nodes: Vec<NodeName>,
    /// How long it may still run.
    pub seconds_left: u64,
    /// How long it ran, less what was forgotten of that.
    pub seconds: f64,
}

impl CountedJob {
    /// A job, of which the TRES of these names are counted. Of what ended `left` says how much is left after so
    /// many seconds. Whether it is live is the caller's to say.
    #[must_use]
    pub fn of(info: &JobInfo, names: &[String], left: impl Fn(f64) -> f64) -> CountedJob {
        let counts = info.tres_counts();
        let ran = info.run_time.max(0);
        let limit = info.limit.map_or(0, |limit| limit.0);
        let time_left = limit.saturating_sub(u64::try_from(ran).unwrap_or(0));
        let since_end = info
            .end
            .map_or(0, |end| info.now.since(Timestamp(end.0.min(info.now.0))));
        let elements = info.array.as_ref().map_or(1, |array| match &array.task {
            ArrayTaskInfo::One(_) => 1,
            ArrayTaskInfo::Waiting(tasks) => tasks.len() as u64,
        });
        CountedJob {
            user: info.user().to_owned(),
            partition: info
                .partition
                .split(',')
                .next()
                .unwrap_or_default()
                .to_owned(),
            qos: info.qos.to_string(),
            elements,
            tres: names
                .iter()
                .map(|name| counts.get(name).copied().unwrap_or(0))
                .collect(),
            nodes: info.nodes.clone(),
            seconds_left: time_left,
            seconds: ran as f64 * left(since_end as f64 / 1000.0),
            ..CountedJob::default()
        }
    }
}
