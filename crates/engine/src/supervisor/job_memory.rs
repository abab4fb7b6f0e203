//! What the steps of a job hold together on a node where no control group counts it: each supervisor writes what
//! its own processes hold beside its record, and reads what the others wrote.

use crate::spec::StepSpec;
use api::EngineFolder;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the names of these files end with.
const SUFFIX: &str = ".memory";
/// Of a supervisor that has written nothing for so long the processes are gone.
const STALE: Duration = Duration::from_secs(5);

/// One supervisor's file; removed with it.
#[derive(Debug)]
pub(super) struct JobMemory {
    own: PathBuf,
    /// What the names of the job's files begin with.
    job: String,
    node: String,
}

impl JobMemory {
    pub(super) fn of(spec: &StepSpec) -> JobMemory {
        let mut own = spec.key().record(&EngineFolder::new(&spec.engine));
        own.as_mut_os_string().push(SUFFIX);
        JobMemory {
            own,
            job: format!("{}.{}.", spec.job, spec.restart),
            node: spec.node.to_string(),
        }
    }

    /// What the others hold, by what they said last; says that this one holds so many bytes.
    pub(super) fn exchange(&self, held: u64) -> u64 {
        if let Err(error) = fs::write(&self.own, format!("{} {held}\n", self.node)) {
            tracing::debug!("{}: {error}", self.own.display());
        }
        let folder = self.own.parent().unwrap_or(Path::new("."));
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        let of_job = files.filter(|file| {
            let name = file.file_name();
            let name = name.to_string_lossy();
            name.starts_with(&self.job) && name.ends_with(SUFFIX)
        });
        let others = of_job.map(|file| file.path());
        let others = others.filter(|path| *path != self.own && is_fresh(path));
        others.filter_map(|path| self.held(&path)).sum()
    }

    /// What a file says, if it is of this node and whole.
    fn held(&self, path: &Path) -> Option<u64> {
        let text = fs::read_to_string(path).ok()?;
        let (node, held) = text.strip_suffix('\n')?.split_once(' ')?;
        (node == self.node).then(|| held.parse().ok()).flatten()
    }
}

impl Drop for JobMemory {
    fn drop(&mut self) {
        let _none = fs::remove_file(&self.own);
    }
}

fn is_fresh(path: &Path) -> bool {
    let age = || fs::metadata(path).ok()?.modified().ok()?.elapsed().ok();
    age().is_none_or(|age| age < STALE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervisor::test_spec::spec;
    use model::{NodeName, StepId};

    #[test]
    fn only_what_the_same_job_holds_on_the_same_node_counts() {
        let folder = tempfile::tempdir().unwrap();
        let engine = EngineFolder::new(folder.path());
        fs::create_dir_all(engine.steps()).unwrap();
        let of = |step, node: &str, restart| {
            let mut spec = spec();
            spec.engine = folder.path().to_owned();
            (spec.step, spec.node, spec.restart) = (step, NodeName::new(node), restart);
            JobMemory::of(&spec)
        };
        let script = of(StepId::Batch, "n1", 0);
        assert_eq!(script.exchange(5), 0);
        let step = of(StepId::Number(0), "n1", 0);
        assert_eq!(step.exchange(7), 5);
        let elsewhere = of(StepId::Number(1), "n2", 0);
        let earlier = of(StepId::Number(2), "n1", 1);
        assert_eq!([elsewhere.exchange(9), earlier.exchange(9)], [0, 0]);
        assert_eq!(script.exchange(5), 7);
        drop(step);
        assert_eq!(script.exchange(5), 0);
    }
}
