//! `sinfo` prints what a real Slurm printed of the cluster on which answers were recorded.
#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use yard_model::{
    Format, NodeName, SINFO_FORMAT, SINFO_LONG, SINFO_SUMMARY, Seconds, SinfoField, SinfoNode,
    SinfoPartition, sinfo_lines,
};

const RECORDED: &str = include_str!("data/sinfo-22.05.8.tsv");

fn partition(name: &str, nodes: &[u32], time: u64, default_time: u64) -> SinfoPartition {
    SinfoPartition {
        name: name.to_owned(),
        default: name == "gpu",
        up: true,
        time: Some(Seconds(time)),
        default_time: Some(Seconds(default_time)),
        priority_tier: 1,
        priority_factor: if name == "test" { 10 } else { 1 },
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
            state: "idle".to_owned(),
            state_long: "idle".to_owned(),
            cpus: 8,
            sockets: 1,
            cores: 8,
            threads: 1,
            memory_mib: 16_000,
            weight: 1,
            features: format!("{kind},cuda"),
            gres: format!("gpu:{kind}:4"),
            version: "22.05.8".to_owned(),
            ..SinfoNode::default()
        }
    };
    (1..=4).map(node).collect()
}

fn answer(category: &str, input: &str) -> String {
    let (mut partitions, mut nodes) = (partitions(), nodes());
    let format = match (category, input.split_once(' ').unwrap_or((input, ""))) {
        ("sinfo%", (letter, _)) => format!("%{letter}"),
        (_, ("-s", _)) => SINFO_SUMMARY.to_owned(),
        (_, ("-l", _)) => SINFO_LONG.to_owned(),
        (_, ("-o", format)) => format.to_owned(),
        (_, (option, value)) => {
            match option {
                "-p" => partitions.retain(|partition| partition.name == value),
                "-n" => nodes.retain(|node| node.name.as_str() == value),
                "-t" => nodes.retain(|node| node.state == value),
                _ => {}
            }
            SINFO_FORMAT.to_owned()
        }
    };
    let format = Format::<SinfoField>::by_letters(&format);
    let lines = sinfo_lines(&format, &partitions, &nodes);
    let date = if input == "-l" { "<DATE>\\n" } else { "" };
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}\\n")).collect();
    format!("rc=0 {date}{}", lines.concat())
}

#[test]
fn recorded_answers_are_met() {
    for row in RECORDED.lines() {
        let columns: Vec<&str> = row.split('\t').collect();
        let [category, input, want] = columns.try_into().unwrap();
        assert_eq!(answer(category, input), want, "{category} {input}");
    }
}
