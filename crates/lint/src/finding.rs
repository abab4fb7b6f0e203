//! What a rule found.

use crate::Edit;
use std::ops::Range;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; also what rests on a value that is only assumed.
    Note,
    /// Probably a mistake.
    Warning,
    /// Slurm refuses it, or drops what was asked.
    Error,
}

impl Severity {
    /// `note`, `warning` or `error`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A place in the text, and what is to be said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Bytes of the text. Never longer than a line.
    pub range: Range<usize>,
    /// What stands behind the marks; may be empty.
    pub text: String,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's code, such as `Y012`: it stays the same.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// True when `sbatch` refuses the script because of it.
    pub refused: bool,
    /// The sentence after `error[Y012]: `.
    pub message: String,
    /// Where; the first is the place of the finding. Empty where it is about the script as a whole.
    pub labels: Vec<Label>,
    /// What Slurm will really do, where the message doesn't say it.
    pub really: Option<String>,
    /// What to do.
    pub help: Option<String>,
    /// Edits that put it right and change nothing else; none where only a person can tell.
    pub fix: Option<Vec<Edit>>,
}

impl Finding {
    /// A finding without a place, help or fix.
    #[must_use]
    pub fn new(code: &'static str, severity: Severity, message: impl Into<String>) -> Finding {
        Finding {
            code,
            severity,
            refused: false,
            message: message.into(),
            labels: Vec::new(),
            really: None,
            help: None,
            fix: None,
        }
    }

    /// Says that `sbatch` refuses the script because of it.
    #[must_use]
    pub fn refused(mut self) -> Finding {
        self.refused = true;
        self
    }

    /// Adds a place.
    #[must_use]
    pub fn at(mut self, range: Range<usize>, text: impl Into<String>) -> Finding {
        self.labels.push(Label {
            range,
            text: text.into(),
        });
        self
    }

    /// Says what Slurm will really do.
    #[must_use]
    pub fn really(mut self, text: impl Into<String>) -> Finding {
        self.really = Some(text.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Finding {
        self.help = Some(text.into());
        self
    }

    /// Adds edits that put it right.
    #[must_use]
    pub fn fix(mut self, edits: impl IntoIterator<Item = Edit>) -> Finding {
        self.fix = Some(edits.into_iter().collect());
        self
    }

    /// Cuts words of what is said that no line has room for: a script's values may be of any length.
    pub(crate) fn cut_long_words(&mut self) {
        const MOST: usize = 80;
        let cut = |text: &mut String| {
            if text.len() <= MOST || text.split(' ').all(|word| word.chars().count() <= MOST) {
                return;
            }
            let short = |word: &str| match word.char_indices().nth(MOST) {
                Some((end, _)) => format!("{}…", &word[..end]),
                None => word.to_owned(),
            };
            *text = text.split(' ').map(short).collect::<Vec<_>>().join(" ");
        };
        cut(&mut self.message);
        self.labels
            .iter_mut()
            .for_each(|label| cut(&mut label.text));
        self.really.iter_mut().for_each(cut);
        self.help.iter_mut().for_each(cut);
    }

    /// The byte at which it begins; 0 for the script as a whole.
    #[must_use]
    pub fn start(&self) -> usize {
        self.labels.first().map_or(0, |label| label.range.start)
    }
}
