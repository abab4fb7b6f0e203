//! Starting jobs and the supervisors of their steps.

use super::active_job::{ActiveJob, LiveStep};
use super::job_files::NotWritten;
use super::recover::submitted_as;
use super::turn::Turn;
use super::{Owner, batch_step};
use crate::fork_server::ForkServerEvent;
use crate::isolation;
use crate::job_record::record_of;
use crate::message::Message;
use crate::spec::{AroundTask, Environment, JobFolder, Program, StepSpec, Streams};
use crate::store::{NewSubmission, StoreError};
use crate::{RecordTag, SupervisorKey};
use api::StepTask;
use model::job_environment::{self, StartedJob};
use model::{
    ArrayTask, JobId, JobRecord, JobState, NodeShare, OpenMode, RestartCount, Seconds, SignalSpec,
    SignalTarget, StepId, Submitter,
};
use sched::Job;
use std::io;

impl Owner {
    /// A job was given its allocation: makes its batch step.
    pub(super) fn start_job(&mut self, job: JobId, turn: &mut Turn) {
        let Some(record) = self.state.job(job) else {
            return;
        };
        if !matches!(record.state, JobState::Running { .. }) {
            return;
        }
        let tag = match self.record_tag(record, &turn.submissions) {
            Ok(tag) => tag,
            Err(error) => {
                // Started without, it would be started again by an engine that can read it.
                turn.unreadable = Some(error.to_string());
                return;
            }
        };
        let mut active = ActiveJob::new(record, tag);
        if let Err(error) = self.note_networks(job, active.restart) {
            let what = format!("which networks it begins with can't be noted: {error}");
            tracing::error!(job = job.0, "{what}");
            return self.start_failed(job, &what, turn);
        }
        active.programs.begins = true;
        self.failed_prologs.forget(job);
        if let Some(row) = batch_step::of(record) {
            active.steps.insert(StepId::Batch, LiveStep::new(row));
        }
        self.running.insert(job, active);
        self.launch_batch(job, turn);
    }

    /// Has the supervisor of a job's batch step started.
    pub(super) fn launch_batch(&mut self, job: JobId, turn: &mut Turn) {
        let Some(record) = self.state.job(job).filter(|record| record.batch) else {
            return;
        };
        if let Some(spec) = self.batch_spec(record, &turn.submissions) {
            turn.launches.push(spec);
        }
    }

    fn batch_spec(&self, record: &Job, new: &[NewSubmission]) -> Option<StepSpec> {
        let job_record = record_of(record, None);
        let started = started(&job_record, self)?;
        let share = started.allocation.nodes.first()?;
        let place = record.array.as_ref();
        let submitted = submitted_as(record);
        // A job that starts in the turn of its submission is not in the store yet. Without an answer
        // of the store the defaults serve all but scripts with arguments.
        let new = new.iter().find(|new| new.job == submitted);
        let brought = match new {
            Some(new) => Some((new.umask, new.arguments.clone())),
            None => self
                .store
                .brought(submitted)
                .ok()
                .flatten()
                .map(|it| (it.umask, it.arguments)),
        };
        let (umask, args) = brought.unwrap_or((0o022, Vec::new()));
        let array = place.and_then(|place| match place.task {
            ArrayTask::One(task) => Some((place.array_job, task)),
            ArrayTask::Waiting(_) => None,
        });
        let mut variables = job_environment::batch_variables(&started);
        let of_components = self.component_variables(record);
        if !of_components.is_empty() {
            // A heterogeneous job has it of each component alone.
            variables.retain(|(name, _)| name != "SLURM_CPUS_PER_TASK");
        }
        variables.extend(of_components);
        variables.extend(self.own_variables());
        self.tell_topology(&started.allocation.nodes.first()?.node, &mut variables);
        let request = &record.request;
        let output = request.output.as_deref();
        let output = output.unwrap_or(model::default_output(array.is_some()));
        Some(StepSpec {
            program: match &request.rare.container {
                None => Program::Script {
                    path: self.folder.script(submitted),
                    args,
                },
                Some(container) => {
                    let words = [&*self.binary.to_string_lossy(), "job", "container-script"];
                    let script = self.folder.script(submitted);
                    let words = words.into_iter().map(str::to_owned);
                    let words = words.chain([container.clone(), script.display().to_string()]);
                    Program::Command(words.chain(args).collect())
                }
            },
            environment: Environment::File(self.folder.environment(submitted)),
            variables,
            // It says how the script's own mask is set, and is not handed on to it.
            removed: vec!["SLURM_UMASK".to_owned()],
            chdir: request.chdir.clone(),
            umask,
            tasks: vec![StepTask {
                rank: 0,
                local: 0,
                cpus: self.bound_cpus(share),
                pretended_cpus: Vec::new(),
                gpus: share.gpus.clone(),
            }],
            step_tasks: 1,
            streams: Streams::Files {
                output: output.to_owned(),
                error: request.rare.error.clone(),
                input: request.rare.input.clone(),
                open_mode: request.rare.open_mode.unwrap_or(OpenMode::Truncate),
            },
            gpu_locks: {
                let shares = started.allocation.nodes.iter();
                self.gpus.uuids(shares.flat_map(|share| &share.gpus))
            },
            cpu_locks: self.cpus.of(&started.allocation.nodes),
            warning: request
                .rare
                .signal
                .filter(|signal| signal.target == SignalTarget::BatchShell)
                .map(|signal| self.before_limit(record, signal)),
            ..self.spec_of(&started, StepId::Batch, 0, share)
        })
    }

    /// What the records of a job's steps are recognised by.
    fn record_tag(
        &self,
        record: &Job,
        new: &[NewSubmission],
    ) -> Result<Option<RecordTag>, StoreError> {
        let submitted = submitted_as(record);
        if let Some(new) = new.iter().find(|new| new.job == submitted) {
            return Ok(Some(RecordTag::new(self.store.uuid(), &new.token)));
        }
        self.store.record_tag(submitted)
    }

    /// What the specs of all steps of a job have in common; the rest is empty.
    pub(super) fn spec_of(
        &self,
        started: &StartedJob<'_>,
        step: StepId,
        node_index: u32,
        share: &NodeShare,
    ) -> StepSpec {
        let record = started.record;
        StepSpec {
            job: record.id,
            leader: None,
            restart: record.restarts,
            step,
            node_index,
            first_node: 0,
            tag: self.running.get(&record.id).and_then(|job| job.tag),
            node: share.node.clone(),
            nodes: self
                .isolation
                .nodes_of(record.submitter.uid)
                .map(std::path::Path::to_owned),
            own_processes: self.isolation.has_processes(),
            job_folder: self.job_folder(record.id, record.restarts, &record.submitter),
            engine: self.folder.root().to_owned(),
            binary: self.binary.clone(),
            uid: record.submitter.uid,
            gid: record.submitter.gid,
            user: record.submitter.user.clone(),
            job_name: record.request.name.clone(),
            array: record.array.as_ref().and_then(|place| match place.task {
                ArrayTask::One(task) => Some((place.array_job, task)),
                ArrayTask::Waiting(_) => None,
            }),
            program: Program::Command(Vec::new()),
            environment: Environment::Given(Vec::new()),
            variables: Vec::new(),
            removed: Vec::new(),
            chdir: record.request.chdir.clone(),
            umask: 0o022,
            tasks: Vec::new(),
            step_tasks: 0,
            cpu_bind: None,
            gpu_bind: None,
            node_gpus: self.cluster.gpus_of(&share.node),
            streams: Streams::Files {
                output: "/dev/null".to_owned(),
                error: None,
                input: None,
                open_mode: OpenMode::Append,
            },
            gpu_locks: self.gpus.uuids(share.gpus.iter()),
            gpu_devices: self.gpus.devices().to_vec(),
            cpus: self.kept_cpus(share, record.request.cpus_per_task.is_some()),
            // To enter a group takes the kernel milliseconds, in which a short step would be over.
            cpus_at_once: step == StepId::Batch || record.request.cpus_per_task.is_some(),
            cpu_locks: self.cpus.of([share]),
            memory: has_memory(started).then_some(share.memory),
            job_memory: {
                let mut shares = started.allocation.nodes.iter();
                let of_job = shares.find(|it| it.node == share.node);
                of_job.filter(|_| has_memory(started)).map(|it| it.memory)
            },
            default_memory: record.request.asked_memory().is_none(),
            deadline: self
                .deadline(record.id)
                .map(|end| self.clock.boot_time(end)),
            own_deadline: None,
            warning: None,
            kill_wait_ms: self.kill_wait_ms(),
            kill_on_bad_exit: false,
            no_kill: false,
            refused: None,
            around_tasks: [self.around_tasks(), AroundTask::default()],
        }
    }

    /// What a job's own folder on its nodes is called, and the variable that names it; none where its cluster gives jobs
    /// none, or its nodes have no disks of their own.
    pub(super) fn job_folder(
        &self,
        job: JobId,
        restart: RestartCount,
        submitter: &Submitter,
    ) -> Option<JobFolder> {
        self.isolation.nodes_of(submitter.uid)?;
        let variable = self.cluster.file.as_ref()?.node_local.variable.as_ref()?;
        let user = &submitter.user;
        Some(JobFolder {
            variable: variable.value.clone(),
            name: format!("{user}.{job}.{restart}"),
        })
    }

    /// A warning at its time before the limit, counted from the moment at which the job ends.
    pub(super) fn before_limit(&self, record: &Job, warning: SignalSpec) -> SignalSpec {
        let over = self.state.over_time(record);
        SignalSpec {
            before: Seconds(warning.before.0.saturating_add(over.0)),
            ..warning
        }
    }

    /// The CPUs to which a task is bound: on a pretended node none, which is all of this machine.
    pub(super) fn bound_cpus(&self, share: &NodeShare) -> Vec<u32> {
        if self.cluster.is_pretended() {
            return Vec::new();
        }
        share.cpus.clone()
    }

    /// The CPUs that a step's processes can't leave: where they were asked for by name, or are not all of this machine's.
    fn kept_cpus(&self, share: &NodeShare, are_asked: bool) -> Vec<u32> {
        let cpus = self.bound_cpus(share);
        if are_asked || cpus.len() < sys::cpu::available().len() {
            cpus
        } else {
            Vec::new()
        }
    }

    /// What the cluster runs before and after each task.
    fn around_tasks(&self) -> AroundTask {
        AroundTask {
            prolog: self.own_path(|it| &it.task_prolog),
            epilog: self.own_path(|it| &it.task_epilog),
        }
    }

    /// How a job's commands find this engine.
    pub(super) fn own_variables(&self) -> Vec<(String, String)> {
        let engine = self.folder.root().to_string_lossy().into_owned();
        let engine = (sys::env_vars::TRAINYARD_ENGINE.to_owned(), engine);
        let host = self.isolation.nodes().map(|_| isolation::variable());
        let networks = self.isolation.networks().map(|networks| {
            let name = sys::env_vars::TRAINYARD_NODE_NETWORKS.to_owned();
            let value = if networks.lead_outside_too() {
                "1"
            } else {
                "closed"
            };
            (name, value.to_owned())
        });
        std::iter::once(engine)
            .chain(host)
            .chain(networks)
            .collect()
    }

    /// Has a supervisor started.
    pub(super) fn launch(&mut self, spec: &StepSpec) {
        let ready = match spec.step {
            StepId::Batch => self.write_job_files(spec),
            StepId::Number(_) => Ok(()),
        };
        let failed = failed_launch(spec.key(), ready, || self.fork_server.start(spec));
        if let Some(message) = failed {
            let _owner = self.sender.send(message);
        }
    }
}

/// What the owner hears of a supervisor that could not be started.
fn failed_launch(
    key: SupervisorKey,
    ready: Result<(), NotWritten>,
    start: impl FnOnce() -> io::Result<()>,
) -> Option<Message> {
    match ready {
        Err(NotWritten { message, may_pass }) => {
            Some(Message::ForkServer(ForkServerEvent::Failed {
                key,
                message,
                may_pass,
            }))
        }
        // A fork server that is gone is no fault of the job: the next engine finds it unstarted.
        Ok(()) => start().is_err().then_some(Message::ForkServerLost),
    }
}

/// Whether a job has the memory that it was dealt and no more: it asked for some, or its cluster names a default. The
/// even share of this machine is a way to count, no promise.
pub(super) fn has_memory(started: &StartedJob<'_>) -> bool {
    started.record.request.asked_memory().is_some() || started.default_memory.is_some()
}

/// A running job as the functions of its environment want it.
pub(super) fn started<'a>(record: &'a JobRecord, owner: &'a Owner) -> Option<StartedJob<'a>> {
    let array = record.array.as_ref().map(|place| place.array_job);
    let nodes = &owner.cluster.cluster;
    let partition = record
        .partitions()
        .and_then(|name| nodes.find_partition(name));
    Some(StartedJob {
        // This machine's even share is a way to count, and no job's limit.
        default_memory: owner
            .cluster
            .is_pretended()
            .then(|| nodes.defaults(partition).memory)
            .flatten(),
        array: array.and_then(|array| owner.state.array_facts(array)),
        has_gpus: owner.cluster.has_gpus(),
        ..StartedJob::of(record, &owner.cluster.name)?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its job was held, as one whose launch failed, and waited for ever.
    #[test]
    fn a_fork_server_that_is_killed_as_it_is_asked_for_a_step_is_no_failure_of_the_job() {
        let key = SupervisorKey {
            job: JobId(1),
            restart: 0,
            step: StepId::Batch,
            node: 0,
            tag: None,
        };
        let gone = || Err(io::ErrorKind::BrokenPipe.into());
        let failed = failed_launch(key, Ok(()), gone);
        assert!(matches!(failed, Some(Message::ForkServerLost)));
        let no_script = NotWritten {
            message: "no script".to_owned(),
            may_pass: false,
        };
        let failed = failed_launch(key, Err(no_script), gone);
        let is_failed = |message: &Message| {
            matches!(message, Message::ForkServer(ForkServerEvent::Failed { .. }))
        };
        assert!(failed.as_ref().is_some_and(is_failed));
        assert!(failed_launch(key, Ok(()), || Ok(())).is_none());
    }
}
