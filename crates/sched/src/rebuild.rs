//! The state that a store kept, made anew of its rows.

use crate::array::Array;
use crate::fault::{self, Fault};
use crate::ledger::{Spending, Spent};
use crate::member::Member;
use crate::priority::{Priorities, Usage};
use crate::reservations::Reservations;
use crate::{Finished, Job, State};
use model::{ArrayFacts, ArraySpec, JobId, JobState, NodeMark, NodeName, Reservation, Timestamp};
use resources::Cluster;
use std::sync::Arc;

/// What a store keeps of a [`State`].
#[derive(Clone, Debug, Default)]
pub struct Saved {
    /// The next job's id.
    pub next_id: u32,
    /// The newest row's version.
    pub version: u64,
    /// Rows of live jobs.
    pub live: Vec<Job>,
    /// As submitted: the elements of each array that has a live row.
    pub arrays: Vec<(JobId, ArraySpec)>,
    /// What became of ended jobs that dependencies of live ones name.
    pub history: Vec<Finished>,
    /// What is said of nodes.
    pub nodes: Vec<(NodeName, NodeMark)>,
    /// What ended jobs used.
    pub usage: Vec<(Member, Usage)>,
    /// The same as limits on what is used count it.
    pub spent: Vec<(Spending, Usage)>,
    /// Reservations.
    pub reservations: Vec<Reservation>,
    /// Jobs that were submitted under a lower number were given no nodes where they asked for none
    /// ([`State::give_least_nodes`]).
    pub nodes_open_below: u32,
}

impl State {
    /// The state that the rows tell of.
    #[must_use]
    pub fn rebuild(
        cluster: Arc<Cluster>,
        numbers: Arc<[u32]>,
        saved: Saved,
        now: Timestamp,
    ) -> State {
        let mut state = State::new(cluster, numbers);
        if !fault::is(Fault::MarksForgotten) {
            state.marks = saved.nodes.into_iter().collect();
        }
        state.priorities = Priorities::new(saved.usage.into_iter().collect());
        state.spent = Spent::new(saved.spent.into_iter().collect());
        state.reset_usage_at_start(now);
        state.reservations = Reservations::new(&state.cluster, saved.reservations);
        state.tell_cores_apart();
        state.next_id = saved.next_id.max(1);
        state.version = saved.version;
        for (array_job, spec) in saved.arrays {
            let array = Array::new(ArrayFacts::of(&spec));
            state.arrays.insert(array_job, array);
        }
        // All rows are in before any is filed: a dependency may name a later one.
        // Running ones are filed first: whether an array is full shows in them.
        let runs = |record: &Job| matches!(record.state, JobState::Running { .. });
        let (running, waiting): (Vec<_>, Vec<_>) = saved.live.iter().partition(|row| runs(row));
        let ids: Vec<JobId> = running.iter().chain(&waiting).map(|row| row.id).collect();
        for mut record in saved.live {
            if record.submitted_as().0 < saved.nodes_open_below
                && let Some(least) = state.least_nodes(&record.request)
            {
                Arc::make_mut(&mut record.request).min_nodes = Some(least);
            }
            state.insert(record);
        }
        state.recount();
        for finished in saved.history {
            if state.dependents.contains_key(&finished.target) {
                let all = state.finished.entry(finished.target).or_default();
                all.insert(finished);
            }
        }
        for id in ids {
            state.refile(id, now);
        }
        if state.cluster.priority().is_multifactor {
            state.work_out_first_priorities(now);
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Event;
    use cluster_file::ClusterFile;
    use model::{Request, Submitter};
    use resources::Trust;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    /// A row has no calculated priority, and what stands there in its place is higher than any: it was kept.
    #[test]
    fn priorities_that_only_rise_are_after_a_restart_what_they_were() {
        let text = "[nodes.n]\nnames = \"n1\"\ncpus = 2\n[partition.p]\nnodes = \"ALL\"\ndefault = true\n\
                    [priority]\njob_size = 1000\nflags = [\"INCR_ONLY\"]\n";
        let file = ClusterFile::parse("lab", text).expect("a cluster file");
        let cluster = Arc::new(Cluster::build(&file, Trust::All));
        assert!(cluster.priority().has_flag("INCR_ONLY"));
        let mut state = State::new(Arc::clone(&cluster), Arc::new([]));
        for tasks in [2, 2, 1] {
            let request = Request {
                tasks: Some(tasks),
                ..Request::default()
            };
            let id = state.new_id();
            let submitter = Arc::new(Submitter::default());
            state.apply(Event::Submitted {
                record: Box::new(Job::submitted(id, request, submitter, NOW)),
                array: None,
                history: Vec::new(),
                at: NOW,
            });
        }
        state.schedule(NOW);
        let priorities = |state: &State| -> Vec<u32> {
            let waiting = state.live().filter(|job| {
                let job: &Job = job;
                matches!(job.state, JobState::Pending { .. })
            });
            waiting.map(|job| job.priority).collect()
        };
        let before = priorities(&state);
        assert_eq!(before.len(), 2);
        let of_row = |job: &Job| {
            let mut row = job.clone();
            if matches!(row.state, JobState::Pending { .. }) {
                row.priority = row.unweighted_priority();
            }
            row
        };
        let saved = Saved {
            next_id: state.next_id(),
            version: state.version(),
            live: state.live().map(of_row).collect(),
            ..Saved::default()
        };
        let again = State::rebuild(cluster, Arc::new([]), saved, NOW);
        assert_eq!(priorities(&again), before);
    }

    fn submitted(id: u32, request: Request) -> Job {
        let submitter = Submitter {
            user: "ann".to_owned(),
            ..Submitter::default()
        };
        Job::submitted(JobId(id), request, Arc::new(submitter), NOW)
    }

    fn stands(state: &State, id: u32) -> String {
        let job = state.job(JobId(id)).expect("it is live");
        match &job.state {
            JobState::Running { allocation, .. } => format!("R on {}", allocation.nodes.len()),
            waiting => model::reason_text(waiting).into_owned(),
        }
    }

    fn cluster(text: &str) -> Arc<Cluster> {
        let file = ClusterFile::parse("lab", text).expect("a cluster file");
        Arc::new(Cluster::build(&file, Trust::All))
    }

    /// They waited with `PartitionNodeLimit` for ever.
    #[test]
    fn jobs_of_before_nodes_were_given_get_the_least_of_their_partition() {
        let cluster = cluster(
            "[nodes.n]\nnames = \"n[1-4]\"\ncpus = 2\n[partition.p]\nnodes = \"ALL\"\ndefault = true\nmin_nodes = 2\n",
        );
        let saved = Saved {
            next_id: 9,
            live: vec![
                submitted(7, Request::default()),
                submitted(8, Request::default()),
            ],
            nodes_open_below: 8,
            ..Saved::default()
        };
        let mut state = State::rebuild(cluster, Arc::new([]), saved, NOW);
        state.schedule(NOW);
        assert_eq!(stands(&state, 7), "R on 2");
        // As one that was submitted while the partition asked for no more.
        assert_eq!(stands(&state, 8), "PartitionNodeLimit");
    }

    /// Of a user who is there for a partition alone it counts for that association: for its limits, and as the one
    /// share that the user has.
    #[test]
    fn usage_of_before_associations_of_partitions_is_that_of_the_only_one() {
        let cluster = cluster(
            "[nodes.n]\nnames = \"n1\"\ncpus = 2\n[partition.gpu]\nnodes = \"ALL\"\ndefault = true\nmax_time = \"1-0\"\n\
             [priority]\nfair_share = 1000\nhalf_life = \"00:00:00\"\n[account.lab]\n\
             [user.ann]\ndefault_account = \"lab\"\n\
             [user.ann.account.lab]\npartition = \"gpu\"\ngroup_tres_minutes = \"cpu=2\"\n",
        );
        let of_all = Member {
            account: "lab".to_owned(),
            user: "ann".to_owned(),
            partition: None,
        };
        let of_minutes = Spending {
            spender: crate::Spender::Member(of_all.clone()),
            tres: "cpu".to_owned(),
        };
        let saved = Saved {
            next_id: 8,
            live: vec![submitted(7, Request::default())],
            usage: vec![(of_all, Usage::new(120.0, NOW))],
            spent: vec![(of_minutes, Usage::new(120.0, NOW))],
            ..Saved::default()
        };
        let mut state = State::rebuild(cluster, Arc::new([]), saved, NOW);
        state.schedule(NOW);
        assert_eq!(stands(&state, 7), "AssocGrpCPUMinutesLimit");
        let (tree, _) = state.shares(NOW);
        let own = tree.nodes().iter();
        let own = own.filter(|node| node.user.as_deref() == Some("ann"));
        let own: Vec<_> = own
            .map(|node| (node.partition.as_deref(), node.usage))
            .collect();
        assert_eq!(own, [(Some("gpu"), 120.0)]);
    }
}
