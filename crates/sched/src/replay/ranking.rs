//! The order of the queue while a trace is played, and who waits for whom in it.

use super::machine::Kinds;
use super::multifactor::Multifactor;
use super::{Order, Policy, Rules, Trace};
use crate::planner::Lines;
use resources::Cluster;
use std::cmp::{Ordering, Reverse};

/// Where each job of a trace stands.
pub(crate) struct Ranking<'a> {
    pub(crate) lines: Lines,
    ranks: Vec<Rank>,
    multifactor: Option<Multifactor<'a>>,
}

/// Where a job stands: by its line's tier, its priority, and what the order of the queue says.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Rank(Reverse<u32>, Reverse<u32>, f64);

impl<'a> Ranking<'a> {
    /// That of a trace's jobs. Partitions are lines of their own under Slurm's policy, which knows
    /// tiers too; under the others all jobs are one line.
    pub(crate) fn of(
        trace: &'a Trace,
        cluster: &'a Cluster,
        rules: Rules,
        kinds: &'a Kinds,
    ) -> Ranking<'a> {
        let lines = lines(cluster, rules.policy, kinds);
        let ranks = trace.jobs.iter().zip(&lines.of).map(|(job, line)| {
            let key = rules.order.key(job, rules.estimates.limit(job));
            Rank(Reverse(lines.tiers[*line as usize]), Reverse(0), key)
        });
        let is_multifactor = rules.order == Order::Multifactor;
        Ranking {
            ranks: ranks.collect(),
            lines,
            multifactor: is_multifactor.then(|| Multifactor::new(trace, cluster, rules, kinds)),
        }
    }

    /// When the order changes though nothing happens, while jobs wait.
    pub(crate) fn due(&self) -> Option<i64> {
        self.multifactor.as_ref().map(Multifactor::due)
    }

    /// Puts those that wait in the order that they have now, where that may have changed: whether
    /// it did.
    pub(crate) fn renew(&mut self, queue: &mut [u32], now: i64) -> bool {
        let Some(multifactor) = self.multifactor.as_mut().filter(|it| it.due() <= now) else {
            return false;
        };
        multifactor.work_out(now);
        for slot in queue.iter() {
            self.ranks[*slot as usize].1 = Reverse(multifactor.priority(*slot));
        }
        if queue.is_sorted_by(|one, other| self.order(*one, *other).is_le()) {
            return false;
        }
        queue.sort_by(|one, other| self.order(*one, *other));
        true
    }

    /// The place in the queue of a job that was just submitted.
    pub(crate) fn place(&mut self, queue: &[u32], slot: u32) -> usize {
        if let Some(multifactor) = &mut self.multifactor {
            multifactor.submitted(slot);
            self.ranks[slot as usize].1 = Reverse(multifactor.priority(slot));
        }
        queue.partition_point(|other| self.order(*other, slot).is_le())
    }

    /// Who of two is first.
    pub(crate) fn order(&self, one: u32, other: u32) -> Ordering {
        let rank = |slot: u32| self.ranks[slot as usize];
        let by_rank = rank(one).partial_cmp(&rank(other));
        by_rank.unwrap_or(Ordering::Equal).then(one.cmp(&other))
    }

    /// A job starts.
    pub(crate) fn started(&mut self, slot: u32, now: i64) {
        if let Some(multifactor) = &mut self.multifactor {
            multifactor.started(slot, now);
        }
    }

    /// A job ends.
    pub(crate) fn ended(&mut self, slot: u32, now: i64) {
        if let Some(multifactor) = &mut self.multifactor {
            multifactor.ended(slot, now);
        }
    }
}

/// Who waits for whom. Jobs that any node will do for are the last line.
fn lines(cluster: &Cluster, policy: Policy, kinds: &Kinds) -> Lines {
    let partitions = match policy {
        Policy::Slurm => cluster.partitions(),
        _ => &[],
    };
    let all = partitions.len() as u32;
    let of = (0..kinds.of.len() as u32).map(|slot| {
        let own = kinds.asked(slot).and_then(|asked| asked.partition);
        own.map_or(all, |own| u32::from(own.0).min(all))
    });
    let nodes = partitions.iter().map(|partition| partition.nodes.clone());
    // Slurm's tier of a partition that says none.
    let tiers = partitions.iter().map(|partition| partition.tier);
    Lines {
        of: of.collect(),
        nodes: nodes.chain([cluster.nodes_of(None)]).collect(),
        tiers: tiers.chain([1]).collect(),
    }
}
