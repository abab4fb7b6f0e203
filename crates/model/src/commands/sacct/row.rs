//! A line of `sacct`, column by column; `row_facts.rs` has what it tells of its job, start or step.

use super::SacctUnits;
use super::amounts::{cpu_text, padded, tres_memory};
use super::task_columns::TasksOfStep;
use crate::records::{
    JobHistory, JobInfo, JobStart, JobStateName, StepRecord, ViewFacts, WaitStatus, reason_name,
};
use crate::values::{StepId, Timestamp, Usage, node_list, padded_elapsed_text};

/// That accounting heard of a job; in Slurm's spelling.
pub(super) const START_RECEIVED: &str = "StartRecieved";

/// A line: a job, one of its starts, or a step.
#[derive(Clone, Copy, Debug)]
pub struct SacctRow<'a> {
    pub(super) job: &'a JobInfo,
    pub(super) history: &'a JobHistory,
    pub(super) start: Option<&'a JobStart>,
    pub(super) step: Option<&'a StepRecord>,
    pub(super) facts: &'a ViewFacts,
    pub(super) units: SacctUnits,
    /// Nothing began before the first moment, or ended after the second.
    pub(super) window: Option<(Option<Timestamp>, Timestamp)>,
}

impl<'a> SacctRow<'a> {
    /// The job.
    #[must_use]
    pub fn job(&self) -> &'a JobInfo {
        self.job
    }

    /// The step; `None` for the job itself.
    #[must_use]
    pub fn step(&self) -> Option<&'a StepRecord> {
        self.step
    }

    /// What stands in the column of that name.
    #[must_use]
    pub fn value(&self, column: &str) -> String {
        let job = self.job;
        let is_job = self.step.is_none();
        let of_job = |text: String| if is_job { text } else { String::new() };
        let number = |number: u32| match number {
            0 => String::new(),
            number => number.to_string(),
        };
        let moment = |at: Option<Timestamp>| {
            at.map_or_else(|| "Unknown".to_owned(), |at| self.facts.moments.text(at))
        };
        let elapsed = self.elapsed();
        let cpus = self.cpus();
        let cpu_time = i64::from(cpus).saturating_mul(elapsed);
        let usage = self.usage();
        // Until it is over nothing is counted.
        let is_over = self.end().is_some();
        let cpu_text = |of: fn(Usage) -> u64| match usage {
            Some(usage) => cpu_text(of(usage)),
            None if is_over => String::new(),
            None => "00:00:00".to_owned(),
        };
        match column {
            "Account" => job.account().unwrap_or_default().to_owned(),
            // What a job asked for counts until it has something, also where it was cancelled before.
            "AllocCPUS" | "NCPUS" if self.has_none() => job.cpus.to_string(),
            "AllocCPUS" | "NCPUS" => cpus.to_string(),
            "AllocNodes" if self.has_none() => "0".to_owned(),
            "NNodes" if self.has_none() => job.asked_nodes().to_string(),
            "AllocNodes" | "NNodes" => self.shares().len().to_string(),
            "AllocTRES" => self.held_text(),
            "AveCPU" => match (self.step, usage) {
                (Some(step), Some(usage)) => {
                    let tasks = u64::from(step.nodes.iter().map(|share| share.tasks).sum::<u32>());
                    padded(usage.cpu() / 1_000_000 / tasks.max(1))
                }
                _ => String::new(),
            },
            "AssocID" => number(job.association),
            "Cluster" => job.cluster.to_string(),
            "DBIndex" => job.id.to_string(),
            "AdminComment" => of_job(self.admin_comment().unwrap_or_default()),
            "SystemComment" => of_job(self.system_comment().unwrap_or_default().to_owned()),
            "WCKey" => of_job(job.shown().wckey.clone().unwrap_or_default()),
            "Comment" => of_job(self.comment().unwrap_or_default().to_owned()),
            "Constraints" => of_job(job.features().unwrap_or_default().to_owned()),
            "CPUTime" => padded_elapsed_text(cpu_time),
            "CPUTimeRAW" => cpu_time.to_string(),
            "DerivedExitCode" => of_job(exit_text(self.derived_status())),
            "Elapsed" => padded_elapsed_text(elapsed),
            "ElapsedRaw" => elapsed.to_string(),
            "Eligible" => moment(self.start.map_or(job.eligible, |start| start.eligible)),
            "End" => moment(self.end()),
            // That of a step that went with its node is not known.
            "ExitCode" if self.went_with_its_node() => String::new(),
            "ExitCode" => shell_exit_text(self.status()),
            "Flags" => of_job(self.flags().join(",")),
            "GID" => of_job(job.submitter.gid.to_string()),
            "Group" => of_job(job.submitter.group.clone()),
            "JobID" => self.id(&job.id_text(false)),
            "JobIDRaw" => self.id(&job.id.to_string()),
            "JobName" => self.name().to_owned(),
            // Slurm knows it of steps alone.
            "MaxRSS" if !is_job => {
                usage.map_or_else(String::new, |it| self.units.of_bytes(it.peak_memory))
            }
            "NodeList" => match self.shares() {
                [] => "None assigned".to_owned(),
                shares => {
                    let names: Vec<_> = shares.iter().map(|share| share.node.clone()).collect();
                    node_list::fold(&names)
                }
            },
            "NTasks" => self.step.map_or_else(String::new, |step| {
                step.nodes
                    .iter()
                    .map(|share| share.tasks)
                    .sum::<u32>()
                    .to_string()
            }),
            "Partition" => of_job(self.partition().to_owned()),
            "Layout" => self.layout(),
            "Priority" => of_job(
                self.start
                    .and_then(|start| start.priority)
                    .unwrap_or(job.priority)
                    .to_string(),
            ),
            "QOS" => of_job(self.qos().to_owned()),
            "QOSRAW" => of_job(number(job.qos_number)),
            "Reason" => of_job(self.reason()),
            "ReqCPUS" if is_job => job.asked_cpus().to_string(),
            "ReqCPUS" => cpus.to_string(),
            "ReqMem" => of_job(
                tres_memory(&job.asked_tres())
                    .map_or_else(String::new, |text| self.units.of_text(text)),
            ),
            "ReqNodes" => match self.step() {
                None => job.asked_nodes().to_string(),
                Some(_) => self.shares().len().to_string(),
            },
            "ReqTRES" => of_job(self.units.of_tres(&job.asked_tres())),
            "ReqCPUFreq" | "ReqCPUFreqMin" | "ReqCPUFreqMax" | "ReqCPUFreqGov" => {
                let is_batch = self.step.is_some_and(|step| step.step == StepId::Batch);
                (if is_batch { "0" } else { "Unknown" }).to_owned()
            }
            "AveCPUFreq" if !is_job => "0".to_owned(),
            // Not measured; of a job it is that of its steps.
            "ConsumedEnergy" | "ConsumedEnergyRaw" if !is_job || self.has_steps() => "0".to_owned(),
            "WCKeyID" => of_job("0".to_owned()),
            "Reservation" => of_job(
                job.counted_reservation
                    .as_deref()
                    .unwrap_or_default()
                    .to_owned(),
            ),
            "Reserved" => of_job(
                self.reserved()
                    .map_or_else(String::new, padded_elapsed_text),
            ),
            "ResvCPU" | "ResvCPURAW" => {
                let seconds = self.reserved().unwrap_or(0);
                let all = seconds.saturating_mul(i64::from(job.cpus));
                of_job(match column {
                    "ResvCPU" => padded_elapsed_text(all),
                    _ => all.to_string(),
                })
            }
            "Start" => moment(self.since()),
            "Suspended" => padded_elapsed_text(self.suspended()),
            "State" => self.state(),
            "Submit" => moment(Some(match (self.step, self.start) {
                (Some(step), _) => step.since,
                (None, Some(start)) => start.submitted,
                (None, None) => job.submitted,
            })),
            "SystemCPU" => cpu_text(|usage| usage.system),
            "Timelimit" => of_job(self.limit().map_or_else(
                || "UNLIMITED".to_owned(),
                |limit| padded(limit.0.div_ceil(60) * 60),
            )),
            "TimelimitRaw" => of_job(self.limit().map_or_else(
                || "UNLIMITED".to_owned(),
                |limit| limit.0.div_ceil(60).to_string(),
            )),
            "TotalCPU" => cpu_text(Usage::cpu),
            "UID" => of_job(job.uid().to_string()),
            "User" => of_job(job.user().to_owned()),
            "UserCPU" => cpu_text(|usage| usage.user),
            "SubmitLine" => match self.step {
                Some(step) => step.submit_line.clone().unwrap_or_default(),
                None => job.shown().submit_line.clone().unwrap_or_default(),
            },
            "WorkDir" => of_job(job.work_dir().into_owned()),
            column => {
                let tasks = self.step.map(|step| TasksOfStep {
                    step,
                    units: self.units,
                });
                // Nothing else is gathered here.
                tasks
                    .and_then(|tasks| tasks.value(column))
                    .unwrap_or_default()
            }
        }
    }

    /// How a step's tasks are dealt out to its nodes: in turns where there are not more than nodes.
    fn layout(&self) -> String {
        let Some(step) = self.step else {
            return String::new();
        };
        let tasks: u32 = step.nodes.iter().map(|share| share.tasks).sum();
        let name = match step.step {
            StepId::Number(_) if tasks as usize <= step.nodes.len() => "Cyclic",
            StepId::Number(_) => "Block",
            _ => "Unknown",
        };
        name.to_owned()
    }

    /// What last kept its start back, or keeps it: that others come first or have its place is not recorded.
    pub(super) fn reason(&self) -> String {
        let reason = match self.start {
            Some(start) => start.reason.as_deref(),
            None if self.job.state == JobStateName::Deadline => None,
            None => Some(&*self.job.reason),
        };
        let reason = reason.map(reason_name);
        let reason = reason.filter(|reason| !["Priority", "Resources"].contains(reason));
        reason.unwrap_or("None").to_owned()
    }

    /// For how many seconds it waited although it could have started.
    fn reserved(&self) -> Option<i64> {
        let until = self.start.map_or(self.facts.now, |start| start.since);
        let eligible = self
            .start
            .map_or(self.job.eligible, |start| start.eligible)?;
        Some((until.seconds() - eligible.seconds()).max(0))
    }

    /// Whether it is a job of which `srun` started steps.
    fn has_steps(&self) -> bool {
        let is_own = |step: &StepRecord| {
            let restart = self.start.map(|start| start.restart);
            matches!(step.step, StepId::Number(_)) && Some(step.restart) == restart
        };
        self.step.is_none() && self.history.steps.iter().any(is_own)
    }

    /// A job that waits, or was cancelled while it did.
    fn has_none(&self) -> bool {
        self.step.is_none() && self.start.is_none()
    }

    /// What a job or a step holds: `billing=2,cpu=2,gres/gpu=1,mem=4G,node=1`; steps are not billed.
    fn held_text(&self) -> String {
        let shares = self.shares();
        if shares.is_empty() {
            return String::new();
        }
        let gpus: usize = shares.iter().map(|share| share.gpus.len()).sum();
        let memory: u64 = shares.iter().map(|share| share.memory).sum();
        let mut parts = Vec::new();
        if self.step.is_none() {
            let tres = self.job.tres_counts();
            let billed = self.job.partition_view.billing.billed(&|name| match name {
                "cpu" => f64::from(self.cpus()),
                "mem" => memory as f64,
                "node" => shares.len() as f64,
                "gres/gpu" => gpus as f64,
                name => tres.get(name).map_or(0.0, |count| *count as f64),
            });
            parts.push(format!("billing={}", billed as u64));
        }
        parts.push(format!("cpu={}", self.cpus()));
        if gpus > 0 {
            let tres = self.job.tres();
            let types = tres.split(',').filter(|part| part.starts_with("gres/gpu:"));
            let types: Vec<&str> = types.collect();
            match (self.step, &types[..]) {
                // A former size of a job has its own number.
                (_, [only]) => {
                    let name = only.split('=').next().unwrap_or(only);
                    parts.push(format!("{name}={gpus}"));
                }
                (None, types) => parts.extend(types.iter().map(|part| (*part).to_owned())),
                // Of several types a step's are not told apart.
                (Some(_), _) => {}
            }
            parts.push(format!("gres/gpu={gpus}"));
        }
        if memory > 0 || self.step.is_some() {
            parts.push(format!("mem={}", self.units.of_mebibytes(memory)));
        }
        parts.push(format!("node={}", shares.len()));
        parts.join(",")
    }

    fn id(&self, job: &str) -> String {
        match self.step {
            Some(step) => format!("{job}.{}", step.step),
            None => job.to_owned(),
        }
    }
}

/// A shell's code of a command that a signal ended is shown without the 128 in it.
fn shell_exit_text(status: WaitStatus) -> String {
    let code = status.code();
    let code = if code < 128 { code } else { code - 128 };
    format!("{code}:{}", status.signal_number())
}

fn exit_text(status: WaitStatus) -> String {
    format!("{}:{}", status.code(), status.signal_number())
}
