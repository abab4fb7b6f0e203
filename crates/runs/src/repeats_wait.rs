//! Waiting until all repeats of a run are over.

use crate::{Comeback, FILE_PAUSE, Failure, LastDeputy, Repeats, Run, RunState};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How often their cluster is asked, at first.
const PAUSE: Duration = Duration::from_millis(200);
/// And at most so seldom.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// What is seen while several repeats are waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RepeatsEvent {
    /// Their cluster does not answer any more.
    Outage {
        /// What was seen.
        why: String,
    },
    /// One of them is over.
    Ended {
        /// Which, counted from 1.
        number: u32,
        /// How.
        state: RunState,
    },
    /// Where all stand now.
    Stand {
        /// Each, in order.
        states: Vec<RunState>,
    },
}

/// How waiting for them ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RepeatsEnd {
    /// All are over.
    Over {
        /// Whether each of them was done.
        all_done: bool,
    },
    /// The client leaves them to themselves.
    Left,
}

impl Repeats {
    /// Waits until all are over, or the client leaves, as `leaves` says.
    ///
    /// # Errors
    /// Their files can't be read, or the embedded engine does not answer.
    pub fn wait(
        self,
        leaves: &dyn Fn() -> bool,
        seen: &mut dyn FnMut(RepeatsEvent),
    ) -> Result<RepeatsEnd, Failure> {
        let begun = Instant::now();
        let mut repeats = self;
        let watch = |run: &Run| Watched {
            is_over: false,
            deputy: LastDeputy::of(&run.entry.id),
        };
        let mut watched: Vec<Watched> = repeats.runs.iter().map(watch).collect();
        let mut asked: Option<Instant> = None;
        let mut outage = None;
        loop {
            if leaves() {
                return Ok(RepeatsEnd::Left);
            }
            let pause = (begun.elapsed() / 10).clamp(PAUSE, LONGEST_PAUSE);
            if asked.is_none_or(|asked| asked.elapsed() >= pause) {
                asked = Some(Instant::now());
                repeats = Repeats::read(repeats.entry)?;
                let (views, why) = repeats.views()?;
                if let (Some(why), None) = (&why, &outage) {
                    seen(RepeatsEvent::Outage { why: why.clone() });
                }
                outage = why;
                let states = repeats.states(&views);
                if outage.is_none() {
                    for event in newly_ended(&repeats.runs, &states, &mut watched, leaves) {
                        seen(event);
                    }
                }
                if watched.iter().all(|one| one.is_over) {
                    let is_done = |state: &RunState| matches!(state, RunState::Done { .. });
                    let all_done = states.iter().all(is_done);
                    return Ok(RepeatsEnd::Over { all_done });
                }
                seen(RepeatsEvent::Stand { states });
            }
            std::thread::sleep(FILE_PAUSE);
        }
    }
}

/// One that is waited for.
struct Watched {
    is_over: bool,
    deputy: LastDeputy,
}

impl Watched {
    /// One that is over is not, where it was requeued.
    fn sees(&mut self, state: &RunState, id: &str) {
        if self.is_over && state.is_live() {
            *self = Watched {
                is_over: false,
                deputy: LastDeputy::of(id),
            };
        }
    }
}

/// The ends that were not seen before; one that no other process is left to bring back is brought back.
fn newly_ended(
    runs: &[Run],
    states: &[RunState],
    watched: &mut [Watched],
    leaves: &dyn Fn() -> bool,
) -> Vec<RepeatsEvent> {
    let mut ended = Vec::new();
    for ((run, state), one) in runs.iter().zip(states).zip(watched) {
        one.sees(state, &run.entry.id);
        if state.is_live() || one.is_over {
            continue;
        }
        if let Comeback::Over(_) = one.deputy.see(state, leaves) {
            one.is_over = true;
            ended.push(RepeatsEvent::Ended {
                number: run.entry.of.as_ref().map_or(0, |of| of.number),
                state: state.clone(),
            });
        }
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The wait ended as soon as the others were over.
    #[test]
    fn one_of_several_that_was_requeued_is_waited_for_again() {
        let mut one = Watched {
            is_over: true,
            deputy: LastDeputy::of("seeds.2"),
        };
        one.sees(&RunState::Cancelled, "seeds.2");
        assert!(one.is_over);
        let reason = "Priority".to_owned();
        one.sees(&RunState::Waiting { reason }, "seeds.2");
        assert!(!one.is_over);
    }
}
