//! The run after which another one comes.

use crate::failure::{Failure, FailureKind};
use crate::repeats::repeats_of;
use crate::{Run, RunState, ask_for, indexed_runs};
use backend::Transport;
use folder::{AwaitedRun, Index};
use model::JobId;
use sys::Places;
use train::Resolved;

/// What is waited for.
#[derive(Debug, Default)]
pub(crate) struct Awaited {
    /// The runs that have to be done.
    pub runs: Vec<AwaitedRun>,
    /// Their jobs that live.
    pub jobs: Vec<JobId>,
}

/// Finds the newest run with that name or id on the same cluster, or all of its repeats.
///
/// # Errors
/// There is none, it will never be done, or its cluster does not answer.
pub(crate) fn awaited(
    after: &Resolved<String>,
    transport: &mut dyn Transport,
    places: &Places,
) -> Result<Awaited, Failure> {
    let text = after.value.as_str();
    let asked = format!("[after] run = {text:?} ({})", after.source);
    let mut all = indexed_runs(places)?;
    all.reverse();
    let mut named = Index::choose(&all, text);
    let Some(newest) = named.first() else {
        let what = format!("no run has the name or id {text}");
        return Err(Failure::new(FailureKind::Usage, what)
            .asked(asked)
            .todo("start that one first; yard ls shows all runs"));
    };
    let (cluster, own) = (newest.cluster.clone(), transport.cluster().to_owned());
    let count = match repeats_of(&named) {
        Some(entry) => entry.repeats.unwrap_or(1) as usize,
        None => 1,
    };
    named.truncate(count);
    let runs: Vec<Run> = named.into_iter().map(Run::read).collect::<Result<_, _>>()?;
    let live: Vec<&Run> = runs.iter().filter(|run| run.needs_cluster()).collect();
    if cluster != own && !live.is_empty() {
        let what = format!("a run on {own} can't wait for one on {cluster}");
        return Err(Failure::new(FailureKind::Usage, what)
            .asked(asked)
            .there(format!("{} is not done yet", live[0].entry.id))
            .todo("start this one when that one is done, or both on one cluster"));
    }
    let views = ask_for(transport, &live)?;
    let mut awaited = Awaited::default();
    for run in &runs {
        let id = &run.entry.id;
        let why = match run.state(run.view(&views).as_ref()) {
            RunState::Done { .. } => continue,
            RunState::Waiting { .. } | RunState::Running { .. } | RunState::Resuming { .. } => {
                awaited.jobs.extend(run.live_jobs());
                awaited.runs.push(AwaitedRun {
                    id: id.clone(),
                    folder: run.entry.folder.clone(),
                });
                continue;
            }
            RunState::Failed { cause } => format!("{id} failed: {cause}"),
            RunState::Refused { why } => format!("{id} was refused: {why}"),
            RunState::Cancelled => format!("{id} was cancelled"),
            RunState::NotSubmitted => format!("{id} was never submitted"),
            RunState::Unknown { what } => format!("{id}: {what}"),
        };
        let what = format!("{id}, after which this run comes, will not be done");
        return Err(Failure::new(FailureKind::Failed, what)
            .asked(asked)
            .there(why)
            .todo(format!(
                "yard requeue {id}, or start it anew, then this one again"
            )));
    }
    awaited.jobs.sort_unstable();
    awaited.jobs.dedup();
    Ok(awaited)
}
