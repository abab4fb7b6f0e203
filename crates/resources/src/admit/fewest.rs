//! How many nodes a job needs at the least: `select/cons_tres` adds nodes until tasks, CPUs and GPUs
//! are there, where `--nodes` doesn't say how many.

/// What one kind of node has for a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    /// Nodes of that kind.
    pub count: u64,
    /// CPUs of each.
    pub cpus: u64,
    /// GPUs of each, of the kind that is asked.
    pub gpus: u64,
    /// Tasks that each holds.
    pub tasks: u64,
}

/// What a job asks for in all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Total {
    /// At least so many nodes.
    pub nodes: u64,
    pub cpus: u64,
    pub gpus: u64,
    pub tasks: u64,
}

/// A number of nodes that is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needed {
    /// With as many more of the richest as it takes, where there are too few.
    pub nodes: u64,
    /// Whether there are so many.
    pub are_there: bool,
}

/// What is looked at of a node.
type Amount = fn(&Offer) -> u64;

/// The fewest nodes; none where no kind of node has any of what is asked.
pub(super) fn needed(offers: &[Offer], total: &Total) -> Option<Needed> {
    let amounts: [(Amount, u64); 4] = [
        (|_| 1, total.nodes.max(1)),
        (|offer| offer.cpus, total.cpus),
        (|offer| offer.gpus, total.gpus),
        (|offer| offer.tasks, total.tasks),
    ];
    let each = amounts.map(|(amount, wanted)| of_one(offers, amount, wanted));
    let mut all = Needed {
        nodes: 1,
        are_there: true,
    };
    for one in each {
        let one = one?;
        all.nodes = all.nodes.max(one.nodes);
        all.are_there &= one.are_there;
    }
    Some(all)
}

/// The fewest nodes for one amount: the richest first.
fn of_one(offers: &[Offer], amount: Amount, wanted: u64) -> Option<Needed> {
    let mut richest: Vec<(u64, u64)> = offers
        .iter()
        .map(|offer| (amount(offer), offer.count))
        .filter(|(each, _)| *each > 0)
        .collect();
    richest.sort_by_key(|(each, _)| std::cmp::Reverse(*each));
    let (mut nodes, mut left) = (0_u64, wanted);
    for (each, count) in &richest {
        let taken = left.div_ceil(*each).min(*count);
        nodes = nodes.saturating_add(taken);
        left = left.saturating_sub(each.saturating_mul(taken));
    }
    if left == 0 {
        return Some(Needed {
            nodes,
            are_there: true,
        });
    }
    let (most, _) = richest.first()?;
    Some(Needed {
        nodes: nodes.saturating_add(left.div_ceil(*most)),
        are_there: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(total: [u64; 4], want: Option<(u64, bool)>) {
        let offer = |count, cpus, gpus| Offer {
            count,
            cpus,
            gpus,
            tasks: cpus / 2,
        };
        let offers = [offer(1, 64, 4), offer(4, 40, 2), offer(1, 16, 8)];
        let [nodes, cpus, gpus, tasks] = total;
        let total = Total {
            nodes,
            cpus,
            gpus,
            tasks,
        };
        let got = needed(&offers, &total).map(|needed| (needed.nodes, needed.are_there));
        assert_eq!(got, want, "{total:?}");
    }

    #[test]
    fn the_richest_first() {
        check([1, 1, 0, 1], Some((1, true)));
        check([1, 0, 16, 0], Some((4, true)));
        check([5, 0, 9, 0], Some((5, true)));
        check([1, 105, 0, 0], Some((3, true)));
        check([1, 104, 0, 33], Some((2, true)));
        check([7, 0, 0, 0], Some((7, false)));
        check([1, 0, 28, 0], Some((7, false)));
    }

    #[test]
    fn nothing_of_nothing() {
        let total = Total {
            nodes: 1,
            cpus: 1,
            gpus: 0,
            tasks: 1,
        };
        assert_eq!(needed(&[], &total), None);
    }
}
