//! What a rule is.

use crate::input::LintInput;
use crate::script::Script;
use crate::{Found, Severity};
use model::SlurmVersion;

/// A rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its code, such as `Y012`. It stays the same for ever.
    pub code: &'static str,
    /// Its name, such as `given-twice`.
    pub name: &'static str,
    /// How bad it usually is; single findings may be less.
    pub severity: Severity,
    /// One line.
    pub summary: &'static str,
    /// What Slurm does and why it matters, with an example between lines of three backquotes.
    pub page: &'static str,
    /// The Slurms in which it holds.
    pub holds: Holds,
    /// True when it says nothing without a cluster file.
    pub needs_cluster: bool,
    /// Looks at a script.
    pub check: fn(&Script<'_>, &LintInput<'_>, &mut Found),
}

/// The Slurms in which a rule holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// In all of 22.05 to 25.11: their sources and manuals say so.
    Always,
    /// Seen with 22.05; that later ones do the same is likely, not proved.
    SeenIn2205,
    /// In those from the first version on, up to but without the second one.
    Between(SlurmVersion, Option<SlurmVersion>),
}

impl Rule {
    /// The rule of a code; upper and lower case are one.
    #[must_use]
    pub fn find(code: &str) -> Option<&'static Rule> {
        crate::RULES
            .iter()
            .find(|rule| rule.code.eq_ignore_ascii_case(code))
    }

    /// The example of its page.
    #[must_use]
    pub fn example(&self) -> Option<&'static str> {
        let (_, rest) = self.page.split_once("```\n")?;
        rest.split_once("```").map(|(example, _)| example)
    }

    /// What `yard lint --explain` prints.
    #[must_use]
    pub fn explanation(&self) -> String {
        let holds = match self.holds {
            Holds::Always => "Slurm 22.05 to 25.11".to_owned(),
            Holds::SeenIn2205 => "seen with Slurm 22.05; not proved for later ones".to_owned(),
            Holds::Between(SlurmVersion::V22_05, Some(until)) => {
                format!("Slurm before {until}")
            }
            Holds::Between(since, Some(until)) => format!("Slurm {since} up to, not with, {until}"),
            Holds::Between(since, None) => format!("Slurm {since} and later"),
        };
        let needs = if self.needs_cluster {
            "\nneeds   a cluster file (--on CLUSTER); silent without one"
        } else {
            ""
        };
        format!(
            "{} {} ({})\n{}\n\n{}\n\nholds   {holds}{needs}\nsilence # yard: ignore[{}]\n",
            self.code,
            self.name,
            self.severity.name(),
            self.summary,
            self.page.trim(),
            self.code,
        )
    }

    /// Whether it can hold for that version; without a version it may.
    pub(crate) fn can_hold(&self, version: Option<SlurmVersion>) -> bool {
        match (self.holds, version) {
            (Holds::Between(since, until), Some(version)) => {
                since <= version && until.is_none_or(|until| version < until)
            }
            _ => true,
        }
    }

    /// True when only the version could tell whether it holds, and that isn't known.
    pub(crate) fn is_open(&self, version: Option<SlurmVersion>) -> bool {
        version.is_none() && matches!(self.holds, Holds::Between(..))
    }
}
