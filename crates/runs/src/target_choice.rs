//! Which cluster a new run goes to, and why: the rule that README states.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What the rule looks at, first to last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given<'a> {
    /// `--on`
    pub flag: Option<&'a str>,
    /// `on` of the user's config, and where it stands.
    pub config: Option<(&'a str, &'a str)>,
    /// The embedded engine in whose job this is, or that `TRAINYARD_ENGINE` names.
    pub engine: Option<&'a str>,
}

/// Why it is this cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// `--on`
    Flag,
    /// `on` of the user's config, there.
    Config(String),
    /// `TRAINYARD_ENGINE`: a job of the embedded engine, which has it, stays there.
    Variable,
    /// This machine is set up for a Slurm.
    SlurmHere,
    /// It is not.
    NoSlurmHere,
}

impl Why {
    /// Whether a person or a job has decided; else it is what the machine offers.
    pub fn is_decided(&self) -> bool {
        !matches!(self, Why::SlurmHere | Why::NoSlurmHere)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Flag => f.write_str("target by --on"),
            Why::Config(place) => write!(f, "target by {place}"),
            Why::Variable => f.write_str("target by TRAINYARD_ENGINE"),
            Why::SlurmHere => f.write_str("target by default: this machine's Slurm"),
            Why::NoSlurmHere => f.write_str("target by default: no Slurm here"),
        }
    }
}

/// The cluster that was decided on; `None`: it is for the machine to say.
pub fn decided<'a>(given: Given<'a>) -> Option<(&'a str, Why)> {
    let flag = given.flag.map(|name| (name, Why::Flag));
    let config = given.config;
    let config = config.map(|(name, place)| (name, Why::Config(place.to_owned())));
    let job = given.engine.map(|name| (name, Why::Variable));
    flag.or(config).or(job)
}

/// Whether the machine offers another cluster than the last run by default went to. What decides
/// then is a person: a run must not move to another cluster because of a change of the machine.
pub fn has_moved(why: &Why, cluster: &str, last: Option<&str>) -> bool {
    !why.is_decided() && last.is_some_and(|last| last != cluster)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_said_last_decides() {
        let all = Given {
            flag: Some("rig"),
            config: Some(("local", "config.toml line 1")),
            engine: Some("local"),
        };
        assert_eq!(decided(all), Some(("rig", Why::Flag)));
        let config = Given { flag: None, ..all };
        let why = Why::Config("config.toml line 1".to_owned());
        assert_eq!(decided(config), Some(("local", why)));
        let job = Given {
            config: None,
            ..config
        };
        assert_eq!(decided(job), Some(("local", Why::Variable)));
        assert_eq!(decided(Given::default()), None);
    }

    #[test]
    fn a_default_that_moved_is_noticed() {
        assert!(has_moved(&Why::SlurmHere, "rig", Some("local")));
        assert!(has_moved(&Why::NoSlurmHere, "local", Some("rig")));
        assert!(!has_moved(&Why::SlurmHere, "rig", Some("rig")));
        assert!(!has_moved(&Why::SlurmHere, "rig", None));
        assert!(!has_moved(&Why::Flag, "rig", Some("local")));
    }
}
