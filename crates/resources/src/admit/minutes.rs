//! Limits on minutes and on the time of all jobs together: where a QOS refuses what is over a limit
//! (`DenyOnLimit`), they are limits on the time of a job (`_validate_tres_time_limits` of 22.05's
//! `acct_policy.c`).

use super::account::Who;
use super::counts::Counts;
use super::limits::{Of, but_for, tres_of};
use super::{Change, Denial, Detail, LimitPath, Subject, There};
use super::{Fate, Finding, Judge, finding, seconds};
use crate::{Limited, limit_reason};
use cluster_file::{Named, Qos, Sourced, Tres};
use model::option_table::Key;
use model::{Seconds, TimeLimitRequest};

/// Limits on minutes of a QOS, in Slurm's order.
const OF_QOS: [(&str, Of, Limited); 3] = [
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
    /// As they stand in [`OF_QOS`].
    minutes: [Option<&'a Sourced<Tres>>; 3],
    wall: Option<&'a Sourced<TimeLimitRequest>>,
}

impl Judge<'_, '_> {
    /// Those of a QOS, but for those that the QOS `before` it set.
    pub(super) fn qos_minutes(&mut self, qos: &Named<Qos>, before: &[&Named<Qos>], asked: &Counts) {
        for (key, of, limited) in OF_QOS {
            if let Some(limit) = of(qos) {
                let path = LimitPath::Qos(qos.name.clone(), key);
                let limit = but_for(limit, tres_of(before, of));
                self.minutes(&limit, asked, path, (true, limited));
            }
        }
    }

    /// The time of all jobs of a QOS together.
    pub(super) fn qos_group_wall(&mut self, qos: &Named<Qos>, before: &[&Named<Qos>]) {
        let is_passed_by = before.iter().any(|qos| qos.group_wall.is_some());
        if let Some(limit) = qos.group_wall.as_ref().filter(|_| !is_passed_by) {
            let path = LimitPath::Qos(qos.name.clone(), "group_wall");
            let refused = (Fate::Refused, "QOSGrpWallLimit");
            self.wall(limit, path, refused, None);
        }
    }

    /// Those of the user in an account, of the account and of those above it, but for those that a QOS set: of
    /// each TRES the nearest one.
    pub(super) fn association_minutes(
        &mut self,
        qos: &[&Named<Qos>],
        asked: &Counts,
        who: &Who<'_>,
    ) {
        let Some(account) = &who.account else { return };
        let file = self.file;
        let own = who.association;
        let user = who.user.map_or("", |user| user.name.as_str());
        let mut levels: Vec<Level<'_>> = Vec::new();
        levels.extend(own.map(|own| Level {
            path: Box::new(|key| LimitPath::Association {
                user: user.to_owned(),
                account: account.clone(),
                key,
            }),
            minutes: [
                own.max_tres_minutes_per_job.as_ref(),
                own.group_tres_minutes.as_ref(),
                own.group_tres_run_minutes.as_ref(),
            ],
            wall: own.group_wall.as_ref(),
        }));
        levels.extend(file.accounts_up_from(account).map(|above| Level {
            path: Box::new(|key| LimitPath::Account(above.name.clone(), key)),
            minutes: [
                above.max_tres_minutes_per_job.as_ref(),
                above.group_tres_minutes.as_ref(),
                above.group_tres_run_minutes.as_ref(),
            ],
            wall: above.group_wall.as_ref(),
        }));
        self.level_minutes(qos, asked, &levels, 1);
        self.level_minutes(qos, asked, &levels, 2);
        let is_passed_by = qos.iter().any(|qos| qos.group_wall.is_some());
        let wall = levels.iter().find_map(|level| Some((level, level.wall?)));
        if let Some((level, limit)) = wall.filter(|_| !is_passed_by) {
            let refused = (Fate::Refused, "AssocGrpWallLimit");
            self.wall(limit, (level.path)("group_wall"), refused, None);
        }
        self.level_minutes(qos, asked, &levels, 0);
    }

    /// Those of one kind, of each TRES that of the nearest level.
    fn level_minutes(
        &mut self,
        qos: &[&Named<Qos>],
        asked: &Counts,
        levels: &[Level<'_>],
        kind: usize,
    ) {
        let (key, of, limited) = OF_QOS[kind];
        for (at, level) in levels.iter().enumerate() {
            let nearer = levels[..at].iter();
            let nearer = nearer.filter_map(|level| Some(&level.minutes[kind]?.value));
            if let Some(limit) = level.minutes[kind] {
                let left = but_for(limit, tres_of(qos, of).chain(nearer));
                self.minutes(&left, asked, (level.path)(key), (false, limited));
            }
        }
    }

    /// A time with which the job would use more minutes of a TRES than that.
    fn minutes(
        &mut self,
        limit: &Sourced<Tres>,
        asked: &Counts,
        path: LimitPath,
        (by_qos, limited): (bool, Limited),
    ) {
        let Some(wanted_time) = self.time_limit() else {
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
            let asked = self.asked_time(wanted_time);
            self.found.push(Finding {
                detail: Some(Detail::Limit(limit_reason(by_qos, limited, name))),
                ..finding(
                    Denial::Policy,
                    asked,
                    There::MostTime(longest),
                    vec![Change::Set(Key::Time, longest.to_string())],
                )
                .about(match self.request.time {
                    Some(_) => Subject::Option(Key::Time),
                    None => Subject::Several,
                })
                .most(seconds(longest))
                .at(path.clone(), limit)
            });
        }
    }
}
