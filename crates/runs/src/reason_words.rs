//! Slurm's words for why a job waits, said so that one who never read them understands.

/// Why a job waits: in words where they are known, and Slurm's own.
#[must_use]
pub fn say_reason(reason: &str) -> String {
    match reason_words(reason) {
        Some(words) => format!("{words} ({reason})"),
        None => reason.to_owned(),
    }
}

/// What a reason of `squeue` means; `None` for one that this version doesn't know.
///
/// Source: Slurm's `squeue(1)`, JOB REASON CODES, and `job_state_reason_string` in its
/// `slurm_protocol_defs.c`.
fn reason_words(reason: &str) -> Option<&'static str> {
    let words = match reason {
        "None" => "not scheduled yet",
        "Resources" => "waiting for free CPUs, memory or GPUs",
        "Priority" => "jobs of higher priority go first",
        "Dependency" => "waiting for another job to end",
        "DependencyNeverSatisfied" => "the job that it depends on did not end as required",
        "BeginTime" => "its begin time is not reached, or it was requeued a moment ago",
        "JobHeldUser" => "held; scontrol release starts it",
        "JobHeldAdmin" => "held by an administrator",
        "JobArrayTaskLimit" => "its array runs as many elements as its limit allows",
        "PartitionDown" => "its partition starts no jobs now",
        "PartitionInactive" => "its partition takes no jobs now",
        "PartitionNodeLimit" => "its partition doesn't allow so many nodes",
        "PartitionTimeLimit" => "its partition doesn't allow so long a time",
        "PartitionConfig" => "its partition has no such nodes",
        "ReqNodeNotAvail" => "a node that it names is down or reserved",
        "Reservation" => "its reservation has not begun",
        "ReservationDeleted" => "its reservation is gone",
        "Licenses" => "no licence is free",
        "NodeDown" => "a node that it needs is down",
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
        "launch failed requeued held" => {
            "it could not be started and is held: scontrol release tries again"
        }
        _ => return None,
    };
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{JobState, PendingReason, reason_text};

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
        ];
        for reason in all {
            let text = reason_text(&JobState::Pending { reason });
            assert!(reason_words(&text).is_some(), "{text}");
        }
    }
}
