//! Whether a run that was disturbed is what it would have been undisturbed. Pure.

use crate::progress::Progress;
use crate::scenario::{Promise, Training};

/// What was found about a run that is over.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    pub progress: Progress,
    /// As `yard show` says.
    pub state: String,
    /// Starts of which every rank wrote down that it ended with 0, and not after SIGTERM.
    pub all_ended_well: Vec<String>,
    /// The newest complete checkpoint of the run folder.
    pub newest: Option<u32>,
    /// Processes and files that should not be there any more.
    pub left: Vec<String>,
    /// What went wrong on the way, in words.
    pub on_the_way: Vec<String>,
}

/// The judgement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What does not hold, in words; none where everything does.
    pub findings: Vec<String>,
    /// Steps between the last checkpoint that was complete on the node and the one that a start
    /// resumed from, over all starts.
    pub steps_lost: u32,
}

/// The parameters after so many steps: what the program computes.
pub fn parameters(steps: u32) -> u64 {
    (1..=u64::from(steps)).fold(1, |parameters: u64, step| {
        parameters
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(step)
    })
}

/// Judges.
pub fn judge(training: &Training, promise: Promise, evidence: &Evidence) -> Verdict {
    let Evidence {
        progress,
        state,
        all_ended_well,
        newest,
        left,
        on_the_way,
    } = evidence;
    let mut findings = on_the_way.clone();
    if state != "done" {
        findings.push(format!("the run is {state}"));
    }
    if progress.events.len() < 2 {
        findings.push("it never came back".to_owned());
    }
    let want = parameters(training.steps);
    findings.extend(computed_twice(progress));
    for (rank, journal) in progress.journals.iter().enumerate() {
        match journal.done.last() {
            None => findings.push(format!("rank {rank} never ended")),
            Some(last) if *last != want => {
                findings.push(format!("rank {rank} ended with {last} instead of {want}"));
            }
            Some(_) => {}
        }
    }
    let mut steps_lost = 0;
    let first = progress.journals.first();
    let starts = first.map(|journal| &journal.starts[..]).unwrap_or_default();
    for (start, saved) in starts {
        steps_lost += saved.saturating_sub(start.from);
        let announced = announced_before(progress, &start.attempt);
        if announced > start.from {
            findings.push(format!(
                "start {} began at step {}, though checkpoint {announced} was announced",
                start.attempt, start.from
            ));
        }
    }
    if steps_lost > 0 && promise < Promise::SinceCopied {
        findings.push(format!(
            "{steps_lost} steps before a complete checkpoint were computed again"
        ));
    }
    if promise == Promise::Nothing {
        findings.extend(losses(progress).map(|words| format!("a start was lost: {words}")));
    }
    let all_starts = progress.journals.iter().flat_map(|journal| &journal.starts);
    for ended in all_ended_well {
        let mut later = all_starts.clone().map(|(start, _)| &start.attempt);
        if let Some(later) = later.find(|later| number(later) > number(ended)) {
            findings.push(format!(
                "start {later} ran again after all ranks of {ended} had ended well"
            ));
        }
    }
    if state == "done" && *newest != Some(training.steps) {
        findings.push(format!(
            "the newest checkpoint in the run folder is {newest:?}, the last one was {}",
            training.steps
        ));
    }
    findings.extend(left.iter().map(|what| format!("left over: {what}")));
    Verdict {
        findings,
        steps_lost,
    }
}

fn computed_twice(progress: &Progress) -> impl Iterator<Item = String> + '_ {
    let ranks = progress.journals.iter().enumerate();
    let twice = ranks.filter(|(_, journal)| journal.twice);
    twice.map(|(rank, _)| format!("rank {rank} was computed twice at the same time"))
}

/// Why starts were lost, in the conductor's words.
fn losses(progress: &Progress) -> impl Iterator<Item = String> + '_ {
    let events = progress.events.iter().flat_map(|(_, events)| events);
    let lost = events.filter(|event| event["event"] == "lost");
    lost.map(|event| event["cause"].as_str().unwrap_or_default().to_owned())
}

/// The newest checkpoint that an earlier start announced.
fn announced_before(progress: &Progress, attempt: &str) -> u32 {
    let before = progress
        .events
        .iter()
        .take_while(|(other, _)| other != attempt);
    let events = before.flat_map(|(_, events)| events);
    let out = events.filter(|event| event["event"] == "checkpoint-out");
    let steps = out.filter_map(|event| u32::try_from(event["step"].as_u64()?).ok());
    steps.max().unwrap_or(0)
}

/// `<job>.<restart>` as numbers, which can be compared.
fn number(attempt: &str) -> Option<(u32, u32)> {
    let (job, restart) = attempt.split_once('.')?;
    Some((job.parse().ok()?, restart.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Journal;
    use serde_json::json;

    const TRAINING: Training = Training {
        ranks: 1,
        steps: 40,
        hold: 20,
        pace_ms: 20,
    };

    fn evidence(resumed_at: u32) -> Evidence {
        let done = parameters(40);
        let journal = format!(
            "start 1.0 0\nsaved 5\nsaved 10\nstart 1.1 {resumed_at}\nsaved 40\ndone 1.1 {done}\n"
        );
        let out = |step: u32| json!({"event": "checkpoint-out", "step": step});
        let back = json!({"event": "coming-back"});
        Evidence {
            progress: Progress {
                submitted: true,
                journals: vec![Journal::parse(&journal)],
                events: vec![
                    ("1.0".to_owned(), vec![out(5), back]),
                    ("1.1".to_owned(), vec![json!({"event": "finished"})]),
                ],
            },
            state: "done".to_owned(),
            newest: Some(40),
            ..Evidence::default()
        }
    }

    #[track_caller]
    fn check(evidence: &Evidence, steps_lost: u32, words: &[&str]) {
        check_promise(Promise::SinceCopied, evidence, steps_lost, words);
    }

    #[track_caller]
    fn check_promise(promise: Promise, evidence: &Evidence, steps_lost: u32, words: &[&str]) {
        let verdict = judge(&TRAINING, promise, evidence);
        assert_eq!(verdict.steps_lost, steps_lost);
        assert_eq!(verdict.findings.len(), words.len(), "{verdict:?}");
        for (finding, words) in verdict.findings.iter().zip(words) {
            assert!(finding.contains(words), "{finding}");
        }
    }

    #[test]
    fn what_holds_and_what_does_not() {
        check(&evidence(10), 0, &[]);
        check(&evidence(5), 5, &[]);
        check(&evidence(0), 10, &["checkpoint 5 was announced"]);
        let again = ["5 steps before a complete checkpoint"];
        check_promise(Promise::SinceComplete, &evidence(5), 5, &again);
        let mut lost = evidence(10);
        lost.progress.events[0]
            .1
            .push(json!({"event": "lost", "cause": "the agents' step ended"}));
        check(&lost, 0, &[]);
        check_promise(Promise::SinceComplete, &lost, 0, &[]);
        let words = ["a start was lost: the agents' step ended"];
        check_promise(Promise::Nothing, &lost, 0, &words);
        let mut again = evidence(10);
        again.all_ended_well.push("1.0".to_owned());
        check(&again, 0, &["1.1 ran again"]);
        let mut failed = evidence(10);
        failed.state = "failed".to_owned();
        failed.left.push("a folder".to_owned());
        check(&failed, 0, &["the run is failed", "a folder"]);
    }
}
