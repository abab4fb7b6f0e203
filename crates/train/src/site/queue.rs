//! How many jobs stand in the queue at once, and how many may.

use super::{LeftToSlurm, Objection};
use crate::{Plan, ResumeBy};
use cluster_file::{ClusterFile, Sourced};
use model::Request;
use resources::LimitPath;
use serde::{Deserialize, Serialize};

/// Jobs of one run or script in the queue at once, against what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InQueue {
    /// How many: links of a chain that wait beside the running one, tasks of an array.
    pub jobs: u32,
    /// In words; empty where there is nothing to say of it.
    pub why: String,
    /// The least limit and its key in the cluster file.
    pub limit: Option<(u32, String)>,
    /// Whether they are tasks of an array.
    pub is_array: bool,
}

impl InQueue {
    /// Whether more are needed than are allowed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.limit
            .as_ref()
            .is_some_and(|(limit, _)| self.jobs > *limit)
    }

    /// What to say where more are needed than are allowed, and no refusal says it.
    pub(super) fn note(&self, refusals: &[Objection]) -> Option<String> {
        let (limit, key) = self.limit.as_ref()?;
        let is_said = refusals
            .iter()
            .any(|refusal| refusal.at.as_ref() == Some(key));
        let what = if self.is_array {
            "the array is refused"
        } else {
            "the last is refused"
        };
        (self.is_over() && !is_said).then(|| {
            let jobs = self.jobs;
            format!("{jobs} jobs stand in the queue at once, and {limit} may ({key}): {what}")
        })
    }

    pub(super) fn of_run(
        plan: &Plan,
        file: &ClusterFile,
        user: Option<&str>,
        left: &LeftToSlurm,
    ) -> InQueue {
        let qos = plan.qos.as_ref().or(left.qos.as_ref());
        let account = plan.account.as_ref().or(left.account.as_ref());
        let (jobs, why) = match (plan.resume.on.value.is_empty(), plan.resume.by.value) {
            (true, _) => (1, "it never comes back"),
            (false, ResumeBy::Requeue) => (1, "the same job is requeued"),
            (false, ResumeBy::Successor) => (2, "the next one waits while one runs"),
        };
        let named = super::request(plan).partition;
        InQueue {
            jobs,
            why: why.to_owned(),
            limit: limit(
                file,
                user,
                account.map(|account| account.value.as_str()),
                qos.map(|qos| qos.value.as_str()),
                file.first_partition(named.as_deref()),
            ),
            is_array: false,
        }
    }

    pub(super) fn of_script(
        request: &Request,
        file: &ClusterFile,
        user: Option<&str>,
        account: Option<&str>,
        qos: Option<&str>,
    ) -> InQueue {
        let tasks = request.rare.array.as_ref().map(|array| array.indices.len());
        let jobs = u32::try_from(tasks.unwrap_or(1)).unwrap_or(u32::MAX);
        let throttle = request.rare.array.as_ref().and_then(|array| array.throttle);
        let why = match (tasks, throttle) {
            (None, _) => String::new(),
            (Some(_), None) => "each task of the array is one".to_owned(),
            (Some(_), Some(most)) => format!("each task of the array is one; {most} run at once"),
        };
        InQueue {
            jobs,
            why,
            limit: limit(
                file,
                user,
                account,
                qos,
                file.first_partition(request.partition.as_deref()),
            ),
            is_array: tasks.is_some(),
        }
    }
}

/// The least of what a QOS, an account and the cluster allow one user.
fn limit(
    file: &ClusterFile,
    user: Option<&str>,
    account: Option<&str>,
    qos: Option<&str>,
    partition: Option<&str>,
) -> Option<(u32, String)> {
    let mut limits: Vec<(u32, LimitPath)> = Vec::new();
    let mut add = |path: LimitPath, value: Option<&Sourced<u32>>| {
        limits.extend(value.map(|value| (value.value, path)));
    };
    if let Some(qos) = qos.and_then(|qos| file.qos(qos)) {
        let path = |key| LimitPath::Qos(qos.name.clone(), key);
        add(
            path("max_submit_per_user"),
            qos.max_submit_per_user.as_ref(),
        );
        add(
            path("max_submit_per_account"),
            qos.max_submit_per_account.as_ref(),
        );
        add(path("group_submit"), qos.group_submit.as_ref());
    }
    let own = file.user(user.unwrap_or("*"));
    if let (Some(own), Some(account)) = (own, account)
        && let Some(association) = own.association(account, partition)
    {
        let path = LimitPath::Association {
            user: own.name.clone(),
            account: account.to_owned(),
            key: "max_submit",
        };
        add(path, association.max_submit.as_ref());
    }
    if let Some(account) = file.accounts.iter().find(|of| account == Some(&of.name)) {
        let path = LimitPath::Account(account.name.clone(), "max_submit");
        add(path, account.max_submit.as_ref());
    }
    let of_all = file.limits.max_submit_per_user.as_ref();
    add(LimitPath::Cluster("max_submit_per_user"), of_all);
    let least = limits.into_iter().min_by_key(|(limit, _)| *limit);
    least.map(|(limit, path)| (limit, path.to_string()))
}
