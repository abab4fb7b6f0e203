//! What the placeholders of a run's commands stand for in one start of it.

use crate::local_folder::LocalFolder;
use folder::{RunFolder, RunJson};
use train::Values;

/// `resume`: the name of the checkpoint that the start resumes from.
#[must_use]
pub(crate) fn start_values(
    run: &RunFolder,
    json: &RunJson,
    local: &LocalFolder,
    resume: Option<&str>,
) -> Values {
    Values {
        data: local.data(),
        checkpoints: local.checkpoints(),
        resume: local.resume(),
        resume_file: resume.map(|name| local.resume().join(name)),
        logs: if json.plan.data.has_local_logs() {
            local.logs()
        } else {
            run.tensorboard()
        },
        run: run.id().to_owned(),
        code: run.code().join(&json.code.subfolder),
        project: json.project.clone(),
        scratch: run.scratch(),
    }
}
