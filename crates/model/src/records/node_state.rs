//! The state of a node of the embedded engine's cluster, under Slurm's names.

use crate::values::Timestamp;
use serde::{Deserialize, Serialize};

/// How much of a node jobs hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeUse {
    /// No job is on it.
    #[default]
    Idle,
    /// Jobs hold some of its CPUs.
    Mixed,
    /// Jobs hold all of its CPUs.
    Allocated,
}

/// The state of a node: how much of it jobs hold, and what keeps others from coming.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeState {
    /// How much of it jobs hold.
    pub usage: NodeUse,
    /// It failed: nothing runs there.
    pub is_down: bool,
    /// Jobs that run there go on, no other starts.
    pub is_drained: bool,
    /// It is about to fail: jobs that run there go on, no other starts.
    pub is_failing: bool,
    /// A reservation has it now.
    pub is_reserved: bool,
    /// That reservation is for maintenance.
    pub is_maintained: bool,
    /// No job is on it, and it is kept for one that waits.
    pub is_planned: bool,
}

/// What a person, or a failure, said of a node; it holds until something else is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeMark {
    /// It failed: nothing runs there.
    pub is_down: bool,
    /// Jobs that run there go on, no other starts.
    pub is_drained: bool,
    /// It is about to fail: jobs that run there go on, no other starts.
    pub is_failing: bool,
    /// Why.
    pub reason: String,
    /// Who said it.
    pub user: String,
    /// When.
    pub at: Timestamp,
}

impl NodeMark {
    /// Whether a job can be started there.
    #[must_use]
    pub fn takes_jobs(&self) -> bool {
        !self.is_down && !self.is_drained && !self.is_failing
    }
}

impl NodeState {
    /// As `scontrol show node` prints it: the base and each flag, such as `MIXED+DRAIN`.
    #[must_use]
    pub fn with_flags(self) -> String {
        let mut text = match (self.is_down, self.usage) {
            (true, _) => "DOWN",
            (false, NodeUse::Idle) => "IDLE",
            (false, NodeUse::Mixed) => "MIXED",
            (false, NodeUse::Allocated) => "ALLOCATED",
        }
        .to_owned();
        let flags = [
            (self.is_maintained, "+MAINTENANCE"),
            (self.is_drained, "+DRAIN"),
            (self.is_failing, "+FAIL"),
            (self.is_reserved, "+RESERVED"),
            (self.is_planned, "+PLANNED"),
        ];
        for (_, flag) in flags.iter().filter(|(is_set, _)| *is_set) {
            text.push_str(flag);
        }
        text
    }

    /// As `sinfo` prints it in full (`%T`).
    #[must_use]
    pub fn long(self) -> &'static str {
        self.names().0
    }

    /// As `sinfo` prints it in short (`%t`).
    #[must_use]
    pub fn short(self) -> &'static str {
        self.names().1
    }

    /// `node_state_string` of 22.05's `slurm_protocol_defs.c`: the first that holds.
    fn names(self) -> (&'static str, &'static str) {
        let is_idle = self.usage == NodeUse::Idle;
        if self.is_maintained && !self.is_drained && !self.is_down && is_idle {
            return ("maint", "maint");
        }
        if self.is_failing && !self.is_drained && !self.is_down {
            return if is_idle {
                ("fail", "fail")
            } else {
                ("failing", "failg")
            };
        }
        match (self.is_drained, self.is_down, self.usage) {
            (true, true, _) | (true, _, NodeUse::Idle) => ("drained", "drain"),
            (true, false, _) => ("draining", "drng"),
            (false, true, _) => ("down", "down"),
            (false, false, NodeUse::Idle) if self.is_reserved => ("reserved", "resv"),
            (false, false, NodeUse::Idle) if self.is_planned => ("planned", "plnd"),
            (false, false, NodeUse::Idle) => ("idle", "idle"),
            (false, false, NodeUse::Mixed) => ("mixed", "mix"),
            (false, false, NodeUse::Allocated) => ("allocated", "alloc"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(state: NodeState, want: [&str; 3]) {
        let flags = state.with_flags();
        assert_eq!([state.long(), state.short(), flags.as_str()], want);
    }

    #[test]
    fn names_are_slurms() {
        let idle = NodeState::default();
        let mixed = NodeState {
            usage: NodeUse::Mixed,
            ..idle
        };
        let drain = |state| NodeState {
            is_drained: true,
            ..state
        };
        let down = NodeState {
            is_down: true,
            ..idle
        };
        check(idle, ["idle", "idle", "IDLE"]);
        check(mixed, ["mixed", "mix", "MIXED"]);
        let planned = NodeState {
            is_planned: true,
            ..idle
        };
        check(planned, ["planned", "plnd", "IDLE+PLANNED"]);
        check(drain(idle), ["drained", "drain", "IDLE+DRAIN"]);
        check(drain(mixed), ["draining", "drng", "MIXED+DRAIN"]);
        check(down, ["down", "down", "DOWN"]);
        check(drain(down), ["drained", "drain", "DOWN+DRAIN"]);
        let fail = |state| NodeState {
            is_failing: true,
            ..state
        };
        check(fail(idle), ["fail", "fail", "IDLE+FAIL"]);
        check(fail(mixed), ["failing", "failg", "MIXED+FAIL"]);
    }
}
