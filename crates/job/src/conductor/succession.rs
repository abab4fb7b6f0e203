//! Jobs that take over from others: who is next, and whether there is anything left to do.

use super::cluster_word::ClusterWord;
use super::history::{events_of, lost_in_a_row};
use super::slurm_command::slurm_command;
use super::state;
use folder::{
    Attempt, Event, LOST_IN_A_ROW, LinkState, NewLink, NotSubmitted, RunFolder, StopReason,
    SubmissionError, Submitter,
};
use model::Timestamp;
use std::io;
use std::process::{Command, Output};
use std::time::Duration;

/// How long a successor waits for the cluster's word on the job before it.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a job finds when it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The training goes on.
    GoesOn,
    /// There is nothing left to do.
    Over {
        /// In words, for the job's own log.
        why: String,
    },
    /// It does not go on, which has not been reported yet.
    Fails {
        /// In words.
        cause: String,
    },
}

/// Where the run stands for the job that has link `number` and starts now. Only a job that was
/// submitted to take over asks: one that a person started goes on whatever was before. `own_checkpoints`: the
/// program's are not seen, so that nothing tells whether it gets on.
///
/// # Errors
/// The run folder can't be read.
pub fn standing(
    run: &RunFolder,
    number: u32,
    now: Attempt,
    own_checkpoints: bool,
) -> io::Result<Standing> {
    let over = |why: &str| Standing::Over {
        why: why.to_owned(),
    };
    if run.is_cancelled() {
        return Ok(over("the run was cancelled"));
    }
    let links = run.read_links()?;
    let Some(link) = links.into_iter().find(|link| link.number == number) else {
        return Ok(Standing::GoesOn);
    };
    let (Some(before), 0) = (link.after, now.restart) else {
        return Ok(Standing::GoesOn);
    };
    if let LinkState::Submitted { job, .. } = link.state
        && job != now.job
    {
        return Ok(over("another job has this one's place"));
    }
    let last = run
        .attempts()?
        .into_iter()
        .rfind(|attempt| attempt.job == before);
    let events = last.map(|last| events_of(run, last)).transpose()?;
    let asked = || ClusterWord::ask(before, PATIENCE).and_then(|word| word.reason());
    let lost = if own_checkpoints {
        0
    } else {
        lost_in_a_row(run, now)?
    };
    Ok(judge(&events.unwrap_or_default(), lost, asked))
}

/// `asked`: why the cluster ended the job before, where its events don't say.
fn judge(events: &[Event], lost: u32, asked: impl FnOnce() -> Option<StopReason>) -> Standing {
    let mut said = None;
    for event in events.iter().rev() {
        match event {
            Event::Finished { .. } => {
                return Standing::Over {
                    why: "the training is done".to_owned(),
                };
            }
            Event::Failed { cause, .. } => {
                return Standing::Over {
                    why: format!("the run has failed: {cause}"),
                };
            }
            Event::ComingBack { .. } => return Standing::GoesOn,
            Event::Terminated { reason } => {
                said = *reason;
                break;
            }
            _ => {}
        }
    }
    match said.or_else(asked) {
        Some(StopReason::Cancelled) => Standing::Over {
            why: "the job before was cancelled".to_owned(),
        },
        _ if lost >= LOST_IN_A_ROW => Standing::Fails {
            cause: state::lost_too_often(lost, "a job ended without recording why", false),
        },
        _ => Standing::GoesOn,
    }
}

/// The job of the run that waits for the end of the one with link `number`.
///
/// # Errors
/// The run folder can't be read.
pub fn successor(run: &RunFolder, number: u32) -> io::Result<Option<u32>> {
    let links = run.read_links()?;
    let next = links.into_iter().rfind(|link| link.number > number);
    Ok(next.and_then(|link| match link.state {
        LinkState::Submitted { job, .. } => Some(job),
        LinkState::Intent { .. } | LinkState::Refused { .. } => None,
    }))
}

/// A job's place in its run.
#[derive(Clone, Debug)]
pub struct Place {
    /// The run folder.
    pub run: RunFolder,
    /// The number of its link.
    pub number: u32,
    /// Its own number.
    pub job: u32,
    /// Its cluster's name.
    pub cluster: String,
    /// The run's own token.
    pub token: String,
    /// The limit as sbatch takes it, where the script says it too coarsely.
    pub time: Option<String>,
}

impl Place {
    /// Submits the job that takes over from this one, unless it waits already; returns its number.
    /// The intent is written before, the answer after. One that was cancelled has no other in its place.
    ///
    /// # Errors
    /// In words.
    pub fn succeed(&self) -> Result<u32, String> {
        self.next_after(self.job)
    }

    /// As [`Place::succeed`], to start after the end of that job, which is another run's.
    ///
    /// # Errors
    /// In words.
    pub fn wait_for(&self, job: u32) -> Result<u32, String> {
        self.next_after(job)
    }

    fn next_after(&self, job: u32) -> Result<u32, String> {
        let words = |error: io::Error| format!("the run folder can't be used: {error}");
        let turn = self.run.submission_turn();
        let _turn = turn.map_err(|error| words(error.into()))?;
        if let Some(job) = successor(&self.run, self.number).map_err(words)? {
            let word = ClusterWord::ask(job, PATIENCE);
            return match word.and_then(|word| word.reason()) {
                Some(StopReason::Cancelled) => {
                    Err(format!("job {job}, which waited for that, was cancelled"))
                }
                _ => Ok(job),
            };
        }
        let number = self.number + 1;
        let token = folder::link_token(self.run.id(), number, &self.token);
        let link = NewLink {
            number,
            cluster: &self.cluster,
            token: &token,
            after: Some(self.job),
        };
        let now = || Timestamp(sys::now());
        let mut sbatch = Sbatch {
            place: self,
            after: job,
        };
        match self.run.submit(&link, &mut sbatch, now) {
            Ok((job, _at)) => Ok(job),
            Err(SubmissionError::Folder(error)) => Err(words(error.into())),
            Err(SubmissionError::Cluster(why)) => Err(why),
        }
    }
}

/// Slurm's own commands, as the job before calls them.
struct Sbatch<'a> {
    place: &'a Place,
    /// The job whose end it waits for.
    after: u32,
}

impl Submitter for Sbatch<'_> {
    type Error = String;

    fn find(&mut self, token: &str) -> Result<Option<u32>, String> {
        let mut command = slurm_command("squeue");
        command.args(model::FIND_BY_COMMENT);
        let answer = output(&mut command)?;
        if !answer.status.success() {
            return Err(super::steps::last_words("squeue", &answer));
        }
        let found = model::job_with_comment(&String::from_utf8_lossy(&answer.stdout), token);
        Ok(found.map(|job| job.0))
    }

    fn submit(&mut self, link: &NewLink<'_>) -> Result<u32, NotSubmitted<String>> {
        let Sbatch { place, after } = self;
        let mut command = slurm_command("sbatch");
        command
            .arg("--parsable")
            .arg(format!("--dependency=afterany:{after}"))
            .arg(format!("--comment={}", link.token))
            .args(place.time.iter().map(|time| format!("--time={time}")))
            .arg(place.run.script())
            .arg(link.number.to_string());
        let answer = output(&mut command).map_err(NotSubmitted::Refused)?;
        let said = String::from_utf8_lossy(&answer.stdout);
        let job = said.trim().split(';').next().and_then(|id| id.parse().ok());
        match job {
            Some(job) if answer.status.success() => Ok(job),
            _ => {
                let why = super::steps::last_words("sbatch", &answer);
                Err(if model::answer_was_lost(&why) {
                    NotSubmitted::NoAnswer(why)
                } else {
                    NotSubmitted::Refused(why)
                })
            }
        }
    }
}

fn output(command: &mut Command) -> Result<Output, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let answer = command.output();
    answer.map_err(|error| format!("{name} can't be started: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use folder::ComingBack;

    #[track_caller]
    fn check(events: &[Event], lost: u32, asked: Option<StopReason>, goes_on: bool) {
        let found = judge(events, lost, || asked);
        assert_eq!(found == Standing::GoesOn, goes_on, "{found:?}");
    }

    fn terminated(reason: Option<StopReason>) -> Event {
        Event::Terminated { reason }
    }

    #[test]
    fn who_takes_over() {
        let back = Event::ComingBack {
            how: ComingBack::Successor { job: 8 },
        };
        check(&[back], 0, Some(StopReason::Cancelled), true);
        check(
            &[Event::Finished {
                status: 0,
                left: None,
            }],
            0,
            None,
            false,
        );
        let failed = Event::Failed {
            cause: "rank 1".to_owned(),
            status: Some(1),
        };
        check(&[failed], 0, None, false);
        check(&[terminated(Some(StopReason::Preempted))], 0, None, true);
        check(&[terminated(Some(StopReason::Cancelled))], 0, None, false);
        check(&[terminated(None)], 0, Some(StopReason::Cancelled), false);
        check(&[terminated(None)], 0, None, true);
        // Killed before it could say anything.
        check(&[], 0, Some(StopReason::NodeLost), true);
        check(&[], 0, Some(StopReason::Cancelled), false);
        check(&[], 0, None, true);
        check(&[], 3, None, false);
    }
}
