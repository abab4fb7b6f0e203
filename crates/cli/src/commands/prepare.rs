//! Makes a run's folder and submits its first job: intent first, answer after.

use super::asked::Planned;
use super::interrupt::Interrupt;
use crate::exit_code;
use crate::failure::Failure;
use backend::{NewJob, pin_program};
use folder::{
    CodeError, FolderError, Index, IndexEntry, Link, LinkState, MadeEnvironment, RunFolder,
    RunJson, Versions,
};
use model::{JobId, Timestamp};
use std::path::Path;
use sys::Places;
use train::JobPlace;

/// A run whose job the cluster has.
#[derive(Debug)]
pub struct Submitted {
    /// The run's id.
    pub id: String,
    /// Its folder.
    pub folder: RunFolder,
    /// Its job.
    pub job: JobId,
    /// When the answer came.
    pub at: Timestamp,
}

/// Makes the folder, notes the intent, submits, notes the answer.
pub fn submit(
    planned: &mut Planned,
    environment: Option<MadeEnvironment>,
    places: &Places,
    interrupt: &Interrupt,
) -> Result<Submitted, Failure> {
    let yard = pin_program(&places.scratch)?;
    let random = random_text()?;
    let (suffix, token) = random.split_at(4);
    let id = format!("{}-{suffix}", planned.plan.name.value);
    let source = folder::find_source(&planned.base);
    let project = source.project();
    refuse_control_characters(&places.scratch.join(&project))?;
    let made = RunFolder::create(&places.scratch, &project, &id)?;
    let code = folder::copy_code(&source, &made, &places.scratch)?;
    interrupt.check()?;

    let created = Timestamp(sys::now());
    let token = format!("{id}.1.{token}");
    let facts = planned.door.facts().clone();
    let plan = &planned.plan;
    let run = RunJson {
        id: id.clone(),
        project,
        created,
        token: token.clone(),
        cluster: facts.name.clone(),
        plan: plan.clone(),
        facts: facts.clone(),
        run_file: planned.text.clone(),
        command_line: std::env::args().collect(),
        code,
        yard: yard.clone(),
        environment,
        versions: Versions {
            yard: env!("CARGO_PKG_VERSION").to_owned(),
            scheduler: planned.door.scheduler().to_owned(),
        },
    };
    let output = made.conductor_log_pattern();
    let place = JobPlace {
        yard: &yard,
        run_folder: made.path(),
        output: &output,
        token: &token,
    };
    let script = plan.script(&place);
    let link = |state: LinkState| Link {
        number: 1,
        cluster: facts.name.clone(),
        token: token.clone(),
        state,
    };
    made.write_run(&run)?;
    sys::atomic::write(&made.script(), script.as_bytes()).map_err(at(&made.script()))?;
    made.write_link(&link(LinkState::Intent { at: created }))?;
    Index::new(&places.index)
        .add(&IndexEntry {
            id: id.clone(),
            name: plan.name.value.clone(),
            cluster: facts.name.clone(),
            folder: made.path().to_owned(),
            created,
        })
        .map_err(at(&places.index))?;
    interrupt.check()?;

    let environment = job_environment();
    let answer = planned.door.submit(&NewJob {
        token: &token,
        request: &plan.request(&place),
        script: &script,
        script_path: &made.script(),
        environment: &environment,
    });
    let at = Timestamp(sys::now());
    let state = match &answer {
        Ok(job) => LinkState::Submitted { job: job.0, at },
        Err(error) => LinkState::Refused {
            why: error.to_string(),
            at,
        },
    };
    made.write_link(&link(state))?;
    Ok(Submitted {
        id,
        folder: made,
        job: answer?,
        at,
    })
}

/// A line end in a path would end a directive of the batch script.
fn refuse_control_characters(path: &Path) -> Result<(), Failure> {
    let is_odd = |text: &str| text.chars().any(char::is_control);
    match path.to_str() {
        Some(text) if !is_odd(text) => Ok(()),
        _ => Err(Failure::new(
            exit_code::IO,
            format!("{path:?} can't hold a run: its name has characters that no script can name"),
        )
        .todo("rename the folder, or set TRAINYARD_HOME to another one")),
    }
}

/// What a job inherits: this command's environment without another job's variables. What is not
/// UTF-8 stays behind.
fn job_environment() -> Vec<(String, String)> {
    let of_a_job = |name: &str| {
        let prefixes = ["SLURM_", "SBATCH_", "SRUN_", "PMIX_", "PMI_", "YARD_"];
        name != "SLURM_CONF" && prefixes.iter().any(|prefix| name.starts_with(prefix))
    };
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| !of_a_job(name))
        .collect()
}

/// Twenty characters of `a-z2-7`: two runs of one name never meet.
fn random_text() -> Result<String, Failure> {
    let bytes: [u8; 20] = sys::random().map_err(|error| {
        let message = format!("a run needs a random name, and /dev/urandom can't be read: {error}");
        Failure::new(exit_code::IO, message).todo("have /dev mounted")
    })?;
    let letters = b"abcdefghijklmnopqrstuvwxyz234567";
    Ok(bytes
        .iter()
        .map(|byte| char::from(letters[usize::from(byte % 32)]))
        .collect())
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    let path = path.to_owned();
    move |error| {
        Failure::new(
            exit_code::IO,
            format!("{} can't be written: {error}", path.display()),
        )
        .todo("make room or give yourself the right, or set TRAINYARD_HOME to another folder")
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Failure {
        // Its sentence says all three parts.
        Failure::new(exit_code::IO, error.to_string())
    }
}

impl From<CodeError> for Failure {
    fn from(error: CodeError) -> Failure {
        Failure::new(exit_code::IO, error.to_string())
    }
}
