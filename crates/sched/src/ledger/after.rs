//! Limits that are asked once nodes are chosen: what is held, and what will be used.

use super::chain::Counter;
use super::passed::{Over, Passed, Whose};
use super::{Chain, Ledger, Used};
use crate::expected_ends::UNLIMITED;
use cluster_file::times;
use model::{LimitedAmount, Seconds, Timestamp};
use resources::{Cluster, Limited, Limits, QosId, Share, limit_reason};

/// What a job would hold, for how long, and when it would start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) used: &'a Used,
    pub(crate) shares: &'a [Share],
    pub(crate) limit: Option<Seconds>,
    pub(crate) now: Timestamp,
}

impl Wanted<'_> {
    /// What it uses of the TRES at a place until its limit, times seconds.
    pub(super) fn to_use(self, at: usize) -> u128 {
        u128::from(self.used.get(at)) * u128::from(self.limit.unwrap_or(UNLIMITED).0)
    }
}

/// Limits of a QOS, in the order in which Slurm asks them (`_qos_job_runnable_post_select` of 22.05).
const OF_QOS: [Limited; 8] = [
    Limited::Group,
    Limited::GroupRunMinutes,
    Limited::JobMinutes,
    Limited::Job,
    Limited::Node,
    Limited::Least,
    Limited::Account,
    Limited::User,
];

impl Ledger {
    /// Once nodes are chosen: what the job would hold. Of each TRES the first level counts that limits it: the
    /// QOS, then the user in the account and the accounts upwards. Limits of groups in accounts count at every
    /// level, where no QOS limits the TRES.
    pub(crate) fn after(&self, chain: &Chain<'_>, wanted: Wanted<'_>) -> Result<(), Passed> {
        let qos: Vec<(QosId, &Limits)> = chain.qos_limits().collect();
        let of_qos = Comparison {
            ledger: self,
            cluster: chain.cluster,
            wanted,
            by_qos: true,
            minds_minutes: chain.minds_minutes(),
            factor: 1.0,
        };
        for (at, (id, limits)) in qos.iter().enumerate() {
            let before = qos[..at].iter().map(|(_, limits)| *limits);
            for limited in OF_QOS {
                let whose = match limited {
                    Limited::Group | Limited::GroupRunMinutes | Limited::GroupMinutes => {
                        Whose::Together(Counter::Qos(*id))
                    }
                    Limited::Account => {
                        Whose::Together(Counter::QosAccount(*id, chain.account().to_owned()))
                    }
                    Limited::User => Whose::Together(Counter::QosUser(*id, chain.uid)),
                    Limited::Job | Limited::JobMinutes | Limited::Node | Limited::Least => {
                        Whose::JobOfQos(*id)
                    }
                };
                of_qos.of(limited, limits, before.clone(), whose)?;
            }
        }
        let of_association = Comparison {
            by_qos: false,
            factor: chain.limit_factor().unwrap_or(1.0),
            ..of_qos
        };
        let all: Vec<(Counter, &Limits)> = chain.association_limits().collect();
        let qos = qos.iter().map(|(_, limits)| *limits);
        for (at, (counter, limits)) in all.iter().enumerate() {
            for limited in [Limited::Group, Limited::GroupRunMinutes] {
                let whose = Whose::Together(counter.clone());
                of_association.of(limited, limits, qos.clone(), whose)?;
            }
            if at > 0 {
                continue;
            }
            // What is said of one job is handed down.
            for limited in [Limited::JobMinutes, Limited::Job, Limited::Node] {
                for (at, (_, limits)) in all.iter().enumerate() {
                    let before = qos
                        .clone()
                        .chain(all[..at].iter().map(|(_, limits)| *limits));
                    of_association.of(limited, limits, before, Whose::JobOfAccount)?;
                }
            }
        }
        Ok(())
    }
}

/// A job that is held against limits.
#[derive(Clone, Copy)]
struct Comparison<'a> {
    ledger: &'a Ledger,
    cluster: &'a Cluster,
    wanted: Wanted<'a>,
    by_qos: bool,
    /// What others may still use counts against the job.
    minds_minutes: bool,
    /// Limits on what a job and a group hold are so many times as much.
    factor: f64,
}

impl Comparison<'_> {
    /// Whether it passes limits of one kind, but for those on what levels before limit.
    fn of<'l>(
        &self,
        limited: Limited,
        limits: &Limits,
        before: impl Iterator<Item = &'l Limits> + Clone,
        whose: Whose,
    ) -> Result<(), Passed> {
        let before = before.map(|limits| limits.on(limited));
        for (name, most) in limits.on(limited).but_for(before) {
            let Some(at) = self
                .cluster
                .limited_tres()
                .iter()
                .position(|own| own == name)
            else {
                continue;
            };
            let most = match limited {
                Limited::Group | Limited::Job => times(most, self.factor),
                _ => most,
            };
            let (of_others, of_job) = match &whose {
                Whose::Together(counter) if name == "node" && !limited.is_in_minutes() => {
                    let (of_others, of_job) = self.ledger.shared_nodes(counter, self.wanted.shares);
                    (of_others.into(), of_job.into())
                }
                Whose::Together(counter) => (
                    self.of_others(limited, counter, at),
                    self.of_job(limited, at),
                ),
                Whose::JobOfQos(_) | Whose::JobOfAccount => (0, self.of_job(limited, at)),
            };
            let together = of_job + of_others;
            let parts = match limited {
                Limited::Node => u128::from(self.wanted.shares.len().max(1) as u64),
                _ if limited.is_in_minutes() => 60,
                _ => 1,
            };
            let is_passed = match limited {
                Limited::Least => together < most.into(),
                // What it has none of it may have, however much others have.
                _ if of_job == 0 => false,
                // On each node as much: what is left over is passed by.
                Limited::Node => together / parts > most.into(),
                _ => together > u128::from(most) * parts,
            };
            if is_passed {
                let over = Over {
                    whose,
                    on: amount(limited, name),
                    with_it: u64::try_from(together.div_ceil(parts)).unwrap_or(u64::MAX),
                    most,
                };
                return over.stop(limit_reason(self.by_qos, limited, name));
            }
        }
        Ok(())
    }

    /// What the job would hold, or use times seconds.
    fn of_job(&self, limited: Limited, at: usize) -> u128 {
        if limited.is_in_minutes() {
            self.wanted.to_use(at)
        } else {
            self.wanted.used.get(at).into()
        }
    }

    /// What running jobs hold, or may still use times seconds.
    fn of_others(&self, limited: Limited, counter: &Counter, at: usize) -> u128 {
        if limited.is_in_minutes() && !self.minds_minutes {
            0
        } else if limited.is_in_minutes() {
            self.ledger.still_to_use(counter, at, self.wanted.now)
        } else {
            self.ledger.held(counter, at).into()
        }
    }
}

fn amount(limited: Limited, tres: &str) -> LimitedAmount {
    let tres = tres.to_owned();
    match limited {
        _ if limited.is_in_minutes() => LimitedAmount::TresMinutes(tres),
        Limited::Node => LimitedAmount::TresOfNode(tres),
        Limited::Least => LimitedAmount::LeastTres(tres),
        _ => LimitedAmount::Tres(tres),
    }
}
