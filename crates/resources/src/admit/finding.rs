//! Why a cluster would not take a job, in Slurm's words and in ours.

use super::change::{Change, any_of};
use super::limit_path::LimitPath;
use super::requested::Requested;
use super::seconds;
use super::there::There;
use cluster_file::{Doubt, Sourced};
use model::option_table::Key;
use model::{Denial, JobRefusal, TimeLimitRequest};
use std::borrow::Cow;
use std::fmt;

/// What of a job a reason is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// What this option asks.
    Option(Key),
    /// How many jobs it is at once: an array counts with all its elements.
    Jobs,
    /// Its nodes in all.
    Nodes,
    /// Its CPUs in all.
    Cpus,
    /// Its memory in all.
    Memory,
    /// Its GPUs, or those of one type, in all.
    Gpus,
    /// Several of these together, or what it did not ask for.
    Several,
}

impl Subject {
    /// Of what a limit on an amount counts, by Slurm's name of it.
    pub(super) fn of_tres(name: &str) -> Subject {
        match name {
            "node" => Subject::Nodes,
            "cpu" => Subject::Cpus,
            "mem" => Subject::Memory,
            name if name.starts_with("gres/gpu") => Subject::Gpus,
            _ => Subject::Several,
        }
    }

    /// What a denial is about where nothing else is said.
    pub(super) fn of_denial(denial: Denial) -> Subject {
        match denial {
            Denial::NodeName | Denial::NodesNotInPartition => Subject::Option(Key::NodeList),
            Denial::Partition
            | Denial::Access
            | Denial::Group
            | Denial::User
            | Denial::SeveralAssociations
            | Denial::PartitionClosed => Subject::Option(Key::Partition),
            Denial::NodeCount => Subject::Option(Key::Nodes),
            Denial::Account => Subject::Option(Key::Account),
            Denial::Qos => Subject::Option(Key::Qos),
            Denial::TimeLimit => Subject::Option(Key::Time),
            Denial::TimeMin => Subject::Option(Key::TimeMin),
            Denial::TaskMemory => Subject::Memory,
            Denial::Feature => Subject::Option(Key::Constraint),
            Denial::Array => Subject::Option(Key::Array),
            Denial::Licence => Subject::Option(Key::Licenses),
            Denial::Reservation | Denial::ReservationAccess => Subject::Option(Key::Reservation),
            Denial::NoPartition
            | Denial::TooManyCpus
            | Denial::PartitionConfig
            | Denial::NodeConfig
            | Denial::NodesAway
            | Denial::PartitionAccount
            | Denial::PartitionQos
            | Denial::Policy
            | Denial::Full
            | Denial::Unspecified => Subject::Several,
        }
    }
}

/// What becomes of a job against which something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The controller refuses it.
    Refused,
    /// It is taken and never started: the reason that `squeue` shows, such as
    /// `PartitionTimeLimit`.
    Waits(Cow<'static, str>),
    /// It is held and taken, and does not start once it is released: the reason that `squeue` shows then. What a held job
    /// asks of nodes is not looked at before.
    WaitsOnceReleased(Cow<'static, str>),
    /// It is taken and started, and ended at the limit, as the cluster's own document says.
    Cut,
}

/// What `sbatch` prints in the line before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The partition that there isn't.
    NoPartition(String),
    /// Slurm's word for the limit.
    Limit(&'static str),
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Detail::NoPartition(name) => {
                // Slurm makes a list of it, which is none when it is empty.
                let is_none = name.chars().all(|c| c == ',');
                let name = if is_none { "(null)" } else { name };
                write!(f, "invalid partition specified: {name}")
            }
            Detail::Limit(word) => f.write_str(word),
        }
    }
}

/// One reason why a job would not be taken, would wait for ever, or would end early. Its texts are
/// made of its values: [`Finding::asked`], [`Finding::there`], [`Finding::todo`].
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What Slurm answers, or would answer where it refused.
    pub denial: Denial,
    /// What becomes of the job.
    pub fate: Fate,
    /// What `sbatch` prints in the line before.
    pub detail: Option<Detail>,
    /// What Slurm prints of nodes that never have enough.
    pub(super) of_nodes: Option<&'static str>,
    /// What of the job it is about.
    pub about: Subject,
    /// What was asked.
    pub asked: Requested,
    /// What there is.
    pub there: There,
    /// What would be taken instead: each of them is enough.
    pub instead: Vec<Change>,
    /// The most that would be taken of what was asked: seconds of a time, a number of nodes or jobs.
    pub most: Option<u64>,
    /// The most that any of the cluster's documents says, where more was asked than that; seconds of a time.
    pub most_said: Option<u64>,
    /// What of the cluster file decides.
    pub at: LimitPath,
    /// The key's bytes in the cluster file; empty where no single key decides.
    pub span: std::ops::Range<usize>,
    /// Why that key's value is not sure.
    pub doubt: Option<Doubt>,
    /// It rests on a value that is assumed, or on one of two that are said, or the job runs all the
    /// same: a note, no error.
    pub assumed: bool,
}

/// A finding but for where it stands.
pub(super) fn finding(
    denial: Denial,
    asked: Requested,
    there: There,
    instead: Vec<Change>,
) -> Finding {
    Finding {
        denial,
        fate: Fate::Refused,
        detail: None,
        of_nodes: None,
        about: Subject::of_denial(denial),
        asked,
        there,
        instead,
        most: None,
        most_said: None,
        at: LimitPath::Name,
        span: 0..0,
        doubt: None,
        assumed: false,
    }
}

impl Finding {
    /// What an engine itself refuses, whatever a file says.
    pub fn by_engine(
        denial: Denial,
        asked: impl Into<String>,
        there: impl Into<String>,
        todo: impl Into<String>,
    ) -> Finding {
        Finding {
            at: LimitPath::Engine,
            ..finding(
                denial,
                Requested::Message(asked.into()),
                There::Message(there.into()),
                vec![Change::Message(todo.into())],
            )
        }
    }

    /// Whether it also stands against a job that root submits for its user: a partition that takes jobs of root
    /// alone takes those that root submits.
    #[must_use]
    pub fn stands_for_root(&self) -> bool {
        !matches!(self.at, LimitPath::Partition(_, "root_only"))
    }

    /// What an engine answered to a client.
    #[must_use]
    pub fn answered(refusal: JobRefusal) -> Finding {
        let at = match refusal.limit {
            Some(limit) => LimitPath::Answered(limit),
            None => LimitPath::Engine,
        };
        Finding {
            at,
            ..Finding::by_engine(refusal.denial, refusal.asked, refusal.there, refusal.todo)
        }
    }

    /// It as an engine's answer to a client.
    #[must_use]
    pub fn answer(&self) -> JobRefusal {
        JobRefusal {
            denial: self.denial,
            asked: self.asked(),
            there: self.there(),
            todo: self.todo(),
            limit: self.at.key(),
            detail: self.detail_line(),
        }
    }

    /// With the line that names the first of these partitions, none of which is there.
    #[must_use]
    pub fn no_partition(mut self, names: &str) -> Finding {
        let first = names.split(',').find(|name| !name.is_empty());
        self.detail = Some(Detail::NoPartition(first.unwrap_or(names).to_owned()));
        self
    }

    /// With the line that has Slurm's word for the limit.
    #[must_use]
    pub fn named(mut self, limit: &'static str) -> Finding {
        self.detail = Some(Detail::Limit(limit));
        self
    }

    /// What was asked, in words.
    #[must_use]
    pub fn asked(&self) -> String {
        self.asked.to_string()
    }

    /// What there is, in words.
    #[must_use]
    pub fn there(&self) -> String {
        self.there.words(&self.at)
    }

    /// What to do, in words.
    #[must_use]
    pub fn todo(&self) -> String {
        any_of(&self.instead)
    }

    pub(super) fn about(mut self, about: Subject) -> Finding {
        self.about = about;
        self
    }

    pub(super) fn most(mut self, most: impl Into<u64>) -> Finding {
        self.most = Some(most.into());
        self
    }

    /// With the longest time that is said of a limit which an asked one is over.
    pub(super) fn over_time(
        mut self,
        asked: TimeLimitRequest,
        limit: &Sourced<TimeLimitRequest>,
    ) -> Finding {
        let said = limit.all().map(|time| seconds(*time)).max();
        self.most_said = said.filter(|said| seconds(asked) > *said);
        self.most(seconds(limit.value))
    }

    pub(super) fn at<T>(mut self, path: LimitPath, value: &Sourced<T>) -> Finding {
        self.at = path;
        self.span = value.span.clone();
        self.doubt = value.doubt();
        self.assumed |= self.doubt.is_some();
        self
    }

    /// What Slurm prints in the line before its refusal.
    #[must_use]
    pub fn detail_line(&self) -> Option<String> {
        match &self.detail {
            Some(detail) => Some(detail.to_string()),
            None => self.of_nodes.map(str::to_owned),
        }
    }

    /// What no node has, by what would be taken instead.
    pub(super) fn word_of_nodes(&self) -> Option<&'static str> {
        // No node has so much, whatever else is free.
        let of_change = |change: &Change| match change {
            Change::Set(Key::Mem | Key::MemPerCpu | Key::MemPerGpu, _) => {
                Some("Memory specification can not be satisfied")
            }
            Change::Set(Key::CpusPerTask | Key::CpusPerGpu, _) => {
                Some("CPU count per node can not be satisfied")
            }
            _ => None,
        };
        let change = self.instead.first().and_then(of_change);
        let is_config = self.denial == Denial::NodeConfig;
        change.filter(|_| is_config)
    }

    /// The lines that `sbatch` prints; none where it takes the job.
    #[must_use]
    pub fn printed(&self) -> String {
        if self.fate != Fate::Refused {
            return String::new();
        }
        let detail = self
            .detail
            .as_ref()
            .map(|detail| format!("sbatch: error: {detail}\n"));
        let words = self.denial.words();
        format!(
            "{}sbatch: error: Batch job submission failed: {words}\n",
            detail.unwrap_or_default()
        )
    }
}

impl Finding {
    /// What is said of a held job instead; none of what is not sure, since it is taken either way.
    pub(super) fn of_held(self) -> Option<Finding> {
        let reason = match &self.fate {
            Fate::Waits(reason) if !self.assumed => reason.clone(),
            Fate::Refused if self.denial == Denial::NodeConfig && self.assumed => return None,
            Fate::Refused if self.denial == Denial::NodeConfig => "BadConstraints".into(),
            _ => return Some(self),
        };
        Some(Finding {
            fate: Fate::WaitsOnceReleased(reason),
            assumed: true,
            ..self
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match &self.fate {
            Fate::Waits(reason) => format!("the job would wait for ever: {reason}"),
            Fate::WaitsOnceReleased(reason) => {
                format!("the job would not start once released: {reason}")
            }
            Fate::Refused => self.denial.words().to_owned(),
            Fate::Cut => "the job would be ended at the limit".to_owned(),
        };
        write!(
            f,
            "{what}; asked: {}; there: {}; do: {}",
            self.asked(),
            self.there(),
            self.todo()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a real `sbatch` printed for `-p nosuch`, `--partition=` and `-p ,`.
    #[test]
    fn an_empty_partition_is_named_as_none() {
        for (given, named) in [("nosuch", "nosuch"), ("", "(null)"), (",", "(null)")] {
            let said = Detail::NoPartition(given.to_owned()).to_string();
            assert_eq!(said, format!("invalid partition specified: {named}"));
        }
    }
}
