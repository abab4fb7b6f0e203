//! `sacctmgr modify job`: what accounting records of jobs, as job_functions.c reads it.

use super::is;
use super::modify::NOTHING_TO_SET;
use super::words::{Answer, list_of};
use crate::commands::{JobName, sacct};
use crate::records::{JobInfo, JobRecordChange};
use crate::values::{JobId, MomentStyle, Timestamp, parse_past_moment};
use jiff::tz::TimeZone;

/// The jobs that a `modify job` names, and what it sets of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModifyJob {
    /// Users, by name or number: a name that the system doesn't know is refused.
    pub users: Vec<String>,
    /// What is set.
    pub change: JobRecordChange,
    jobs: Vec<JobName>,
    accounts: Vec<String>,
    wckeys: Vec<String>,
    clusters: Vec<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    /// `NewWCKey`
    wckey: Option<String>,
    /// What is said on standard output before.
    said: String,
}

/// The condition that a word is one of.
#[derive(Clone, Copy)]
enum Condition {
    Accounts,
    Clusters,
    Jobs,
    Until,
    Since,
    Wckeys,
    Users,
}

/// In the order in which Slurm looks for them: the beginning of a name is enough.
const CONDITIONS: &[(&str, Condition)] = &[
    ("accounts", Condition::Accounts),
    ("accts", Condition::Accounts),
    ("cluster", Condition::Clusters),
    ("jobid", Condition::Jobs),
    ("endtime", Condition::Until),
    ("starttime", Condition::Since),
    ("wckeys", Condition::Wckeys),
    ("users", Condition::Users),
];

impl ModifyJob {
    /// Reads the words behind `modify job`.
    ///
    /// # Errors
    /// What is said of unknown words.
    pub(super) fn read(
        words: &[String],
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<ModifyJob, Answer> {
        let mut asked = ModifyJob::default();
        let mut wrong = String::new();
        let mut sets_something = false;
        let mut within_set = false;
        for word in words {
            let (name, value) = split(word);
            if is(name, "set", 3) {
                within_set = true;
            } else if is(name, "where", 5) {
                within_set = false;
            } else if !within_set {
                asked.condition(word, (now, zone), &mut wrong)?;
            } else if let Some(value) = value {
                sets_something |= asked.set(word, name, value, &mut wrong);
            } else {
                let said = format!(" Bad format on {word}: End your option with an '=' sign\n");
                return Err(asked.refused(said));
            }
        }
        if wrong.starts_with(" Unknown condition") {
            return Err(asked.refused(wrong));
        }
        if !sets_something {
            return Err(asked.refused(format!("{wrong}{NOTHING_TO_SET}")));
        }
        Ok(asked)
    }

    fn refused(&self, stderr: String) -> Answer {
        Answer {
            stdout: self.said.clone(),
            ..Answer::refused(stderr)
        }
    }

    fn condition(
        &mut self,
        word: &str,
        (now, zone): (Timestamp, &TimeZone),
        wrong: &mut String,
    ) -> Result<(), Answer> {
        let (name, value) = split(word);
        let value = value.unwrap_or(word);
        let mut known = CONDITIONS.iter().filter(|(known, _)| is(name, known, 1));
        let Some((_, condition)) = known.next() else {
            wrong.push_str(&format!(
                " Unknown condition: {word}\n Use keyword 'set' to modify value\n"
            ));
            return Ok(());
        };
        let moment = || {
            let read = parse_past_moment(value, now, zone);
            read.map_err(|words| Answer::refused(format!("{words}\n")))
        };
        match condition {
            Condition::Accounts => self.accounts.extend(list_of(value)),
            Condition::Clusters => self.clusters.extend(list_of(value)),
            Condition::Wckeys => self.wckeys.extend(list_of(value)),
            Condition::Users => self.users.extend(list_of(value)),
            Condition::Since => self.since = Some(moment()?),
            Condition::Until => self.until = Some(moment()?),
            Condition::Jobs => {
                let named = sacct::values::jobs(value).map_err(|error| {
                    let said = error.to_string().replacen("sacct:", "sacctmgr:", 1);
                    Answer::refused(format!("{said}\n"))
                })?;
                if named.is_empty() {
                    wrong.push_str(&format!("Invalid job id(s) {value} specified\n"));
                }
                self.jobs.extend(named.into_iter().map(|named| named.job));
            }
        }
        Ok(())
    }

    /// Whether something is set by it.
    fn set(&mut self, word: &str, name: &str, value: &str, wrong: &mut String) -> bool {
        let text = value.trim_matches(['"', '\'']).to_owned();
        let named = |known: &str, least| is(name, known, least);
        let change = &mut self.change;
        if named("derivedexitcode", 12) || named("derivedec", 9) {
            let Some(code) = exit_code(&text) else {
                wrong.push_str(&format!(
                    "sacctmgr: error: Invalid value for DerivedExitCode ({text})\n"
                ));
                return false;
            };
            change.derived_exit_code = Some(code);
        } else if named("comment", 7) || named("derivedexitstring", 12) || named("derivedes", 9) {
            change.comment = Some(text);
        } else if named("admincomment", 12) {
            change.admin_comment = Some(text);
        } else if named("systemcomment", 13) {
            change.system_comment = Some(text);
        } else if named("newwckey", 1) {
            self.wckey = Some(text);
        } else {
            self.said.push_str(&format!(
                " Unknown option: {word}\n Use keyword 'where' to modify condition\n"
            ));
            return false;
        }
        true
    }

    /// The ids of the jobs that it names, where it names some.
    #[must_use]
    pub fn ids(&self) -> Option<Vec<JobId>> {
        let ids = self.jobs.iter().map(|name| JobId(name.job));
        Some(ids.collect()).filter(|ids: &Vec<JobId>| !ids.is_empty())
    }

    /// Whether it says of which jobs it is: a person is asked where it doesn't.
    #[must_use]
    pub fn names_jobs(&self) -> bool {
        let lists = [&self.accounts, &self.wckeys, &self.users];
        !self.jobs.is_empty() || lists.iter().any(|list| !list.is_empty())
    }

    /// Whether a job is one of those that it names.
    #[must_use]
    pub fn wants(&self, job: &JobInfo) -> bool {
        let listed = |list: &[String], name: &str| {
            list.is_empty() || list.iter().any(|it| it.eq_ignore_ascii_case(name))
        };
        let shown = job.shown();
        let is_users = self.users.is_empty()
            || self
                .users
                .iter()
                .any(|it| it == job.user() || *it == job.uid().to_string());
        is_users
            && (self.jobs.is_empty() || self.jobs.iter().any(|name| name.is_of(job, None)))
            && listed(&self.accounts, job.account().unwrap_or_default())
            && listed(&self.wckeys, shown.wckey.as_deref().unwrap_or_default())
            && listed(&self.clusters, &job.cluster)
            && self
                .since
                .is_none_or(|since| job.is_pending() || job.end.is_none_or(|end| end >= since))
            && self.until.is_none_or(|until| job.submitted <= until)
    }

    /// What is said of the jobs that are changed; workload keys of jobs are changed by no cluster that doesn't
    /// count by them.
    #[must_use]
    pub fn answer(&self, jobs: &[&JobInfo], moments: &MomentStyle) -> Answer {
        let nothing = |why: &str| Answer {
            stdout: format!("{} Nothing modified\n", self.said),
            stderr: format!(
                "sacctmgr: accounting_storage/slurmdbd: acct_storage_p_modify_job: {why}\n"
            ),
            status: 1,
            changes: false,
        };
        if jobs.is_empty() {
            return nothing(NO_JOB);
        }
        if self.wckey.is_some() {
            return nothing("No error");
        }
        let lines = jobs.iter().map(|job| {
            let at = moments.text(job.submitted);
            format!("  {} submitted at {at}\n", job.id)
        });
        let lines: String = lines.collect();
        Answer::changed(format!("{} Modified jobs...\n{lines}", self.said))
    }
}

const NO_JOB: &str =
    "Request didn't affect anything or your user doesn't have privilege to perform this action";

/// A word at its `=`, `+=` or `-=`.
fn split(word: &str) -> (&str, Option<&str>) {
    match word.split_once('=') {
        None => (word, None),
        Some((name, value)) => (name.strip_suffix(['+', '-']).unwrap_or(name), Some(value)),
    }
}

/// As `get_uint` reads it: a number as far as it goes, and one below 0 is the greatest.
fn exit_code(text: &str) -> Option<u32> {
    let digits = text.trim_start().trim_start_matches(['-', '+']);
    let end = digits.find(|letter: char| !letter.is_ascii_digit());
    let number = &digits[..end.unwrap_or(digits.len())];
    if number.is_empty() && !text.is_empty() {
        return None;
    }
    if text.trim_start().starts_with('-') {
        return Some(u32::MAX);
    }
    Some(number.parse().unwrap_or(0))
}
