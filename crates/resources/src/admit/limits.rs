//! Limits of accounts and QOS: `acct_policy.c` of 22.05.
//!
//! A job over a limit by itself waits for ever, unless its QOS or its partition's has the flag
//! `DenyOnLimit`, whoever sets the limit; too many jobs at once are always refused.

use super::account::Who;
use super::counts::Counts;
use super::{
    Change, Denial, Detail, Fate, Finding, LimitPath, Requested, Subject, There, TimeFrom,
};
use super::{Judge, finding, has_flag, listed, seconds};
use crate::{Limited, limit_reason};
use cluster_file::{Account, Association, Named, Partition, Qos, Sourced, Tres};
use model::TimeLimitRequest;
use model::option_table::Key;

impl Judge<'_, '_> {
    /// What limits of accounts and QOS have against the job in a partition.
    pub(super) fn accounting(
        &mut self,
        partition: Option<&Named<Partition>>,
        who: &Who<'_>,
    ) -> Vec<Finding> {
        if !self.enforces_limits() {
            return Vec::new();
        }
        let start = self.found.len();
        let of_partition = partition
            .and_then(|partition| partition.qos.as_ref())
            .and_then(|qos| self.file.qos(qos));
        let order = order_of(of_partition, who.qos.first().copied());
        let strict = is_strict(&order);
        for (at, qos) in order.iter().enumerate() {
            let before = self.found.len();
            self.qos_limits(partition, qos, &order[..at], strict, who);
            // Where the file says two things of the default, only what both refuse is sure.
            let is_default = who.qos.first().is_some_and(|own| own.name == qos.name);
            if is_default && who.qos.len() > 1 && self.found.len() > before {
                let mine = self.found.len();
                for other in &who.qos[1..] {
                    let strict = is_strict(&order_of(of_partition, Some(other)));
                    self.qos_limits(partition, other, &order[..at], strict, who);
                }
                let sure = self.found.len() > mine;
                self.found.truncate(mine);
                for refusal in &mut self.found[before..] {
                    refusal.assumed |= !sure;
                }
            }
        }
        self.association_limits(partition, &order, strict, who);
        self.found.split_off(start)
    }

    /// Whether limits of accounts and QOS hold.
    pub(super) fn enforces_limits(&self) -> bool {
        let enforce = self.file.limits.enforce.as_ref();
        let is_one = |word: &String| ["limits", "safe", "all"].contains(&word.as_str());
        enforce.is_none_or(|words| words.iter().any(is_one))
    }

    /// The time by which the job is judged.
    pub(super) fn time_limit(&self) -> Option<TimeLimitRequest> {
        self.time.as_ref().map(|time| time.limit)
    }

    /// What the job asks for with its time.
    pub(super) fn asked_time(&self, time: TimeLimitRequest) -> Requested {
        match self.request.time {
            Some(time) => Requested::Option(Key::Time, time.to_string()),
            None => Requested::DefaultTime(time),
        }
    }

    /// Limits of a QOS, but for those that the QOS `before` it set; the order is Slurm's.
    fn qos_limits(
        &mut self,
        partition: Option<&Named<Partition>>,
        qos: &Named<Qos>,
        before: &[&Named<Qos>],
        strict: bool,
        who: &Who<'_>,
    ) {
        let name = &qos.name;
        let path = |key| LimitPath::Qos(name.clone(), key);
        let asked = self.counts(partition);
        let of_jobs: [(&str, Of, Limited); 3] = [
            (
                "max_tres_per_account",
                |qos| qos.max_tres_per_account.as_ref(),
                Limited::Account,
            ),
            (
                "max_tres_per_user",
                |qos| qos.max_tres_per_user.as_ref(),
                Limited::User,
            ),
            ("group_tres", |qos| qos.group_tres.as_ref(), Limited::Group),
        ];
        for (key, of, limited) in of_jobs {
            if let Some(limit) = of(qos) {
                let limit = but_for(limit, tres_of(before, of));
                self.tres(&limit, &asked, path(key), strict, (true, limited));
            }
        }
        if strict {
            self.qos_minutes(qos, before, &asked);
        }
        let is_set = before.iter().any(|qos| qos.max_wall.is_some());
        if let Some(limit) = qos.max_wall.as_ref().filter(|_| !is_set) {
            let reason = "QOSMaxWallDurationPerJobLimit";
            let other = self
                .time_limit()
                .and_then(|time| self.longer_qos(name, time, who));
            let other = other.map(|other| Change::Set(Key::Qos, other.to_owned()));
            let fate = fate(strict, reason);
            self.wall(limit, path("max_wall"), (fate, reason), other);
        }
        if strict {
            self.qos_group_wall(qos, before);
        }
        let of_job: [(&str, Of, Limited); 2] = [
            (
                "max_tres_per_job",
                |qos| qos.max_tres_per_job.as_ref(),
                Limited::Job,
            ),
            (
                "max_tres_per_node",
                |qos| qos.max_tres_per_node.as_ref(),
                Limited::Node,
            ),
        ];
        for (key, of, limited) in of_job {
            if let Some(limit) = of(qos) {
                let limit = but_for(limit, tres_of(before, of));
                self.tres(&limit, &asked, path(key), strict, (true, limited));
            }
        }
        type Most = fn(&Qos) -> Option<&Sourced<u32>>;
        let submit: [(&str, Most, &str); 3] = [
            (
                "group_submit",
                |qos| qos.group_submit.as_ref(),
                "QOSGrpSubmitJobsLimit",
            ),
            (
                "max_submit_per_account",
                |qos| qos.max_submit_per_account.as_ref(),
                "MaxSubmitJobsPerAccount",
            ),
            (
                "max_submit_per_user",
                |qos| qos.max_submit_per_user.as_ref(),
                "QOSMaxSubmitJobPerUserLimit",
            ),
        ];
        for (key, of, reason) in submit {
            let is_set = before.iter().any(|qos| of(qos).is_some());
            if let Some(limit) = of(qos).filter(|_| !is_set) {
                self.submit(limit, path(key), reason);
            }
        }
        let least: Of = |qos| qos.min_tres_per_job.as_ref();
        if let Some(limit) = least(qos) {
            let limit = but_for(limit, tres_of(before, least));
            let path = path("min_tres_per_job");
            self.tres(&limit, &asked, path, strict, (true, Limited::Least));
        }
    }

    /// Limits of the user in an account, of the account and of those above it, but for those that a QOS set.
    fn association_limits(
        &mut self,
        partition: Option<&Named<Partition>>,
        qos: &[&Named<Qos>],
        strict: bool,
        who: &Who<'_>,
    ) {
        let Some(account) = &who.account else { return };
        let file = self.file;
        let own = who.association;
        let of_own = |key| LimitPath::Association {
            user: who.user.map_or_else(String::new, |user| user.name.clone()),
            account: account.clone(),
            key,
        };
        let of_account = |key| LimitPath::Account(account.clone(), key);
        let asked = self.counts(partition);
        let factor = qos.iter().find_map(|qos| qos.limit_factor.as_ref());
        let factor = factor.map_or(1.0, |factor| factor.value);
        let kinds: [(&str, Limited, OfAssociation, OfAccount, Of); 3] = [
            (
                "group_tres",
                Limited::Group,
                |own| own.group_tres.as_ref(),
                |account| account.group_tres.as_ref(),
                |qos| qos.group_tres.as_ref(),
            ),
            (
                "max_tres_per_job",
                Limited::Job,
                |own| own.max_tres_per_job.as_ref(),
                |account| account.max_tres_per_job.as_ref(),
                |qos| qos.max_tres_per_job.as_ref(),
            ),
            (
                "max_tres_per_node",
                Limited::Node,
                |own| own.max_tres_per_node.as_ref(),
                |account| account.max_tres_per_node.as_ref(),
                |qos| qos.max_tres_per_node.as_ref(),
            ),
        ];
        for (key, limited, of_association, of_account, of_qos) in kinds {
            let of_user = own.and_then(|own| of_association(own));
            let of_user = of_user.map(|limit| (of_own(key), limit));
            let above = file.accounts_up_from(account).filter_map(|above| {
                let path = LimitPath::Account(above.name.clone(), key);
                Some((path, of_account(above)?))
            });
            let levels: Vec<(LimitPath, &Sourced<Tres>)> =
                of_user.into_iter().chain(above).collect();
            for (at, (path, limit)) in levels.iter().enumerate() {
                // Limits of groups count at every level; what is said of one job is handed down.
                let handed_down = if limited == Limited::Group { 0 } else { at };
                let before = levels[..handed_down].iter().map(|(_, limit)| &limit.value);
                let limit = but_for(limit, tres_of(qos, of_qos).chain(before));
                let limit = match limited {
                    Limited::Node => limit,
                    _ => Sourced {
                        value: limit.value.times(factor),
                        ..limit
                    },
                };
                self.tres(&limit, &asked, path.clone(), strict, (false, limited));
            }
        }
        if strict {
            self.association_minutes(qos, &asked, who);
        }
        let by_qos = |of: fn(&Qos) -> bool| qos.iter().any(|qos| of(qos));
        if !by_qos(|qos| qos.group_submit.is_some()) {
            let group = own.and_then(|own| own.group_submit.as_ref());
            let group = group.map(|limit| (of_own("group_submit"), limit));
            let above = file.accounts_up_from(account).filter_map(|above| {
                let path = LimitPath::Account(above.name.clone(), "group_submit");
                Some((path, above.group_submit.as_ref()?))
            });
            for (path, limit) in group.into_iter().chain(above) {
                self.submit(limit, path, "AssocGrpSubmitJobsLimit");
            }
        }
        let counts_by_qos =
            by_qos(|qos| qos.max_submit_per_account.is_some() || qos.max_submit_per_user.is_some());
        let submit = own.and_then(|own| own.max_submit.as_ref());
        let above = file.account_value(account, |account| account.max_submit.as_ref());
        if let Some(limit) = submit.or(above).filter(|_| !counts_by_qos) {
            self.submit(limit, of_account("max_submit"), "AssocMaxSubmitJobLimit");
        }
        let wall = own.and_then(|own| Some((of_own("max_wall"), own.max_wall.as_ref()?)));
        let above = file.account_value(account, |account| account.max_wall.as_ref());
        let wall = wall.or(above.map(|limit| (of_account("max_wall"), limit)));
        let is_set = qos.iter().any(|qos| qos.max_wall.is_some());
        if let Some((path, limit)) = wall.filter(|_| !is_set) {
            let reason = "AssocMaxWallDurationPerJobLimit";
            let fate = fate(strict, reason);
            self.wall(limit, path, (fate, reason), None);
        }
    }

    /// Running and waiting jobs: an array counts with all its elements.
    fn submit(&mut self, limit: &Sourced<u32>, path: LimitPath, reason: &'static str) {
        let jobs = self
            .request
            .rare
            .array
            .as_ref()
            .map_or(1, |array| array.indices.len());
        if jobs <= limit.value as usize {
            return;
        }
        self.found.push(Finding {
            detail: Some(Detail::Limit(reason)),
            ..finding(
                Denial::Policy,
                Requested::Jobs(jobs),
                There::MostJobs(limit.value),
                vec![Change::ArraysOf(limit.value)],
            )
            .about(Subject::Jobs)
            .most(limit.value)
            .at(path, limit)
        });
    }

    /// A time over a limit; `or` is what could be done beside asking for less.
    pub(super) fn wall(
        &mut self,
        limit: &Sourced<TimeLimitRequest>,
        path: LimitPath,
        (fate, reason): (Fate, &'static str),
        or: Option<Change>,
    ) {
        // What limits gave is lowered to each of them.
        let said = self
            .time
            .as_ref()
            .filter(|time| !matches!(time.from, TimeFrom::Limit(_)));
        let Some(time) = said.map(|time| time.limit) else {
            return;
        };
        if seconds(time) <= seconds(limit.value) {
            return;
        }
        let asked = self.asked_time(time);
        let detail = (fate == Fate::Refused).then_some(Detail::Limit(reason));
        let shorter = Change::Set(Key::Time, limit.value.to_string());
        let found = Finding {
            fate,
            detail,
            ..finding(
                Denial::Policy,
                asked,
                There::MostTime(limit.value),
                std::iter::once(shorter).chain(or).collect(),
            )
            .about(match self.request.time {
                Some(_) => Subject::Option(Key::Time),
                None => Subject::Several,
            })
            .over_time(time, limit)
            .at(path, limit)
        };
        let found = self.cut(found);
        self.found.push(found);
    }

    /// What is over a limit of time is ended there where the cluster's document says so.
    pub(super) fn cut(&self, found: Finding) -> Finding {
        let cuts = self.file.limits.cut_at_max_time.as_ref();
        if cuts.is_some_and(|cuts| cuts.value) && found.fate != Fate::Refused {
            Finding {
                fate: Fate::Cut,
                assumed: true,
                ..found
            }
        } else {
            found
        }
    }

    /// A QOS that the user may name and that allows that time.
    fn longer_qos(&self, but: &str, time: TimeLimitRequest, who: &Who<'_>) -> Option<&str> {
        let allows = |qos: &&Named<Qos>| {
            let most = qos.max_wall.as_ref();
            let is_other = !qos.name.eq_ignore_ascii_case(but);
            is_other && most.is_none_or(|most| seconds(most.value) >= seconds(time))
        };
        let own = who.own_qos(self.file);
        let is_own = |qos: &&Named<Qos>| own.is_none_or(|own| listed(own, &qos.name));
        let found = self.file.qos.iter().filter(is_own).find(allows);
        found.map(|qos| qos.name.as_str())
    }

    /// TRES over a limit, or under one, of a QOS, where `by_qos`, or of accounts.
    fn tres(
        &mut self,
        limit: &Sourced<Tres>,
        asked: &Counts,
        path: LimitPath,
        strict: bool,
        (by_qos, limited): (bool, Limited),
    ) {
        let is_least = limited == Limited::Least;
        for (name, bound) in &limit.value.0 {
            // On each node as much, what is left over passed by.
            let nodes = match limited {
                Limited::Node => u64::from(asked.recorded.least_nodes.max(1)),
                _ => 1,
            };
            let bound = bound.saturating_mul(nodes);
            let is_passed = |wanted: &u64| match limited {
                Limited::Least => *wanted < bound,
                _ => wanted.saturating_sub(bound) >= nodes,
            };
            let none = (is_least && name.contains('/')).then_some(0);
            let Some(wanted) = asked.of(name).or(none).filter(is_passed) else {
                continue;
            };
            let reason = limit_reason(by_qos, limited, name);
            let (there, change) = if is_least {
                (
                    There::LeastTres(name.clone(), bound),
                    Change::AtLeast(name.clone(), bound),
                )
            } else {
                (
                    There::MostTres(name.clone(), bound),
                    Change::InAll(name.clone(), bound),
                )
            };
            self.found.push(Finding {
                fate: fate(strict, reason),
                detail: strict.then_some(Detail::Limit(reason)),
                ..finding(
                    Denial::Policy,
                    Requested::Tres(name.clone(), wanted),
                    there,
                    vec![change],
                )
                .about(Subject::of_tres(name))
                .at(path.clone(), limit)
            });
        }
    }
}

/// The QOS of a partition and of a job, the first of which counts first.
pub(super) fn order_of<'a>(
    of_partition: Option<&'a Named<Qos>>,
    of_job: Option<&'a Named<Qos>>,
) -> Vec<&'a Named<Qos>> {
    let mut order: Vec<_> = of_partition.into_iter().chain(of_job).collect();
    order.dedup_by(|one, other| one.name == other.name);
    if of_job.is_some_and(|qos| has_flag(qos, "OverPartQOS")) {
        order.reverse();
    }
    order
}

/// Whether jobs over any limit are refused: one of their QOS says it for all.
fn is_strict(order: &[&Named<Qos>]) -> bool {
    order.iter().any(|qos| has_flag(qos, "DenyOnLimit"))
}

pub(super) type Of = fn(&Qos) -> Option<&Sourced<Tres>>;
type OfAccount = fn(&Account) -> Option<&Sourced<Tres>>;
type OfAssociation = fn(&Association) -> Option<&Sourced<Tres>>;

/// What QOS limit.
pub(super) fn tres_of<'a>(
    qos: &'a [&Named<Qos>],
    of: Of,
) -> impl Iterator<Item = &'a Tres> + Clone {
    qos.iter().filter_map(move |qos| Some(&of(qos)?.value))
}

/// A limit without what is limited before it, in the order in which Slurm looks at it.
pub(super) fn but_for<'b>(
    limit: &Sourced<Tres>,
    before: impl Iterator<Item = &'b Tres> + Clone,
) -> Sourced<Tres> {
    let all = limit.value.clone().in_order();
    let left = all.but_for(before);
    let left = left.map(|(name, amount)| (name.to_owned(), amount));
    Sourced {
        value: Tres(left.collect()),
        ..limit.clone()
    }
}

/// A strict QOS refuses; others let a job wait.
fn fate(strict: bool, reason: &'static str) -> Fate {
    if strict {
        Fate::Refused
    } else {
        Fate::Waits(reason.into())
    }
}
