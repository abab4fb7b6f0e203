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
    /// It does not answer (`NOT_RESPONDING`).
    pub is_lost: bool,
    /// It is not there yet: no job starts there, and it is shown only where that is asked (`FUTURE`).
    pub is_future: bool,
    /// It is one of a cloud, which is powered up when a job starts there (`CLOUD`).
    pub is_cloud: bool,
    /// `scontrol create` made it (`DYNAMIC_NORM`).
    pub is_dynamic: bool,
}

/// What a person, or a failure, said of a node; it holds until something else is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeMark {
    /// It failed: nothing runs there.
    pub is_down: bool,
    /// It does not answer; such a one is down too.
    pub is_lost: bool,
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

/// What Slurm's controller says of a node that does not answer.
const NOT_RESPONDING: &str = "Not responding";

impl NodeMark {
    /// The node answers no more. What was said of it before stays.
    #[must_use]
    pub fn lost(mut self, user: &str, at: Timestamp) -> NodeMark {
        (self.is_down, self.is_lost) = (true, true);
        if self.reason.is_empty() {
            NOT_RESPONDING.clone_into(&mut self.reason);
            user.clone_into(&mut self.user);
            self.at = at;
        }
        self
    }

    /// The node answers again. Whether one that is down takes jobs then follows from `ReturnToService`:
    /// 0 of none, 1 of those that are down because they did not answer, 2 of all. Drained and failing
    /// ones stay so.
    #[must_use]
    pub fn back(mut self, return_to_service: u32) -> NodeMark {
        self.is_lost = false;
        let is_back = match return_to_service {
            0 => false,
            1 => self.reason == NOT_RESPONDING,
            _ => true,
        };
        self.is_down &= !is_back;
        if self.takes_jobs() {
            NodeMark::default()
        } else {
            self
        }
    }

    /// Whether a job can be started there.
    #[must_use]
    pub fn takes_jobs(&self) -> bool {
        !self.is_down && !self.is_drained && !self.is_failing
    }

    /// What keeps jobs from it, in a word; empty where nothing does.
    #[must_use]
    pub fn word(&self) -> &'static str {
        if self.is_lost {
            "lost"
        } else if self.is_down {
            "down"
        } else if self.is_drained {
            "drained"
        } else if self.is_failing {
            "failing"
        } else {
            ""
        }
    }
}

/// The bits of a state's number beside its base (`slurm.h` of 22.05).
pub(crate) mod flag {
    pub(crate) const PERFCTRS: u32 = 1 << 4;
    pub(crate) const RESERVED: u32 = 1 << 5;
    pub(crate) const CLOUD: u32 = 1 << 7;
    pub(crate) const DRAIN: u32 = 1 << 9;
    pub(crate) const COMPLETING: u32 = 1 << 10;
    pub(crate) const NO_RESPOND: u32 = 1 << 11;
    pub(crate) const POWERED_DOWN: u32 = 1 << 12;
    pub(crate) const FAIL: u32 = 1 << 13;
    pub(crate) const POWERING_UP: u32 = 1 << 14;
    pub(crate) const MAINT: u32 = 1 << 15;
    pub(crate) const REBOOT: u32 = 1 << 16;
    pub(crate) const POWERING_DOWN: u32 = 1 << 18;
    pub(crate) const REBOOT_ISSUED: u32 = 1 << 20;
    pub(crate) const PLANNED: u32 = 1 << 21;
    pub(crate) const POWER_DOWN: u32 = 1 << 23;
    pub(crate) const DYNAMIC_NORM: u32 = 1 << 26;
    /// What is no flag.
    pub(crate) const BASE: u32 = 0xf;
}

impl NodeState {
    /// Slurm's word for it without flags.
    #[must_use]
    pub fn base(self) -> &'static str {
        match (self.is_future, self.is_down, self.usage) {
            (true, ..) => "FUTURE",
            (_, true, _) => "DOWN",
            (_, false, NodeUse::Idle) => "IDLE",
            (_, false, NodeUse::Mixed) => "MIXED",
            (_, false, NodeUse::Allocated) => "ALLOCATED",
        }
    }

    /// As `scontrol show node` prints it: the base and each flag, such as `MIXED+DRAIN`.
    #[must_use]
    pub fn with_flags(self) -> String {
        let mut text = self.base().to_owned();
        let flags = [
            (self.is_cloud, "+CLOUD"),
            (self.is_maintained, "+MAINTENANCE"),
            (self.is_drained, "+DRAIN"),
            (self.is_dynamic, "+DYNAMIC_NORM"),
            (self.is_failing, "+FAIL"),
            (self.is_powered_down(), "+POWERED_DOWN"),
            (self.is_reserved, "+RESERVED"),
            (self.is_lost, "+NOT_RESPONDING"),
            (self.is_planned, "+PLANNED"),
        ];
        for (_, flag) in flags.iter().filter(|(is_set, _)| *is_set) {
            text.push_str(flag);
        }
        text
    }

    /// As `sinfo -O statecomplete` prints it. `sinfo` tells no mixed nodes among those that are drained.
    #[must_use]
    pub fn complete(self) -> String {
        let usage = match self.usage {
            NodeUse::Mixed if self.is_drained => NodeUse::Allocated,
            usage => usage,
        };
        NodeState { usage, ..self }.with_flags().to_lowercase()
    }

    /// Slurm's number of it: its base, and a bit of higher value for each flag.
    #[must_use]
    pub fn number(self) -> u32 {
        let base = match (self.is_future, self.is_down, self.usage) {
            (true, ..) => 6,
            (_, true, _) => 1,
            (_, false, NodeUse::Idle) => 2,
            (_, false, NodeUse::Mixed) if !self.is_drained => 5,
            (_, false, _) => 3,
        };
        let flags = [
            (self.is_reserved, flag::RESERVED),
            (self.is_cloud, flag::CLOUD),
            (self.is_drained, flag::DRAIN),
            (self.is_lost, flag::NO_RESPOND),
            (self.is_powered_down(), flag::POWERED_DOWN),
            (self.is_failing, flag::FAIL),
            (self.is_maintained, flag::MAINT),
            (self.is_planned, flag::PLANNED),
            (self.is_dynamic, flag::DYNAMIC_NORM),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set);
        flags.fold(base, |number, (_, flag)| number | flag)
    }

    /// As `sinfo` prints it in full (`%T`).
    #[must_use]
    pub fn long(self) -> String {
        format!("{}{}", self.names().0, self.mark())
    }

    /// As `sinfo` prints it in short (`%t`).
    #[must_use]
    pub fn short(self) -> String {
        format!("{}{}", self.names().1, self.mark())
    }

    /// Whether it is one of a cloud that no job needs now.
    #[must_use]
    pub fn is_powered_down(self) -> bool {
        self.is_cloud && self.usage == NodeUse::Idle && !self.is_future
    }

    /// What `sinfo` puts behind the state: `$` of a node in maintenance, `~` of one without power, `*` of
    /// one that does not answer.
    fn mark(self) -> &'static str {
        let says_why = self.is_failing && !self.is_drained || self.is_in_maintenance();
        if self.is_future {
            ""
        } else if self.is_maintained && !says_why {
            "$"
        } else if self.is_powered_down() && !says_why {
            "~"
        } else if self.is_lost {
            "*"
        } else {
            ""
        }
    }

    /// Nothing but maintenance keeps jobs from it, and none is on it.
    fn is_in_maintenance(self) -> bool {
        let is_idle = self.usage == NodeUse::Idle;
        self.is_maintained && !self.is_drained && !self.is_down && is_idle
    }

    /// `node_state_string` of 22.05's `slurm_protocol_defs.c`: the first that holds.
    fn names(self) -> (&'static str, &'static str) {
        if self.is_future {
            return ("future", "futr");
        }
        if self.is_in_maintenance() {
            return ("maint", "maint");
        }
        if self.is_failing && !self.is_drained {
            return if self.usage == NodeUse::Allocated && !self.is_down {
                ("failing", "failg")
            } else {
                ("fail", "fail")
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
        let names = [state.long(), state.short(), state.with_flags()];
        assert_eq!(names, want);
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
        check(fail(mixed), ["fail", "fail", "MIXED+FAIL"]);
        let full = NodeState {
            usage: NodeUse::Allocated,
            ..idle
        };
        check(fail(full), ["failing", "failg", "ALLOCATED+FAIL"]);
        let maint = |state| NodeState {
            is_maintained: true,
            ..state
        };
        check(maint(idle), ["maint", "maint", "IDLE+MAINTENANCE"]);
        check(maint(mixed), ["mixed$", "mix$", "MIXED+MAINTENANCE"]);
        let both = maint(drain(idle));
        check(both, ["drained$", "drain$", "IDLE+MAINTENANCE+DRAIN"]);
        assert_eq!(drain(mixed).complete(), "allocated+drain");
        let lost = NodeState {
            is_lost: true,
            ..down
        };
        check(lost, ["down*", "down*", "DOWN+NOT_RESPONDING"]);
        check(
            drain(lost),
            ["drained*", "drain*", "DOWN+DRAIN+NOT_RESPONDING"],
        );
        check(fail(lost), ["fail*", "fail*", "DOWN+FAIL+NOT_RESPONDING"]);
        let future = NodeState {
            is_future: true,
            is_dynamic: true,
            ..idle
        };
        check(future, ["future", "futr", "FUTURE+DYNAMIC_NORM"]);
        let cloud = |state| NodeState {
            is_cloud: true,
            ..state
        };
        check(cloud(idle), ["idle~", "idle~", "IDLE+CLOUD+POWERED_DOWN"]);
        check(cloud(mixed), ["mixed", "mix", "MIXED+CLOUD"]);
    }

    /// What a real Slurm 22.05.8 shows of nodes whose `slurmd` ended, and when it is there again, for each
    /// `ReturnToService`; node2 was set down and answered all the time.
    #[test]
    fn nodes_come_back_as_return_to_service_says() {
        let said = |reason: &str, mark: NodeMark| NodeMark {
            reason: reason.to_owned(),
            user: "root".to_owned(),
            ..mark
        };
        let none = NodeMark::default();
        let down = said(
            "broken",
            NodeMark {
                is_down: true,
                ..none.clone()
            },
        );
        let drained = said(
            "worn",
            NodeMark {
                is_drained: true,
                ..none.clone()
            },
        );
        let failing = said(
            "soon",
            NodeMark {
                is_failing: true,
                ..none.clone()
            },
        );
        let shown = |mark: &NodeMark| {
            let state = NodeState {
                is_down: mark.is_down,
                is_lost: mark.is_lost,
                is_drained: mark.is_drained,
                is_failing: mark.is_failing,
                ..NodeState::default()
            };
            format!("{} {}", state.with_flags(), mark.reason)
        };
        let rows = [
            (none, ["DOWN Not responding", "IDLE ", "IDLE "]),
            (
                drained,
                ["DOWN+DRAIN worn", "DOWN+DRAIN worn", "IDLE+DRAIN worn"],
            ),
            (
                failing,
                ["DOWN+FAIL soon", "DOWN+FAIL soon", "IDLE+FAIL soon"],
            ),
        ];
        for (before, want) in rows {
            let lost = before.lost("slurm", Timestamp(1));
            let got = [0, 1, 2].map(|rule| shown(&lost.clone().back(rule)));
            assert_eq!(got, want, "{lost:?}");
        }
        let got = [0, 1, 2].map(|rule| shown(&down.clone().back(rule)));
        assert_eq!(got, ["DOWN broken", "DOWN broken", "IDLE "]);
    }
}
