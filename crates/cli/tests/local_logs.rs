//! `[data] local_logs`: event files on the node's own disk.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use testkit::TestEnv;

#[test]
fn event_files_on_the_nodes_disk_reach_the_run_folder_while_the_run_goes_on() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    // It ends only once its first words have come; its last ones come at the end.
    let script = "case $YARD_LOGS in */tensorboard) exit 3;; esac\n\
        mkdir -p $YARD_LOGS/train\nlog=$YARD_LOGS/train/events.out.tfevents.1700000000.box.1.0\n\
        printf first > $log\n\
        until grep -qs first ../tensorboard/train/events.*; do sleep 0.1; done\n\
        printf ' last' >> $log\n";
    env.write("train.sh", script);
    env.write(
        "yard.toml",
        "name = \"local\"\ncommand = [\"sh\", \"train.sh\"]\n[data]\nlocal_logs = true\n",
    );
    env.yard(&["run", "--on", "local"]).success();
    let shown = env.yard(&["show", "--json"]).success();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let log = "tensorboard/train/events.out.tfevents.1700000000.box.1.0";
    let log = std::path::Path::new(shown["folder"].as_str().unwrap()).join(log);
    assert_eq!(std::fs::read_to_string(log).unwrap(), "first last");
}
