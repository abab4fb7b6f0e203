//! `yard plan`

use super::asked::{Asked, Planned, user};
use super::cluster::files;
use super::place::places;
use crate::exit_code;
use crate::failure::{Failure, Outcome};
use crate::printer::Printer;
use backend::LOCAL;
use clap::Args as ClapArgs;
use model::cluster::ClusterFile;
use model::{Severity, SlurmVersion, Surroundings, Timestamp, sbatch};
use serde_json::json;
use std::path::Path;
use sys::Places;
use train::site::{ScriptPlan, SitePlan};
use train::{JobPlace, Plan};

/// Show what a run would be, and why each value is what it is; nothing is submitted
///
/// With --on NAME it plans for a cluster that is known by its file (yard cluster ls), without that
/// cluster being there; a batch script can be planned so too.
#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(flatten)]
    asked: Asked,
    /// Only the batch script that would be submitted
    #[arg(long, conflicts_with = "json")]
    script: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs `yard plan`.
pub fn run(args: Args, printer: &Printer) -> Outcome {
    let places = places()?;
    let script = args.asked.script(printer)?;
    let file = cluster_file(args.asked.on(), &places, printer)?;
    match (script, file) {
        (Some((script, flags)), Some(file)) => of_script(&args, script, flags, &file, printer),
        (Some((script, _)), None) => Err(Failure::new(
            exit_code::USAGE,
            format!(
                "{} is a batch script, which has no plan here",
                script.display()
            ),
        )
        .there("it is submitted as it stands; a cluster file tells what it would get there")
        .todo("--on CLUSTER, one of those of yard cluster ls")),
        (None, Some(file)) => {
            let site = args.asked.plan_for(&file, &places, printer)?;
            show_site(&args, &site, &file, printer)
        }
        (None, None) => {
            let Planned { plan, door, .. } = args.asked.plan(&places, printer)?;
            if args.json {
                printer.line(&json!({ "plan": plan, "cluster": door.facts() }).to_string());
            } else if args.script {
                printer.data(&batch_script(&plan, &places.scratch));
            } else {
                printer.data(&plan.show(door.facts()));
            }
            Ok(exit_code::DONE)
        }
    }
}

/// The cluster file that is meant; none for the embedded engine and for the Slurm that answers here.
fn cluster_file(
    on: Option<&str>,
    places: &Places,
    printer: &Printer,
) -> Result<Option<ClusterFile>, Failure> {
    let Some(name) = on.filter(|name| *name != LOCAL) else {
        return Ok(None);
    };
    // A Slurm that is here but doesn't answer is not in the way of planning for another cluster.
    if let Ok(Some(found)) = backend::discover()
        && found.facts.name == name
    {
        return Ok(None);
    }
    files::read(places, name, printer).map(Some)
}

fn show_site(args: &Args, site: &SitePlan, file: &ClusterFile, printer: &Printer) -> Outcome {
    if args.json {
        let refusals: Vec<_> = site.refusals.iter().map(refusal_json).collect();
        printer.line(
            &json!({
                "plan": site.plan,
                "cluster": site.facts,
                "refusals": refusals,
                "in_queue": { "jobs": site.in_queue.jobs, "limit": site.in_queue.limit },
                "assumed": site.assumed,
            })
            .to_string(),
        );
    } else if args.script {
        let scratch = file.paths.scratch.as_ref();
        let scratch = scratch.map_or("/scratch/$USER", |path| path.as_str());
        // No shell reads a directive.
        let scratch = scratch.replace("$USER", user().as_deref().unwrap_or("USER"));
        printer.data(&batch_script(&site.plan, Path::new(&scratch)));
    } else {
        printer.data(&site.show());
    }
    Ok(match site.is_refused() {
        true => exit_code::REFUSED,
        false => exit_code::DONE,
    })
}

/// The script of a run that was not made: its folder is named for what it would be.
fn batch_script(plan: &Plan, scratch: &Path) -> String {
    let run = scratch
        .join("PROJECT")
        .join(format!("{}-ID", plan.name.value));
    let output = run.join("logs/conductor.%j");
    plan.script(&JobPlace {
        yard: Path::new("yard"),
        run_folder: &run,
        output: &output.display().to_string(),
        token: "TOKEN",
    })
}

fn of_script(
    args: &Args,
    script: &Path,
    flags: Vec<String>,
    file: &ClusterFile,
    printer: &Printer,
) -> Outcome {
    let bytes = std::fs::read(script).map_err(|error| {
        Failure::new(
            exit_code::USAGE,
            format!("{} can't be read: {error}", script.display()),
        )
    })?;
    let text = String::from_utf8_lossy(&bytes);
    if args.script {
        printer.data(&text);
        return Ok(exit_code::DONE);
    }
    let mut words = flags;
    words.push(script.display().to_string());
    let zone = jiff::tz::TimeZone::system();
    let cwd = std::env::current_dir().unwrap_or_default();
    let version = file
        .slurm
        .as_ref()
        .map_or(SlurmVersion::V22_05, |v| v.value);
    let surroundings = Surroundings::slurm(version, Timestamp(sys::now()), &zone, &cwd);
    let variables = |name: &str| std::env::var(name).ok();
    let (read, remarks) = sbatch::resolve(&words, &variables, Some(&text), &surroundings);
    let wrong = remarks
        .iter()
        .find(|remark| remark.severity == Severity::Error);
    if let Some(wrong) = wrong {
        return Err(Failure::new(
            exit_code::REFUSED,
            format!("sbatch would refuse {}", script.display()),
        )
        .there(wrong.message.clone())
        .todo(format!("yard lint {} --on {}", script.display(), file.name)));
    }
    let plan = ScriptPlan::of(&read, file, user().as_deref());
    if args.json {
        let refusals: Vec<_> = plan.refusals.iter().map(refusal_json).collect();
        let fields: Vec<_> = plan.allocation.fields().to_vec();
        printer.line(&json!({ "allocation": fields, "refusals": refusals }).to_string());
    } else {
        printer.data(&plan.show());
    }
    Ok(match plan.is_refused() {
        true => exit_code::REFUSED,
        false => exit_code::DONE,
    })
}

fn refusal_json(refusal: &model::cluster::Refusal) -> serde_json::Value {
    json!({
        "what": refusal.waits.unwrap_or(refusal.denial.words()),
        "asked": refusal.asked,
        "there": refusal.there,
        "do": refusal.todo,
        "at": refusal.at,
        "assumed": refusal.assumed,
    })
}
