//! `sattach`: shares the streams of a running step with its `srun`.

use super::connection::connect_to_look;
use super::srun::attached_socket;
use super::srun::output::Output;
use crate::printer::Printer;
use api::JobFilter;
use api::step_io::{FrameReader, FromSupervisor, StepFrame, TaskStream, ToSupervisor};
use model::sattach::{SattachAction, SattachArgs, USAGE, layout_text, parse};
use model::{JobState, StepId, StepRecord, StepState};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// What `--help` says above the options.
const ABOUT: &str = "\
Usage: sattach [OPTIONS] JOB.STEP
Shows what the tasks of a running step write, and passes on input, beside its srun, on Trainyard's
embedded engine as Slurm's sattach does on a cluster. Ctrl-C ends sattach alone.
";

/// `sattach --help`
pub fn help() -> String {
    super::command_help("sattach", ABOUT, "")
}

/// Runs it; returns its exit status.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    let asked = match parse(args) {
        Ok(asked) => asked,
        Err(error) => {
            if error.usage {
                printer.line(USAGE);
            }
            printer.say(&error.text);
            return 1;
        }
    };
    match asked.action {
        SattachAction::Help => printer.data(&help()),
        SattachAction::Usage => printer.line(USAGE),
        SattachAction::Version => printer.line(&super::version_line()),
        SattachAction::Attach | SattachAction::Layout => {
            return attach(&asked, printer).unwrap_or_else(|why| {
                printer.say(&format!("sattach: error: {why}"));
                1
            });
        }
    }
    0
}

fn attach(asked: &SattachArgs, printer: &Printer) -> Result<u8, String> {
    let (job, step) = asked.step;
    let no_info = |why: &str| format!("Could not get job step info: {why}");
    let unknown = || no_info("Invalid job id specified");
    let mut client = connect_to_look()
        .map_err(|error| error.to_string())?
        .ok_or_else(unknown)?;
    let steps = client.steps(job).unwrap_or_default();
    let running = |record: &&StepRecord| record.step == step && record.state == StepState::Running;
    let Some(record) = steps.iter().find(running) else {
        let jobs = client.jobs(JobFilter::of(&[job])).unwrap_or_default();
        let state = jobs.iter().find(|record| record.id == job);
        return Err(match state.map(|record| &record.state) {
            Some(JobState::Ended { .. }) => no_info("Job/step already completing or completed"),
            Some(JobState::Pending { .. }) => no_info("Job is pending execution"),
            Some(JobState::Running { .. }) | None => unknown(),
        });
    };
    if (asked.action, step) == (SattachAction::Layout, StepId::Batch) {
        let node = record.nodes.iter().map(|share| share.node.to_string());
        let script: Vec<_> = node.take(1).map(|node| (node, vec![0])).collect();
        printer.data(&layout_text(&script));
        return Ok(0);
    }
    let stream = attached_socket(client.folder().root(), job, step)
        .and_then(|socket| connect(&socket))
        .map_err(|_| {
            format!("step {job}.{step} has no srun whose streams could be shared: its output is in files")
        })?;
    if asked.input.is_some() && record.nodes.iter().map(|share| share.tasks).sum::<u32>() > 1 {
        return Err(
            "--input-filter: srun gives input to all tasks of a step; leave it out".to_owned(),
        );
    }
    let mut attached = Attached {
        asked,
        reader: FrameReader::default(),
        stream,
        nodes: Vec::new(),
    };
    if asked.action == SattachAction::Layout {
        while attached.nodes.len() < record.nodes.len() {
            if attached.next().is_none() {
                return Err(unknown());
            }
        }
        attached.nodes.sort();
        let nodes: Vec<_> = attached
            .nodes
            .into_iter()
            .map(|(_, name, ranks)| (name, ranks))
            .collect();
        printer.data(&layout_text(&nodes));
        return Ok(0);
    }
    let tasks = record.nodes.iter().map(|share| share.tasks).sum();
    attached.share(tasks, printer)
}

/// Connects to an `srun`, which may come to listen a moment after its step began.
fn connect(socket: &Path) -> io::Result<UnixStream> {
    let began = Instant::now();
    loop {
        match UnixStream::connect(socket) {
            Err(_) if began.elapsed() < MOMENT => thread::sleep(MOMENT / 50),
            connected => return connected,
        }
    }
}

/// The longest that is waited for an `srun` to listen.
const MOMENT: Duration = Duration::from_secs(1);

/// The connection with the step's `srun`.
struct Attached<'a> {
    asked: &'a SattachArgs,
    stream: UnixStream,
    reader: FrameReader,
    /// Nodes by index, with their names and ranks.
    nodes: Vec<(u32, String, Vec<u32>)>,
}

impl Attached<'_> {
    /// The next frame; `None` at the end of the step. Headers are kept.
    fn next(&mut self) -> Option<FromSupervisor> {
        let mut chunk = [0; 64 * 1024];
        loop {
            match self.reader.take::<FromSupervisor>().ok()? {
                Some(FromSupervisor::Header(header)) => {
                    let node = (header.node_index, header.node.clone(), header.ranks.clone());
                    self.nodes.push(node);
                    return Some(FromSupervisor::Header(header));
                }
                Some(frame) => return Some(frame),
                None => {}
            }
            match self.stream.read(&mut chunk) {
                Ok(length @ 1..) => self.reader.push(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return None,
            }
        }
    }

    /// Prints what the tasks write until the step ends; the worst of their exit codes.
    fn share(mut self, tasks: u32, printer: &Printer) -> Result<u8, String> {
        let input = self.stream.try_clone().map_err(|error| error.to_string())?;
        thread::spawn(move || pass_input(input));
        let labelled = self.asked.label.then_some(0..tasks).into_iter().collect();
        let mut output = Output::new(io::stdout(), io::stderr(), tasks, labelled, false);
        let mut code = 0;
        while let Some(frame) = self.next() {
            match frame {
                FromSupervisor::Output {
                    rank,
                    stream,
                    bytes,
                } => {
                    let only = match stream {
                        TaskStream::Out => self.asked.output,
                        TaskStream::Err => self.asked.error,
                    };
                    if only.is_none_or(|only| only == rank)
                        && output.write(rank, stream, &bytes).is_err()
                    {
                        return Ok(1);
                    }
                }
                FromSupervisor::Exit { rank, status } => {
                    let _ = output.end(rank);
                    let worse = match status.signal_number() {
                        0 => status.code(),
                        signal => 128 + u8::try_from(signal).unwrap_or(0),
                    };
                    if worse > 0 {
                        printer.say(&format!(
                            "sattach: error: task {rank} exited with exit code {worse}"
                        ));
                    }
                    code = code.max(worse);
                }
                _ => {}
            }
        }
        Ok(code)
    }
}

/// Passes this process's input on until it ends; that of the step goes on with its `srun`'s.
fn pass_input(mut to: UnixStream) {
    let mut portion = [0; 4096];
    loop {
        let bytes = match io::stdin().read(&mut portion) {
            Ok(length @ 1..) => portion[..length].to_vec(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => return,
        };
        let mut frame = Vec::new();
        ToSupervisor::Input(bytes).encode(&mut frame);
        if to.write_all(&frame).is_err() {
            return;
        }
    }
}
