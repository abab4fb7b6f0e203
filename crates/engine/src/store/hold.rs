//! Why a job is held, as its row says it.

use model::{HeldBy, JobState, PendingReason};
use sched::Job;

/// Why a job is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    User,
    Admin,
    Requeued,
    SpecialExit,
    HeldSpecialExit,
    LaunchFailed,
    ReservationDeleted,
}

impl Hold {
    pub(super) const ALL: [Hold; 7] = [
        Hold::User,
        Hold::Admin,
        Hold::Requeued,
        Hold::SpecialExit,
        Hold::HeldSpecialExit,
        Hold::LaunchFailed,
        Hold::ReservationDeleted,
    ];

    /// As the column has it.
    pub(super) fn text(self) -> &'static str {
        match self {
            Hold::User => "user",
            Hold::Admin => "admin",
            Hold::Requeued => "requeued",
            Hold::SpecialExit => "special_exit",
            Hold::HeldSpecialExit => "held_special_exit",
            Hold::LaunchFailed => "launch_failed",
            Hold::ReservationDeleted => "reservation_deleted",
        }
    }

    pub(super) fn of(job: &Job) -> Option<Hold> {
        match &job.state {
            JobState::Pending { reason } if job.priority == 0 => Some(match reason {
                PendingReason::LaunchFailedRequeuedHeld => Hold::LaunchFailed,
                PendingReason::ReservationDeleted => Hold::ReservationDeleted,
                PendingReason::JobHeldAdmin => Hold::Admin,
                PendingReason::RequeuedHeld => Hold::Requeued,
                PendingReason::SpecialExit => Hold::SpecialExit,
                PendingReason::HeldSpecialExit => Hold::HeldSpecialExit,
                _ => Hold::User,
            }),
            JobState::Running {
                held: Some(held), ..
            } => Some(match held {
                HeldBy::User => Hold::User,
                HeldBy::Admin => Hold::Admin,
            }),
            _ if job.priority == 0 => Some(Hold::User),
            JobState::Pending { .. } | JobState::Running { .. } | JobState::Ended { .. } => None,
        }
    }

    /// Who holds a job that runs.
    pub(super) fn by(self) -> Option<HeldBy> {
        match self {
            Hold::User => Some(HeldBy::User),
            Hold::Admin => Some(HeldBy::Admin),
            Hold::Requeued
            | Hold::SpecialExit
            | Hold::HeldSpecialExit
            | Hold::LaunchFailed
            | Hold::ReservationDeleted => None,
        }
    }

    /// A reason that no pass would find.
    pub(super) fn reason(self) -> PendingReason {
        match self {
            Hold::User => PendingReason::None,
            Hold::Admin => PendingReason::JobHeldAdmin,
            Hold::Requeued => PendingReason::RequeuedHeld,
            Hold::SpecialExit => PendingReason::SpecialExit,
            Hold::HeldSpecialExit => PendingReason::HeldSpecialExit,
            Hold::LaunchFailed => PendingReason::LaunchFailedRequeuedHeld,
            Hold::ReservationDeleted => PendingReason::ReservationDeleted,
        }
    }
}
