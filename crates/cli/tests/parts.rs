//! Checkpoints of which each node writes a part: what comes back has all of them.

use std::fs;
use std::path::PathBuf;
use testkit::{TestEnv, wait_until};

/// Trains on two nodes until the limit ends it; started again, each rank says what it finds. `save` is run
/// each step, with the step in `$i`, the rank in `$R` and the folder in `$2`.
#[track_caller]
fn check(checkpoints: &str, save: &str) {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let program = format!(
        r#"R=$SLURM_PROCID
if [ -n "$(ls -A "$1")" ]; then echo resumed from $(cd "$1" && find . -type f | sort); exit 0; fi
i=0
while :; do i=$((i+1)); {save}; sleep 0.5; done
"#
    );
    env.write("train.sh", &program);
    let run = format!(
        "name = \"two\"\ncommand = [\"sh\", \"train.sh\", \"{{resume}}\", \"{{checkpoints}}\"]\n\
         resources = {{ nodes = 2, time = \"24s\" }}\nresume = {{ grace = \"12s\" }}\n{checkpoints}\n"
    );
    env.write("yard.toml", &run);
    env.yard(&["engine", "start", "two", "--nodes", "2"])
        .success();
    let said = env.yard(&["run", "--on", "two"]).success();
    let printed = env.yard(&["logs"]).success();
    let found: Vec<&str> = printed
        .lines()
        .filter(|line| line.contains("resumed from ./"))
        .collect();
    assert_eq!(found.len(), 2, "{printed}\n{said}");
    for line in found {
        let both = line.contains("shard0.bin") && line.contains("shard1.bin");
        assert!(both, "{line}\n{said}");
    }
    env.yard(&["engine", "stop", "two"]).success();
}

/// The other node had no marker of its own, so that its part was in no checkpoint.
#[test]
fn a_marker_of_one_node_counts_for_the_parts_of_all() {
    check(
        "checkpoints = { complete = \"marker\", marker = \"done\" }",
        r#"mkdir -p "$2/step-$i"; echo "$i" > "$2/step-$i/shard$R.bin"
if [ $R = 0 ]; then sleep 0.5; touch "$2/step-$i/done"; fi"#,
    );
}

#[test]
fn a_checkpoint_that_one_node_renames_later_is_not_saved_without_its_part() {
    check(
        "checkpoints = { complete = \"rename\" }",
        r#"if [ $R = 1 ]; then sleep 0.9; else sleep 0.3; fi; mkdir "$2/.step-$i"
echo "$i" > "$2/.step-$i/shard$R.bin"; mv "$2/.step-$i" "$2/step-$i""#,
    );
}

#[test]
fn a_checkpoint_that_one_node_writes_later_is_not_saved_without_its_part() {
    check(
        "checkpoints = { settle = \"1s\" }",
        r#"if [ $R = 1 ]; then sleep 0.9; else sleep 0.3; fi; mkdir -p "$2/step-$i"
echo "$i" > "$2/step-$i/shard$R.bin""#,
    );
}

/// No process could put its parts together before the next start, which resumed from an older one and put it together
/// beside the ranks.
#[test]
fn what_only_the_nodes_have_is_put_together_and_resumed_from() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let program = r#"R=$SLURM_PROCID
if [ -n "$(ls -A "$1")" ]; then echo resumed from $(cd "$1" && find . -type f | sort); exit 0; fi
i=0
while :; do i=$((i+1)); mkdir "$2/.step-$i"; echo "$i" > "$2/.step-$i/shard$R.bin"
mv "$2/.step-$i" "$2/step-$i"; echo "saved $i"; sleep 0.3; done
"#;
    env.write("train.sh", program);
    env.write(
        "yard.toml",
        "name = \"two\"\ncommand = [\"sh\", \"train.sh\", \"{resume}\", \"{checkpoints}\"]\n\
         resources = { nodes = 2, time = \"10m\" }\ncheckpoints = { complete = \"rename\" }\n",
    );
    env.yard(&["engine", "start", "two", "--nodes", "2"])
        .success();
    env.yard(&["run", "--on", "two", "--detach"]).success();
    let shown = env.yard(&["show", "two", "--json"]).success();
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    let folder = PathBuf::from(shown["folder"].as_str().expect("a folder"));
    let newest_out = || -> u32 {
        let all = fs::read_dir(folder.join("checkpoints/.manifests"));
        let names = all.into_iter().flatten().flatten();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        let steps = names.filter_map(|name| {
            let step = name.strip_prefix("step-")?.strip_suffix(".json")?;
            step.parse().ok()
        });
        steps.max().unwrap_or(0)
    };
    let saved_by = |rank: u32| -> u32 {
        let log = fs::read_to_string(folder.join(format!("logs/1.0.{rank}")));
        let log = log.unwrap_or_default();
        let last = log
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("saved "));
        last.and_then(|step| step.parse().ok()).unwrap_or(0)
    };
    wait_until("a checkpoint is out", || newest_out() > 0);
    // It stands still, so that nothing is put together any more.
    env.signal(19, |command| command.contains(" job conduct "));
    let out = newest_out();
    wait_until("the nodes have newer ones", || {
        saved_by(0).min(saved_by(1)) >= out + 3
    });
    let saved = saved_by(0).min(saved_by(1));
    env.signal(9, |command| command.contains(" job conduct"));
    let waited = env.yard(&["wait", "two"]);
    assert_eq!(waited.status, 0, "{}", waited.snapshot());
    let printed = env.yard(&["logs", "two"]).success();
    let shown = env.yard(&["show", "two"]).success();
    for line in ["shard0.bin", "shard1.bin"] {
        let step = printed
            .lines()
            .filter(|printed| printed.contains("resumed from ./") && printed.contains(line))
            .filter_map(|line| line.split("step-").nth(1)?.split('/').next()?.parse().ok());
        let steps: Vec<u32> = step.collect();
        assert!(
            steps.len() == 2 && steps.iter().all(|step| *step >= saved),
            "{steps:?} of {saved}, {out} out\n{printed}\n{shown}"
        );
    }
    env.yard(&["engine", "stop", "two"]).success();
}

/// Runs on two nodes with this `TMPDIR`, in which each writes what the other must not see.
#[track_caller]
fn check_disks(folder: &str) {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let folder = folder.replace("ROOT", &env.root().display().to_string());
    env.set_var("TMPDIR", &folder);
    let program = r#"R=$SLURM_PROCID
touch "$1/model-$R.pt"; mktemp -p "$TMPDIR" > /dev/null || exit 1; touch "$2/wrote-$R"
until [ -e "$2/wrote-0" ] && [ -e "$2/wrote-1" ]; do sleep 0.1; done
echo "rank $R sees" $(ls "$1")
"#;
    env.write("train.sh", program);
    let run = format!(
        "name = \"two\"\ncommand = [\"sh\", \"train.sh\", \"{{checkpoints}}\", {:?}]\nresources = {{ nodes = 2 }}\n",
        env.work()
    );
    env.write("yard.toml", &run);
    env.yard(&["engine", "start", "two", "--nodes", "2"])
        .success();
    env.yard(&["run", "--on", "two"]).success();
    let printed = env.yard(&["logs"]).success();
    for rank in [0, 1] {
        let own = format!("rank {rank} sees model-{rank}.pt\n");
        assert!(printed.contains(&own), "{folder}: {printed}");
    }
    // What is left there is found.
    env.set_var("TRAINYARD_ENGINE", "two");
    let left = "umask 077; mkdir -p /tmp/trainyard-$(id -u)/gone.1.0 && echo there > /tmp/trainyard-$(id -u)/gone.1.0/x";
    env.slurm("srun", &["-n", "1", "sh", "-c", left]).success();
    let cleaned = env.yard(&["clean", "--dry-run"]).success();
    assert!(cleaned.contains("/gone.1.0"), "{cleaned}");
    let held = env.yard(&["du"]).success();
    assert!(held.contains("node-local"), "{held}");
    env.yard(&["engine", "stop", "two"]).success();
}

/// They shared what `TMPDIR` names, and of two checkpoints of one name one was lost.
#[test]
fn pretended_nodes_have_disks_of_their_own_wherever_tmpdir_points() {
    check_disks("ROOT/tmp");
    check_disks("/tmp/of-parts-tests/below");
    assert!(!PathBuf::from("/tmp/of-parts-tests").exists());
}
