//! The layout: where each file of a run lies.

use super::RunFolder;
use crate::Attempt;
use std::path::{Path, PathBuf};

impl RunFolder {
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

    /// `secrets.json`, the values of secret variables, for the user alone
    pub(crate) fn secrets(&self) -> PathBuf {
        self.root.join("secrets.json")
    }

    /// `job.sbatch`
    #[must_use]
    pub fn script(&self) -> PathBuf {
        self.root.join("job.sbatch")
    }

    /// `environment.sbatch`, the script of the job that makes the environment.
    #[must_use]
    pub fn environment_script(&self) -> PathBuf {
        self.root.join("environment.sbatch")
    }

    /// `logs/environment`, the output of that job; of a repeat it is all repeats'.
    #[must_use]
    pub fn environment_log(&self) -> PathBuf {
        self.above_repeats().join("logs/environment")
    }

    /// The folder of all repeats, where this is one of them, else its own.
    pub(super) fn above_repeats(&self) -> &Path {
        let all = self.root.parent().filter(|_| self.is_repeat());
        all.unwrap_or(&self.root)
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

    /// `submission.lock`: held by who submits a job of the run.
    #[must_use]
    pub(crate) fn submission_lock(&self) -> PathBuf {
        self.root.join("submission.lock")
    }

    /// `links/<job>.<restart>.events`
    #[must_use]
    pub fn events(&self, attempt: Attempt) -> PathBuf {
        self.links().join(format!("{attempt}.events"))
    }

    /// `links/<job>.<restart>.launch.<number>.json`
    #[must_use]
    pub fn launch(&self, attempt: Attempt, number: u32) -> PathBuf {
        let name = format!("{attempt}.launch.{number}.json");
        self.links().join(name)
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

    /// `logs/<job>.<restart>.stack-<rank>`: what a rank did when it hung.
    #[must_use]
    pub fn stack(&self, attempt: Attempt, rank: u32) -> PathBuf {
        self.logs().join(format!("{attempt}.stack-{rank}"))
    }

    /// `srun --output` of the ranks' step: `logs/<job>.<restart>.%t`.
    #[must_use]
    pub fn rank_log_pattern(&self, attempt: Attempt) -> String {
        self.pattern(&format!("{attempt}.%t"))
    }

    /// `logs/%j.conductor`, the batch step's output: Slurm knows no pattern for the restart, so
    /// all starts of a job append to one file.
    #[must_use]
    pub fn conductor_log_pattern(&self) -> String {
        self.pattern("%j.conductor")
    }

    /// [`RunFolder::environment_log`] as Slurm's `--output` has it.
    #[must_use]
    pub fn environment_log_pattern(&self) -> String {
        self.pattern("environment")
    }

    /// `<id>.%a/logs/%j.conductor`, the output of the batch steps of the array of repeats.
    #[must_use]
    pub fn repeats_log_pattern(&self) -> String {
        let folder = self.root.display().to_string().replace('%', "%%");
        format!(
            "{folder}/{}.%a/logs/%j.conductor",
            self.id.replace('%', "%%")
        )
    }

    /// A file name pattern of Slurm below `logs/`: a percent sign of the path itself is doubled.
    fn pattern(&self, name: &str) -> String {
        let folder = self.logs().display().to_string();
        format!("{}/{name}", folder.replace('%', "%%"))
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

    /// `checkpoints/.pointers.json`
    pub(crate) fn pointers_file(&self) -> PathBuf {
        self.checkpoints().join(".pointers.json")
    }

    /// `checkpoints/.manifests/`
    #[must_use]
    pub fn manifests(&self) -> PathBuf {
        self.checkpoints().join(".manifests")
    }

    /// `checkpoints/.manifests/<name>.json`; of a name that leaves no room for the ending, its
    /// beginning and a hash of it.
    #[must_use]
    pub fn manifest(&self, name: &str) -> PathBuf {
        // File systems take 255 bytes; a file that is written beside has an ending of its own.
        const LONGEST: usize = 200;
        if name.len() <= LONGEST {
            return self.manifests().join(format!("{name}.json"));
        }
        let begin = &name[..name.floor_char_boundary(100)];
        let hash = blake3::hash(name.as_bytes()).to_hex();
        self.manifests().join(format!("{begin}-{hash}.json"))
    }

    /// `collected/`
    #[must_use]
    pub fn collected(&self) -> PathBuf {
        self.root.join("collected")
    }

    /// `scratch/`, for programs that keep files of their own beside checkpoints.
    #[must_use]
    pub fn scratch(&self) -> PathBuf {
        self.root.join("scratch")
    }

    /// `scratch/hpc_outputs` and `scratch/<name>/checkpoints`, where the programs of some sites
    /// write.
    #[must_use]
    pub fn folders_of_programs(&self, name: &str) -> [PathBuf; 2] {
        let scratch = self.scratch();
        [
            scratch.join("hpc_outputs"),
            scratch.join(name).join("checkpoints"),
        ]
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

    /// `monitor/<node>.csv`
    #[must_use]
    pub fn monitor_file(&self, node: &str) -> PathBuf {
        // A host's name has no slash; what calls itself otherwise still writes below `monitor/`.
        let node = node.replace('/', "_");
        self.monitor().join(format!("{node}.csv"))
    }

    /// `report.html`
    #[must_use]
    pub fn report(&self) -> PathBuf {
        self.root.join("report.html")
    }

    /// `comparison.html`
    #[must_use]
    pub fn comparison(&self) -> PathBuf {
        self.root.join("comparison.html")
    }
}
