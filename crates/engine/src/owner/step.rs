//! `create_step` and `signal_step`.

use super::Owner;
use super::active_job::LiveStep;
use super::components::PlacedPart;
use super::launch::started;
use super::step_of_job::{for_steps, on_nodes_left, with_gpus_of_job};
use super::step_tasks;
use super::turn::Turn;
use crate::SupervisorKey;
use crate::job_record::record_of;
use crate::message::Peer;
use crate::spec::{AroundTask, Environment, Program, Reach, StepSpec, Streams, SupervisorCall};
use crate::store::StepRow;
use api::{Answer, NewStep, Refusal, StepLaunch, StepRequestName, TaskFiles};
use model::component_environment;
use model::job_environment;
use model::srun_environment;
use model::{JobId, JobState, OpenMode, SignalTarget, StepId, StepRecord, StepRequest, StepState};
use sched::{Job, RunningStep, StepRefusal, place_step, step_against_job};

const JOB_NAME: &str = "SLURM_JOB_NAME";
/// What `srun --preserve-env` leaves as it was.
const STEP_COUNTS: [&str; 4] = [
    "SLURM_NNODES",
    "SLURM_NTASKS",
    "SLURM_NPROCS",
    "SLURM_TASKS_PER_NODE",
];

impl Owner {
    /// The first step of an allocation that was submitted in this turn, where nothing is in its way. What is,
    /// its client hears as it asks for the step by itself.
    pub(super) fn first_step(
        &mut self,
        job: JobId,
        step: &NewStep,
        peer: Peer,
        turn: &mut Turn,
    ) -> Option<StepRecord> {
        // `srun` runs a program before the tasks start that it has yet to hear of.
        let is_held = self.step_programs().srun_prolog.is_some() && !step.launch.waits;
        if is_held || self.prolog_of(job).is_some() {
            return None;
        }
        self.create_step(job, step, peer, turn).ok()
    }

    pub(super) fn create_step(
        &mut self,
        job: JobId,
        step: &NewStep,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<StepRecord, Refusal> {
        let NewStep {
            name,
            request,
            launch,
        } = step;
        self.owned(job, peer)?;
        self.leaders(vec![job])?;
        if let Some(made) = self.made_before(job, name, launch, turn)? {
            return Ok(made);
        }
        let placed = match self.place_whole(job, request, launch) {
            // The last step's word to srun overtakes its end's way to the owner.
            Err(Refusal::Busy) if self.look_for_ends(job, turn) => {
                self.place_whole(job, request, launch)
            }
            placed => placed,
        };
        let parts = placed?;
        let most = self.state.cluster().most();
        let number = self.next_step(job);
        if most.steps.is_some_and(|most| number >= most) {
            return Err(Refusal::invalid("Step limit reached for this job"));
        }
        let nodes = || parts.iter().flat_map(|part| &part.placement.nodes);
        let tasks: u64 = nodes().map(|node| u64::from(node.tasks)).sum();
        let is_over = |most: u32| tasks > u64::from(most) * nodes().count() as u64;
        if most.tasks_of_node.is_some_and(is_over) {
            return Err(Refusal::invalid("Task count specification invalid"));
        }
        let step = StepId::Number(number);
        let mut made = Vec::new();
        for part in &parts {
            let job = part.job;
            let record = self.state.job(job).ok_or(Refusal::NoSuchJob { job })?;
            let row = StepRow {
                record: StepRecord {
                    job,
                    restart: record.restarts,
                    step,
                    name: part.request.name.clone(),
                    nodes: part.placement.nodes.clone(),
                    since: turn.now,
                    state: StepState::Running,
                    usage: None,
                    tasks_usage: None,
                    cancelled_by: None,
                    submit_line: part.request.submit_line.clone(),
                    srun: None,
                },
                holds: part.placement.holds.clone(),
                token: name.token.clone(),
            };
            let active = self.running.get_mut(&job);
            let active = active.ok_or(Refusal::NotRunning { job })?;
            made.push(row.record.clone());
            active.next_step = number + 1;
            active.steps.insert(step, LiveStep::new(row));
            turn.steps.insert((job, step));
        }
        let whole = whole(made).ok_or(Refusal::NotRunning { job })?;
        self.launch_step(job, &whole, &parts, launch, turn);
        Ok(whole)
    }

    /// Where a step runs: in its job, or in the components that it names.
    fn place_whole<'a>(
        &self,
        job: JobId,
        request: &'a StepRequest,
        launch: &'a StepLaunch,
    ) -> Result<Vec<PlacedPart<'a>>, Refusal> {
        if !launch.parts.is_empty() {
            return self.place_parts(job, launch);
        }
        let placement = self.place(job, request)?;
        Ok(vec![PlacedPart {
            job,
            request,
            files: &launch.files,
            environment: &launch.environment,
            placement,
        }])
    }

    /// The step that this request made when it was sent before.
    fn made_before(
        &self,
        job: JobId,
        name: &StepRequestName,
        launch: &StepLaunch,
        turn: &Turn,
    ) -> Result<Option<StepRecord>, Refusal> {
        if name.token.is_empty() {
            return Ok(None);
        }
        let mut made = Vec::new();
        if launch.parts.is_empty() {
            made.extend(self.part_made_before(job, name, turn)?);
        }
        for part in &launch.parts {
            let job = self.component_of(job, part.component)?;
            made.extend(self.part_made_before(job, name, turn)?);
        }
        Ok(whole(made))
    }

    fn part_made_before(
        &self,
        job: JobId,
        name: &StepRequestName,
        turn: &Turn,
    ) -> Result<Option<StepRecord>, Refusal> {
        let Some(active) = self.running.get(&job) else {
            return Ok(None);
        };
        let live = active.steps.values().map(|step| &step.row);
        let ended = turn.ended_steps.iter();
        let ended = ended.filter(|row| row.record.job == job && name.again);
        if let Some(row) = live.chain(ended).find(|row| row.token == name.token) {
            return Ok(Some(row.record.clone()));
        }
        if !name.again {
            return Ok(None);
        }
        let rows = self.store.steps(job, active.restart);
        let rows = rows.map_err(|error| Refusal::Store {
            message: error.to_string(),
        })?;
        let made = rows.into_iter().find(|row| row.token == name.token);
        Ok(made.map(|row| row.record))
    }

    pub(super) fn place(
        &self,
        job: JobId,
        request: &StepRequest,
    ) -> Result<sched::Placement, Refusal> {
        let record = self.state.job(job).ok_or(Refusal::NoSuchJob { job })?;
        let JobState::Running {
            allocation,
            ending: None,
            ..
        } = &record.state
        else {
            return Err(Refusal::NotRunning { job });
        };
        if record.state.is_suspended() {
            return Err(Refusal::Busy);
        }
        let active = self.running.get(&job);
        let steps = &active.ok_or(Refusal::NotRunning { job })?.steps;
        let steps = steps.iter().filter(|(id, _)| **id != StepId::Batch);
        let running = steps.map(|(_, step)| RunningStep {
            nodes: &step.row.record.nodes,
            holds: &step.row.holds,
        });
        let running: Vec<RunningStep<'_>> = running.collect();
        let allocation = &for_steps(&record.request, allocation);
        let request = &with_gpus_of_job(request, &record.request, allocation);
        let request = &on_nodes_left(request, allocation);
        let cluster = self.state.cluster();
        let allowed = step_against_job(request, &record.request, allocation, cluster);
        let placed = allowed.and_then(|()| place_step(request, allocation, cluster, &running));
        placed.map_err(|refusal| match refusal {
            StepRefusal::Busy => Refusal::Busy,
            StepRefusal::Never { message } => Refusal::Invalid { message },
        })
    }

    /// Takes in the ends of a job's steps that are written but not yet heard of.
    pub(super) fn look_for_ends(&mut self, job: JobId, turn: &mut Turn) -> bool {
        let Some(active) = self.running.get(&job) else {
            return false;
        };
        let steps = active.steps.keys();
        let live = steps.flat_map(|step| active.live_keys(*step));
        let ended: Vec<SupervisorKey> = live
            .filter(|key| matches!(super::end::read_exit(&self.folder, *key), Ok(Some(_))))
            .collect();
        for key in &ended {
            self.supervisor_gone(*key, turn);
        }
        !ended.is_empty()
    }

    fn launch_step(
        &self,
        job: JobId,
        whole: &StepRecord,
        parts: &[PlacedPart<'_>],
        launch: &StepLaunch,
        turn: &mut Turn,
    ) {
        let Some(record) = self.state.job(job) else {
            return;
        };
        let (mut first_node, mut tasks) = (0, 0);
        for part in parts {
            let nodes = &part.placement.nodes;
            let ranks = step_tasks::ranks(nodes, tasks, part.request);
            tasks += nodes.iter().map(|share| share.tasks).sum::<u32>();
            for (node, ranks) in (0..).zip(&ranks) {
                let place = NodeInStep { first_node, node };
                let spec = self.step_spec(record, whole, place, ranks, part, launch);
                turn.launches.extend(spec);
            }
            first_node += nodes.len();
        }
    }

    fn step_spec(
        &self,
        record: &Job,
        step: &StepRecord,
        place: NodeInStep,
        ranks: &[u32],
        part: &PlacedPart<'_>,
        launch: &StepLaunch,
    ) -> Option<StepSpec> {
        let request = part.request;
        let job_record = record_of(record, None);
        let started = started(&job_record, self)?;
        let node = place.first_node + place.node;
        let share = step.nodes.get(node)?;
        let mut variables = job_environment::step_variables(&started, step);
        // A step may have a name of its own there.
        let is_given = |wanted: &str| part.environment.iter().any(|(name, _)| name == wanted);
        variables.retain(|(name, _)| {
            let may_stay =
                name == JOB_NAME || launch.preserve_env && STEP_COUNTS.contains(&name.as_str());
            !(may_stay && is_given(name))
        });
        variables.extend(self.component_variables(record));
        if !launch.parts.is_empty() {
            variables.extend(component_environment::union_variables(&step.nodes));
        }
        variables.extend(job_environment::step_node_variables(
            step,
            node,
            ranks,
            started.has_gpus,
        ));
        variables.extend(job_environment::step_request_variables(request));
        self.tell_topology(&share.node, &mut variables);
        let counts = step.nodes.iter().map(|share| share.tasks);
        variables.extend(job_environment::distribution_variables(
            request,
            counts.sum(),
            step.nodes.len(),
        ));
        // What it may hold is said by the component that it is in, whose step it is.
        let holder = self.state.job(part.job)?;
        let holder_record = record_of(holder, None);
        let holder_started = super::launch::started(&holder_record, self)?;
        let mut tasks = self.step_tasks(share, ranks, request);
        let masks = step_tasks::masks(share, &tasks);
        if let Some(bind) = &request.cpu_bind {
            variables.extend(bind.variables(&masks));
        }
        // A pretended node's CPUs are none of this machine's.
        if self.bound_cpus(share).is_empty() {
            for (task, mask) in tasks.iter_mut().zip(masks) {
                task.cpus.clear();
                task.pretended_cpus = mask;
            }
        }
        variables.extend(job_environment::gpu_sharing_variables(request, tasks.len()));
        srun_environment::drop_what_is_not_inherited(
            &mut variables,
            part.environment,
            &record.request,
            request,
        );
        variables.extend(self.own_variables());
        let number = u32::try_from(place.node).ok()?;
        let base = self.spec_of(&holder_started, step.step, number, share);
        // The step's own limit, where it comes first.
        let own = launch.time.map(|time| step.since + model::Seconds(time));
        let own = own.map(|end| self.clock.boot_time(end));
        let is_own = own.is_some_and(|own| base.deadline.is_none_or(|end| own < end));
        let deadline = base.deadline.into_iter().chain(own).min();
        let signal = record.request.rare.signal;
        let signal = signal.map(|signal| {
            if is_own {
                signal
            } else {
                self.before_limit(record, signal)
            }
        });
        Some(StepSpec {
            leader: (part.job != record.id).then_some(record.id),
            first_node: u32::try_from(place.first_node).ok()?,
            program: if launch.programs.is_empty() {
                Program::Command(launch.command.clone())
            } else {
                let of_rank = |rank: &u32| launch.programs.get(*rank as usize).cloned();
                Program::Each(ranks.iter().filter_map(of_rank).collect())
            },
            environment: Environment::Given(part.environment.clone()),
            variables,
            // They may be of the script around it, whose GPUs the step need not have.
            removed: ["SLURM_GPUS_ON_NODE", "SLURM_STEP_GPUS"]
                .map(str::to_owned)
                .to_vec(),
            chdir: part.files.chdir.clone(),
            umask: launch.umask,
            tasks,
            step_tasks: step.nodes.iter().map(|share| share.tasks).sum(),
            cpu_bind: request.cpu_bind.clone(),
            gpu_bind: request.gpu_bind.clone(),
            streams: streams(launch, part.files),
            deadline,
            own_deadline: own,
            warning: signal.filter(|signal| signal.target == SignalTarget::Steps),
            kill_on_bad_exit: request.kill_on_bad_exit,
            no_kill: request.no_kill,
            around_tasks: {
                let [cluster_s, _] = base.around_tasks.clone();
                let (prolog, epilog) = (launch.task_prolog.clone(), launch.task_epilog.clone());
                [cluster_s, AroundTask { prolog, epilog }]
            },
            ..base
        })
    }

    pub(super) fn signal_step(
        &mut self,
        job: JobId,
        step: StepId,
        signal: i32,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        self.owned(job, peer)?;
        if !self.running.contains_key(&job) {
            return Err(Refusal::NotRunning { job });
        }
        if self.parts_of_step(job, step).is_empty() {
            return Err(Refusal::Invalid {
                message: format!("step {job}.{step} is not running"),
            });
        }
        let call = SupervisorCall::Signal {
            signal,
            reach: Reach::All,
        };
        for key in self.keys_of_step(job, step) {
            turn.words.push((key, call.clone()));
        }
        Ok(Answer::Done)
    }
}

/// A node among those of a part, whose first is that one of the whole step's.
#[derive(Clone, Copy)]
struct NodeInStep {
    first_node: usize,
    node: usize,
}

/// A step with the nodes of all its parts, under the first one's job and name.
fn whole(parts: Vec<StepRecord>) -> Option<StepRecord> {
    parts.into_iter().reduce(|mut whole, part| {
        whole.nodes.extend(part.nodes);
        whole
    })
}

fn streams(launch: &StepLaunch, files: &TaskFiles) -> Streams {
    let open_mode = launch.open_mode.unwrap_or(OpenMode::Truncate);
    match &launch.listen {
        Some(listen) => Streams::Srun {
            listen: listen.clone(),
            pty: launch.pty,
            output: files.output.clone(),
            error: files.error.clone(),
            input: files.input.clone(),
            open_mode,
            label: files.label,
            waits: launch.waits,
        },
        None => Streams::Files {
            output: files
                .output
                .clone()
                .unwrap_or_else(|| "/dev/null".to_owned()),
            error: files.error.clone(),
            input: files.input.clone().filter(|input| input != "none"),
            open_mode,
        },
    }
}
