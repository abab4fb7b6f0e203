//! `squeue` prints what a real Slurm printed, character for character.

use crate::jobs::{facts, held_job};
use model::SqueueArgs;

const RECORDED: &str = include_str!("../data/squeue-22.05.8.tsv");
const JOB: u32 = 20_001;

/// Rows that are not met, and why.
const NOT_MET: &[(&str, &str, &str)] = &[
    (
        "squeue-O",
        "AssocID",
        "an id of Slurm's accounting database, which the embedded engine has not",
    ),
    (
        "squeue-O",
        "LastSchedEval",
        "the embedded engine keeps no time of its last look at a job",
    ),
    (
        "squeue-O",
        "PendingTime",
        "recorded without its value, which depends on the clock",
    ),
    (
        "cmd",
        "squeue --version",
        "Trainyard says that it is Trainyard",
    ),
    (
        "cmd",
        "squeue --usage",
        "Trainyard lists the options that it has",
    ),
];

#[test]
fn recorded_answers_are_met() {
    let mut wrong = Vec::new();
    let mut met = 0;
    for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
        let mut parts = line.splitn(3, '\t');
        let (category, input, want) = (
            parts.next().unwrap(),
            parts.next().unwrap(),
            parts.next().unwrap(),
        );
        let got = answer(category, input);
        let left_out = NOT_MET
            .iter()
            .any(|(row, name, _)| (*row, *name) == (category, input));
        match (got == want, left_out) {
            (true, false) => met += 1,
            (false, true) => {}
            (true, true) => wrong.push(format!("{category} {input}: met, but listed as not met")),
            (false, false) => wrong.push(format!("{category} {input}\n want {want}\n  got {got}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(met, 106);
}

fn answer(category: &str, input: &str) -> String {
    let line: Vec<String> = match category {
        "squeue%" => vec![
            "-h".to_owned(),
            "-o".to_owned(),
            format!("[%{input}][%.12{input}][%5{input}]"),
        ],
        "squeue%hdr" => vec!["-o".to_owned(), format!("%{input}")],
        "squeue-O" => vec!["-O".to_owned(), format!("{input}:30")],
        "squeuefmt" => vec!["-h".to_owned(), "-o".to_owned(), input.to_owned()],
        _ => input.split(' ').skip(1).map(str::to_owned).collect(),
    };
    // The name by which the option parser knows the recorded program.
    let args = match SqueueArgs::parse("/usr/bin/squeue", &line, &|_| None) {
        Ok(args) => args,
        Err(error) => return format!("rc=1 {}", escaped(&format!("{error}\n"))),
    };
    let facts = facts();
    let jobs = args.select(&[held_job(JOB)], &facts, 0, None);
    let printed = args.print_jobs(&jobs, &facts);
    let mut text: String = printed
        .stderr
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    text.push_str(&printed.stdout);
    if category == "squeue%hdr" {
        text = text.lines().next().unwrap_or_default().to_owned();
    }
    format!("rc=0 {}", escaped(&text).replace(&JOB.to_string(), "<JOB>"))
}

fn escaped(text: &str) -> String {
    text.replace('\n', "\\n").replace('\t', "\\t")
}
