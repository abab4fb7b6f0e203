//! What a controller records of a job before it has nodes: the fields that `scontrol show job`
//! prints of a held one.

use crate::{Defaults, Demand, LargestNode, recorded};
use jiff::tz::TimeZone;
use model::job_description::JobDescription;
use model::sbatch::Sbatch;
use model::{
    GresList, MemoryRequest, Recorded, Seconds, Sharing, SignalTarget, TimeLimitRequest,
    mail_types_text, mebibytes_text, moment_text,
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

    /// What a controller counts of it.
    #[must_use]
    pub fn counts(&self) -> Recorded {
        let defaults = Defaults {
            memory: Some(MemoryRequest::PerCpu(self.defaults.memory_per_cpu)),
            ..Defaults::default()
        };
        let demand = Demand::of(&self.sbatch.request, &defaults);
        let largest = LargestNode {
            cpus: self.defaults.cpus_per_node,
            mem_mib: self.defaults.memory_per_node,
        };
        let counts = recorded(&demand, largest, true);
        // Of no nodes at all a request knows nothing.
        match self.job.min_nodes {
            Some(0) => Recorded {
                nodes: 0,
                least_nodes: 0,
                cpus: 0,
                tasks: 0,
                ..counts
            },
            _ => counts,
        }
    }

    /// What the job counts for: `cpu=2,mem=200M,node=1,billing=2,gres/gpu=1`.
    fn tres(&self) -> String {
        let counts = self.counts();
        let (cpus, nodes) = (counts.cpus, counts.least_nodes);
        if cpus == 0 && nodes == 0 {
            return "(null)".to_owned();
        }
        let mut text = format!(
            "cpu={cpus},mem={},node={nodes},billing={cpus}",
            mebibytes_text(counts.mem_mib)
        );
        let is_counted = |name: &str| self.defaults.counted.contains(&name);
        let sum = counts.gpu_count();
        if sum > 0 && is_counted("gres/gpu") {
            text.push_str(&format!(",gres/gpu={sum}"));
        }
        let kinds = counts.gpus.iter();
        let mut kinds: Vec<(&str, u32)> = kinds
            .filter_map(|gpus| Some((gpus.kind.as_deref()?, gpus.count)))
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
            "Requeue" => u8::from(request.rare.requeue.unwrap_or(true)).to_string(),
            "Dependency" => job
                .dependency
                .as_ref()
                .map_or("(null)".to_owned(), |dependency| {
                    dependency.conditions_text()
                }),
            "TimeLimit" => time_text(
                job.time
                    .unwrap_or_else(|| (self.defaults.time)(self.partition())),
            ),
            "TimeMin" => job.time_min.map_or("N/A".to_owned(), time_text),
            "StartTime" | "EligibleTime" => match request.rare.begin {
                Some(begin) => moment_text(begin, zone),
                None => "Unknown".to_owned(),
            },
            "Partition" => self.partitions().to_owned(),
            "ReqNodeList" => list_or_null(&job.nodelist),
            "ExcNodeList" => list_or_null(&job.exclude),
            "NumNodes" => match job.max_nodes {
                Some(most) => format!("{}-{most}", self.counts().nodes.min(most)),
                None => self.counts().nodes.to_string(),
            },
            "NumCPUs" => self.counts().cpus.to_string(),
            "NumTasks" => self.counts().tasks.to_string(),
            "CPUs/Task" => self.job.cpus_per_task.unwrap_or(1).max(1).to_string(),
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
            "MinCPUsNode" => self.counts().min_cpus_per_node.to_string(),
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
                Some(Sharing::Exclusive) => "NO",
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
            "StdErr" => self.path(request.rare.error.as_deref().or(request.output.as_deref())),
            "StdIn" => match &request.rare.input {
                Some(_) => self.path(request.rare.input.as_deref()),
                None => "/dev/null".to_owned(),
            },
            "MailUser" => {
                let user = request
                    .rare
                    .mail_user
                    .as_deref()
                    .unwrap_or(self.defaults.user);
                (!request.rare.mail_types.is_empty()).then(|| user.to_owned())?
            }
            "MailType" => {
                let types = mail_types_text(&request.rare.mail_types);
                (!request.rare.mail_types.is_empty()).then_some(types)?
            }
            "Switches" => {
                let (count, wait) = job.switches?;
                let wait = TimeLimitRequest::Limit(Seconds(
                    wait.unwrap_or(MOST_SWITCH_WAIT).min(MOST_SWITCH_WAIT),
                ));
                format!("{count}@{wait}")
            }
            "WorkDir" => request.chdir.display().to_string(),
            "Comment" => return request.rare.comment.clone(),
            "TresBind" => return request.rare.asked.bind.clone(),
            "TresFreq" => return request.rare.asked.frequency.clone(),
            "TresPerJob" => return gres(&job.gres_per_job),
            "TresPerNode" => return gres(&job.gres_per_node),
            "TresPerSocket" => return gres(&job.gres_per_socket),
            "TresPerTask" => return gres(&job.gres_per_task),
            "CpusPerTres" => return job.cpus_per_gpu.map(|cpus| format!("gres:gpu:{cpus}")),
            "MemPerTres" => match job.memory {
                Some(MemoryRequest::PerGpu(mib)) => format!("gres:gpu:{mib}"),
                _ => return None,
            },
            "ArrayTaskId" => return request.rare.array.as_ref().map(ToString::to_string),
            "ArrayTaskThrottle" => {
                return request
                    .rare
                    .array
                    .as_ref()?
                    .throttle
                    .map(|most| most.to_string());
            }
            "NtasksPerTRES" => return job.tasks_per_gpu.map(|tasks| tasks.to_string()),
            "Signal" => {
                let signal = request.rare.signal?;
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
        let array = self.sbatch.request.rare.array.is_some();
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
        if path.starts_with('/') {
            path
        } else {
            format!("{}/{path}", self.sbatch.request.chdir.display())
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
