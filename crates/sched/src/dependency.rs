//! `--dependency`: what a job waits for.

use model::{JobId, Seconds};

/// A parsed `--dependency`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The conditions.
    pub conditions: Vec<Condition>,
    /// `?` between them: one is enough. `,`: all must be met.
    pub any: bool,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Something about another job.
    Job {
        /// What.
        kind: Kind,
        /// Of which job; an array's id stands for all its elements.
        target: JobId,
        /// Of this element alone.
        task: Option<u32>,
        /// `after:ID+MINUTES`: so long after its start.
        delay: Seconds,
    },
    /// `singleton`: no earlier job of the same name and user is left.
    Singleton,
}

/// What must have become of the other job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `after`: it started or was cancelled.
    After,
    /// `afterany`: it ended.
    AfterAny,
    /// `afterok`: it ended with 0.
    AfterOk,
    /// `afternotok`: it ended otherwise.
    AfterNotOk,
    /// `aftercorr`: the element of the same index ended with 0.
    AfterCorr,
}

/// A `--dependency` that can't be read or kept here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Job dependency problem: {part} {because}")]
pub struct DependencyError {
    /// The part that is wrong.
    pub part: String,
    /// What is wrong with it.
    pub because: &'static str,
}

impl Dependency {
    /// Reads Slurm's syntax: `TYPE:ID[_TASK][+MINUTES][:…]`, joined by `,` or by `?`.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Dependency, DependencyError> {
        let any = text.contains('?');
        let mut conditions = Vec::new();
        for part in text.split(if any { '?' } else { ',' }) {
            let wrong = |because| DependencyError {
                part: part.to_owned(),
                because,
            };
            if part == "singleton" {
                conditions.push(Condition::Singleton);
                continue;
            }
            let mut words = part.split(':');
            let kind = match words.next().unwrap_or_default() {
                "after" => Kind::After,
                "afterany" => Kind::AfterAny,
                "afterok" => Kind::AfterOk,
                "afternotok" => Kind::AfterNotOk,
                "aftercorr" => Kind::AfterCorr,
                _ => return Err(wrong("is no dependency type of this engine")),
            };
            let before = conditions.len();
            for word in words {
                let condition = job_condition(kind, word);
                conditions.push(condition.ok_or_else(|| wrong("names no job"))?);
            }
            if conditions.len() == before {
                return Err(wrong("names no job"));
            }
        }
        Ok(Dependency { conditions, any })
    }

    /// The jobs that it names.
    pub fn targets(&self) -> impl Iterator<Item = JobId> + '_ {
        self.conditions
            .iter()
            .filter_map(|condition| match condition {
                Condition::Job { target, .. } => Some(*target),
                Condition::Singleton => None,
            })
    }

    /// Whether elements of an array wait for elements of another.
    pub(crate) fn by_element(&self) -> bool {
        self.conditions.iter().any(|condition| {
            matches!(
                condition,
                Condition::Job {
                    kind: Kind::AfterCorr,
                    ..
                }
            )
        })
    }
}

fn job_condition(kind: Kind, word: &str) -> Option<Condition> {
    let (id, minutes) = match word.split_once('+') {
        Some((id, minutes)) if kind == Kind::After => (id, minutes.parse::<u32>().ok()?),
        Some(_) => return None,
        None => (word, 0),
    };
    let (id, task) = match id.split_once('_') {
        Some((id, "*")) => (id, None),
        Some((id, task)) => (id, Some(task.parse().ok()?)),
        None => (id, None),
    };
    Some(Condition::Job {
        kind,
        target: JobId(id.parse().ok().filter(|id| *id > 0)?),
        task,
        delay: Seconds(u64::from(minutes) * 60),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(text: &str, want: Expect) {
        let shown = match Dependency::parse(text) {
            Ok(dependency) => {
                let each = dependency
                    .conditions
                    .iter()
                    .map(|condition| match condition {
                        Condition::Job {
                            kind,
                            target,
                            task,
                            delay,
                        } => {
                            format!("{kind:?} {target} {task:?} +{}", delay.0)
                        }
                        Condition::Singleton => "Singleton".to_owned(),
                    });
                let joined = each.collect::<Vec<_>>().join(", ");
                format!("{joined}{}", if dependency.any { " (any)" } else { "" })
            }
            Err(error) => error.to_string(),
        };
        want.assert_eq(&shown);
    }

    #[test]
    fn slurms_forms() {
        check(
            "afterok:20:21,afterany:23",
            expect!["AfterOk 20 None +0, AfterOk 21 None +0, AfterAny 23 None +0"],
        );
        check(
            "afterok:20?afternotok:21_4",
            expect!["AfterOk 20 None +0, AfterNotOk 21 Some(4) +0 (any)"],
        );
        check("after:7+10", expect!["After 7 None +600"]);
        check("singleton", expect!["Singleton"]);
        check("aftercorr:5_*", expect!["AfterCorr 5 None +0"]);
    }

    #[test]
    fn what_is_none() {
        check(
            "",
            expect!["Job dependency problem:  is no dependency type of this engine"],
        );
        check(
            "afterok",
            expect!["Job dependency problem: afterok names no job"],
        );
        check(
            "afterok:x",
            expect!["Job dependency problem: afterok:x names no job"],
        );
        check(
            "afterok:5+3",
            expect!["Job dependency problem: afterok:5+3 names no job"],
        );
        check(
            "expand:5",
            expect!["Job dependency problem: expand:5 is no dependency type of this engine"],
        );
    }
}
