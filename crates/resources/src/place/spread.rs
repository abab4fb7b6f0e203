//! Jobs that are spread over nodes: tasks and GPUs of the whole job come from several.

use super::Attempt;
use crate::cluster::NodeId;
use crate::compiled::{amounts, most_tasks};
use crate::demand::Demand;
use crate::{NodeSet, Share};
use std::cmp::Reverse;

/// What a node could give at most.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub node: NodeId,
    /// Tasks.
    pub tasks: u32,
    /// Of each resource of the whole job.
    pub of_job: Vec<u64>,
}

impl Attempt<'_> {
    /// Adds nodes in their order until all is there; the first ones must be among them.
    pub(super) fn spread(
        &self,
        nodes: &[NodeId],
        named: usize,
        groups: &[(NodeSet, u32)],
    ) -> Option<Vec<Share>> {
        let demand = &self.compiled.demand;
        let asked: usize = groups.iter().map(|(_, count)| *count as usize).sum();
        let first = named + asked;
        let most = self.compiled.most_nodes() as usize;
        if first > most {
            return None;
        }
        let mut offers: Vec<Offer> = Vec::new();
        // Where the number of nodes is open the first that are enough are taken.
        for node in nodes {
            offers.extend(self.offer(*node));
            let is_range = demand.nodes.most.is_some() && !demand.nodes.fewest || demand.spread;
            if !is_range
                && offers.len() >= first.max(1)
                && offers.len() <= most
                && self.are_enough(&offers)
            {
                return self.deal(offers);
            }
        }
        if offers.len() < first {
            return None;
        }
        if let Some(taken) = self.enough_of(&offers, first, most) {
            return self.deal(taken);
        }
        let richest: [fn(&Offer) -> u64; 2] = [
            |offer| offer.tasks.into(),
            |offer| {
                offer
                    .of_job
                    .iter()
                    .fold(0, |sum, count| sum.saturating_add(*count))
            },
        ];
        richest.into_iter().find_map(|amount| {
            let mut sorted = offers.clone();
            sorted[first..].sort_by_key(|offer| (Reverse(amount(offer)), offer.node));
            self.deal(self.enough_of(&sorted, first, most)?)
        })
    }

    /// The first nodes that are enough; up to the greatest number that was asked as many as are
    /// free and have a task.
    fn enough_of(&self, offers: &[Offer], first: usize, most: usize) -> Option<Vec<Offer>> {
        let demand = &self.compiled.demand;
        let with_task = demand.tasks.map_or(usize::MAX, |tasks| tasks as usize);
        let with_gres = demand.job.gres.iter().map(|gres| gres.count);
        let with_gres = with_gres
            .min()
            .and_then(|least| usize::try_from(least).ok());
        let most = most
            .min(with_task)
            .min(with_gres.unwrap_or(usize::MAX))
            .max(first);
        let taken = &offers[..most.min(offers.len())];
        self.are_enough(taken).then(|| taken.to_vec())
    }

    fn are_enough(&self, offers: &[Offer]) -> bool {
        let demand = &self.compiled.demand;
        if offers.len() < demand.nodes.least.min(demand.tasks.unwrap_or(u32::MAX)) as usize {
            return false;
        }
        let tasks = offers
            .iter()
            .fold(0_u64, |sum, offer| sum + u64::from(offer.tasks));
        let has_gres = |(index, count): (usize, u64)| {
            let all = offers.iter().map(|offer| offer.of_job[index]);
            all.fold(0, u64::saturating_add) >= count && count >= offers.len() as u64
        };
        let gres = demand.job.gres.iter().map(|gres| gres.count).enumerate();
        tasks >= u64::from(demand.tasks.unwrap_or(0)) && gres.into_iter().all(has_gres)
    }

    /// What a node could give at most of tasks, and of each resource of the whole job.
    pub(super) fn offer(&self, node: NodeId) -> Option<Offer> {
        let demand = &self.compiled.demand;
        let one: Vec<u64> = demand.job.gres.iter().map(|_| 1).collect();
        let tasks = match demand.tasks {
            None => demand.tasks_on(1),
            Some(tasks) => self.most_tasks_of(node, tasks)?,
        };
        let least = match demand.tasks {
            None => tasks,
            Some(_) => 1,
        };
        let each = (0..one.len()).map(|index| {
            greatest(demand.job.gres[index].count, |count| {
                let mut of_job = one.clone();
                of_job[index] = count;
                self.has_room(node, least, &of_job)
            })
        });
        Some(Offer {
            node,
            tasks,
            of_job: each.collect::<Option<Vec<u64>>>()?,
        })
    }

    /// The most tasks of a node up to so many, with one of each resource of the whole job.
    pub(super) fn most_tasks_of(&self, node: NodeId, tasks: u32) -> Option<u32> {
        let demand = &self.compiled.demand;
        let one: Vec<u64> = demand.job.gres.iter().map(|_| 1).collect();
        // Tasks of a node that shares its CPUs are no more than it has CPUs.
        let most = tasks.min(most_tasks(demand, self.cluster.class(node)));
        let fits = |tasks| u32::try_from(tasks).is_ok_and(|tasks| self.has_room(node, tasks, &one));
        greatest(most.into(), fits)?.try_into().ok()
    }

    fn has_room(&self, node: NodeId, tasks: u32, of_job: &[u64]) -> bool {
        let need = amounts(
            &self.compiled.demand,
            self.cluster.class(node),
            tasks,
            of_job,
        );
        need.is_some_and(|need| self.gives(node, &need))
    }

    /// Deals tasks and resources out in blocks: one to each node, then each in turn is filled.
    pub(super) fn deal(&self, mut offers: Vec<Offer>) -> Option<Vec<Share>> {
        // Those that the job names are filled before the others.
        let required = self.compiled.required.as_deref().unwrap_or_default();
        offers.sort_by_key(|offer| (!required.contains(&offer.node), offer.node));
        let demand: &Demand = &self.compiled.demand;
        let count = u32::try_from(offers.len()).ok()?;
        let caps: Vec<u64> = offers.iter().map(|offer| offer.tasks.into()).collect();
        let deal = if demand.spread { even } else { block };
        let tasks = deal(demand.tasks_on(count).into(), &caps)?;
        let gres = demand.job.gres.iter().enumerate();
        let gres = gres.map(|(index, gres)| {
            let caps: Vec<u64> = offers.iter().map(|offer| offer.of_job[index]).collect();
            block(gres.count, &caps)
        });
        let gres: Vec<Vec<u64>> = gres.collect::<Option<_>>()?;
        let shares = offers.iter().enumerate().map(|(at, offer)| {
            let of_job: Vec<u64> = gres.iter().map(|counts| counts[at]).collect();
            self.share(offer.node, u32::try_from(tasks[at]).ok()?, &of_job)
        });
        let mut shares: Vec<Share> = shares.collect::<Option<_>>()?;
        shares.sort_by_key(|share| share.node);
        Some(shares)
    }
}

/// One to each, then each in turn up to what it holds; none where they hold too little.
fn block(all: u64, caps: &[u64]) -> Option<Vec<u64>> {
    let mut left = all.checked_sub(caps.len() as u64)?;
    let dealt = caps.iter().map(|cap| {
        let more = cap.saturating_sub(1).min(left);
        left -= more;
        1 + more
    });
    let dealt: Vec<u64> = dealt.collect();
    (left == 0).then_some(dealt)
}

/// One to each in turn, up to what it holds; none where they hold too little.
fn even(all: u64, caps: &[u64]) -> Option<Vec<u64>> {
    let room = caps.iter().fold(0_u64, |sum, cap| sum.saturating_add(*cap));
    if room < all || all < caps.len() as u64 {
        return None;
    }
    // So many each, and one more to the first that have room.
    let dealt = |each: u64| caps.iter().map(move |cap| (*cap).min(each));
    let each = greatest(all, |each| dealt(each).sum::<u64>() <= all).unwrap_or(0);
    let mut shares: Vec<u64> = dealt(each).collect();
    let mut left = all - shares.iter().sum::<u64>();
    for (share, cap) in shares.iter_mut().zip(caps) {
        if left > 0 && *share < *cap {
            *share += 1;
            left -= 1;
        }
    }
    (left == 0).then_some(shares)
}

/// The greatest number up to `most` that fits, where fewer always do; none where 1 doesn't.
pub(crate) fn greatest(most: u64, fits: impl Fn(u64) -> bool) -> Option<u64> {
    if most == 0 || !fits(1) {
        return None;
    }
    if fits(most) {
        return Some(most);
    }
    let (mut fitting, mut over) = (1, most);
    while over - fitting > 1 {
        let middle = fitting + (over - fitting) / 2;
        if fits(middle) {
            fitting = middle;
        } else {
            over = middle;
        }
    }
    Some(fitting)
}
