//! What `scontrol update JobId=` changes of a job that is there.

use crate::requests::{AskedSwitches, CpuRange};
use crate::values::{
    MailEvent, MemoryRequest, NodeName, Seconds, TimeLimitRequest, Timestamp, abbreviates,
};
use serde::{Deserialize, Serialize};

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobChange {
    /// `TimeLimit=`
    TimeLimit(LimitChange),
    /// `Partition=`: one, or several between commas.
    Partition(String),
    /// `QOS=`
    Qos(String),
    /// `Account=`
    Account(String),
    /// `NumNodes=`: at least, and at most.
    Nodes(u32, Option<u32>),
    /// `NumTasks=`
    Tasks(u32),
    /// `NumCPUs=`: in all.
    Cpus(CpuRange),
    /// `CPUsPerTask=`
    CpusPerTask(u32),
    /// `MinMemoryNode=`, `MinMemoryCPU=`, in MiB.
    Memory(MemoryRequest),
    /// `Features=`; none asks for none.
    Features(Option<String>),
    /// `ReqNodeList=`
    NodeList(Vec<NodeName>),
    /// `ExcNodeList=`
    Exclude(Vec<NodeName>),
    /// `Dependency=`; none waits for no other job.
    Dependency(Option<String>),
    /// `StartTime=`
    Begin(Timestamp),
    /// `JobName=`, `Name=`
    Name(String),
    /// `Comment=`
    Comment(String),
    /// `Priority=`; 0 holds.
    Priority(u32),
    /// `Nice=`
    Nice(i64),
    /// `Requeue=`
    Requeue(bool),
    /// `MinCPUsNode=`
    MinCpus(u32),
    /// `MinTmpDiskNode=`, in MiB.
    TmpDisk(u64),
    /// `Gres=`; empty asks for none.
    Gres(String),
    /// `Licenses=`; none asks for none.
    Licenses(Option<String>),
    /// `Contiguous=`
    Contiguous(bool),
    /// `OverSubscribe=`, `Shared=`: whether others may have its CPUs, or no other job its nodes.
    OverSubscribe(bool),
    /// `WorkDir=`
    WorkDir(String),
    /// `EndTime=` of one that runs.
    End(Timestamp),
    /// `ArrayTaskThrottle=`: so many elements at a time; 0 does not bound them.
    ArrayThrottle(u32),
    /// `ReservationName=`; none leaves it.
    Reservation(Option<String>),
    /// `SiteFactor=`
    SiteFactor(i64),
    /// `Deadline=`
    Deadline(Timestamp),
    /// `MailType=`
    MailTypes(Vec<MailEvent>),
    /// `MailUser=`; none is its owner.
    MailUser(Option<String>),
    /// `StdOut=` as written; none is the file that it has by default.
    Output(Option<String>),
    /// `Switches=`; none asks for none.
    Switches(Option<AskedSwitches>),
    /// `TimeMin=`; none has no shorter limit than its own.
    TimeMin(Option<TimeLimitRequest>),
    /// `AdminComment=`
    AdminComment(String),
    /// `WCKey=`; none has none.
    Wckey(Option<String>),
    /// `DelayBoot=`
    DelayBoot(Seconds),
    /// `CoreSpec=`, `ThreadSpec=`: no cluster here keeps cores for the system.
    CoreSpec,
    /// `Reboot=`
    Reboot(bool),
    /// `BurstBuffer=`: there is none.
    BurstBuffer,
    /// `ClusterFeatures=`, `Clusters=`: there is one cluster.
    OtherClusters,
    /// `ReqSockets=`
    Sockets(u32),
    /// `ReqCores=`
    Cores(u32),
    /// `ReqThreads=`
    Threads(u32),
    /// `TasksPerNode=`; 0 asks for none.
    TasksPerNode(u32),
    /// `Prefer=`; none asks for none.
    Prefer(Option<String>),
    /// `wait-for-switch=`, in seconds.
    SwitchWait(u64),
    /// `ResetAccrueTime`: its age begins anew.
    ResetAccrueTime,
    /// `TresBind=`; none asks for none.
    TresBind(Option<String>),
    /// `TresFreq=`; none asks for none.
    TresFrequency(Option<String>),
    /// `CpusPerTres=`, `MemPerTres=`, `TresPerJob=`, `TresPerSocket=`, `TresPerTask=`; nothing asks for none.
    OtherTres(String),
}

impl JobChange {
    /// What is said of one that is kept and shown, and that changes nothing about the job's course.
    #[must_use]
    pub fn note(&self) -> Option<&'static str> {
        match self {
            JobChange::DelayBoot(_) => {
                Some("DelayBoot is kept and shown, and has no effect here: nothing is booted")
            }
            JobChange::TresFrequency(_) => Some(
                "TresFreq is kept and shown, and has no effect here: the speed of GPUs is left alone",
            ),
            JobChange::TresBind(_) => Some(
                "TresBind is kept and shown, and has no effect here: steps are bound as srun or the script says",
            ),
            _ => None,
        }
    }
}

/// A word of `scontrol update`: `KEY=VALUE`, `KEY+=VALUE`, `KEY VALUE`, or a key alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenChange {
    /// Without the sign.
    pub key: String,
    /// `+` or `-` before the `=`.
    pub sign: Option<char>,
    /// None where nothing follows the key.
    pub value: Option<String>,
    /// The last of its words, which an error repeats.
    pub written: String,
}

impl WrittenChange {
    /// One word; a key alone takes the next word as its value, but for those that need none.
    #[must_use]
    pub fn read(word: &str, next: &mut dyn FnMut() -> Option<String>) -> WrittenChange {
        if let Some((key, value)) = word.split_once('=') {
            let sign = key.chars().last().filter(|sign| "+-".contains(*sign));
            let sign = sign.filter(|_| key.len() > 1);
            return WrittenChange {
                key: key[..key.len() - usize::from(sign.is_some())].to_owned(),
                sign,
                value: Some(value.to_owned()),
                written: word.to_owned(),
            };
        }
        let is_bare = abbreviates(word, "Nice", 2) || abbreviates(word, "ResetAccrueTime", 3);
        let value = if is_bare { None } else { next() };
        WrittenChange {
            key: word.to_owned(),
            sign: None,
            written: value.clone().unwrap_or_else(|| word.to_owned()),
            value,
        }
    }
}

/// How a time limit changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitChange {
    /// It is that.
    To(TimeLimitRequest),
    /// `+N`
    More(Seconds),
    /// `-N`
    Less(Seconds),
}

/// A change that can't be read: what Slurm says, and its exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobChangeError {
    /// Lines for standard error.
    pub lines: Vec<String>,
    /// The exit status: `scontrol` ends with 0 after some of its own errors.
    pub status: u8,
}
