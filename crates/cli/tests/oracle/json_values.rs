//! What `--json` says of jobs and nodes, value by value as a real Slurm's (`json/record.py`).

use crate::twin::Twin;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use testkit::{skip, that_mention, wait_until};

const RECORDED: &str = include_str!("json/values-22.05.8.txt");
/// Lines `COMMAND PATH` of values that are others here, under the reasons.
const DIFFER: &str = include_str!("json/differ.txt");

/// As `json/record.py` has them.
const JOBS: &[(&str, &str, &str)] = &[
    ("run", "-N2 -n2 -t 5 --comment=hi", "sleep 600"),
    (
        "gres",
        "--gres=gpu:v100:2 -n1 -c2 --mem=500 -t 5",
        "srun sleep 600",
    ),
    ("arr", "-a 1-6%2 -t 5", "sleep 600"),
    ("held", "-H -n3 --mem-per-cpu=200 -t 10", "sleep 600"),
    ("dep", "-d afterok:1 -t 10", "sleep 600"),
    ("failed", "-t 5", "exit 3"),
    ("done", "-t 5", "srun true"),
    ("het", "-n1 -t 5 : -J het2 -n2 -t 5", "sleep 600"),
];

/// How they stand when they are asked for. All that run but the second of `het` run a `sleep`.
const STAND: &[&str] = &[
    "arr PENDING",
    "arr RUNNING",
    "arr RUNNING",
    "dep PENDING",
    "done COMPLETED",
    "failed FAILED",
    "gres RUNNING",
    "held PENDING",
    "het RUNNING",
    "het2 RUNNING",
    "run RUNNING",
];

/// Values by their paths, as `.steps[0].tasks.count`.
fn values(value: &Value, path: String, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(inner) if !inner.is_empty() => {
            for (name, value) in inner {
                values(value, format!("{path}.{name}"), found);
            }
        }
        Value::Array(inner) if inner.first().is_some_and(Value::is_object) => {
            for (index, value) in inner.iter().enumerate() {
                // Rows of one that has more of them stand at other places.
                let row = match (value["type"].as_str(), value["name"].as_str()) {
                    (Some(kind), Some(name)) if !name.is_empty() => format!("{kind}/{name}"),
                    (Some(kind), _) => kind.to_owned(),
                    (None, _) => index.to_string(),
                };
                values(value, format!("{path}[{row}]"), found);
            }
        }
        // An empty object has no values, as in the record.
        Value::Object(_) => {}
        other => {
            found.insert(path, other.clone());
        }
    }
}

/// A job's name with its element, or a node's.
fn name_of(entry: &Value, command: &str) -> String {
    let name = entry["name"].as_str().unwrap_or_default();
    let task = match command {
        "squeue" if entry["array_task_id"].is_null() => entry["array_task_string"].clone(),
        "squeue" => entry["array_task_id"].clone(),
        "sacct" => entry["array"]["task_id"].clone(),
        _ => Value::Null,
    };
    match task {
        Value::Null => name.to_owned(),
        Value::String(text) if text.is_empty() => name.to_owned(),
        Value::String(text) => format!("{name}_{text}"),
        number => format!("{name}_{number}"),
    }
}

#[test]
fn values_of_json_are_a_real_slurms_or_are_listed() {
    let twin = Twin::start("");
    let env = &twin.env;
    for (name, options, command) in JOBS {
        let mut words = vec!["-J", name, "-o", "/dev/null"];
        words.extend(options.split_whitespace());
        words.extend(["--wrap", command]);
        env.slurm("sbatch", &words).success();
    }
    wait_until("its jobs stand as recorded", || {
        let list = ["-h", "-t", "all", "-o", "%j %T"];
        let jobs = env.slurm("squeue", &list).stdout;
        let mut jobs: Vec<&str> = jobs.lines().collect();
        jobs.sort_unstable();
        // A step is listed before its tasks run.
        let running = that_mention(env.root()).into_iter();
        let running = running
            .filter(|(_, command)| command == "sleep 600" || command.ends_with("/sleep 600"));
        jobs == STAND && running.count() == 5
    });
    let mut ours = BTreeMap::new();
    for (command, entries) in [("squeue", "jobs"), ("sacct", "jobs"), ("sinfo", "nodes")] {
        let text = env.slurm(command, &["--json"]).success();
        let answer: Value = serde_json::from_str(&text).expect("it is JSON");
        for entry in answer[entries].as_array().into_iter().flatten() {
            let mut found = BTreeMap::new();
            values(entry, String::new(), &mut found);
            ours.insert(format!("{command} {}", name_of(entry, command)), found);
        }
    }
    let listed: BTreeSet<&str> = DIFFER.lines().collect();
    let mut differ = BTreeMap::new();
    for line in RECORDED.lines() {
        let mut words = line.splitn(4, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (command, name, path, want) = (word(), word(), word(), word());
        let want: Value = serde_json::from_str(want).expect("it is JSON");
        let got = ours
            .get(&format!("{command} {name}"))
            .and_then(|values| values.get(path));
        if got != Some(&want) {
            let what = format!("{name}: real {want}, ours {got:?}");
            differ.entry(format!("{command} {path}")).or_insert(what);
        }
    }
    // Nodes say how this machine fares, as the text of `sinfo` does: not what jobs leave of them.
    let of_node = |node: &str, path: &str| ours[&format!("sinfo {node}")][path].clone();
    for since in [".boot_time", ".slurmd_start_time"] {
        assert!(of_node("node1", since).as_i64() > Some(0), "{since}");
    }
    assert!(of_node("node1", ".alloc_memory").as_u64() > Some(0));
    let free = of_node("node1", ".free_memory");
    assert_eq!(free, of_node("node4", ".free_memory"));
    env.slurm("scancel", &["-u", "root"]).success();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let kept = DIFFER
            .lines()
            .filter(|line| line.is_empty() || line.starts_with('#') || differ.contains_key(*line));
        let text: String = kept.map(|line| format!("{line}\n")).collect();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/json/differ.txt");
        std::fs::write(file, text).expect("the list is written");
    }
    let is_path = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let agreeing = DIFFER.lines().filter(is_path);
    let agreeing: Vec<&str> = agreeing
        .filter(|path| !differ.contains_key(*path))
        .collect();
    assert_eq!(agreeing, Vec::<&str>::new(), "listed, and agrees");
    let wrong: Vec<String> = differ
        .iter()
        .filter(|(path, _)| !listed.contains(path.as_str()))
        .map(|(path, what)| format!("{path}\n  {what}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A YAML document as JSON, by the reader that Python programs use.
const READ_YAML: &str = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))";

#[test]
fn yaml_has_the_values_of_json() {
    let has_reader = Command::new("python3").args(["-c", "import yaml"]).output();
    if !has_reader.is_ok_and(|output| output.status.success()) {
        return skip("yaml_has_the_values_of_json", "python3 has no yaml");
    }
    let twin = Twin::start("");
    let env = &twin.env;
    for (name, options, _) in JOBS {
        let mut words = vec![
            "-H",
            "-J",
            name,
            "--comment=a: 'b' #c \\ \"d\" - yes",
            "-o",
            "/dev/null",
        ];
        words.extend(options.split_whitespace());
        words.extend(["--wrap", "true"]);
        env.slurm("sbatch", &words).success();
    }
    for command in ["squeue", "sinfo", "sacct"] {
        let json = env.slurm(command, &["--json"]).success();
        let json: Value = serde_json::from_str(&json).expect("it is JSON");
        let line = format!("{command} --yaml | python3 -c '{READ_YAML}'");
        let read = env
            .program("bash", &["-c", &line])
            .output()
            .expect("it runs");
        let read = String::from_utf8_lossy(&read.stdout).into_owned();
        let yaml: Value = serde_json::from_str(&read).expect("it was read");
        let (mut of_json, mut of_yaml) = (BTreeMap::new(), BTreeMap::new());
        values(&json, String::new(), &mut of_json);
        values(&yaml, String::new(), &mut of_yaml);
        // Seconds pass between the two.
        let of_moment = ["time", "load", "last_sched_evaluation", "free_memory"];
        let differ: Vec<&String> = of_json
            .iter()
            .filter(|(path, _)| !of_moment.iter().any(|end| path.ends_with(end)))
            .filter(|(path, value)| of_yaml.get(*path) != Some(*value))
            .map(|(path, _)| path)
            .collect();
        assert_eq!(differ, [""; 0], "{command}");
        assert_eq!(of_json.len(), of_yaml.len(), "{command}");
    }
    env.slurm("scancel", &["-u", "root"]).success();
}
