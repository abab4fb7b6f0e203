//! What a `scontrol` does.

use crate::records::RequeueHold;
use crate::requests::WrittenChange;

/// What a `scontrol` does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScontrolCommand {
    /// `show job [ID]`
    ShowJob(Option<String>),
    /// `show node [NAME]`
    ShowNode(Option<String>),
    /// `show partition [NAME]`
    ShowPartition(Option<String>),
    /// `show step [ID]`
    ShowStep(Option<String>),
    /// `show topology [NAME]`: of a switch or a node.
    ShowTopology(Option<String>),
    /// `show licenses [NAME]`
    ShowLicences(Option<String>),
    /// `show reservation [NAME]`
    ShowReservation(Option<String>),
    /// `show frontend` and others of which the engine has none: what is said.
    None {
        /// On standard output.
        stdout: String,
        /// On standard error.
        stderr: String,
        /// Exit status.
        status: u8,
    },
    /// `show assoc_mgr [NAME=VALUE …]`
    ShowAccounting(Vec<String>),
    /// `show config`
    ShowConfig,
    /// `show hostnames [LIST]`; without a list `SLURM_NODELIST`, then `SLURM_JOB_NODELIST`.
    HostNames(Option<String>),
    /// `show hostlist`, `show hostlistsorted`
    HostList {
        /// Names between commas.
        names: String,
        /// Sorted first.
        sorted: bool,
    },
    /// `requeue ID …`, `requeuehold ID …`
    Requeue {
        /// As written: `12`, `12_3`, `12,13`.
        jobs: Vec<String>,
        /// Whether they wait for their release then.
        hold: RequeueHold,
        /// Only those that run.
        only_running: bool,
    },
    /// `hold ID …`, `uhold ID …`, `release ID …`
    Hold {
        /// As written; `Name=…` too.
        jobs: Vec<String>,
        /// False releases.
        hold: bool,
        /// Its owner may release it, whoever holds it.
        user: bool,
    },
    /// `suspend ID …`, `resume ID …`
    Suspend {
        /// As written.
        jobs: Vec<String>,
        /// False resumes.
        suspend: bool,
    },
    /// `create`, `update` and `delete` of nodes and partitions
    Cluster(ClusterCommand),
    /// `update JobId=LIST KEY=VALUE …`
    UpdateJobs {
        /// As written; `JobName=…` stands for jobs by their name.
        jobs: String,
        /// Keys and values.
        changes: Vec<WrittenChange>,
    },
    /// `create reservation KEY=VALUE …`, `update ReservationName=NAME KEY=VALUE …`
    Reserve {
        /// Keys and values.
        words: Vec<String>,
        /// There is none of the name.
        is_new: bool,
    },
    /// `delete reservation=NAME`
    Unreserve {
        /// Which.
        name: String,
        /// As it was written.
        written: String,
    },
    /// `top ID …`
    Top(Vec<String>),
    /// `notify ID TEXT …`
    Notify {
        /// As written.
        job: String,
        /// The words, with a space between them.
        text: String,
    },
    /// `write batch_script ID [FILE|-]`
    WriteScript {
        /// As written.
        job: String,
        /// Where to; `-` prints it.
        file: Option<String>,
    },
    /// `listpids [ID[.STEP] [NODE]]`
    ListPids {
        /// As written.
        job: Option<String>,
        /// The node.
        node: Option<String>,
    },
    /// `completing`
    Completing,
    /// `pidinfo PID`; 0 is none.
    PidInfo(u32),
    /// `wait_job ID`
    WaitJob(String),
    /// `reconfigure`
    Reconfigure,
    /// `ping`
    Ping,
    /// `getent [NODE]`: users and groups of the steps there; without a node this one's.
    StepUsers(Option<String>),
    /// `cluster [NAME]`: which one is talked to, here the only one.
    TalkTo(Option<String>),
    /// `cancel_reboot NODES`
    CancelReboot(String),
    /// What is printed although there are more words than it takes; that is an error all the same.
    WithMore {
        /// What is printed.
        command: Box<ScontrolCommand>,
        /// What is said of the words.
        said: String,
    },
    /// `version`, `--version`
    Version,
    /// `help`, `--help`
    Help,
    /// Nothing was asked.
    Nothing,
}

/// What is changed of nodes and partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterCommand {
    /// `update NodeName=LIST KEY=VALUE …`
    UpdateNodes(Vec<String>),
    /// `create PartitionName=NAME KEY=VALUE …`, `update PartitionName=NAME KEY=VALUE …`
    Partition {
        /// Keys and values.
        words: Vec<String>,
        /// There is none of the name.
        is_new: bool,
    },
    /// `create NodeName=LIST KEY=VALUE …`
    MakeNodes {
        /// Which.
        nodes: String,
        /// The rest of their line, as `slurm.conf` has it.
        line: String,
    },
    /// `delete NodeName=LIST`
    RemoveNodes {
        /// Which.
        nodes: String,
        /// As it was written.
        written: String,
    },
    /// `delete PartitionName=NAME`
    RemovePartition {
        /// Which.
        name: String,
        /// As it was written.
        written: String,
    },
}
