//! A limit of a QOS, an account or a user that keeps a job from starting, with its numbers.

use crate::values::{Seconds, TimeLimitRequest, mebibytes_text};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A limit that a job would pass if it started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachedLimit {
    /// Who sets it, and whose jobs count together.
    pub scope: LimitScope,
    /// What it is on.
    pub on: LimitedAmount,
    /// What there would be with the job, or what the job alone would have.
    pub with_it: u64,
    /// The most that may be.
    pub most: u64,
}

/// Whose jobs count together under a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitScope {
    /// All jobs of a QOS.
    Qos(String),
    /// A user's jobs of a QOS.
    UserOfQos(String),
    /// An account's jobs of a QOS.
    AccountOfQos(String),
    /// Each job of a QOS for itself.
    JobOfQos(String),
    /// All jobs of an account and of those below it.
    Account(String),
    /// A user's jobs in an account.
    UserOfAccount {
        /// The account.
        account: String,
        /// The partition, where the user has an association for it alone.
        partition: Option<String>,
    },
    /// Each job in an account for itself.
    JobOfAccount(String),
    /// A user's jobs in the cluster.
    User,
}

/// What a limit is on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitedAmount {
    /// Running jobs.
    Jobs,
    /// A job's time limit, in seconds.
    Time,
    /// A TRES, by its name; memory in MiB.
    Tres(String),
    /// A TRES on each node.
    TresOfNode(String),
    /// A TRES of which a job must have so much at least.
    LeastTres(String),
    /// A TRES times minutes that are still to come until the time limit.
    TresMinutes(String),
}

impl ReachedLimit {
    /// Whether other jobs count under it, so that the end of one helps.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        !matches!(
            self.scope,
            LimitScope::JobOfQos(_) | LimitScope::JobOfAccount(_)
        )
    }
}

impl fmt::Display for ReachedLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (most, with_it) = (self.on.amount(self.most), self.on.amount(self.with_it));
        let what = self.on.name(self.most);
        let whose = match &self.scope {
            LimitScope::Qos(qos) => format!("all jobs of QOS {qos} together may have"),
            LimitScope::UserOfQos(qos) => format!("QOS {qos} allows a user"),
            LimitScope::AccountOfQos(qos) => format!("QOS {qos} allows an account"),
            LimitScope::JobOfQos(qos) => format!("QOS {qos} allows a job"),
            LimitScope::Account(account) => {
                format!("all jobs of account {account} together may have")
            }
            LimitScope::UserOfAccount { account, partition } => {
                let place = partition.iter().map(|name| format!(" in partition {name}"));
                format!(
                    "account {account} allows this user{}",
                    place.collect::<String>()
                )
            }
            LimitScope::JobOfAccount(account) => format!("account {account} allows a job"),
            LimitScope::User => "the cluster allows a user".to_owned(),
        };
        let then = if self.is_shared() {
            format!("with this job it would be {with_it}")
        } else {
            format!("this job requests {with_it}")
        };
        write!(f, "{whose} {most}{what}; {then}")
    }
}

impl LimitedAmount {
    fn amount(&self, amount: u64) -> String {
        match self {
            LimitedAmount::Time => TimeLimitRequest::Limit(Seconds(amount)).to_string(),
            LimitedAmount::Tres(name)
            | LimitedAmount::TresOfNode(name)
            | LimitedAmount::LeastTres(name)
                if name == "mem" =>
            {
                mebibytes_text(amount)
            }
            _ => amount.to_string(),
        }
    }

    /// What stands after the amount.
    fn name(&self, amount: u64) -> String {
        let s = if amount == 1 { "" } else { "s" };
        let tres = |name: &str| match name {
            "cpu" => format!("CPU{s}"),
            "mem" => "of memory".to_owned(),
            "node" => format!("node{s}"),
            "gres/gpu" => format!("GPU{s}"),
            other => format!("of {other}"),
        };
        match self {
            LimitedAmount::Jobs => format!(" running job{s}"),
            LimitedAmount::Time => String::new(),
            LimitedAmount::Tres(name) => format!(" {}", tres(name)),
            LimitedAmount::LeastTres(name) => format!(" {} or more", tres(name)),
            LimitedAmount::TresOfNode(name) => format!(" {} on a node", tres(name)),
            LimitedAmount::TresMinutes(name) => format!(" {name} minutes until the time limit"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_said_with_its_numbers() {
        use LimitScope as S;
        use LimitedAmount as A;
        let check = |scope: S, on: A, with_it: u64, most: u64, want: &str| {
            let limit = ReachedLimit {
                scope,
                on,
                with_it,
                most,
            };
            assert_eq!(limit.to_string(), want);
        };
        let (qos, lab) = (|| "test".to_owned(), || "lab".to_owned());
        check(
            S::UserOfQos(qos()),
            A::Jobs,
            2,
            1,
            "QOS test allows a user 1 running job; with this job it would be 2",
        );
        check(
            S::Account(lab()),
            A::Tres("gres/gpu".to_owned()),
            6,
            4,
            "all jobs of account lab together may have 4 GPUs; with this job it would be 6",
        );
        check(
            S::UserOfAccount {
                account: lab(),
                partition: Some("gpu".to_owned()),
            },
            A::Jobs,
            3,
            2,
            "account lab allows this user in partition gpu 2 running jobs; with this job it would be 3",
        );
        check(
            S::JobOfQos(qos()),
            A::Time,
            36_000,
            14_400,
            "QOS test allows a job 04:00:00; this job requests 10:00:00",
        );
        check(
            S::JobOfQos(qos()),
            A::LeastTres("cpu".to_owned()),
            1,
            4,
            "QOS test allows a job 4 CPUs or more; this job requests 1",
        );
        check(
            S::JobOfAccount(lab()),
            A::TresOfNode("mem".to_owned()),
            4096,
            2048,
            "account lab allows a job 2G of memory on a node; this job requests 4G",
        );
        check(
            S::Qos(qos()),
            A::TresMinutes("cpu".to_owned()),
            90,
            60,
            "all jobs of QOS test together may have 60 cpu minutes until the time limit; with this job it would be 90",
        );
    }
}
