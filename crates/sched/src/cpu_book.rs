//! Which CPUs of each node running jobs have.

use resources::{NodeId, SocketCpus};
use std::sync::Arc;

/// Jobs on each CPU of each node. How many a job gets is decided before ([`resources::Free`]); here
/// they get their numbers, those that no job has first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CpuBook {
    /// Numbers of this machine's CPUs, ascending, where it is the cluster; empty: each node counts
    /// from 0.
    numbers: Arc<[u32]>,
    /// Jobs on each, in the order of the numbers, up to the last CPU that any has.
    jobs: Vec<Vec<u16>>,
}

impl CpuBook {
    pub(crate) fn new(numbers: Arc<[u32]>, nodes: u32) -> CpuBook {
        CpuBook {
            numbers,
            jobs: vec![Vec::new(); nodes as usize],
        }
    }

    pub(crate) fn numbers(&self) -> &Arc<[u32]> {
        &self.numbers
    }

    /// Takes so many CPUs of a node that has `there`: free ones, first so many of each socket as are
    /// said with a socket's CPUs, and where there are too few those with the fewest jobs.
    pub(crate) fn pick(
        &mut self,
        node: NodeId,
        count: u32,
        there: u32,
        sockets: Option<(SocketCpus, u32)>,
    ) -> Vec<u32> {
        let jobs = &mut self.jobs[node.0 as usize];
        let count = count.min(there) as usize;
        let is_free = |place: &usize| jobs.get(*place).is_none_or(|jobs| *jobs == 0);
        let mut places: Vec<usize> = Vec::with_capacity(count);
        if let Some((sockets, each)) = sockets {
            let begins = (0..there as usize).step_by(each.max(1) as usize);
            for (begin, cpus) in begins.zip(sockets.each()) {
                let socket = begin..(begin + each as usize).min(there as usize);
                places.extend(socket.filter(is_free).take(cpus.into()));
            }
            places.truncate(count);
        }
        let left = count - places.len();
        if left > 0 {
            let others = (0..there as usize).filter(|place| !places.contains(place));
            let others: Vec<usize> = others.filter(is_free).take(left).collect();
            places.extend(others);
            places.sort_unstable();
        }
        if places.len() < count {
            let mut shared: Vec<usize> = (0..jobs.len()).filter(|at| jobs[*at] > 0).collect();
            shared.sort_by_key(|place| (jobs[*place], *place));
            places.extend(shared.into_iter().take(count - places.len()));
            places.sort_unstable();
        }
        if let Some(last) = places.last().filter(|last| **last >= jobs.len()) {
            jobs.resize(last + 1, 0);
        }
        for place in &places {
            jobs[*place] = jobs[*place].saturating_add(1);
        }
        let number = |place: usize| {
            if self.numbers.is_empty() {
                u32::try_from(place).ok()
            } else {
                self.numbers.get(place).copied()
            }
        };
        places.into_iter().filter_map(number).collect()
    }

    /// Takes CPUs that a row names; those that the node doesn't have, any more, are passed over.
    pub(crate) fn hold(&mut self, node: NodeId, numbers: &[u32], there: u32) {
        for number in numbers {
            let Some(place) = self.place(*number).filter(|at| *at < there as usize) else {
                continue;
            };
            let jobs = &mut self.jobs[node.0 as usize];
            if jobs.len() <= place {
                jobs.resize(place + 1, 0);
            }
            jobs[place] = jobs[place].saturating_add(1);
        }
    }

    /// Gives CPUs back.
    pub(crate) fn give(&mut self, node: NodeId, numbers: &[u32]) {
        for number in numbers {
            let place = self.place(*number);
            let jobs = &mut self.jobs[node.0 as usize];
            if let Some(count) = place.and_then(|place| jobs.get_mut(place)) {
                *count = count.saturating_sub(1);
            }
        }
        let jobs = &mut self.jobs[node.0 as usize];
        while jobs.last() == Some(&0) {
            jobs.pop();
        }
    }

    fn place(&self, number: u32) -> Option<usize> {
        if self.numbers.is_empty() {
            Some(number as usize)
        } else {
            self.numbers.binary_search(&number).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ones_first_then_those_with_the_fewest_jobs() {
        let mut book = CpuBook::new(Arc::from([4, 6, 8]), 1);
        let node = NodeId(0);
        assert_eq!(book.pick(node, 2, 3, None), [4, 6]);
        book.give(node, &[4]);
        assert_eq!(book.pick(node, 2, 3, None), [4, 8]);
        assert_eq!(book.pick(node, 1, 3, None), [4], "all are taken");
        assert_eq!(book.pick(node, 2, 3, None), [6, 8]);
        for numbers in [[6, 8], [4, 4], [6, 8]] {
            book.give(node, &numbers);
        }
        assert_eq!(book, CpuBook::new(Arc::from([4, 6, 8]), 1));
    }
}
