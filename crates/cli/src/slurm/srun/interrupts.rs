//! What Ctrl-C and other signals mean to `srun`: pure.

use model::srun::FirstInterrupt;

/// What is to be done about a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Say how the tasks stand, and that one more ends the step.
    Tell,
    /// Pass it to the tasks, and say so.
    Pass,
    /// Pass it to the tasks and end the step.
    Interrupt,
    /// End the step.
    End,
    /// Pass it to the tasks.
    Forward(i32),
    /// The terminal's size changed.
    Resize,
}

/// Signals that `srun` reads: HUP, INT, QUIT, USR1, USR2, ALRM, TERM, CONT, WINCH.
pub const SIGNALS: &[i32] = &[1, SIGINT, 3, 10, 12, 14, 15, 18, SIGWINCH];

/// Ctrl-C.
pub const SIGINT: i32 = 2;
/// The terminal's size changed.
pub const SIGWINCH: i32 = 28;

/// Two Ctrl-C within so many milliseconds end the step.
const TWICE_MS: i64 = 1000;

/// The rules, and when the last Ctrl-C came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interrupts {
    first: FirstInterrupt,
    last: Option<i64>,
}

impl Interrupts {
    /// `first`: what a single one does.
    pub fn new(first: FirstInterrupt) -> Interrupts {
        Interrupts { first, last: None }
    }

    /// What `signal` means at `now`, in milliseconds.
    pub fn react(&mut self, signal: i32, now: i64) -> Reaction {
        match signal {
            SIGINT => {
                let twice = self.last.is_some_and(|last| now - last <= TWICE_MS);
                self.last = Some(now);
                match self.first {
                    _ if twice => Reaction::Interrupt,
                    FirstInterrupt::End => Reaction::Interrupt,
                    FirstInterrupt::Pass => Reaction::Pass,
                    FirstInterrupt::Tell => Reaction::Tell,
                }
            }
            1 | 3 | 15 => Reaction::End,
            SIGWINCH => Reaction::Resize,
            other => Reaction::Forward(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mut rules: Interrupts, signals: &[(i64, i32)], want: &[Reaction]) {
        let seen: Vec<Reaction> = signals
            .iter()
            .map(|(at, signal)| rules.react(*signal, *at))
            .collect();
        assert_eq!(seen, want);
    }

    #[test]
    fn one_tells_two_end() {
        use Reaction::{Interrupt, Tell};
        let signals = [(0, SIGINT), (1500, SIGINT), (2400, SIGINT)];
        check(Interrupts::default(), &signals, &[Tell, Tell, Interrupt]);
    }

    #[test]
    fn one_is_enough_where_asked() {
        let rules = Interrupts::new(FirstInterrupt::End);
        check(rules, &[(0, SIGINT)], &[Reaction::Interrupt]);
    }

    #[test]
    fn each_is_passed_on_where_asked() {
        use Reaction::{Interrupt, Pass};
        let rules = Interrupts::new(FirstInterrupt::Pass);
        let signals = [(0, SIGINT), (1500, SIGINT), (2000, SIGINT)];
        check(rules, &signals, &[Pass, Pass, Interrupt]);
    }

    #[test]
    fn others() {
        use Reaction::{End, Forward, Resize};
        let signals = [(0, 10), (0, 12), (0, 15), (0, 1), (0, SIGWINCH)];
        let want = [Forward(10), Forward(12), End, End, Resize];
        check(Interrupts::default(), &signals, &want);
    }
}
