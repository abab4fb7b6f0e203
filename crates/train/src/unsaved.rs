//! What a run costs whose command saves no checkpoints, or does not resume from them.

use crate::env_vars::{YARD_CHECKPOINTS, YARD_RESUME};
use crate::{Plan, ResumeOn, say_seconds};
use model::TimeLimitRequest;

/// What names the folder that checkpoints are saved to, in a command or in a program.
const SAVES: [&str; 2] = ["{checkpoints}", YARD_CHECKPOINTS];
/// What names the checkpoint to resume from; `YARD_RESUME_FILE` begins with the last.
const RESUMES: [&str; 3] = ["{resume}", RESUME_FILE, YARD_RESUME];
const RESUME_FILE: &str = "{resume_file}";

/// What a later start would lose, and an argument that has no value at the first one. `programs` are
/// the texts of the files that the command names.
#[must_use]
pub fn unsaved_notes(plan: &Plan, programs: &[String]) -> Vec<String> {
    let notes = [begins_again(plan, programs), empty_argument(plan)];
    notes.into_iter().flatten().collect()
}

/// That a later start begins where the first did.
fn begins_again(plan: &Plan, programs: &[String]) -> Option<String> {
    let words = [&plan.command.value, &plan.resume.args.value];
    let texts = || words.into_iter().flatten().chain(programs);
    let names = |any: &[&str]| texts().any(|text| any.iter().any(|name| text.contains(name)));
    let comes_back = &plan.resume.on.value;
    let is_own = plan.resume.own_checkpoints.value;
    if comes_back.is_empty() || is_own || names(&RESUMES) || !plan.resume.args.value.is_empty() {
        return None;
    }
    if names(&SAVES) {
        return Some(
            "each start begins anew and writes the same checkpoints: nothing reads {resume} or YARD_RESUME; \
             [resume] args = [\"--resume\", \"{resume_file}\"] adds them to the command"
                .to_owned(),
        );
    }
    let limit = plan.time.as_ref().map(|time| time.value);
    match limit {
        Some(TimeLimitRequest::Limit(limit)) if comes_back.contains(&ResumeOn::Timeout) => {
            Some(format!(
                "no {{checkpoints}} in the command: at its limit of {} it begins again, once; a program that goes on from checkpoints of its own needs [resume] own_checkpoints = true",
                say_seconds(limit)
            ))
        }
        _ => None,
    }
}

/// `{resume_file}` in the command itself, where the first start has nothing to put in.
fn empty_argument(plan: &Plan) -> Option<String> {
    let mut words = plan.command.value.iter();
    let word = words.find(|word| word.contains(RESUME_FILE))?;
    // A shell can ask whether it is empty.
    (!word.contains(char::is_whitespace)).then(|| {
        format!(
            "{RESUME_FILE} is empty at the first start: in [resume] args it is added only where there is a checkpoint"
        )
    })
}
