//! Why a job is not changed.

use resources::Denial;

/// Why a job is not changed, in the words of Slurm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeDenial {
    /// It is over.
    #[error("Job has already finished")]
    Finished,
    /// There is no such partition.
    #[error("Invalid partition name specified")]
    Partition,
    /// It takes no jobs of the user.
    #[error("Requested partition configuration not available now")]
    PartitionClosed,
    /// There is no such QOS, or it is not for the user.
    #[error("Invalid qos specification")]
    Qos,
    /// There is no such account, or it is not for the user.
    #[error("Invalid account or account/partition combination specified")]
    Account,
    /// The user does not count as one in all of its partitions.
    #[error("{}", Denial::SeveralAssociations.words())]
    SeveralAssociations,
    /// No job is on so many nodes.
    #[error("Node count specification invalid")]
    NodeCount,
    /// No node has such a feature.
    #[error("Invalid feature specification")]
    Feature,
    /// There is no such node.
    #[error("Invalid node name specified")]
    NodeName,
    /// A held job has no priority.
    #[error("Job is in held state, pending scheduler release")]
    Held,
    /// An operator may.
    #[error("Access/permission denied")]
    Permission,
    /// It can not be changed while the job runs.
    #[error("Requested operation not supported on this system")]
    NotSupported,
    /// It is changed before the job starts alone.
    #[error("Job is no longer pending execution")]
    NotPending,
    /// Nothing would be left.
    #[error("Requested time limit is invalid (missing or exceeds some limit)")]
    TimeLimit,
    /// It could not end before its deadline, or its limit is shorter.
    #[error("Invalid time-min specification (exceeds job's time or other limits)")]
    TimeMin,
    /// It has passed.
    #[error("Invalid time specified")]
    Passed,
    /// It is for others, or there is none.
    #[error("{}", .0.words())]
    Reservation(Denial),
    /// It is no list of resources that nodes count.
    #[error("Invalid generic resource (gres) specification")]
    Gres,
    /// No node has them of that type.
    #[error("Invalid GRES specification (with and without type identification)")]
    GresType,
    /// There are no such licences, or fewer.
    #[error("Invalid license specification")]
    Licence,
    /// Nothing is known yet of its end.
    #[error("Job is not running")]
    NotRunning,
    /// More than the most that was asked for.
    #[error("CPU count specification invalid")]
    CpuCount,
    /// No job has no tasks.
    #[error("Task count specification invalid")]
    TaskCount,
    /// It is no dependency.
    #[error("Job dependency problem")]
    Dependency,
    /// There are fewer CPUs, of a node or in all.
    #[error("Requested partition configuration not available now")]
    TooManyCpus,
    /// No node has such a feature.
    #[error("Invalid preferred feature specification")]
    PreferredFeature,
    /// They are asked for at the submission alone.
    #[error("Invalid Trackable RESource (TRES) specification")]
    Tres,
    /// There is no other cluster: in these words Slurm says it.
    #[error("Unspecified error")]
    OtherClusters,
}
