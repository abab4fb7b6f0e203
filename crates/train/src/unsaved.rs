//! What a run without checkpoints costs.

use crate::env_vars::{YARD_CHECKPOINTS, YARD_RESUME};
use crate::{Plan, ResumeOn, say_seconds};
use model::TimeLimitRequest;

/// What names a run's checkpoints, in a command or in a program.
const NAMES: [&str; 4] = ["{checkpoints}", "{resume}", YARD_CHECKPOINTS, YARD_RESUME];

/// A note on a run that can reach its time limit and whose command names no checkpoints: its second
/// start begins where the first did. `programs` are the texts of the files that the command names.
#[must_use]
pub fn unsaved_note(plan: &Plan, programs: &[String]) -> Option<String> {
    let TimeLimitRequest::Limit(limit) = plan.time.as_ref()?.value else {
        return None;
    };
    let words = [&plan.command.value, &plan.resume.args.value];
    let mut texts = words.into_iter().flatten().chain(programs);
    let is_named = texts.any(|text| NAMES.iter().any(|name| text.contains(name)));
    let comes_back = plan.resume.on.value.contains(&ResumeOn::Timeout);
    (comes_back && !is_named).then(|| {
        format!(
            "the command names no {{checkpoints}}: at its limit of {} it begins again from the start, once, and fails at the next; save to {{checkpoints}} and resume from {{resume}}, or set [resume] on = []",
            say_seconds(limit)
        )
    })
}
