//! A value and where it came from.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A value of a plan with its source: `yard plan` shows both, `run.json` keeps both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub source: Source,
}

impl<T> Resolved<T> {
    /// A value and its source.
    pub fn new(value: T, source: Source) -> Resolved<T> {
        Resolved { value, source }
    }

    /// The same source for another value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Resolved<U> {
        Resolved {
            value: change(self.value),
            source: self.source,
        }
    }

    /// The same value and source, by reference.
    pub fn as_ref(&self) -> Resolved<&T> {
        Resolved {
            value: &self.value,
            source: self.source.clone(),
        }
    }
}

/// Where a value came from; its text is the last column of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Source {
    /// The program's own choice.
    Default {
        /// In words, such as `shares the node evenly`.
        why: String,
    },
    /// It follows from the launcher.
    Launcher {
        /// In words, such as `torchrun starts its own 4`.
        why: String,
    },
    /// It follows from what the cluster has or wants.
    Cluster {
        /// In words.
        why: String,
    },
    /// It follows from another value, and stands as firmly as that one.
    Derived {
        /// How, in words, such as `6 a GPU`.
        why: String,
        /// Where the other value came from.
        source: Box<Source>,
    },
    /// The user's own config.
    UserConfig {
        /// The file's name as a person would give it.
        file: String,
        /// Counted from 1.
        line: u32,
        /// Below its `[cluster.NAME]`.
        cluster: Option<String>,
    },
    /// The run file.
    RunFile {
        /// The file's name as the person gave it.
        file: String,
        /// Counted from 1.
        line: u32,
    },
    /// The run file's `[cluster.NAME]`.
    ClusterSection {
        /// `NAME`.
        cluster: String,
        /// The file's name as the person gave it.
        file: String,
        /// Counted from 1.
        line: u32,
    },
    /// An environment variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// A flag of the command line.
    Flag {
        /// With its dashes.
        flag: String,
    },
}

impl Source {
    /// The program's own choice, and why.
    pub fn default(why: impl Into<String>) -> Source {
        Source::Default { why: why.into() }
    }

    /// Follows from the launcher.
    pub fn launcher(why: impl Into<String>) -> Source {
        Source::Launcher { why: why.into() }
    }

    /// Follows from the cluster.
    pub fn cluster(why: impl Into<String>) -> Source {
        Source::Cluster { why: why.into() }
    }

    /// Follows from a value with this source.
    pub fn derived(why: impl Into<String>, source: &Source) -> Source {
        Source::Derived {
            why: why.into(),
            source: Box::new(source.clone()),
        }
    }

    /// Whether it is the user's habit, and not of this run.
    #[must_use]
    pub fn is_habit(&self) -> bool {
        match self {
            Source::UserConfig { .. } => true,
            Source::Derived { source, .. } => source.is_habit(),
            _ => false,
        }
    }

    /// Whether a person asked for it.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        match self {
            Source::Default { .. } | Source::Launcher { .. } | Source::Cluster { .. } => false,
            Source::Derived { source, .. } => source.is_asked(),
            _ => true,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default { why } | Source::Launcher { why } | Source::Cluster { why } => {
                f.write_str(why)
            }
            Source::Derived { why, source } => write!(f, "{source}: {why}"),
            Source::RunFile { file, line }
            | Source::UserConfig {
                file,
                line,
                cluster: None,
            } => write!(f, "{file}:{line}"),
            Source::ClusterSection {
                cluster,
                file,
                line,
            }
            | Source::UserConfig {
                file,
                line,
                cluster: Some(cluster),
            } => write!(f, "{file}:{line}, [cluster.{cluster}]"),
            Source::Environment { variable } => f.write_str(variable),
            Source::Flag { flag } => f.write_str(flag),
        }
    }
}
