//! In order: none starts before the first of its line.

use super::{Candidate, Room};
use resources::NodeSet;

/// Which jobs wait for each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// In which line each job is, by its slot.
    pub of: Vec<u32>,
    /// The nodes for which a line waits.
    pub nodes: Vec<NodeSet>,
    /// A line of a higher tier comes first.
    pub tiers: Vec<u32>,
}

/// Starts what can start, in order. The first of a line that can't keeps all behind it in its line
/// waiting, and no other line is given its line's nodes, as in Slurm's main scheduler.
///
/// `queue` holds jobs in their order, `job` tells what one needs. Those that started are given to
/// `start` with whether they overtook one, and their room was taken from `free`. Returns the first
/// that waits of each line where one does.
pub fn in_order_pass<'a, R: Room>(
    free: &mut R,
    queue: &[u32],
    job: impl Fn(u32) -> Candidate<'a, R::Need>,
    lines: &Lines,
    mut start: impl FnMut(u32, R::Held, bool),
) -> Vec<Option<u32>>
where
    R::Need: 'a,
{
    let mut blocked = vec![None; lines.nodes.len()];
    let mut open = lines.nodes.len();
    // What is free but for the nodes of blocked lines, from the first of those on.
    let mut left: Option<R> = None;
    for slot in queue {
        if open == 0 {
            break;
        }
        let line = lines.of[*slot as usize] as usize;
        if blocked[line].is_some() {
            continue;
        }
        let found = left.as_ref().unwrap_or(free).find(job(*slot).need);
        let Some(held) = found else {
            blocked[line] = Some(*slot);
            open -= 1;
            if open > 0 {
                let left = left.get_or_insert_with(|| free.clone());
                left.withdraw(&lines.nodes[line]);
            }
            continue;
        };
        free.take(&held);
        if let Some(left) = &mut left {
            left.take(&held);
        }
        start(*slot, held, left.is_some());
    }
    blocked
}
