//! What became of the start before, where no process of it was left to say so: its nodes failed with all that
//! ran on them.

use super::cluster_word::lost_nodes;
use super::history::events_of;
use folder::{Attempt, Event, EventLog, RunFolder, StopReason};
use model::Timestamp;
use std::io;
use std::time::Duration;

/// How long a cluster may take to say how its nodes are.
const LONGEST_ANSWER: Duration = Duration::from_secs(5);

/// Writes down that nodes of this job's start before are down, where that start ended without giving a reason: the
/// cluster has brought the job back by itself.
///
/// # Errors
/// The run folder can't be read or written.
pub(super) fn write_down(run: &RunFolder, own: Attempt, now: Timestamp) -> io::Result<()> {
    if own.restart == 0 {
        return Ok(());
    }
    let former = Attempt {
        restart: own.restart - 1,
        ..own
    };
    let events = events_of(run, former)?;
    let Some(nodes) = nodes_without_end(&events) else {
        return Ok(());
    };
    let lost = lost_nodes(&nodes.join(","), LONGEST_ANSWER);
    if lost.is_empty() {
        return Ok(());
    }
    let mut log = EventLog::open(&run.events(former))?;
    let cause = super::say_lost(&lost);
    let reason = Some(StopReason::NodeLost);
    for event in [Event::Lost { cause }, Event::Terminated { reason }] {
        log.append(now, event)?;
    }
    Ok(())
}

/// The nodes of a start that began and did not say how it ended.
fn nodes_without_end(events: &[Event]) -> Option<&[String]> {
    let has_end = events.iter().any(|event| {
        matches!(
            event,
            Event::Lost { .. }
                | Event::ComingBack { .. }
                | Event::Terminated { .. }
                | Event::Finished { .. }
                | Event::Failed { .. }
        )
    });
    let nodes = events.iter().find_map(|event| match event {
        Event::Started { nodes, .. } => Some(nodes.as_slice()),
        _ => None,
    });
    nodes.filter(|_| !has_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(more: Vec<Event>, want: bool) {
        let started = Event::Started {
            job: 7,
            restart: 0,
            nodes: vec!["n1".to_owned()],
        };
        let events: Vec<Event> = [started].into_iter().chain(more).collect();
        assert_eq!(nodes_without_end(&events).is_some(), want, "{events:?}");
    }

    #[test]
    fn a_start_that_says_how_it_ended_is_left_alone() {
        let launched = Event::Launched {
            ranks: 1,
            rendezvous: String::new(),
        };
        check(vec![launched], true);
        check(
            vec![Event::Finished {
                status: 0,
                left: None,
            }],
            false,
        );
        check(vec![Event::Terminated { reason: None }], false);
        assert_eq!(nodes_without_end(&[]), None);
    }
}
