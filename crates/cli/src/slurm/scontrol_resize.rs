//! Around a change of the number or the list of a job's nodes: it is asked of one job alone, and leaves scripts
//! that tell a shell in the job what it has left.

use super::connection::CommandError;
use super::scontrol_change_jobs::its_own_id;
use super::scontrol_show_jobs::{jobs, single_job};
use super::system_words;
use crate::printer::Printer;
use api::Client;
use model::scontrol::ScontrolJob;
use model::{JobChange, ResizeScripts};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

/// Whether a change is one of a job's size.
pub fn is_resize(change: &JobChange) -> bool {
    matches!(change, JobChange::Nodes(..) | JobChange::NodeList(_))
}

/// The one job that is named, or what Slurm says where it is none or an array's.
pub fn one_job(
    name: &str,
    client: &mut Client,
) -> Result<Result<ScontrolJob, String>, CommandError> {
    let Some(job) = single_job(name).filter(|job| job.component.is_none()) else {
        return Ok(Err(format!("Invalid job ID {name}")));
    };
    let rows = jobs(Some(job), client)?;
    Ok(match rows.len() {
        0 => Err(format!(
            "Could not load state information for job {name}: Invalid job id specified"
        )),
        2.. if job.task.is_none() => Err("Job resizing not supported for job arrays".to_owned()),
        _ => Ok(job),
    })
}

/// Leaves the scripts, where this runs in a job.
pub fn leave_scripts(
    job: ScontrolJob,
    client: &mut Client,
    printer: &Printer,
) -> Result<(), CommandError> {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    if !is_set("SLURM_JOBID") {
        return Ok(());
    }
    let own = its_own_id(job, client)?;
    let infos = jobs(Some(job), client)?;
    let Some(info) = infos.iter().find(|info| info.id == own.0) else {
        return Ok(());
    };
    let Some(allocation) = info.allocation.as_ref() else {
        printer.say("slurm_allocation_lookup: Job is pending execution");
        return Ok(());
    };
    let scripts = ResizeScripts::of(allocation, is_set);
    let name = format!("slurm_job_{}_resize", info.id);
    for (ending, text) in [("csh", &scripts.csh), ("sh", &scripts.sh)] {
        let file = format!("{name}.{ending}");
        if let Err(error) = put(&file, text) {
            printer.say(&format!(
                "Could not create file {file}: {}",
                system_words(&error)
            ));
            return Ok(());
        }
    }
    printer.line("To reset Slurm environment variables, execute");
    printer.line(&format!("  For bash or sh shells:  . ./{name}.sh"));
    printer.line(&format!("  For csh shells:         source ./{name}.csh"));
    Ok(())
}

/// A new file that its owner alone may read and run, in place of a former one.
fn put(file: &str, text: &str) -> io::Result<()> {
    if let Err(error) = fs::remove_file(file)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o700);
    options.open(file)?.write_all(text.as_bytes())
}
