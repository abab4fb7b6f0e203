//! A step that runs, seen from its `srun`: streams, signals, ends. How it is ended stands in `ending.rs`.

mod ending;

use super::call::StepCall;
use super::events::{Event, Events};
use super::input::Input;
use super::interrupts::Interrupts;
use super::output::Output;
use super::step::NamedRequest;
use super::step_nodes::StepNodes;
use super::task_ends::{TaskEnds, listed};
use super::watchers::Watchers;
use crate::printer::Printer;
use crate::terminal_text::JobOutput;
use api::Client;
use api::step_io::{
    FromSupervisor, NODE_FAILURE, NOT_OPENED, PROLOG_FAILED, STEP_ENDED, StepHeader, ToSupervisor,
};
use model::{KILL_WAIT, StepRecord, StepState, WaitStatus};
use std::collections::HashSet;
use std::io::{self, IsTerminal, Stderr, Stdin, Stdout};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use sys::terminal::Raw;

/// How often a step whose supervisors don't call is asked after.
const ASK_AFTER: Duration = Duration::from_secs(1);
/// Ends so close to each other stand in one line.
const TOGETHER: Duration = Duration::from_millis(10);

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// `srun`'s exit code.
    pub code: u8,
    /// The worst of the tasks, for the job's record.
    pub status: WaitStatus,
    /// The prolog of one of its nodes failed.
    pub prolog_failed: bool,
}

/// What `srun` ends with where the prolog of a node failed.
const PROLOG_FAILED_CODE: u8 = 182;

/// A step and its supervisors.
pub struct Session<'a> {
    call: &'a StepCall,
    record: StepRecord,
    printer: &'a Printer,
    /// The user's terminal, while it is raw.
    raw: Option<Raw<Stdin>>,
    ends: TaskEnds,
    output: Output<JobOutput<Stdout>, JobOutput<Stderr>>,
    events: Events,
    interrupts: Interrupts,
    nodes: StepNodes,
    watchers: Watchers,
    /// Tasks that ended and were not spoken of.
    untold: Vec<u32>,
    first_end: Option<Instant>,
    aborted: bool,
    /// Output was lost, which was said.
    told_loss: bool,
    /// That it is being ended is to be said once a supervisor calls.
    untold_abort: bool,
    /// It was ended from outside, which its supervisors said.
    is_cancelled: bool,
    /// It is ended because a task failed (`--kill-on-bad-exit`).
    by_bad_exit: bool,
    prolog_failed: bool,
    lost_node: bool,
    /// Nodes without which its job goes on.
    lost_nodes: HashSet<String>,
    /// From SIGTERM to SIGKILL.
    kill_wait_ms: u64,
    /// The place among the step's nodes of the one that was lost.
    lost_index: Option<u32>,
    failed: bool,
}

impl<'a> Session<'a> {
    /// A step that was just made.
    pub fn new(
        call: &'a StepCall,
        record: StepRecord,
        printer: &'a Printer,
        events: Events,
        raw: Option<Raw<Stdin>>,
    ) -> Session<'a> {
        let ends = TaskEnds::of_parts(&record, &call.part_tasks);
        let (out, err) = (std::io::stdout(), std::io::stderr());
        // A terminal of the task's own is for its program to draw on.
        let out_is_shown = !call.pty && out.is_terminal();
        let err_is_shown = !call.pty && err.is_terminal();
        let out = JobOutput::new(out, out_is_shown);
        let err = JobOutput::new(err, err_is_shown);
        let unbuffered = call.unbuffered || call.pty;
        let output = Output::new(out, err, ends.count(), call.labelled(), unbuffered);
        let nodes = StepNodes::new(record.nodes.len());
        Session {
            call,
            record,
            printer,
            raw,
            ends,
            output,
            events,
            interrupts: Interrupts::new(call.first_interrupt),
            nodes,
            watchers: Watchers::default(),
            untold: Vec::new(),
            first_end: None,
            aborted: false,
            told_loss: false,
            untold_abort: false,
            is_cancelled: false,
            by_bad_exit: false,
            prolog_failed: false,
            lost_node: false,
            lost_nodes: HashSet::new(),
            kill_wait_ms: KILL_WAIT.0 * 1000,
            lost_index: None,
            failed: false,
        }
    }

    /// The same step, ended before any of its tasks starts.
    pub fn aborted(mut self) -> Session<'a> {
        let step = self.ends.step();
        self.inform(&format!(
            "srun: launch/slurm: launch_p_step_launch: {step} aborted before step completely launched."
        ));
        self.untold_abort = true;
        self.never_started()
    }

    /// The same step, of which no task starts, where that was said; its nodes end as they call.
    pub fn never_started(mut self) -> Session<'a> {
        (self.failed, self.aborted) = (true, true);
        self
    }

    /// Lives until every node has said its last word.
    pub fn live(mut self, client: &mut Client, request: &NamedRequest) -> Ended {
        while !self.nodes.all_done() {
            match self.next_event() {
                Some(event) => self.take(event),
                None => self.look_after(client, request),
            }
        }
        // The terminal first: in raw mode a new line would not begin at the left.
        self.raw = None;
        self.tell_ends();
        let is_told = self.is_cancelled && !self.by_bad_exit;
        let is_forced = self.ends.were_killed() && !is_told && !self.lost_node;
        if is_forced || !self.lost_nodes.is_empty() {
            self.inform(&format!("srun: Force Terminated {}", self.ends.step()));
        }
        std::mem::take(&mut self.watchers).finish();
        let code = self.ends.exit_code();
        Ended {
            prolog_failed: self.prolog_failed,
            code: match (self.prolog_failed, self.failed) {
                (true, _) => PROLOG_FAILED_CODE,
                (false, true) => code.max(1),
                (false, false) => code,
            },
            status: if self.prolog_failed {
                WaitStatus::default()
            } else if self.failed && code == 0 {
                WaitStatus::exit(1)
            } else {
                self.ends.worst()
            },
        }
    }

    /// What happens next; `None` where it is time to look after the step.
    fn next_event(&mut self) -> Option<Event> {
        if !self.untold.is_empty() {
            // What ended together is told together, once nothing else waits; those of a node that end in the
            // moment in which one failed stand in one line.
            let complains = !self.ends.complaints(&self.untold).is_empty();
            let moment = if complains { TOGETHER } else { Duration::ZERO };
            if let Some(event) = self.events.next_within(moment) {
                return Some(event);
            }
            self.tell_ends();
        }
        self.events.next_within(self.patience())
    }

    fn patience(&self) -> Duration {
        match (self.call.wait, self.first_end) {
            (Some(wait), Some(first)) if !self.aborted => {
                wait.saturating_sub(first.elapsed()).min(ASK_AFTER)
            }
            _ => ASK_AFTER,
        }
    }

    /// Nothing happened for a while.
    fn look_after(&mut self, client: &mut Client, request: &NamedRequest) {
        if let (Some(wait), Some(first)) = (self.call.wait, self.first_end)
            && !self.aborted
            && first.elapsed() >= wait
        {
            let seconds = first.elapsed().as_secs();
            self.inform(&format!("srun: First task exited {seconds}s ago"));
            self.stand();
            self.terminate(&ToSupervisor::Kill);
        }
        if self.nodes.all_called() {
            return;
        }
        // A supervisor that could not be started never calls; the engine knows.
        let mut all_over = true;
        for job in request.jobs() {
            let Ok(steps) = client.steps(job) else {
                return;
            };
            let ours = steps.iter().find(|step| step.step == self.record.step);
            all_over &= ours.is_none_or(|step| matches!(step.state, StepState::Ended { .. }));
        }
        if all_over {
            // An engine that was killed may have answered and not started it.
            if self.nodes.none_called()
                && !self.aborted
                && let Ok(another) = request.send(client)
                && another.step != self.record.step
            {
                self.ends = TaskEnds::of_parts(&another, &self.call.part_tasks);
                self.nodes = StepNodes::new(another.nodes.len());
                self.record = another;
                return;
            }
            for node in self.nodes.missing() {
                self.nodes.end(node);
                let name = self.name(node);
                self.lose(node, &format!("{name}: the step could not be started"));
            }
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Joined(header, stream) => self.join(&header, stream),
            Event::Frame(node, frame) => self.obey(node, frame),
            Event::Left(node) => {
                if self.nodes.end(node) {
                    let name = self.name(node);
                    self.lose(node, &format!("{name}: its supervisor is gone"));
                    self.ask_for_input();
                }
            }
            Event::Signal(signal) => self.signalled(signal),
            Event::Input(bytes) => {
                self.nodes.send_all(&ToSupervisor::Input(bytes));
                self.ask_for_input();
            }
            Event::Watched(stream) => self.watchers.join(stream),
            Event::InputEnd => self.nodes.send_all(&ToSupervisor::InputEnd),
        }
    }

    fn join(&mut self, header: &StepHeader, stream: UnixStream) {
        self.watchers.header(header);
        self.kill_wait_ms = header.kill_wait_ms.unwrap_or(self.kill_wait_ms);
        let place = header.node_index;
        self.nodes.join(place, stream);
        let index = usize::try_from(place).unwrap_or(usize::MAX);
        self.ends.place(index, &header.ranks);
        if self.call.verbose
            && let Some(share) = self.record.nodes.get(index)
        {
            let (step, node) = (self.ends.step(), &share.node);
            let (count, ranks) = (header.ranks.len(), listed(&header.ranks));
            self.say(&format!(
                "srun: launching {step} on host {node}, {count} tasks: {ranks}"
            ));
        }
        if self.call.pty
            && let Some(size) = sys::terminal::size(&std::io::stdin())
        {
            let (rows, columns) = (size.rows, size.columns);
            self.nodes
                .send(place, &ToSupervisor::Size { rows, columns });
        }
        if self.aborted {
            // Only now it is known how long the cluster waits.
            if std::mem::take(&mut self.untold_abort) {
                self.say_aborted();
            }
            self.nodes.send(place, &ToSupervisor::End);
        } else if self.call.holds_tasks() {
            self.nodes.send(place, &ToSupervisor::Start);
        }
        self.ask_for_input();
    }

    fn obey(&mut self, node: u32, frame: FromSupervisor) {
        self.watchers.pass_on(&frame);
        match frame {
            FromSupervisor::Output {
                rank,
                stream,
                bytes,
            } => {
                let written = self.output.write(rank, stream, &bytes);
                self.note_written(written);
            }
            FromSupervisor::Taken(bytes) => {
                self.nodes.taken(node, bytes);
                self.ask_for_input();
            }
            FromSupervisor::Say(text) if text.starts_with(NODE_FAILURE) => {
                // Each node that is left tells of it.
                let lost = text.strip_prefix(NODE_FAILURE).unwrap_or(&text);
                let place = self
                    .record
                    .nodes
                    .iter()
                    .position(|it| it.node.as_str() == lost);
                self.lost_index = place.and_then(|place| u32::try_from(place).ok());
                if !std::mem::replace(&mut self.lost_node, true) {
                    self.say(&text);
                    // The engine ends the others, which say why; where there are none, nothing is waited for.
                    if self.record.nodes.len() > 1 {
                        self.note_abort();
                    } else {
                        self.aborted = true;
                    }
                }
            }
            FromSupervisor::NodeLost(node) => {
                // Each node that is left tells of it.
                if self.lost_nodes.insert(node.clone()) {
                    self.say(&format!("{NODE_FAILURE}{node}"));
                }
            }
            FromSupervisor::Say(text) => {
                self.say(&text);
                if text.starts_with(STEP_ENDED) {
                    self.is_cancelled = true;
                    self.note_abort();
                }
            }
            FromSupervisor::Exit { rank, status } => {
                self.ends.ended(rank, status);
                // What becomes of its tasks a lost node doesn't say.
                if self.lost_index != Some(node) {
                    self.untold.push(rank);
                }
                self.first_end.get_or_insert_with(Instant::now);
                if self.call.kill_on_bad_exit && !status.success() {
                    self.tell_ends();
                    self.end_for_bad_exit();
                }
            }
            FromSupervisor::Failed(text) => {
                self.failed = true;
                if self.aborted {
                    return;
                }
                if text == PROLOG_FAILED {
                    return self.say_prolog_failed(node);
                }
                if text.starts_with(NOT_OPENED) {
                    return self.say_not_opened(node, &text);
                }
                self.say(&format!("slurmstepd: error: {text}"));
                let index = usize::try_from(node).unwrap_or(usize::MAX);
                self.ends.lost(index);
                self.say(&format!(
                    "srun: error: {} could not be launched",
                    self.ends.step()
                ));
            }
            FromSupervisor::Done => {
                self.nodes.end(node);
                // What it did not take is of no use any more.
                self.ask_for_input();
            }
            FromSupervisor::Header(_) => {}
        }
    }

    fn lose(&mut self, node: u32, why: &str) {
        let index = usize::try_from(node).unwrap_or(usize::MAX);
        self.ends.lost(index);
        self.failed = true;
        self.say(&format!("srun: error: {why}"));
    }

    /// Says what is no error: nothing with `--quiet`.
    fn inform(&self, text: &str) {
        if !self.call.quiet {
            self.say(text);
        }
    }

    fn say(&self, text: &str) {
        match self.raw {
            Some(_) => self.printer.say(&format!("{text}\r")),
            None => self.printer.say(text),
        }
    }

    fn stand(&self) {
        for line in self.ends.standing() {
            self.inform(&line);
        }
    }

    /// What tasks wrote was passed on, or could not be. Where a disk takes none for now, as a full one, the step goes on, as in
    /// Slurm.
    fn note_written(&mut self, written: io::Result<()>) {
        match written {
            Ok(()) => {}
            Err(error) if sys::disk_errors::may_pass(&error) => self.tell_loss(&error),
            // Nobody reads what the step writes: `srun yes | head`.
            Err(_) if !self.aborted => self.abort(&ToSupervisor::End),
            Err(_) => {}
        }
    }

    fn tell_loss(&mut self, error: &io::Error) {
        if !std::mem::replace(&mut self.told_loss, true) {
            let why = crate::slurm::system_words(error);
            self.say(&format!(
                "srun: error: output of the step is lost, it can't be written: {why}"
            ));
        }
    }

    fn tell_ends(&mut self) {
        if self.untold.is_empty() {
            return;
        }
        let mut ranks = std::mem::take(&mut self.untold);
        ranks.sort_unstable();
        for rank in &ranks {
            // That nobody reads what is left of its last line ends no others.
            if let Err(error) = self.output.end(*rank)
                && sys::disk_errors::may_pass(&error)
            {
                self.tell_loss(&error);
            }
        }
        for line in self.ends.complaints(&ranks) {
            self.say(&line);
        }
    }

    fn ask_for_input(&mut self) {
        if self.nodes.has_room_for(Input::PORTION) && !self.events.read_input() {
            self.nodes.send_all(&ToSupervisor::InputEnd);
        }
    }

    /// The name of the node at this place of the step.
    fn name(&self, node: u32) -> String {
        let share = usize::try_from(node)
            .ok()
            .and_then(|index| self.record.nodes.get(index));
        share
            .map(|share| share.node.to_string())
            .unwrap_or_default()
    }
}
