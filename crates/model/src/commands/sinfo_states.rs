//! Which nodes `sinfo --states` takes, as 22.05's `sinfo` reads and compares states.

use crate::records::{NodeState, node_state_flag as flag};

/// What `--states` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStateFilter {
    /// Numbers of states, as Slurm counts them.
    states: Vec<u32>,
    /// A node has to be in all of them (`mixed&drain`).
    needs_all: bool,
}

const DOWN: u32 = 1;
const IDLE: u32 = 2;
const ALLOCATED: u32 = 3;
const MIXED: u32 = 5;

/// Names of states with their numbers, in the order in which a beginning of a name is looked for.
const NAMES: &[(&str, u32)] = &[
    ("unknown", 0),
    ("unk", 0),
    ("down", DOWN),
    ("idle", IDLE),
    ("allocated", ALLOCATED),
    ("?", 4),
    ("mixed", MIXED),
    ("future", 6),
    ("futr", 6),
    ("planned", flag::PLANNED),
    ("plnd", flag::PLANNED),
    ("drain", flag::DRAIN),
    ("drained", flag::DRAIN | IDLE),
    ("resv", flag::RESERVED),
    ("reserved", flag::RESERVED),
    ("perfctrs", flag::PERFCTRS),
    ("npc", flag::PERFCTRS),
    ("draining", flag::DRAIN | ALLOCATED),
    ("drng", flag::DRAIN | ALLOCATED),
    ("completing", flag::COMPLETING),
    ("no_respond", flag::NO_RESPOND),
    ("powering_down", flag::POWERING_DOWN),
    ("powered_down", flag::POWERED_DOWN),
    ("power_down", flag::POWER_DOWN),
    ("powering_up", flag::POWERING_UP),
    ("fail", flag::FAIL),
    ("maint", flag::MAINT),
    ("reboot", flag::REBOOT),
    ("boot", flag::REBOOT),
    ("reboot^", flag::REBOOT_ISSUED),
    ("boot^", flag::REBOOT_ISSUED),
    ("cloud", flag::CLOUD),
];

impl NodeStateFilter {
    /// Reads `idle,alloc` or `mixed&drain`; `None` is every state.
    ///
    /// # Errors
    /// The first word that is no beginning of a state's name.
    pub(crate) fn parse(text: &str) -> Result<Option<NodeStateFilter>, String> {
        if text.eq_ignore_ascii_case("all") {
            return Ok(None);
        }
        let words = text.split([',', '&']).filter(|word| !word.is_empty());
        let states = words.map(|word| {
            let lower = word.to_ascii_lowercase();
            let mut names = NAMES.iter();
            let found = names.find(|(name, _)| name.starts_with(&lower));
            found
                .map(|(_, number)| *number)
                .ok_or_else(|| word.to_owned())
        });
        Ok(Some(NodeStateFilter {
            states: states.collect::<Result<_, _>>()?,
            needs_all: text.contains('&'),
        }))
    }

    /// What `--list-reasons` takes.
    pub(crate) fn out_of_service() -> NodeStateFilter {
        NodeStateFilter {
            states: vec![DOWN, flag::FAIL, flag::DRAIN],
            needs_all: false,
        }
    }

    /// Whether a node in this state is one of those.
    pub(crate) fn takes(&self, state: NodeState) -> bool {
        let is_in = |wanted: &u32| is_in(state.number(), *wanted);
        if self.needs_all {
            self.states.iter().all(is_in)
        } else {
            self.states.iter().any(is_in)
        }
    }
}

fn is_in(state: u32, wanted: u32) -> bool {
    const DRAINED: u32 = flag::DRAIN | IDLE;
    const DRAINING: u32 = flag::DRAIN | ALLOCATED;
    let base = state & flag::BASE;
    let has_jobs = matches!(base, ALLOCATED | MIXED);
    let is_drained = state & flag::DRAIN != 0;
    match wanted {
        DRAINED => is_drained && !has_jobs,
        DRAINING => is_drained && has_jobs,
        ALLOCATED => has_jobs,
        wanted if wanted & !flag::BASE != 0 => state & wanted != 0,
        wanted => base == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::NodeUse;

    #[track_caller]
    fn check(text: &str, state: NodeState, want: bool) {
        let filter = NodeStateFilter::parse(text).expect("it is one");
        assert_eq!(filter.is_none_or(|it| it.takes(state)), want, "{text}");
    }

    #[test]
    fn states_are_compared_as_slurm_does() {
        let idle = NodeState::default();
        let drained = NodeState {
            is_drained: true,
            ..idle
        };
        let draining = NodeState {
            usage: NodeUse::Mixed,
            ..drained
        };
        check("idle", drained, true);
        check("idle", draining, false);
        check("alloc", draining, true);
        check("mix", draining, false);
        check("drain&idle", drained, true);
        check("drain&idle", idle, false);
        check("drng", draining, true);
        check("DRAINED", draining, false);
        check("drain,down", idle, false);
        check("all", idle, true);
        assert_eq!(
            NodeStateFilter::parse("idle,nosuch"),
            Err("nosuch".to_owned())
        );
    }
}
