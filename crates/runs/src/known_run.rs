//! Every run of this user, with whether it may still write into its folder.

use crate::failure::Failure;
use crate::known_runs::indexed_runs;
use crate::reach::open;
use crate::run::{Run, ask_for};
use crate::run_state::RunState;
use folder::{RunFolder, Standing};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use sys::Places;

/// A run, as far as it matters to what removes files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownRun {
    /// Its folder.
    pub folder: RunFolder,
    /// Whether it lives.
    pub standing: Standing,
}

/// All runs of the index, and what kept a cluster from answering, in words. Each cluster is asked once.
///
/// # Errors
/// The index can't be read.
pub fn known_runs(places: &Places) -> Result<(Vec<KnownRun>, Vec<String>), Failure> {
    let (mut known, mut problems) = (Vec::new(), Vec::new());
    let mut asked: BTreeMap<String, Vec<Run>> = BTreeMap::new();
    for entry in indexed_runs(places)? {
        let folder = RunFolder::at(&entry.folder);
        let standing = match Run::read(entry) {
            // One that failed may wait in the queue again, put there by Slurm's own commands.
            Ok(run) if run.needs_cluster() || over(&run.state(None)) != Standing::Done => {
                let own = asked.entry(run.entry.cluster.clone()).or_default();
                own.push(run);
                continue;
            }
            Ok(run) => over(&run.state(None)),
            // What can't be read may be a live run's.
            Err(_) => Standing::Unreachable,
        };
        known.push(KnownRun { folder, standing });
    }
    for (cluster, mut runs) in asked {
        let views = open(places, &cluster).and_then(|mut way| {
            for run in &mut runs {
                run.look_for_unanswered(&mut *way)?;
            }
            let all: Vec<&Run> = runs.iter().collect();
            Ok(ask_for(&mut *way, &all)?)
        });
        let is_needed = runs.iter().any(Run::needs_cluster);
        problems.extend(
            views
                .as_ref()
                .err()
                .filter(|_| is_needed)
                .map(Failure::line),
        );
        let standing = |run: &Run| match &views {
            Ok(views) => match run.state(run.view(views).as_ref()) {
                state if state.is_live() => Standing::Live,
                state => over(&state),
            },
            Err(_) if run.needs_cluster() => Standing::Unreachable,
            Err(_) => over(&run.state(None)),
        };
        known.extend(runs.into_iter().map(|run| KnownRun {
            standing: standing(&run),
            folder: run.folder,
        }));
    }
    Ok((known, problems))
}

/// How one stands that is over: one that is done is brought back only where something of it is left on a node.
fn over(state: &RunState) -> Standing {
    match state {
        RunState::Done { left: None, .. } => Standing::Done,
        _ => Standing::Over,
    }
}
