//! In which order `sinfo` lists, and which states `--states` names.

use crate::commands::sinfo::SinfoRow;
use crate::fields::sinfo_fields::{SinfoField, SinfoValue};
use crate::fields::{Cell, FieldTable};
use crate::records::SinfoNode;
use crate::values::{NodeName, node_list};
use std::cmp::Ordering;

/// A letter of `--sort`.
struct SortKey {
    letter: char,
    descending: bool,
    /// `#P`: in the order of the cluster's own list.
    as_listed: bool,
}

/// Sorts rows; the first letter weighs most, and letters that name nothing are skipped.
pub(crate) fn sort_rows(rows: &mut [SinfoRow<'_>], sort: &str) {
    let mut keys = Vec::new();
    let (mut descending, mut as_listed) = (false, false);
    for letter in sort.chars() {
        match letter {
            '-' => descending = true,
            '+' => descending = false,
            '#' => as_listed = true,
            ',' | ' ' => {}
            letter => {
                keys.push(SortKey {
                    letter,
                    descending,
                    as_listed,
                });
                (descending, as_listed) = (false, false);
            }
        }
    }
    for key in keys.iter().rev() {
        rows.sort_by(|a, b| {
            let order = compare(key, a, b);
            if key.descending {
                order.reverse()
            } else {
                order
            }
        });
    }
}

fn compare(key: &SortKey, a: &SinfoRow<'_>, b: &SinfoRow<'_>) -> Ordering {
    match key.letter {
        'P' | 'R' if key.as_listed => a.partition_index.cmp(&b.partition_index),
        'P' => a.partition.name.cmp(&b.partition.name),
        't' | 'T' => rank(a).cmp(&rank(b)),
        'N' | 'n' => {
            let first = |row: &SinfoRow<'_>| row.nodes.first().map(|node| node.name.clone());
            match (first(a), first(b)) {
                (Some(a), Some(b)) => in_order(&a, &b),
                (a, b) => a.is_some().cmp(&b.is_some()),
            }
        }
        'D' | 'F' | 'A' => a.nodes.len().cmp(&b.nodes.len()),
        'l' | 'L' => {
            let time = |row: &SinfoRow<'_>| row.partition.time.map_or(u64::MAX, |time| time.0);
            time(a).cmp(&time(b))
        }
        letter => match SinfoField::by_letter(letter) {
            None => Ordering::Equal,
            Some(field) => match field.value {
                SinfoValue::Least(value) => {
                    let of = |row: &SinfoRow<'_>| row.nodes.iter().map(|node| value(node)).min();
                    of(a).cmp(&of(b))
                }
                SinfoValue::OfPartition(value) => {
                    text(value(a.partition)).cmp(&text(value(b.partition)))
                }
                SinfoValue::OfNode(value) => {
                    let of = |row: &SinfoRow<'_>| row.nodes.first().map(|node| text(value(node)));
                    of(a).cmp(&of(b))
                }
                SinfoValue::OfAll(value) => text(value(&a.nodes)).cmp(&text(value(&b.nodes))),
            },
        },
    }
}

fn text(cell: Cell) -> String {
    match cell {
        Cell::Text(text) | Cell::Long(text) => text,
        Cell::Null => String::new(),
    }
}

/// Slurm's number of a state: its base, and bits of higher values for what else is so.
fn rank(row: &SinfoRow<'_>) -> u32 {
    const NO_RESPOND: u32 = 1 << 11;
    row.nodes.first().map_or(0, |node| {
        let of_state = match node.state.trim_end_matches(['*', '~']) {
            "down" => 1,
            "idle" => 2,
            "alloc" => 3,
            "mix" => 5,
            "maint" => 0x12,
            "resv" => 0x22,
            "plnd" => 0x8_0002,
            "drain" => 0x202,
            "drng" => 0x203,
            "fail" => 0x2002,
            "failg" => 0x2003,
            _ => 0,
        };
        of_state + if node.is_dead { NO_RESPOND } else { 0 }
    })
}

const STATES: &[&str] = &[
    "unknown",
    "down",
    "idle",
    "allocated",
    "mixed",
    "future",
    "drain",
    "drained",
    "draining",
    "no_respond",
    "reserved",
    "perfctrs",
    "cloud",
    "completing",
    "powering_down",
    "powered_down",
    "power_down",
    "powering_up",
    "fail",
    "maint",
    "reboot",
    "planned",
    "plnd",
];

/// Whether the beginning of a state's name.
pub(crate) fn is_node_state(text: &str) -> bool {
    !text.is_empty() && STATES.iter().any(|state| state.starts_with(text))
}

/// Whether a node is in the state of which this is the beginning.
pub(crate) fn is_in_state(node: &SinfoNode, wanted: &str) -> bool {
    let Some(wanted) = STATES.iter().find(|state| state.starts_with(wanted)) else {
        return false;
    };
    let state = node.state_long.trim_end_matches(['*', '~']);
    match *wanted {
        "no_respond" => node.is_dead,
        "powered_down" => node.state_long.ends_with('~'),
        "cloud" => node.is_cloud,
        "drain" => matches!(state, "drained" | "draining"),
        "idle" => matches!(state, "idle" | "planned"),
        "planned" | "plnd" => state == "planned",
        "allocated" => matches!(state, "allocated" | "mixed"),
        wanted => state == wanted,
    }
}

/// Whether a node list has the first name before the second.
fn in_order(a: &NodeName, b: &NodeName) -> Ordering {
    let mut names = [a.clone(), b.clone()];
    node_list::sort(&mut names);
    match (a == b, names[0] == *a) {
        (true, _) => Ordering::Equal,
        (false, true) => Ordering::Less,
        (false, false) => Ordering::Greater,
    }
}
