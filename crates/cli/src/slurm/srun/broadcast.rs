//! `srun --bcast`: the program is copied to the nodes of the step, which runs the copies.

use crate::printer::Printer;
use crate::slurm::file_on_node::Placing;
use crate::slurm::sbcast::{Copying, times};
use api::StepLaunch;
use model::{NodeName, StepRecord, Variables, broadcast_name};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Programs that are copied before the tasks of a step start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broadcast {
    copies: Vec<ProgramCopy>,
}

/// A program that is copied to the nodes of a step, or of its part in one component of its job.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProgramCopy {
    /// The program, as text.
    source: String,
    /// Where its copies go; one that ends with a slash is a folder.
    destination: String,
    /// The component of the job, counted from 0; none is the whole step.
    component: Option<u32>,
    /// The ranks that run it.
    ranks: Range<u32>,
}

/// What one component of a heterogeneous job runs in a step.
#[derive(Clone, Debug)]
pub struct PartToCopy {
    /// Which, counted from 0.
    pub component: u32,
    /// Its command.
    pub command: Vec<String>,
    /// How many tasks it has.
    pub tasks: u32,
    /// `--bcast`: where its program is copied.
    pub to: Option<String>,
}

impl Broadcast {
    /// Copies what a step runs, which runs the copies then.
    ///
    /// # Errors
    /// There is no such program.
    pub fn of(launch: &mut StepLaunch, to: &str) -> Result<Broadcast, String> {
        let mut command = std::mem::take(&mut launch.command);
        let copy = ProgramCopy::of(&mut command, launch, to);
        launch.command = command;
        let copies = vec![copy?];
        Ok(Broadcast { copies })
    }

    /// The same of a step of several components, of which each has its own program or the same one.
    ///
    /// # Errors
    /// There is no such program.
    pub fn of_parts(launch: &mut StepLaunch, parts: Vec<PartToCopy>) -> Result<Broadcast, String> {
        let (mut copies, mut programs, mut first) = (Vec::new(), Vec::new(), 0);
        for mut part in parts {
            let ranks = first..first + part.tasks;
            first = ranks.end;
            if let Some(to) = &part.to {
                copies.push(ProgramCopy {
                    component: Some(part.component),
                    ranks,
                    ..ProgramCopy::of(&mut part.command, launch, to)?
                });
            }
            programs.extend(std::iter::repeat_n(part.command, part.tasks as usize));
        }
        launch.programs = programs;
        Ok(Broadcast { copies })
    }

    /// Copies them to the nodes of a step, whatever is there already; whether all have theirs. Why not was said.
    pub fn copy(&self, step: &StepRecord, printer: &Printer) -> bool {
        self.copies.iter().all(|copy| copy.run(step, printer))
    }
}

impl ProgramCopy {
    /// A place that does not begin at the root is none: the copy goes to the step's folder, as in Slurm.
    fn of(command: &mut [String], launch: &StepLaunch, to: &str) -> Result<ProgramCopy, String> {
        let command = command.first_mut();
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
        Ok(ProgramCopy {
            source,
            destination,
            component: None,
            ranks: 0..u32::MAX,
        })
    }

    fn run(&self, step: &StepRecord, printer: &Printer) -> bool {
        let copying = Copying {
            command: "srun",
            job: step.job,
            component: self.component,
            source: &self.source,
            printer,
        };
        let nodes = self.nodes_in(step);
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

    /// The nodes on which tasks run it.
    fn nodes_in(&self, step: &StepRecord) -> Vec<NodeName> {
        let mut first = 0_u32;
        let shares = step.nodes.iter().filter(|share| {
            let ranks = first..first.saturating_add(share.tasks);
            first = ranks.end;
            self.ranks.contains(&ranks.start)
        });
        shares.map(|share| share.node.clone()).collect()
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
