//! Steps whose streams go to `srun`: the test is `srun`.

use crate::Test;
use crate::step::{Step, lives, until};
use api::step_io::{FrameReader, FromSupervisor, StepFrame, TaskStream, ToSupervisor};
use engine::spec::{EndedBy, Reach, Streams, SupervisorCall};
use model::OpenMode;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};

pub const TESTS: &[Test] = &[
    (
        "a_hundred_megabytes_come_whole",
        a_hundred_megabytes_come_whole,
    ),
    ("input_goes_to_every_task", input_goes_to_every_task),
    (
        "input_that_comes_with_the_start_is_kept",
        input_that_comes_with_the_start_is_kept,
    ),
    (
        "input_that_nobody_reads_keeps_no_signal_back",
        input_that_nobody_reads_keeps_no_signal_back,
    ),
    (
        "an_srun_that_dies_takes_its_step_along",
        an_srun_that_dies_takes_its_step_along,
    ),
    (
        "a_step_that_survived_sigterm_tells_of_its_end",
        a_step_that_survived_sigterm_tells_of_its_end,
    ),
    ("a_slow_srun_is_waited_for", a_slow_srun_is_waited_for),
    ("a_terminal_with_a_size", a_terminal_with_a_size),
    (
        "a_launch_error_is_told_to_srun",
        a_launch_error_is_told_to_srun,
    ),
    ("labels_stand_in_files_too", labels_stand_in_files_too),
    ("output_of_one_task_only", output_of_one_task_only),
    (
        "what_writes_without_an_end_keeps_no_step_alive",
        what_writes_without_an_end_keeps_no_step_alive,
    ),
    (
        "a_pipe_that_nobody_reads_gets_no_labels",
        a_pipe_that_nobody_reads_gets_no_labels,
    ),
];

/// `srun`'s side of one supervisor.
struct Srun {
    stream: UnixStream,
    reader: FrameReader,
}

/// What a supervisor sent, put together.
#[derive(Default)]
struct Received {
    out: Vec<Vec<u8>>,
    err: Vec<u8>,
    exits: Vec<(u32, i32)>,
    said: Vec<String>,
    taken: usize,
    failed: Option<String>,
    done: bool,
}

fn listen(step: &mut Step, change: impl FnOnce(&mut Streams)) -> UnixListener {
    let listen = step.path("srun.sock");
    step.spec.streams = Streams::Srun {
        listen: listen.clone(),
        pty: false,
        output: None,
        error: None,
        input: None,
        open_mode: OpenMode::Truncate,
        label: false,
        waits: false,
    };
    change(&mut step.spec.streams);
    UnixListener::bind(listen).unwrap()
}

/// Starts the step and takes its supervisor's call.
fn start(mut step: Step, change: impl FnOnce(&mut Streams)) -> (Step, Srun) {
    let listener = listen(&mut step, change);
    let step = step.start();
    let (stream, _) = listener.accept().unwrap();
    let mut srun = Srun {
        stream,
        reader: FrameReader::default(),
    };
    let Some(FromSupervisor::Header(header)) = srun.next() else {
        panic!("no header")
    };
    assert_eq!(header.node, "n1");
    (step, srun)
}

impl Srun {
    fn next(&mut self) -> Option<FromSupervisor> {
        loop {
            if let Some(frame) = self.reader.take().unwrap() {
                return Some(frame);
            }
            let mut chunk = [0; 65536];
            match self.stream.read(&mut chunk).unwrap() {
                0 => return None,
                length => self.reader.push(&chunk[..length]),
            }
        }
    }

    fn send(&mut self, frame: &ToSupervisor) {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        self.stream.write_all(&bytes).unwrap();
    }

    /// Hears until the supervisor has said all, or `enough`.
    fn hear(&mut self, heard: &mut Received, enough: impl Fn(&Received) -> bool) {
        while !enough(heard) {
            let Some(frame) = self.next() else { return };
            match frame {
                FromSupervisor::Output {
                    rank,
                    stream,
                    bytes,
                } => match stream {
                    TaskStream::Out => {
                        let rank = usize::try_from(rank).unwrap();
                        heard.out.resize(heard.out.len().max(rank + 1), Vec::new());
                        heard.out[rank].extend(bytes);
                    }
                    TaskStream::Err => heard.err.extend(bytes),
                },
                FromSupervisor::Taken(bytes) => heard.taken += usize::try_from(bytes).unwrap(),
                FromSupervisor::Say(text) => heard.said.push(text),
                FromSupervisor::Exit { rank, status } => heard.exits.push((rank, status.0)),
                FromSupervisor::Failed(text) => heard.failed = Some(text),
                FromSupervisor::NodeLost(node) => heard.said.push(node),
                FromSupervisor::Done => heard.done = true,
                FromSupervisor::Header(_) => panic!("a second header"),
            }
        }
    }

    fn hear_all(&mut self) -> Received {
        let mut heard = Received::default();
        self.hear(&mut heard, |_| false);
        assert!(heard.done);
        heard
    }
}

fn a_hundred_megabytes_come_whole() {
    let script = "head -c 100000000 /dev/zero; echo end; seq 200000 >&2";
    let (mut step, mut srun) = start(Step::command(&["sh", "-c", script], 1), |_| {});
    let heard = srun.hear_all();
    assert_eq!(heard.out[0].len(), 100_000_004);
    assert!(heard.out[0].ends_with(b"\0end\n"));
    let lines: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    assert!(heard.err == lines.as_bytes());
    assert_eq!(heard.exits, [(0, 0)]);
    assert_eq!(step.statuses(), [0]);
}

fn input_goes_to_every_task() {
    let (_step, mut srun) = start(Step::command(&["cat"], 2), |_| {});
    let bytes: Vec<u8> = (0..200_000_u32).flat_map(u32::to_be_bytes).collect();
    let mut heard = Received::default();
    let mut sent = 0;
    for part in bytes.chunks(50_000) {
        srun.send(&ToSupervisor::Input(part.to_vec()));
        sent += part.len();
        srun.hear(&mut heard, |heard| heard.taken + 150_000 >= sent);
    }
    srun.send(&ToSupervisor::InputEnd);
    srun.hear(&mut heard, |_| false);
    assert!(heard.done && heard.out == [bytes.clone(), bytes]);
}

/// As `srun --bcast` and one with a prolog send it: the tasks wait for their start.
fn input_that_comes_with_the_start_is_kept() {
    let (mut step, mut srun) = start(Step::command(&["cat"], 2), |streams| {
        if let Streams::Srun { waits, .. } = streams {
            *waits = true;
        }
    });
    let mut bytes = Vec::new();
    let frames = [
        ToSupervisor::Start,
        ToSupervisor::Input(b"early".to_vec()),
        ToSupervisor::InputEnd,
    ];
    for frame in frames {
        frame.encode(&mut bytes);
    }
    srun.stream.write_all(&bytes).unwrap();
    let heard = srun.hear_all();
    assert_eq!(heard.out, [b"early", b"early"]);
    assert_eq!(step.statuses(), [0, 0]);
}

fn input_that_nobody_reads_keeps_no_signal_back() {
    let script = "trap 'echo got; exit 0' USR1; echo ready; while :; do sleep 0.01; done";
    let (_step, mut srun) = start(Step::command(&["sh", "-c", script], 1), |_| {});
    let mut heard = Received::default();
    srun.hear(&mut heard, |heard| !heard.out.is_empty());
    srun.send(&ToSupervisor::Input(vec![b'x'; 200_000]));
    srun.send(&ToSupervisor::Signal(10));
    srun.hear(&mut heard, |_| false);
    assert_eq!(heard.out, [b"ready\ngot\n"]);
}

fn an_srun_that_dies_takes_its_step_along() {
    let script = "echo $$ > pid; exec sleep 1000";
    let (mut step, srun) = start(Step::command(&["sh", "-c", script], 1), |_| {});
    let pid = step.pid_in("pid");
    drop(srun);
    assert_eq!(step.statuses(), [15]);
    assert_eq!(step.exit().ended_by, Some(EndedBy::Stop));
    assert!(!lives(pid));
}

/// `srun` heard of no end, and said that the step was killed by nobody.
fn a_step_that_survived_sigterm_tells_of_its_end() {
    let script = "trap 'echo got' TERM; echo ready; while :; do sleep 0.01; done";
    let mut step = Step::command(&["sh", "-c", script], 1);
    step.spec.kill_wait_ms = 100;
    let (mut step, mut srun) = start(step, |_| {});
    let mut heard = Received::default();
    srun.hear(&mut heard, |heard| !heard.out.is_empty());
    let signal = SupervisorCall::Signal {
        signal: 15,
        reach: Reach::Tasks,
    };
    for _ in 0..2 {
        step.call(&signal);
    }
    srun.hear(&mut heard, |heard| heard.out[0].ends_with(b"got\n"));
    assert!(heard.said.is_empty(), "{:?}", heard.said);
    step.call(&SupervisorCall::Kill);
    srun.hear(&mut heard, |_| false);
    assert_eq!(step.statuses(), [9]);
    let begin = "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT ";
    let told = String::from_utf8(heard.err).unwrap();
    assert_eq!(told.matches(begin).count(), 1, "{told}");
    let said: Vec<bool> = heard.said.iter().map(|it| it.starts_with(begin)).collect();
    assert_eq!(said, [true], "{:?}", heard.said);
}

fn a_slow_srun_is_waited_for() {
    let script = "echo $$ > pid; seq 1000000";
    let (mut step, mut srun) = start(Step::command(&["sh", "-c", script], 1), |_| {});
    let pid = step.pid_in("pid");
    // Nobody reads: the pipes and buffers fill, and the task waits in its write.
    until("the task waits", || {
        let path = format!("/proc/{pid}/stat");
        std::fs::read_to_string(path).is_ok_and(|text| text.contains(") S "))
    });
    assert_eq!(step.exit_file(), None);
    let heard = srun.hear_all();
    assert!(heard.out[0].ends_with(b"\n999999\n1000000\n"));
    assert_eq!(heard.out[0].len(), 6_888_896);
    assert_eq!(step.statuses(), [0]);
}

fn a_terminal_with_a_size() {
    let script = "test -t 0 && : > /dev/tty && test -t 1 && test -t 2 && echo terminal; read line; stty size; echo $line";
    let (_step, mut srun) = start(Step::command(&["sh", "-c", script], 1), |streams| {
        if let Streams::Srun { pty, .. } = streams {
            *pty = true;
        }
    });
    srun.send(&ToSupervisor::Size {
        rows: 33,
        columns: 111,
    });
    srun.send(&ToSupervisor::Input(b"hello\r".to_vec()));
    let heard = srun.hear_all();
    let text = String::from_utf8_lossy(&heard.out[0]).replace("hello\r\n", "");
    assert_eq!(text.replace("hello", ""), "terminal\r\n33 111\r\n");
    assert_eq!(heard.exits, [(0, 0)]);
}

fn a_launch_error_is_told_to_srun() {
    let (mut step, mut srun) = start(Step::command(&["true"], 1), |streams| {
        if let Streams::Srun { input, .. } = streams {
            *input = Some("missing".to_owned());
        }
    });
    let heard = srun.hear_all();
    let error = heard.failed.unwrap();
    let words = "Could not open stdin file: No such file or directory\n";
    assert!(
        error.starts_with(words) && error.ends_with("/missing"),
        "{error}"
    );
    assert_eq!(step.exit().launch_error, Some(error));
}

/// With `--label` and `--output`.
fn start_labelled(step: Step, to: &str) -> (Step, Srun) {
    start(step, |streams| {
        if let Streams::Srun { output, label, .. } = streams {
            *output = Some(to.to_owned());
            *label = true;
        }
    })
}

fn labels_stand_in_files_too() {
    let script = "printf 'a\\nb'; echo err >&2; exec 2>&-; sleep 0.1; printf c";
    let (step, mut srun) = start_labelled(Step::command(&["sh", "-c", script], 2), "out-%j");
    let heard = srun.hear_all();
    assert_eq!(heard.exits.len(), 2);
    let written = std::fs::read_to_string(step.path("out-7")).unwrap();
    let mut lines: Vec<&str> = written.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        ["0: a", "0: bc", "0: err", "1: a", "1: bc", "1: err"]
    );
}

/// The end of its errors is looked for as it fails, while another goes on writing them.
fn what_writes_without_an_end_keeps_no_step_alive() {
    let script = "yes >&2 & exit 1";
    let (step, mut srun) = start_labelled(Step::command(&["sh", "-c", script], 1), "out");
    let heard = srun.hear_all();
    assert_eq!(heard.exits.len(), 1);
    let written = std::fs::read_to_string(step.path("out")).unwrap();
    assert!(written.lines().all(|line| line == "0: y"));
}

/// The supervisor waited for its reader, and heard of no cancel.
fn a_pipe_that_nobody_reads_gets_no_labels() {
    let step = Step::command(&["sh", "-c", "echo $$ > pid; exec yes"], 1);
    let pipe = step.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let mut both = std::fs::File::options();
    let _unread = both.read(true).write(true).open(&pipe).unwrap();
    let (mut step, mut srun) = start_labelled(step, "pipe");
    let pid = step.pid_in("pid");
    until("the task waits", || {
        let path = format!("/proc/{pid}/stat");
        std::fs::read_to_string(path).is_ok_and(|text| text.contains(") S "))
    });
    step.call(&SupervisorCall::Kill);
    srun.hear_all();
    assert_eq!(step.statuses(), [9]);
}

fn output_of_one_task_only() {
    let command = ["sh", "-c", "echo $SLURM_PROCID; echo err >&2"];
    let (_step, mut srun) = start(Step::command(&command, 3), |streams| {
        if let Streams::Srun { output, error, .. } = streams {
            *output = Some("1".to_owned());
            *error = Some("none".to_owned());
        }
    });
    let heard = srun.hear_all();
    assert_eq!(heard.out, [b"".to_vec(), b"1\n".to_vec()]);
    assert_eq!(heard.err, b"");
    assert_eq!(heard.exits.len(), 3);
}
