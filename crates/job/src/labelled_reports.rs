//! Reports of agents as `srun --label` prints them: the task's number, a colon, a blank, the report.
//!
//! Slurm's srun passes output on in messages of at most 1,024 bytes, whatever lines are in them, and prints
//! each message's end as the end of a line: of several reports at once one comes in two pieces, each with
//! the task's number. They are put together here.

use crate::protocol::{AgentId, LONGEST, Report};
use std::collections::BTreeMap;

/// How a report begins. Within one no piece can: there its quotes are escaped.
const BEGINNING: &[u8] = br#"{"report":""#;

/// What has come of reports that are not whole yet, by agent.
#[derive(Debug, Default)]
pub struct LabelledReports {
    begun: BTreeMap<AgentId, Vec<u8>>,
}

impl LabelledReports {
    /// Takes a line without its end; returns the report that is whole with it. Anything else is passed over:
    /// what a library prints into an agent's output is not ours.
    pub fn take(&mut self, line: &[u8]) -> Option<(AgentId, Report)> {
        let (agent, piece) = labelled(line)?;
        let mut report = self.begun.remove(&agent).unwrap_or_default();
        if piece.starts_with(BEGINNING) {
            report.clear();
        }
        report.extend_from_slice(piece);
        match serde_json::from_slice(&report) {
            Ok(report) => return Some((agent, report)),
            Err(error) if error.is_eof() && report.len() <= LONGEST => {
                self.begun.insert(agent, report);
            }
            Err(_) => {}
        }
        None
    }
}

/// Labels of a step have one width, filled up with blanks before the number.
fn labelled(line: &[u8]) -> Option<(AgentId, &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (label, rest) = (&line[..colon], &line[colon + 1..]);
    let agent = str::from_utf8(label).ok()?.trim_start().parse().ok()?;
    Some((agent, rest.strip_prefix(b" ").unwrap_or(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rounds of the drained reports that come of these lines, with the agents that said them.
    #[track_caller]
    fn check(lines: &[&str], want: &[(AgentId, u32)]) {
        let mut reports = LabelledReports::default();
        let found: Vec<(AgentId, u32)> = lines
            .iter()
            .filter_map(|line| match reports.take(line.as_bytes())? {
                (agent, Report::Drained { round }) => Some((agent, round)),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(found, want, "{lines:?}");
    }

    #[test]
    fn labelled_lines() {
        check(&[r#"0: {"report":"drained","round":2}"#], &[(0, 2)]);
        check(&[r#" 7: {"report":"drained","round":2}"#], &[(7, 2)]);
        check(&["slurmstepd: error: something", ""], &[]);
        check(&["0: a library's words", "0: 5", "0: {}"], &[]);
    }

    /// It was lost: of a burst of words on what a node keeps the last one, which was the newest checkpoint.
    #[test]
    fn a_report_that_srun_broke_in_two_is_put_together() {
        let two = [r#"0: {"report":"drai"#, r#"0: ned","round":2}"#];
        check(&two, &[(0, 2)]);
        // The end of its line alone.
        check(&[r#"0: {"report":"drained","round":2}"#, "0: "], &[(0, 2)]);
        // Another agent in between.
        let between = [
            r#"0: {"report":"drained","rou"#,
            r#"1: {"report":"drained","round":3}"#,
            r#"0: nd":2}"#,
        ];
        check(&between, &[(1, 3), (0, 2)]);
        // One that never came whole takes no other along.
        let lost = [
            r#"0: {"report":"drained","rou"#,
            r#"0: {"report":"drained","round":2}"#,
        ];
        check(&lost, &[(0, 2)]);
        let garbled = [
            r#"0: {"report":"drained","#,
            "0: a library's words",
            r#"0: {"report":"drained","round":2}"#,
        ];
        check(&garbled, &[(0, 2)]);
    }

    /// Wherever it is broken, in the middle of a letter and of an escape too, and into how many pieces.
    #[test]
    fn no_place_to_break_at_is_a_bad_one() {
        let text = "ünd \"quoted\": {\"report\":\"x\"} 1: ".to_owned();
        let report = Report::Note { text };
        let line = report.clone().line().into_bytes();
        let line = &line[..line.len() - 1];
        for first in 0..=line.len() {
            for second in first..=line.len() {
                let pieces = [&line[..first], &line[first..second], &line[second..]];
                let mut reports = LabelledReports::default();
                let found: Vec<_> = pieces
                    .iter()
                    .filter_map(|piece| reports.take(&[b"12: ", *piece].concat()))
                    .collect();
                assert_eq!(found, [(12, report.clone())], "{first} {second}");
            }
        }
    }
}
