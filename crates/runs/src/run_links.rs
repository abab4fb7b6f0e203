//! The jobs of a run that count now: one that has started, and one that may wait to take over.

use backend::{JobView, ViewState};
use folder::{Link, LinkState};
use model::JobId;

/// The link whose job speaks for the run: the newest that a person started or whose job has begun.
/// A job that waits to take over, or ended at once because nothing was left to do, is not it.
pub fn current(links: &[Link], has_started: impl Fn(u32) -> bool) -> Option<&Link> {
    let speaks = |link: &&Link| match link.state {
        LinkState::Submitted { job, .. } => link.after.is_none() || has_started(job),
        // Of a job that nobody has there is nothing to tell, unless it is the only one.
        LinkState::Intent { .. } | LinkState::Refused { .. } => link.number == 1,
    };
    links.iter().rfind(speaks).or(links.first())
}

/// The job of the current link and those that may take over from it.
pub fn asked(links: &[Link], current: Option<&Link>) -> Vec<JobId> {
    let from = current.map_or(0, |link| link.number);
    let counted = links.iter().filter(|link| link.number >= from);
    counted
        .filter_map(|link| match link.state {
            LinkState::Submitted { job, .. } => Some(JobId(job)),
            LinkState::Intent { .. } | LinkState::Refused { .. } => None,
        })
        .collect()
}

/// Of what the cluster says of those jobs, what counts: the current one as long as it lives, then
/// the one that takes over, then whatever is known of the newest.
pub fn choose(jobs: &[JobId], views: &[JobView]) -> Option<JobView> {
    let known: Vec<&JobView> = jobs
        .iter()
        .filter_map(|job| views.iter().find(|view| view.id == *job))
        .collect();
    let live = known.iter().find(|view| view.state.is_live());
    let cancelled = |view: &&&JobView| matches!(&view.state, ViewState::Ended { how, .. } if how == "CANCELLED");
    live.or_else(|| known.iter().find(cancelled))
        .or(known.last())
        .map(|view| (*view).clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;

    /// `7`: a job that a person started; `8<7`: one that takes over from 7; `*`: it has started.
    #[track_caller]
    fn check(links: &str, want_current: u32, want_asked: &[u32]) {
        let mut started = Vec::new();
        let mut all = Vec::new();
        for (index, word) in links.split(' ').enumerate() {
            let plain = word.trim_end_matches('*');
            let (job, after) = plain.split_once('<').unwrap_or((plain, ""));
            let job = job.parse().unwrap();
            started.extend(word.ends_with('*').then_some(job));
            all.push(Link {
                number: u32::try_from(index + 1).unwrap(),
                cluster: "c".to_owned(),
                token: "t".to_owned(),
                after: after.parse().ok(),
                state: LinkState::Submitted {
                    job,
                    at: Timestamp(0),
                },
            });
        }
        let current = current(&all, |job| started.contains(&job));
        let jobs = asked(&all, current);
        assert_eq!(jobs.first(), Some(&JobId(want_current)), "{links}");
        assert_eq!(
            jobs,
            want_asked.iter().map(|job| JobId(*job)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn who_speaks_for_the_run() {
        check("7", 7, &[7]);
        check("7* 8<7", 7, &[7, 8]);
        check("7* 8<7* 9<8", 8, &[8, 9]);
        check("7* 8<7 12", 12, &[12]);
        check("7 8<7", 7, &[7, 8]);
    }

    #[test]
    fn what_the_cluster_says_of_them() {
        let view = |id, how: &str| JobView {
            id: JobId(id),
            name: String::new(),
            restarts: 0,
            array: None,
            task: None,
            submitted: None,
            state: match how {
                "waits" => ViewState::Waiting {
                    reason: "Dependency".to_owned(),
                },
                how => ViewState::Ended {
                    how: how.to_owned(),
                    exit: "0:0".to_owned(),
                    at: None,
                },
            },
        };
        let check = |views: &[JobView], want: Option<u32>| {
            let found = choose(&[JobId(7), JobId(8)], views);
            assert_eq!(found.map(|view| view.id.0), want);
        };
        check(&[view(8, "waits"), view(7, "waits")], Some(7));
        check(&[view(8, "waits"), view(7, "COMPLETED")], Some(8));
        check(&[view(8, "COMPLETED"), view(7, "CANCELLED")], Some(7));
        check(&[view(8, "COMPLETED"), view(7, "PREEMPTED")], Some(8));
        check(&[], None);
    }
}
