//! The tables of a cluster file. Slurm's own name of a value stands in backquotes.

use super::Named;
use super::amounts::{Bounds, Mib, Tres};
use super::gpu_sockets::GpuSockets;
use super::partition_nodes::PartitionNodes;
use super::section::section;
use super::words::{
    EnforcePartLimits, Extent, GpuOption, NodesState, PartitionState, PreemptMode, PreemptType,
    UsageReset,
};
use model::{ContainerRuntime, Seconds, TimeLimitRequest};

section! {
    /// Whether the file's lists are whole: `[lists]`. A name that a whole list doesn't have is
    /// wrong; one that a list of `"some"` doesn't have may be right. What isn't said is whole,
    /// except where what the list rests on is assumed.
    Lists {
        /// Kinds of nodes, and with them types of GPUs.
        nodes: Extent,
        /// Partitions.
        partitions: Extent,
        /// Qualities of service.
        qos: Extent,
        /// Accounts.
        accounts: Extent,
        /// Features of nodes.
        features: Extent,
    }
}

section! {
    /// Nodes that are alike: `[nodes.NAME]`, the name being the file's own.
    Nodes {
        /// Their names as a node list; where it is left out they are called after the table.
        names: String,
        /// How many; follows from `names` where those are given.
        count: u32,
        /// CPUs of a node as Slurm counts them: threads, or cores where it counts those. `CPUs`
        cpus: u32,
        /// `Sockets`
        sockets: u32,
        /// `CoresPerSocket`
        cores_per_socket: u32,
        /// `ThreadsPerCore`
        threads_per_core: u32,
        /// `RealMemory`
        memory: Mib,
        /// Kept for the system: jobs don't get it. `MemSpecLimit`
        reserved_memory: Mib,
        /// `TmpDisk`
        tmp_disk: Mib,
        /// What `--constraint` can name. `Feature`
        features: Vec<String>,
        /// Other generic resources, as `"nvme:1"`. `Gres`
        gres: Vec<String>,
        /// As `uname -m` prints it: `x86_64`, `ppc64le`, `aarch64`.
        architecture: String,
        /// Lower ones are taken first. `Weight`
        weight: u32,
        /// They are not there yet, or are of a cloud. `State=FUTURE`, `State=CLOUD`
        state: NodesState,
    }
    tables {
        /// GPUs of one node: `[[nodes.NAME.gpu]]` or `gpu = { … }`.
        gpus: Vec<Gpu> = "gpu",
    }
}

section! {
    /// GPUs of one kind in a node.
    Gpu {
        /// The GRES type, in `--gres=gpu:TYPE:N`; left out where the site names none.
        kind: String = "type",
        /// The model by which people know it: `v100`, `a100`, `p100`.
        model: String,
        /// How many in a node.
        count: u32,
        /// Memory of one.
        memory: Mib,
        /// The socket of each, where jobs get CPUs near their GPUs: `0,0,1,1`. `Cores` of gres.conf
        sockets: GpuSockets,
        /// The feature of the nodes that asks for it where there is no type.
        feature: String,
    }
}

section! {
    /// A partition: `[partition.NAME]`.
    Partition {
        /// Where a job goes that names none. `Default=YES`
        default: bool,
        /// `Nodes`
        nodes: PartitionNodes,
        /// How many nodes it is said to have; nothing is computed with it. `TotalNodes`
        total_nodes: u32,
        /// `MaxTime`
        max_time: TimeLimitRequest,
        /// The limit of a job that asks for none. `DefaultTime`
        default_time: TimeLimitRequest,
        /// `MaxNodes`
        max_nodes: u32,
        /// `MinNodes`
        min_nodes: u32,
        /// `MaxCPUsPerNode`
        max_cpus_per_node: u32,
        /// `DefMemPerCPU`
        default_memory_per_cpu: Mib,
        /// `DefMemPerNode`
        default_memory_per_node: Mib,
        /// `DefMemPerGPU` of `JobDefaults`
        default_memory_per_gpu: Mib,
        /// `DefCpuPerGPU` of `JobDefaults`
        default_cpus_per_gpu: u32,
        /// `MaxMemPerCPU`
        max_memory_per_cpu: Mib,
        /// `MaxMemPerNode`
        max_memory_per_node: Mib,
        /// Every job gets whole nodes. `OverSubscribe=EXCLUSIVE`
        exclusive: bool,
        /// A node has jobs of one user at a time. `ExclusiveUser`
        exclusive_user: bool,
        /// Whether CPUs can be given twice: `"YES:4"`, `"FORCE:2"`. `OverSubscribe`
        oversubscribe: String,
        /// Higher ones go first, whatever the priority. `PriorityTier`
        priority_tier: u32,
        /// `PriorityJobFactor`
        priority_factor: u32,
        /// `AllowAccounts`
        allow_accounts: Vec<String>,
        /// `DenyAccounts`
        deny_accounts: Vec<String>,
        /// `AllowQos`
        allow_qos: Vec<String>,
        /// `DenyQos`
        deny_qos: Vec<String>,
        /// `AllowGroups`
        allow_groups: Vec<String>,
        /// Only hosts of this node list submit jobs here. `AllocNodes`
        submit_from: String,
        /// The partition that takes jobs in its place while it is drained or inactive. `Alternate`
        alternate: String,
        /// Root's jobs are refused. `DisableRootJobs`
        no_root_jobs: bool,
        /// A job here may run so much longer than its limit; a year is `UNLIMITED`. `OverTimeLimit`
        over_time_limit: Seconds,
        /// How tasks are bound that don't say it: `"cores"`. `CpuBind`
        cpu_bind: String,
        /// A QOS whose limits hold for all jobs here. `QOS`
        qos: String,
        /// `State`
        state: PartitionState,
        /// `PreemptMode`
        preempt_mode: PreemptMode,
        /// Between the signal and the end of a job whose place is taken. `GraceTime`
        grace_time: Seconds,
        /// Not shown to those who can't use it. `Hidden`
        hidden: bool,
        /// `RootOnly`
        root_only: bool,
        /// Nodes with the most free CPUs go first. `LLN`
        least_loaded: bool,
        /// Only jobs of a reservation. `ReqResv`
        needs_reservation: bool,
        /// What a job here is counted for, in Slurm's text. `TRESBillingWeights`
        billing_weights: String,
    }
}

section! {
    /// A quality of service: `[qos.NAME]`.
    Qos {
        /// `Priority`
        priority: u32,
        /// `MaxWall`
        max_wall: TimeLimitRequest,
        /// Running jobs of one user. `MaxJobsPU`
        max_jobs_per_user: u32,
        /// Running and waiting jobs of one user. `MaxSubmitPU`
        max_submit_per_user: u32,
        /// `MaxJobsPA`
        max_jobs_per_account: u32,
        /// `MaxSubmitPA`
        max_submit_per_account: u32,
        /// `MaxTRES`
        max_tres_per_job: Tres,
        /// `MaxTRESPerNode`
        max_tres_per_node: Tres,
        /// `MaxTRESPU`
        max_tres_per_user: Tres,
        /// `MaxTRESPA`
        max_tres_per_account: Tres,
        /// `MinTRES`
        min_tres_per_job: Tres,
        /// All jobs of the QOS together. `GrpTRES`
        group_tres: Tres,
        /// `GrpJobs`
        group_jobs: u32,
        /// `GrpSubmit`
        group_submit: u32,
        /// `GrpWall`
        group_wall: TimeLimitRequest,
        /// `GrpTRESMins`
        group_tres_minutes: Tres,
        /// `GrpTRESRunMins`
        group_tres_run_minutes: Tres,
        /// `MaxTRESMins`
        max_tres_minutes_per_job: Tres,
        /// So many of its waiting jobs gain priority by their age. `GrpJobsAccrue`
        group_jobs_accrue: u32,
        /// The same of each account. `MaxJobsAccruePA`
        max_jobs_accrue_per_account: u32,
        /// The same of each user. `MaxJobsAccruePU`
        max_jobs_accrue_per_user: u32,
        /// No place is kept for a job below this priority. `MinPrioThreshold`
        min_priority_threshold: u32,
        /// Limits of accounts on TRES are so many times as much for its jobs. `LimitFactor`
        limit_factor: f64,
        /// QOS whose jobs' places can be taken. `Preempt`
        preempt: Vec<String>,
        /// `PreemptMode`
        preempt_mode: PreemptMode,
        /// `GraceTime`
        grace_time: Seconds,
        /// No place is taken before a job ran so long. `PreemptExemptTime`
        preempt_exempt_time: Seconds,
        /// `UsageFactor`
        usage_factor: f64,
        /// `DenyOnLimit`, `OverPartQOS`, `PartitionTimeLimit`, … `Flags`
        flags: Vec<String>,
    }
}

section! {
    /// An account: `[account.NAME]`. Its limits hold for everyone in it.
    Account {
        /// `ParentName`; `root` where none is given.
        parent: String,
        /// `Description`
        description: String,
        /// Its parent's name where none is given, below the root its own. `Organization`
        organization: String,
        /// A number, or `"parent"`. `Fairshare`
        shares: String,
        /// What the association counts for. `Priority`
        priority: u32,
        /// QOS that its members can use. `QOS`
        qos: Vec<String>,
        /// `DefaultQOS`
        default_qos: String,
        /// `MaxJobs`
        max_jobs: u32,
        /// `MaxSubmitJobs`
        max_submit: u32,
        /// `MaxWall`
        max_wall: TimeLimitRequest,
        /// `MaxTRES`
        max_tres_per_job: Tres,
        /// `MaxTRESPerNode`
        max_tres_per_node: Tres,
        /// `GrpTRES`
        group_tres: Tres,
        /// `GrpJobs`
        group_jobs: u32,
        /// `GrpSubmit`
        group_submit: u32,
        /// `GrpWall`
        group_wall: TimeLimitRequest,
        /// `GrpTRESMins`
        group_tres_minutes: Tres,
        /// `GrpTRESRunMins`
        group_tres_run_minutes: Tres,
        /// `MaxTRESMins`
        max_tres_minutes_per_job: Tres,
        /// `GrpJobsAccrue`
        group_jobs_accrue: u32,
        /// `MaxJobsAccrue`
        max_jobs_accrue: u32,
        /// `MinPrioThreshold`
        min_priority_threshold: u32,
    }
}

section! {
    /// A user: `[user.NAME]`; `[user."*"]` is everyone who has no table.
    User {
        /// The accounts that this user is in.
        accounts: Vec<String>,
        /// `DefaultAccount`
        default_account: String,
        /// QOS in all those accounts, where `[user.NAME.account.ACCOUNT]` says nothing else.
        qos: Vec<String>,
        /// `DefaultQOS`
        default_qos: String,
        /// Unix groups, for `AllowGroups`.
        groups: Vec<String>,
        /// `none`, `operator` or `admin`. `AdminLevel`
        admin: String,
    }
    tables {
        /// What holds in one account alone: `[user.NAME.account.ACCOUNT]`; `[[user.NAME.account.ACCOUNT]]` for
        /// each of several, which have other partitions.
        associations: Vec<Named<Association>> = "account",
    }
}

section! {
    /// A user in an account.
    Association several = true {
        /// The partition that it is for, where it is for one alone. `Partition`
        partition: String,
        /// A number, or `"parent"`. `Fairshare`
        shares: String,
        /// What the association counts for. `Priority`
        priority: u32,
        /// `QOS`
        qos: Vec<String>,
        /// `DefaultQOS`
        default_qos: String,
        /// `MaxJobs`
        max_jobs: u32,
        /// `MaxSubmitJobs`
        max_submit: u32,
        /// `MaxWall`
        max_wall: TimeLimitRequest,
        /// `MaxTRES`
        max_tres_per_job: Tres,
        /// `MaxTRESPerNode`
        max_tres_per_node: Tres,
        /// `GrpTRES`
        group_tres: Tres,
        /// `GrpJobs`
        group_jobs: u32,
        /// `GrpSubmit`
        group_submit: u32,
        /// `GrpWall`
        group_wall: TimeLimitRequest,
        /// `GrpTRESMins`
        group_tres_minutes: Tres,
        /// `GrpTRESRunMins`
        group_tres_run_minutes: Tres,
        /// `MaxTRESMins`
        max_tres_minutes_per_job: Tres,
        /// `GrpJobsAccrue`
        group_jobs_accrue: u32,
        /// `MaxJobsAccrue`
        max_jobs_accrue: u32,
        /// `MinPrioThreshold`
        min_priority_threshold: u32,
    }
}

section! {
    /// Licences of one name: `[license.NAME]`. `Licenses`
    Licence {
        /// How many jobs can have at once.
        count: u32,
    }
}

section! {
    /// A switch of the network: `[switch.NAME]`. `SwitchName` of topology.conf
    Switch {
        /// The nodes at it, as a node list. `Nodes`
        nodes: String,
        /// The switches below it, as a list of the same form. `Switches`
        switches: String,
        /// `LinkSpeed`
        link_speed: u32,
    }
}

section! {
    /// What a site wants a job to ask for: `[policy]`.
    Policy {
        /// The option by which GPUs are asked for.
        gpu_option: GpuOption,
        /// CPUs for each GPU.
        cpus_per_gpu: Bounds<u32>,
        /// Memory of the node for each GPU.
        memory_per_gpu: Bounds<Mib>,
        /// Tasks that share a GPU; 1 where each has one of its own.
        tasks_per_gpu: u32,
    }
    tables {
        /// For one model of GPU alone: `[policy.gpu.v100]`.
        gpus: Vec<Named<PolicyOfGpu>> = "gpu",
    }
}

section! {
    /// What a site wants of a job with GPUs of one model.
    PolicyOfGpu {
        /// CPUs for each GPU.
        cpus_per_gpu: Bounds<u32>,
        /// Memory of the node for each GPU.
        memory_per_gpu: Bounds<Mib>,
        /// Tasks that share a GPU.
        tasks_per_gpu: u32,
    }
}

section! {
    /// Limits of the cluster as a whole: `[limits]`.
    Limits {
        /// One more than the highest index of a job array. `MaxArraySize`
        max_array_size: u32,
        /// `MaxJobCount`
        max_jobs: u32,
        /// `MaxTasksPerNode`
        max_tasks_per_node: u32,
        /// `MaxStepCount`
        max_steps: u32,
        /// `DefMemPerCPU`
        default_memory_per_cpu: Mib,
        /// `DefMemPerNode`
        default_memory_per_node: Mib,
        /// `MaxMemPerCPU`
        max_memory_per_cpu: Mib,
        /// `MaxMemPerNode`
        max_memory_per_node: Mib,
        /// Running jobs of one user, where accounts and QOS say nothing.
        max_jobs_per_user: u32,
        /// Running and waiting jobs of one user, where accounts and QOS say nothing.
        max_submit_per_user: u32,
        /// `associations`, `limits`, `qos`, `safe`. `AccountingStorageEnforce`
        enforce: Vec<String>,
        /// `EnforcePartLimits`
        enforce_partition_limits: EnforcePartLimits,
        /// A job that asks for more time than its partition or QOS allows is started and ended at
        /// that limit, as some sites say of theirs; where it isn't said, Slurm refuses the job or
        /// lets it wait.
        cut_at_max_time: bool,
        /// A job has GPUs of one type alone, as some sites say of theirs; Slurm itself gives several.
        one_gpu_type: bool,
    }
}

section! {
    /// How jobs are started and ended: `[scheduling]`.
    Scheduling {
        /// A job that was lost goes back to the queue unless it says otherwise. `JobRequeue`
        requeue: bool,
        /// Between the end signal and the kill. `KillWait`
        kill_wait: Seconds,
        /// A job may run so much longer than its limit, where its partition doesn't say it. `OverTimeLimit`
        over_time_limit: Seconds,
        /// Whether a node that is down takes jobs again once it answers: 0 never, 1 where it was down because
        /// it didn't answer, 2 always. `ReturnToService`
        return_to_service: u32,
        /// An ended job is remembered so long. `MinJobAge`
        min_job_age: Seconds,
        /// What is given out: `"CR_Core_Memory"`, … `SelectTypeParameters`
        select: String,
        /// A job that is queued again waits at least so long; without it it may start at once. Slurm
        /// lets it wait as long as a credential lives, and a second. `AuthInfo=cred_expire`
        requeue_delay: Seconds,
        /// `sched/backfill` or `sched/builtin`. `SchedulerType`
        scheduler: String,
        /// In Slurm's text. `SchedulerParameters`
        parameters: String,
        /// In Slurm's text. `DependencyParameters`
        dependency_parameters: String,
    }
}

section! {
    /// Programs around jobs, steps and tasks: `[programs]`. Each is an absolute path; those of jobs can be
    /// a pattern such as `/etc/prolog.d/*`, whose files run in the order of their names.
    Programs {
        /// On a node before the job's first step there. `Prolog`
        prolog: String,
        /// On each node of a job after its end. `Epilog`
        epilog: String,
        /// Beside the engine before a job's first step. `PrologSlurmctld`
        controller_prolog: String,
        /// Beside the engine after a job's end. `EpilogSlurmctld`
        controller_epilog: String,
        /// In the process of each task, before its program. `TaskProlog`
        task_prolog: String,
        /// After each task. `TaskEpilog`
        task_epilog: String,
        /// `srun` runs it before a step. `SrunProlog`
        srun_prolog: String,
        /// `srun` runs it after a step. `SrunEpilog`
        srun_epilog: String,
        /// Prologs run on all nodes when a job starts, not before its first step on each.
        /// `PrologFlags=Alloc`
        prolog_at_start: bool,
        /// A prolog or epilog of jobs that runs longer is killed, which is a failure.
        /// `PrologEpilogTimeout`
        timeout: Seconds,
    }
}

section! {
    /// What a job's priority is made of: `[priority]`.
    Priority {
        /// `multifactor` or `basic`. `PriorityType`
        kind: String = "type",
        /// `PriorityWeightAge`
        age: u32,
        /// `PriorityWeightFairshare`
        fair_share: u32,
        /// `PriorityWeightJobSize`
        job_size: u32,
        /// `PriorityWeightPartition`
        partition: u32,
        /// `PriorityWeightQOS`
        qos: u32,
        /// `PriorityWeightAssoc`
        association: u32,
        /// In Slurm's text. `PriorityWeightTRES`
        tres: String,
        /// Age counts up to here. `PriorityMaxAge`
        max_age: Seconds,
        /// Half of the usage is forgotten after so long. `PriorityDecayHalfLife`
        half_life: Seconds,
        /// Priorities are worked out anew so often. `PriorityCalcPeriod`
        calc_period: Seconds,
        /// All usage begins anew then. `PriorityUsageResetPeriod`
        usage_reset: UsageReset,
        /// `PriorityFavorSmall`
        favor_small: bool,
        /// `PriorityFlags`
        flags: Vec<String>,
    }
}

section! {
    /// Who may take another job's place: `[preemption]`.
    Preemption {
        /// `PreemptType`
        kind: PreemptType = "type",
        /// `PreemptMode`
        mode: PreemptMode,
        /// `PreemptExemptTime`
        exempt_time: Seconds,
        /// Between the signal and the end, where no partition or QOS says it.
        grace_time: Seconds,
    }
}

section! {
    /// Shared folders: `[paths]`. `$USER` stands for the user's name, `$ACCOUNT` for the account.
    Paths {
        /// The home folder.
        home: String,
        /// For large files that can be made again.
        scratch: String,
        /// Files on scratch that no process touched for so many days are deleted.
        scratch_purge_days: u32,
        /// For a project's members together.
        project: String,
        /// Data that the site holds for everyone.
        data: String,
        /// Folders in which jobs can't run.
        no_jobs: Vec<String>,
    }
}

section! {
    /// The disk of a node: `[node_local]`.
    NodeLocal {
        /// A folder in which a job may write; with `$USER` or `$SLURM_JOB_ID` in it where it has them.
        path: String,
        /// The variable that holds it in a job, where there is one.
        variable: String,
        /// What is written there is still there after the job.
        survives_jobs: bool,
        /// It is memory, not a disk.
        tmpfs: bool,
        /// How much fits.
        size: Mib,
    }
}

section! {
    /// What runs containers: `[containers]`.
    Containers {
        /// The command or plugin.
        runtime: ContainerRuntime,
        /// The module that brings it.
        module: String,
        /// Where it keeps what it fetched; with the variable, what makes an image knows it.
        cache: String,
        /// The variable that names that folder.
        cache_variable: String,
        /// Where images go.
        images: String,
    }
}

section! {
    /// Environment modules: `[modules]`.
    Modules {
        /// `lmod` or `tcl`.
        system: String,
        /// Modules that are known to be there, as `name/version`.
        available: Vec<String>,
    }
}
