//! The same command lines and scripts through a real Slurm 22.05 and through ours: what is refused,
//! in which words, and every field of the jobs that are taken.
//!
//! Recorded answers are compared on every run; the real Slurm is asked where there is one. Written
//! anew with `TRAINYARD_RECORD=1`.

mod guides;
#[path = "../../../resources/tests/recorded/held_job.rs"]
mod held_job;
mod json_values;
mod lines;
mod ours;
mod own_answers;
mod parts;
mod real;
#[path = "../../../model/tests/recorded/mod.rs"]
mod recorded_lines;
mod replay;
mod transcript;
mod twin;

use resources::{Defaults, Demand, LargestNode, recorded};
use std::path::Path;

const RECORDED: &str = include_str!("recorded-22.05.8.tsv");

/// Here a question is answered as the job is.
const NO_COUNTS: &str = "the real one counts nodes by features where a job is submitted, and not where it is asked about";

/// Questions that are answered otherwise: each with the reason.
const NOT_MET: &[(&str, &str)] = &[
    (
        "--test-only --cpus-per-gpu=2 --ntasks-per-socket=1 --mem=512k",
        "the real one finds no node for CPUs of GPUs that are not asked, one task a socket",
    ),
    (
        "--test-only --prefer=v100&a100",
        "the real one refuses it when it is submitted, which is said here",
    ),
    ("--test-only -C(v100|a100)*2", NO_COUNTS),
    ("--test-only -C[v100*2&a100*1]", NO_COUNTS),
    ("--test-only -C[v100*2]", NO_COUNTS),
    ("--test-only -Ccuda*2&v100*1", NO_COUNTS),
    ("--test-only -Cv100*1&a100*1", NO_COUNTS),
    ("--test-only -Cv100*2&cuda", NO_COUNTS),
    ("--test-only -Cv100*99", NO_COUNTS),
];

/// Compares our answers with others; every line that differs is shown, and every exception that is
/// none any more.
fn compare<'a>(answers: impl Iterator<Item = (&'a str, &'a str)>) {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (line, want) in answers {
        count += 1;
        let got = ours::answer(line);
        let is_exception = NOT_MET.iter().any(|(known, _)| *known == line);
        if (got == want) == is_exception {
            wrong.push(format!("{line}\n  real {want}\n  ours {got}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\n{} of {count} differ, or are exceptions for no reason",
        wrong.join("\n"),
        wrong.len()
    );
    assert!(count >= lines::all().len(), "only {count} answers");
}

#[test]
fn recorded_answers_are_ours() {
    let rows = RECORDED.lines().filter(|row| !row.starts_with("//"));
    compare(rows.map(|row| row.split_once('\t').expect("two columns")));
}

#[test]
fn every_line_has_a_recorded_answer() {
    for line in lines::all() {
        let known = RECORDED
            .lines()
            .any(|row| row.split('\t').next() == Some(&line));
        assert!(known, "no recorded answer: {line}");
    }
}

mod slow {
    use super::*;
    use testkit::{RealSlurm, skip};

    #[test]
    fn a_real_slurm_answers_as_ours() {
        if let Some(reason) = RealSlurm::missing() {
            return skip("a_real_slurm_answers_as_ours", &reason);
        }
        let slurm = RealSlurm::controller(ours::CLUSTER).expect("a controller comes up");
        let answers: Vec<(String, String)> = lines::all()
            .into_iter()
            .map(|line| {
                let answer = real::answer(&slurm, &line);
                (line, answer)
            })
            .collect();
        if std::env::var_os("TRAINYARD_RECORD").is_some() {
            let file =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/recorded-22.05.8.tsv");
            let mut text = real::HEAD.to_owned();
            for (line, answer) in &answers {
                text.push_str(&format!("{line}\t{answer}\n"));
            }
            std::fs::write(file, text).expect("the record is written");
            return;
        }
        compare(
            answers
                .iter()
                .map(|(line, answer)| (&line[..], &answer[..])),
        );
    }
}
