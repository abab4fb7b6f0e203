//! Checkpoints of which each node writes a part: what comes back has all of them.

use testkit::TestEnv;

/// Trains on two nodes until the limit ends it; started again, each rank says what it finds. `save` is run
/// each step, with the step in `$i`, the rank in `$R` and the folder in `$2`.
#[track_caller]
fn check(checkpoints: &str, save: &str) {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    // Which each node has of its own.
    env.set_var("TMPDIR", "/tmp");
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
