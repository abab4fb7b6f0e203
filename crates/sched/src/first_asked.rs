//! In which of several partitions a job starts that has room in more than one of them.
//!
//! It has a place in the queue of each by its priority there, and where priorities are equal those that are named
//! first go first. An allocation (`salloc`, `srun`) is tried once as it comes before, in the partitions of the highest
//! tier in the order in which they are named (`_select_nodes_parts` of 22.05); a batch script is not.

use crate::State;
use crate::kinds::Choice;
use crate::pass::Pass;
use crate::possible_start::PossibleStart;
use model::Timestamp;
use resources::PartId;

impl State {
    /// Where a job starts for which a partition has a place: in one that it names before that and that is as good.
    pub(crate) fn first_asked(
        &self,
        pass: &mut Pass,
        found: PossibleStart,
        now: Timestamp,
    ) -> PossibleStart {
        let (id, found_in) = (found.attempt.job, found.attempt.choice.partition);
        let job = &self.jobs[&id];
        let choices = &job.derived.choices;
        if choices.len() < 2 {
            return found;
        }
        let is_tried_as_it_comes = !job.record.batch && self.unseen.contains(&id);
        let tier = |partition: PartId| self.cluster.partition(partition).tier;
        let priority = found.attempt.choice.priority;
        let goes_before = |choice: &&Choice| {
            tier(choice.partition) == tier(found_in)
                && (is_tried_as_it_comes || choice.priority == priority)
        };
        let reserved = self.reserved_for(id);
        let named_before = choices.iter().take_while(|it| it.partition != found_in);
        for choice in named_before.filter(goes_before) {
            let line = (choice.partition, reserved.number());
            // What waits there may go first.
            let queue = self.queue_of(&job.record, choice.partition);
            let mut waiting = self.ready.get(&queue).into_iter().flatten();
            let is_led = is_tried_as_it_comes && waiting.any(|key| key.job != id);
            if is_led || pass.blocked.contains_key(&line) {
                continue;
            }
            let attempt = self.attempt(job, choice, false, now);
            if self.may_attempt(&attempt, now).is_err() {
                continue;
            }
            if let Some(start) = self.find_now(pass, &attempt, now, &reserved)
                && self.may_have(&self.ledger, &start, now).is_ok()
            {
                return start;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]

    use crate::{Event, Job, State};
    use cluster_file::ClusterFile;
    use model::{Request, Submitter, Timestamp};
    use resources::{Cluster, Trust};
    use std::sync::Arc;

    /// The partition in which a job starts that names some, a batch script or an allocation; `busy` have each a job
    /// that takes its node, or that waits there.
    #[track_caller]
    fn check(batch: bool, named: &str, busy: &[&str], want: &str) {
        let partition = |name: &str, factor: u32, tier: u32| {
            format!(
                "[partition.{name}]\nnodes = [\"{name}\"]\npriority_factor = {factor}\n\
                 priority_tier = {tier}\n[nodes.{name}]\nnames = \"{name}1\"\ncpus = 1\n"
            )
        };
        let text = format!(
            "{}{}{}{}[priority]\npartition = 100\n",
            partition("same", 1, 1),
            partition("gpu", 1, 1),
            partition("test", 10, 1),
            partition("high", 1, 2),
        );
        let file = ClusterFile::parse("lab", &text).unwrap();
        let mut state = State::new(Arc::new(Cluster::build(&file, Trust::All)), Arc::new([]));
        let mut id = None;
        for partition in busy.iter().copied().chain([named]) {
            let request = Request {
                partition: Some(partition.to_owned()),
                ..Request::default()
            };
            let new = state.new_id();
            state.apply(Event::Submitted {
                record: Box::new(Job {
                    batch,
                    ..Job::submitted(new, request, Arc::new(Submitter::default()), Timestamp(0))
                }),
                array: None,
                history: Vec::new(),
                at: Timestamp(0),
            });
            state.schedule(Timestamp(0));
            id = Some(new);
        }
        let got = state.job(id.unwrap()).unwrap().partition.clone();
        assert_eq!(got.as_deref(), Some(want), "{named}");
    }

    #[test]
    fn an_allocation_starts_in_the_first_partition_that_it_names() {
        check(false, "gpu,test", &[], "gpu");
        check(false, "test,gpu", &[], "test");
        check(false, "gpu,test", &["gpu"], "test");
        check(false, "gpu,test", &["gpu", "gpu"], "test");
        check(false, "gpu,test,high", &[], "high");
    }

    #[test]
    fn a_script_starts_where_its_priority_is_highest_then_as_it_names_them() {
        check(true, "gpu,test", &[], "test");
        check(true, "gpu,test", &["test"], "gpu");
        check(true, "gpu,test,high", &[], "high");
        check(true, "gpu,same", &[], "gpu");
        check(true, "same,gpu", &[], "same");
        check(true, "gpu,same", &["gpu", "gpu"], "same");
    }
}
