//! The jobs of a node, by user.

/// The jobs of one user on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UserJobs {
    pub user: u32,
    pub jobs: u32,
    /// Those of them that share the node with no other user.
    pub private: u32,
}

/// The jobs of a node, by user. Planning clones those of all nodes again and again, and few nodes have jobs of several
/// users: those of one take no memory of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum NodeJobs {
    /// It has no job.
    #[default]
    None,
    /// All are one user's.
    One(UserJobs),
    /// Of at least two users, who ascend.
    Several(Vec<UserJobs>),
}

impl NodeJobs {
    /// Each user's; users ascend.
    pub fn each(&self) -> &[UserJobs] {
        match self {
            NodeJobs::None => &[],
            NodeJobs::One(one) => std::slice::from_ref(one),
            NodeJobs::Several(all) => all,
        }
    }

    /// A job of a user comes, or goes.
    pub fn count(&mut self, user: u32, is_private: bool, comes: bool) {
        let private = u32::from(is_private);
        self.change(user, |one| {
            if comes {
                one.jobs += 1;
                one.private += private;
            } else {
                one.jobs = one.jobs.saturating_sub(1);
                one.private = one.private.saturating_sub(private);
            }
        });
    }

    /// Whether it has fewer jobs of a user.
    pub fn lacks(&self, other: &UserJobs) -> bool {
        let own = self.each().iter().find(|own| own.user == other.user);
        own.is_none_or(|own| other.jobs > own.jobs || other.private > own.private)
    }

    /// Has at least as many jobs of a user.
    pub fn raise(&mut self, other: &UserJobs) {
        self.change(other.user, |own| {
            own.jobs = own.jobs.max(other.jobs);
            own.private = own.private.max(other.private);
        });
    }

    fn change(&mut self, user: u32, change: impl FnOnce(&mut UserJobs)) {
        let none = UserJobs {
            user,
            jobs: 0,
            private: 0,
        };
        let only = match self {
            NodeJobs::None => Some(none),
            NodeJobs::One(one) if one.user == user => Some(*one),
            _ => None,
        };
        if let Some(mut one) = only {
            change(&mut one);
            *self = match one.jobs {
                0 => NodeJobs::None,
                _ => NodeJobs::One(one),
            };
            return;
        }
        let mut all = match std::mem::take(self) {
            NodeJobs::Several(all) => all,
            other => other.each().to_vec(),
        };
        let place = all.partition_point(|one| one.user < user);
        if all.get(place).is_none_or(|one| one.user != user) {
            all.insert(place, none);
        }
        change(&mut all[place]);
        if all[place].jobs == 0 {
            all.remove(place);
        }
        *self = match all[..] {
            [only] => NodeJobs::One(only),
            _ => NodeJobs::Several(all),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn as_a_map(steps in prop::collection::vec((0_u32..3, any::<bool>(), any::<bool>()), 0..30)) {
            let mut all = NodeJobs::default();
            let mut want: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
            for (user, is_private, comes) in steps {
                let private = u32::from(is_private);
                let known = want.get(&user).copied().unwrap_or_default();
                if !comes && (known.0 == 0 || known.1 < private) {
                    continue;
                }
                all.count(user, is_private, comes);
                let one = want.entry(user).or_default();
                *one = if comes {
                    (one.0 + 1, one.1 + private)
                } else {
                    (one.0 - 1, one.1 - private)
                };
                want.retain(|_, (jobs, _)| *jobs > 0);
                let got = all.each().iter().map(|one| (one.user, (one.jobs, one.private)));
                prop_assert_eq!(got.collect::<BTreeMap<_, _>>(), want.clone());
                prop_assert_eq!(all == NodeJobs::None, want.is_empty());
                prop_assert_eq!(matches!(all, NodeJobs::One(_)), want.len() == 1);
            }
        }
    }
}
