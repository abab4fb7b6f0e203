//! When an entry counts as complete, and when waiting may still make it so.

use super::names::is_marker;
use super::{
    Entry, Inside, LONGEST_LAST_SETTLE_MS, Marked, RECENT_MS, SETTLED_PARTIAL_MS, Writers,
};
use crate::agent::recognise::{Format, Recognised};
use model::{Seconds, Timestamp};
use train::Complete;

/// `Some(proven)` once it is complete. `believed`: it need not stand still for that, or another node has its
/// marker.
pub(super) fn complete(
    rule: &Complete,
    name: &str,
    entry: &mut Entry,
    now: Timestamp,
    writers: Writers,
    believed: bool,
    inside: &mut dyn Inside,
) -> Option<bool> {
    let still = now.since(entry.since);
    let settled = |inside: &mut dyn Inside, after: i64| {
        let enough = writers == Writers::Finished || still >= after;
        (enough && !inside.open(name)).then_some(false)
    };
    let unknown = |entry: &mut Entry, inside: &mut dyn Inside, after: i64| {
        if writers == Writers::Live && entry.closed.is_none() {
            entry.look_whether_closed(name, inside);
        }
        if believed {
            (!inside.open(name)).then_some(false)
        } else {
            settled(inside, after)
        }
    };
    match rule {
        Complete::Rename => Some(true),
        Complete::Marker { name: marker } => {
            let calm = writers != Writers::Live || still >= RECENT_MS;
            match inside.marked(name, marker) {
                Marked::Last => Some(true),
                Marked::Not => (believed && calm && !inside.open(name)).then_some(true),
                // Some programs add to what they have marked.
                Marked::Before => settled(inside, SETTLED_PARTIAL_MS),
            }
        }
        Complete::Settle { settle } => unknown(entry, inside, millis(*settle)),
        Complete::Recognise { settle } => match inside.recognised(name) {
            Recognised::Whole(Format::Zip | Format::Safetensors | Format::Orbax) => Some(true),
            // One of many files may be written over without a sign yet.
            Recognised::Whole(Format::HuggingFace | Format::Distributed | Format::DeepSpeed) => {
                (!inside.open(name)).then_some(true)
            }
            Recognised::Overtaken(_) if !entry.is_again => unknown(entry, inside, millis(*settle)),
            Recognised::Partial(_) | Recognised::Overtaken(_) => {
                entry.partial = true;
                settled(inside, SETTLED_PARTIAL_MS.max(millis(*settle)))
            }
            Recognised::Unknown => unknown(entry, inside, millis(*settle)),
        },
    }
}

pub(super) fn millis(length: Seconds) -> i64 {
    i64::try_from(length.0.saturating_mul(1000)).unwrap_or(i64::MAX)
}

/// Whether waiting a little may still make a complete entry of it: what was left lying does not
/// hold up the end.
pub(super) fn in_work(
    rule: &Complete,
    name: &str,
    entry: &Entry,
    now: Timestamp,
    writers: Writers,
) -> bool {
    let gone = matches!(writers, Writers::Gone { .. });
    let patience = match rule {
        // A second look is all that it takes to know what was left; so long nobody waits at the end.
        Complete::Recognise { settle } | Complete::Settle { settle }
            if gone && millis(*settle) > LONGEST_LAST_SETTLE_MS =>
        {
            return !entry.reported && entry.looks < 2;
        }
        Complete::Recognise { settle } | Complete::Settle { settle } => millis(*settle) + 1_000,
        Complete::Rename | Complete::Marker { .. } => RECENT_MS,
    };
    !entry.reported && !is_marker(rule, name) && now.since(entry.since) < patience
}
