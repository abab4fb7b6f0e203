//! `srun --bcast`: the program is copied to the nodes of the step, which runs the copies.

use crate::printer::Printer;
use crate::slurm::file_on_node::Placing;
use crate::slurm::sbcast::{Copying, times};
use api::StepLaunch;
use model::{NodeName, StepRecord, Variables, broadcast_name};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A program that is copied before the tasks of a step start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broadcast {
    /// The program, as text.
    source: String,
    /// Where its copies go; one that ends with a slash is a folder.
    destination: String,
}

impl Broadcast {
    /// Copies what a step runs, which runs the copies then. A place that does not begin at the root is none: the
    /// copy goes to the step's folder, as in Slurm.
    ///
    /// # Errors
    /// There is no such program.
    pub fn of(launch: &mut StepLaunch, to: &str) -> Result<Broadcast, String> {
        let command = launch.command.first_mut();
        let command = command.ok_or("No command name to broadcast")?;
        let source = found(command, &launch.files.chdir, &launch.environment)
            .ok_or_else(|| format!("Can not execute {command}"))?;
        let destination = if to.starts_with('/') {
            to.to_owned()
        } else {
            format!("{}/", sys::odd_text::text(launch.files.chdir.as_os_str()))
        };
        command.clone_from(&destination);
        let source = sys::odd_text::text(source.as_os_str());
        Ok(Broadcast {
            source,
            destination,
        })
    }

    /// Copies it to the nodes of a step, whatever is there already; whether all have it. Why not was said.
    pub fn copy(&self, step: &StepRecord, printer: &Printer) -> bool {
        let copying = Copying {
            command: "srun",
            job: step.job,
            source: &self.source,
            printer,
        };
        let nodes: Vec<NodeName> = step.nodes.iter().map(|share| share.node.clone()).collect();
        let copied = copying.facts().and_then(|facts| {
            let placing = |node: &NodeName| Placing {
                destination: self.on_node(step, node),
                mode: facts.permissions().mode() & 0o777,
                force: true,
                times: times(&facts),
            };
            copying.to(&nodes, &placing)
        });
        if copied.is_err() {
            let source = &self.source;
            printer.say(&format!(
                "srun: fatal: Failed to broadcast '{source}'. Step launch aborted."
            ));
        }
        copied.is_ok()
    }

    /// The name of the copy on a node.
    fn on_node(&self, step: &StepRecord, node: &NodeName) -> String {
        if !self.destination.ends_with('/') {
            return self.destination.clone();
        }
        let name = broadcast_name(step.job, step.step, node);
        format!("{}{name}", self.destination)
    }
}

/// The program of that name, in a folder or on the PATH.
fn found(name: &str, folder: &Path, environment: &Variables) -> Option<PathBuf> {
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or("", |(_, path)| path);
    let program = folder.join(sys::process::find_program(
        &sys::odd_text::bytes(name),
        path,
    )?);
    let facts = std::fs::metadata(&program).ok()?;
    (facts.is_file() && facts.permissions().mode() & 0o111 != 0).then_some(program)
}
