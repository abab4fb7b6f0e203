//! `sacct`: jobs that ended, and those that did not, with what they used.

use super::connection::{CommandError, connect_to_look, view_facts};
use super::sacct_json;
use super::yaml::yaml_text;
use crate::printer::Printer;
use api::{Client, EndedFilter, JobFilter};
use model::{
    AccountNumbers, JobHistory, JobId, JobInfo, JobState, JobStateName, SacctArgs, SacctBrought,
    SacctData, SacctShow, Timestamp, parse_moment, sacct_columns_text,
};
use std::os::unix::ffi::OsStrExt;

/// Runs it; returns its exit status.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    let now = Timestamp(sys::now());
    let asked = match SacctArgs::parse(args, &super::variable, now, &super::moment_style()) {
        Ok(asked) => asked,
        Err(wrong) => {
            printer.say(&wrong.to_string());
            return 1;
        }
    };
    match asked.show {
        Some(SacctShow::Help) => printer.data(&help()),
        Some(SacctShow::Columns) => printer.data(&sacct_columns_text()),
        Some(SacctShow::Version) => printer.line(&super::version_line()),
        Some(SacctShow::Usage) => printer.data("Usage: sacct [options]\n\tUse --help for help\n"),
        Some(SacctShow::Completion) => {
            printer.say("Slurm job completion is disabled");
            return 1;
        }
        None => match answer(&asked, now, printer) {
            // A script may have bytes that are no UTF-8.
            Ok(Some(text)) if asked.brought.is_some() => {
                printer.bytes(sys::odd_text::bytes(&text).as_bytes());
            }
            Ok(Some(text)) => printer.data(&text),
            Ok(None) => return 1,
            Err(failure) => {
                failure.say("sacct", printer);
                return 1;
            }
        },
    }
    0
}

/// What is printed; none where it was said what is wrong.
fn answer(
    asked: &SacctArgs,
    now: Timestamp,
    printer: &Printer,
) -> Result<Option<String>, CommandError> {
    if let Some(file) = &asked.completions
        && !std::path::Path::new(file).is_file()
    {
        printer.say(&format!("{file} is not a valid file"));
        return Ok(None);
    }
    let mut client = connect_to_look()?;
    for user in asked.users.iter().flatten() {
        let is_number = user.parse::<u32>().is_ok();
        if !is_number && sys::users::user_by_name(user).ok().flatten().is_none() {
            printer.say(&format!("sacct: error: Invalid user id: {user}"));
            return Ok(None);
        }
    }
    for group in asked.groups.iter().flatten() {
        if matches!(sys::users::group(group), Ok(None)) {
            printer.say(&format!("sacct: error: Invalid group id: {group}"));
            return Ok(None);
        }
    }
    if let (Some(_), Some(client)) = (&asked.qos, &mut client) {
        let known = client.accounting()?.qos;
        let known: Vec<String> = known.into_iter().map(|qos| qos.name).collect();
        if let Some(unknown) = asked.unknown_qos(&known) {
            printer.say(&format!(
                "sacct: error: You gave a bad qos '{unknown}'. Valid QOS's are {}",
                known.join(",")
            ));
            printer.say("sacct: fatal: problem processing qos list");
            return Ok(None);
        }
    }
    let me = sys::process::user();
    let users = match &asked.users {
        _ if asked.jobs.is_some() => None,
        Some(users) => Some(users.clone()),
        None => (me != 0 && !asked.all_users).then(|| vec![me.to_string()]),
    };
    let since = since(asked, now);
    let ids = match &mut client {
        Some(client) => named_ids(asked, client)?,
        None => None,
    };
    let histories = match &mut client {
        Some(client) => client.histories(JobFilter {
            components: true,
            users,
            ids,
            ended_since: Some(since),
            ended: EndedFilter {
                submitted_until: asked.until,
                names: asked.names.clone(),
                accounts: asked.accounts.clone(),
                partitions: asked.partitions.clone(),
                qos: asked.qos.clone(),
                nodes: asked.nodes.clone(),
                states: asked.end_states().map(<[JobStateName]>::to_vec),
            },
            ..JobFilter::default()
        })?,
        None => Vec::new(),
    };
    let mut facts = view_facts(client.as_mut().filter(|_| !histories.is_empty()))?;
    if let (Some(client), true) = (&mut client, asked.shows_numbers()) {
        facts.numbers = AccountNumbers::of(&client.accounting()?);
    }
    let is_wanted = |info: &JobInfo, history: &JobHistory| {
        let by_user = match &asked.users {
            Some(users) => users
                .iter()
                .any(|user| *user == info.user() || *user == info.uid().to_string()),
            None => asked.all_users || asked.jobs.is_some() || me == 0 || info.uid() == me,
        };
        let begun = match &history.job.state {
            JobState::Running { since, .. } => {
                let first = history.starts.first();
                first.map_or(*since, |start| start.since)
            }
            // What is queued again was submitted for its first start.
            JobState::Pending { .. } | JobState::Ended { .. } => history
                .starts
                .first()
                .map_or(info.submitted, |start| start.submitted),
        };
        // A job counts from when it could have started, unless it is named.
        let has_run = !history.starts.is_empty()
            || !matches!(
                history.job.state,
                JobState::Pending { .. } | JobState::Ended { ran: None, .. }
            );
        let has_come = asked.jobs.is_some()
            || has_run
            || info.eligible.is_some_and(|eligible| eligible <= now);
        by_user
            && has_come
            && (asked.states_within.is_some() || asked.until.is_none_or(|until| begun <= until))
            && asked.wants(info, history, &facts)
    };
    let mut jobs: Vec<(JobInfo, &JobHistory)> = histories
        .iter()
        .map(|history| (JobInfo::of(&history.job, &facts), history))
        .filter(|(info, history)| is_wanted(info, history))
        .collect();
    jobs.sort_by_key(|(info, _)| info.place_among_records());
    if let (Some(brought), Some(client)) = (asked.brought, &mut client) {
        return Ok(Some(brought_text(brought, &jobs, client)?));
    }
    let text = match asked.data {
        None => asked.print(&jobs, &facts),
        Some(SacctData::Json) => format!("{:#}\n", sacct_json::value(&asked.rows(&jobs, &facts))),
        Some(SacctData::Yaml) => yaml_text(&sacct_json::value(&asked.rows(&jobs, &facts))),
    };
    // The process ends: what many jobs took need not be given back piece by piece.
    std::mem::forget(jobs);
    std::mem::forget(histories);
    Ok(Some(text))
}

/// The ids of the jobs that are named; of a component, where all of its job is asked for, the first one's.
fn named_ids(asked: &SacctArgs, client: &mut Client) -> Result<Option<Vec<JobId>>, CommandError> {
    let Some(names) = &asked.jobs else {
        return Ok(None);
    };
    let mut ids: Vec<JobId> = names.iter().map(|name| JobId(name.job.job)).collect();
    if asked.whole_het_job == Some(true) {
        let records = client.jobs(JobFilter {
            ids: Some(ids.clone()),
            ended_since: Some(Timestamp(0)),
            ..JobFilter::default()
        })?;
        let places = records
            .iter()
            .filter_map(|record| record.request.rare.component);
        ids.extend(places.map(|place| place.leader));
    }
    Ok(Some(ids))
}

/// What jobs were submitted with, as long as their files are kept.
fn brought_text(
    brought: SacctBrought,
    jobs: &[(JobInfo, &JobHistory)],
    client: &mut Client,
) -> Result<String, CommandError> {
    let mut text = String::new();
    for (info, history) in jobs {
        let kept = match brought {
            SacctBrought::Script => client.script(history.job.id),
            SacctBrought::Environment => client.environment(history.job.id),
        };
        let kept = match kept {
            Ok(kept) if kept.is_empty() => "NONE\n".to_owned(),
            Ok(kept) => kept,
            Err(error) if error.refusal().is_some() => "NONE\n".to_owned(),
            Err(error) => return Err(error.into()),
        };
        text.push_str(&format!("{}{kept}", brought.title(&info.id_text(false))));
        text.push_str(if kept.ends_with('\n') { "\n" } else { "\n\n" });
    }
    Ok(text)
}

/// From when on: as asked, else for named jobs from the beginning, else since midnight.
fn since(asked: &SacctArgs, now: Timestamp) -> Timestamp {
    match (asked.since, &asked.jobs) {
        (Some(since), _) => since,
        (None, Some(_)) => Timestamp(0),
        // States are those of this moment, where no time is named.
        (None, None) if asked.states.is_some() => now,
        (None, None) => {
            let midnight = parse_moment("today", now, &sys::local_zone());
            midnight.unwrap_or(Timestamp(now.0 - 86_400_000))
        }
    }
}

/// What `--help` says above the options.
const ABOUT: &str = "\
Usage: sacct [OPTIONS]
Lists jobs of Trainyard's embedded engine, ended ones too, as Slurm's sacct lists those of a cluster:
your own since midnight, with their steps.
";

/// What `--help` says below the options.
const NOTES: &str = "\
Columns of what is not gathered here are empty. MaxRSS is the most that one process held at once. Tasks
are counted when they end: MaxDiskRead is what came from a disk, not what was found in memory. MaxVMSize
is the most that was seen of a task and all below it: they are looked at soon after their start, then ever
less often, every 30 seconds at least. With states and moments, jobs are those that ran, waited or ended so in
that time; with --starttime alone, at that moment. Jobs that could not have started yet are shown where
they are named. No job has the id of an association: with -x none is shown.
";

/// `sacct --help`
pub(super) fn help() -> String {
    super::command_help("sacct", ABOUT, NOTES)
}
