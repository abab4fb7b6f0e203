//! `scontrol`: shows jobs and what there is, folds node lists, holds, releases and requeues.

use super::command_loop::CommandLoop;
use super::connection::{CommandError, connect, engine_dir};
use super::scontrol_accounting::show_accounting;
use super::scontrol_change_jobs::{
    by_name, each_job, its_own_id, notify, say_unless, top, update_jobs, words_of,
};
use super::scontrol_cluster::change;
use super::scontrol_getent::{cancel_reboot, step_users};
use super::scontrol_help::help;
use super::scontrol_job::{list_pids, pid_info, wait_job, write_script};
use super::scontrol_reservation::{reserve, show_reservations, unreserve};
use super::scontrol_show_cluster::{
    show_config, show_licences, show_nodes, show_partitions, show_topology,
};
use super::scontrol_show_jobs::{completing, show_jobs, show_steps, single_job};
use crate::printer::Printer;
use api::{CallError, Client, Refusal};
use model::node_list;
use model::scontrol::{self, ScontrolArgs, ScontrolCommand, ScontrolUsageError};
use std::path::Path;

/// Its commands, where none is on the command line.
const COMMANDS: CommandLoop<'_> = CommandLoop {
    name: "scontrol",
    settings: &[
        ("all", 2, "--all"),
        ("details", 1, "--details"),
        ("hide", 2, "--hide"),
        ("oneliner", 1, "--oneliner"),
        ("quiet", 4, "--quiet"),
        ("verbose", 4, "--verbose"),
    ],
    ends: &[("exit", 2), ("quit", 4)],
};

/// Runs it; returns its exit status.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    let mut asked = match scontrol::parse("scontrol", args) {
        Ok(asked) => asked,
        Err(error) => {
            printer.say(&error.to_string());
            if error == ScontrolUsageError::NoNames {
                printer.data(&help());
            }
            return 1;
        }
    };
    asked.style.all |= super::variable("SCONTROL_ALL").is_some();
    asked.style.future |= super::variable("SCONTROL_FUTURE").is_some();
    let refused = talk_to(asked.clusters.as_deref(), printer);
    if refused != 0 {
        return refused;
    }
    let user = match asked.uid.as_deref().map(sys::users::user) {
        None => None,
        Some(Ok(Some(user))) => Some(user),
        Some(Ok(None) | Err(_)) => {
            let name = asked.uid.as_deref().unwrap_or_default();
            printer.say(&format!("scontrol: error: --uid=\"{name}\" invalid"));
            return 0;
        }
    };
    let done = match user {
        Some(user) if matches!(asked.command, ScontrolCommand::UpdateJobs { .. }) => {
            carry_out_as(&user, &asked, args, printer)
        }
        Some(_) | None => carry_out(&asked, args, printer),
    };
    match done {
        Ok(status) => status,
        Err(failure) => {
            failure.say("scontrol", printer);
            1
        }
    }
}

/// Whether a cluster is the one that there is: the exit status.
fn talk_to(cluster: Option<&str>, printer: &Printer) -> u8 {
    match super::refuse_other_clusters("scontrol", cluster) {
        Ok(()) => 0,
        Err(message) => {
            printer.say(&format!("scontrol: error: {message}"));
            1
        }
    }
}

/// `--uid`, which counts where jobs are changed: with the rights of that user, whom root alone may name.
fn carry_out_as(
    user: &sys::users::UserEntry,
    asked: &ScontrolArgs,
    args: &[String],
    printer: &Printer,
) -> Result<u8, CommandError> {
    let is_root = sys::process::user() == 0;
    if is_root {
        // Its own user alone starts an engine, and hears why there is none.
        connect()?;
    }
    let user = sys::process::User::look_up(&user.name, user.id, user.group);
    let as_user =
        is_root.then(|| sys::process::as_user(Some(&user), || carry_out(asked, args, printer)));
    match as_user {
        // Whoever can't reach the engine has no job there.
        Some(Ok(Err(CommandError::Connect(_) | CommandError::NoEngine { .. })))
        | Some(Err(_))
        | None => {
            printer.say("slurm_update error: Invalid user id");
            Ok(1)
        }
        Some(Ok(done)) => done,
    }
}

fn carry_out(asked: &ScontrolArgs, args: &[String], printer: &Printer) -> Result<u8, CommandError> {
    match &asked.command {
        ScontrolCommand::Nothing => {
            Ok(COMMANDS.read(args, printer, &mut |words| run(words, printer)))
        }
        ScontrolCommand::Help => {
            printer.data(&help());
            Ok(0)
        }
        ScontrolCommand::Version => {
            printer.line(&super::version_line());
            Ok(0)
        }
        ScontrolCommand::HostNames(list) => Ok(host_names(list.as_deref(), printer)),
        ScontrolCommand::HostList { names, sorted } => Ok(host_list(names, *sorted, printer)),
        ScontrolCommand::Ping => ping(printer),
        ScontrolCommand::StepUsers(node) => step_users(node.as_deref(), printer),
        ScontrolCommand::CancelReboot(nodes) => cancel_reboot(nodes, printer),
        ScontrolCommand::TalkTo(cluster) => Ok(talk_to(cluster.as_deref(), printer)),
        ScontrolCommand::WithMore { command, said } => {
            let command = command.as_ref().clone();
            let asked = ScontrolArgs {
                command,
                ..asked.clone()
            };
            carry_out(&asked, args, printer)?;
            printer.say(said);
            Ok(1)
        }
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
        ScontrolCommand::ShowAccounting(words) => {
            show_accounting(words, asked.style.one_line, printer)
        }
        ScontrolCommand::ShowConfig => show_config(printer),
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
                Some(job) => Some(its_own_id(job, &mut connect()?)?),
            };
            write_script(job, id, file.as_deref(), printer)
        }
        ScontrolCommand::ListPids { job, node } => {
            list_pids(job.as_deref(), node.as_deref(), printer)
        }
        ScontrolCommand::Notify { job, text } => notify(job, text, printer),
        ScontrolCommand::Top(jobs) => top(jobs, asked.quiet, printer),
        ScontrolCommand::Completing => completing(printer),
        ScontrolCommand::PidInfo(pid) => pid_info(*pid, printer),
        ScontrolCommand::WaitJob(job) => wait_job(job, printer),
        ScontrolCommand::Reconfigure => {
            let done = connect()?.reconfigure();
            Ok(say_changed(done, "slurm_reconfigure error", printer))
        }
        ScontrolCommand::Requeue {
            jobs,
            hold,
            only_running,
        } => each_job(jobs, asked.quiet, printer, &mut |client, job| {
            client.requeue_named(job, *hold, *only_running)
        }),
        ScontrolCommand::Suspend { jobs, suspend } => {
            each_job(jobs, asked.quiet, printer, &mut |client, job| {
                match client.suspend(job, *suspend) {
                    // What the real one says of a job that it does not know.
                    Err(error)
                        if job.element.is_none()
                            && matches!(error.refusal(), Some(Refusal::NoSuchJob { .. })) =>
                    {
                        Err(Refusal::Invalid {
                            message: "Unexpected message received".to_owned(),
                        }
                        .into())
                    }
                    done => done,
                }
            })
        }
        ScontrolCommand::Hold { jobs, hold, user } => {
            let jobs = by_name(jobs)?;
            let (mut last, mut of_elements) = (None, false);
            let status = each_job(&jobs, asked.quiet, printer, &mut |client, job| {
                let done = client
                    .hold(job, *hold, *user)
                    .map_err(|error| match error.refusal() {
                        Some(Refusal::AlreadyEnded { .. }) => Refusal::Invalid {
                            message: "Job has already finished".to_owned(),
                        }
                        .into(),
                        _ => error,
                    });
                let refusal = done.as_ref().err().and_then(CallError::refusal);
                of_elements |=
                    job.element.is_some() || matches!(refusal, Some(Refusal::OfElements { .. }));
                last = refusal.map(words_of);
                done
            })?;
            // The real one says the last refusal of a whole job once more.
            let last = last.unwrap_or_else(|| "Invalid job id specified".to_owned());
            if status != 0 && !of_elements {
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

/// Names, or those of a file, which a `/` begins.
fn host_list(names: &str, sorted: bool, printer: &Printer) -> u8 {
    let mut names = names.to_owned();
    if names.starts_with('/') {
        match super::named_input::read(Path::new(&names)) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let words = text.split([',', ' ', '\t', '\n', '\r']);
                let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
                names = words.join(",");
            }
            Err(why) => {
                printer.say(&format!("Can not open {names}: {why}"));
                return 1;
            }
        }
    }
    match node_list::fold_list(&names, sorted) {
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
