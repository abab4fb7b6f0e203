//! `yard job conductor|agent|stage|rank …`: commands for jobs' scripts and steps, not for people.

use crate::agent::{self, Surroundings};
use crate::conductor::{self, Allocation, AllocationError};
use crate::local_folder::LocalFolder;
use crate::near_gpus;
use crate::rank::{Numbered, RankError};
use crate::{engine_watch, environment, rank, stage};
use folder::{Attempt, Event, RunFolder, RunJson};
use model::Timestamp;
use std::error::Error;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

/// Runs the part of a job that `args` name: what follows `yard job` on the command line.
///
/// - `conductor RUN_FOLDER [LINK]`: the batch step, of the run's first job or of the one whose link
///   has that number; `conduct` is what it starts.
/// - `agent RUN_FOLDER`, `stage RUN_FOLDER`: one task a node.
/// - `environment RUN_FOLDER`: the only process of the job that makes a run's environment.
/// - `rank JOB.RESTART RUN_FOLDER LOCAL_FOLDER`: one task a rank.
/// - `service JOB.RESTART RUN_FOLDER COMMAND…`: a program beside the ranks.
/// - `attach`, with the same: becomes a person's command beside the ranks.
/// - `container JSON COMMAND…`: becomes a command inside a container; `container-script`, a batch script.
/// - `mount-points JSON PROGRAM WORD…`: becomes a container's runtime that sees places to mount on which its image lacks.
/// - `after-prologs CLUSTER_S OWN PROGRAM WORD…`: a task, after the prologs of that path, of which each
///   can be empty; the first word is the name by which the program is called.
/// - `near-gpu LOCAL RANKS COMMAND…`: becomes one of so many ranks of a node that no wrapper starts, near its GPU.
/// - `shell FILE`: becomes the shell of a file.
/// - `head`, with the same: the only task of a step, whose program starts an `mpi-rank` for each rank.
///
/// Returns the exit code of what it stood for; 2 for other arguments.
#[must_use]
pub fn main(args: &[OsString]) -> u8 {
    let words: Vec<&Path> = args.iter().map(Path::new).collect();
    let result = match words.as_slice() {
        [what, folder, rest @ ..]
            if *what == Path::new("conductor") || *what == Path::new("conduct") =>
        {
            let number = match rest {
                [] => Some(1),
                [number] => number.to_str().and_then(|text| text.parse().ok()),
                _ => None,
            };
            let Some(number) = number else {
                return ended(Err(wrong_usage()));
            };
            if *what == Path::new("conductor") {
                conductor::keep(folder, number).map_err(boxed)
            } else {
                engine_watch::start();
                conductor::run(folder, number).map_err(boxed)
            }
        }
        [what, folder] if *what == Path::new("agent") => {
            engine_watch::start();
            run_agent(folder)
        }
        [what, folder] if *what == Path::new("stage") => run_stage(folder),
        [what, folder] if *what == Path::new("environment") => make_environment(folder),
        [what, attempt, folder, words @ ..] if part_beside(what).is_some() => {
            let attempt = attempt.to_str().and_then(|text| text.parse().ok());
            let words = words.iter().map(|word| word.display().to_string());
            let words: Vec<String> = words.collect();
            let attempt = attempt.filter(|_| !words.is_empty());
            let (Some(part), Some(attempt)) = (part_beside(what), attempt) else {
                return ended(Err(wrong_usage()));
            };
            let started = part(attempt, &RunFolder::at(folder), &words);
            return ended(started.map_err(|error| {
                let code = error.code();
                (boxed(error), code)
            }));
        }
        [what, container, command @ ..] if step_part(what).is_some() => {
            let words = command.iter().map(|word| word.display().to_string());
            let (Some(part), Some(container)) = (step_part(what), container.to_str()) else {
                return ended(Err(wrong_usage()));
            };
            let words: Vec<String> = words.collect();
            return ended(part(container, &words).map_err(|error| {
                let code = error.code();
                (boxed(error), code)
            }));
        }
        [what, cluster_s, own, rest @ ..] if *what == Path::new("after-prologs") => {
            let command = &args[args.len() - rest.len()..];
            let Some((program, words)) =
                command.split_first().filter(|(_, words)| !words.is_empty())
            else {
                return ended(Err(wrong_usage()));
            };
            return rank::after_prologs([cluster_s, own], program, words);
        }
        [what, local, ranks, rest @ ..] if *what == Path::new("near-gpu") => {
            let number = |word: &Path| word.to_str()?.parse::<u32>().ok();
            let (Some(local), Some(ranks)) = (number(local), number(ranks)) else {
                return ended(Err(wrong_usage()));
            };
            let command = &args[args.len() - rest.len()..];
            return ended(Err((
                boxed(near_gpus::become_rank(local, ranks, command)),
                127,
            )));
        }
        [what, file] if *what == Path::new("shell") => {
            return ended(rank::shell(file).map_err(|error| {
                let code = error.code();
                (boxed(error), code)
            }));
        }
        [what, attempt, folder, local] if rank_part(what).is_some() => {
            let attempt = attempt.to_str().and_then(|text| text.parse().ok());
            let (Some(part), Some(attempt)) = (rank_part(what), attempt) else {
                return ended(Err(wrong_usage()));
            };
            engine_watch::start();
            return ended(
                part(attempt, &RunFolder::at(folder), local).map_err(|error| {
                    let code = error.code();
                    (boxed(error), code)
                }),
            );
        }
        _ => return ended(Err(wrong_usage())),
    };
    ended(result.map_err(|error| (error, 1)))
}

/// A command beside the ranks of a start.
type PartBeside = fn(Attempt, &RunFolder, &[String]) -> Result<u8, RankError>;

fn part_beside(what: &Path) -> Option<PartBeside> {
    match what.to_str()? {
        "service" => Some(rank::service),
        "attach" => Some(rank::attach),
        _ => None,
    }
}

/// A command in the container of a step.
type StepPart = fn(&str, &[String]) -> Result<u8, RankError>;

fn step_part(what: &Path) -> Option<StepPart> {
    match what.to_str()? {
        "container" => Some(rank::in_container),
        "container-script" => Some(rank::script_in_container),
        rank::SHOW_MOUNT_POINTS => Some(rank::show_mount_points),
        _ => None,
    }
}

/// A task of the ranks' step.
type RankPart = fn(Attempt, &RunFolder, &Path) -> Result<u8, RankError>;

fn rank_part(what: &Path) -> Option<RankPart> {
    match what.to_str()? {
        "rank" => Some(|attempt, run, local| rank::run(Numbered::BySlurm, attempt, run, local)),
        "mpi-rank" => Some(|attempt, run, local| rank::run(Numbered::ByMpi, attempt, run, local)),
        "head" => Some(rank::head),
        _ => None,
    }
}

type Failure = Box<dyn Error>;

fn wrong_usage() -> (Failure, u8) {
    let usage = "yard job is started by jobs, not by people; yard run starts a job";
    (usage.into(), 2)
}

fn boxed(error: impl Error + 'static) -> Failure {
    Box::new(error)
}

fn ended(result: Result<u8, (Failure, u8)>) -> u8 {
    match result {
        Ok(code) => code,
        Err((error, code)) => {
            let mut text = format!("error: {error}");
            let mut next = error.source();
            while let Some(source) = next {
                text.push_str(&format!("\n  caused by: {source}"));
                next = source.source();
            }
            // A log that can't be written is nothing that could be told anywhere.
            let _ = writeln!(std::io::stderr(), "{text}");
            code
        }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn number(name: &str) -> Option<u32> {
    variable(name)?.parse().ok()
}

fn allocation(json: &RunJson) -> Result<Allocation, AllocationError> {
    let granularity = json.facts.time_granularity;
    Allocation::read(&variable, &json.plan, granularity, Timestamp(sys::now()))
}

fn run_agent(folder: &Path) -> Result<u8, Failure> {
    let (run, json) = RunFolder::open(folder)?;
    let allocation = allocation(&json)?;
    agent::run(Surroundings {
        attempt: allocation.attempt,
        id: number("SLURM_PROCID").unwrap_or(0),
        node: variable("SLURMD_NODENAME").unwrap_or_else(sys::host_name),
        node_index: number("SLURM_NODEID").unwrap_or(0),
        plan: json.plan,
        run,
    })?;
    Ok(0)
}

/// Its output is a log for people; the last line says why there is none, for the conductor.
fn make_environment(folder: &Path) -> Result<u8, Failure> {
    let (run, json) = RunFolder::open(folder)?;
    let mut out = std::io::stdout();
    let mut say = |line: &str| {
        let _ = writeln!(out, "{line}");
    };
    let image = crate::image::make_left(&json, &run.image_source(), &mut say);
    let image = image.map_err(|error| {
        let there = error.there().replace('\n', "; ");
        format!("{error} ({}): {there}; {}", error.asked(), error.todo())
    })?;
    if let Some(digest) = image.and_then(|image| image.digest) {
        run.write_image_digest(&digest)?;
    }
    let made = environment::make_left(&json, &mut say);
    made.map(|_| 0).map_err(|error| {
        let there = error.there().replace('\n', "; ");
        format!("{error} ({}): {there}; {}", error.asked(), error.todo()).into()
    })
}

fn run_stage(folder: &Path) -> Result<u8, Failure> {
    let staged = stage_here(folder);
    if let Err(error) = &staged {
        let cause = error.to_string();
        // Its agent passes it on, and the conductor records it among the run's events, which `yard run` and `yard show` print.
        let _ = stage::print(&Event::Failed {
            cause,
            status: None,
        });
    }
    staged.map(|()| 0)
}

fn stage_here(folder: &Path) -> Result<(), Failure> {
    // Without its agent nothing counts what it brings.
    let _ = sys::process::end_with_parent();
    let (run, json) = RunFolder::open(folder)?;
    let allocation = allocation(&json)?;
    let local = LocalFolder::new(&json.plan.node_local.value, run.id(), allocation.attempt);
    let several = json.plan.nodes.value > 1;
    let name = variable("SLURMD_NODENAME").filter(|_| several);
    let mut say = |mut event| {
        if let Event::Staged { node, .. } = &mut event {
            node.clone_from(&name);
        }
        // Progress is for people; an agent that is gone ends this by itself.
        let _ = stage::print(&event);
    };
    let node = number("SLURM_NODEID").unwrap_or(0).to_string();
    let collected = if several {
        run.collected().join(node)
    } else {
        run.collected()
    };
    stage::run(&json.plan.data, &local, Some(&collected), &mut say)?;
    Ok(())
}
