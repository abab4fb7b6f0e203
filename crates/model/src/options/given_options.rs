//! What the options of a command came to, before they become requests.

use crate::options::Show;
use crate::options::given::Origin;
use crate::options::option_table::Key;
use crate::values::{
    ArraySpec, Dependency, Distribution, Export, GresList, JobId, MailEvent, NodeCount, NodeName,
    OpenMode, PassedLimits, SignalSpec, StepContainer, StepPrograms, TimeLimitRequest, Timestamp,
};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// `--exclusive`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exclusive {
    Yes,
    User,
    Mcs,
    No,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct GivenOptions {
    pub(crate) account: Option<String>,
    pub(crate) array: Option<ArraySpec>,
    pub(crate) bcast: Option<String>,
    pub(crate) begin: Option<Timestamp>,
    pub(crate) chdir: Option<PathBuf>,
    pub(crate) burst_buffer: bool,
    pub(crate) burst_buffer_file: bool,
    pub(crate) clusters: Option<String>,
    pub(crate) comment: Option<String>,
    pub(crate) constraint: Option<String>,
    pub(crate) container: StepContainer,
    pub(crate) contiguous: bool,
    pub(crate) spread: bool,
    pub(crate) core_spec: Option<u32>,
    pub(crate) cores_per_socket: Option<u32>,
    pub(crate) cpu_bind: Option<String>,
    /// `--cpu-freq`, as written.
    pub(crate) cpu_frequency: Option<String>,
    pub(crate) cpus_per_gpu: Option<u32>,
    pub(crate) cpus_per_task: Option<u32>,
    pub(crate) deadline: Option<Timestamp>,
    pub(crate) dependency: Option<Dependency>,
    pub(crate) disable_status: bool,
    pub(crate) distribution: Option<Distribution>,
    pub(crate) error: Option<String>,
    pub(crate) exact: bool,
    pub(crate) exclude: Arc<Vec<NodeName>>,
    pub(crate) exclusive: Option<Exclusive>,
    pub(crate) extra_node_info: bool,
    pub(crate) export: Option<Export>,
    pub(crate) export_file: Option<String>,
    pub(crate) get_user_env: bool,
    /// `--gid`, a name or a number.
    pub(crate) gid: Option<String>,
    /// `--uid`, a name or a number.
    pub(crate) uid: Option<String>,
    /// `--gres-flags=enforce-binding`
    pub(crate) enforce_binding: bool,
    /// `--gpu-bind` or `--tres-bind`, as it is sent.
    pub(crate) gpu_bind: Option<String>,
    /// `--gpu-freq`, as it is sent.
    pub(crate) gpu_frequency: Option<String>,
    pub(crate) gpus: Option<GresList>,
    pub(crate) gpus_per_node: Option<GresList>,
    pub(crate) gpus_per_socket: Option<GresList>,
    pub(crate) gpus_per_task: Option<GresList>,
    /// `--gres`; the inner value is none for `--gres=none`.
    pub(crate) gres: Option<Option<GresList>>,
    /// `--het-group`
    pub(crate) het_groups: Vec<u32>,
    pub(crate) hint: Option<String>,
    /// `--mem-bind`, as written.
    pub(crate) memory_bind: Option<String>,
    /// `--profile`, as written.
    pub(crate) profile: Option<String>,
    pub(crate) use_min_nodes: bool,
    pub(crate) kill_on_invalid_dep: Option<bool>,
    pub(crate) hold: bool,
    pub(crate) ignore_pbs: bool,
    pub(crate) immediate: Option<u32>,
    pub(crate) input: Option<String>,
    pub(crate) job: Option<JobId>,
    pub(crate) job_name: Option<String>,
    /// `--kill-command`: a signal's number.
    pub(crate) kill_command: Option<i32>,
    pub(crate) kill_on_bad_exit: Option<bool>,
    pub(crate) label: bool,
    pub(crate) licenses: Option<String>,
    pub(crate) mail_types: Vec<MailEvent>,
    pub(crate) mail_user: Option<String>,
    pub(crate) memory: Option<u64>,
    pub(crate) memory_per_cpu: Option<u64>,
    pub(crate) memory_per_gpu: Option<u64>,
    pub(crate) min_cpus: Option<u32>,
    pub(crate) accounting_frequency: Option<String>,
    pub(crate) mpi: Option<String>,
    pub(crate) nice: i64,
    pub(crate) no_shell: bool,
    pub(crate) nodelist: Arc<Vec<NodeName>>,
    /// What is wrong with `--nodelist`: found once all options were read.
    pub(crate) nodelist_wrong: Option<String>,
    /// `--nodelist` as written: a file's name where it has a slash.
    pub(crate) nodelist_written: Option<String>,
    /// `--nodelist=` without a name.
    pub(crate) nodelist_names_none: bool,
    /// `--nodefile`
    pub(crate) node_file: Option<String>,
    /// `SLURM_HOSTFILE`
    pub(crate) host_file: Option<String>,
    /// `SLURM_ARBITRARY_NODELIST`: how the job around was dealt out.
    pub(crate) dealt_nodes: Option<String>,
    /// The node of each task, under `--distribution=arbitrary`.
    pub(crate) task_nodes: Arc<Vec<NodeName>>,
    pub(crate) multi_prog: bool,
    pub(crate) network: Option<String>,
    pub(crate) no_kill: bool,
    pub(crate) nodes: Option<NodeCount>,
    pub(crate) open_mode: Option<OpenMode>,
    pub(crate) output: Option<String>,
    pub(crate) overcommit: bool,
    pub(crate) overlap: bool,
    pub(crate) parsable: bool,
    pub(crate) partition: Option<String>,
    pub(crate) prefer: Option<String>,
    pub(crate) preserve_env: bool,
    pub(crate) programs: StepPrograms,
    pub(crate) priority: Option<u32>,
    pub(crate) propagate: Option<Result<PassedLimits, String>>,
    pub(crate) pty: bool,
    pub(crate) qos: Option<String>,
    pub(crate) quiet: u32,
    pub(crate) quit_on_interrupt: bool,
    pub(crate) reboot: bool,
    pub(crate) relative: Option<u32>,
    pub(crate) requeue: Option<bool>,
    pub(crate) reservation: Option<String>,
    pub(crate) show: Option<Show>,
    pub(crate) signal: Option<SignalSpec>,
    pub(crate) sockets_per_node: Option<u32>,
    pub(crate) step_wait: Option<u32>,
    /// `--switches`: how many, and seconds to wait for so few.
    pub(crate) switches: Option<(u32, Option<u64>)>,
    pub(crate) tasks: Option<u32>,
    pub(crate) tasks_per_core: Option<u32>,
    pub(crate) tasks_per_gpu: Option<u32>,
    pub(crate) tasks_per_node: Option<u32>,
    pub(crate) tasks_per_socket: Option<u32>,
    /// `--ntasks-per-tres`, the old name of `--ntasks-per-gpu`.
    pub(crate) tasks_per_tres: Option<u32>,
    pub(crate) reserved_ports: Option<u32>,
    pub(crate) test_only: bool,
    pub(crate) thread_spec: Option<u32>,
    pub(crate) threads_per_core: Option<u32>,
    pub(crate) time: Option<TimeLimitRequest>,
    pub(crate) time_min: Option<TimeLimitRequest>,
    pub(crate) tmp: Option<u64>,
    pub(crate) unbuffered: bool,
    pub(crate) verbose: u32,
    pub(crate) wait_for_end: bool,
    pub(crate) wckey: Option<String>,
    pub(crate) whole: bool,
    pub(crate) wrap: Option<String>,
    pub(crate) origins: HashMap<Key, Origin>,
}

impl GivenOptions {
    /// `--propagate`; what is wrong with it was said.
    pub(crate) fn passed_limits(&self) -> PassedLimits {
        let given = self.propagate.clone().and_then(Result::ok);
        given.unwrap_or_default()
    }
}
