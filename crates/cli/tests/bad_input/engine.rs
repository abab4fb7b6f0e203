//! Engines of other versions, and commands that start an engine at the same moment.

use crate::house::{ended, env, start};
use api::{Answer, Hello, HelloAnswer, LONGEST_ANSWER, Refusal, read_frame, write_frame};
use expect_test::expect;
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use sys::lock::FileLock;
use testkit::TestEnv;

/// An engine of another version, as far as versions understand each other: it answers hello, gives its
/// place away at `handover`, and refuses every other call of a client that speaks another protocol, as all
/// engines do.
struct OtherEngine {
    /// Names of the calls that it took.
    calls: Receiver<String>,
}

impl OtherEngine {
    fn serve(env: &TestEnv, version: &str, protocol: u32) -> OtherEngine {
        let folder = env.engine_folder();
        fs::create_dir_all(&folder).unwrap();
        let lock = FileLock::try_acquire(&folder.join("lock"))
            .unwrap()
            .unwrap();
        let listener = sys::socket::listen(&folder.join("engine.sock")).unwrap();
        let (calls, heard) = channel();
        let answer = HelloAnswer {
            version: version.to_owned(),
            protocol,
            pid: std::process::id(),
            store: "other".to_owned(),
            notice: None,
        };
        thread::spawn(move || {
            answer_until_handover(&listener, &answer, &calls);
            let _gone = fs::remove_file(folder.join("engine.sock"));
            drop(lock);
        });
        OtherEngine { calls: heard }
    }
}

fn answer_until_handover(listener: &UnixListener, answer: &HelloAnswer, calls: &Sender<String>) {
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let Ok(Some(hello)) = read_frame::<Hello>(&mut stream, LONGEST_ANSWER) else {
            continue;
        };
        write_frame(&mut stream, answer).unwrap();
        // A client that has seen enough closes.
        while let Ok(Some(call)) = read_frame::<Value>(&mut stream, LONGEST_ANSWER) {
            let name = call["call"].as_str().unwrap().to_owned();
            let last = name == "handover";
            if !last && hello.protocol != answer.protocol {
                let message = "another protocol".to_owned();
                let refused = Answer::Refused(Refusal::Invalid { message });
                // Hello's answer may have been enough.
                let _gone = write_frame(&mut stream, &refused);
                continue;
            }
            calls.send(name).unwrap();
            if last {
                // The end of the connection is the answer.
                return;
            }
        }
    }
}

/// A look at all engines neither replaces one nor takes it for stopped.
#[test]
fn engines_of_other_versions_are_listed_as_such() {
    for (protocol, word) in [(0, "older"), (999, "newer")] {
        let env = env();
        let other = OtherEngine::serve(&env, "1.0.0", protocol);
        let listed = env.yard(&["engine", "ls"]).success();
        let row = listed.lines().find(|line| line.starts_with("local"));
        let row: Vec<&str> = row.unwrap_or(&listed).split_whitespace().collect();
        let says = format!("local {word} runs with protocol {protocol},");
        assert!(row.join(" ").starts_with(&says), "{listed}");
        let listed = env.yard(&["engine", "ls", "--json"]).success();
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let said = (&listed[0]["running"], &listed[0]["protocol"]);
        assert_eq!(said, (&Value::from(true), &Value::from(protocol)));
        assert_eq!(other.calls.try_iter().count(), 0, "it did nothing");
    }
}

#[test]
fn an_older_engine_gives_its_place_to_ours() {
    let env = env();
    let other = OtherEngine::serve(&env, "0.0.1", 0);
    let said = env.yard(&["run", "--", "echo", "served"]).success();
    assert!(said.contains("[0] served"), "{said}");
    assert_eq!(other.calls.iter().collect::<Vec<_>>(), ["handover"]);
}

#[test]
fn a_newer_engine_is_left_alone() {
    let env = env();
    let other = OtherEngine::serve(&env, "99.0.0", 999);
    let ours = format!("protocol {}", api::PROTOCOL);
    let normalised = |text: &str| env.normalise(text).replace(&ours, "protocol OURS");
    let refused = env.yard(&["run", "--", "true"]).code(4);
    expect![[r#"
        status 4
        -- stdout
        -- stderr
        error: local can't be reached
          there   this yard (0.1.0, protocol OURS) can't talk to the running engine: it is newer (99.0.0,
                  protocol 999)
          do      use a yard of protocol 999, or end that engine with its own `yard engine stop`
    "#]].assert_eq(&normalised(&refused.snapshot()));
    let refused = env.slurm("sbatch", &["--wrap", "true"]).code(1);
    expect![[r#"
        status 1
        -- stdout
        -- stderr
        sbatch: error: this yard (0.1.0, protocol OURS) can't talk to the running engine: it is newer (99.0.0, protocol 999)
        sbatch: do: use a yard of protocol 999, or end that engine with its own `yard engine stop`
    "#]].assert_eq(&normalised(&refused.snapshot()));
    let _refused = env.yard(&["engine", "stop"]).code(4);
    assert_eq!(other.calls.try_iter().count(), 0, "it did nothing");
    assert!(!env.engine_folder().join("store.sqlite").exists());
    let runs = fs::read_dir(env.trainyard_home().join("scratch"));
    assert!(runs.is_err(), "no run folder was made");
}

/// Leaves a program as that of the engine of a protocol; it notes what it is asked, and says so.
fn serving_program(env: &TestEnv, protocol: u32) -> PathBuf {
    let place = env
        .engine_folder()
        .join(format!("bin/99.0.0-{protocol}-abc"));
    fs::create_dir_all(&place).unwrap();
    let program = place.join("yard");
    let text = "#!/bin/sh\nprintf \"the engine's own:\"\nprintf ' <%s>' \"$@\"\ncat\n";
    fs::write(&program, text).unwrap();
    for path in [&place, &program, place.parent().unwrap()] {
        fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    api::leave_serving_program(&api::EngineFolder::new(env.engine_folder()), &program).unwrap();
    program
}

/// As in a job that began under an older program, when a newer one's engine has taken over.
#[test]
fn a_newer_engine_is_asked_by_its_own_program_in_jobs_and_under_slurms_names() {
    let env = env();
    let other = OtherEngine::serve(&env, "99.0.0", 999);
    let program = serving_program(&env, 999);
    let script = env.write("script", "#!/bin/sh\n");
    let sbatch = env.program(
        env!("CARGO_BIN_EXE_yard"),
        &["slurm", "sbatch", "-J", "a b"],
    );
    let said = with_stdin(sbatch, &script);
    assert_eq!(
        said,
        "the engine's own: <slurm> <sbatch> <-J> <a b>#!/bin/sh\n"
    );
    let in_job = |args: &[&str]| {
        let mut command = env.program(env!("CARGO_BIN_EXE_yard"), args);
        command.env("TRAINYARD_ENGINE", env.engine_folder());
        with_stdin(command, &script)
    };
    assert_eq!(in_job(&["ls"]), "the engine's own: <ls>#!/bin/sh\n");
    // A person's own yard is no job's: which one it is to be is theirs to say.
    let refused = env.yard(&["engine", "status"]).code(4);
    let said = env.normalise(&refused.snapshot());
    let program = env.normalise(&program.display().to_string());
    assert!(
        said.split_whitespace()
            .collect::<String>()
            .contains(&format!("use{program},or")),
        "{said}"
    );
    assert_eq!(
        other.calls.try_iter().count(),
        0,
        "no call of another protocol"
    );
}

/// The link is left of an engine that was newer, and one of this program's serves.
#[test]
fn the_program_of_a_newer_engine_that_is_gone_is_not_gone_on_as() {
    let env = env();
    env.slurm("sbatch", &["--wrap", "true"]).success();
    serving_program(&env, 999);
    let said = env
        .slurm("squeue", &["--noheader", "--states=all", "-o", "%i"])
        .success();
    assert_eq!(said, "1\n");
}

fn with_stdin(mut command: Command, file: &Path) -> String {
    let output = command.stdin(File::open(file).unwrap()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the same command several times at the same moment where no engine runs yet.
#[track_caller]
fn check_at_once(env: &TestEnv, args: &[&str]) {
    let runs: Vec<_> = (0..4).map(|_| start(env, args)).collect();
    for run in runs {
        let (code, said) = ended(run);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("[0] right"), "{said}");
    }
    let log = fs::read_to_string(env.engine_folder().join("engine.log")).unwrap();
    let served = log.lines().filter(|line| line.ends_with(" serves")).count();
    assert_eq!(served, 1, "one engine:\n{log}");
    let listed = env.yard(&["ls", "--json"]).success();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let mut jobs: Vec<_> = listed["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["job"].as_u64())
        .collect();
    jobs.sort();
    assert_eq!(jobs, [Some(1), Some(2), Some(3), Some(4)], "{listed}");
}

#[test]
fn runs_at_the_same_moment_share_one_engine() {
    check_at_once(&env(), &["run", "--", "echo", "right"]);
}

mod slow {
    use super::{check_at_once, env};

    #[test]
    fn runs_at_the_same_moment_share_one_environment() {
        let env = env();
        env.write("requirements.txt", "# nothing\n");
        env.write(
            "yard.toml",
            "name = \"twin\"\ncommand = [\"python\", \"-c\", \"import sys; print('right' if sys.prefix != sys.base_prefix else 'wrong')\"]\n\
             launcher = \"none\"\n[environment]\nrequirements = \"requirements.txt\"\n",
        );
        check_at_once(&env, &["run"]);
    }
}

/// Whoever starts it may keep new files even from himself; a job's umask is its own.
#[test]
fn an_engine_works_whatever_the_umask_that_it_was_started_with() {
    let env = env();
    let yard = env!("CARGO_BIN_EXE_yard");
    let script =
        format!("umask 777; {yard} slurm sbatch --wait -o /dev/null --wrap 'umask > told'");
    let told = env.write("told", "");
    let done = env.program("sh", &["-c", &script]).status().unwrap();
    assert!(done.success(), "{done}");
    assert_eq!(fs::read_to_string(told).unwrap(), "0777\n");
}
