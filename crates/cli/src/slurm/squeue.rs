//! `squeue`: jobs and steps as they stand.

use super::connection::{CommandError, connect_to_look, view_facts};
use super::step_ends::step_ends;
use super::yaml::yaml_text;
use crate::printer::Printer;
use api::{Client, JobFilter, Refusal};
use model::{
    AccountNumbers, JobId, JobInfo, JobRecord, JobState, JobStateName, NodeName, Printed,
    QueueJson, SQUEUE_USAGE, SqueueAction, SqueueArgs, SqueueUsageError, StateFilter, StepRecord,
    Timestamp,
};
use serde_json::Value;

/// How long Slurm's controller remembers a job that ended (its default MinJobAge).
const REMEMBERED_MS: i64 = 300_000;

/// Runs it; returns its exit status.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    let asked = match SqueueArgs::parse("squeue", args, &super::variable) {
        Ok(asked) => asked,
        Err(error) => {
            if matches!(error, SqueueUsageError::Operand(_)) {
                printer.data(SQUEUE_USAGE);
            }
            printer.say(&error.to_string());
            return 1;
        }
    };
    match asked.action {
        SqueueAction::Help => {
            printer.data(&help());
            return 0;
        }
        SqueueAction::Usage => {
            printer.data(SQUEUE_USAGE);
            return 0;
        }
        SqueueAction::Version => {
            printer.line(&super::version_line());
            return 0;
        }
        SqueueAction::List | SqueueAction::Json | SqueueAction::Yaml => {}
    }
    if let Some(unknown) = super::unknown_cluster(asked.clusters.as_deref()) {
        printer.say(&super::unknown_cluster_text("squeue", &unknown));
        return 1;
    }
    let nodes = match nodes(&asked) {
        Ok(nodes) => nodes,
        Err(wrong) => {
            printer.say(&format!("squeue: error: {wrong}"));
            return 1;
        }
    };
    say_unknown_users(&asked, printer);
    if asked.is_verbose() && asked.action == SqueueAction::List {
        printer.data(&asked.said(sys::process::user()));
    }
    let every = asked.every.filter(|_| !asked.is_data());
    loop {
        let has_header = !asked.no_header && !asked.is_data();
        if has_header && super::is_cluster_named(asked.clusters.as_deref()) {
            let own = super::connection::engine_name().unwrap_or_default();
            printer.line(&format!("CLUSTER: {own}"));
        }
        let status = list(&asked, nodes.as_deref(), printer);
        let Some(seconds) = every.filter(|_| status == 0) else {
            return status;
        };
        printer.line("");
        std::thread::sleep(std::time::Duration::from_secs(u64::from(seconds)));
    }
}

/// Lists once; returns the exit status.
fn list(asked: &SqueueArgs, nodes: Option<&[NodeName]>, printer: &Printer) -> u8 {
    match answer(asked, nodes, printer) {
        Ok(printed) => {
            for line in &printed.stderr {
                printer.say(line);
            }
            printer.data(&printed.stdout);
            0
        }
        Err(failure) => {
            match failure.refusal() {
                Some(Refusal::NoSuchJob { .. }) => {
                    printer.say("slurm_load_jobs error: Invalid job id specified");
                }
                _ => failure.say("squeue", printer),
            }
            1
        }
    }
}

/// What is left to print.
fn answer(
    asked: &SqueueArgs,
    nodes: Option<&[NodeName]>,
    printer: &Printer,
) -> Result<Printed, CommandError> {
    let mut client = connect_to_look()?;
    let records = match &mut client {
        Some(client) => records(asked, client)?,
        None => {
            refuse_unknown(asked, &[])?;
            Vec::new()
        }
    };
    // Facts of nodes matter for jobs alone: an empty queue costs one call.
    let used = client.as_mut().filter(|_| !records.is_empty());
    let mut facts = view_facts(used)?;
    if let (Some(client), true) = (&mut client, asked.shows_numbers()) {
        facts.numbers = AccountNumbers::of(&client.accounting()?);
    }
    let me = sys::process::user();
    let mut jobs = asked.select(&records, &facts, me, nodes);
    if let (Some(client), true) = (&mut client, asked.shows_step_ends()) {
        let ends = step_ends(&records, client)?;
        jobs.iter_mut().for_each(|job| ends.note(job));
    }
    if asked.by_step && !asked.is_data() {
        let mut steps = steps(&jobs, client.as_mut())?;
        // A step may have only some of its job's nodes.
        let is_there = |step: &StepRecord, nodes: &[NodeName]| {
            step.nodes.iter().any(|share| nodes.contains(&share.node))
        };
        steps.retain(|step| nodes.is_none_or(|nodes| is_there(step, nodes)));
        return Ok(asked.print_steps(&jobs, &steps, &facts));
    }
    let printed = match asked.action {
        SqueueAction::Json => {
            printer.json(&queue_json(&jobs, &facts.cluster));
            Printed::default()
        }
        SqueueAction::Yaml => {
            let value = serde_json::to_value(queue_json(&jobs, &facts.cluster));
            printer.data(&yaml_text(&value.unwrap_or_default()));
            Printed::default()
        }
        _ => asked.print_jobs(&jobs, &facts),
    };
    if asked.every.is_none() {
        // The process ends: what a long queue took need not be given back piece by piece.
        std::mem::forget((jobs, records));
    }
    Ok(printed)
}

fn records(asked: &SqueueArgs, client: &mut Client) -> Result<Vec<JobRecord>, CommandError> {
    let now = sys::now();
    let ids = asked.jobs.as_ref().map(|names| {
        let mut ids: Vec<JobId> = names.iter().map(|name| JobId(name.job)).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    });
    // Ended jobs are asked for only where they can be shown, or where one job is named: then it
    // matters whether there is such a job at all.
    let single = ids.as_ref().is_some_and(|ids| ids.len() == 1);
    let shows_ended = asked.states != StateFilter::Live || asked.is_data();
    let ended_since = match (single, shows_ended) {
        (true, _) => Some(Timestamp(0)),
        (false, true) => Some(Timestamp(now - REMEMBERED_MS)),
        (false, false) => None,
    };
    // A job that is named is there or not, whosever it is.
    let users = asked
        .only_users(sys::process::user())
        .filter(|_| ids.is_none());
    let mut records = client.jobs(JobFilter {
        components: true,
        users,
        ids,
        ended_since,
        ..JobFilter::default()
    })?;
    refuse_unknown(asked, &records)?;
    if asked.states == StateFilter::Live {
        // One that was asked for by its number may have ended long ago.
        let forgotten = now - REMEMBERED_MS;
        records.retain(
            |record| !matches!(record.state, JobState::Ended { at, .. } if at.0 < forgotten),
        );
    }
    Ok(records)
}

/// As Slurm does it for one job alone; a list of jobs is shown as far as there are any.
fn refuse_unknown(asked: &SqueueArgs, records: &[JobRecord]) -> Result<(), CommandError> {
    match asked.jobs.as_deref() {
        Some([name]) if records.is_empty() && !asked.by_step => {
            let job = JobId(name.job);
            Err(CommandError::Call(Refusal::NoSuchJob { job }.into()))
        }
        _ => Ok(()),
    }
}

/// The nodes that are asked for; the error is what is wrong with their list.
fn nodes(asked: &SqueueArgs) -> Result<Option<Vec<NodeName>>, String> {
    let Some(list) = asked.nodes.as_ref() else {
        return Ok(None);
    };
    let here = NodeName::from(sys::host_name());
    let known_names = match connect_to_look() {
        Ok(Some(mut client)) => client.facts().map(|facts| facts.nodes).unwrap_or_default(),
        Ok(None) | Err(_) => Vec::new(),
    };
    let names = model::node_list::expand(list)
        .map_err(|_| format!("'{list}' invalid entry for --nodelist"))?;
    let mut known = Vec::new();
    for name in names {
        // Slurm takes the short name of the machine that it is called on for `localhost`.
        let is_here = name == here || name.as_str().eq_ignore_ascii_case("localhost");
        if is_here {
            known.push(here.clone());
        } else if known_names.iter().any(|node| node.name == name) {
            known.push(name);
        } else {
            return Err(format!("Invalid node name {name}"));
        }
    }
    Ok(Some(known))
}

/// Reports unknown users; the others are shown.
fn say_unknown_users(asked: &SqueueArgs, printer: &Printer) {
    for user in asked.users.iter().flatten() {
        let is_number = user.parse::<u32>().is_ok();
        if !is_number && !is_user(user) {
            printer.say(&format!("squeue: error: Invalid user: {user}\n"));
        }
    }
}

/// Whether the system knows a user of that name; yes, where it can't be asked.
fn is_user(name: &str) -> bool {
    sys::users::user_by_name(name).map_or(true, |found| found.is_some())
}

fn steps(jobs: &[JobInfo], client: Option<&mut Client>) -> Result<Vec<StepRecord>, CommandError> {
    let Some(client) = client else {
        return Ok(Vec::new());
    };
    let mut steps = Vec::new();
    for job in jobs {
        if matches!(
            job.state,
            JobStateName::Running
                | JobStateName::Stopped
                | JobStateName::Suspended
                | JobStateName::Completing
        ) {
            let all = client.steps(JobId(job.id))?;
            steps.extend(
                all.into_iter()
                    .filter(|step| step.state == model::StepState::Running),
            );
        }
    }
    Ok(steps)
}

fn queue_json<'a>(jobs: &'a [JobInfo], cluster: &str) -> QueueJson<'a, Value> {
    let mut meta = super::node_json::meta();
    meta["program"] = "trainyard".into();
    meta["version"] = api::VERSION.into();
    meta["cluster"] = cluster.into();
    QueueJson {
        errors: [],
        jobs,
        meta,
    }
}

/// What `--help` says above the options.
const ABOUT: &str = "\
Usage: squeue [OPTIONS]
Lists jobs of Trainyard's embedded engine as Slurm's squeue lists those of a cluster.
";

/// `squeue --help`
pub(super) fn help() -> String {
    super::command_help("squeue", ABOUT, "")
}
