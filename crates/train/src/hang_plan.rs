//! What is done about ranks that hang, resolved.

use crate::{OnHang, Refusal, RefusalKind, Resolved, ResumeOn, Source, WatchSection, say_seconds};
use model::Seconds;
use serde::{Deserialize, Serialize};

/// What is done about ranks that hang.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HangPlan {
    /// After how long without a sign of life they hang.
    pub after: Resolved<Seconds>,
    /// What is done then.
    pub then: Resolved<OnHang>,
}

/// What is said of a key that has no effect.
pub(crate) fn note(section: &WatchSection) -> Option<String> {
    let then = section.on_hang.as_ref()?;
    let has_effect = section.hang.is_some() || then.value == OnHang::Restart;
    let text = "[watch] on_hang has no effect without hang: hangs are not looked for";
    (!has_effect).then(|| text.to_owned())
}

/// Resolves `[watch]`: `None` where hangs are not looked for.
pub(crate) fn hang(
    section: WatchSection,
    resume_on: &Resolved<Vec<ResumeOn>>,
) -> Result<Option<HangPlan>, Refusal> {
    let Some(after) = section.hang else {
        return Ok(None);
    };
    let comes_back = resume_on.value.contains(&ResumeOn::NodeFailure);
    let then = match section.on_hang {
        Some(then) if then.value == OnHang::Restart && !comes_back => {
            return Err(Refusal {
                kind: RefusalKind::Usage,
                message: "a run that hangs can't come back".to_owned(),
                asked: format!(
                    "hang = {}, on_hang = \"restart\" ({})",
                    say_seconds(after.value),
                    then.source
                ),
                there: format!(
                    "[resume] on without \"node-failure\" ({})",
                    resume_on.source
                ),
                todo: "on_hang = \"end\", or \"node-failure\" in [resume] on".to_owned(),
            });
        }
        Some(then) => then,
        None if comes_back => Resolved::new(
            OnHang::Restart,
            Source::default("default: it comes back as after the loss of a node"),
        ),
        None => Resolved::new(
            OnHang::End,
            Source::default("[resume] on does not name \"node-failure\""),
        ),
    };
    Ok(Some(HangPlan { after, then }))
}
