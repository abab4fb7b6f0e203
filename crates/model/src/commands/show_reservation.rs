//! A reservation as `scontrol show reservation` prints it (`reservation_info.c` of 22.05).

use crate::commands::ShowStyle;
use crate::records::{Reservation, ReservationFlag};
use crate::values::number_ranges;
use crate::values::{MomentStyle, Seconds, Timestamp, node_list, one_line, padded_elapsed_text};

/// A reservation as `scontrol show reservation` prints it; `cores` and `cpus` are those that it has.
#[must_use]
pub fn show_reservation(
    reservation: &Reservation,
    (cores, cpus): (u32, u32),
    style: ShowStyle,
    now: Timestamp,
    moments: &MomentStyle,
) -> String {
    let or_null = |text: Option<String>| text.unwrap_or_else(|| "(null)".to_owned());
    let state = if reservation.is_active(now) {
        "ACTIVE"
    } else {
        "INACTIVE"
    };
    let (start, end) = (reservation.start, reservation.end);
    let nodes = Some(node_list::fold(&reservation.nodes));
    let delay = reservation.max_start_delay;
    let mut lines = vec![
        format!(
            "ReservationName={} StartTime={} EndTime={} Duration={}",
            reservation.name,
            moments.text(start),
            moments.text(end),
            padded_elapsed_text(end.since(start) / 1000)
        ),
        format!(
            "Nodes={} NodeCnt={} CoreCnt={cores} Features={} PartitionName={} Flags={}",
            or_null(nodes.filter(|list| !list.is_empty())),
            reservation.nodes.len(),
            or_null(reservation.features.clone()),
            or_null(reservation.partition.clone()),
            flags_text(reservation),
        ),
    ];
    let cores = reservation.nodes.iter().zip(&reservation.core_ids);
    lines.extend(
        cores.map(|(node, ids)| format!("  NodeName={node} CoreIDs={}", number_ranges(ids))),
    );
    lines.extend([
        format!(
            "TRES={}",
            or_null((cpus > 0).then(|| format!("cpu={cpus}")))
        ),
        format!(
            "Users={} Groups={} Accounts={} Licenses={} State={state} BurstBuffer=(null) Watts=n/a",
            or_null(reservation.users.text()),
            or_null(reservation.groups.text()),
            or_null(reservation.accounts.text()),
            or_null(reservation.licences.clone()),
        ),
        format!("MaxStartDelay={}", or_null(delay.map(length_text))),
    ]);
    let lines: Vec<_> = lines.iter().map(|line| one_line(line)).collect();
    if style.one_line {
        return format!("{}\n", lines.join(" "));
    }
    format!("{}\n\n", lines.join("\n   "))
}

fn length_text(Seconds(length): Seconds) -> String {
    if length == u64::from(u32::MAX) {
        return "UNLIMITED".to_owned();
    }
    padded_elapsed_text(i64::try_from(length).unwrap_or(i64::MAX))
}

fn flags_text(reservation: &Reservation) -> String {
    let after = reservation.purge_after.filter(|after| after.0 > 0);
    let flag = |flag: &ReservationFlag| match (flag, after) {
        (ReservationFlag::PurgeComp, Some(after)) => {
            format!("{}={}", flag.word(), length_text(after))
        }
        _ => flag.word().to_owned(),
    };
    let flags: Vec<String> = reservation.flags.iter().map(flag).collect();
    flags.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::NodeName;
    use jiff::tz::TimeZone;

    #[test]
    fn cores_of_each_node_have_a_line() {
        let one = Reservation {
            nodes: ["node1", "node2"].map(NodeName::new).to_vec(),
            cores: vec![4, 2],
            core_ids: vec![vec![0, 1, 2, 5], vec![0, 1]],
            ..Reservation::default()
        };
        let moments = MomentStyle::standard(TimeZone::UTC);
        let style = ShowStyle::default();
        let shown = show_reservation(&one, (6, 6), style, Timestamp(0), &moments);
        let lines: Vec<&str> = shown.lines().skip(2).take(3).collect();
        let want = [
            "     NodeName=node1 CoreIDs=0-2,5",
            "     NodeName=node2 CoreIDs=0-1",
            "   TRES=cpu=6",
        ];
        assert_eq!(lines, want);
    }
}
