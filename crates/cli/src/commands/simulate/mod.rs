//! `yard simulate`

mod pictures;
mod tables;

use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::output_file;
use crate::printer::Printer;
use clap::{Args as ClapArgs, ValueEnum};
use cluster_file::ClusterFile;
use flate2::read::MultiGzDecoder;
use model::{Seconds, TimeLimitRequest};
use pictures::{Machine, Schedule, Window, first_submission, pictures};
use resources::{Cluster, Trust};
use runs::{cluster_files, input_file, places};
use sched::BackfillParameters;
use sched::replay::{
    Arrivals, Estimates, Measures, Moments, Order, Played, Policy, Report, Rules, Trace,
    flat_machine, read_trace, replay,
};
use std::io::Read;
use std::path::{Path, PathBuf};
use tables::{name, parts, table, waits};

/// A log that is longer than this is not read.
const LONGEST: u64 = 2 << 30;
/// Play the log of a machine again, under other rules
///
/// The log is one in the Standard Workload Format, a table of comma-separated values with the
/// columns `submit` and `run` (in seconds) and of `job`, `cpus`, `gpus`, `gpu_type`, `memory`,
/// `estimate`, `user` and `queue` what there is, or one of the public tables of GPU jobs (Philly,
/// Alibaba 2023); gzip is unpacked. On a cluster a job whose queue is called like a partition gets
/// that partition's nodes, another any; under Slurm's policy each partition is a queue of its own,
/// higher tiers first. No limit of a partition, QOS or account holds a job back. A job's memory is
/// dealt evenly to its processors, or to its nodes where it asks for GPUs.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The log
    trace: PathBuf,
    /// Play it on so many processors, wherever they are; the log's own number where it says one
    #[arg(long, value_name = "N", conflicts_with = "cluster",
          value_parser = clap::value_parser!(u32).range(1..))]
    processors: Option<u32>,
    /// Play it on the nodes of a cluster: a name, or a cluster file
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,
    /// Who of those that wait may start; several are compared
    #[arg(
        long,
        value_name = "POLICY",
        value_delimiter = ',',
        default_value = "easy"
    )]
    policy: Vec<PolicyName>,
    /// The order of the queue
    #[arg(long, value_name = "ORDER", default_value = "fcfs")]
    order: OrderName,
    /// What stands for a job's time limit
    #[arg(long, value_name = "WHICH", default_value = "requested")]
    estimates: EstimatesName,
    /// When a job comes into the queue
    #[arg(long, value_name = "WHEN", default_value = "at-once")]
    arrivals: ArrivalsName,
    /// How Slurm's backfill goes, with --policy slurm: bf_interval=30,bf_window=1440,…; the cluster
    /// file's own, else Slurm's
    #[arg(long, value_name = "KEY=N,…")]
    parameters: Option<String>,
    /// Write pictures to a folder, as SVG and PNG: use over time, waits by size, who held what
    #[arg(long, value_name = "FOLDER")]
    pictures: Option<PathBuf>,
    /// Which part of the time the last of them shows, since the first submission
    /// (3-12:00:00+1-00:00:00); a day around the longest wait
    #[arg(long, value_name = "BEGIN+LENGTH", requires = "pictures")]
    window: Option<String>,
    /// Write when each job starts and ends to a table: job,submit,start,end
    #[arg(long, value_name = "FILE")]
    starts: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PolicyName {
    /// The first in the queue, and no job before it
    Fifo,
    /// Who does not delay the first may start before it
    Easy,
    /// The same, the shortest first
    EasySjbf,
    /// Who delays no job ahead may start; all are planned anew whenever something happens
    Conservative,
    /// Slurm's two schedulers: in order at each event, and a cycle of backfill from time to time
    /// that promises whole nodes to each job
    Slurm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ArrivalsName {
    /// At once
    AtOnce,
    /// While no job waits, or the first can't start; as RLScheduler simulates, with --policy fifo
    WhileBlocked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OrderName {
    /// First come, first served
    Fcfs,
    /// The shortest limit first
    Sjf,
    /// The fewest processors first
    Smallest,
    /// log10(limit) * processors + 870 * log10(submission)
    F1,
    /// Slurm's priority by the weights in the cluster's file: age, size, partition, and a fair share
    /// of what users used in the log so far
    Multifactor,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum EstimatesName {
    /// What was asked for; where the log does not say, how long it ran
    Requested,
    /// How long it ran
    Actual,
}

/// Runs `yard simulate`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    if args.starts.is_some() && args.policy.len() > 1 {
        return Err(Failure::new(
            FailureKind::Usage,
            "--starts is one schedule, and several policies are given",
        )
        .todo("give one --policy with --starts"));
    }
    let fifo = [PolicyName::Fifo];
    if args.arrivals == ArrivalsName::WhileBlocked && args.policy != fifo {
        return Err(Failure::new(
            FailureKind::Usage,
            "--arrivals while-blocked knows no backfill",
        )
        .todo("give --policy fifo with it"));
    }
    let file = args.cluster.as_ref();
    let file = file.map(|name| cluster_files::read(&places()?, name));
    let file = file.transpose()?;
    let backfill = parameters(args, file.as_ref())?;
    let window = args.window.as_deref().map(window).transpose()?;
    let trace = read(&args.trace)?;
    let cluster = machine(args, file.as_ref(), &trace)?;
    check_order(args, &cluster)?;
    let machine = Machine {
        cpus: total(&cluster, Amount::Cpus),
        gpus: total(&cluster, Amount::Gpus),
    };
    if trace.left_out.count() > 0 {
        printer.say(&format!("note: lines left out: {}", trace.left_out));
    }
    let mut reports = Vec::new();
    let mut schedules = Vec::new();
    for policy in &args.policy {
        let rules = Rules {
            policy: policy.rule(),
            order: args.order.rule(),
            estimates: args.estimates.rule(),
            arrivals: match args.arrivals {
                ArrivalsName::AtOnce => Arrivals::AtOnce,
                ArrivalsName::WhileBlocked => Arrivals::WhileBlocked,
            },
            backfill,
        };
        let title = format!("playing {} jobs", trace.jobs.len());
        let mut progress = |started: usize| {
            if printer.is_terminal() {
                let share = started * 100 / trace.jobs.len();
                printer.moving(&title, &format!("{}, {share} %", name(rules.policy)));
            }
        };
        let played = replay(&trace, &cluster, rules, &mut progress);
        if played.starts.is_empty() {
            return Err(Failure::new(
                FailureKind::Usage,
                format!("none of the {} jobs fits this machine", trace.jobs.len()),
            )
            .there(format!(
                "it has {} CPUs and {} GPUs",
                machine.cpus, machine.gpus
            ))
            .todo(
                if trace.jobs.iter().all(|job| job.gpus > 0) && machine.gpus == 0 {
                    "name a cluster with GPUs: --cluster"
                } else {
                    "name a larger one: --processors N, or --cluster"
                },
            ));
        }
        if let Some(path) = &args.starts {
            write_starts(path, &played)?;
        }
        reports.push(Report {
            rules,
            never: played.never.len(),
            measures: Measures::of(&played, machine.cpus, machine.gpus),
        });
        schedules.push((name(rules.policy), played));
    }
    if let Some(folder) = &args.pictures {
        draw(folder, &schedules, machine, window, printer)?;
    }
    // What never fits does not hang on the policy.
    if let Some(never) = reports
        .first()
        .map(|report| report.never)
        .filter(|never| *never > 0)
    {
        printer.say(&format!(
            "note: {} left out: more is asked than this machine has",
            model::counted(never, "job")
        ));
    }
    if args.json {
        let text = serde_json::to_string_pretty(&reports)
            .map_err(|error| Failure::new(FailureKind::Io, format!("no JSON: {error}")))?;
        printer.line(&text);
        return Ok(exit_code::DONE);
    }
    printer.shown(&table(&reports, printer.width()));
    if let [Report { measures, .. }] = &reports[..] {
        printer.shown(&parts("user", &measures.users, printer.width()));
        printer.shown(&parts("queue", &measures.queues, printer.width()));
    } else {
        printer.shown(&waits(&reports, &trace, printer.width()));
    }
    Ok(exit_code::DONE)
}

impl PolicyName {
    fn rule(self) -> Policy {
        match self {
            PolicyName::Fifo => Policy::Fifo,
            PolicyName::Easy => Policy::Easy,
            PolicyName::EasySjbf => Policy::EasySjbf,
            PolicyName::Conservative => Policy::Conservative,
            PolicyName::Slurm => Policy::Slurm,
        }
    }
}

impl OrderName {
    fn rule(self) -> Order {
        match self {
            OrderName::Fcfs => Order::Fcfs,
            OrderName::Sjf => Order::Sjf,
            OrderName::Smallest => Order::Smallest,
            OrderName::F1 => Order::F1,
            OrderName::Multifactor => Order::Multifactor,
        }
    }
}

impl EstimatesName {
    fn rule(self) -> Estimates {
        match self {
            EstimatesName::Requested => Estimates::Requested,
            EstimatesName::Actual => Estimates::Actual,
        }
    }
}

fn read(path: &Path) -> Result<Trace, Failure> {
    let name = path.display();
    let too_long = || {
        Failure::new(FailureKind::Usage, format!("{name} is too long"))
            .there("a log of at most 2 GiB is read, gzip unpacked")
            .todo("play a part of it: its first lines are a log, too")
    };
    let bytes = input_file::read_up_to(path, LONGEST)?
        .ok_or_else(too_long)?
        .bytes;
    let bytes = if !bytes.starts_with(&[0x1f, 0x8b]) {
        bytes
    } else {
        let mut unpacked = Vec::new();
        let mut reader = MultiGzDecoder::new(&bytes[..]).take(LONGEST + 1);
        reader.read_to_end(&mut unpacked).map_err(|error| {
            Failure::new(
                FailureKind::Io,
                format!("{name} can't be unpacked: {error}"),
            )
            .todo("get the file again: it is cut or damaged")
        })?;
        if unpacked.len() as u64 > LONGEST {
            return Err(too_long());
        }
        unpacked
    };
    read_trace(&String::from_utf8_lossy(&bytes)).map_err(|error| {
        Failure::new(FailureKind::Usage, format!("{name} is no trace: {error}"))
            .there(
                "a log in the Standard Workload Format, or a table with the columns submit, run and cpus or gpus",
            )
            .todo("see `yard simulate --help`")
    })
}

/// Priorities need weights, and a queue that goes on with time.
fn check_order(args: &Args, cluster: &Cluster) -> Result<(), Failure> {
    if args.order != OrderName::Multifactor {
        return Ok(());
    }
    if args.arrivals == ArrivalsName::WhileBlocked {
        return Err(Failure::new(
            FailureKind::Usage,
            "--order multifactor changes with time, and --arrivals while-blocked knows none",
        )
        .todo("leave out one of them"));
    }
    if cluster.priority().is_multifactor {
        return Ok(());
    }
    let there = match &args.cluster {
        Some(name) => format!("the cluster {name} has no weights"),
        None => "a number of processors has no weights".to_owned(),
    };
    Err(Failure::new(
        FailureKind::Usage,
        "--order multifactor needs the weights of a cluster",
    )
    .there(there)
    .todo("name one with --cluster whose file has a table [priority], such as `fair_share = 1000`"))
}

/// How Slurm's backfill goes; `None` where it is switched off.
fn parameters(
    args: &Args,
    file: Option<&ClusterFile>,
) -> Result<Option<BackfillParameters>, Failure> {
    let of_file = file.and_then(|file| file.scheduling.parameters.as_ref());
    let text = args.parameters.as_deref();
    let text = text.or(of_file.map(|text| text.value.as_str()));
    BackfillParameters::parse(text.unwrap_or_default()).map_err(|error| {
        Failure::new(FailureKind::Usage, format!("parameters: {error}"))
            .todo("see SchedulerParameters in the manual of slurm.conf")
    })
}

/// `BEGIN+LENGTH` in milliseconds since the first submission.
fn window(text: &str) -> Result<Window, Failure> {
    let millis = |text: &str| match TimeLimitRequest::parse(text)? {
        TimeLimitRequest::Limit(Seconds(seconds)) => i64::try_from(seconds).ok()?.checked_mul(1000),
        TimeLimitRequest::Unlimited => Some(0),
    };
    let parts = text.split_once('+');
    let parts = parts.and_then(|(begin, length)| Some((millis(begin)?, millis(length)?)));
    let window = parts.filter(|(_, length)| *length > 0);
    let window = window.and_then(|(from, length)| {
        let to = from.checked_add(length)?;
        Some(Window { from, to })
    });
    window.ok_or_else(|| {
        Failure::new(
            FailureKind::Usage,
            format!("--window {text} is no part of the time"),
        )
        .there("BEGIN+LENGTH, each a time as --time takes it")
        .todo("as in --window 3-12:00:00+1-00:00:00")
    })
}

/// Writes the pictures of some schedules.
fn draw(
    folder: &Path,
    schedules: &[(&'static str, Played<'_>)],
    machine: Machine,
    window: Option<Window>,
    printer: &Printer,
) -> Result<(), Failure> {
    let written = |path: &Path, error: &dyn std::fmt::Display| {
        let path = path.display();
        Failure::new(FailureKind::Io, format!("{path} can't be written: {error}"))
            .todo("name another folder with --pictures")
    };
    std::fs::create_dir_all(folder).map_err(|error| written(folder, &error))?;
    let schedules: Vec<Schedule<'_>> = schedules
        .iter()
        .map(|(name, played)| Schedule { name, played })
        .collect();
    let begin = schedules.first().map(|one| first_submission(one.played));
    let window = window.map(|window| Window {
        from: window.from.saturating_add(begin.unwrap_or(0)),
        to: window.to.saturating_add(begin.unwrap_or(0)),
    });
    let pictures = pictures(&schedules, machine, window)
        .map_err(|error| Failure::new(FailureKind::Io, format!("no pictures: {error}")))?;
    for picture in pictures {
        for (end, bytes) in [("svg", picture.svg.as_bytes()), ("png", &picture.png)] {
            let path = folder.join(format!("{}.{end}", picture.name));
            output_file::replace(&path, bytes).map_err(|error| written(&path, &error))??;
        }
    }
    printer.say(&format!("pictures are in {}", folder.display()));
    Ok(())
}

fn machine(args: &Args, file: Option<&ClusterFile>, trace: &Trace) -> Result<Cluster, Failure> {
    if let Some(file) = file {
        return Ok(Cluster::build(file, Trust::All));
    }
    let processors = args.processors.or(trace.processors);
    processors.map(flat_machine).ok_or_else(|| {
        Failure::new(
            FailureKind::Usage,
            format!(
                "{} does not say how many processors its machine had",
                args.trace.display()
            ),
        )
        .todo("say it: --processors N, or --cluster with a cluster file")
    })
}

enum Amount {
    Cpus,
    Gpus,
}

fn total(cluster: &Cluster, of: Amount) -> u64 {
    let amounts = cluster.nodes().map(|node| cluster.class(node).total);
    amounts
        .map(|total| match of {
            Amount::Cpus => u64::from(total.cpus),
            Amount::Gpus => u64::from(total.lane(0)),
        })
        .sum()
}

/// `job,submit,start,end`, moments as in the trace.
fn write_starts(path: &Path, played: &Played<'_>) -> Result<(), Failure> {
    let written = |error: &dyn std::fmt::Display| {
        Failure::new(
            FailureKind::Io,
            format!("{} can't be written: {error}", path.display()),
        )
        .todo("name another file with --starts")
    };
    let mut table = csv::Writer::from_writer(Vec::new());
    table
        .write_record(["job", "submit", "start", "end"])
        .map_err(|error| written(&error))?;
    let moment = |millis: i64| match played.trace.moments {
        Moments::Seconds if millis % 1000 == 0 => (millis / 1000).to_string(),
        Moments::Seconds => format!("{}", millis as f64 / 1000.0),
        Moments::DateTime => jiff::Timestamp::from_millisecond(millis)
            .map(|at| at.strftime("%Y-%m-%d %H:%M:%S").to_string())
            .unwrap_or_default(),
    };
    for start in &played.starts {
        let job = &played.trace.jobs[start.job];
        let id = job
            .name
            .as_deref()
            .map_or_else(|| job.id.to_string(), str::to_owned);
        let moments = [job.submit.0, start.at.0, start.at.0 + job.run].map(moment);
        table
            .write_record([&id].into_iter().chain(&moments))
            .map_err(|error| written(&error))?;
    }
    let text = table.into_inner().map_err(|error| written(&error))?;
    output_file::replace(path, &text).map_err(|error| written(&error))?
}
