//! Options that change nothing about a job here, and that `scontrol show job` and `squeue` repeat.

use crate::values::{Seconds, TimeLimitRequest, Timestamp};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// What a job asked for that no rule of the embedded engine reads. It is kept so that what is shown is
/// what was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShownOptions {
    /// `--time-min`, where yard 0.1.0 kept it.
    #[serde(rename = "time_min", skip_serializing)]
    pub(super) former_time_min: Option<TimeLimitRequest>,
    /// `--deadline`, likewise.
    #[serde(rename = "deadline", skip_serializing)]
    pub(super) former_deadline: Option<Timestamp>,
    /// `--network`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// `--cluster-constraint`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_features: Option<String>,
    /// `--delay-boot`, whole minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_boot: Option<Seconds>,
    /// `--mcs-label`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcs_label: Option<String>,
    /// `--power=level`
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub levels_power: bool,
    /// `--batch`: features that the first node must have, which are some of the job's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_features: Option<String>,
    /// `--gres-flags=disable-binding`
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disables_binding: bool,
    /// What an operator noted, with `scontrol update`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin_comment: Option<String>,
    /// `--wckey`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wckey: Option<String>,
    /// `--kill-on-invalid-dep`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kills_on_invalid_dependency: Option<bool>,
    /// `--cpu-freq` in Slurm's own words: `Low-High:OnDemand`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_frequency: Option<String>,
    /// The command that submitted it, as typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submit_line: Option<String>,
    /// The session of the process that submitted it; 0 is not known.
    #[serde(skip_serializing_if = "is_none")]
    pub session: u32,
}

impl ShownOptions {
    /// Those of a job that asked for none.
    #[must_use]
    pub fn none() -> &'static ShownOptions {
        static NONE: LazyLock<ShownOptions> = LazyLock::new(ShownOptions::default);
        &NONE
    }
}

fn is_none(number: &u32) -> bool {
    *number == 0
}
