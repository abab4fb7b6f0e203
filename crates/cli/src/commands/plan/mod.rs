//! `yard plan`

mod json;
mod script;

use super::run_request::RequestArgs;
use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use crate::words;
use api::WouldWait;
use backend::TestedStart;
use clap::Args as ClapArgs;
use cluster_file::ClusterFile;
use model::Timestamp;
use runs::{ClusterRef, Described, JobToTest, Planned, RunRequest, WouldTake, places, say_reason};
use runs::{scratch_on, would_take};
use std::path::{Path, PathBuf};
use sys::Places;
use sys::users::this_user;
use train::site::{Beside, Objection, SitePlan};
use train::{JobPlace, Plan, Row};

/// Show what a run or a batch script would be, and why each value is what it is; nothing is
/// submitted
///
/// With --on NAME it plans for a cluster that is known by its file (yard cluster ls), without that
/// cluster being there; otherwise for the engine that would run it here, which is asked whether it
/// would take the job.
#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(flatten)]
    asked: RequestArgs,
    /// Only the batch script that would be submitted
    #[arg(long, conflicts_with = "json")]
    script: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Compare with a batch script: what both get, and each of its options that the run drops or
    /// changes, with the reason; needs --on
    #[arg(
        long,
        value_name = "SCRIPT",
        conflicts_with = "script",
        requires = "on"
    )]
    beside: Option<PathBuf>,
}

/// How the answer is shown.
struct Shown {
    script: bool,
    json: bool,
    beside: Option<PathBuf>,
}

/// Runs `yard plan`.
pub fn run(args: Args, printer: &Printer) -> Outcome {
    let places = places()?;
    let request = RunRequest::from(args.asked);
    let args = Shown {
        script: args.script,
        json: args.json,
        beside: args.beside,
    };
    let asked = request.script()?;
    let file = match request.on.as_deref() {
        Some(name) => Described::elsewhere(name, &places)?,
        None => None,
    };
    match (asked, file) {
        (Some((path, _)), _) if args.beside.is_some() => Err(Failure::new(
            FailureKind::Usage,
            format!(
                "--beside compares a run file with a script, and {} is a script",
                path.display()
            ),
        )
        .todo(format!("yard plan FILE --beside {}", path.display()))),
        (Some((path, flags)), file) => {
            let on = request.on.as_deref();
            script::plan(&args, path, flags, on, file, &places, printer)
        }
        (None, Some(cluster)) => {
            let site = request.plan_for(&cluster, &places)?;
            show_site(&args, &site, &cluster.file()?, &places, printer)
        }
        // Both are held against the file of the engine's cluster.
        (None, None) if args.beside.is_some() => {
            let planned = request.plan(&places)?;
            let (cluster, _noted_by_plan) = Described::target(&planned.target, &places)?;
            let site = request.plan_for(&cluster, &places)?;
            show_site(&args, &site, &cluster.file()?, &places, printer)
        }
        (None, None) => {
            let mut planned = request.plan(&places)?;
            planned.check_code()?;
            planned.leave_out_modules(job::environment::has_modules);
            planned.note_what_is_missing(job::environment::has_conda);
            show_here(&args, planned, printer)
        }
    }
}

/// The plan for the engine that would run it, which is asked whether it would.
fn show_here(args: &Shown, planned: Planned, printer: &Printer) -> Outcome {
    let Planned {
        plan,
        target,
        places,
        refusals,
        ..
    } = planned;
    let place = RunPlace::of(&plan, &places.scratch);
    let script = plan.script(&place.job());
    // What its file refuses for sure is not asked.
    let (refusals, start) = if !refusals.is_empty() {
        (refusals, None)
    } else {
        let job = JobToTest {
            request: plan.request(&place.job()),
            script: script.clone(),
            flags: Vec::new(),
        };
        tested(&target.cluster(), &job, &places)?
    };
    if args.json {
        let json = json::of_run_here(&plan, &target.facts, &refusals, &script, start.as_ref());
        printer.line(&json.to_string());
    } else if args.script {
        printer.data(&script);
        say_refusals(&refusals, printer);
    } else {
        printer.shown(&format!(
            "{}{}",
            plan.show_with(&target.facts, start),
            train::site::show_refusals(&refusals)
        ));
    }
    Ok(end(!refusals.is_empty()))
}

fn show_site(
    args: &Shown,
    site: &SitePlan,
    file: &ClusterFile,
    places: &Places,
    printer: &Printer,
) -> Outcome {
    let place = RunPlace::of(&site.plan, &scratch_on(file, places));
    let script = site.plan.script(&place.job());
    let beside = match &args.beside {
        Some(path) => Some((path, beside(path, site, file)?)),
        None => None,
    };
    if args.json {
        let beside = beside.as_ref().map(|(_, beside)| beside);
        printer.line(&json::of_run(site, file, &script, beside).to_string());
    } else if args.script {
        printer.data(&script);
        say_refusals(&site.refusals, printer);
    } else {
        let beside = beside.map(|(path, beside)| beside.show(&path.display().to_string()));
        printer.shown(&format!("{}{}", site.show(), beside.unwrap_or_default()));
    }
    Ok(end(site.is_refused()))
}

fn beside(path: &Path, site: &SitePlan, file: &ClusterFile) -> Result<Beside, Failure> {
    let text = script::read(path)?;
    let around = script::Around::here();
    let surroundings = around.on(file);
    let words = [path.display().to_string()];
    let (read, _) = script::resolve(path, &words, &|_| None, &text, &surroundings, &file.name)?;
    Ok(Beside::of(
        &read,
        site,
        file,
        &surroundings,
        Some(this_user()),
    ))
}

/// What a script on standard output can't say.
fn say_refusals(refusals: &[Objection], printer: &Printer) {
    if !refusals.is_empty() {
        printer.say(train::site::show_refusals(refusals).trim_end());
    }
}

/// When it would start, as a line of the table.
fn start_row(start: &TestedStart, is_embedded: bool) -> Row {
    if let Some(waits) = &start.waits {
        return waiting_row(waits);
    }
    if let Some(job) = start.no_limit {
        return Row {
            name: "start",
            value: "not known".to_owned(),
            why: format!("job {job} has no time limit"),
        };
    }
    let wait = start.at.0.saturating_sub(now().0);
    Row {
        name: "start",
        value: in_time(wait),
        why: match (is_embedded, wait) {
            (true, ..SOON) => "by the engine, just now".to_owned(),
            (true, _) => "if running jobs use their whole time limit".to_owned(),
            (false, _) => "by sbatch --test-only, just now".to_owned(),
        },
    }
}

/// When one would start that waits, and for what: the limit that holds it, with its numbers.
fn waiting_row(waits: &WouldWait) -> Row {
    let wait = waits.start.map(|start| start.0.saturating_sub(now().0));
    Row {
        name: "start",
        value: wait.map_or_else(|| "not known".to_owned(), in_time),
        why: match &waits.limit {
            Some(limit) => format!("{limit} ({})", waits.reason),
            None => say_reason(&waits.reason),
        },
    }
}

fn in_time(wait: i64) -> String {
    match wait {
        ..SOON => "at once".to_owned(),
        wait => format!("in {}", words::length(wait)),
    }
}

/// A wait too short to notice, in milliseconds.
const SOON: i64 = 2000;

/// The engine's no, as a refusal of the plan, else when the job would start, as a line of the table; what is
/// no answer is a failure.
fn tested(
    cluster: &ClusterRef,
    job: &JobToTest,
    places: &Places,
) -> Result<(Vec<Objection>, Option<Row>), Failure> {
    Ok(said(would_take(cluster, job, places)?, cluster))
}

fn said(answer: WouldTake, cluster: &ClusterRef) -> (Vec<Objection>, Option<Row>) {
    match answer {
        WouldTake::Yes(start) => {
            let row = start.map(|start| start_row(&start, cluster.is_embedded));
            (Vec::new(), row)
        }
        WouldTake::NodesAway(why) => {
            let row = Row {
                name: "start",
                value: "not known".to_owned(),
                why,
            };
            (Vec::new(), Some(row))
        }
        WouldTake::No(refusal) => (vec![refusal.into()], None),
    }
}

fn end(refused: bool) -> u8 {
    if refused {
        exit_code::REFUSED
    } else {
        exit_code::DONE
    }
}

/// Where a run that was not made would lie: its folder is named for what it would be.
struct RunPlace {
    folder: PathBuf,
    output: String,
}

impl RunPlace {
    fn of(plan: &Plan, scratch: &Path) -> RunPlace {
        let folder = scratch
            .join("PROJECT")
            .join(format!("{}-ID", plan.name.value));
        let output = folder.join("logs/conductor.%j").display().to_string();
        RunPlace { folder, output }
    }

    fn job(&self) -> JobPlace<'_> {
        JobPlace {
            yard: Path::new("yard"),
            run_folder: &self.folder,
            output: &self.output,
            token: "TOKEN",
        }
    }
}

/// Now, as Slurm's options take it.
fn now() -> Timestamp {
    Timestamp(sys::now())
}
