//! How the tasks of a job are dealt over the nodes that were chosen (`dist_tasks_compute_c_b` of Slurm's
//! `select/cons_tres`).

use super::Attempt;
use super::evaluate::Chosen;
use crate::Share;
use crate::cluster::NodeId;
use crate::compiled::Form;
use crate::demand::Sharing;

/// What a node holds at most.
#[derive(Clone, Copy, Debug)]
struct Room {
    cpus: u32,
    tasks: u32,
    /// CPUs of a core.
    threads: u32,
}

impl Attempt<'_> {
    /// What a job gets of nodes that were chosen for it.
    pub(super) fn of_chosen(&self, chosen: &Chosen) -> Option<Vec<Share>> {
        let demand = &self.compiled.demand;
        if let Form::Alike { tasks, .. } = self.compiled.form {
            let of_job: Vec<u64> = demand.job.gres.iter().map(|gres| gres.count).collect();
            let shares = chosen.iter();
            let shares = shares.map(|(node, _)| self.share(*node, tasks, &of_job));
            return Some(in_order(shares.collect::<Option<_>>()?));
        }
        if let [(node, _)] = chosen[..]
            && let Some(share) = self.with_all(node)
        {
            return Some(vec![share]);
        }
        let is_counted = demand.task.cpus > 0 && demand.sharing != Sharing::Whole;
        let tasks = demand
            .tasks
            .filter(|_| is_counted && demand.job.gres.is_empty());
        let dealt = tasks.and_then(|tasks| {
            let rooms = chosen.iter().map(|(node, cpus)| {
                let sockets = self.cluster.class(*node).sockets;
                Some(Room {
                    cpus: *cpus,
                    tasks: self.most_tasks_of(*node, tasks)?,
                    threads: sockets.map_or(1, |there| there.threads).max(1),
                })
            });
            let counts = dealt(tasks, demand.task.cpus, &rooms.collect::<Option<Vec<_>>>()?)?;
            let shares = chosen.iter().zip(counts);
            let shares = shares.map(|((node, _), tasks)| self.share(*node, tasks, &[]));
            Some(in_order(shares.collect::<Option<_>>()?))
        });
        dealt.or_else(|| {
            let offers = chosen.iter().map(|(node, _)| self.offer(*node));
            self.deal(offers.collect::<Option<_>>()?)
        })
    }

    /// A share of a node with all tasks and all of the whole job's resources.
    pub(super) fn with_all(&self, node: NodeId) -> Option<Share> {
        let demand = &self.compiled.demand;
        let of_job: Vec<u64> = demand.job.gres.iter().map(|gres| gres.count).collect();
        self.share(node, demand.tasks_on(1), &of_job)
    }
}

fn in_order(mut shares: Vec<Share>) -> Vec<Share> {
    shares.sort_by_key(|share| share.node);
    shares
}

/// One task to each node, then to each in turn as many as a core holds; none where they hold too few.
fn dealt(tasks: u32, each: u32, rooms: &[Room]) -> Option<Vec<u32>> {
    let mut left = tasks.checked_sub(u32::try_from(rooms.len()).ok()?)?;
    let mut counts = vec![1_u32; rooms.len()];
    let has_room = |room: &Room, count: u32| {
        count < room.tasks && (count + 1).saturating_mul(each) <= room.cpus
    };
    // What is left of a core that it has goes first.
    for (room, count) in rooms.iter().zip(&mut counts) {
        for _ in 0..(each.min(room.cpus) % room.threads) / each {
            if left > 0 && has_room(room, *count) {
                *count += 1;
                left -= 1;
            }
        }
    }
    while left > 0 {
        let before = left;
        for (room, count) in rooms.iter().zip(&mut counts) {
            for _ in 0..(room.threads / each).max(1) {
                if left > 0 && has_room(room, *count) {
                    *count += 1;
                    left -= 1;
                }
            }
        }
        if left == before {
            return None;
        }
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::{Room, dealt};

    /// Rooms are CPUs of nodes with two threads a core.
    #[track_caller]
    fn check(tasks: u32, each: u32, rooms: &[u32], want: Option<&[u32]>) {
        let room = |cpus: &u32| Room {
            cpus: *cpus,
            tasks: u32::MAX,
            threads: 2,
        };
        let rooms: Vec<Room> = rooms.iter().map(room).collect();
        assert_eq!(dealt(tasks, each, &rooms).as_deref(), want);
    }

    #[test]
    fn tasks_are_dealt_core_by_core() {
        check(10, 1, &[8, 2], Some(&[8, 2]));
        check(9, 3, &[15, 12, 3], Some(&[4, 4, 1]));
        check(6, 1, &[4, 4, 4], Some(&[2, 2, 2]));
        check(7, 1, &[4, 2], None);
    }
}
