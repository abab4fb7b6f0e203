//! Limits of accounts and QOS: `acct_policy.c` of 22.05.
//!
//! A job over a limit by itself waits for ever, unless its QOS has the flag `DenyOnLimit`; too many
//! jobs at once are always refused.

use super::account::Who;
use super::{Change, Denial, Detail, Fate, Finding, LimitPath, Requested, Subject, There};
use super::{Judge, finding, has_flag, listed, seconds};
use crate::{LargestNode, recorded};
use cluster_file::named;
use cluster_file::{Named, Partition, Qos, Sourced, Tres};
use model::option_table::Key;
use model::{Recorded, TimeLimitRequest};

impl Judge<'_, '_> {
    /// Limits of accounts and QOS.
    pub(super) fn accounting(&mut self, partition: Option<&Named<Partition>>, who: &Who<'_>) {
        let enforce = &self.file.limits.enforce;
        if enforce.as_ref().is_some_and(|words| {
            !words
                .iter()
                .any(|word| ["limits", "safe", "all"].contains(&&**word))
        }) {
            return;
        }
        let of_partition = partition
            .and_then(|partition| partition.qos.as_ref())
            .and_then(|qos| self.file.qos(qos));
        let Some(first) = who.qos.first() else {
            if let Some(qos) = of_partition {
                self.qos_limits(partition, qos, who);
            }
            self.association_limits(partition, who);
            return;
        };
        // Where the file says two things of the default, only what both refuse is sure.
        let before = self.found.len();
        self.qos_limits(partition, first, who);
        if who.qos.len() > 1 && self.found.len() > before {
            let mine = self.found.len();
            for other in &who.qos[1..] {
                self.qos_limits(partition, other, who);
            }
            let sure = self.found.len() > mine;
            self.found.truncate(mine);
            for refusal in &mut self.found[before..] {
                refusal.assumed |= !sure;
            }
        }
        if let Some(qos) = of_partition.filter(|qos| qos.name != first.name) {
            self.qos_limits(partition, qos, who);
        }
        self.association_limits(partition, who);
    }

    /// What the job counts for in a partition.
    fn counts(&self, partition: Option<&Named<Partition>>) -> Counts {
        let name = partition.map(|partition| partition.name.as_str());
        let demand = self.idle.demand(name, self.request);
        let least = demand.nodes.least;
        // The size of the nodes counts only where all of their memory does.
        let largest = LargestNode {
            cpus: u32::MAX,
            mem_mib: 0,
        };
        let recorded = recorded(&demand, largest, false);
        let is_asked = self.request.memory.is_some() && !demand.all_memory;
        Counts {
            cpus: demand.cpus_for(demand.tasks_on(least), demand.gpus_on(least)),
            mem_mib: is_asked.then_some(recorded.mem_mib),
            recorded,
        }
    }

    fn time_asked(&self, partition: Option<&Named<Partition>>) -> Option<TimeLimitRequest> {
        let default = || {
            let partition = partition?;
            let time = partition
                .default_time
                .as_ref()
                .or(partition.max_time.as_ref())?;
            Some(time.value)
        };
        self.request.time.or_else(default)
    }

    fn qos_limits(
        &mut self,
        partition: Option<&Named<Partition>>,
        qos: &Named<Qos>,
        who: &Who<'_>,
    ) {
        let name = &qos.name;
        let path = |key| LimitPath::Qos(name.clone(), key);
        let strict = has_flag(qos, "DenyOnLimit");
        let asked = self.counts(partition);
        if let Some(limit) = &qos.max_tres_per_job {
            self.tres(
                limit,
                &asked,
                Per::Job,
                path("max_tres_per_job"),
                strict,
                "QOS",
            );
        }
        if let Some(limit) = &qos.max_tres_per_user {
            self.tres(
                limit,
                &asked,
                Per::User,
                path("max_tres_per_user"),
                strict,
                "QOS",
            );
        }
        let submit = [
            (
                "max_submit_per_user",
                &qos.max_submit_per_user,
                "QOSMaxSubmitJobPerUserLimit",
            ),
            ("group_submit", &qos.group_submit, "QOSGrpSubmitJobsLimit"),
        ];
        for (key, limit, reason) in submit {
            if let Some(limit) = limit {
                self.submit(limit, path(key), reason);
            }
        }
        if let Some(limit) = &qos.max_wall {
            let reason = "QOSMaxWallDurationPerJobLimit";
            let other = self
                .time_asked(partition)
                .and_then(|time| self.longer_qos(name, time, who));
            let other = other.map(|other| Change::Set(Key::Qos, other.to_owned()));
            let fate = fate(strict, reason);
            self.wall(partition, limit, path("max_wall"), fate, other);
        }
    }

    fn association_limits(&mut self, partition: Option<&Named<Partition>>, who: &Who<'_>) {
        let Some(account) = &who.account else { return };
        let own = who.user.and_then(|user| named(&user.associations, account));
        let wall = own.and_then(|own| {
            let limit = own.max_wall.as_ref()?;
            let path = LimitPath::Association {
                user: who.user?.name.clone(),
                account: account.clone(),
                key: "max_wall",
            };
            Some((path, limit))
        });
        let above = self
            .file
            .account_value(account, |account| account.max_wall.as_ref());
        let of_account = |key| LimitPath::Account(account.clone(), key);
        if let Some((path, limit)) = wall.or(above.map(|limit| (of_account("max_wall"), limit))) {
            let fate = Fate::Waits("AssocMaxWallDurationPerJobLimit");
            self.wall(partition, limit, path, fate, None);
        }
        let submit = own.and_then(|own| own.max_submit.as_ref());
        let above = self
            .file
            .account_value(account, |account| account.max_submit.as_ref());
        if let Some(limit) = submit.or(above) {
            self.submit(limit, of_account("max_submit"), "AssocMaxSubmitJobLimit");
        }
        let tres = own.and_then(|own| own.max_tres_per_job.as_ref());
        let above = self
            .file
            .account_value(account, |account| account.max_tres_per_job.as_ref());
        if let Some(limit) = tres.or(above) {
            let asked = self.counts(partition);
            let path = of_account("max_tres_per_job");
            let of_partition = partition.and_then(|partition| partition.qos.as_ref());
            let of_partition = of_partition.and_then(|qos| self.file.qos(qos));
            let mut qos = of_partition.into_iter().chain(who.qos.first().copied());
            let factor = qos.find_map(|qos| qos.limit_factor.as_ref());
            let factor = factor.map_or(1.0, |factor| factor.value);
            let limit = Sourced {
                value: limit.value.clone().times(factor),
                ..limit.clone()
            };
            self.tres(&limit, &asked, Per::Job, path, false, "Assoc");
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
    fn wall(
        &mut self,
        partition: Option<&Named<Partition>>,
        limit: &Sourced<TimeLimitRequest>,
        path: LimitPath,
        fate: Fate,
        or: Option<Change>,
    ) {
        let Some(time) = self.time_asked(partition) else {
            return;
        };
        if seconds(time) <= seconds(limit.value) {
            return;
        }
        let asked = match self.request.time {
            Some(time) => Requested::Option(Key::Time, time.to_string()),
            None => Requested::DefaultTime(time),
        };
        let detail = match (fate, &path) {
            (Fate::Refused, LimitPath::Qos(..)) => {
                Some(Detail::Limit("QOSMaxWallDurationPerJobLimit"))
            }
            _ => None,
        };
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
            .most(seconds(limit.value))
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

    fn tres(
        &mut self,
        limit: &Sourced<Tres>,
        asked: &Counts,
        per: Per,
        path: LimitPath,
        strict: bool,
        who: &str,
    ) {
        for (name, most) in &limit.value.0 {
            let Some(wanted) = asked.of(name).filter(|wanted| wanted > most) else {
                continue;
            };
            let reason = reason_of(who, name, per);
            self.found.push(Finding {
                fate: fate(strict, reason),
                detail: strict.then_some(Detail::Limit(reason)),
                ..finding(
                    Denial::Policy,
                    Requested::Tres(name.clone(), wanted),
                    There::MostTres(name.clone(), *most),
                    vec![Change::InAll(name.clone(), *most)],
                )
                .about(Subject::of_tres(name))
                .at(path.clone(), limit)
            });
        }
    }
}

/// What a job counts for, by Slurm's names.
struct Counts {
    recorded: Recorded,
    /// CPUs that it needs, which those of its GPUs may make more than are recorded.
    cpus: u64,
    /// Memory where it was asked for and is a number.
    mem_mib: Option<u64>,
}

impl Counts {
    fn of(&self, name: &str) -> Option<u64> {
        match name {
            "cpu" => Some(self.cpus.max(self.recorded.cpus.into())),
            "node" => Some(self.recorded.least_nodes.into()),
            "mem" => self.mem_mib,
            "gres/gpu" => Some(self.recorded.gpu_count()),
            name => {
                let kind = name.strip_prefix("gres/gpu:")?;
                let gpus = self.recorded.gpus.iter();
                let of_kind = gpus.filter(|gpus| gpus.kind.as_deref() == Some(kind));
                let counts = of_kind.map(|gpus| u64::from(gpus.count));
                counts.reduce(u64::saturating_add)
            }
        }
    }
}

/// A strict QOS refuses; others let a job wait.
fn fate(strict: bool, reason: &'static str) -> Fate {
    if strict {
        Fate::Refused
    } else {
        Fate::Waits(reason)
    }
}

/// What a limit is counted over.
#[derive(Clone, Copy, PartialEq)]
enum Per {
    Job,
    User,
}

/// Slurm's word for a limit that a job meets, from `job_reason_string` of 22.05.
fn reason_of(who: &str, tres: &str, per: Per) -> &'static str {
    match (who, tres, per) {
        ("QOS", "cpu", Per::Job) => "QOSMaxCpuPerJobLimit",
        ("QOS", "node", Per::Job) => "QOSMaxNodePerJobLimit",
        ("QOS", "mem", Per::Job) => "QOSMaxMemoryPerJob",
        ("QOS", _, Per::Job) => "QOSMaxGRESPerJob",
        ("QOS", "cpu", Per::User) => "QOSMaxCpuPerUserLimit",
        ("QOS", "node", Per::User) => "QOSMaxNodePerUserLimit",
        ("QOS", "mem", Per::User) => "QOSMaxMemoryPerUser",
        ("QOS", _, Per::User) => "QOSMaxGRESPerUser",
        (_, "cpu", _) => "AssocMaxCpuPerJobLimit",
        (_, "node", _) => "AssocMaxNodePerJobLimit",
        (_, "mem", _) => "AssocMaxMemPerJob",
        _ => "AssocMaxGRESPerJob",
    }
}
