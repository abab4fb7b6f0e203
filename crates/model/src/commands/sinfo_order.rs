//! In which order `sinfo` lists (`sinfo/sort.c` of 22.05).

use crate::commands::sinfo::SinfoRow;
use crate::fields::FieldTable;
use crate::fields::sinfo_fields::{SinfoField, SinfoValue, by_state};
use crate::records::{SinfoNode, SinfoPartition};
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

/// The order of two rows by a letter; one that Slurm sorts by nothing leaves them as they are.
fn compare(key: &SortKey, a: &SinfoRow<'_>, b: &SinfoRow<'_>) -> Ordering {
    let by_partition = |of: fn(&SinfoPartition) -> u64| of(a.partition).cmp(&of(b.partition));
    match key.letter {
        'P' | 'R' if key.as_listed => a.partition_index.cmp(&b.partition_index),
        'P' | 'R' => a.partition.name.cmp(&b.partition.name),
        'a' => by_partition(|part| match part.state.as_str() {
            "up" => 3,
            "drain" => 2,
            "down" => 1,
            _ => 0,
        }),
        'g' => a.partition.allow_groups.cmp(&b.partition.allow_groups),
        'h' => by_partition(|part| over_subscribe_rank(&part.over_subscribe)),
        'l' => by_partition(|part| part.time.map_or(u64::MAX, |time| time.0)),
        'M' => by_partition(|part| match part.preempt_mode.as_str() {
            "OFF" => 0,
            "SUSPEND" => 1,
            "REQUEUE" => 2,
            _ => 8,
        }),
        'p' => by_partition(|part| part.priority_tier.into()),
        'r' => by_partition(|part| part.is_root_only.into()),
        's' => by_partition(|part| {
            let most = part.max_nodes.map(u64::from);
            most.map_or(u64::MAX, |most| most + u64::from(part.min_nodes))
        }),
        'S' => by_partition(|part| part.priority_factor.into()),
        't' | 'T' => rank(a).cmp(&rank(b)),
        'N' => by_name(a, b),
        'n' => text_of(a, |node| &node.host).cmp(text_of(b, |node| &node.host)),
        'o' => text_of(a, |node| &node.address).cmp(text_of(b, |node| &node.address)),
        'A' | 'F' => by_state(&a.nodes)[0].cmp(&by_state(&b.nodes)[0]),
        'b' => {
            text_of(a, |node| &node.active_features).cmp(text_of(b, |node| &node.active_features))
        }
        'D' => a.nodes.len().cmp(&b.nodes.len()),
        'f' => text_of(a, |node| &node.features).cmp(text_of(b, |node| &node.features)),
        'E' | 'H' | 'u' | 'U' => reason_key(key.letter, a).cmp(&reason_key(key.letter, b)),
        'c' | 'd' | 'e' | 'm' | 'O' | 'w' | 'X' | 'Y' | 'Z' => {
            let value = SinfoField::by_letter(key.letter).map(|field| &field.value);
            let (Some(SinfoValue::Least(of)) | Some(SinfoValue::Between(of, _))) = value else {
                return Ordering::Equal;
            };
            let least =
                |row: &SinfoRow<'_>| row.nodes.iter().map(|node| of(node)).min().unwrap_or(0);
            least(a).cmp(&least(b))
        }
        'z' => {
            let layout = |row: &SinfoRow<'_>| {
                let least = |of: fn(&SinfoNode) -> u32| row.nodes.iter().map(|node| of(node)).min();
                [
                    least(|node| node.sockets),
                    least(|node| node.cores),
                    least(|node| node.threads),
                ]
            };
            layout(a).cmp(&layout(b))
        }
        _ => Ordering::Equal,
    }
}

/// The reason, its moment or its user, of a row's first node.
fn reason_key(letter: char, row: &SinfoRow<'_>) -> (u32, String) {
    let reason = row.nodes.first().and_then(|node| node.reason.as_ref());
    match letter {
        'E' => (0, reason.map(|it| it.text.clone()).unwrap_or_default()),
        'H' => (0, reason.map(|it| it.at.clone()).unwrap_or_default()),
        _ => (
            reason.and_then(|it| it.uid).unwrap_or(u32::MAX),
            String::new(),
        ),
    }
}

fn text_of<'a>(row: &SinfoRow<'a>, of: fn(&SinfoNode) -> &String) -> &'a str {
    row.nodes.first().map_or("", |node| of(node))
}

/// `NO` and `EXCLUSIVE` before those with a number of jobs; `FORCE` has a high bit in Slurm.
fn over_subscribe_rank(text: &str) -> u64 {
    let number = |text: &str| text.parse().unwrap_or(0);
    match text.split_once(':') {
        Some(("FORCE", jobs)) => 0x8000 + number(jobs),
        Some((_, jobs)) => number(jobs),
        None => u64::from(text == "NO"),
    }
}

fn by_name(a: &SinfoRow<'_>, b: &SinfoRow<'_>) -> Ordering {
    match (a.nodes.first(), b.nodes.first()) {
        (Some(a), Some(b)) => in_order(&a.name, &b.name),
        (a, b) => a.is_none().cmp(&b.is_none()),
    }
}

/// Slurm's number of the state of a row's first node; of none 0.
fn rank(row: &SinfoRow<'_>) -> u32 {
    row.nodes.first().map_or(0, |node| node.state.number())
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
