//! Programs of the cluster before and after jobs: which a step waits for, and what a failure does.
//!
//! ```text
//! job started ─► PrologSlurmctld ─► Prolog on a step's nodes ─► the step's supervisors
//! last step over ─► Epilog on all nodes, EpilogSlurmctld ─► the job's end
//! ```
//! An engine that was killed meanwhile runs them again: they may run twice, as a controller's do.

use super::Owner;
use super::launch::started;
use super::turn::Turn;
use crate::job_program::{JobProgram, Place, ProgramRun};
use crate::job_record::record_of;
use crate::outcome::NodeEnd;
use crate::spec::{ExitFile, StepSpec};
use api::StepPrograms;
use api::step_io::PROLOG_FAILED;
use cluster_file::{Programs, Sourced};
use model::program_environment::{ProgramPlace, program_variables};
use model::{Ending, JobId, NodeMark, NodeName, Outcome, RequeueHold, StepId, WaitStatus};
use sched::Event;
use std::collections::BTreeMap;
use std::time::Duration;

/// The programs of one job's start.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobPrograms {
    pub(super) before: BTreeMap<Place, Stage>,
    after: BTreeMap<Place, Stage>,
    /// Those before the job are about to be started, unless they were.
    pub(super) begins: bool,
    /// Supervisors that are started once what is before them ran.
    waiting: Vec<StepSpec>,
    /// Nodes that it gave back and on which it may still run, with what runs there after it.
    pub(super) given_back: BTreeMap<NodeName, Option<JobProgram>>,
    /// The batch script can't be started, and why.
    pub(crate) failed: Option<String>,
}

/// How far a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Runs,
    Done,
    Failed,
}

impl JobPrograms {
    /// Steps of a former engine ran on the node: so did its prolog.
    pub(crate) fn has_run(&mut self, node: &NodeName) {
        self.before.insert(Place::Engine, Stage::Done);
        self.before.insert(Place::Node(node.clone()), Stage::Done);
    }
}

/// What a program in front of a step is about.
enum Before {
    Ready,
    Waits,
    Failed,
    /// It is to be started.
    Starts(Place),
}

impl Owner {
    pub(super) fn programs(&self) -> Option<&Programs> {
        Some(&self.cluster.file.as_ref()?.programs)
    }

    /// The path of one of the cluster's programs, where it has it.
    pub(super) fn own_path(
        &self,
        which: impl Fn(&Programs) -> &Option<Sourced<String>>,
    ) -> Option<String> {
        Some(which(self.programs()?).as_ref()?.value.clone())
    }

    /// What `srun` runs around each step.
    pub(super) fn step_programs(&self) -> StepPrograms {
        StepPrograms {
            srun_prolog: self.own_path(|it| &it.srun_prolog),
            srun_epilog: self.own_path(|it| &it.srun_epilog),
        }
    }

    pub(super) fn program_path(&self, place: &Place, is_epilog: bool) -> Option<String> {
        self.own_path(|programs| match (place, is_epilog) {
            (Place::Engine, false) => &programs.controller_prolog,
            (Place::Engine, true) => &programs.controller_epilog,
            (Place::Node(_), false) => &programs.prolog,
            (Place::Node(_), true) => &programs.epilog,
        })
    }

    /// Whether the nodes' prolog runs at a job's start, and not before its first step there.
    pub(super) fn prolog_at_start(&self) -> bool {
        let at_start = self.programs().and_then(|it| it.prolog_at_start.as_ref());
        at_start.is_some_and(|it| it.value)
    }

    /// A job was started and written: what runs at its start.
    pub(super) fn begin_programs(&mut self, job: JobId) {
        let nodes = if self.prolog_at_start() {
            self.nodes_of(job)
        } else {
            Vec::new()
        };
        match self.before(job, &Place::Engine) {
            Before::Starts(place) => self.start_before(job, place),
            Before::Ready => {
                for node in nodes {
                    if let Before::Starts(place) = self.before(job, &Place::Node(node)) {
                        self.start_before(job, place);
                    }
                }
            }
            Before::Waits | Before::Failed => {}
        }
        if let Some(active) = self.running.get_mut(&job) {
            active.programs.begins = false;
        }
    }

    /// Has a step's supervisor started once the programs before it ran.
    pub(super) fn launch_after_programs(&mut self, spec: StepSpec) {
        let job = spec.job;
        match self.before(job, &Place::Node(spec.node.clone())) {
            Before::Ready => return self.launch(&spec),
            Before::Failed => {
                let refused = Some(PROLOG_FAILED.to_owned());
                return self.launch(&StepSpec { refused, ..spec });
            }
            Before::Waits => {}
            Before::Starts(place) => self.start_before(job, place),
        }
        if let Some(active) = self.running.get_mut(&job) {
            let waiting = &mut active.programs.waiting;
            // One that is asked for again waits once.
            if waiting.iter().all(|other| other.key() != spec.key()) {
                waiting.push(spec);
            }
        }
    }

    /// How it stands with the programs before what runs at a place.
    fn before(&self, job: JobId, place: &Place) -> Before {
        let Some(active) = self.running.get(&job) else {
            return Before::Ready;
        };
        let first = (*place != Place::Engine).then_some(Place::Engine);
        for place in first.into_iter().chain([place.clone()]) {
            if self.program_path(&place, false).is_none() {
                continue;
            }
            match active.programs.before.get(&place) {
                Some(Stage::Done) => {}
                Some(Stage::Runs) => return Before::Waits,
                Some(Stage::Failed) => return Before::Failed,
                None => return Before::Starts(place),
            }
        }
        Before::Ready
    }

    fn start_before(&mut self, job: JobId, place: Place) {
        let Some(program) = self.job_program(job, place.clone(), None) else {
            return;
        };
        if let Some(active) = self.running.get_mut(&job) {
            active.programs.before.insert(place, Stage::Runs);
            program.start(self.sender.clone());
        }
    }

    /// Whether programs before a job still run, or those after it, which are asked for in this turn.
    pub(super) fn ends_after_programs(
        &mut self,
        job: JobId,
        status: WaitStatus,
        turn: &mut Turn,
    ) -> bool {
        let active = self.running.get(&job);
        let mut before = active
            .into_iter()
            .flat_map(|active| active.programs.before.values());
        if before.any(|stage| *stage == Stage::Runs) {
            return true;
        }
        let nodes = self.nodes_of(job).into_iter().map(Place::Node);
        for place in nodes.chain([Place::Engine]) {
            let known = |owner: &Owner| {
                let active = owner.running.get(&job)?;
                active.programs.after.get(&place).copied()
            };
            if known(self).is_some() || self.program_path(&place, true).is_none() {
                continue;
            }
            let Some(program) = self.job_program(job, place.clone(), Some(status)) else {
                continue;
            };
            self.note_programs(job, turn);
            if let Some(active) = self.running.get_mut(&job) {
                active.programs.after.insert(place, Stage::Runs);
                turn.programs.push(program);
            }
        }
        let active = self.running.get(&job);
        active.is_some_and(|active| {
            let mut stages = active.programs.after.values();
            stages.any(|stage| *stage == Stage::Runs)
        })
    }

    fn job_program(
        &self,
        job: JobId,
        place: Place,
        ended: Option<WaitStatus>,
    ) -> Option<JobProgram> {
        let path = self.program_path(&place, ended.is_some())?;
        let record = record_of(self.state.job(job)?, None);
        let started = started(&record, self)?;
        let share = match &place {
            Place::Engine => None,
            Place::Node(node) => {
                let mut shares = started.allocation.nodes.iter();
                Some(shares.find(|share| share.node == *node)?)
            }
        };
        let of = share.map_or(ProgramPlace::Engine, ProgramPlace::Node);
        let mut environment = program_variables(&started, of, ended);
        environment.extend(self.own_variables());
        let longest = self.programs().and_then(|it| it.timeout.as_ref());
        let user = started.record.submitter.uid;
        Some(JobProgram {
            run: ProgramRun {
                job,
                restart: started.record.restarts,
                place,
                is_epilog: ended.is_some(),
            },
            path,
            environment,
            nodes: self.isolation.nodes_of(user).map(std::path::Path::to_owned),
            user,
            engine: self.folder.root().to_owned(),
            longest: longest.map(|it| Duration::from_secs(it.value.0)),
        })
    }

    /// A program ended.
    pub(super) fn program_ended(
        &mut self,
        run: ProgramRun,
        result: Result<(), String>,
        turn: &mut Turn,
    ) {
        let job = run.job;
        self.note_programs(job, turn);
        let active = self.running.get_mut(&job);
        let Some(active) = active.filter(|active| active.restart == run.restart) else {
            return;
        };
        let stages = if run.is_epilog {
            &mut active.programs.after
        } else {
            &mut active.programs.before
        };
        let stage = if result.is_ok() {
            Stage::Done
        } else {
            Stage::Failed
        };
        stages.insert(run.place.clone(), stage);
        if let Err(why) = &result {
            let which = if run.is_epilog { "epilog" } else { "prolog" };
            tracing::error!(job = job.0, place = ?run.place, "the {which} failed: {why}");
            if let Place::Node(node) = &run.place {
                let reason = if run.is_epilog {
                    "Epilog error"
                } else {
                    "Prolog error"
                };
                self.drain(node, reason, turn);
            }
        }
        if run.is_epilog {
            let own = self.nodes_of(job);
            let given_back = match run.place {
                Place::Node(node) if !own.contains(&node) => Some(node),
                Place::Node(_) | Place::Engine => None,
            };
            turn.left.extend(given_back.map(|node| (job, node)));
            return self.consider_end(job, turn);
        }
        match result {
            Ok(()) => self.go_on_after(&run, turn),
            Err(why) => self.give_up_after(&run, why, turn),
        }
        self.consider_end(job, turn);
    }

    /// What waited for a program is looked at again; where the job is ending, it never starts.
    fn go_on_after(&mut self, run: &ProgramRun, turn: &mut Turn) {
        let Some(active) = self.running.get_mut(&run.job) else {
            return;
        };
        let waiting = std::mem::take(&mut active.programs.waiting);
        active.programs.begins = run.place == Place::Engine;
        if self.ending(run.job).is_some() {
            for spec in waiting {
                self.never_started(&spec, turn);
            }
            return;
        }
        // Whoever waits for the job looks again.
        self.state.show(run.job);
        if run.place == Place::Engine {
            turn.begun.push(run.job);
        }
        turn.launches.extend(waiting);
    }

    /// A program before the job failed.
    fn give_up_after(&mut self, run: &ProgramRun, why: String, turn: &mut Turn) {
        let job = run.job;
        let Some(active) = self.running.get_mut(&job) else {
            return;
        };
        let waiting = std::mem::take(&mut active.programs.waiting);
        let is_batch = active.steps.contains_key(&StepId::Batch);
        let by = sys::process::user();
        if self.ending(job).is_none() {
            self.note_failed_prolog(job, &run.place);
        }
        let is_lost = run.place == Place::Engine || (self.prolog_at_start() && !is_batch);
        if self.ending(job).is_some() {
            for spec in waiting {
                self.never_started(&spec, turn);
            }
        } else if is_lost {
            // As Slurm: a job with a script comes back, any other is lost.
            let ending = if is_batch {
                Ending::Requeue {
                    hold: RequeueHold::No,
                    node_failed: false,
                }
            } else {
                let status = WaitStatus::default();
                Ending::End(Outcome::cancelled(by, status))
            };
            self.decide(job, ending, turn);
            for spec in waiting {
                self.never_started(&spec, turn);
            }
        } else if waiting.iter().any(|spec| spec.step == StepId::Batch) {
            if let Some(active) = self.running.get_mut(&job) {
                active.programs.failed = Some(why);
                active.steps.remove(&StepId::Batch);
                self.messenger.forget(active.key(StepId::Batch, 0));
            }
        } else {
            // Steps of this node hear of it; others that wait go on waiting.
            turn.launches.extend(waiting);
        }
    }

    /// Steps that wait on nodes which their job has no longer never start there.
    pub(super) fn give_up_waiting(&mut self, job: JobId, nodes: &[NodeName], turn: &mut Turn) {
        self.note_programs(job, turn);
        let Some(active) = self.running.get_mut(&job) else {
            return;
        };
        let waiting = std::mem::take(&mut active.programs.waiting);
        let (gone, left) = waiting
            .into_iter()
            .partition(|spec| nodes.contains(&spec.node));
        active.programs.waiting = left;
        let gone: Vec<StepSpec> = gone;
        for spec in gone {
            self.never_started(&spec, turn);
        }
    }

    /// Notes what runs on nodes after a job that gives them back.
    pub(super) fn prepare_epilogs(&mut self, job: JobId, nodes: &[NodeName], turn: &mut Turn) {
        self.note_programs(job, turn);
        let status = Some(WaitStatus::default());
        let programs: Vec<_> = nodes
            .iter()
            .map(|node| {
                let program = self.job_program(job, Place::Node(node.clone()), status);
                (node.clone(), program)
            })
            .collect();
        if let Some(active) = self.running.get_mut(&job) {
            active.programs.given_back.extend(programs);
        }
    }

    /// A job left a node that it gave back: whether a program runs there now, after which it may end.
    pub(super) fn begin_epilog(&mut self, job: JobId, node: &NodeName, turn: &mut Turn) -> bool {
        self.note_programs(job, turn);
        let programs = self
            .running
            .get_mut(&job)
            .map(|active| &mut active.programs);
        let Some(programs) = programs else {
            return false;
        };
        let Some(program) = programs.given_back.remove(node).flatten() else {
            return false;
        };
        let place = Place::Node(node.clone());
        programs.after.insert(place, Stage::Runs);
        turn.programs.push(program);
        true
    }

    /// A step that is ended before its supervisor was started.
    fn never_started(&mut self, spec: &StepSpec, turn: &mut Turn) {
        let exit = ExitFile::unstarted(turn.now, None);
        self.node_ended(spec.key(), NodeEnd::Exit(exit), turn);
    }

    /// No job starts on the node any more.
    pub(super) fn drain(&mut self, node: &NodeName, reason: &str, turn: &mut Turn) {
        let former = self.state.mark(node).cloned().unwrap_or_default();
        if former.is_drained {
            return;
        }
        let mark = NodeMark {
            is_drained: true,
            reason: reason.to_owned(),
            user: self.users.user(sys::process::user()),
            at: turn.now,
            ..former
        };
        let node = node.clone();
        self.state.apply(Event::NodeMarked { node, mark });
        turn.durable = true;
    }
}
