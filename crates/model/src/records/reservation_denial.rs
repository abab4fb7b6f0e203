//! Why there is no such reservation, in Slurm's words.

use serde::{Deserialize, Serialize};

/// Why there is no such reservation (`slurm_errno.c` of 22.05).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum ReservationDenial {
    /// There is none of that name, or it would have nothing.
    #[error("Requested reservation is invalid")]
    Invalid,
    /// There is one of that name.
    #[error("Duplicate reservation name")]
    Duplicate,
    /// It begins in the past, or ends before it begins.
    #[error("Invalid time specified")]
    Time,
    /// It names no user, group or account.
    #[error("Reservation request lacks users, groups or accounts")]
    WithoutUsers,
    /// It names both.
    #[error("Reservations can't have users and groups specified, only one or the other")]
    UsersAndGroups,
    /// No such user.
    #[error("Invalid user id")]
    User,
    /// No such group.
    #[error("Invalid group id")]
    Group,
    /// No such account.
    #[error("Invalid account or account/partition combination specified")]
    Account,
    /// No such partition.
    #[error("Invalid partition name specified")]
    Partition,
    /// No partition is named, and there is no default one.
    #[error("No partition specified or system default partition")]
    NoDefaultPartition,
    /// No such node.
    #[error("Invalid node name specified")]
    NodeName,
    /// No node has the features, or they are alternatives.
    #[error("Invalid feature specification")]
    Feature,
    /// There are no such licences, or not so many.
    #[error("Invalid license specification")]
    Licences,
    /// Jobs run there at that time.
    #[error("Requested nodes are busy")]
    Busy,
    /// It overlaps another one.
    #[error("Requested reservation overlaps with another reservation")]
    Overlap,
    /// There are not so many nodes.
    #[error("Requested node configuration is not available")]
    TooMany,
    /// Fewer numbers of cores than nodes.
    #[error("Core count for reservation node list is not consistent!")]
    CoreCount,
    /// Cores together with flags that replace nodes.
    #[error("CPU count specification invalid")]
    CpuCount,
    /// What has parts of nodes keeps them.
    #[error("Core-based reservation can not be updated")]
    OfCores,
    /// Flags that do not go together, or a change that can't be made.
    #[error("Requested operation not supported on this system")]
    NotSupported,
    /// It does not come again.
    #[error("Reservation given is not skipable, try deleting instead")]
    NoSkip,
    /// Jobs are in it.
    #[error("Requested reservation is in use")]
    InUse,
    /// It began already.
    #[error("Reservation already started")]
    Begun,
}
