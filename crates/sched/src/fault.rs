//! Faults that tests put into the scheduler, to see that a property notices each of them. Outside of
//! tests there are none.

/// What is done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// What a job held is not given back.
    GivesNothingBack,
    /// What a job held is given back twice.
    GivesBackTwice,
    /// A suspended job's GPUs and memory are free.
    SuspensionFreesGpus,
    /// A job stays in its queues when it starts.
    StaysQueued,
    /// Drained nodes are given to jobs.
    DrainIgnored,
    /// Jobs that want whole nodes share them.
    WholeIgnored,
    /// Jobs that want no other user's jobs on their nodes share them.
    UserIgnored,
    /// A limit is passed by one.
    PassesLimitByOne,
    /// Of the accounts the lowest alone is asked.
    OneLevelOnly,
    /// An array counts as one job.
    ArrayCountsOne,
    /// What ran still counts under limits.
    StaysCounted,
    /// Of jobs that were submitted at one moment, or that keep their places, the later id goes first.
    LaterIdFirst,
    /// Tiers of partitions do not count.
    TierIgnored,
    /// Nodes of a blocked partition are given to others.
    NodesNotWithdrawn,
    /// What is free now is given away though it is promised.
    PromiseIgnored,
    /// What a job behind others was given is promised to others too.
    SpentTwice,
    /// A job behind others is taken to be short.
    LimitIgnored,
    /// A place that was not found for a long job is not looked for for a short one.
    StaleMemo,
    /// A short job is promised nothing before a longer one.
    BoundTooHigh,
    /// What was said of nodes is forgotten at a restart.
    MarksForgotten,
    /// A restart splits the same element off again.
    SplitKeepsIndex,
    /// More jobs lose their places than have to.
    NoneSpared,
    /// The most worthy lose their places first.
    WrongVictims,
    /// Starts that were planned before are still said.
    StalePlan,
    /// A job that waits is said to start now.
    PlannedNow,
    /// A smaller request is offered that does not start.
    OffersTooMuch,
    /// One that is stopped for another does not go on.
    StoppedForGood,
    /// One that lost its place and is to be queued again ends.
    NotQueuedAgain,
    /// Every job could run.
    ClassIgnored,
    /// A half-life of zero is divided by.
    HalfLifeDividedBy,
    /// Usage is not forgotten where some is added.
    AddsUndecayed,
    /// Reserved nodes are given to all.
    ReservationIgnored,
    /// GPUs of any type are given for those of one.
    TypeIgnored,
    /// A socket's CPUs stay free that a job has.
    SocketsNotTaken,
    /// One more job than may has each CPU that jobs share.
    SharedByOneMore,
    /// What comes between two cycles goes before equal jobs that were not tried.
    OvertakesBetweenCycles,
}

#[cfg(test)]
pub(crate) use present::{forgets, is, with, without_memory};

/// Whether it is there.
#[cfg(not(test))]
pub(crate) const fn is(_fault: Fault) -> bool {
    false
}

/// Whether nothing is remembered that was looked for in vain.
#[cfg(not(test))]
pub(crate) const fn forgets() -> bool {
    false
}

#[cfg(test)]
mod present {
    use super::Fault;
    use std::cell::Cell;

    thread_local! {
        static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
        static FORGETS: Cell<bool> = const { Cell::new(false) };
    }

    pub(crate) fn is(fault: Fault) -> bool {
        FAULT.get() == Some(fault)
    }

    pub(crate) fn forgets() -> bool {
        FORGETS.get()
    }

    /// Does something with a fault in the scheduler.
    pub(crate) fn with<T>(fault: Fault, run: impl FnOnce() -> T) -> T {
        FAULT.set(Some(fault));
        let done = run();
        FAULT.set(None);
        done
    }

    /// Does something with a scheduler that remembers nothing of what it looked for in vain.
    pub(crate) fn without_memory<T>(run: impl FnOnce() -> T) -> T {
        FORGETS.set(true);
        let done = run();
        FORGETS.set(false);
        done
    }
}
