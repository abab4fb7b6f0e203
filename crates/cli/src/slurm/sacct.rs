//! `sacct`: jobs that ended, and those that did not, with what they used.

use super::connection::{CommandError, connect_to_look, view_facts};
use crate::printer::Printer;
use api::JobFilter;
use jiff::tz::TimeZone;
use model::{
    JobHistory, JobId, JobInfo, JobState, SacctArgs, SacctShow, Timestamp, parse_moment,
    sacct_columns_text,
};

/// Runs it; returns its exit status.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    let now = Timestamp(sys::now());
    let asked = match SacctArgs::parse(args, now, &TimeZone::system()) {
        Ok(asked) => asked,
        Err(wrong) => {
            printer.say(&format!("sacct: error: {wrong}"));
            return 1;
        }
    };
    match asked.show {
        Some(SacctShow::Help) => printer.data(HELP),
        Some(SacctShow::Columns) => printer.data(&sacct_columns_text()),
        Some(SacctShow::Version) => printer.line(&super::version_line()),
        None => match answer(&asked, now) {
            Ok(text) => printer.data(&text),
            Err(failure) => {
                failure.say("sacct", printer);
                return 1;
            }
        },
    }
    0
}

fn answer(asked: &SacctArgs, now: Timestamp) -> Result<String, CommandError> {
    let mut client = connect_to_look()?;
    let since = since(asked, now);
    let histories = match &mut client {
        Some(client) => client.histories(JobFilter {
            ids: asked
                .jobs
                .as_ref()
                .map(|names| names.iter().map(|name| JobId(name.job)).collect()),
            ended_since: Some(since),
            comment: None,
        })?,
        None => Vec::new(),
    };
    let facts = view_facts(client.as_mut().filter(|_| !histories.is_empty()))?;
    let me = sys::process::user();
    let is_wanted = |info: &JobInfo, history: &JobHistory| {
        let by_user = match &asked.users {
            Some(users) => users
                .iter()
                .any(|user| *user == info.user || *user == info.uid.to_string()),
            None => asked.all_users || asked.jobs.is_some() || me == 0 || info.uid == me,
        };
        let begun = match &history.job.state {
            JobState::Running { since, .. } => *since,
            JobState::Pending { .. } | JobState::Ended { .. } => info.submitted,
        };
        by_user && asked.until.is_none_or(|until| begun <= until) && asked.wants(info)
    };
    let jobs: Vec<(JobInfo, &JobHistory)> = histories
        .iter()
        .map(|history| (JobInfo::of(&history.job, &facts), history))
        .filter(|(info, history)| is_wanted(info, history))
        .collect();
    Ok(asked.print(&jobs, &facts))
}

/// From when on: as asked, else for named jobs from the beginning, else since midnight.
fn since(asked: &SacctArgs, now: Timestamp) -> Timestamp {
    match (asked.since, &asked.jobs) {
        (Some(since), _) => since,
        (None, Some(_)) => Timestamp(0),
        (None, None) => {
            let midnight = parse_moment("today", now, &TimeZone::system());
            midnight.unwrap_or(Timestamp(now.0 - 86_400_000))
        }
    }
}

pub(super) const HELP: &str = "\
Usage: sacct [OPTIONS]
Lists jobs of Trainyard's embedded engine, ended ones too, as Slurm's sacct lists those of a cluster:
your own since midnight, with their steps.

  -a, --allusers         jobs of all users
  -b, --brief            jobid, state and exitcode
      --delimiter=TEXT   instead of | with -p and -P
  -D, --duplicates       each start of a requeued job
  -e, --helpformat       the names of all columns
  -E, --endtime=TIME     jobs from before a moment
  -j, --jobs=LIST        these jobs: 12, 12_3
      --name=LIST        jobs of these names
  -n, --noheader         no header
  -o, --format=LIST      columns, with widths: jobid,state%-20
  -p, --parsable         a | after each value
  -P, --parsable2        a | between values
  -s, --state=LIST       states, long or short
  -S, --starttime=TIME   jobs that ended after a moment, and those that did not end
  -u, --user=LIST        jobs of these users
  -V, --version          what this is
  -X, --allocations      no steps

Columns of what is not gathered here are empty. MaxRSS is the most that one process held at once.
Taken and without effect: --local, --truncate, --verbose.
";
