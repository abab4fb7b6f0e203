//! `scontrol`: shows jobs and what there is, folds node lists, holds, releases and requeues.

use super::cluster_view::cluster;
use super::connection::{CommandError, connect, connect_to_look, engine_dir, view_facts};
use super::scontrol_cluster::change;
use super::scontrol_job::{list_pids, write_script};
use super::scontrol_reservation::{reserve, show_reservations, unreserve};
use super::scontrol_show::{licence_text, node_text, partition_text, step_text, switch_text};
use crate::printer::Printer;
use api::{CallError, Client, EngineFacts, JobFilter, Refusal, SwitchReport};
use model::scontrol::{self, ScontrolArgs, ScontrolCommand, ScontrolJob, ScontrolUsageError};
use model::{
    ArrayTaskInfo, JobChange, JobId, JobInfo, JobRecord, JobState, ShowStyle, StepRecord,
    StepState, Timestamp, node_list, show_job,
};

/// Runs it; returns its exit status.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    let asked = match scontrol::parse("scontrol", args) {
        Ok(asked) => asked,
        Err(error) => {
            printer.say(&error.to_string());
            if error == ScontrolUsageError::NoNames {
                printer.data(HELP);
            }
            return 1;
        }
    };
    match carry_out(&asked, printer) {
        Ok(status) => status,
        Err(failure) => {
            failure.say("scontrol", printer);
            1
        }
    }
}

fn carry_out(asked: &ScontrolArgs, printer: &Printer) -> Result<u8, CommandError> {
    match &asked.command {
        ScontrolCommand::Nothing => {
            printer.say("scontrol: error: a command is missing, and this scontrol asks for none: see scontrol --help");
            Ok(1)
        }
        ScontrolCommand::Help => {
            printer.data(HELP);
            Ok(0)
        }
        ScontrolCommand::Version => {
            printer.line(&super::version_line());
            Ok(0)
        }
        ScontrolCommand::HostNames(list) => Ok(host_names(list.as_deref(), printer)),
        ScontrolCommand::HostList { names, sorted } => Ok(host_list(names, *sorted, printer)),
        ScontrolCommand::Ping => ping(printer),
        ScontrolCommand::ShowJob(job) => show_jobs(job.as_deref(), asked, printer),
        ScontrolCommand::ShowNode(name) => {
            show_nodes(name.as_deref(), asked.style, asked.quiet, printer)
        }
        ScontrolCommand::ShowPartition(name) => {
            show_partitions(name.as_deref(), asked.style, asked.quiet, printer)
        }
        ScontrolCommand::ShowTopology(name) => show_topology(name.as_deref(), printer),
        ScontrolCommand::ShowLicences(name) => show_licences(name.as_deref(), asked.style, printer),
        ScontrolCommand::ShowStep(name) => {
            show_steps(name.as_deref(), asked.style, asked.quiet, printer)
        }
        ScontrolCommand::None {
            stdout,
            stderr,
            status,
        } => {
            printer.data(stdout);
            stderr.lines().for_each(|line| printer.say(line));
            Ok(*status)
        }
        ScontrolCommand::ShowConfig => {
            printer.data(&config_text(&facts()?));
            Ok(0)
        }
        ScontrolCommand::Cluster(command) => change(command, printer),
        ScontrolCommand::UpdateJobs { jobs, changes } => {
            update_jobs(jobs, changes, asked.quiet, printer)
        }
        ScontrolCommand::ShowReservation(name) => {
            show_reservations(name.as_deref(), asked.style, asked.quiet, printer)
        }
        ScontrolCommand::Reserve { words, is_new } => reserve(words, *is_new, printer),
        ScontrolCommand::Unreserve { name, written } => unreserve(name, written, printer),
        ScontrolCommand::WriteScript { job, file } => {
            let id = match single_job(job) {
                None => None,
                // Elements that wait have the script of their array.
                Some(job) => {
                    let own = its_own_id(job, &mut connect()?)?;
                    Some(own.unwrap_or(JobId(job.job)))
                }
            };
            write_script(job, id, file.as_deref(), printer)
        }
        ScontrolCommand::ListPids { job, node } => {
            list_pids(job.as_deref(), node.as_deref(), printer)
        }
        ScontrolCommand::Notify { job, text } => notify(job, text, printer),
        ScontrolCommand::Top(jobs) => top(jobs, asked.quiet, printer),
        ScontrolCommand::Reconfigure => {
            let done = connect()?.reconfigure();
            Ok(say_changed(done, "slurm_reconfigure error", printer))
        }
        ScontrolCommand::Requeue { jobs, hold } => {
            each_job(jobs, asked.quiet, printer, &mut |client, job| {
                client.requeue(job, *hold, None)
            })
        }
        ScontrolCommand::Suspend { jobs, suspend } => {
            each_job(jobs, asked.quiet, printer, &mut |client, job| {
                match client.suspend(job, *suspend) {
                    // What the real one says of a job that it does not know.
                    Err(error) if matches!(error.refusal(), Some(Refusal::NoSuchJob { .. })) => {
                        Err(Refusal::Invalid {
                            message: "Unexpected message received".to_owned(),
                        }
                        .into())
                    }
                    done => done,
                }
            })
        }
        ScontrolCommand::Hold { jobs, hold } => {
            let jobs = by_name(jobs)?;
            let mut last = None;
            let status = each_job(&jobs, asked.quiet, printer, &mut |client, job| {
                let done = client.hold(job, *hold);
                last = done
                    .as_ref()
                    .err()
                    .and_then(|error| error.refusal().map(words_of));
                done
            })?;
            // The real one says the last refusal once more.
            let last = last.unwrap_or_else(|| "Invalid job id specified".to_owned());
            if status != 0 {
                say_unless(
                    asked.quiet,
                    printer,
                    &format!("slurm_suspend error: {last}"),
                );
            }
            Ok(status)
        }
    }
}

fn update_jobs(
    jobs: &str,
    changes: &[(String, String)],
    quiet: bool,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let zone = sys::local_zone();
    let changes = match model::job_changes(changes, Timestamp(sys::now()), &zone) {
        Ok(changes) => changes,
        Err(error) => {
            error.lines.iter().for_each(|line| printer.say(line));
            return Ok(error.status);
        }
    };
    let jobs = by_name(&[jobs.to_owned()])?;
    each_job(&jobs, quiet, printer, &mut |client, job| {
        client.update(job, changes.clone())
    })
}

/// Gives jobs the highest priority of the waiting ones of their user, and one more.
/// Sends a line to a job, in the words of the real one where it can't.
fn notify(job: &str, text: &str, printer: &Printer) -> Result<u8, CommandError> {
    let Some(named) = single_job(job) else {
        printer.say(&format!("Invalid job_id {job}job notify failure: No error"));
        return Ok(1);
    };
    let mut client = connect()?;
    let own = its_own_id(named, &mut client)?;
    let done = client.notify(own.unwrap_or(JobId(named.job)), text);
    let Err(error) = done else {
        return Ok(0);
    };
    let words = match error.refusal() {
        Some(refusal) => words_of(refusal),
        None => return Err(error.into()),
    };
    printer.say(&format!("job notify failure: {words}"));
    Ok(1)
}

fn top(words: &[String], quiet: bool, printer: &Printer) -> Result<u8, CommandError> {
    each_job(words, quiet, printer, &mut |client, job| {
        let all = client.jobs(JobFilter::default())?;
        let own = all.iter().find(|record| record.id == job);
        let Some(own) = own else {
            return Err(Refusal::NoSuchJob { job }.into());
        };
        let is_waiting = |record: &JobRecord| {
            matches!(record.state, JobState::Pending { .. }) && record.priority > 0
        };
        if !is_waiting(own) {
            return Err(Refusal::NotRunning { job }.into());
        }
        let others = all.iter().filter(|record| {
            let is_same =
                record.uid == own.uid && record.request.partition == own.request.partition;
            is_same && is_waiting(record)
        });
        let highest = others
            .map(|record| record.priority)
            .max()
            .unwrap_or(own.priority);
        let first = highest.saturating_add(u32::from(highest > own.priority));
        client.update(job, vec![JobChange::Priority(first.max(own.priority))])
    })
}

/// What became of a change, in Slurm's way.
pub(super) fn say_changed(done: Result<(), CallError>, what: &str, printer: &Printer) -> u8 {
    match done {
        Ok(()) => 0,
        Err(error) => {
            printer.say(&format!("{what}: {error}"));
            1
        }
    }
}

fn facts() -> Result<EngineFacts, CommandError> {
    Ok(connect()?.facts()?)
}

fn host_names(list: Option<&str>, printer: &Printer) -> u8 {
    let from_job =
        || super::variable("SLURM_NODELIST").or_else(|| super::variable("SLURM_JOB_NODELIST"));
    let Some(list) = list.map(str::to_owned).or_else(from_job) else {
        printer.say("scontrol: error: host list is empty");
        return 0;
    };
    let mut lines = String::new();
    let read = node_list::for_each(&list, |name| {
        lines.push_str(name);
        lines.push('\n');
    });
    match read {
        Ok(()) => printer.data(&lines),
        Err(error) => complain(&error, printer),
    }
    // Slurm's exit status is 0 for a list that can't be read, too.
    0
}

fn host_list(names: &str, sorted: bool, printer: &Printer) -> u8 {
    match node_list::fold_list(names, sorted) {
        Ok(folded) => {
            printer.line(&folded);
            0
        }
        Err(error) => {
            complain(&error, printer);
            1
        }
    }
}

pub(super) fn complain(error: &node_list::NodeListError, printer: &Printer) {
    if let Some(detail) = error.detail() {
        printer.say(&format!("scontrol: error: {detail}"));
    }
    printer.say(&error.to_string());
}

fn ping(printer: &Printer) -> Result<u8, CommandError> {
    let folder = engine_dir()?;
    let answers = Client::connect_running(&folder)?.is_some();
    let state = if answers { "UP" } else { "DOWN" };
    printer.line(&format!(
        "Slurmctld(primary) at {} is {state}",
        sys::host_name()
    ));
    Ok(u8::from(!answers))
}

fn show_jobs(
    asked_job: Option<&str>,
    asked: &ScontrolArgs,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let job = match asked_job.map(|text| (text, single_job(text))) {
        None => None,
        Some((_, Some(job))) => Some(job),
        Some((_, None)) => {
            say_unless(
                asked.quiet,
                printer,
                "scontrol_print_job error: Invalid job id specified",
            );
            return Ok(1);
        }
    };
    let jobs = match connect_to_look()? {
        Some(mut client) => jobs(job, &mut client)?,
        None => Vec::new(),
    };
    match (job, jobs.is_empty()) {
        // Slurm asks its controller for no job of that number.
        (Some(job), true) if job.job == 0 => {
            if !asked.quiet {
                printer.line("Job 0 not found");
            }
            return Ok(1);
        }
        (Some(_), true) => {
            say_unless(
                asked.quiet,
                printer,
                "slurm_load_jobs error: Invalid job id specified",
            );
            return Ok(1);
        }
        (None, true) => {
            if !asked.quiet {
                printer.line("No jobs in the system");
            }
            return Ok(0);
        }
        (_, false) => {}
    }
    let shown: Vec<JobInfo> = jobs
        .into_iter()
        .filter(|info| {
            let offset = job.and_then(|job| job.component);
            let own = info.component.map(|place| place.offset);
            offset.is_none() || own == offset
        })
        .filter_map(|info| element(info, job.and_then(|job| job.task)))
        .collect();
    if let (Some(job), true) = (job, shown.is_empty()) {
        if !asked.quiet {
            printer.line(&format!(
                "Job {}_{} not found",
                job.job,
                job.task.unwrap_or_default()
            ));
        }
        return Ok(1);
    }
    let text: String = shown
        .iter()
        .map(|info| show_job(info, asked.style))
        .collect();
    printer.data(&text);
    Ok(0)
}

/// `12`, `12_3`, `12+1`
fn single_job(text: &str) -> Option<ScontrolJob> {
    let (text, component) = match text.split_once('+') {
        None => (text, None),
        Some((leader, offset)) => (leader, Some(offset.parse().ok()?)),
    };
    match text.split_once('_') {
        None => Some(ScontrolJob {
            job: text.parse().ok()?,
            task: None,
            component,
        }),
        Some(_) if component.is_some() => None,
        Some((job, task)) => Some(ScontrolJob {
            job: job.parse().ok()?,
            task: Some(task.parse().ok()?),
            component: None,
        }),
    }
}

/// The job that is named, however long ago it ended; without a name those that live and, as in
/// Slurm, those that ended in the last five minutes.
fn jobs(job: Option<ScontrolJob>, client: &mut Client) -> Result<Vec<JobInfo>, CommandError> {
    let since = match job {
        Some(_) => Timestamp(0),
        None => Timestamp(sys::now() - 300_000),
    };
    let records = client.jobs(JobFilter {
        ids: job.map(|job| vec![JobId(job.job)]),
        ended_since: Some(since),
        components: true,
        ..JobFilter::default()
    })?;
    let facts = view_facts(Some(client))?;
    Ok(records
        .iter()
        .map(|record| JobInfo::of(record, &facts))
        .collect())
}

/// The job, if it is or has the element; one of several that wait is shown as if alone.
fn element(mut info: JobInfo, task: Option<u32>) -> Option<JobInfo> {
    let Some(task) = task else {
        return Some(info);
    };
    let array = info.array.as_mut()?;
    let has = match &array.task {
        ArrayTaskInfo::One(one) => *one == task,
        ArrayTaskInfo::Waiting(tasks) => tasks.contains(&task),
    };
    array.task = ArrayTaskInfo::One(task);
    has.then_some(info)
}

/// `Name=x` and `JobName=x` as the ids of the jobs that wait under that name.
fn by_name(words: &[String]) -> Result<Vec<String>, CommandError> {
    let mut ids = Vec::new();
    for word in words {
        let name = word.split_once('=').filter(|(key, _)| {
            key.eq_ignore_ascii_case("name") || key.eq_ignore_ascii_case("jobname")
        });
        match name {
            None => ids.push(word.clone()),
            Some((_, name)) => {
                let jobs = connect()?.jobs(JobFilter::default())?;
                ids.extend(
                    jobs.iter()
                        .filter(|job| job.request.name == name)
                        .map(|job| job.id.to_string()),
                );
            }
        }
    }
    Ok(ids)
}

/// Does something to each job that the words name; a refusal is said and the next one tried.
fn each_job(
    words: &[String],
    quiet: bool,
    printer: &Printer,
    act: &mut dyn FnMut(&mut Client, JobId) -> Result<(), CallError>,
) -> Result<u8, CommandError> {
    let mut client = None;
    let mut status = 0;
    for word in words {
        let Some(jobs) = scontrol::job_ids(word) else {
            say_unless(
                quiet,
                printer,
                &format!("Invalid job id specified for job {word}"),
            );
            status = 1;
            continue;
        };
        for job in jobs {
            let client = match &mut client {
                Some(client) => client,
                none => none.insert(connect()?),
            };
            let name = match job.task {
                None => job.job.to_string(),
                Some(task) => format!("{}_{task}", job.job),
            };
            let outcome = match its_own_id(job, client)? {
                Ok(id) => act(client, id),
                Err(refusal) => Err(refusal.into()),
            };
            if let Err(error) = outcome {
                let Some(refusal) = error.refusal() else {
                    return Err(error.into());
                };
                say_unless(
                    quiet,
                    printer,
                    &format!("{} for job {name}", words_of(refusal)),
                );
                status = 1;
            }
        }
    }
    Ok(status)
}

/// The id under which the engine keeps an element of an array.
fn its_own_id(
    job: ScontrolJob,
    client: &mut Client,
) -> Result<Result<JobId, Refusal>, CommandError> {
    let Some(task) = job.task else {
        return Ok(Ok(JobId(job.job)));
    };
    let found = jobs(Some(job), client)?.into_iter().find_map(|info| {
        Some((JobId(info.id), info.array?.task)).filter(|(_, tasks)| match tasks {
            ArrayTaskInfo::One(one) => *one == task,
            ArrayTaskInfo::Waiting(tasks) => tasks.contains(&task),
        })
    });
    Ok(match found {
        None => Err(Refusal::NoSuchJob {
            job: JobId(job.job),
        }),
        Some((id, ArrayTaskInfo::One(_))) => Ok(id),
        Some((_, ArrayTaskInfo::Waiting(_))) => Err(Refusal::Invalid {
            message: "elements that wait are held, released and requeued together: name the array"
                .to_owned(),
        }),
    })
}

/// A refusal in Slurm's words.
pub(super) fn words_of(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NoSuchJob { .. } => "Invalid job id specified".to_owned(),
        Refusal::AlreadyEnded { .. } => "Job/step already completing or completed".to_owned(),
        Refusal::NotRunning { .. } => "Job is pending execution".to_owned(),
        Refusal::NotYours { .. } => "Access/permission denied".to_owned(),
        Refusal::NotRequeueable { because, .. } => {
            format!("Requested operation is presently disabled ({because})")
        }
        other => other.to_string(),
    }
}

fn say_unless(quiet: bool, printer: &Printer, text: &str) {
    if !quiet {
        printer.say(text);
    }
}

/// The nodes that are named, or all; names of no node follow the others.
fn show_nodes(
    names: Option<&str>,
    style: ShowStyle,
    quiet: bool,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let cluster = cluster()?;
    let zone = sys::local_zone();
    let wanted = match names.map(node_list::expand) {
        None => cluster.nodes.iter().map(|node| node.name.clone()).collect(),
        Some(names) => names.unwrap_or_default(),
    };
    let mut status = 0;
    for name in &wanted {
        match cluster.nodes.iter().find(|node| node.name == *name) {
            Some(node) => printer.data(&node_text(node, &cluster, style, &zone)),
            None => {
                status = 1;
                if !quiet {
                    printer.line(&format!("Node {name} not found"));
                }
            }
        }
    }
    Ok(status)
}

/// The partition that is named, or all.
fn show_partitions(
    name: Option<&str>,
    style: ShowStyle,
    quiet: bool,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let cluster = cluster()?;
    let all = cluster.partitions.iter();
    let wanted = all.filter(|partition| name.is_none_or(|name| name == partition.name));
    let text: String = wanted
        .map(|partition| partition_text(partition, &cluster, style))
        .collect();
    printer.data(&text);
    match (name, text.is_empty()) {
        (Some(name), true) => {
            if !quiet {
                printer.line(&format!("Partition {name} not found"));
            }
            Ok(1)
        }
        _ => Ok(0),
    }
}

/// The switch of a name, the switches above a node, or all.
fn show_topology(name: Option<&str>, printer: &Printer) -> Result<u8, CommandError> {
    let cluster = cluster()?;
    if cluster.switches.is_empty() && name.is_none() {
        printer.say("scontrol: error: No topology information available");
        return Ok(0);
    }
    let is_named = |switch: &SwitchReport, name: &str| {
        let mut nodes = switch.nodes.iter();
        switch.name == name || nodes.any(|node| node.as_str() == name)
    };
    let all = cluster.switches.iter();
    let wanted = all.filter(|switch| name.is_none_or(|name| is_named(switch, name)));
    let text: String = wanted.map(switch_text).collect();
    match name {
        Some(name) if text.is_empty() => {
            let none = "scontrol: error: Topology information contains no switch or node named";
            printer.say(&format!("{none} {name}"));
        }
        _ => printer.data(&text),
    }
    Ok(0)
}

/// The licences of a name, or all.
fn show_licences(
    name: Option<&str>,
    style: ShowStyle,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let cluster = cluster()?;
    let all = cluster.licences.iter();
    let wanted = all.filter(|licence| name.is_none_or(|name| name == licence.name));
    let text: String = wanted.map(|licence| licence_text(licence, style)).collect();
    if text.is_empty() {
        let name = name.filter(|_| !cluster.licences.is_empty());
        match name {
            Some(name) => printer.line(&format!("License {name} not found")),
            None => printer.line("No licenses configured in Slurm."),
        }
        return Ok(u8::from(name.is_some()));
    }
    printer.data(&text);
    Ok(0)
}

/// The steps that run, of all jobs, of a job, or one.
fn show_steps(
    name: Option<&str>,
    style: ShowStyle,
    quiet: bool,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let (job, step) = match name.map(|name| name.split_once('.').unwrap_or((name, ""))) {
        None => (None, ""),
        Some((job, step)) => match single_job(job) {
            None => {
                say_unless(
                    quiet,
                    printer,
                    "scontrol_print_step error: Invalid job id specified",
                );
                return Ok(1);
            }
            Some(job) => (Some(job), step),
        },
    };
    let mut text = String::new();
    if let Some(mut client) = connect_to_look()? {
        for info in jobs(job, &mut client)? {
            let Some(info) = element(info, job.and_then(|job| job.task)) else {
                continue;
            };
            let all = client.steps(JobId(info.id));
            let wanted = |it: &StepRecord| {
                it.state == StepState::Running && (step.is_empty() || it.step.to_string() == step)
            };
            for it in all.unwrap_or_default().iter().filter(|it| wanted(it)) {
                text.push_str(&step_text(it, &info, style));
            }
        }
    }
    match (name, text.is_empty()) {
        (Some(name), true) => {
            let dot = if name.contains('.') { "" } else { "." };
            if !quiet {
                printer.line(&format!("Job step {name}{dot} not found"));
            }
            return Ok(1);
        }
        (None, true) => printer.line("No job steps in the system"),
        (_, false) => printer.data(&text),
    }
    Ok(0)
}

/// What programs read of a configuration, as far as the embedded engine has it.
fn config_text(facts: &EngineFacts) -> String {
    let rows = [
        ("AccountingStorageType", "(null)".to_owned()),
        ("ClusterName", facts.cluster.clone()),
        ("JobRequeue", "1".to_owned()),
        ("KillOnBadExit", "0".to_owned()),
        ("KillWait", "30 sec".to_owned()),
        ("MinJobAge", "300 sec".to_owned()),
        ("PreemptMode", "OFF".to_owned()),
        ("SLURM_VERSION", super::version_line()),
        ("SelectType", "select/cons_tres".to_owned()),
        ("StateSaveLocation", facts.state.display().to_string()),
    ];
    let mut text = String::from("Configuration data of Trainyard's embedded engine\n");
    for (name, value) in rows {
        text.push_str(&format!("{name:<23} = {value}\n"));
    }
    text
}

pub(super) const HELP: &str = "\
Usage: scontrol [OPTIONS] COMMAND
Shows and changes jobs of Trainyard's embedded engine as Slurm's scontrol does those of a cluster.

  show job [ID]              a job, or all
  show node [LIST]           nodes
  show partition [NAME]      partitions
  show reservation [NAME]    reservations
  show step [ID]             steps that run
  show config                some of what programs read of a configuration
  show hostnames [LIST]      a node list, a name a line; without a list the job's
  show hostlist NAMES        names as a list; hostlistsorted sorts first
  hold ID ...                keeps jobs that wait from starting; Name=NAME too
  release ID ...             lets them start again
  requeue ID ...             ends jobs and lets them start again from the top
  requeuehold ID ...         the same, and holds them
  notify ID TEXT             writes a line into a job's output, or to the srun that waits for it
  suspend ID ...             stops jobs that run: others get their CPUs, not their memory or GPUs
  resume ID ...              lets them go on
  update JobId=LIST KEY=VALUE ...
                             changes jobs: TimeLimit (also +N, -N), Partition, QOS, Account, NumNodes,
                             NumTasks, NumCPUs, CPUsPerTask, MinMemoryNode, MinMemoryCPU, Features,
                             ReqNodeList, ExcNodeList, Dependency, StartTime, JobName, Comment, Priority,
                             Nice, Requeue; of one that runs TimeLimit, JobName, Comment and Requeue
  top ID ...                 lets jobs go before the other waiting ones of their user
  write batch_script ID [FILE|-]
                             a job's script, into slurm-ID.sh or a file, or printed
  listpids [ID[.STEP] [NODE]]
                             the processes of running steps
  update NodeName=LIST State=STATE Reason=TEXT
                             DRAIN, FAIL, DOWN (what runs there is killed), RESUME, UNDRAIN or IDLE;
                             also Weight, AvailableFeatures, ActiveFeatures, Comment, Extra
  create PartitionName=NAME KEY=VALUE ...
                             makes a partition until the cluster's file is read again
  update PartitionName=NAME KEY=VALUE ...
                             changes one: State (UP, DOWN, DRAIN, INACTIVE), Nodes, Default, MaxTime,
                             DefaultTime, MinNodes, MaxNodes, MaxCPUsPerNode, DefMemPerCPU, DefMemPerNode,
                             MaxMemPerCPU, MaxMemPerNode, AllowAccounts, DenyAccounts, AllowQos, DenyQos,
                             AllowGroups, QOS, PriorityTier, PriorityJobFactor, PreemptMode, GraceTime,
                             OverSubscribe, ExclusiveUser, Hidden, RootOnly, ReqResv, JobDefaults,
                             TRESBillingWeights
  delete PartitionName=NAME  removes one without jobs
  delete NodeName=LIST       removes nodes without jobs until the cluster's file is read again
  create reservation StartTime=TIME Duration=TIME Users=LIST|Accounts=LIST Nodes=LIST|NodeCnt=N ...
                             keeps nodes for some users: ReservationName, EndTime, PartitionName,
                             Features, TRES=node=N, Comment, Flags (MAINT, FLEX, OVERLAP, IGNORE_JOBS,
                             HOURLY, DAILY, WEEKDAY, WEEKEND, WEEKLY, SPEC_NODES, ALL_NODES, ANY_NODES,
                             STATIC_ALLOC, PART_NODES, NO_HOLD_JOBS_AFTER_END)
  update ReservationName=NAME KEY=VALUE ...
                             changes one; Users, Accounts and Nodes also with += and -=
  delete reservation=NAME    removes one that no job names
  reconfigure                reads the cluster's file again
  ping                       whether the engine answers
  version                    what this is

  -d, --details              a job with what it holds node by node
  -o, --oneliner             one line an entry
  -Q, --quiet                no word about what is wrong
  -V, --version              what this is
";
