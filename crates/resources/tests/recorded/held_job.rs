//! What a controller records of a job before it has nodes: the fields that `scontrol show job`
//! prints of a held one.
//!
//! The arithmetic is that of 22.05.8's `job_mgr.c`: `_copy_job_desc_to_job_record`,
//! `job_set_req_tres`, `job_get_tres_mem` and `_pack_default_job_details`.

use jiff::tz::TimeZone;
use model::job_description::JobDescription;
use model::sbatch::Sbatch;
use model::{
    GresList, MemoryRequest, Seconds, Sharing, SignalTarget, TimeLimitRequest, mail_types_text,
    mebibytes_text, moment_text,
};

/// What a controller adds of its own.
#[derive(Clone, Copy, Debug)]
pub struct ControllerDefaults<'a> {
    /// The partition of a job that names none.
    pub partition: &'a str,
    /// The limit of a job that asks for none, by partition.
    pub time: fn(&str) -> TimeLimitRequest,
    /// `DefMemPerCPU`, in MiB.
    pub memory_per_cpu: u64,
    /// CPUs of a partition's largest node.
    pub cpus_per_node: u32,
    /// Memory of a node, in MiB: what `--mem=0` counts as.
    pub memory_per_node: u64,
    /// Generic resources that are counted (`AccountingStorageTRES`): `gres/gpu`, `gres/gpu:v100`.
    pub counted: &'a [&'a str],
    /// The account of a user that names none; `(null)` where nothing is accounted.
    pub account: &'a str,
    /// The QOS of a user that names none; `(null)` where nothing is accounted.
    pub qos: &'a str,
    /// Who submits.
    pub user: &'a str,
}

/// A job as a controller would record it.
#[derive(Clone, Copy, Debug)]
pub struct HeldJob<'a> {
    sbatch: &'a Sbatch,
    job: &'a JobDescription,
    defaults: ControllerDefaults<'a>,
}

impl<'a> HeldJob<'a> {
    /// The record of a job that `sbatch` would send.
    #[must_use]
    pub fn new(sbatch: &'a Sbatch, defaults: ControllerDefaults<'a>) -> HeldJob<'a> {
        HeldJob {
            sbatch,
            job: &sbatch.description,
            defaults,
        }
    }

    /// Tasks as they were asked for; `None` where the number of nodes stands for them.
    fn tasks(&self) -> Option<u32> {
        let each = self.job.tasks_per_node.zip(self.job.min_nodes);
        self.job
            .tasks
            .or(each.map(|(each, nodes)| each.saturating_mul(nodes)))
    }

    fn cpus_per_task(&self) -> u32 {
        self.job.cpus_per_task.unwrap_or(1).max(1)
    }

    fn min_nodes(&self) -> u32 {
        self.job.min_nodes.unwrap_or(1)
    }

    /// CPUs in all, at least.
    #[must_use]
    pub fn cpus(&self) -> u32 {
        let least = self.job.min_cpus;
        match self.tasks() {
            Some(tasks) if !self.job.overcommit && tasks > least => {
                tasks.saturating_mul(self.cpus_per_task())
            }
            _ => least,
        }
    }

    /// Nodes in all, at least: what tasks need that are bound to a number of each node.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        let tasks = self.tasks().unwrap_or(0);
        let each = self.cpus_per_task();
        let of_tasks = match self.job.tasks_per_node {
            Some(per_node) => tasks / per_node,
            None if each > 1 => tasks.div_ceil((self.defaults.cpus_per_node / each).max(1)),
            None => tasks.div_ceil(self.defaults.cpus_per_node.max(1)),
        };
        of_tasks.max(self.min_nodes())
    }

    /// Memory in all, in MiB.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let nodes = u64::from(self.min_nodes());
        let cpus = u64::from(self.cpus());
        match self.job.memory {
            None => self.defaults.memory_per_cpu.saturating_mul(cpus),
            Some(MemoryRequest::PerCpu(mib @ 1..)) => mib.saturating_mul(cpus),
            Some(MemoryRequest::PerCpu(0) | MemoryRequest::PerNode(0)) => {
                self.defaults.memory_per_node.saturating_mul(nodes)
            }
            Some(MemoryRequest::PerNode(mib)) => mib.saturating_mul(nodes),
            Some(MemoryRequest::PerGpu(0)) => self.defaults.memory_per_cpu.saturating_mul(cpus),
            Some(MemoryRequest::PerGpu(mib)) => mib.saturating_mul(self.gpus_for_memory()),
        }
    }

    fn gpus_for_memory(&self) -> u64 {
        let gpus = self
            .job
            .gres_totals
            .iter()
            .filter(|total| total.name == "gpu");
        let nodes = u64::from(self.min_nodes());
        let each = gpus.map(|total| match total {
            total if total.per_job > 0 => total.per_job,
            total if total.per_node > 0 => total.per_node.saturating_mul(nodes),
            total => total.total,
        });
        each.sum()
    }

    /// What the job counts for: `cpu=2,mem=200M,node=1,billing=2,gres/gpu=1`.
    #[must_use]
    pub fn tres(&self) -> String {
        let (cpus, nodes) = (self.cpus(), self.min_nodes());
        if cpus == 0 && nodes == 0 {
            return "(null)".to_owned();
        }
        let mut text = format!(
            "cpu={cpus},mem={},node={nodes},billing={cpus}",
            mebibytes_text(self.memory())
        );
        let nodes = u64::from(nodes);
        let gpus = self
            .job
            .gres_totals
            .iter()
            .filter(|total| total.name == "gpu");
        let counted: Vec<(Option<&str>, u64)> = gpus
            .map(|total| {
                let count = match total {
                    total if total.per_job > 0 => total.per_job,
                    total if total.per_node > 0 => total.per_node.saturating_mul(nodes),
                    total => total.total,
                };
                (total.kind.as_deref(), count)
            })
            .collect();
        let sum: u64 = counted.iter().map(|(_, count)| count).sum();
        let is_counted = |name: &str| self.defaults.counted.contains(&name);
        if sum > 0 && is_counted("gres/gpu") {
            text.push_str(&format!(",gres/gpu={sum}"));
        }
        let mut kinds: Vec<(&str, u64)> = counted
            .iter()
            .filter_map(|(kind, count)| kind.map(|kind| (kind, *count)))
            .filter(|(kind, _)| is_counted(&format!("gres/gpu:{kind}")))
            .collect();
        kinds.sort_unstable();
        for (kind, count) in kinds {
            text.push_str(&format!(",gres/gpu:{kind}={count}"));
        }
        text
    }

    /// The value of a field of `scontrol show job`; `None` where the job has no such line.
    #[must_use]
    pub fn field(&self, name: &str, zone: &TimeZone) -> Option<String> {
        let (request, job) = (&self.sbatch.request, self.job);
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "(null)".to_owned());
        let gres = |list: &GresList| (!list.is_empty()).then(|| list.to_string());
        let per = |number: Option<u32>| number.unwrap_or(0).to_string();
        Some(match name {
            "JobName" => request.name.clone(),
            "Priority" => "0".to_owned(),
            "Nice" => request.nice.to_string(),
            "Account" => request
                .account
                .clone()
                .unwrap_or_else(|| self.defaults.account.to_owned()),
            "QOS" => request
                .qos
                .clone()
                .unwrap_or_else(|| self.defaults.qos.to_owned()),
            "Requeue" => u8::from(request.requeue.unwrap_or(true)).to_string(),
            "Dependency" => job
                .dependency
                .as_ref()
                .map_or("(null)".to_owned(), |dependency| {
                    dependency.conditions_text("(unfulfilled)")
                }),
            "TimeLimit" => time_text(
                job.time
                    .unwrap_or_else(|| (self.defaults.time)(self.partition())),
            ),
            "TimeMin" => job.time_min.map_or("N/A".to_owned(), time_text),
            "StartTime" | "EligibleTime" => match request.begin {
                Some(begin) => moment_text(begin, zone),
                None => "Unknown".to_owned(),
            },
            "Partition" => self.partitions().to_owned(),
            "ReqNodeList" => list_or_null(&job.nodelist),
            "ExcNodeList" => list_or_null(&job.exclude),
            "NumNodes" => match job.max_nodes {
                Some(most) => format!("{}-{most}", self.nodes().min(most)),
                None => self.nodes().to_string(),
            },
            "NumCPUs" => self.cpus().to_string(),
            "NumTasks" => self
                .tasks()
                .filter(|tasks| *tasks > 0)
                .unwrap_or(self.min_nodes())
                .to_string(),
            "CPUs/Task" => self.cpus_per_task().to_string(),
            "ReqB:S:C:T" => {
                let (cores, threads) =
                    (or_star(job.cores_per_socket), or_star(job.threads_per_core));
                format!("0:0:{cores}:{threads}")
            }
            "Socks/Node" => or_star(job.sockets_per_node),
            // Asked for, and not allowed.
            "CoreSpec" => "*".to_owned(),
            "Deadline" => job
                .deadline
                .map_or("N/A".to_owned(), |moment| moment_text(moment, zone)),
            "TRES" => self.tres(),
            "NtasksPerN:B:S:C" => format!(
                "{}:0:{}:{}",
                per(job.tasks_per_node),
                or_star(job.tasks_per_socket),
                or_star(job.tasks_per_core)
            ),
            "MinCPUsNode" => self.min_cpus_of_node().to_string(),
            "MinMemoryNode" => match job.memory {
                Some(MemoryRequest::PerNode(mib)) => mebibytes_text(mib),
                // None of it a CPU is all of a node's.
                Some(MemoryRequest::PerCpu(0)) => "0".to_owned(),
                _ => return None,
            },
            "MinMemoryCPU" => match job.memory {
                Some(MemoryRequest::PerCpu(0)) => return None,
                Some(MemoryRequest::PerCpu(mib)) => mebibytes_text(mib),
                None | Some(MemoryRequest::PerGpu(_)) => {
                    mebibytes_text(self.defaults.memory_per_cpu)
                }
                Some(MemoryRequest::PerNode(_)) => return None,
            },
            "MinTmpDiskNode" => mebibytes_text(job.tmp_mib.unwrap_or(0)),
            "Features" => text(&job.features).replace(',', "&"),
            "OverSubscribe" => match job.sharing {
                // All of the nodes are taken.
                _ if job.reboot => "NO",
                Some(Sharing::Nobody) => "NO",
                Some(Sharing::User) => "USER",
                Some(Sharing::Mcs) => "MCS",
                Some(Sharing::Anybody) => "YES",
                None => "OK",
            }
            .to_owned(),
            "Contiguous" => u8::from(job.contiguous).to_string(),
            "Licenses" => text(&job.licenses),
            "Network" => text(&job.network),
            "StdOut" => self.path(request.output.as_deref()),
            "StdErr" => self.path(request.error.as_deref().or(request.output.as_deref())),
            "StdIn" => match &request.input {
                Some(_) => self.path(request.input.as_deref()),
                None => "/dev/null".to_owned(),
            },
            "MailUser" => {
                let user = request.mail_user.as_deref().unwrap_or(self.defaults.user);
                (!request.mail_types.is_empty()).then(|| user.to_owned())?
            }
            "MailType" => {
                let types = mail_types_text(&request.mail_types);
                (!request.mail_types.is_empty()).then_some(types)?
            }
            "Switches" => {
                let (count, wait) = job.switches?;
                let wait = TimeLimitRequest::Limit(Seconds(
                    wait.unwrap_or(MOST_SWITCH_WAIT).min(MOST_SWITCH_WAIT),
                ));
                format!("{count}@{wait}")
            }
            "WorkDir" => request.chdir.display().to_string(),
            "Comment" => return request.comment.clone(),
            "TresBind" => return request.asked.bind.clone(),
            "TresFreq" => return request.asked.frequency.clone(),
            "TresPerJob" => return gres(&job.gres_per_job),
            "TresPerNode" => return gres(&job.gres_per_node),
            "TresPerSocket" => return gres(&job.gres_per_socket),
            "TresPerTask" => return gres(&job.gres_per_task),
            "CpusPerTres" => return job.cpus_per_gpu.map(|cpus| format!("gres:gpu:{cpus}")),
            "MemPerTres" => match job.memory {
                Some(MemoryRequest::PerGpu(mib)) => format!("gres:gpu:{mib}"),
                _ => return None,
            },
            "ArrayTaskId" => return request.array.as_ref().map(ToString::to_string),
            "ArrayTaskThrottle" => {
                return request
                    .array
                    .as_ref()?
                    .throttle
                    .map(|most| most.to_string());
            }
            "NtasksPerTRES" => return job.tasks_per_gpu.map(|tasks| tasks.to_string()),
            "Signal" => {
                let signal = request.signal?;
                let batch = if signal.target == SignalTarget::BatchShell {
                    "B:"
                } else {
                    ""
                };
                format!("{batch}{}@{}", signal.signal, signal.before.0)
            }
            _ => return None,
        })
    }

    /// A file as the record names it: `scontrol` knows five of the patterns, and a whole array has
    /// no element.
    fn path(&self, pattern: Option<&str>) -> String {
        let array = self.sbatch.request.array.is_some();
        let pattern = pattern.unwrap_or(if array {
            "slurm-%A_%a.out"
        } else {
            "slurm-%j.out"
        });
        let path = pattern
            .replace("%A", "<JOB>")
            .replace("%a", "4294967294")
            .replace("%j", "<JOB>")
            .replace("%u", self.defaults.user)
            .replace("%x", &self.sbatch.request.name);
        match path.starts_with('/') {
            true => path,
            false => format!("{}/{path}", self.sbatch.request.chdir.display()),
        }
    }

    /// Why the least time that was asked for can not be had.
    #[must_use]
    pub fn refused_time(&self) -> Option<&'static str> {
        let seconds = |time| match time {
            TimeLimitRequest::Limit(seconds) => seconds.0,
            TimeLimitRequest::Unlimited => u64::MAX,
        };
        let limit = self
            .job
            .time
            .unwrap_or_else(|| (self.defaults.time)(self.partition()));
        let late = self
            .job
            .time_min
            .is_some_and(|least| seconds(least) > seconds(limit));
        late.then_some("Invalid time-min specification (exceeds job's time or other limits)")
    }

    /// All partitions that may take the job, as it names them.
    fn partitions(&self) -> &str {
        self.sbatch
            .request
            .partition
            .as_deref()
            .unwrap_or(self.defaults.partition)
    }

    /// The first partition.
    fn partition(&self) -> &str {
        self.partitions().split(',').next().unwrap_or_default()
    }

    fn min_cpus_of_node(&self) -> u32 {
        let asked = self.job.min_cpus_per_node.unwrap_or(1);
        let each = self
            .job
            .tasks_per_node
            .filter(|_| !self.job.overcommit && self.tasks() > Some(1));
        let of_tasks = each.map_or(0, |tasks| tasks.saturating_mul(self.cpus_per_task()));
        asked.max(of_tasks).max(self.cpus_per_task())
    }
}

/// `max_switch_wait` of a controller where nothing else is configured, in seconds.
const MOST_SWITCH_WAIT: u64 = 300;

fn or_star(number: Option<u32>) -> String {
    number.map_or("*".to_owned(), |number| number.to_string())
}

/// Whole minutes, rounded up, as records have them.
fn time_text(time: TimeLimitRequest) -> String {
    match time {
        TimeLimitRequest::Limit(Seconds(seconds)) => {
            TimeLimitRequest::Limit(Seconds(seconds.div_ceil(60).saturating_mul(60))).to_string()
        }
        TimeLimitRequest::Unlimited => "UNLIMITED".to_owned(),
    }
}

/// A list of nodes as `scontrol show job` prints it.
fn list_or_null(nodes: &[model::NodeName]) -> String {
    if nodes.is_empty() {
        return "(null)".to_owned();
    }
    let mut names = nodes.to_vec();
    model::node_list::sort(&mut names);
    model::node_list::fold(&names)
}
