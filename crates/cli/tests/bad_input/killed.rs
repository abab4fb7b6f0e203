//! Engines and supervisors that are killed while a run trains.

use crate::house::{ended, env, events, go, kill, start, state, wait_for_file, waiting_command};
use std::fs;
use testkit::{TestEnv, wait_until};

#[test]
fn a_run_goes_on_without_its_engine_and_is_recorded() {
    let env = env();
    let run = start(&env, &["run", "--", "sh", "-c", &waiting_command(&env)]);
    wait_for_file(&env, "begun");
    let engine = env.engine_pid("local");
    kill(engine);
    go(&env);
    let (code, said) = ended(run);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("through"), "{said}");
    assert_eq!(state(&env), "done");
    assert_eq!(events(&env, "started").len(), 1);
    assert_ne!(env.engine_pid("local"), engine);
}

#[test]
fn nobody_has_to_call_the_engine_back() {
    let env = env();
    let command = waiting_command(&env);
    env.yard(&["run", "--detach", "--", "sh", "-c", &command])
        .success();
    wait_for_file(&env, "begun");
    kill(env.engine_pid("local"));
    go(&env);
    // The supervisor starts another to tell it the end.
    wait_until("an engine answers again", || {
        api::Client::connect_running(&env.engine_folder()).is_ok_and(|client| client.is_some())
    });
    env.yard(&["wait", "@"]).success();
    assert_eq!(state(&env), "done");
}

/// Process of the supervisor of a step of job 1.
fn supervisor(env: &TestEnv, step: &str) -> Option<u32> {
    // After it follows the tag of the submission.
    let name = format!("1.0.{step}.0.");
    let is_it = |path: &std::path::PathBuf| {
        let found = path.file_name().unwrap_or_default().to_string_lossy();
        found.starts_with(&name) && !found.ends_with(".sock")
    };
    let records = fs::read_dir(env.engine_folder().join("steps")).ok()?;
    let record = records.flatten().map(|entry| entry.path()).find(is_it)?;
    let text = fs::read_to_string(record).ok()?;
    // Who holds it stands in the first line.
    let pid: serde_json::Value = serde_json::from_str(text.lines().next()?).ok()?;
    u32::try_from(pid["pid"].as_u64()?).ok()
}

/// Kills one supervisor of a run that trains: to the job it is as if its node had failed.
#[track_caller]
fn check_comes_back(step: &str) {
    let env = env();
    let run = start(&env, &["run", "--", "sh", "-c", &waiting_command(&env)]);
    wait_for_file(&env, "begun");
    fs::remove_file(env.work().join("begun")).unwrap();
    kill(supervisor(&env, step).unwrap());
    // Not before the second start: the first could come through before it is ended.
    wait_for_file(&env, "begun");
    go(&env);
    let (code, said) = ended(run);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(state(&env), "done");
    assert_eq!(events(&env, "started").len(), 2, "it was started again");
}

#[test]
fn a_run_comes_back_after_its_first_supervisor_was_killed() {
    check_comes_back("batch");
}

#[test]
fn a_run_comes_back_after_the_supervisor_of_its_agents_was_killed() {
    check_comes_back("0");
}

#[test]
fn a_run_comes_back_after_the_supervisor_of_its_ranks_was_killed() {
    check_comes_back("1");
}
