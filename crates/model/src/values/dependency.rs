//! `--dependency`: `afterok:42:43,afterany:44`, `after:42+10`, `singleton`, `?` for "any of".

use crate::values::{ArraySpec, JobId};
use std::collections::HashSet;
use std::fmt;

/// What a job waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// True where one condition is enough (`?`), false where all are needed (`,`).
    pub any: bool,
    /// The conditions, in order.
    pub conditions: Vec<Condition>,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// No other job of this name and user is there.
    Singleton,
    /// The jobs stand as the kind says.
    Jobs {
        /// How they must stand.
        kind: DependencyKind,
        /// Which.
        jobs: Vec<DependedJob>,
    },
}

/// How the jobs that another waits for must stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DependencyKind {
    /// Started or cancelled.
    After,
    /// Ended.
    AfterAny,
    /// Ended well.
    AfterOk,
    /// Ended badly.
    AfterNotOk,
    /// The element of the same index ended well.
    AfterCorr,
    /// Ended, its burst buffer written out.
    AfterBurstBuffer,
}

/// A job that another waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DependedJob {
    /// The job, or the array.
    pub job: JobId,
    /// What of the array.
    pub element: Element,
    /// `+N`: so many minutes after its start. It is shown of each kind, and `after` alone waits for them.
    pub minutes: Option<u32>,
    /// It can no longer stand as the condition asks.
    pub failed: bool,
}

/// What of a job that another waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// The job, or the whole array.
    Whole,
    /// `_*`: the whole array, said so.
    All,
    /// `_N`: one element.
    One(u32),
}

/// Most elements that one `_[LIST]` may name: ours, so that no text can fill the memory.
const MOST_ELEMENTS: usize = 1 << 16;

/// How a condition that failed is marked.
const FAILED: &str = "(failed)";

const KINDS: &[(&str, DependencyKind)] = &[
    ("after", DependencyKind::After),
    ("afterany", DependencyKind::AfterAny),
    ("afterok", DependencyKind::AfterOk),
    ("afternotok", DependencyKind::AfterNotOk),
    ("aftercorr", DependencyKind::AfterCorr),
    ("afterburstbuffer", DependencyKind::AfterBurstBuffer),
];

impl Dependency {
    /// Reads what `--dependency` takes. Where both separators stand, `?` wins; a bare number is
    /// `afterany`. `None` where Slurm says "Job dependency problem".
    #[must_use]
    pub fn parse(text: &str) -> Option<Dependency> {
        if text.contains(FAILED) {
            return None;
        }
        Dependency::parse_kept(text)
    }

    /// Whether what keeps a text from being read is that it asks for a job to be made larger (`expand:7`), which
    /// controllers do not do where they are not told to.
    #[must_use]
    pub fn asks_to_expand(text: &str) -> bool {
        let wrong = text.split([',', '?']).find(|one| condition(one).is_none());
        wrong.is_some_and(|one| {
            let kind = one.split_once(':').map(|(kind, _)| kind);
            kind.is_some_and(|kind| kind.eq_ignore_ascii_case("expand"))
        })
    }

    /// Reads what its `Display` wrote: as [`Dependency::parse`], with the marks of jobs that failed.
    #[must_use]
    pub fn parse_kept(text: &str) -> Option<Dependency> {
        let conditions = text.split([',', '?']).map(condition);
        let mut conditions: Vec<Condition> = conditions.collect::<Option<_>>()?;
        let any = text.contains('?');
        said_once(&mut conditions);
        if any {
            // One of several conditions is one of all their jobs.
            conditions = conditions.iter().flat_map(Condition::of_each_job).collect();
        }
        Some(Dependency {
            any: any && conditions.len() > 1,
            conditions,
        })
    }

    /// As records show it: each job with its own condition, and how that one stands behind it:
    /// `(unfulfilled)` or `(failed)`.
    #[must_use]
    pub fn conditions_text(&self) -> String {
        let each = self.conditions.iter().flat_map(Condition::of_each_job);
        let parts: Vec<String> = each
            .map(|condition| {
                let failed = condition.jobs().iter().any(|job| job.failed);
                let mark = if failed { "" } else { "(unfulfilled)" };
                format!("{condition}{mark}")
            })
            .collect();
        parts.join(if self.any { "?" } else { "," })
    }

    /// Whether one of its conditions failed where all are needed: nothing else is looked at any more.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let mut jobs = self.conditions.iter().flat_map(Condition::jobs);
        !self.any && jobs.any(|job| job.failed)
    }

    /// The jobs that it names.
    pub fn targets(&self) -> impl Iterator<Item = JobId> + '_ {
        let jobs = self.conditions.iter().flat_map(Condition::jobs);
        jobs.map(|depended| depended.job)
    }

    /// Names arrays as such: as Slurm shows it, a job that waits for a whole array waits for `7_*`.
    #[must_use]
    pub fn naming_arrays(mut self, is_array: impl Fn(JobId) -> bool) -> Dependency {
        for condition in &mut self.conditions {
            let Condition::Jobs { jobs, .. } = condition else {
                continue;
            };
            for depended in jobs {
                if depended.element == Element::Whole && is_array(depended.job) {
                    depended.element = Element::All;
                }
            }
        }
        self
    }

    /// Whether elements of an array wait for elements of another.
    #[must_use]
    pub fn by_element(&self) -> bool {
        self.conditions.iter().any(|condition| {
            matches!(
                condition,
                Condition::Jobs {
                    kind: DependencyKind::AfterCorr,
                    ..
                }
            )
        })
    }
}

impl Condition {
    /// The same condition of each of its jobs alone.
    fn of_each_job(&self) -> Vec<Condition> {
        match self {
            Condition::Singleton => vec![Condition::Singleton],
            Condition::Jobs { kind, jobs } => {
                let one = |job: &DependedJob| Condition::Jobs {
                    kind: *kind,
                    jobs: vec![*job],
                };
                jobs.iter().map(one).collect()
            }
        }
    }

    fn jobs(&self) -> &[DependedJob] {
        match self {
            Condition::Singleton => &[],
            Condition::Jobs { jobs, .. } => jobs,
        }
    }
}

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, condition) in self.conditions.iter().enumerate() {
            if index > 0 {
                f.write_str(if self.any { "?" } else { "," })?;
            }
            write!(f, "{condition}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Condition::Jobs { kind, jobs } = self else {
            return f.write_str("singleton");
        };
        let found = KINDS.iter().find(|(_, known)| known == kind);
        f.write_str(found.map_or("", |(name, _)| name))?;
        for job in jobs {
            write!(f, ":{}", job.job)?;
            match job.element {
                Element::Whole => {}
                Element::All => f.write_str("_*")?,
                Element::One(element) => write!(f, "_{element}")?,
            }
            if let Some(minutes) = job.minutes {
                write!(f, "+{minutes}")?;
            }
            if job.failed {
                f.write_str(FAILED)?;
            }
        }
        Ok(())
    }
}

fn condition(text: &str) -> Option<Condition> {
    if text.eq_ignore_ascii_case("singleton") {
        return Some(Condition::Singleton);
    }
    let (kind, jobs) = if text.starts_with(|c: char| c.is_ascii_digit()) {
        // The old form names one job.
        (
            DependencyKind::AfterAny,
            Some(text).filter(|text| !text.contains([':', '+']))?,
        )
    } else {
        let (name, jobs) = text.split_once(':')?;
        let found = KINDS
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        (found?.1, jobs)
    };
    let mut all = Vec::new();
    for job in jobs.split(':') {
        depended(job, &mut all)?;
    }
    Some(Condition::Jobs { kind, jobs: all })
}

/// Leaves out what was said before, as a controller does.
fn said_once(conditions: &mut Vec<Condition>) {
    let mut said = HashSet::new();
    conditions.retain_mut(|condition| match condition {
        Condition::Singleton => said.insert(None),
        Condition::Jobs { kind, jobs } => {
            jobs.retain(|job| said.insert(Some((*kind, *job))));
            !jobs.is_empty()
        }
    });
}

/// Reads one job, or several elements of an array: `7`, `7+10`, `7_3`, `7_*`, `7_[1-3,5]`.
fn depended(text: &str, all: &mut Vec<DependedJob>) -> Option<()> {
    let (text, failed) = match text.strip_suffix(FAILED) {
        Some(text) => (text, true),
        None => (text, false),
    };
    let (id, minutes) = match text.split_once('+') {
        Some((id, minutes)) => {
            let minutes = minutes.parse().ok().filter(|minutes| *minutes > 0)?;
            (id, Some(minutes))
        }
        None => (text, None),
    };
    let (job, elements) = match id.split_once('_') {
        Some((job, "*")) => (job, vec![Element::All]),
        Some((job, list)) if list.starts_with('[') => {
            let list = list.strip_prefix('[')?.strip_suffix(']')?;
            let spec = ArraySpec::parse(list).filter(|spec| spec.indices.len() <= MOST_ELEMENTS)?;
            (job, spec.indices.into_iter().map(Element::One).collect())
        }
        Some((job, element)) => (job, vec![Element::One(element.parse().ok()?)]),
        None => (id, vec![Element::Whole]),
    };
    let job = JobId(job.parse().ok().filter(|job| *job > 0)?);
    all.extend(elements.into_iter().map(|element| DependedJob {
        job,
        element,
        minutes,
        failed,
    }));
    Some(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails loudly")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, printed: &str) {
        let read = Dependency::parse(text);
        assert_eq!(
            read.map_or("invalid".to_owned(), |d| d.to_string()),
            printed
        );
    }

    #[test]
    fn named_jobs() {
        let read = Dependency::parse("afterok:1:2_3,singleton,aftercorr:4").unwrap();
        let targets: Vec<JobId> = read.targets().collect();
        assert_eq!(targets, [JobId(1), JobId(2), JobId(4)]);
        assert!(read.by_element());
        assert!(!Dependency::parse("afterok:1").unwrap().by_element());
    }

    #[test]
    fn forms() {
        check("afterok:1:2,afterany:3", "afterok:1:2,afterany:3");
        check(
            "afterany:1,afterok:2?singleton",
            "afterany:1?afterok:2?singleton",
        );
        check("after:1+5:2", "after:1+5:2");
        check("aftercorr:7_3:8_*", "aftercorr:7_3:8_*");
        check("afterok:1:2+5", "afterok:1:2+5");
        check("afterok:1_[1-3]", "afterok:1_1:1_2:1_3");
        check(
            "afterok:1,afterok:1:2,singleton,singleton",
            "afterok:1,afterok:2,singleton",
        );
        check("42", "afterany:42");
        for wrong in [
            "afterok:",
            "afterok:x",
            "afterok",
            "nosuch:1",
            "",
            "afterok:1+x",
            "afterok:1+",
            "1+5",
            "afterok:0",
            "after:1+0",
            "1:2",
            "afterok:1_[x]",
            "afterok:1_[1",
        ] {
            check(wrong, "invalid");
        }
    }

    #[test]
    fn a_job_that_is_to_be_made_larger() {
        for (text, want) in [
            ("expand:7", true),
            ("afterok:1,Expand:x", true),
            ("afterok:x,expand:7", false),
            ("expand", false),
            ("afterok:7", false),
        ] {
            assert_eq!(Dependency::asks_to_expand(text), want, "{text}");
        }
    }

    #[test]
    fn what_failed_is_marked_and_kept() {
        assert_eq!(Dependency::parse("afterok:1(failed)"), None);
        let kept = Dependency::parse_kept("afterok:1(failed):2+5,singleton").unwrap();
        assert!(kept.has_failed());
        assert_eq!(kept.to_string(), "afterok:1(failed):2+5,singleton");
        assert_eq!(
            kept.conditions_text(),
            "afterok:1(failed),afterok:2+5(unfulfilled),singleton(unfulfilled)"
        );
        let any = Dependency::parse_kept("afterok:1(failed)?afterok:2").unwrap();
        assert!(!any.has_failed());
    }

    #[test]
    fn whole_arrays_are_named_so() {
        let read = Dependency::parse("afterok:7:8,after:7_1:7+2?singleton").unwrap();
        let named = read.naming_arrays(|job| job == JobId(7));
        let text = "afterok:7_*?afterok:8?after:7_1?after:7_*+2?singleton";
        assert_eq!(named.to_string(), text);
    }

    proptest! {
        #[test]
        fn print_then_parse(text in "(after(any|ok|notok|corr)?:[1-9]([_:][1-9*]){0,3}|singleton|after:[1-9][+][1-9])([,?](afterok:[1-9]_\\[[1-3](-[4-6])?\\]|singleton|[1-9])){0,3}") {
            if let Some(read) = Dependency::parse(&text) {
                let again = Dependency::parse(&read.to_string());
                prop_assert_eq!(again, Some(read));
            }
        }

        #[test]
        fn no_text_panics(text in "[a-z0-9:,?_*+\\[\\]-]{0,24}") {
            let _ = Dependency::parse(&text);
        }
    }
}
