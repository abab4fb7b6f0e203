//! What the priorities of waiting jobs are made of, and what users and accounts are due.

use crate::values::JobId;
use serde::{Deserialize, Serialize};

/// Priorities of the jobs that wait for their turn, with the weights that made them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PriorityReport {
    /// Weights count; without them the order is that of submission.
    pub is_multifactor: bool,
    /// The cluster's weights.
    pub weights: PriorityParts,
    /// By id; those in several partitions, for each.
    pub jobs: Vec<JobPriorityInfo>,
}

/// A number for each part of a priority: its weight, or what it adds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PriorityParts {
    /// Age.
    pub age: f64,
    /// Association.
    pub association: f64,
    /// Fair share.
    pub fair_share: f64,
    /// Size of the job.
    pub job_size: f64,
    /// Partition.
    pub partition: f64,
    /// QOS.
    pub qos: f64,
    /// TRES by name.
    pub tres: Vec<(String, f64)>,
}

/// A waiting job's priority in one of its partitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobPriorityInfo {
    /// Which.
    pub job: JobId,
    /// Whose.
    pub user: String,
    /// The same as a number.
    pub uid: u32,
    /// Its account.
    pub account: String,
    /// The partition.
    pub partition: String,
    /// What it comes to.
    pub priority: u32,
    /// `--nice`, which is taken off.
    pub nice: i64,
    /// `SiteFactor`
    #[serde(default)]
    pub site: i64,
    /// What each part adds; all 0 where it was set by hand.
    pub parts: PriorityParts,
}

/// How an account, or a user in one, stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShareRow {
    /// The account.
    pub account: String,
    /// The user; none for the account itself.
    pub user: Option<String>,
    /// Of a user the partition, where the association is for one alone.
    #[serde(default)]
    pub partition: Option<String>,
    /// How many accounts are above it.
    pub depth: usize,
    /// Its shares as they are set: a number, or `parent`.
    pub shares: String,
    /// Its shares beside those of its siblings.
    pub norm_shares: f64,
    /// Billed amounts times seconds, less what was forgotten.
    pub usage: f64,
    /// Its usage beside all.
    pub norm_usage: f64,
    /// Its usage beside that of its siblings.
    pub effective_usage: f64,
    /// Of a user: from 1, the best, to 1 / users.
    pub fair_share: Option<f64>,
    /// What it is due by what it used; none is infinite.
    pub level: Option<f64>,
    /// The number of its association; 0 is not known.
    #[serde(default)]
    pub id: u32,
    /// `GrpTRESMins`
    pub group_minutes: String,
    /// What running jobs may still use, by TRES: amounts times minutes.
    pub run_minutes: Vec<(String, u64)>,
}
