//! Whether a job that is queued again waits for its release.

use crate::records::PendingReason;
use serde::{Deserialize, Serialize};

/// How a job waits once it is queued again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub enum RequeueHold {
    /// As any other.
    #[default]
    No,
    /// `scontrol requeuehold`: held.
    Held,
    /// `scontrol requeue State=SpecialExit`: held, and shown as SPECIAL_EXIT.
    SpecialExit,
    /// `scontrol requeuehold State=SpecialExit`: likewise; the reason tells of the hold.
    HeldSpecialExit,
}

impl RequeueHold {
    /// Why it waits then; nothing where it is not held.
    #[must_use]
    pub fn reason(self) -> Option<PendingReason> {
        match self {
            RequeueHold::No => None,
            RequeueHold::Held => Some(PendingReason::RequeuedHeld),
            RequeueHold::SpecialExit => Some(PendingReason::SpecialExit),
            RequeueHold::HeldSpecialExit => Some(PendingReason::HeldSpecialExit),
        }
    }
}

/// As it is stored and sent; earlier versions knew the flag alone.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Flag(bool),
    State(State),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    SpecialExit,
    HeldSpecialExit,
}

impl From<Written> for RequeueHold {
    fn from(written: Written) -> RequeueHold {
        match written {
            Written::Flag(false) => RequeueHold::No,
            Written::Flag(true) => RequeueHold::Held,
            Written::State(State::SpecialExit) => RequeueHold::SpecialExit,
            Written::State(State::HeldSpecialExit) => RequeueHold::HeldSpecialExit,
        }
    }
}

impl From<RequeueHold> for Written {
    fn from(hold: RequeueHold) -> Written {
        match hold {
            RequeueHold::No => Written::Flag(false),
            RequeueHold::Held => Written::Flag(true),
            RequeueHold::SpecialExit => Written::State(State::SpecialExit),
            RequeueHold::HeldSpecialExit => Written::State(State::HeldSpecialExit),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;

    #[track_caller]
    fn check(hold: RequeueHold, text: &str) {
        assert_eq!(serde_json::to_string(&hold).unwrap(), text);
        assert_eq!(serde_json::from_str::<RequeueHold>(text).unwrap(), hold);
    }

    #[test]
    fn earlier_versions_wrote_a_flag() {
        check(RequeueHold::No, "false");
        check(RequeueHold::Held, "true");
        check(RequeueHold::SpecialExit, "\"special_exit\"");
        check(RequeueHold::HeldSpecialExit, "\"held_special_exit\"");
    }
}
