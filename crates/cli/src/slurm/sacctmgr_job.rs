//! `sacctmgr modify job`: what accounting records of jobs.

use super::connection::{CommandError, view_facts};
use super::sacctmgr::{COMMIT, TRIES, has_agreed};
use crate::printer::Printer;
use api::{ACCESS_DENIED, Client, JobFilter, Refusal};
use model::{JobId, JobInfo, ModifyJob, SacctmgrArgs, Timestamp};

/// Changes the records of the jobs that are named, once a person has agreed; returns the exit status.
pub(super) fn modify_jobs(
    asked: &SacctmgrArgs,
    change: &ModifyJob,
    client: &mut Client,
    printer: &Printer,
) -> Result<u8, CommandError> {
    for user in &change.users {
        let is_number = user.parse::<u32>().is_ok();
        if !is_number && sys::users::user_by_name(user).ok().flatten().is_none() {
            printer.say(&format!("sacctmgr: error: Invalid user id: {user}"));
            return Ok(1);
        }
    }
    if !change.names_jobs() && !asked.immediate && !has_agreed(NO_CONDITIONS, printer) {
        printer.line("Aborted");
        return Ok(0);
    }
    for attempt in 1.. {
        let jobs = client.jobs(JobFilter {
            ids: change.ids(),
            ended_since: Some(Timestamp(0)),
            components: true,
            ..JobFilter::default()
        })?;
        let facts = view_facts(Some(client))?;
        let jobs: Vec<JobInfo> = jobs.iter().map(|job| JobInfo::of(job, &facts)).collect();
        let named: Vec<&JobInfo> = jobs.iter().filter(|job| change.wants(job)).collect();
        let answer = change.answer(&named, &facts.moments);
        let say = || printer.data(&answer.stdout);
        if !answer.changes {
            say();
            answer.stderr.lines().for_each(|line| printer.say(line));
            return Ok(answer.status);
        }
        if attempt == 1 && !asked.immediate {
            say();
            if !has_agreed(COMMIT, printer) {
                printer.line(" Changes Discarded");
                return Ok(0);
            }
        }
        let ids = named.iter().map(|job| JobId(job.id)).collect();
        match client.modify_records(ids, change.change.clone()) {
            Ok(()) => {
                if asked.immediate {
                    say();
                }
                return Ok(0);
            }
            Err(error) => match error.refusal() {
                // It is just being written down.
                Some(Refusal::AlreadyEnded { .. }) if attempt < TRIES => {}
                Some(Refusal::Invalid { message }) => {
                    if message == ACCESS_DENIED {
                        printer.say(NO_PRIVILEGE);
                    }
                    printer.say(&format!(" Error with request: {message}"));
                    return Ok(1);
                }
                _ => return Err(error.into()),
            },
        }
    }
    Ok(1)
}

const NO_PRIVILEGE: &str =
    "sacctmgr: error: Your user doesn't have privilege to perform this action";
const NO_CONDITIONS: &str =
    "You didn't set any conditions with 'WHERE'.\nAre you sure you want to continue?";
