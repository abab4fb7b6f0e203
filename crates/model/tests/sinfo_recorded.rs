//! `sinfo` prints what a real Slurm printed of the cluster on which answers were recorded.
#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use jiff::tz::TimeZone;
use yard_model::{NodeName, Seconds, SinfoArgs, SinfoNode, SinfoPartition, Timestamp};

mod recorded;

const RECORDED: &str = include_str!("data/sinfo-22.05.8.tsv");

fn partition(name: &str, nodes: &[u32], time: u64, default_time: u64) -> SinfoPartition {
    SinfoPartition {
        name: name.to_owned(),
        default: name == "gpu",
        state: "up".to_owned(),
        time: Some(Seconds(time)),
        default_time: Some(Seconds(default_time)),
        min_nodes: 0,
        max_nodes: None,
        max_cpus_per_node: None,
        over_subscribe: "NO".to_owned(),
        priority_tier: 1,
        priority_factor: if name == "test" { 10 } else { 1 },
        alloc_nodes: None,
        allow_groups: None,
        is_root_only: false,
        is_hidden: false,
        preempt_mode: "REQUEUE".to_owned(),
        nodes: nodes
            .iter()
            .map(|node| NodeName::from(format!("node{node}")))
            .collect(),
    }
}

fn partitions() -> Vec<SinfoPartition> {
    let day = 24 * 3600;
    vec![
        partition("gpu", &[1, 2, 3, 4], 7 * day, 3600),
        partition("cpu", &[1, 2], 2 * day, 1800),
        partition("test", &[3, 4], 1800, 300),
    ]
}

fn nodes() -> Vec<SinfoNode> {
    let node = |number: u32| {
        let kind = if number == 4 { "a100" } else { "v100" };
        SinfoNode {
            name: NodeName::from(format!("node{number}")),
            host: "localhost".to_owned(),
            address: "127.0.0.1".to_owned(),
            cpus: 8,
            sockets: 1,
            cores: 8,
            threads: 1,
            memory_mib: 16_000,
            weight: 1,
            features: format!("{kind},cuda"),
            active_features: format!("{kind},cuda"),
            gres: format!("gpu:{kind}:4"),
            gres_used: format!("gpu:{kind}:0(IDX:N/A)"),
            version: "22.05.8".to_owned(),
            ..SinfoNode::default()
        }
    };
    (1..=4).map(node).collect()
}

/// Exit status, standard output and standard error of a command line.
fn answer(args: &[&str]) -> (u8, String, String) {
    let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
    match SinfoArgs::parse("sinfo", &args, &|_| None) {
        Ok(asked) => {
            let now = Timestamp(1_790_000_000_000);
            let printed = asked.print(&partitions(), &nodes(), now, &TimeZone::UTC);
            let said = printed.stderr.iter().map(|line| format!("{line}\n"));
            (0, printed.stdout, said.collect())
        }
        Err(error) => (1, String::new(), format!("{error}\n")),
    }
}

#[test]
fn recorded_answers_are_met() {
    for row in RECORDED.lines() {
        let columns: Vec<&str> = row.split('\t').collect();
        let [category, input, want] = columns.try_into().unwrap();
        let format;
        let args: Vec<&str> = match (category, input.split_once(' ')) {
            ("sinfo%", _) => {
                format = format!("%{}", input.split(' ').next().unwrap());
                vec!["-o", &format]
            }
            (_, None) => vec![input],
            (_, Some((option, value))) => vec![option, value],
        };
        let (status, stdout, stderr) = answer(&args);
        let mut got = stdout.replace('\n', "\\n");
        if input == "-l" {
            let (_, rest) = got.split_once("\\n").unwrap();
            got = format!("<DATE>\\n{rest}");
        }
        assert_eq!(
            format!("rc={status} {got}{stderr}"),
            want,
            "{category} {input}"
        );
    }
}

/// Columns whose values change from one moment to the next, and what the answers come from
/// otherwise: each with the reason.
const NOT_COMPARED: &[(&str, &str)] = &[
    ("sinfo -o \"%all\"", "load and free memory are among them"),
    ("sinfo -O \"all\"", "load and free memory are among them"),
    ("sinfo -o \"%e\"", "free memory"),
    ("sinfo -O freemem", "free memory"),
    ("sinfo -o \"%O\"", "load"),
    ("sinfo -O cpusload", "load"),
    ("sinfo -O port", "no node of ours has a port"),
    ("sinfo -v", "the plugins of the real one"),
    ("sinfo --usage", "text of ours"),
];

#[test]
fn the_oracles_answers_are_met() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for recorded in recorded::part("sinfo: an idle cluster") {
        let line = recorded.line.as_str();
        let words = recorded.args();
        let is_ours = NOT_COMPARED.iter().all(|(known, _)| *known != line);
        let others = ["-M", "-T", "-V", "--version", "--json"];
        if !is_ours || words.iter().any(|word| others.contains(&word.as_str())) {
            continue;
        }
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        let (status, stdout, stderr) = answer(&args);
        let mut got = recorded::answer(status, &stdout, &stderr);
        let dated = |line: &str| line.ends_with(" 2026");
        let mut want = recorded.answer.clone();
        got.retain(|line| !dated(line));
        want.retain(|line| !dated(line));
        // The real one puts nodes of several partitions in no order of its own.
        if words.iter().any(|word| word.starts_with("-N")) {
            got.sort();
            want.sort();
        }
        count += 1;
        if got != want {
            wrong.push(format!(
                "{line}\nreal\n{}\nours\n{}",
                want.join("\n"),
                got.join("\n")
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\n{} of {count}",
        wrong.join("\n"),
        wrong.len()
    );
    assert!(count > 140, "only {count} answers");
}

/// As a real one listed them: what is about to fail first, what is down last.
#[test]
fn nodes_that_take_no_jobs_are_listed_by_their_states() {
    let mut all = nodes();
    all[1].state.is_down = true;
    all[2].state.is_drained = true;
    all[3].state.is_failing = true;
    let args = ["-h".to_owned(), "-p".to_owned(), "gpu".to_owned()];
    let asked = SinfoArgs::parse("sinfo", &args, &|_| None).expect("it can be read");
    let printed = asked.print(&partitions(), &all, Timestamp(0), &TimeZone::UTC);
    let want = "\
gpu*         up 7-00:00:00      1   fail node4
gpu*         up 7-00:00:00      1  drain node3
gpu*         up 7-00:00:00      1   idle node1
gpu*         up 7-00:00:00      1   down node2
";
    assert_eq!(printed.stdout, want);
}

/// As `convert_num_unit` of 22.05 has it.
#[test]
fn counts_are_in_units_of_1024_unless_they_shall_not_be() {
    let large = SinfoNode {
        name: NodeName::new("node1"),
        cpus: 2048,
        sockets: 1,
        cores: 1536,
        threads: 1000,
        ..SinfoNode::default()
    };
    let print = |args: &[&str]| {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let asked = SinfoArgs::parse("sinfo", &args, &|_| None).unwrap();
        let printed = asked.print(
            &[partition("gpu", &[1], 60, 60)],
            std::slice::from_ref(&large),
            Timestamp(0),
            &TimeZone::UTC,
        );
        printed.stdout
    };
    assert_eq!(print(&["-h", "-o", "%c %z"]), "2K 1:1.50K:1000\n");
    assert_eq!(
        print(&["-h", "--noconvert", "-o", "%c %z"]),
        "2048 1:1536:1000\n"
    );
}
