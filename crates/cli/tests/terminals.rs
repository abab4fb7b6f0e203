//! `srun --pty`, `srun` and `salloc` at a real terminal: whom its keys reach, whose its size is, and what
//! becomes of the job once the terminal is gone.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};
use sys::set_nonblocking;
use sys::terminal::{Size, is_raw, open, set_size};
use testkit::{TestEnv, wait_until};

const WIDE: Size = Size {
    rows: 40,
    columns: 120,
};
/// A shell without settings of its user.
const SHELL: [&str; 4] = ["bash", "--norc", "--noprofile", "-i"];

const SMALL: Size = Size {
    rows: 30,
    columns: 100,
};

/// A terminal and the program that leads its session.
struct Terminal {
    /// Where keys are typed and output is read.
    ours: File,
    /// What was read.
    output: RefCell<String>,
    /// The side of the program.
    theirs: File,
    leader: Child,
}

impl Terminal {
    /// A program in a terminal of its own.
    fn with(env: &TestEnv, words: &[&str]) -> Terminal {
        let pair = open().unwrap();
        set_size(&pair.ours, SMALL).unwrap();
        let (ours, theirs) = (File::from(pair.ours), File::from(pair.theirs));
        let mut setsid = env.program("setsid", &[&["-c"], words].concat());
        let stream = || Stdio::from(theirs.try_clone().unwrap());
        setsid.stdin(stream()).stdout(stream()).stderr(stream());
        let leader = setsid.spawn().unwrap();
        set_nonblocking(&ours).unwrap();
        Terminal {
            ours,
            output: RefCell::default(),
            theirs,
            leader,
        }
    }

    /// `srun --pty` of a shell without settings of its user.
    fn with_srun(env: &TestEnv) -> Terminal {
        let yard = env!("CARGO_BIN_EXE_yard");
        let srun = [yard, "slurm", "srun", "--pty"];
        let terminal = Terminal::with(env, &[&srun[..], &SHELL].concat());
        terminal.type_keys("echo $((40+2))\r");
        terminal.wait_for("42\r\n");
        terminal
    }

    /// Nobody has the other side of the program's terminal open any more; its exit code then.
    fn vanish(self) -> Option<i32> {
        let Terminal {
            ours, mut leader, ..
        } = self;
        drop(ours);
        let mut status = None;
        wait_until("it has ended", || {
            status = leader.try_wait().unwrap();
            status.is_some()
        });
        status.and_then(|status| status.code())
    }

    fn type_keys(&self, keys: &str) {
        (&self.ours).write_all(keys.as_bytes()).unwrap();
    }

    /// All that it has shown.
    fn output(&self) -> String {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = (&self.ours).read(&mut bytes) {
            let text = String::from_utf8_lossy(&bytes[..count]);
            self.output.borrow_mut().push_str(&text);
        }
        self.output.borrow().clone()
    }

    #[track_caller]
    fn wait_for(&self, text: &str) {
        wait_until(&format!("the terminal shows {text:?}"), || {
            self.output().contains(text)
        });
    }

    /// Its exit code, once it has ended. It may have more to print than a terminal holds.
    fn code(&mut self) -> Option<i32> {
        let mut status = None;
        wait_until("it has ended", || {
            let _shown = self.output();
            status = self.leader.try_wait().unwrap();
            status.is_some()
        });
        status.and_then(|status| status.code())
    }
}

fn env() -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.yard(&["engine", "start"]).success();
    env
}

/// The process of the environment with this command line, whose program may have a path before it.
fn process(env: &TestEnv, words: &str) -> Option<u32> {
    let all = testkit::that_mention(env.root());
    let mut found = all
        .into_iter()
        .filter(|(_, command)| command == words || command.rsplit('/').next() == Some(words));
    found.next().map(|(pid, _)| pid)
}

fn wait_for_sleep(env: &TestEnv, seconds: &str) {
    let words = format!("sleep {seconds}");
    wait_until(&format!("{words} runs"), || process(env, &words).is_some());
}

fn wait_until_no_job_is_left(env: &TestEnv) {
    wait_until("no job is left", || {
        env.slurm("squeue", &["-h"]).success().is_empty()
    });
}

#[test]
fn keys_reach_the_program_and_its_jobs() {
    let env = env();
    let mut terminal = Terminal::with_srun(&env);
    assert!(is_raw(&terminal.theirs));
    // Ctrl-C ends what the shell runs, and not srun.
    terminal.type_keys("sleep 4811\r");
    wait_for_sleep(&env, "4811");
    terminal.type_keys("\x03");
    terminal.type_keys("echo first $?\r");
    terminal.wait_for("first 130\r\n");
    // Ctrl-Z stops it; in the foreground again it has the keys again.
    terminal.type_keys("sleep 4812\r");
    wait_for_sleep(&env, "4812");
    terminal.type_keys("\x1a");
    terminal.wait_for("Stopped");
    terminal.type_keys("echo second $?\r");
    terminal.wait_for("second 148\r\n");
    terminal.type_keys("fg\r");
    wait_until("it goes on", || {
        let sleep = process(&env, "sleep 4812");
        sleep.is_some_and(|pid| !sys::process::is_stopped(pid))
    });
    terminal.type_keys("\x03");
    terminal.type_keys("echo third $?\r");
    terminal.wait_for("third 130\r\n");
    terminal.type_keys("exit 7\r");
    assert_eq!(terminal.code(), Some(7), "{}", terminal.output());
    assert!(!is_raw(&terminal.theirs));
    wait_until_no_job_is_left(&env);
}

#[test]
fn its_size_is_the_programs() {
    let env = env();
    let mut terminal = Terminal::with_srun(&env);
    terminal.type_keys("stty size\r");
    terminal.wait_for("30 100\r\n");
    terminal.type_keys("trap 'echo now $(stty size)' WINCH; echo trap $((1+1))\r");
    terminal.wait_for("trap 2\r\n");
    set_size(&terminal.ours, WIDE).unwrap();
    // The shell runs its trap once it has read a line.
    wait_until("the program hears of it", || {
        terminal.type_keys("\r");
        terminal.output().contains("now 40 120\r\n")
    });
    terminal.type_keys("exit\r");
    assert_eq!(terminal.code(), Some(0), "{}", terminal.output());
    wait_until_no_job_is_left(&env);
}

#[test]
fn where_it_disappears_the_step_ends() {
    let env = env();
    let terminal = Terminal::with_srun(&env);
    terminal.type_keys("sleep 4813\r");
    wait_for_sleep(&env, "4813");
    assert_ne!(terminal.vanish(), Some(0));
    wait_until_no_job_is_left(&env);
    assert_eq!(process(&env, "sleep 4813"), None);
}

#[test]
fn where_it_disappears_the_allocation_of_salloc_ends() {
    let env = env();
    let yard = env!("CARGO_BIN_EXE_yard");
    let salloc = [yard, "slurm", "salloc"];
    let terminal = Terminal::with(&env, &[&salloc[..], &SHELL].concat());
    terminal.wait_for("Granted job allocation 1\r\n");
    terminal.type_keys(&format!("{yard} slurm srun sleep 4814\r"));
    wait_for_sleep(&env, "4814");
    assert_eq!(terminal.vanish(), Some(1));
    wait_until_no_job_is_left(&env);
    assert_eq!(process(&env, "sleep 4814"), None);
}

/// Without `--pty` the keys are those of `srun` itself, as of any other program.
#[test]
fn a_shell_stops_srun_and_lets_it_go_on() {
    let env = env();
    let mut terminal = Terminal::with(&env, &SHELL);
    let yard = env!("CARGO_BIN_EXE_yard");
    terminal.type_keys(&format!(
        "{yard} slurm srun --quit-on-interrupt sleep 4815\r"
    ));
    wait_for_sleep(&env, "4815");
    terminal.type_keys("\x1a");
    terminal.wait_for("Stopped");
    let srun = format!("{yard} slurm srun --quit-on-interrupt sleep 4815");
    let pid = process(&env, &srun).unwrap();
    assert!(sys::process::is_stopped(pid));
    terminal.type_keys("fg\r");
    wait_until("it goes on", || !sys::process::is_stopped(pid));
    terminal.type_keys("\x03");
    wait_until_no_job_is_left(&env);
    terminal.type_keys("echo ended $?\r");
    wait_until("its shell knows how it ended", || {
        terminal.output().contains("ended 130\r\n")
    });
    terminal.type_keys("exit 5\r");
    assert_eq!(terminal.code(), Some(5), "{}", terminal.output());
}
