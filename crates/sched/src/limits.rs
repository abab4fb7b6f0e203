//! Whether a job may start now, whatever is free: here limits are asked.

use crate::kinds::Choice;
use crate::ledger::{Chain, Ledger, Passed, Used, Wanted};
use crate::limit_given::limit_in;
use crate::live_job::LiveJob;
use crate::member;
use crate::possible_start::{Attempt, PossibleStart};
use crate::{Job, State};
use cluster_file::PartitionState;
use model::{JobState, PendingReason, Seconds, Submitter, TimeLimitRequest, Timestamp};
use resources::{Denial, PartId};

impl State {
    /// Whether a job may start now in one of its partitions; the reason that it waits for if not.
    /// It keeps no other up then.
    pub(crate) fn may_start(&self, job: &LiveJob, choice: &Choice) -> Result<(), PendingReason> {
        let partition = self.cluster.partition(choice.partition);
        let over = |limit: Seconds| match job.derived.limit {
            Some(TimeLimitRequest::Limit(given)) => given > limit,
            Some(TimeLimitRequest::Unlimited) => true,
            None => false,
        };
        let qos = member::qos_of(&self.cluster, &job.record);
        let passes =
            |flag| qos.is_some_and(|id| self.cluster.qos()[usize::from(id.0)].has_flag(flag));
        let too_long = !partition.cuts_at_max_time
            && partition.max_time.is_some_and(over)
            && !passes("PartitionTimeLimit");
        let nodes = &choice.need.compiled.demand.nodes;
        let asked = nodes.most.unwrap_or(nodes.least);
        let too_many =
            partition.max_nodes.is_some_and(|most| asked > most) && !passes("PartitionMaxNodes");
        let least = job.record.request.min_nodes.unwrap_or(1);
        let too_few = !nodes.follows && least < partition.min_nodes && !passes("PartitionMinNodes");
        let too_small = choice.need.beyond.clone().or(if too_many || too_few {
            Some(PendingReason::PartitionNodeLimit)
        } else {
            too_long.then_some(PendingReason::PartitionTimeLimit)
        });
        match partition.state {
            _ if self.may_not_charge(&job.record) => {
                Err(PendingReason::OverLimit("InvalidAccount".to_owned()))
            }
            PartitionState::Down => Err(PendingReason::PartitionDown),
            PartitionState::Inactive => Err(PendingReason::PartitionInactive),
            _ if self.lost_its_nodes(&job.record) => Err(PendingReason::PartitionNodeLimit),
            _ if self
                .keeps_out(choice.partition, &job.record.submitter)
                .is_some() =>
            {
                Err(PendingReason::PartitionConfig)
            }
            _ if too_small.is_some() => too_small.map_or(Ok(()), Err),
            PartitionState::Up | PartitionState::Drain if partition.access.is_open() => Ok(()),
            PartitionState::Up | PartitionState::Drain => {
                let record = &job.record;
                let qos = qos.map_or("normal", |id| &self.cluster.qos()[usize::from(id.0)].name);
                let account = record.request.account.as_deref().unwrap_or("(null)");
                match partition.access.denial(&partition.name, account, qos) {
                    Some(why) => Err(PendingReason::OverLimit(why)),
                    None => Ok(()),
                }
            }
        }
    }

    /// Whether the account under which a job was submitted is no more, or its user is no more in it.
    fn may_not_charge(&self, record: &Job) -> bool {
        let account = record.request.account.as_deref();
        let user = &record.submitter.user;
        let partition = member::first_partition_of(&self.cluster, record);
        self.cluster.needs_accounts()
            && account.is_some_and(|account| !self.cluster.may_charge(user, account, partition))
    }

    /// What a partition says to a user's jobs where it takes none of them.
    pub(crate) fn keeps_out(&self, partition: PartId, who: &Submitter) -> Option<Denial> {
        let partition = self.cluster.partition(partition);
        partition
            .access
            .keeps_out(&who.user, &who.group, &who.host, false)
    }

    /// The moment at which a job without a script is ended: one that has one is ended by its supervisor.
    pub(crate) fn expiry(&self, record: &Job) -> Option<Timestamp> {
        let is_left_alone = matches!(record.state, JobState::Running { ending: None, .. });
        if record.batch || !is_left_alone {
            return None;
        }
        self.ends_at_the_latest(record)
    }

    /// When the time of a running job is over: its limit, and what it may run beyond.
    #[must_use]
    pub fn ends_at_the_latest(&self, record: &Job) -> Option<Timestamp> {
        let end = record.state.limit_ends()?;
        Some(end + self.over_time(record))
    }

    /// How much longer than its limit a job may run (`OverTimeLimit`).
    #[must_use]
    pub fn over_time(&self, record: &Job) -> Seconds {
        let partition = record.partitions();
        let partition = partition.and_then(|name| self.cluster.find_partition(name));
        self.cluster.over_time(partition)
    }

    /// What can keep a job from starting before nodes are chosen.
    pub(crate) fn before(
        &self,
        ledger: &Ledger,
        chain: &Chain<'_>,
        limit: Option<Seconds>,
        now: Timestamp,
    ) -> Result<(), Passed> {
        let reservations = &self.reservations;
        let kept = |name: &str| reservations.licences_kept(chain.reservation, name, now, limit);
        ledger.before(chain, limit, &kept)
    }

    /// Whether limits let a job start so now, beside what a ledger counts: one that starts, one of several that
    /// start together, and one for which others would lose their places.
    pub(crate) fn may_have(
        &self,
        ledger: &Ledger,
        start: &PossibleStart,
        now: Timestamp,
    ) -> Result<(), PendingReason> {
        if !Ledger::counts(&self.cluster) {
            return Ok(());
        }
        let Attempt {
            job, choice, span, ..
        } = &start.attempt;
        let record = &self.jobs[job].record;
        let chain = Chain::of(&self.cluster, record, Some(choice.partition));
        self.may_spend(&chain, now)?;
        self.before(ledger, &chain, span.limit, now)?;
        let partition = Some(self.cluster.partition(choice.partition));
        let used = Used::of(&self.cluster, partition, &record.request, &start.shares);
        let wanted = Wanted {
            used: &used,
            shares: &start.shares,
            limit: chain.counted_time(span.limit),
            now,
        };
        self.may_use(ledger, &chain, wanted)?;
        Ok(ledger.after(&chain, wanted)?)
    }

    /// The time limit that a job has when it starts in a partition.
    pub(crate) fn limit_of(&self, job: &LiveJob, choice: &Choice) -> Option<Seconds> {
        limit_in(&self.cluster, job.derived.limit, choice.partition)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use crate::Event;
    use cluster_file::ClusterFile;
    use model::{JobId, Request};
    use resources::{Cluster, Trust};
    use std::sync::Arc;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    /// A cluster with a partition `p` that has these keys, behind other lines.
    fn cluster(others: &str, keys: &str) -> Arc<Cluster> {
        let text = format!(
            "[nodes.n]\ncpus = 2\n{others}\n[partition.p]\nnodes = \"ALL\"\ndefault = true\n{keys}\n"
        );
        let file = ClusterFile::parse("lab", &text).unwrap();
        Arc::new(Cluster::build(&file, Trust::All))
    }

    /// A state with a job of ten minutes without a script, and that job.
    fn with_job(cluster: Arc<Cluster>) -> (State, JobId) {
        let mut state = State::new(cluster, Arc::new([]));
        let id = state.new_id();
        let request = Request {
            time: Some(TimeLimitRequest::Limit(Seconds(600))),
            ..Request::default()
        };
        let submitter = Submitter {
            user: "ann".to_owned(),
            host: "login".to_owned(),
            ..Submitter::default()
        };
        let record = Job {
            batch: false,
            ..Job::submitted(id, request, Arc::new(submitter), NOW)
        };
        state.apply(Event::Submitted {
            record: Box::new(record),
            array: None,
            history: Vec::new(),
            at: NOW,
        });
        state.schedule(NOW);
        (state, id)
    }

    #[test]
    fn a_job_may_run_longer_than_its_limit() {
        let check = |others: &str, keys: &str, want: i64| {
            let (mut state, id) = with_job(cluster(others, keys));
            let ends = |state: &State| {
                let end = state.ends_at_the_latest(state.job(id).unwrap());
                let due = state.expiries.first().map(|(at, _)| *at);
                assert_eq!(end, due, "{others} {keys}");
                end.unwrap().since(NOW) / 1000
            };
            assert_eq!(ends(&state), want, "{others} {keys}");
            // Another cluster may let it run for another time.
            state.apply(Event::Reconfigured {
                cluster: cluster("", ""),
                at: NOW,
            });
            assert_eq!(ends(&state), 600);
        };
        let of_cluster = "[scheduling]\nover_time_limit = \"00:05:00\"";
        check("", "", 600);
        check(of_cluster, "", 900);
        check("", "over_time_limit = \"00:01:00\"", 660);
        check(of_cluster, "over_time_limit = \"00:00:00\"", 600);
    }

    #[test]
    fn a_partition_that_takes_no_jobs_of_its_user_keeps_it_waiting() {
        let check = |keys: &str, want: Option<PendingReason>| {
            let (state, id) = with_job(cluster("", keys));
            let reason = match &state.job(id).unwrap().state {
                JobState::Pending { reason } => Some(reason.clone()),
                _ => None,
            };
            assert_eq!(reason, want, "{keys}");
        };
        check("", None);
        check("no_root_jobs = true", None);
        check("submit_from = \"login\"", None);
        for keys in [
            "root_only = true",
            "submit_from = \"n\"",
            "allow_groups = [\"lab\"]",
        ] {
            check(keys, Some(PendingReason::PartitionConfig));
        }
    }
}
