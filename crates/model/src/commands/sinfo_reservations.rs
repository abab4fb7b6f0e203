//! `sinfo -T`: reservations, a line each (`print_resv` of 22.05's `sinfo`).

use crate::commands::padding::padded;
use crate::records::Reservation;
use crate::values::{MomentStyle, Timestamp, node_list, one_line, padded_elapsed_text};

/// What `sinfo --reservation` prints.
#[must_use]
pub fn reservations_text(
    reservations: &[Reservation],
    has_no_header: bool,
    now: Timestamp,
    moments: &MomentStyle,
) -> String {
    if reservations.is_empty() {
        return "No reservations in the system\n".to_owned();
    }
    let head = "RESV_NAME";
    let widths = reservations
        .iter()
        .map(|one| one_line(&one.name).chars().count());
    // Without a header Slurm doesn't look how long the names are.
    let widest = widths.max().filter(|_| !has_no_header);
    let width = widest.unwrap_or(0).max(head.len());
    let line = |columns: [&str; 6]| {
        let [name, state, start, end, length, nodes] = columns;
        let name = padded(name, width, true);
        format!("{name}  {state:>8}  {start:>19}  {end:>19}  {length:>11}  {nodes}\n")
    };
    let mut text = String::new();
    if !has_no_header {
        text += &line([
            head,
            "STATE",
            "START_TIME",
            "END_TIME",
            "DURATION",
            "NODELIST",
        ]);
    }
    for one in reservations {
        let state = if one.is_active(now) {
            "ACTIVE"
        } else {
            "INACTIVE"
        };
        text += &line([
            &one_line(&one.name),
            state,
            &moments.text(one.start),
            &moments.text(one.end),
            &padded_elapsed_text(one.end.since(one.start) / 1000),
            &node_list::fold(&one.nodes),
        ]);
    }
    text
}
