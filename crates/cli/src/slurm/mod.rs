//! Slurm's own commands, by name: `sbatch …`, or `yard slurm sbatch …`. They speak to the embedded
//! engine alone: inside a job to the job's own, elsewhere to the user's.

mod allocation_wait;
mod cluster_view;
mod command_loop;
pub mod connection;
mod exit_variables;
mod file_on_node;
pub mod job_mail;
mod login_environment;
pub(crate) mod named_input;
mod node_json;
mod not_here;
mod other_user;
mod sacct;
mod sacct_json;
mod sacctmgr;
mod sacctmgr_facts;
mod sacctmgr_job;
mod salloc;
mod sattach;
pub mod sbatch;
pub mod sbatch_wait;
mod sbcast;
mod scancel;
mod scontrol;
mod scontrol_accounting;
mod scontrol_change_jobs;
mod scontrol_cluster;
mod scontrol_getent;
mod scontrol_help;
mod scontrol_job;
mod scontrol_reservation;
mod scontrol_resize;
mod scontrol_show;
mod scontrol_show_cluster;
mod scontrol_show_jobs;
mod script_source;
mod sdiag;
mod sinfo;
mod sprio;
mod squeue;
pub mod srun;
mod ssh;
mod sshare;
mod sstat;
mod step_container;
mod step_ends;
mod step_processes;
mod submitted_by;
mod token;
mod yaml;

use crate::printer::Printer;
use api::{Refusal, WouldStart};
use jiff::tz::TimeZone;
use model::option_table::{Command, options_of};
use model::{Diagnostic, MomentForm, MomentStyle, Show, Voice};
use std::ffi::OsString;
use std::path::Path;

/// Slurm's commands that this program answers to.
pub const NAMES: &[&str] = &[
    "sbatch", "squeue", "scancel", "srun", "scontrol", "sacct", "salloc", "sinfo", "sacctmgr",
    "sattach", "sbcast", "sprio", "sshare", "sstat", "sdiag",
];

/// The command and its arguments, when this call is for one of Slurm's.
#[must_use]
pub fn by_name(args: &[OsString]) -> Option<(&'static str, &[OsString])> {
    let known = |text: &OsString| {
        let name = Path::new(text).file_name()?.to_str()?;
        let mut names = NAMES.iter().copied();
        names
            .find(|known| *known == name)
            .or_else(|| not_here::named(name))
    };
    // The link stands in jobs of pretended clusters alone.
    let is_ssh = |text: &OsString| {
        Path::new(text)
            .file_name()
            .is_some_and(|name| name == "ssh")
    };
    if args.first().is_some_and(is_ssh) {
        return Some(("ssh", &args[1..]));
    }
    if let Some(name) = args.first().and_then(known) {
        return Some((name, &args[1..]));
    }
    if args.get(1).is_some_and(|word| word == "slurm")
        && let Some(name) = args.get(2).and_then(known)
    {
        return Some((name, &args[3..]));
    }
    None
}

/// What a command's `--help` prints.
#[cfg(test)]
pub fn help_of(name: &str) -> String {
    match name {
        "sbatch" => sbatch::help(),
        "squeue" => squeue::help(),
        "scancel" => scancel::help(),
        "sacct" => sacct::help(),
        "srun" => srun::help(),
        "salloc" => salloc::help(),
        "sattach" => sattach::help(),
        "sbcast" => sbcast::help(),
        "scontrol" => scontrol_help::help(),
        "sinfo" => sinfo::help(),
        "sacctmgr" => sacctmgr::help(),
        "sprio" => sprio::help(),
        "sshare" => sshare::help(),
        "sstat" => sstat::help(),
        "sdiag" => model::SDIAG_HELP.to_owned(),
        other => panic!("{other} has no help"),
    }
}

/// What `--gres=help` prints: the resources that there are.
const GRES_HELP: &str = "Valid gres options are:\ngpu[[:type]:count]\n";

/// What `--mpi=list` prints.
const MPI_LIST: &str = "MPI plugin types are...\n\tnone\n";

/// What `--hint=help` prints, as 22.05 has it.
const HINT_HELP: &str = "\
Application hint options:
    --hint=             Bind tasks according to application hints
        compute_bound   use all cores in each socket
        memory_bound    use only one core in each socket
        [no]multithread [don't] use extra threads with in-core multi-threading
        help            show this help message
";

/// What `--cpu-bind=help` prints, as 22.05 has it.
const CPU_BIND_HELP: &str = "\
CPU bind options:
    --cpu-bind=         Bind tasks to CPUs
        q[uiet]         quietly bind before task runs (default)
        v[erbose]       verbosely report binding before task runs
        no[ne]          don't bind tasks to CPUs (default)
        rank            bind by task rank
        map_cpu:<list>  specify a CPU ID binding for each task
                        where <list> is <cpuid1>,<cpuid2>,...<cpuidN>
        mask_cpu:<list> specify a CPU ID binding mask for each task
                        where <list> is <mask1>,<mask2>,...<maskN>
        rank_ldom       bind task by rank to CPUs in a NUMA locality domain
        map_ldom:<list> specify a NUMA locality domain ID for each task
                        where <list> is <ldom1>,<ldom2>,...<ldomN>
        mask_ldom:<list>specify a NUMA locality domain ID mask for each task
                        where <list> is <mask1>,<mask2>,...<maskN>
        sockets         auto-generated masks bind to sockets
        cores           auto-generated masks bind to cores
        threads         auto-generated masks bind to threads
        ldoms           auto-generated masks bind to NUMA locality domains
        help            show this help message
";

/// What `--mem-bind=help` prints, as 22.05 has it.
const MEM_BIND_HELP: &str = "\
Memory bind options:
    --mem-bind=         Bind memory to locality domains (ldom)
        nosort          avoid sorting pages at startup
        sort            sort pages at startup
        q[uiet]         quietly bind before task runs (default)
        v[erbose]       verbosely report binding before task runs
        no[ne]          don't bind tasks to memory (default)
        rank            bind by task rank
        local           bind to memory local to processor
        map_mem:<list>  specify a memory binding for each task
                        where <list> is <cpuid1>,<cpuid2>,...<cpuidN>
        mask_mem:<list> specify a memory binding mask for each tasks
                        where <list> is <mask1>,<mask2>,...<maskN>
        help            show this help message
";

/// Prints what a command was asked for instead of its work; the exit status.
fn shown(show: Show, usage: &str, help: fn() -> String, printer: &Printer) -> u8 {
    match show {
        Show::Version => printer.line(&version_line()),
        Show::Usage => printer.line(usage),
        Show::Help => printer.data(&help()),
        Show::Gres => printer.data(GRES_HELP),
        Show::Mpi => printer.data(MPI_LIST),
        Show::Hint => {
            printer.data(HINT_HELP);
            return 1;
        }
        Show::CpuBind => {
            printer.data(CPU_BIND_HELP);
            return 1;
        }
        Show::MemBind => {
            printer.data(MEM_BIND_HELP);
            return 255;
        }
    }
    0
}

/// Help of a command from the option table, every option a line, after `head`.
fn option_help(command: Command, head: &str) -> String {
    let mut text = head.to_owned();
    for option in options_of(command) {
        let letter = match option.short {
            Some(letter) => format!("-{letter},"),
            None => "   ".to_owned(),
        };
        text.push_str(&format!(
            "  {letter} --{:<24} {}\n",
            option.long, option.help
        ));
    }
    text
}

/// Help of a command from its own table of options, between what is said above and below them.
fn command_help(command: &str, about: &str, notes: &str) -> String {
    let options = model::option_lines(command);
    let rule = if notes.is_empty() { "" } else { "\n" };
    format!("{about}\n{options}{rule}{notes}")
}

/// What the system says of an error, without its number: as Slurm's commands print it.
fn system_words(error: &std::io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_owned()
}

/// Whether `--clusters` names another cluster than the engine's: then why the command can't go on.
fn refuse_other_clusters(command: &str, clusters: Option<&str>) -> Result<(), String> {
    let Some(name) = clusters.filter(|name| *name != "all") else {
        return Ok(());
    };
    let own = connection::engine_name().unwrap_or_default();
    if name == own {
        return Ok(());
    }
    let text = unknown_cluster_text(command, name);
    let said = text.strip_prefix(&format!("{command}: error: "));
    let said = said.unwrap_or(&text);
    let (asked, there) = (
        format!("--clusters={name}"),
        format!("the embedded engine's cluster {own}"),
    );
    let rows = [
        ("asked", asked),
        ("there", there),
        ("do", "leave --clusters out".to_owned()),
    ];
    let rows = rows.map(|(title, text)| format!("\n{command}:   {title:<7} {text}"));
    Err(format!("{said}{}", rows.concat()))
}

/// The first cluster of a `--clusters` that only looks which is not the engine's.
fn unknown_cluster(clusters: Option<&[String]>) -> Option<String> {
    let own = connection::engine_name().unwrap_or_default();
    let mut names = clusters.unwrap_or_default().iter();
    names.find(|name| **name != own && *name != "all").cloned()
}

/// Whether the cluster to look at is named by an option, or by `SLURM_CLUSTERS`: then what is shown begins with
/// its name.
fn is_cluster_named(clusters: Option<&[String]>) -> bool {
    clusters.is_some() || variable("SLURM_CLUSTERS").is_some()
}

/// What Slurm's commands say of a cluster that its database does not know.
fn unknown_cluster_text(command: &str, name: &str) -> String {
    let unknown = unknown_cluster_line(command, name);
    format!(
        "{unknown}\n{}",
        unreachable_line(command, name, "--cluster")
    )
}

fn unknown_cluster_line(command: &str, name: &str) -> String {
    format!("{command}: error: No cluster '{name}' known by database.")
}

/// That there is no cluster to ask, where `source` was set to `written`.
fn unreachable_line(command: &str, written: &str, source: &str) -> String {
    format!(
        "{command}: error: '{written}' can't be reached now, or it is an invalid entry for {source}.  \
         Use 'sacctmgr list clusters' to see available clusters."
    )
}

/// Whether `SLURM_CLUSTERS` names a cluster that a command can look at, where it heeds that one; of those
/// that it can't it is said.
fn is_cluster_of_environment_there(command: &str, printer: &Printer) -> bool {
    let source = match command {
        "squeue" | "sinfo" | "scontrol" | "sprio" | "sdiag" => "SLURM_CLUSTERS",
        "scancel" => "--cluster",
        // Those that submit jobs read it among their options; the others heed it no more than real ones.
        _ => return true,
    };
    let Some(written) = variable("SLURM_CLUSTERS") else {
        return true;
    };
    let own = connection::engine_name().unwrap_or_default();
    let is_known = |name: &&str| *name == own || *name == "all";
    let (known, unknown): (Vec<&str>, Vec<&str>) = written.split(',').partition(is_known);
    for name in &unknown {
        printer.say(&unknown_cluster_line(command, name));
    }
    if known.is_empty() {
        printer.say(&unreachable_line(command, &written, source));
    }
    !known.is_empty()
}

/// Why a job can't run in a folder.
fn unusable(folder: &Path) -> Option<String> {
    folder.to_str().is_none().then(|| {
        format!(
            "working directory {}: its name is not UTF-8; go to another, or name one with --chdir",
            folder.display()
        )
    })
}

/// The form that `SLURM_TIME_FORMAT` names.
fn moment_form(zone: &TimeZone) -> Result<MomentForm, String> {
    let Some(text) = variable("SLURM_TIME_FORMAT") else {
        return Ok(MomentForm::Standard);
    };
    let now = jiff::Timestamp::from_millisecond(sys::now()).unwrap_or_default();
    MomentForm::read(&text, now.to_zoned(zone.clone()).date())
}

/// How Slurm's commands print moments here: where `SLURM_TIME_FORMAT` is no form, in the standard one.
fn moment_style() -> MomentStyle {
    let zone = sys::local_zone();
    let form = moment_form(&zone).unwrap_or_default();
    MomentStyle { zone, form }
}

/// What is no form is said by the commands that print moments.
fn say_wrong_moment_form(name: &str, printer: &Printer) {
    if matches!(name, "squeue" | "sacct" | "scontrol" | "sinfo" | "sacctmgr")
        && variable("SLURM_TIME_FORMAT").is_some()
        && let Err(message) = moment_form(&sys::local_zone())
    {
        printer.say(&format!("{name}: error: {message}"));
    }
}

/// Runs one of Slurm's commands; its exit status is Slurm's.
#[must_use]
pub fn main(name: &str, args: &[OsString], printer: &Printer) -> u8 {
    if name == "ssh" {
        return ssh::run(args, printer);
    }
    let args: Vec<String> = args.iter().map(|arg| sys::odd_text::text(arg)).collect();
    say_wrong_moment_form(name, printer);
    let status = if is_cluster_of_environment_there(name, printer) {
        run(name, &args, printer)
    } else {
        1
    };
    // What Slurm's commands end with where they fail themselves.
    printer.exit_code(status, status.max(1))
}

/// Runs a command on the cluster that it is asked of.
fn run(name: &str, args: &[String], printer: &Printer) -> u8 {
    match name {
        "sbatch" => sbatch::run(args, printer),
        "squeue" => squeue::run(args, printer),
        "scancel" => scancel::run(args, printer),
        "sacct" => sacct::run(args, printer),
        "scontrol" => scontrol::run(args, printer),
        "sinfo" => sinfo::run(args, printer),
        "sacctmgr" => sacctmgr::run(args, printer),
        "srun" => srun::run(args, printer),
        "salloc" => salloc::run(args, printer),
        "sattach" => sattach::run(args, printer),
        "sbcast" => sbcast::run(args, printer),
        "sprio" => sprio::run(args, printer),
        "sshare" => sshare::run(args, printer),
        "sstat" => sstat::run(args, printer),
        "sdiag" => sdiag::run(args, printer),
        other => not_here::refuse(other, args, printer).unwrap_or(1),
    }
}

/// What `--test-only` says of a job that could start, after the command's name.
fn start_text(start: &WouldStart, moments: &MomentStyle) -> String {
    format!(
        "Job {} to start at {} using {} processors on nodes {} in partition {}",
        start.job,
        moments.text(start.at),
        start.cpus,
        model::node_list::fold(&start.nodes),
        start.partition
    )
}

/// The same of the components of a heterogeneous job.
fn common_start_text(starts: &[WouldStart], moments: &MomentStyle) -> String {
    let at = starts.iter().map(|start| start.at).max();
    let nodes = starts.iter().flat_map(|start| start.nodes.iter().cloned());
    let nodes: Vec<_> = nodes
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect();
    format!(
        "Job {} to start at {} using {} processors on {}",
        starts.first().map_or(model::JobId(0), |start| start.job),
        moments.text(at.unwrap_or(model::Timestamp(0))),
        starts.iter().map(|start| start.cpus).sum::<u32>(),
        model::node_list::fold(&nodes),
    )
}

/// Says a refusal as Slurm does, and what its three parts are where it has them.
fn say_refusal(command: &str, prefix: &str, refusal: &Refusal, printer: &Printer) {
    let Refusal::NeverFits(refusal) = refusal else {
        return printer.say(&format!("{prefix}{refusal}"));
    };
    if let Some(detail) = &refusal.detail {
        printer.say(&format!("{command}: error: {detail}"));
    }
    printer.say(&format!("{prefix}{}", refusal.denial.words()));
    let there = refusal.there_with_limit();
    for (title, text) in [
        ("asked", &refusal.asked),
        ("there", &there),
        ("do", &refusal.todo),
    ] {
        printer.say(&format!("{command}:   {title:<7} {text}"));
    }
}

/// Says why a command line is refused. What is wrong with a moment stands before the option that it is of.
fn say_wrong(command: Command, said: &[Diagnostic], error: &Diagnostic, printer: &Printer) {
    let before = said.iter().take_while(|one| !std::ptr::eq(*one, error));
    let before = before.filter(|one| one.voice == Voice::Bare);
    // What is wrong about options together is said before nodes and tasks are counted against each other.
    let counts_on = error.code == "conflict" && error.voice == Voice::Error;
    let after = said
        .iter()
        .filter(|one| counts_on && one.code == "fewer-nodes");
    for one in before.chain([error]).chain(after) {
        printer.say(one.printed(command).trim_end_matches('\n'));
    }
}

/// What `--version` says: the version of Slurm whose language this is, and nothing after it: programs take
/// the second word for the version, or the last one.
fn version_line() -> String {
    format!("slurm {}", model::SPOKEN_VERSION)
}

/// An environment variable; what is no text in it stays what it is.
fn variable(name: &str) -> Option<String> {
    Some(sys::odd_text::text(&std::env::var_os(name)?))
}
