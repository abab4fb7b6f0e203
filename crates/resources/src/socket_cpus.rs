//! CPUs of a node by socket.

use crate::{NodeClass, SocketNeed};

/// So many sockets of a node are distinguished; of a node with more, none is.
const SOCKETS: usize = 8;

/// CPUs of each socket: those of a node that are free, or those of a share. All are 0 where sockets
/// are not told apart. A node's CPUs are numbered socket by socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketCpus([u16; SOCKETS]);

impl NodeClass {
    /// CPUs of one socket, where sockets are distinguished.
    #[must_use]
    pub fn cpus_of_socket(&self) -> Option<u32> {
        let there = self.sockets.filter(|_| !self.splits)?;
        let each = there.cores.checked_mul(there.threads)?;
        let is_all = each.checked_mul(there.sockets) == Some(self.total.cpus);
        let is_few = (1..=SOCKETS).contains(&(there.sockets as usize));
        (is_all && is_few && (1..=u32::from(u16::MAX)).contains(&each)).then_some(each)
    }
}

impl SocketCpus {
    /// Those of an idle node.
    pub(crate) fn idle(class: &NodeClass) -> SocketCpus {
        let mut all = SocketCpus::default();
        if let (Some(each), Some(there)) = (class.cpus_of_socket(), class.sockets) {
            let sockets = all.0.iter_mut().take(there.sockets as usize);
            sockets.for_each(|socket| *socket = u16::try_from(each).unwrap_or(u16::MAX));
        }
        all
    }

    /// Where CPUs of a node lie, by their numbers.
    pub(crate) fn of_numbers(class: &NodeClass, numbers: &[u32]) -> SocketCpus {
        let mut all = SocketCpus::default();
        if let Some(each) = class.cpus_of_socket() {
            for number in numbers {
                if let Some(socket) = all.0.get_mut((number / each) as usize) {
                    *socket = socket.saturating_add(1);
                }
            }
        }
        all
    }

    /// Each socket's, in order.
    pub fn each(self) -> impl Iterator<Item = u16> {
        self.0.into_iter()
    }

    /// Whether each socket has at least as many.
    pub(crate) fn has(&self, other: &SocketCpus) -> bool {
        self.0.iter().zip(other.0).all(|(own, other)| *own >= other)
    }

    pub(crate) fn take(&mut self, other: &SocketCpus) {
        let pairs = self.0.iter_mut().zip(other.0);
        pairs.for_each(|(own, other)| *own = own.saturating_sub(other));
    }

    pub(crate) fn give(&mut self, other: &SocketCpus) {
        let pairs = self.0.iter_mut().zip(other.0);
        pairs.for_each(|(own, other)| *own = own.saturating_add(other));
    }

    /// The lesser of each.
    pub(crate) fn least(&self, other: &SocketCpus) -> SocketCpus {
        let mut least = *self;
        let pairs = least.0.iter_mut().zip(other.0);
        pairs.for_each(|(own, other)| *own = (*own).min(other));
        least
    }

    /// What a job that asks for sockets may have of free CPUs: as in Slurm, a socket with fewer free
    /// cores than it asks for gives none, and a node with too few others gives nothing. `each` are
    /// the CPUs of a task.
    pub(crate) fn usable(&self, need: &SocketNeed, threads: u32, each: u32) -> Option<SocketCpus> {
        let most = need
            .tasks_per_socket
            .map(|tasks| tasks.saturating_mul(each));
        let least = need.cores.saturating_mul(threads).max(1);
        let most = most.and_then(|most| u16::try_from(most).ok());
        let mut usable = *self;
        let mut sockets = 0;
        for socket in &mut usable.0 {
            if u32::from(*socket) < least {
                *socket = 0;
            } else {
                sockets += 1;
                *socket = (*socket).min(most.unwrap_or(u16::MAX));
            }
        }
        (sockets >= need.sockets).then_some(usable)
    }

    /// Only those of some sockets.
    pub(crate) fn of_sockets(&self, is_one: impl Fn(usize) -> bool) -> SocketCpus {
        let mut own = *self;
        for (socket, cpus) in own.0.iter_mut().enumerate() {
            if !is_one(socket) {
                *cpus = 0;
            }
        }
        own
    }

    /// So many of them: of the socket that has enough and the fewest, else first those of the one that
    /// has the most. None where there are fewer.
    pub(crate) fn deal(&self, cpus: u32) -> Option<SocketCpus> {
        let (mut left, mut free) = (cpus, self.0);
        let mut dealt = SocketCpus::default();
        while left > 0 {
            let key = |at: &usize| {
                let there = u32::from(free[*at]);
                let rest = if there >= left {
                    there
                } else {
                    u32::MAX - there
                };
                (there < left, rest, *at)
            };
            let best = (0..SOCKETS).filter(|at| free[*at] > 0).min_by_key(key)?;
            let taken = u32::from(free[best]).min(left);
            left -= taken;
            dealt.0[best] = u16::try_from(taken).unwrap_or(u16::MAX);
            free[best] = 0;
        }
        Some(dealt)
    }

    /// So many of them, first `each` of every one of some sockets, then those of these sockets.
    pub(crate) fn deal_over(&self, sockets: &[usize], each: u32, cpus: u32) -> Option<SocketCpus> {
        let rest = cpus.checked_sub(each.checked_mul(u32::try_from(sockets.len()).ok()?)?)?;
        let each = u16::try_from(each).ok()?;
        let mut first = SocketCpus::default();
        sockets.iter().for_each(|socket| first.0[*socket] = each);
        let mut left = self.of_sockets(|socket| sockets.contains(&socket));
        for (own, taken) in left.0.iter_mut().zip(first.0) {
            *own = own.checked_sub(taken)?;
        }
        let mut dealt = left.deal(rest)?;
        dealt.give(&first);
        Some(dealt)
    }

    /// So many of them in whole cores of so many each, one of each socket in turn.
    pub(crate) fn deal_in_turn(&self, cpus: u32, core: u32) -> Option<SocketCpus> {
        let core = u16::try_from(core.max(1)).unwrap_or(u16::MAX);
        let (mut left, mut free) = (cpus, self.0);
        let mut dealt = SocketCpus::default();
        while left > 0 {
            let before = left;
            for (own, dealt) in free.iter_mut().zip(&mut dealt.0) {
                if left > 0 && *own >= core {
                    *own -= core;
                    *dealt += core;
                    left = left.saturating_sub(core.into());
                }
            }
            if left == before {
                return None;
            }
        }
        Some(dealt)
    }
}
