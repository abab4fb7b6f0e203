//! Why a job could never start here.

/// A request that this machine can't meet however long it waits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{asked}: {there}")]
pub struct NeverFits {
    /// What was asked, in the option's words.
    pub asked: String,
    /// What there is.
    pub there: String,
    /// What to do.
    pub todo: String,
}

impl NeverFits {
    pub(crate) fn new(
        asked: impl Into<String>,
        there: impl Into<String>,
        todo: impl Into<String>,
    ) -> NeverFits {
        NeverFits {
            asked: asked.into(),
            there: there.into(),
            todo: todo.into(),
        }
    }
}
