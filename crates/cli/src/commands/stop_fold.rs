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
                let hidden = self.lines.take()?.saturating_sub(SHOWN);
                (hidden > 0)
                    .then(|| format!("  … {hidden} more lines of ranks that were being ended"))
            }
            _ => None,
        }
    }

    /// Whether a rank's line that came now is shown.
    pub fn shows_line(&mut self) -> bool {
        let Some(lines) = &mut self.lines else {
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
            |fold: &mut StopFold, lines: u64| (0..lines).filter(|_| fold.shows_line()).count();
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
        assert_eq!((0..9).filter(|_| fold.shows_line()).count(), 4);
        // Those of a killed batch step are ended after it was brought back.
        let back = Event::ComingBack {
            how: folder::ComingBack::Requeue,
        };
        let mut fold = StopFold::default();
        assert_eq!(fold.see(&lost), None);
        assert_eq!(fold.see(&back), None);
        assert_eq!((0..9).filter(|_| fold.shows_line()).count(), 4);
    }
}
