//! The same command lines and scripts through a real Slurm 22.05 and through ours: what is refused,
//! in which words, and every field of the jobs that are taken.
//!
//! Recorded answers are compared on every run; the real Slurm is asked where there is one. Written
//! anew with `TRAINYARD_RECORD=1`.

#[path = "../../../resources/tests/recorded/held_job.rs"]
mod held_job;
mod lines;
mod ours;
mod real;

use resources::{Defaults, Demand, LargestNode, recorded};
use std::path::Path;

const RECORDED: &str = include_str!("recorded-22.05.8.tsv");

/// Questions that need a placement, a line each: which nodes could hold sockets, cores and threads,
/// temporary space, CPUs of a node or GPUs of several types is known to a real controller, which
/// answers "Requested node configuration is not available", and not to a cluster file's judgement.
const PLACED: &str = include_str!("placed.txt");

/// Compares our answers with others; every line that differs is shown, and every exception that is
/// none any more.
fn compare<'a>(answers: impl Iterator<Item = (&'a str, &'a str)>) {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (line, want) in answers {
        count += 1;
        let got = ours::answer(line);
        let placed = PLACED.lines().any(|known| known == line);
        if agree(&got, want) == placed || placed && !is_of_placement(&got, want) {
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

/// Whether both say the same. Of the CPUs in the answer of `--test-only` ours are what is asked
/// for, and the real one's what a placement would give: those and perhaps more.
fn agree(got: &str, want: &str) -> bool {
    fn parts(text: &str) -> Option<(&str, u32, &str)> {
        let (before, rest) = text.split_once(" using ")?;
        let (cpus, after) = rest.split_once(' ')?;
        Some((before, cpus.parse().ok()?, after))
    }
    match parts(got).zip(parts(want)) {
        Some((got, want)) => (got.0, got.2) == (want.0, want.2) && got.1 <= want.1,
        None => got == want,
    }
}

/// Whether the real one found no place for a job that ours would start.
fn is_of_placement(got: &str, want: &str) -> bool {
    want.ends_with("allocation failure: Requested node configuration is not available\\n")
        && got.contains("sbatch: Job <JOB> to start at")
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
