//! The time limit of a job that names none.
//!
//! Slurm gives it one when it is submitted: the default of the first partition that it names; where that has
//! none, what limits of QOS and accounts give ([`time_by_limits`]). Where no limit is set either it gets the
//! longest time of the partition in which it starts.

use crate::admit::partitions_of;
use crate::ledger::Chain;
use crate::{Job, State};
use model::{JobState, Request, Seconds, TimeLimitRequest};
use resources::{Cluster, PartId, time_by_limits};

/// What a request names, else the default of its first partition.
pub(crate) fn limit_or_default(cluster: &Cluster, request: &Request) -> Option<TimeLimitRequest> {
    let default = || {
        let first = partitions_of(cluster, request.partition.as_deref());
        cluster.partition(*first.first()?).default_time
    };
    request.time.or_else(default)
}

/// The same in a partition where it starts, which has a longest time.
pub(crate) fn limit_in(
    cluster: &Cluster,
    given: Option<TimeLimitRequest>,
    partition: PartId,
) -> Option<Seconds> {
    let partition = cluster.partition(partition);
    let given = match given {
        Some(TimeLimitRequest::Limit(limit)) => Some(limit),
        Some(TimeLimitRequest::Unlimited) => None,
        None => partition.limit_if_none(),
    };
    let most = partition.max_time.filter(|_| partition.cuts_at_max_time);
    match (given, most) {
        (Some(given), Some(most)) => Some(given.min(most)),
        (given, most) => given.or(most),
    }
}

/// The limit of a job wherever it starts; none where it gets that of its partition.
pub(crate) fn limit_given(cluster: &Cluster, record: &Job) -> Option<TimeLimitRequest> {
    let or_default = limit_or_default(cluster, &record.request);
    or_default.or_else(|| limit_by_rules(cluster, record).map(TimeLimitRequest::Limit))
}

/// What limits of QOS and accounts give a job that has no time otherwise.
fn limit_by_rules(cluster: &Cluster, record: &Job) -> Option<Seconds> {
    if !cluster.has_limits() {
        return None;
    }
    let partitions = partitions_of(cluster, record.request.partition.as_deref());
    let partitions = partitions.into_iter();
    let met =
        partitions.map(|partition| Chain::of(cluster, record, Some(partition)).met(partition));
    Some(time_by_limits(met)?.time)
}

impl State {
    /// The limit of a waiting job that names none where no default but a limit of a QOS or an account gives it
    /// one.
    #[must_use]
    pub fn limit_by_rules(&self, record: &Job) -> Option<Seconds> {
        let waits = matches!(record.state, JobState::Pending { .. });
        if !waits || limit_or_default(&self.cluster, &record.request).is_some() {
            return None;
        }
        limit_by_rules(&self.cluster, record)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use crate::{Event, JobUpdate};
    use cluster_file::ClusterFile;
    use model::{Submitter, Timestamp};
    use resources::Trust;
    use std::sync::Arc;

    const NOW: Timestamp = Timestamp(1_000_000);

    type Change = fn(&mut Request);

    fn cluster(wall: &str) -> Arc<Cluster> {
        let text = format!(
            "[nodes.n]\ncpus = 1\n[partition.all]\ndefault = true\nnodes = \"ALL\"\n\
             [partition.day]\nnodes = \"ALL\"\ndefault_time = \"1-00:00:00\"\n\
             [qos.normal]\nmax_wall = \"{wall}\"\n[qos.long]\nmax_wall = \"08:00:00\"\n[qos.any]\n\
             [account.a]\nmax_wall = \"03:00:00\"\n[account.b]\nmax_wall = \"05:00:00\"\n\
             [user.ann]\naccounts = [\"a\", \"b\"]\n"
        );
        let file = ClusterFile::parse("lab", &text).unwrap();
        Arc::new(Cluster::build(&file, Trust::All))
    }

    #[test]
    fn what_is_kept_of_the_limit_follows_each_change() {
        let mut state = State::new(cluster("01:00:00"), Arc::default());
        let id = state.new_id();
        let submitter = Submitter {
            user: "ann".to_owned(),
            ..Submitter::default()
        };
        let record = Job::submitted(id, Request::default(), Arc::new(submitter), NOW);
        state.apply(Event::Submitted {
            record: Box::new(record),
            array: None,
            history: Vec::new(),
            at: NOW,
        });
        let hours = |state: &State| match state.jobs[&id].derived.limit {
            Some(TimeLimitRequest::Limit(limit)) => limit.0 / 3600,
            other => panic!("{other:?}"),
        };
        assert_eq!(hours(&state), 1);
        let changes: [(Change, u64); 5] = [
            (|it| it.qos = Some("long".to_owned()), 8),
            (|it| it.qos = Some("any".to_owned()), 3),
            (|it| it.account = Some("b".to_owned()), 5),
            (|it| it.partition = Some("day".to_owned()), 24),
            (
                |it| it.time = Some(TimeLimitRequest::Limit(Seconds(7200))),
                2,
            ),
        ];
        for (change, want) in changes {
            let mut update = JobUpdate::of(state.job(id).unwrap());
            change(&mut update.request);
            state.apply(Event::Updated {
                job: id,
                update: Box::new(update),
                history: Vec::new(),
                at: NOW,
            });
            assert_eq!(hours(&state), want);
        }
        let mut update = JobUpdate::of(state.job(id).unwrap());
        update.request = Request::default();
        state.apply(Event::Updated {
            job: id,
            update: Box::new(update),
            history: Vec::new(),
            at: NOW,
        });
        let at = NOW;
        let cluster = cluster("04:00:00");
        state.apply(Event::Reconfigured { cluster, at });
        assert_eq!(hours(&state), 4);
    }
}
