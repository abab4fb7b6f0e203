//! What `yard why` says of a job that waits, line by line.

use super::lines::{
    SHOWN, When, bound_of_partition, held_by, licences, line, needs_and_free, never_met,
    out_of_use, reserved, throttled, unmet,
};
use super::starts::starts;
use api::WhyWaiting;
use model::{PartitionBound, PartitionSays, counted};
use runs::say_reason;

/// What a person reads of the job `name`, of which `others` says what other engines hold, and which comes
/// after the runs `after`.
pub(super) fn story(
    name: &str,
    why: &WhyWaiting,
    after: &[String],
    others: Option<&str>,
    when: When<'_>,
) -> String {
    let mut text = format!("{name}: {}\n", say_reason(&why.reason));
    if why.reason.starts_with("Dependency") && !after.is_empty() {
        text += &line(
            "after",
            &format!("{}, which has to be done", after.join(", ")),
        );
    }
    for (index, condition) in why.unmet.iter().enumerate() {
        let head = if index == 0 { "after" } else { "" };
        let is_last = index + 1 == why.unmet.len();
        let or = if why.one_is_enough && !is_last {
            ", or"
        } else {
            ""
        };
        text += &line(head, &format!("{}{or}", unmet(condition, when)));
    }
    text += &needs_and_free(why);
    for away in &why.out_of_use {
        text += &line("out of use", &out_of_use(away));
    }
    for never in &why.never_met {
        text += &line("never", &never_met(never));
    }
    if let Some(limit) = &why.limit {
        text += &line("limit", &limit.to_string());
    }
    if let Some(bound) = &why.partition_bound {
        text += &line("partition", &bound_of_partition(bound));
    }
    for need in &why.licences {
        text += &line("licences", &licences(need));
    }
    for reservation in &why.reservations {
        text += &line("reserved", &reserved(reservation, when));
    }
    // What never starts as it is waits for none of them.
    let is_too_large = matches!(
        why.partition_bound,
        Some(PartitionBound {
            says: PartitionSays::Cpus { .. },
            ..
        })
    );
    if let [first, ..] = &why.ahead[..]
        && !is_too_large
    {
        let others = match why.ahead.len() {
            1 => format!("job {first} waits and comes before it"),
            count => format!("{count} jobs wait and come before it, job {first} among them"),
        };
        text += &line("ahead", &others);
    }
    if let Some(throttle) = &why.throttle {
        text += &line("throttle", &throttled(throttle));
    }
    for (index, holder) in why.holders.iter().take(SHOWN).enumerate() {
        let head = if index == 0 { "held by" } else { "" };
        text += &line(head, &held_by(holder, when));
    }
    let more = why.holders.len().saturating_sub(SHOWN);
    if more > 0 {
        text += &line("", &format!("{} more", counted(more, "job")));
    }
    if let Some(others) = others {
        text += &line("others", others);
    }
    text += &line("starts", &starts(why, when));
    if let Some(too_late) = why.too_late {
        let until = when.clock(too_late);
        let ends = format!("{until} if it has not started, by its deadline and its limit");
        text += &line("ends", &ends);
    }
    if !why.instead.is_empty() {
        let instead = why.instead.join(" or ");
        text += &line("sooner", &format!("it would start now with {instead}"));
    } else if why.smaller_untried {
        text += &line(
            "sooner",
            "not known: so many jobs wait that no smaller request was tried",
        );
    }
    text
}
