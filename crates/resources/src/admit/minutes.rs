//! Limits on minutes and on the time of all jobs together: where a QOS refuses what is over a limit
//! (`DenyOnLimit`), they are limits on the time of a job (`_validate_tres_time_limits` of 22.05's
//! `acct_policy.c`). There it refuses what is below its least too.

use super::account::Who;
use super::limits::{Counts, but_for};
use super::{Change, Denial, Detail, LimitPath, Requested, Subject, There};
use super::{Fate, Finding, Judge, finding, seconds};
use crate::{Limited, limit_reason};
use cluster_file::{Named, Partition, Qos, Sourced, Tres, named};
use model::option_table::Key;
use model::{Seconds, TimeLimitRequest};

type OfQos = fn(&Qos) -> Option<&Sourced<Tres>>;

/// Limits on minutes of a QOS, in Slurm's order.
const OF_QOS: [(&str, OfQos, Limited); 3] = [
    (
        "max_tres_minutes_per_job",
        |qos| qos.max_tres_minutes_per_job.as_ref(),
        Limited::JobMinutes,
    ),
    (
        "group_tres_minutes",
        |qos| qos.group_tres_minutes.as_ref(),
        Limited::GroupMinutes,
    ),
    (
        "group_tres_run_minutes",
        |qos| qos.group_tres_run_minutes.as_ref(),
        Limited::GroupRunMinutes,
    ),
];

/// Limits of a user in an account, or of an account.
struct Level<'a> {
    path: Box<dyn Fn(&'static str) -> LimitPath + 'a>,
    minutes: [Option<&'a Sourced<Tres>>; 2],
    wall: Option<&'a Sourced<TimeLimitRequest>>,
}

impl Judge<'_, '_> {
    /// Those of a QOS, but for those that the QOS `before` it set.
    pub(super) fn qos_minutes(
        &mut self,
        partition: Option<&Named<Partition>>,
        qos: &Named<Qos>,
        before: &[&Named<Qos>],
        asked: &Counts,
    ) {
        for (key, of, limited) in OF_QOS {
            if let Some(limit) = of(qos) {
                let path = LimitPath::Qos(qos.name.clone(), key);
                let limit = but_for(limit, before, of);
                self.minutes(partition, &limit, asked, path, (true, limited));
            }
        }
    }

    /// The least that a QOS lets a job ask for, but for what the QOS `before` it set.
    pub(super) fn qos_least(&mut self, qos: &Named<Qos>, before: &[&Named<Qos>], asked: &Counts) {
        let key = "min_tres_per_job";
        let of: OfQos = |qos| qos.min_tres_per_job.as_ref();
        let Some(limit) = of(qos) else { return };
        for (name, least) in but_for(limit, before, of).value.0 {
            let wanted = asked.of(&name).unwrap_or(0);
            if wanted >= least {
                continue;
            }
            let path = LimitPath::Qos(qos.name.clone(), key);
            self.found.push(Finding {
                detail: Some(Detail::Limit(limit_reason(true, Limited::Least, &name))),
                ..finding(
                    Denial::Policy,
                    Requested::Tres(name.clone(), wanted),
                    There::LeastTres(name.clone(), least),
                    vec![Change::AtLeast(name.clone(), least)],
                )
                .about(Subject::of_tres(&name))
                .at(path, limit)
            });
        }
    }

    /// The time of all jobs of a QOS together.
    pub(super) fn qos_group_wall(
        &mut self,
        partition: Option<&Named<Partition>>,
        qos: &Named<Qos>,
        before: &[&Named<Qos>],
    ) {
        let is_passed_by = before.iter().any(|qos| qos.group_wall.is_some())
            || self.time_given(partition).is_none();
        if let Some(limit) = qos.group_wall.as_ref().filter(|_| !is_passed_by) {
            let path = LimitPath::Qos(qos.name.clone(), "group_wall");
            let refused = (Fate::Refused, "QOSGrpWallLimit");
            self.wall(partition, limit, path, refused, None);
        }
    }

    /// Those of the user in an account, of the account and of those above it, but for those that a QOS set: of
    /// each TRES the nearest one.
    pub(super) fn association_minutes(
        &mut self,
        partition: Option<&Named<Partition>>,
        qos: &[&Named<Qos>],
        asked: &Counts,
        who: &Who<'_>,
    ) {
        let Some(account) = &who.account else { return };
        let file = self.file;
        let own = who.user.and_then(|user| named(&user.associations, account));
        let user = who.user.map_or("", |user| user.name.as_str());
        let mut levels: Vec<Level<'_>> = Vec::new();
        levels.extend(own.map(|own| Level {
            path: Box::new(|key| LimitPath::Association {
                user: user.to_owned(),
                account: account.clone(),
                key,
            }),
            minutes: [
                own.group_tres_minutes.as_ref(),
                own.group_tres_run_minutes.as_ref(),
            ],
            wall: own.group_wall.as_ref(),
        }));
        levels.extend(file.accounts_up_from(account).map(|above| Level {
            path: Box::new(|key| LimitPath::Account(above.name.clone(), key)),
            minutes: [
                above.group_tres_minutes.as_ref(),
                above.group_tres_run_minutes.as_ref(),
            ],
            wall: above.group_wall.as_ref(),
        }));
        for (at, (key, of, limited)) in OF_QOS.into_iter().skip(1).enumerate() {
            let mut nearer: Vec<String> = Vec::new();
            for level in &levels {
                let Some(limit) = level.minutes[at] else {
                    continue;
                };
                let mut left = but_for(limit, qos, of);
                left.value.0.retain(|(name, _)| !nearer.contains(name));
                nearer.extend(left.value.0.iter().map(|(name, _)| name.clone()));
                self.minutes(partition, &left, asked, (level.path)(key), (false, limited));
            }
        }
        let is_passed_by =
            qos.iter().any(|qos| qos.group_wall.is_some()) || self.time_given(partition).is_none();
        let wall = levels.iter().find_map(|level| Some((level, level.wall?)));
        if let Some((level, limit)) = wall.filter(|_| !is_passed_by) {
            let refused = (Fate::Refused, "AssocGrpWallLimit");
            self.wall(partition, limit, (level.path)("group_wall"), refused, None);
        }
        let key = "max_tres_minutes_per_job";
        let own = own.and_then(|own| own.max_tres_minutes_per_job.as_ref());
        let above =
            file.account_value(account, |account| account.max_tres_minutes_per_job.as_ref());
        if let Some(limit) = own.or(above) {
            let limit = but_for(limit, qos, OF_QOS[0].1);
            let path = LimitPath::Account(account.clone(), key);
            self.minutes(partition, &limit, asked, path, (false, Limited::JobMinutes));
        }
    }

    /// The job's time, its own or the partition's default; one without gets as much as limits leave.
    fn time_given(&self, partition: Option<&Named<Partition>>) -> Option<TimeLimitRequest> {
        let default = partition.and_then(|partition| partition.default_time.as_ref());
        self.request.time.or(default.map(|default| default.value))
    }

    /// A time with which the job would use more minutes of a TRES than that.
    fn minutes(
        &mut self,
        partition: Option<&Named<Partition>>,
        limit: &Sourced<Tres>,
        asked: &Counts,
        path: LimitPath,
        (by_qos, limited): (bool, Limited),
    ) {
        let time = self.request.time;
        let Some(wanted_time) = self.time_given(partition) else {
            return;
        };
        for (name, most) in &limit.value.0 {
            let Some(wanted) = asked.of(name).filter(|wanted| *wanted > 0) else {
                continue;
            };
            let longest = Seconds((most / wanted).saturating_mul(60));
            if seconds(wanted_time) <= longest.0 {
                continue;
            }
            let longest = TimeLimitRequest::Limit(longest);
            let asked = match time {
                Some(time) => Requested::Option(Key::Time, time.to_string()),
                None => Requested::DefaultTime(wanted_time),
            };
            self.found.push(Finding {
                detail: Some(Detail::Limit(limit_reason(by_qos, limited, name))),
                ..finding(
                    Denial::Policy,
                    asked,
                    There::MostTime(longest),
                    vec![Change::Set(Key::Time, longest.to_string())],
                )
                .about(match time {
                    Some(_) => Subject::Option(Key::Time),
                    None => Subject::Several,
                })
                .most(seconds(longest))
                .at(path.clone(), limit)
            });
        }
    }
}
