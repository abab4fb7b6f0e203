//! Which rank wrote a line, where several write into the log of their agent.

use folder::{LineMark, LogLine, RunFolder, last_lines};
use runs::{Run, Start};
use std::cell::Cell;
use train::Shape;

/// So many last lines of an agent's log are looked at for marks.
const LOOKED_AT: usize = 200;

/// Tells of which rank the lines of a start's logs are.
pub struct RankLines {
    /// Of how many agents the logs are, and how many ranks there are in all; `None`: each log is a rank's.
    agents: Option<(u32, u32)>,
    /// Whether lines are marked with their ranks.
    are_marked: Cell<bool>,
}

impl RankLines {
    /// Of a start of a run, by what stands in its logs now.
    pub fn of(run: &Run, start: Option<&Start>) -> RankLines {
        let json = RunFolder::open(run.folder.path()).ok();
        let plan = json.map(|(_, json)| json.plan);
        let plan = plan.filter(|plan| plan.launcher.value.shape() == Shape::Agents);
        let agents = plan.map(|plan| (plan.nodes.value, plan.world_size()));
        let lines = RankLines {
            agents,
            are_marked: Cell::new(false),
        };
        if let (Some((agents, _)), Some(start)) = (agents, start) {
            for agent in 0..agents {
                let log = run.folder.rank_log(start.attempt, agent);
                // What can't be read is said when it is shown.
                for line in last_lines(&log, LOOKED_AT).unwrap_or_default() {
                    let _ = lines.marked(line.as_bytes());
                }
            }
        }
        lines
    }

    /// How many ranks there are, where their lines are distinguished in logs that are not theirs alone.
    pub fn ranks(&self) -> Option<u32> {
        let (_, ranks) = self.agents.filter(|_| self.are_marked.get())?;
        Some(ranks)
    }

    /// The rank that a mark names, and what stands behind it.
    fn marked<'l>(&self, line: &'l [u8]) -> Option<(u32, &'l [u8])> {
        let (agents, ranks) = self.agents?;
        let (mark, text) = LineMark::split(line)?;
        // The agents agree among themselves on whose ranks come first.
        let rank = mark.rank.or((agents == 1).then_some(mark.local));
        let rank = rank.filter(|rank| *rank < ranks)?;
        self.are_marked.set(true);
        Some((rank, text))
    }

    /// What stands before a line, and the line; `None` for one that is not of this rank, where one was asked for.
    pub fn shown<'l>(&self, line: &'l LogLine, asked: Option<u32>) -> Option<(String, &'l [u8])> {
        let (is_own, label, text) = match self.marked(&line.bytes) {
            Some((rank, text)) => (asked == Some(rank), rank.to_string(), text),
            // What the agent itself says.
            None if self.are_marked.get() => {
                (false, format!("agent {}", line.rank), &line.bytes[..])
            }
            None => (
                asked == Some(line.rank),
                line.rank.to_string(),
                &line.bytes[..],
            ),
        };
        match asked {
            None => Some((format!("[{label}] "), text)),
            Some(_) => is_own.then(|| (String::new(), text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(agents: Option<(u32, u32)>, asked: Option<u32>, lines: &[(u32, &str)], want: &[&str]) {
        let rank_lines = RankLines {
            agents,
            are_marked: Cell::new(false),
        };
        let lines: Vec<LogLine> = lines
            .iter()
            .map(|(rank, text)| LogLine {
                rank: *rank,
                bytes: text.as_bytes().to_vec(),
            })
            .collect();
        let shown = lines
            .iter()
            .filter_map(|line| rank_lines.shown(line, asked));
        let shown: Vec<String> = shown
            .map(|(prefix, text)| prefix + &String::from_utf8_lossy(text))
            .collect();
        assert_eq!(shown, want);
    }

    #[test]
    fn marked_lines_are_those_of_their_ranks() {
        let two = [
            (0, "[default1:3]:a"),
            (1, "[default0:0]:b"),
            (1, "torchrun says"),
        ];
        let agents = Some((2, 4));
        check(
            agents,
            None,
            &two,
            &["[3] a", "[0] b", "[agent 1] torchrun says"],
        );
        check(agents, Some(3), &two, &["a"]);
        check(agents, Some(1), &two, &[]);
        // Of several agents the number on a node tells nothing.
        let old = [(0, "[default1]:a"), (1, "[default0]:b")];
        check(
            agents,
            None,
            &old,
            &["[0] [default1]:a", "[1] [default0]:b"],
        );
        check(Some((1, 2)), Some(1), &old[..1], &["a"]);
    }

    #[test]
    fn without_marks_a_log_is_its_writers() {
        let lines = [(0, "a"), (1, "[default0]:b")];
        check(None, None, &lines, &["[0] a", "[1] [default0]:b"]);
        check(None, Some(1), &lines, &["[default0]:b"]);
        check(Some((2, 4)), Some(0), &lines[..1], &["a"]);
    }
}
