//! What a run tells of itself by mail and web hook: what, why, its last lines, the next command.
//!
//! The conductor sends it beside everything else and never waits longer for it than a few seconds.
//! A claim in the run folder keeps it from being sent twice, whoever comes back.

mod hook;
mod mail;
mod occasion;
mod plain_job;
mod text;

pub use mail::find_sendmail;
pub use occasion::Occasion;
pub use text::Notice;

use folder::{Attempt, Event, RunFolder, RunJson};
use model::{MailEvent, Timestamp};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use train::NotifyPlan;

/// The longest that one message may take.
const LIMIT: Duration = Duration::from_secs(10);
/// Lines of a rank that a message shows.
const LINES: usize = 15;

/// What is being sent.
#[derive(Debug)]
pub struct Notices {
    /// Clones of it are in the threads that send.
    tell: Sender<Option<String>>,
    receiver: Receiver<Option<String>>,
    under_way: usize,
    /// Why the job is about to end.
    at_limit: bool,
}

impl Default for Notices {
    fn default() -> Notices {
        let (tell, receiver) = channel();
        Notices {
            tell,
            receiver,
            under_way: 0,
            at_limit: false,
        }
    }
}

impl Notices {
    /// Sends what an event that was just written is worth.
    pub fn see(
        &mut self,
        event: &Event,
        (run, json, attempt): (&RunFolder, &RunJson, Attempt),
        now: Timestamp,
    ) {
        let plan = &json.plan;
        if !plan.job_sends_mail() && plan.notify.hook_file.is_none() {
            return;
        }
        self.at_limit |= matches!(
            event,
            Event::Stopping {
                reason: folder::StopReason::Limit,
                ..
            }
        );
        let is_first = || {
            run.attempts()
                .is_ok_and(|attempts| attempts.first() == Some(&attempt))
        };
        let Some(occasion) = Occasion::of(event, self.at_limit, is_first) else {
            return;
        };
        if !occasion.is_wanted(&plan.mail_on.value) {
            return;
        }
        match run.claim_notice(attempt, occasion.word()) {
            Ok(true) => {}
            // Another process sends it; or nothing can be written, and then it might be sent twice.
            Ok(false) | Err(_) => return,
        }
        let notice = self::text::notice(&occasion, run, json, attempt, now);
        let mut ways: Vec<Box<dyn FnOnce() -> Result<(), String> + Send>> = Vec::new();
        if let (true, Some(to)) = (plan.job_sends_mail(), &plan.mail) {
            let (notify, to, notice) = (plan.notify.clone(), to.value.clone(), notice.clone());
            ways.push(Box::new(move || mail::send(&notify, &to, &notice, LIMIT)));
        }
        if let Some(file) = &plan.notify.hook_file {
            let (file, form) = (at_home(&file.value), plan.notify.hook_form.as_ref());
            let form = form.map(|form| form.value).unwrap_or_default();
            ways.push(Box::new(move || hook::call(&file, form, &notice, LIMIT)));
        }
        for way in ways {
            let tell = self.tell.clone();
            self.under_way += 1;
            std::thread::spawn(move || {
                // The conductor may be over.
                let _ = tell.send(way().err());
            });
        }
    }

    /// Waits for what is being sent, no longer than `patience`; what could not be sent, in words.
    pub fn settle(&mut self, patience: Duration) -> Vec<String> {
        let until = Instant::now() + patience;
        let mut problems = Vec::new();
        while self.under_way > 0 {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(problem) = self.receiver.recv_timeout(left) else {
                problems.push(
                    "a message about this run is not sent yet: it was waited for long enough"
                        .to_owned(),
                );
                break;
            };
            self.under_way -= 1;
            problems.extend(problem);
        }
        self.under_way = 0;
        problems
    }
}

/// How long the end of a job waits for its messages.
pub const PATIENCE: Duration = Duration::from_secs(12);
/// How long a job's own requeue waits for them: its time may be over.
pub const SHORT_PATIENCE: Duration = Duration::from_secs(3);

/// A path below `~` as one of the user's home folder.
#[must_use]
pub fn at_home(path: &Path) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// Sends a message as mail now.
///
/// # Errors
/// In words, without what is secret.
pub fn send_mail(plan: &NotifyPlan, to: &str, notice: &Notice) -> Result<(), String> {
    mail::send(plan, to, notice, LIMIT)
}

/// Whether mail about this is wanted where `end` means every end.
fn wants(on: &[MailEvent], event: MailEvent) -> bool {
    on.contains(&event)
}

/// The first line of a file that holds a secret; it is in no error.
fn secret(file: &Path, what: &str) -> Result<String, String> {
    let shown = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("the file of the {what}, {shown}, can't be read: {error}"))?;
    match text.lines().next().map(str::trim) {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        _ => Err(format!("the file of the {what}, {shown}, is empty")),
    }
}
