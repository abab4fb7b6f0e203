//! Checkpoints: a full disk while one is copied, one that was cut in half.

use crate::house::{ended, env, events, folder, small_disk, start, state, wait_for_file};
use expect_test::expect;
use std::fs;
use std::path::Path;
use testkit::{TestEnv, wait_until};

fn write_run(env: &TestEnv, script: &str) {
    env.write("train.sh", script);
    env.write(
        "yard.toml",
        "name = \"steps\"\nlauncher = \"none\"\n\
         command = [\"sh\", \"train.sh\", \"{checkpoints}\", \"{resume}\"]\n\
         [checkpoints]\ncomplete = \"rename\"\n[resume]\ngrace = \"1s\"\n",
    );
}

/// Waits until a checkpoint of the newest run is whole in its folder.
#[track_caller]
fn wait_until_out(folder: &Path, name: &str) {
    let manifest = folder.join(format!("checkpoints/.manifests/{name}.json"));
    wait_until(&format!("{name} is out"), || manifest.exists());
}

#[test]
fn what_a_training_wrote_last_is_kept_whatever_its_format() {
    let env = env();
    env.write("train.sh", "printf x > $1/final-7\necho trained\n");
    env.write(
        "yard.toml",
        "name = \"plain\"\nlauncher = \"none\"\n\
         command = [\"sh\", \"train.sh\", \"{checkpoints}\"]\n",
    );
    let (code, said) = ended(start(&env, &["run"]));
    assert_eq!(code, Some(0), "{said}");
    let kept = fs::read_to_string(folder(&env).join("checkpoints/final-7"));
    assert_eq!(kept.unwrap(), "x", "{said}");
}

#[test]
fn a_full_disk_is_said_and_the_training_goes_on() {
    let env = env();
    let scratch = env.trainyard_home().join("scratch");
    // The program itself is kept there too.
    let program = fs::metadata(env!("CARGO_BIN_EXE_yard")).unwrap().len();
    let options = format!("size={}", program + (6 << 20));
    let name = "checkpoint::a_full_disk_is_said_and_the_training_goes_on";
    let Some(disk) = small_disk(name, &scratch, &options) else {
        return;
    };
    let work = env.work();
    write_run(
        &env,
        &format!(
            "save() {{ head -c $2 /dev/zero > $1.new && mv $1.new $1; }}\n\
             hold() {{ touch {0}/$1; while [ ! -e {0}/$2 ]; do sleep 0.02; done; }}\n\
             save $1/step-1 1000000\nhold one go-two\n\
             save $1/step-2 9000000\nhold two go-three\n\
             save $1/step-3 2000000\nhold three go\necho trained\n",
            work.display()
        ),
    );
    let run = start(&env, &["run"]);
    wait_for_file(&env, "one");
    let run_folder = folder(&env);
    wait_until_out(&run_folder, "step-1");
    env.write("go-two", "");
    wait_until("the full disk is said", || {
        !events(&env, "checkpoint-not-out").is_empty()
    });
    env.write("go-three", "");
    wait_until_out(&run_folder, "step-3");
    env.write("go", "");
    let (code, said) = ended(run);
    assert_eq!(code, Some(0), "{said}");
    let line = said.lines().find(|line| line.contains("not saved"));
    let line = env
        .normalise(line.unwrap())
        .replace(run_id(&run_folder), "$RUN");
    // How much the program took of the small disk differs from build to build.
    let (before, after) = line.split_once(" are free").unwrap();
    let (before, free) = before.rsplit_once(", ").unwrap();
    assert!(
        free.starts_with(['4', '5']) && free.ends_with(" MB"),
        "{line}"
    );
    let line = format!("{before}, $FREE are free{after}");
    expect![[r#"  start 1      checkpoint step-2 not saved: 9.0 MB are to be copied, $FREE are free in "$TEST/yard/scratch/work/$RUN/checkpoints/.incoming"; free some, or set [checkpoints] keep = N; the training continues, and saved checkpoints stay"#]].assert_eq(&line);
    let kept: Vec<_> = events(&env, "checkpoint-out")
        .iter()
        .map(|event| event["name"].to_string())
        .collect();
    assert_eq!(kept, ["\"step-1\"", "\"step-3\""]);
    let incoming = fs::read_dir(run_folder.join("checkpoints/.incoming"));
    assert_eq!(incoming.unwrap().count(), 0, "nothing half is left");
    drop(disk);
}

/// The last one of a training that is done is not thrown away with its node's folder.
#[test]
fn a_last_checkpoint_that_finds_no_room_stays_on_its_node() {
    let env = env();
    let scratch = env.trainyard_home().join("scratch");
    let program = fs::metadata(env!("CARGO_BIN_EXE_yard")).unwrap().len();
    let options = format!("size={}", program + (6 << 20));
    let name = "checkpoint::a_last_checkpoint_that_finds_no_room_stays_on_its_node";
    let Some(_disk) = small_disk(name, &scratch, &options) else {
        return;
    };
    write_run(
        &env,
        "head -c 9000000 /dev/zero > $1/new && mv $1/new $1/step-9\necho $1\n",
    );
    // Done, and not all of it saved.
    let said = env.yard(&["run"]).code(6).stdout;
    let place = said.lines().find_map(|line| line.strip_prefix("  [0] "));
    let kept = Path::new(place.unwrap()).join("step-9");
    assert_eq!(fs::metadata(&kept).unwrap().len(), 9_000_000, "{said}");
    let words = format!(
        "step-9 could not be copied and stays on the node in {:?} until the run's next start there",
        kept.parent().unwrap()
    );
    assert!(said.contains(&words), "{said}");
    let fetch = format!("cp -r {} FOLDER", kept.display());
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line(&said).contains(&fetch), "{said}");
    let listed = env.yard(&["ls"]).success();
    assert!(listed.contains("unsaved"), "{listed}");
    // What the run's next start there does.
    let run = kept.parent().and_then(Path::parent).unwrap();
    fs::remove_dir_all(run).unwrap();
    fs::remove_file(run.with_added_extension("lock")).unwrap();
}

#[test]
fn output_that_fills_the_disk_is_the_cause_that_is_given() {
    let env = env();
    let scratch = env.trainyard_home().join("scratch");
    let program = fs::metadata(env!("CARGO_BIN_EXE_yard")).unwrap().len();
    let options = format!("size={}", program + (2 << 20));
    let name = "checkpoint::output_that_fills_the_disk_is_the_cause_that_is_given";
    let Some(_disk) = small_disk(name, &scratch, &options) else {
        return;
    };
    let script = "head -c 9000000 /dev/zero | tr '\\0' '\\n'";
    let outcome = env.yard(&["run", "--", "sh", "-c", script]).code(1);
    let failed = outcome
        .stdout
        .lines()
        .find(|line| line.contains("failed: "));
    let failed = failed.unwrap_or_default();
    assert!(
        failed.contains("bytes are free in the run folder"),
        "{failed}"
    );
}

fn run_id(folder: &Path) -> &str {
    folder.file_name().unwrap().to_str().unwrap()
}

/// A run whose newest checkpoint is damaged while it trains starts again from the one before.
#[track_caller]
fn check_damage(damage: impl Fn(&Path), words: &str) {
    let env = env();
    let work = env.work();
    write_run(
        &env,
        &format!(
            "save() {{ echo weights of $1 > $1.new && mv $1.new $1; }}\n\
             echo resumes from $(ls $2)\n\
             if [ -z \"$(ls $2)\" ]; then\n\
               save $1/step-1; save $1/step-2; touch {0}/begun\n\
               while [ ! -e {0}/go ]; do sleep 0.02; done\n\
             else cat $2/*; save $1/step-2; fi\n",
            work.display()
        ),
    );
    let run = start(&env, &["run"]);
    wait_for_file(&env, "begun");
    let run_folder = folder(&env);
    wait_until_out(&run_folder, "step-1");
    wait_until_out(&run_folder, "step-2");
    damage(&run_folder.join("checkpoints/step-2"));
    env.yard(&["requeue", "@"]).success();
    let (code, said) = ended(run);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("resumes from step-1"), "{said}");
    assert!(said.contains("/step-1\n"), "{said}");
    assert!(said.contains("resumed at step 1"), "{said}");
    assert!(said.contains(words), "{said}");
    assert_eq!(state(&env), "done");
    // Written again, it is whole again.
    let again = fs::read_to_string(run_folder.join("checkpoints/step-2")).unwrap();
    assert!(again.ends_with("/step-2\n"), "{again}");
    let manifest = run_folder.join("checkpoints/.manifests/step-2.json");
    let manifest = fs::read_to_string(manifest).unwrap();
    assert!(manifest.contains(&format!("{}", again.len())), "{manifest}");
}

#[test]
fn one_that_was_cut_in_half_is_passed_over() {
    check_damage(
        |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        },
        "checkpoint step-2 is damaged in the run folder and is passed over",
    );
}

#[test]
fn one_with_other_bytes_is_passed_over() {
    check_damage(
        |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[3] ^= 1;
            fs::write(path, bytes).unwrap();
        },
        "checkpoint step-2 can't be resumed from",
    );
}
