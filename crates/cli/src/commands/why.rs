//! `yard why`

use super::story::row;
use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::other_engines::cpus_held_elsewhere;
use crate::printer::Printer;
use crate::words::length;
use api::{ArrayThrottle, CpusAndGpus, JobHolds, LicenceNeed, NeverMet, OutOfUse, WhyWaiting};
use backend::ViewState;
use clap::Args as ClapArgs;
use folder::RunFolder;
use jiff::tz::TimeZone;
use model::{
    JobId, LimitedAmount, ReachedLimit, Reservation, ReservationFlag, Seconds, TimeLimitRequest,
    Timestamp, counted,
};
use runs::{Selected, hold_remedy, say_reason, say_wait, select_live};
use std::borrow::Cow;

/// So many of those that hold what a job waits for are named.
const SHOWN: usize = 4;

/// Say why a run or job waits: what it lacks, who holds that, when it starts, what would start now
///
/// The start is that of the scheduler's own plan, in which jobs run until their limits and no
/// others come; requests that would start now were tried one by one.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run or a job, by id or name, or @ for the newest one
    #[arg(value_name = "RUN", default_value = "@")]
    run: String,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs `yard why`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let mut selected = super::selected(select_live(&first_element(&args.run)), printer)?;
    let name = selected.name();
    let after = after(&selected);
    let Some(job) = selected.job else {
        return Err(
            Failure::new(FailureKind::Usage, format!("{name} was never submitted"))
                .todo(format!("yard show {name} says what became of it")),
        );
    };
    let asked = match selected.jobs() {
        none if none.is_empty() => vec![job],
        jobs => jobs,
    };
    let mut views = selected.transport.jobs(&asked)?;
    // Of several jobs of a run the one that counts: what takes over waits where the first has ended.
    let mut comes_back = false;
    if let Some(run) = &selected.run {
        views = run.view(&views).into_iter().collect();
        comes_back = run.state(views.first()).is_live();
    }
    let waits = views.iter().find_map(|view| match &view.state {
        ViewState::Waiting { reason } => Some((view.id, reason.clone())),
        _ => None,
    });
    let Some((waiting, reason)) = waits else {
        let said = views.iter().find_map(|view| match &view.state {
            ViewState::Running { .. } => Some("runs"),
            ViewState::Ended { .. } if comes_back => Some("is about to be started again"),
            ViewState::Ended { .. } => Some("has ended"),
            _ => None,
        });
        let said = said.unwrap_or("does not wait, as far as is known");
        if args.json {
            let text = serde_json::json!({ "name": name, "waits": false, "there": said });
            printer.line(&text.to_string());
        } else {
            printer.show_line(&format!("{name} {said}"));
        }
        return Ok(exit_code::DONE);
    };
    match selected.transport.why(waiting)? {
        Some(why) if args.json => {
            let text = serde_json::to_string_pretty(&why)
                .map_err(|error| Failure::new(FailureKind::Io, format!("no JSON: {error}")))?;
            printer.line(&text);
        }
        Some(why) => {
            let now = Timestamp(jiff::Timestamp::now().as_millisecond());
            let others = cpus_held_elsewhere(&why.cpus_held_elsewhere);
            let zone = TimeZone::system();
            printer.shown(&story(&name, &why, &after, others.as_deref(), now, &zone));
        }
        None if args.json => {
            let text = serde_json::json!({ "name": name, "waits": true, "reason": reason });
            printer.line(&text.to_string());
        }
        None => {
            printer.show_line(&format!("{name} waits: {}", say_wait(&reason)));
            printer.say(&format!(
                "squeue --start -j {waiting} has the cluster's own estimate"
            ));
        }
    }
    Ok(exit_code::DONE)
}

/// Elements that wait together wait for the same: of `17_[2-4%1]`, as squeue prints them, `17_2`.
fn first_element(name: &str) -> Cow<'_, str> {
    let elements = name
        .strip_suffix(']')
        .and_then(|name| name.split_once("_["));
    let Some((job, elements)) = elements else {
        return Cow::Borrowed(name);
    };
    let is_range = |byte: u8| byte.is_ascii_digit() || b"-,:%.".contains(&byte);
    let first = elements.split(|c: char| !c.is_ascii_digit()).next();
    match first.filter(|first| !first.is_empty() && elements.bytes().all(is_range)) {
        Some(first) => Cow::Owned(format!("{job}_{first}")),
        None => Cow::Borrowed(name),
    }
}

/// What lets a job start that a limit on each job keeps, whatever else runs.
fn limit_remedy(limit: &ReachedLimit, job: JobId) -> Option<String> {
    let change = match &limit.on {
        _ if limit.is_shared() => return None,
        LimitedAmount::Time => {
            let most = TimeLimitRequest::Limit(Seconds(limit.most));
            format!("TimeLimit={most}")
        }
        LimitedAmount::Tres(name) if name == "node" => format!("NumNodes={}", limit.most),
        _ => {
            return Some(
                "not as it is: cancel it, and submit it again within the limit".to_owned(),
            );
        }
    };
    Some(format!(
        "not as it is: scontrol update JobId={job} {change} lets it take its turn"
    ))
}

/// The runs after which a run comes.
fn after(selected: &Selected) -> Vec<String> {
    let run = selected.run.as_ref();
    let json = run.and_then(|run| Some(RunFolder::open(&run.entry.folder).ok()?.1));
    let after = json.into_iter().flat_map(|json| json.after);
    after.map(|other| other.id).collect()
}

/// What a person reads.
fn story(
    name: &str,
    why: &WhyWaiting,
    after: &[String],
    others: Option<&str>,
    now: Timestamp,
    zone: &TimeZone,
) -> String {
    let mut text = format!("{name}: {}\n", say_reason(&why.reason));
    if why.reason.starts_with("Dependency") && !after.is_empty() {
        text += &line("after", &format!("{} is done", after.join(", ")));
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
    for need in &why.licences {
        text += &line("licences", &licences(need));
    }
    for reservation in &why.reservations {
        text += &line("reserved", &reserved(reservation, now, zone));
    }
    if let [first, ..] = &why.ahead[..] {
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
        text += &line(head, &held_by(holder, now, zone));
    }
    let more = why.holders.len().saturating_sub(SHOWN);
    if more > 0 {
        text += &line("", &format!("{} more", counted(more, "job")));
    }
    if let Some(others) = others {
        text += &line("others", others);
    }
    let start = match why.start {
        Some(start) if start > now => {
            let nodes = match &why.nodes[..] {
                [] => String::new(),
                nodes => format!(", on {}", model::node_list::fold(nodes)),
            };
            let next = why.throttle.and_then(|throttle| throttle.next);
            let next = next.map_or_else(String::new, |next| format!("element {next} next, "));
            format!(
                "{next}about {}, in {}{nodes}, if jobs run until their limits",
                clock(start, now, zone),
                length(start.0 - now.0)
            )
        }
        Some(_) => "at the next pass of the scheduler".to_owned(),
        None => hold_remedy(&why.reason, why.job)
            .or_else(|| limit_remedy(why.limit.as_ref()?, why.job))
            .unwrap_or_else(|| no_start(why)),
    };
    text += &line("starts", &start);
    if let Some(too_late) = why.too_late {
        let until = clock(too_late, now, zone);
        let ends = format!("{until} if it has not started, by its deadline and its limit");
        text += &line("ends", &ends);
    }
    if !why.instead.is_empty() {
        let instead = why.instead.join(" or ");
        text += &line("sooner", &format!("it would start now with {instead}"));
    }
    text
}

/// What the job needs and what of that is free.
fn needs_and_free(why: &WhyWaiting) -> String {
    let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
    let several = why.nodes_needed.filter(|nodes| nodes.least > 1);
    let nodes = several.map(|nodes| counted(count(nodes.least), "node"));
    let Some(needs) = why.needs else {
        return nodes.map_or_else(String::new, |nodes| line("needs", &nodes));
    };
    let with_gpus = needs.gpus > 0;
    let amounts = nodes.into_iter().chain([amount(needs, with_gpus)]);
    let needs = amounts.collect::<Vec<String>>().join(", ");
    let room = several.and_then(|nodes| {
        Some(format!(
            "; nodes with room: {} of {}",
            nodes.with_room?, nodes.there
        ))
    });
    let free = format!(
        "{} of {}, at most {} on one node{}",
        amount(why.free, with_gpus),
        amount(why.there, with_gpus),
        amount(why.free_on_one, with_gpus),
        room.unwrap_or_default()
    );
    line("needs", &needs) + &line("free", &free)
}

/// `array 17 runs at most 2 elements at a time (%2)`
fn throttled(throttle: &ArrayThrottle) -> String {
    let ArrayThrottle { array, most, .. } = throttle;
    let count = usize::try_from(*most).unwrap_or(usize::MAX);
    let elements = counted(count, "element");
    format!("array {array} runs at most {elements} at a time (%{most})")
}

/// `job 12 of ann: 2 GPUs and 8 CPUs, until 02:00`
fn held_by(holder: &JobHolds, now: Timestamp, zone: &TimeZone) -> String {
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
                    clock(grace, now, zone)
                ),
                None => format!("preempted: it is being {then}"),
            }
        }
        (None, Some(until)) => format!("until {}", clock(until, now, zone)),
        (None, None) if holder.is_suspended => "suspended".to_owned(),
        (None, None) => "without a limit".to_owned(),
    };
    let holds = amount(holder.holds, holder.holds.gpus > 0);
    format!("job {job} of {}: {holds}, {until}", holder.user)
}

/// `node[1-2]: drained by root: disk`
fn out_of_use(away: &OutOfUse) -> String {
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
fn never_met(never: &NeverMet) -> String {
    let ended = match &never.state {
        Some(state) => format!("job {} ended as {state}", never.job),
        None => format!("job {} has ended otherwise", never.job),
    };
    format!("{} can't be met any more: {ended}", never.condition)
}

/// Why it is not known when a job starts, and what helps.
fn no_start(why: &WhyWaiting) -> String {
    let job = why.job;
    if !why.never_met.is_empty() {
        return format!("never: scancel {job} removes it");
    }
    if let Some(holder) = why.no_limit {
        return format!("not known: job {holder} has no time limit");
    }
    if let Some(holder) = why.holders.iter().find(|holder| holder.is_suspended) {
        let job = holder.job;
        return format!(
            "not known: job {job} is suspended: scontrol resume {job} lets it go on, scancel {job} ends it"
        );
    }
    if !why.cpus_held_elsewhere.is_empty() {
        return "not known: when jobs of another engine end".to_owned();
    }
    if !why.out_of_use.is_empty() {
        let nodes = why.out_of_use.iter().flat_map(|away| &away.nodes);
        let nodes = model::node_list::fold(nodes);
        return format!(
            "once nodes are back: scontrol update NodeName={nodes} State=RESUME lets them take jobs"
        );
    }
    "not known: no end of a running job lets it start".to_owned()
}

/// `1 matlab asked, 2 of 2 held: 1 by job 12, 1 by job 13`
fn licences(need: &LicenceNeed) -> String {
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
fn reserved(reservation: &Reservation, now: Timestamp, zone: &TimeZone) -> String {
    let nodes = model::node_list::fold(&reservation.nodes);
    let what = if reservation.is(ReservationFlag::Maint) {
        "maintenance".to_owned()
    } else {
        let who = [reservation.users.text(), reservation.accounts.text()];
        let who: Vec<String> = who.into_iter().flatten().collect();
        who.join(", ")
    };
    let from = if reservation.start > now {
        format!(" from {}", clock(reservation.start, now, zone))
    } else {
        String::new()
    };
    let until = clock(reservation.end, now, zone);
    format!(
        "{} keeps {nodes} for {what}{from} until {until}",
        reservation.name
    )
}

fn line(head: &str, text: &str) -> String {
    format!("{}\n", row(head, &model::one_line(text)))
}

fn amount(amount: CpusAndGpus, with_gpus: bool) -> String {
    let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let cpus = counted(count(amount.cpus), "CPU");
    if with_gpus {
        format!("{} and {cpus}", counted(count(amount.gpus), "GPU"))
    } else {
        cpus
    }
}

/// The time of today, else with the day.
fn clock(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let moment = |at: Timestamp| {
        let instant = jiff::Timestamp::from_millisecond(at.0);
        instant.map(|instant| instant.to_zoned(zone.clone()))
    };
    match (moment(at), moment(now)) {
        (Ok(at), Ok(now)) if at.date() == now.date() => at.strftime("%H:%M").to_string(),
        (Ok(at), _) => at.strftime("%Y-%m-%d %H:%M").to_string(),
        (Err(_), _) => "an unknown time".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::{NodesNeeded, PreemptedJob};
    use expect_test::expect;

    #[test]
    fn who_has_the_licences() {
        let need = LicenceNeed {
            name: "matlab".to_owned(),
            asked: 2,
            there: 3,
            reserved: 0,
            held: vec![(JobId(12), 1), (JobId(13), 1)],
        };
        expect!["2 matlab asked, 2 of 3 held: 1 by job 12, 1 by job 13"]
            .assert_eq(&licences(&need));
        let kept = LicenceNeed {
            reserved: 2,
            held: Vec::new(),
            ..need
        };
        expect!["2 matlab asked, none held; 2 of 3 kept by reservations"]
            .assert_eq(&licences(&kept));
    }

    #[test]
    fn elements_as_squeue_prints_them() {
        for (name, want) in [
            ("17_[2-4%1]", "17_2"),
            ("w:17_[2,4-8:2]", "w:17_2"),
            ("17_[12-40,...]", "17_12"),
            ("17_3", "17_3"),
            ("my_[job]", "my_[job]"),
            ("17_[]", "17_[]"),
        ] {
            assert_eq!(first_element(name), want);
        }
    }

    #[test]
    fn a_job_that_waits_for_gpus() {
        let amount = |cpus: u64, gpus: u64| CpusAndGpus { cpus, gpus };
        let hour = 3_600_000;
        let why = WhyWaiting {
            job: JobId(17),
            reason: "Resources".to_owned(),
            needs: Some(amount(4, 2)),
            free: amount(20, 1),
            free_on_one: amount(4, 1),
            nodes_needed: Some(NodesNeeded {
                least: 2,
                with_room: Some(1),
                there: 8,
            }),
            out_of_use: vec![OutOfUse {
                nodes: ["g7", "g8"].map(model::NodeName::new).to_vec(),
                state: "drained".to_owned(),
                reason: "disk".to_owned(),
                by: "root".to_owned(),
            }],
            no_limit: None,
            never_met: Vec::new(),
            cpus_held_elsewhere: Vec::new(),
            there: amount(32, 4),
            ahead: vec![JobId(15), JobId(16)],
            holders: vec![
                JobHolds {
                    job: JobId(12),
                    user: "ann".to_owned(),
                    holds: amount(8, 2),
                    until: Some(Timestamp(2 * hour)),
                    is_suspended: false,
                    element: None,
                    preempted: None,
                },
                JobHolds {
                    job: JobId(11),
                    user: "bob".to_owned(),
                    holds: amount(1, 0),
                    until: None,
                    is_suspended: false,
                    element: None,
                    preempted: None,
                },
                JobHolds {
                    job: JobId(10),
                    user: "bob".to_owned(),
                    holds: amount(4, 0),
                    until: None,
                    is_suspended: true,
                    element: None,
                    preempted: None,
                },
            ],
            start: Some(Timestamp(2 * hour)),
            nodes: ["g1", "g2"].map(model::NodeName::new).to_vec(),
            licences: Vec::new(),
            too_late: Some(Timestamp(9 * hour)),
            limit: None,
            throttle: None,
            reservations: vec![
                Reservation {
                    name: "service".to_owned(),
                    start: Timestamp(3 * hour),
                    end: Timestamp(4 * hour),
                    nodes: vec![model::NodeName::new("g1"), model::NodeName::new("g2")],
                    flags: [ReservationFlag::Maint].into(),
                    ..Reservation::default()
                },
                Reservation {
                    name: "course".to_owned(),
                    end: Timestamp(30 * hour),
                    nodes: vec![model::NodeName::new("g3")],
                    users: model::ReservedFor {
                        names: vec!["ann".to_owned(), "bob".to_owned()],
                        are_excluded: false,
                    },
                    ..Reservation::default()
                },
            ],
            instead: vec!["--gpus=1".to_owned(), "--time=01:00:00".to_owned()],
        };
        let story = |why: &WhyWaiting| {
            let has = !why.cpus_held_elsewhere.is_empty();
            let others = has.then_some("CPU 3 is in use by another engine");
            story("job 17", why, &[], others, Timestamp(hour), &TimeZone::UTC)
        };
        let text = story(&why);
        expect![[r#"
            job 17: waiting for free CPUs, memory or GPUs (Resources)
              needs        2 nodes, 2 GPUs and 4 CPUs
              free         1 GPU and 20 CPUs of 4 GPUs and 32 CPUs, at most 1 GPU and 4 CPUs on one node; nodes with room: 1 of 8
              out of use   g[7-8]: drained by root: disk
              reserved     service keeps g[1-2] for maintenance from 03:00 until 04:00
              reserved     course keeps g3 for ann,bob until 1970-01-02 06:00
              ahead        2 jobs wait and come before it, job 15 among them
              held by      job 12 of ann: 2 GPUs and 8 CPUs, until 02:00
                           job 11 of bob: 1 CPU, without a limit
                           job 10 of bob: 4 CPUs, suspended
              starts       about 02:00, in 1 h 00, on g[1-2], if jobs run until their limits
              ends         09:00 if it has not started, by its deadline and its limit
              sooner       it would start now with --gpus=1 or --time=01:00:00
        "#]].assert_eq(&text);
        let last = |why: WhyWaiting| {
            let lines = WhyWaiting {
                start: None,
                needs: None,
                too_late: None,
                instead: Vec::new(),
                reservations: Vec::new(),
                holders: Vec::new(),
                ahead: Vec::new(),
                ..why
            };
            story(&lines)
        };
        let without_limit = WhyWaiting {
            no_limit: Some(JobId(11)),
            out_of_use: Vec::new(),
            ..why.clone()
        };
        expect![[r#"
            job 17: waiting for free CPUs, memory or GPUs (Resources)
              needs        2 nodes
              starts       not known: job 11 has no time limit
        "#]]
        .assert_eq(&last(without_limit));
        let holder = |job: u32, element: &str, preempted: Option<PreemptedJob>| JobHolds {
            job: JobId(job),
            element: Some(element.to_owned()).filter(|element| !element.is_empty()),
            preempted,
            ..why.holders[0].clone()
        };
        let plain = |why: &WhyWaiting| WhyWaiting {
            needs: None,
            too_late: None,
            ahead: Vec::new(),
            reservations: Vec::new(),
            out_of_use: Vec::new(),
            instead: Vec::new(),
            ..why.clone()
        };
        let preempts =
            |grace: Option<Timestamp>, comes_back: bool| Some(PreemptedJob { grace, comes_back });
        expect![[r#"
            job 17: waiting for free CPUs, memory or GPUs (Resources)
              needs        2 nodes
              held by      job 12 of ann: 2 GPUs and 8 CPUs, preempted: ended when its grace time is over, at 01:30
                           job 13 of ann: 2 GPUs and 8 CPUs, preempted: it is being queued again
              starts       about 02:00, in 1 h 00, on g[1-2], if jobs run until their limits
        "#]]
        .assert_eq(&story(&WhyWaiting {
            holders: vec![
                holder(12, "", preempts(Some(Timestamp(hour * 3 / 2)), false)),
                holder(13, "", preempts(None, true)),
            ],
            ..plain(&why)
        }));
        expect![[r#"
            job 17: its array runs as many elements as its limit allows (JobArrayTaskLimit)
              throttle     array 17 runs at most 1 element at a time (%1)
              held by      job 17_3 of ann: 2 GPUs and 8 CPUs, until 02:00
              starts       element 4 next, about 02:00, in 1 h 00, on g[1-2], if jobs run until their limits
        "#]]
        .assert_eq(&story(&WhyWaiting {
            reason: "JobArrayTaskLimit".to_owned(),
            throttle: Some(ArrayThrottle {
                array: JobId(17),
                most: 1,
                next: Some(4),
            }),
            nodes_needed: None,
            holders: vec![holder(18, "17_3", None)],
            ..plain(&why)
        }));
        let on_drained = WhyWaiting {
            reason: "ReqNodeNotAvail, UnavailableNodes:g[7-8]".to_owned(),
            ..why.clone()
        };
        expect![[r#"
            job 17: nodes that it needs are down or drained (ReqNodeNotAvail, UnavailableNodes:g[7-8])
              needs        2 nodes
              out of use   g[7-8]: drained by root: disk
              starts       once nodes are back: scontrol update NodeName=g[7-8] State=RESUME lets them take jobs
        "#]].assert_eq(&last(on_drained));
        let beside_others = WhyWaiting {
            cpus_held_elsewhere: vec![3],
            out_of_use: Vec::new(),
            nodes_needed: None,
            ..why.clone()
        };
        expect![[r#"
            job 17: waiting for free CPUs, memory or GPUs (Resources)
              others       CPU 3 is in use by another engine
              starts       not known: when jobs of another engine end
        "#]]
        .assert_eq(&last(beside_others));
        let after_failed = WhyWaiting {
            reason: "DependencyNeverSatisfied".to_owned(),
            never_met: vec![NeverMet {
                condition: "afterok:7".to_owned(),
                job: "7".to_owned(),
                state: Some("FAILED".to_owned()),
            }],
            out_of_use: Vec::new(),
            nodes_needed: None,
            ..why
        };
        expect![[r#"
            job 17: the job that it depends on did not end as required (DependencyNeverSatisfied)
              never        afterok:7 can't be met any more: job 7 ended as FAILED
              starts       never: scancel 17 removes it
        "#]]
        .assert_eq(&last(after_failed));
    }
}
