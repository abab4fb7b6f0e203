//! Slurm's words for why a job waits, said so that one who never read them understands.

use model::JobId;

/// Why a job waits: in words where they are known, and Slurm's own.
#[must_use]
pub fn say_reason(reason: &str) -> String {
    match reason_words(reason) {
        Some(words) => format!("{words} ({reason})"),
        // Of a node's reason it may be somebody's own words.
        None => model::one_line(reason).into_owned(),
    }
}

/// As [`say_reason`], to stand after the word "waits".
#[must_use]
pub fn say_wait(reason: &str) -> String {
    let words = say_reason(reason);
    match words.strip_prefix("waiting ") {
        Some(rest) => rest.to_owned(),
        None => words,
    }
}

/// What a person has to do about a job that waits for a person, for ever; `None` for reasons that
/// pass by themselves.
#[must_use]
pub fn hold_remedy(reason: &str, job: JobId) -> Option<String> {
    // Slurm writes some with blanks, and since 23.11 with underscores.
    match reason.replace('_', " ").as_str() {
        "JobHeldUser"
        | "ReservationDeleted"
        | "launch failed requeued held"
        | "job requeued in held state" => Some(format!("scontrol release {job} lets it start")),
        // A controller that was killed over a launch leaves it so, too.
        "JobHeldAdmin" => Some(format!(
            "scontrol release {job} lets it start, or ask the site why it is held"
        )),
        _ => None,
    }
}

/// What a reason of `squeue` means; `None` for one that this version doesn't know.
///
/// Source: Slurm's `squeue(1)`, JOB REASON CODES, and `job_state_reason_string` in its
/// `slurm_protocol_defs.c`.
fn reason_words(reason: &str) -> Option<&'static str> {
    if reason.starts_with("ReqNodeNotAvail, UnavailableNodes:") {
        return Some("nodes that it needs are down or drained");
    }
    let words = match reason {
        "None" => "not scheduled yet",
        "Resources" => "waiting for free CPUs, memory or GPUs",
        "Priority" => "jobs of higher priority go first",
        "Dependency" => "waiting for another job to end",
        "DependencyNeverSatisfied" => "the job that it depends on did not end as required",
        "BeginTime" => "its begin time is not reached, or it was requeued a moment ago",
        "JobHeldUser" => "held; scontrol release starts it",
        "JobHeldAdmin" => "held by an administrator, or after a launch that failed",
        "JobArrayTaskLimit" => "its array runs as many elements as its limit allows",
        "PartitionDown" => "its partition starts no jobs now",
        "PartitionInactive" => "its partition takes no jobs now",
        "PartitionNodeLimit" => "its partition doesn't allow so many nodes",
        "PartitionTimeLimit" => "its partition doesn't allow so long a time",
        "PartitionConfig" => "its partition is too small for it, or is not for its user",
        "ReqNodeNotAvail" => "a node that it names is down or reserved",
        "Reservation" => "its reservation has not begun, or is over",
        "ReservationDeleted" => "its reservation ended before it could start, and it is held",
        "ReqNodeNotAvail, Reserved for maintenance" => {
            "nodes that it needs are reserved for maintenance before it would end"
        }
        "ReqNodeNotAvail, May be reserved for other job" => {
            "nodes that it names are reserved for others before it would end"
        }
        "Licenses" => "no licence is free",
        "NodeDown" => "a node that it needs is down",
        "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions" => {
            "nodes that it needs are down, drained or reserved"
        }
        "BadConstraints" => "no node has all that it requests",
        "AccountNotAllowed" => "its account may not use the partition",
        "QOSNotAllowed" => "its QOS may not be used there",
        "InvalidAccount" => "its account is not known",
        "InvalidQOS" => "its QOS is not known",
        "Cleaning" => "its last start is still being cleaned up",
        "Prolog" => "the nodes are being prepared",
        "DeadLine" => "it can no longer end in time",
        "QOSMaxJobsPerUserLimit" => "you run as many jobs as its QOS allows a user",
        "QOSMaxSubmitJobPerUserLimit" => "you have as many jobs as its QOS allows a user",
        "QOSMaxWallDurationPerJobLimit" => "its QOS doesn't allow so long a time",
        "QOSMaxNodePerUserLimit" => "you have as many nodes as its QOS allows a user",
        "QOSMaxCpuPerUserLimit" => "you have as many CPUs as its QOS allows a user",
        "QOSMaxGRESPerUser" => "you have as many GPUs as its QOS allows a user",
        "QOSMaxGRESPerJob" => "its QOS doesn't allow a job so many GPUs",
        "QOSMaxCpuPerJobLimit" => "its QOS doesn't allow a job so many CPUs",
        "QOSMaxNodePerJobLimit" => "its QOS doesn't allow a job so many nodes",
        "QOSGrpNodeLimit" | "QOSGrpCpuLimit" | "QOSGrpGRES" | "QOSGrpMemLimit"
        | "QOSGrpJobsLimit" => "all jobs of its QOS together have as much as is allowed",
        "AssocGrpNodeLimit" | "AssocGrpCpuLimit" | "AssocGrpGRES" | "AssocGrpMemLimit"
        | "AssocGrpJobsLimit" => "all jobs of your account together have as much as is allowed",
        "AssocGrpCPUMinutesLimit"
        | "AssocGrpCPURunMinutesLimit"
        | "AssocGrpGRESMinutes"
        | "AssocGrpGRESRunMinutes" => "your account's time is used up",
        "AssocMaxJobsLimit" | "AssociationJobLimit" => {
            "you run as many jobs as your account allows"
        }
        "AssocMaxWallDurationPerJobLimit" | "AssociationTimeLimit" => {
            "your account doesn't allow so long a time"
        }
        "launch failed requeued held" | "launch_failed_requeued_held" => {
            "it could not be started and is held: scontrol release tries again"
        }
        "job requeued in held state" | "job_requeued_in_held_state" => "it was requeued and held",
        _ => return None,
    };
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{JobState, PendingReason, reason_text};

    #[test]
    fn a_hold_says_what_lets_the_job_start() {
        let check = |reason: &str, words: &str| {
            let remedy = hold_remedy(reason, JobId(7)).unwrap_or_default();
            assert!(remedy.starts_with(words), "{reason}: {remedy}");
            assert_eq!(remedy.is_empty(), words.is_empty(), "{reason}: {remedy}");
        };
        check("JobHeldUser", "scontrol release 7");
        check("JobHeldAdmin", "scontrol release 7 lets it start, or ask");
        check("launch failed requeued held", "scontrol release 7");
        check("launch_failed_requeued_held", "scontrol release 7");
        check("Resources", "");
        check("None", "");
    }

    #[test]
    fn every_reason_of_ours_has_words() {
        let all = [
            PendingReason::None,
            PendingReason::Resources,
            PendingReason::Priority,
            PendingReason::JobHeldUser,
            PendingReason::BeginTime,
            PendingReason::Dependency,
            PendingReason::DependencyNeverSatisfied,
            PendingReason::JobArrayTaskLimit,
            PendingReason::LaunchFailedRequeuedHeld,
            PendingReason::PartitionDown,
            PendingReason::PartitionInactive,
            PendingReason::PartitionConfig,
            PendingReason::PartitionNodeLimit,
            PendingReason::PartitionTimeLimit,
            PendingReason::Reservation,
            PendingReason::ReservationDeleted,
            PendingReason::ReservedForMaintenance,
            PendingReason::ReservedForOthers,
        ];
        for reason in all {
            let text = reason_text(&JobState::Pending { reason });
            assert!(reason_words(&text).is_some(), "{text}");
        }
    }
}
