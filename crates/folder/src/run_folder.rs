//! The layout.

use crate::Attempt;
use std::path::{Path, PathBuf};

/// One run's folder, `<scratch>/<project>/<run>/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolder {
    root: PathBuf,
    id: String,
}

impl RunFolder {
    /// The run folder at that path; its last part is the run's id. Nothing is read.
    #[must_use]
    pub fn at(path: &Path) -> RunFolder {
        RunFolder {
            root: path.to_owned(),
            id: path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
        }
    }

    /// The starts of which a conductor wrote anything, in order: by job, then by restart.
    ///
    /// # Errors
    /// What the system says.
    pub fn attempts(&self) -> std::io::Result<Vec<Attempt>> {
        let mut attempts = Vec::new();
        for entry in std::fs::read_dir(self.links())? {
            let name = entry?.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(".events"));
            attempts.extend(stem.and_then(|stem| stem.parse::<Attempt>().ok()));
        }
        attempts.sort_unstable();
        Ok(attempts)
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The run's id: the folder's name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// `run.json`
    #[must_use]
    pub fn run_json(&self) -> PathBuf {
        self.root.join("run.json")
    }

    /// `job.sbatch`
    #[must_use]
    pub fn script(&self) -> PathBuf {
        self.root.join("job.sbatch")
    }

    /// `links/`
    #[must_use]
    pub fn links(&self) -> PathBuf {
        self.root.join("links")
    }

    /// `links/<n>.json`
    #[must_use]
    pub fn link(&self, number: u32) -> PathBuf {
        self.links().join(format!("{number}.json"))
    }

    /// `links/<job>.<restart>.events`
    #[must_use]
    pub fn events(&self, attempt: Attempt) -> PathBuf {
        self.links().join(format!("{attempt}.events"))
    }

    /// `links/<job>.<restart>.launch.json`
    #[must_use]
    pub fn launch(&self, attempt: Attempt) -> PathBuf {
        self.links().join(format!("{attempt}.launch.json"))
    }

    /// `links/<job>.<restart>.exit.<rank>`
    #[must_use]
    pub fn exit(&self, attempt: Attempt, rank: u32) -> PathBuf {
        self.links().join(format!("{attempt}.exit.{rank}"))
    }

    /// `code/`
    #[must_use]
    pub fn code(&self) -> PathBuf {
        self.root.join("code")
    }

    /// `logs/`
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// `logs/<job>.<restart>.<rank>`
    #[must_use]
    pub fn rank_log(&self, attempt: Attempt, rank: u32) -> PathBuf {
        self.logs().join(format!("{attempt}.{rank}"))
    }

    /// `srun --output` of the ranks' step: `logs/<job>.<restart>.%t`.
    #[must_use]
    pub fn rank_log_pattern(&self, attempt: Attempt) -> String {
        self.logs()
            .join(format!("{attempt}.%t"))
            .display()
            .to_string()
    }

    /// `logs/%j.conductor`, the batch step's output: Slurm knows no pattern for the restart, so
    /// all starts of a job append to one file.
    #[must_use]
    pub fn conductor_log_pattern(&self) -> String {
        self.logs().join("%j.conductor").display().to_string()
    }

    /// `logs/<job>.conductor`
    #[must_use]
    pub fn conductor_log(&self, job: u32) -> PathBuf {
        self.logs().join(format!("{job}.conductor"))
    }

    /// `checkpoints/`
    #[must_use]
    pub fn checkpoints(&self) -> PathBuf {
        self.root.join("checkpoints")
    }

    /// `checkpoints/<name>`
    #[must_use]
    pub fn checkpoint(&self, name: &str) -> PathBuf {
        self.checkpoints().join(name)
    }

    /// `checkpoints/.incoming/`
    #[must_use]
    pub fn incoming(&self) -> PathBuf {
        self.checkpoints().join(".incoming")
    }

    /// `checkpoints/.manifests/<name>.json`
    #[must_use]
    pub fn manifest(&self, name: &str) -> PathBuf {
        self.checkpoints()
            .join(".manifests")
            .join(format!("{name}.json"))
    }

    /// `tensorboard/`
    #[must_use]
    pub fn tensorboard(&self) -> PathBuf {
        self.root.join("tensorboard")
    }

    /// `monitor/`
    #[must_use]
    pub fn monitor(&self) -> PathBuf {
        self.root.join("monitor")
    }

    /// `report.html`
    #[must_use]
    pub fn report(&self) -> PathBuf {
        self.root.join("report.html")
    }
}
