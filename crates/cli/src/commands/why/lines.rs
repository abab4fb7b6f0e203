//! The single lines of what `yard why` says.

use crate::commands::story::row;
use api::{
    ArrayThrottle, HeldAmount, JobHolds, LicenceNeed, NeverMet, OutOfUse, Unmet, WhyWaiting,
};
use jiff::tz::TimeZone;
use model::{
    PartitionBound, PartitionSays, Reservation, ReservationFlag, TimeLimitRequest, Timestamp,
    counted, mebibytes_text,
};

/// So many of those that hold what a job waits for are named.
pub(super) const SHOWN: usize = 4;

/// When this is said, and in which time zone times are given.
#[derive(Clone, Copy)]
pub(super) struct When<'a> {
    pub now: Timestamp,
    pub zone: &'a TimeZone,
}

impl When<'_> {
    /// The time of today, else with the day.
    pub fn clock(self, at: Timestamp) -> String {
        let moment = |at: Timestamp| {
            let instant = jiff::Timestamp::from_millisecond(at.0);
            instant.map(|instant| instant.to_zoned(self.zone.clone()))
        };
        match (moment(at), moment(self.now)) {
            (Ok(at), Ok(now)) if at.date() == now.date() => at.strftime("%H:%M").to_string(),
            (Ok(at), _) => at.strftime("%Y-%m-%d %H:%M").to_string(),
            (Err(_), _) => "an unknown time".to_owned(),
        }
    }
}

/// What the job needs and what of that is free.
pub(super) fn needs_and_free(why: &WhyWaiting) -> String {
    let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
    let several = why.nodes_needed.filter(|nodes| nodes.least > 1);
    let nodes = several.map(|nodes| counted(count(nodes.least), "node"));
    let Some(needs) = why.needs else {
        return nodes.map_or_else(String::new, |nodes| line("needs", &nodes));
    };
    // Memory that is not counted is not told.
    let kinds = Kinds {
        gpus: needs.gpus > 0,
        memory: needs.memory > 0 && why.there.memory > 0,
    };
    let amounts = nodes.into_iter().chain([amount(needs, kinds)]);
    let needs = amounts.collect::<Vec<String>>().join(", ");
    let room = several.and_then(|nodes| {
        Some(format!(
            "; nodes with room: {} of {}",
            nodes.with_room?, nodes.there
        ))
    });
    let free = format!(
        "{} of {}, at most {} on one node{}",
        amount(why.free, kinds),
        amount(why.there, kinds),
        amount(why.free_on_one, kinds),
        room.unwrap_or_default()
    );
    line("needs", &needs) + &line("free", &free)
}

/// `array 17 runs at most 2 elements at a time (%2)`
pub(super) fn throttled(throttle: &ArrayThrottle) -> String {
    let ArrayThrottle { array, most, .. } = throttle;
    let count = usize::try_from(*most).unwrap_or(usize::MAX);
    let elements = counted(count, "element");
    format!("array {array} runs at most {elements} at a time (%{most})")
}

/// `job 12 of ann: 2 GPUs and 8 CPUs, until 02:00`
pub(super) fn held_by(holder: &JobHolds, when: When<'_>) -> String {
    let job = match &holder.element {
        Some(element) => element.clone(),
        None => holder.job.to_string(),
    };
    let until = match (&holder.preempted, holder.until) {
        (Some(preempted), _) => {
            let then = if preempted.comes_back {
                "queued again"
            } else {
                "ended"
            };
            match preempted.grace {
                Some(grace) => format!(
                    "preempted: {then} when its grace time is over, at {}",
                    when.clock(grace)
                ),
                None => format!("preempted: it is being {then}"),
            }
        }
        (None, Some(until)) => format!("until {}", when.clock(until)),
        (None, None) if holder.is_suspended => "suspended".to_owned(),
        (None, None) => "without a limit".to_owned(),
    };
    let kinds = Kinds {
        gpus: holder.holds.gpus > 0,
        memory: holder.holds.memory > 0,
    };
    let holds = amount(holder.holds, kinds);
    format!("job {job} of {}: {holds}, {until}", holder.user)
}

/// `node[1-2]: drained by root: disk`
pub(in crate::commands) fn out_of_use(away: &OutOfUse) -> String {
    let nodes = model::node_list::fold(&away.nodes);
    let by = match &away.by[..] {
        "" => String::new(),
        by => format!(" by {by}"),
    };
    let reason = match &away.reason[..] {
        "" => "no reason was given",
        reason => reason,
    };
    format!("{nodes}: {}{by}: {reason}", away.state)
}

/// `afterok:7 can't be met any more: job 7 ended as FAILED`
pub(super) fn never_met(never: &NeverMet) -> String {
    let ended = match &never.state {
        Some(state) => format!("job {} ended as {state}", never.job),
        None => format!("job {} has ended otherwise", never.job),
    };
    format!("{} can't be met any more: {ended}", never.condition)
}

/// `afterok:7: job 7 runs until 02:00 at the latest`
pub(super) fn unmet(unmet: &Unmet, when: When<'_>) -> String {
    let condition = &unmet.condition;
    if let Some(at) = unmet.met_at {
        return format!("{condition}: met at {}", when.clock(at));
    }
    let jobs = unmet.jobs.iter().map(|job| {
        let name = &job.job;
        match (&job.waits, job.until) {
            (Some(reason), _) => format!("job {name} waits itself ({reason})"),
            (None, _) if job.is_suspended => format!("job {name} is suspended"),
            (None, Some(until)) => {
                format!("job {name} runs until {} at the latest", when.clock(until))
            }
            (None, None) => format!("job {name} runs without a limit"),
        }
    });
    let more = (unmet.more > 0).then(|| counted(unmet.more, "more job"));
    let jobs: Vec<String> = jobs.chain(more).collect();
    format!("{condition}: {}", jobs.join(", "))
}

/// `1 matlab asked, 2 of 2 held: 1 by job 12, 1 by job 13`
pub(super) fn licences(need: &LicenceNeed) -> String {
    let all: u32 = need.held.iter().map(|(_, count)| *count).sum();
    let holders = need.held.iter().take(SHOWN);
    let holders: Vec<String> = holders
        .map(|(job, count)| format!("{count} by job {job}"))
        .collect();
    let more = need.held.len().saturating_sub(SHOWN);
    let more = if more > 0 {
        format!(", others by {}", counted(more, "more job"))
    } else {
        String::new()
    };
    let held = if holders.is_empty() {
        "none held".to_owned()
    } else {
        format!("{all} of {} held: {}{more}", need.there, holders.join(", "))
    };
    let reserved = match need.reserved {
        0 => String::new(),
        reserved => format!("; {reserved} of {} kept by reservations", need.there),
    };
    format!("{} {} asked, {held}{reserved}", need.asked, need.name,)
}

/// `maint keeps g[1-2] for root from 14:00 until 16:00`
pub(super) fn reserved(reservation: &Reservation, when: When<'_>) -> String {
    let nodes = model::node_list::fold(&reservation.nodes);
    let what = if reservation.is(ReservationFlag::Maint) {
        "maintenance".to_owned()
    } else {
        let who = [reservation.users.text(), reservation.accounts.text()];
        let who: Vec<String> = who.into_iter().flatten().collect();
        who.join(", ")
    };
    let from = if reservation.start > when.now {
        format!(" from {}", when.clock(reservation.start))
    } else {
        String::new()
    };
    let until = when.clock(reservation.end);
    format!(
        "{} keeps {nodes} for {what}{from} until {until}",
        reservation.name
    )
}
/// `text` behind its head.
pub(super) fn line(head: &str, text: &str) -> String {
    format!("{}\n", row(head, &model::one_line(text)))
}

/// Which amounts are shown beside CPUs.
#[derive(Clone, Copy)]
struct Kinds {
    gpus: bool,
    memory: bool,
}

/// `2 GPUs, 8 CPUs and 16 GiB`
fn amount(amount: HeldAmount, kinds: Kinds) -> String {
    let count = |count: u64, what| counted(usize::try_from(count).unwrap_or(usize::MAX), what);
    let memory = kinds.memory.then(|| mebibytes_text(amount.memory));
    let gpus = kinds.gpus.then(|| count(amount.gpus, "GPU"));
    let mut all: Vec<String> = gpus.into_iter().collect();
    all.push(count(amount.cpus, "CPU"));
    all.extend(memory);
    match all.pop() {
        Some(last) if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        last => last.unwrap_or_default(),
    }
}

/// `main: jobs last at most 01:00:00`
pub(super) fn bound_of_partition(bound: &PartitionBound) -> String {
    let says = match bound.says {
        PartitionSays::Closed => "it starts no jobs".to_owned(),
        PartitionSays::Time { most } => {
            format!("jobs last at most {}", TimeLimitRequest::Limit(most))
        }
        PartitionSays::Nodes { least, most } => {
            let most = most.map(|most| format!("at most {most}"));
            let least = (least > 1).then(|| format!("at least {least}"));
            let both: Vec<String> = least.into_iter().chain(most).collect();
            format!("nodes of a job: {}", both.join(", "))
        }
        PartitionSays::Cpus {
            asked,
            on_one,
            there,
        } => {
            let count = |count: u64| counted(usize::try_from(count).unwrap_or(usize::MAX), "CPU");
            let (asked, there) = (count(asked), count(there));
            if on_one {
                format!("a task asks for {asked} on one node, its largest node has {there}")
            } else {
                format!("the job asks for {asked}, it has {there} in all")
            }
        }
    };
    format!("{}: {says}", bound.partition)
}
