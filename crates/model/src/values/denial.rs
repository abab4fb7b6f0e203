//! Why a cluster does not take a job, in Slurm's words.

use serde::{Deserialize, Serialize};

/// What Slurm's controller answers, as `slurm_errno.c` of 22.05 has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Denial {
    /// A node of `--nodelist` or `--exclude` that there isn't.
    NodeName,
    /// No such partition.
    Partition,
    /// No partition is named, and none is the default.
    NoPartition,
    /// The partition is for others.
    Access,
    /// The partition is for other groups.
    Group,
    /// The partition takes no jobs of root.
    User,
    /// A node of `--nodelist` is in another partition.
    NodesNotInPartition,
    /// More CPUs than the partition has.
    TooManyCpus,
    /// More memory of a node than the partition gives.
    TaskMemory,
    /// More by default than the partition gives.
    PartitionConfig,
    /// Too few or too many nodes.
    NodeCount,
    /// No node has what is asked.
    NodeConfig,
    /// The nodes that have what is asked are down or drained: a test alone says it, a job waits for them.
    NodesAway,
    /// No such account, or the user isn't in it.
    Account,
    /// No such QOS, or the user can't use it.
    Qos,
    /// The partition is not for this account (`AllowAccounts`).
    PartitionAccount,
    /// The partition is not for this QOS (`AllowQos`).
    PartitionQos,
    /// It names several partitions, for which its user does not count as one (`Partition=` of `sacctmgr`).
    SeveralAssociations,
    /// A limit of an account or of a QOS.
    Policy,
    /// The cluster has as many jobs as it takes.
    Full,
    /// The time is over the partition's limit.
    TimeLimit,
    /// The shortest time (`--time-min`) is over a limit.
    TimeMin,
    /// No node has the feature.
    Feature,
    /// The array is too large.
    Array,
    /// The partition takes no jobs.
    PartitionClosed,
    /// No such licence, or not so many.
    Licence,
    /// No such reservation.
    Reservation,
    /// The reservation is for others.
    ReservationAccess,
    /// None of these: what a cluster says besides tells more.
    Unspecified,
}

impl Denial {
    /// Slurm's words, which follow `Batch job submission failed: `.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Denial::NodeName => "Invalid node name specified",
            Denial::Partition => "Invalid partition name specified",
            Denial::NoPartition => "No partition specified or system default partition",
            Denial::Access => "Access/permission denied",
            Denial::User => "Invalid user id",
            Denial::Group => "User's group not permitted to use this partition",
            Denial::NodesNotInPartition => "Requested nodes not in this partition",
            Denial::TooManyCpus => "More processors requested than permitted",
            Denial::TaskMemory => "Memory required by task is not available",
            Denial::PartitionConfig => "Requested partition configuration not available now",
            Denial::NodeCount => "Node count specification invalid",
            Denial::NodeConfig | Denial::NodesAway => {
                "Requested node configuration is not available"
            }
            Denial::Account | Denial::PartitionAccount => {
                "Invalid account or account/partition combination specified"
            }
            Denial::Qos | Denial::PartitionQos => "Invalid qos specification",
            Denial::SeveralAssociations => {
                "Multiple partition job request not supported when a partition is set in the association"
            }
            Denial::Policy => {
                "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
            }
            Denial::Full => "Resource temporarily unavailable",
            Denial::TimeLimit => "Requested time limit is invalid (missing or exceeds some limit)",
            Denial::TimeMin => {
                "Invalid time-min specification (exceeds job's time or other limits)"
            }
            Denial::Feature => "Invalid feature specification",
            Denial::Array => "Invalid job array specification",
            Denial::Licence => "Invalid license specification",
            Denial::Reservation => "Requested reservation is invalid",
            Denial::ReservationAccess => "Access denied to requested reservation",
            Denial::PartitionClosed => "Required partition not available (inactive or drain)",
            Denial::Unspecified => "Unspecified error",
        }
    }

    /// What the answer of one of Slurm's commands says; [`Denial::Unspecified`] where it is none of
    /// those that are known.
    #[must_use]
    pub fn in_answer(text: &str) -> Denial {
        let said = Denial::ALL.iter().find(|one| text.contains(one.words()));
        said.copied().unwrap_or(Denial::Unspecified)
    }

    /// Each once; of two with the same words the more frequent one first.
    const ALL: &'static [Denial] = &[
        Denial::NodeName,
        Denial::Partition,
        Denial::NoPartition,
        Denial::ReservationAccess,
        Denial::Access,
        Denial::Group,
        Denial::User,
        Denial::NodesNotInPartition,
        Denial::TooManyCpus,
        Denial::TaskMemory,
        Denial::PartitionConfig,
        Denial::NodeCount,
        Denial::NodeConfig,
        Denial::Account,
        Denial::Qos,
        Denial::SeveralAssociations,
        Denial::Policy,
        Denial::Full,
        Denial::TimeLimit,
        Denial::TimeMin,
        Denial::Feature,
        Denial::Array,
        Denial::PartitionClosed,
        Denial::Licence,
        Denial::Reservation,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_slurm_is_recognised_by_its_words() {
        let check = |text: &str, want: Denial| assert_eq!(Denial::in_answer(text), want, "{text}");
        for one in Denial::ALL {
            let text = format!(
                "sbatch: error: Batch job submission failed: {}\n",
                one.words()
            );
            check(&text, *one);
        }
        check(
            "sbatch: error: invalid partition specified: x\nallocation failure: Invalid partition name specified",
            Denial::Partition,
        );
        check(
            "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received",
            Denial::Unspecified,
        );
        check("", Denial::Unspecified);
    }
}
