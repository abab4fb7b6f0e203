//! What ranks print once they are being ended, folded on a terminal: stack traces, mostly, at each time
//! limit. Their logs have all of it.

use folder::Event;

/// So many lines are shown: what a program says of its last checkpoint comes first.
const SHOWN: u64 = 4;

/// Counts them for one start after the other.
#[derive(Debug, Default)]
pub struct StopFold {
    /// Lines since the ranks are being ended; `None`: they are not.
    lines: Option<u64>,
    /// The rank for whose failure they are.
    failed: Option<u32>,
}

impl StopFold {
    /// Takes in what a conductor wrote down. Returns the line for what was left out, where something was
    /// and the ranks are at their end.
    pub fn see(&mut self, event: &Event) -> Option<String> {
        match event {
            // Who writes that one of our own processes was lost ends the ranks then.
            Event::Stopping { .. } | Event::Lost { .. } => {
                self.lines.get_or_insert(0);
                None
            }
            // Without a batch step they are ended only after the run was brought back.
            Event::RanksEnded { .. }
            | Event::Terminated { .. }
            | Event::Finished { .. }
            | Event::Failed { .. }
            | Event::Started { .. } => {
                self.failed = None;
                let hidden = self.lines.take()?.saturating_sub(SHOWN);
                (hidden > 0)
                    .then(|| format!("  … {hidden} more lines of ranks that were being ended"))
            }
            _ => None,
        }
    }

    /// A rank failed by itself: `srun` ends the others. What it said itself is no part of that.
    pub fn see_failure(&mut self, rank: u32) {
        if self.lines.is_none() {
            self.lines = Some(0);
            self.failed = Some(rank);
        }
    }

    /// Whether a line that came now of that rank is shown.
    pub fn shows_line(&mut self, rank: u32) -> bool {
        let Some(lines) = self.lines.as_mut().filter(|_| self.failed != Some(rank)) else {
            return true;
        };
        *lines += 1;
        *lines <= SHOWN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folder::StopReason;
    use model::Seconds;

    #[test]
    fn the_first_lines_are_shown_and_the_others_counted() {
        let stopping = Event::Stopping {
            reason: StopReason::Limit,
            left: Seconds(5),
        };
        let ended = Event::RanksEnded {
            status: 1,
            first_failed: None,
        };
        let mut fold = StopFold::default();
        let shown =
            |fold: &mut StopFold, lines: u64| (0..lines).filter(|_| fold.shows_line(1)).count();
        assert_eq!(shown(&mut fold, 9), 9);
        assert_eq!(fold.see(&ended), None);
        assert_eq!(fold.see(&stopping), None);
        assert_eq!(shown(&mut fold, 9), 4);
        let said = "  … 5 more lines of ranks that were being ended";
        assert_eq!(fold.see(&ended).as_deref(), Some(said));
        // The next start, and one that prints little when it ends.
        assert_eq!(shown(&mut fold, 9), 9);
        assert_eq!(fold.see(&stopping), None);
        assert_eq!(shown(&mut fold, 3), 3);
        assert_eq!(fold.see(&ended), None);
    }

    #[test]
    fn ranks_that_a_lost_node_leaves_behind_are_being_ended_too() {
        let stopping = Event::Stopping {
            reason: StopReason::NodeLost,
            left: Seconds(5),
        };
        let lost = Event::Lost {
            cause: "node n2 was lost".to_owned(),
        };
        let mut fold = StopFold::default();
        assert_eq!(fold.see(&stopping), None);
        assert_eq!(fold.see(&lost), None);
        assert_eq!((0..9).filter(|_| fold.shows_line(0)).count(), 4);
        // Those of a killed batch step are ended after it was brought back.
        let back = Event::ComingBack {
            how: folder::ComingBack::Requeue,
        };
        let mut fold = StopFold::default();
        assert_eq!(fold.see(&lost), None);
        assert_eq!(fold.see(&back), None);
        assert_eq!((0..9).filter(|_| fold.shows_line(0)).count(), 4);
    }

    #[test]
    fn ranks_that_are_ended_for_a_failed_one_are_folded_and_its_own_words_are_not() {
        let mut fold = StopFold::default();
        fold.see_failure(1);
        assert_eq!((0..30).filter(|_| fold.shows_line(0)).count(), 4);
        assert_eq!((0..30).filter(|_| fold.shows_line(1)).count(), 30);
        let ended = Event::RanksEnded {
            status: 7,
            first_failed: Some((1, 7)),
        };
        let said = "  … 26 more lines of ranks that were being ended";
        assert_eq!(fold.see(&ended).as_deref(), Some(said));
        // Those of a job that is ended anyway are folded already, all of them.
        let stopping = Event::Stopping {
            reason: StopReason::Limit,
            left: Seconds(5),
        };
        assert_eq!(fold.see(&stopping), None);
        fold.see_failure(1);
        assert_eq!((0..9).filter(|_| fold.shows_line(1)).count(), 4);
    }
}
