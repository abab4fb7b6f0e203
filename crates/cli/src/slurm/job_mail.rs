//! Mail about jobs of batch scripts: what can't be sent is said by `sbatch`, and the engine sends by
//! `yard job mail`, which is started as the job's owner.

use super::connection::view_facts_of;
use crate::printer::Printer;
use api::JobMail;
use job::notices::{Notice, send_mail};
use model::{JobInfo, MailEvent, Request, mail_types_text};
use std::io::Read;
use train::NotifyPlan;

/// Sends the mail that stands as JSON on the standard input; says on its standard output why not. Its exit code.
pub fn main(printer: &Printer) -> u8 {
    match send() {
        Ok(()) => 0,
        Err(why) => {
            printer.line(&why);
            1
        }
    }
}

fn send() -> Result<(), String> {
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    let mail: JobMail = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let facts = view_facts_of(mail.cluster, None).map_err(|_| "no facts".to_owned())?;
    let job = JobInfo::of(&mail.job, &facts);
    let Some((to, _)) = job.mail() else {
        return Ok(());
    };
    send_mail(&notify()?, to, &Notice::of_job(&job, mail.about))
}

/// `[notify]` of the user's config.
fn notify() -> Result<NotifyPlan, String> {
    let places = runs::places().map_err(|failure| failure.line())?;
    let config = runs::user_config(&places).map_err(|failure| failure.line())?;
    let section = config.map(|config| config.body.notify);
    Ok(section.map(NotifyPlan::of).unwrap_or_default())
}

/// What of a job's mail will not come, in words.
pub fn unsent(request: &Request) -> Vec<String> {
    let types = &request.rare.mail_types;
    if types.is_empty() {
        return Vec::new();
    }
    let mut notes = Vec::new();
    let parts = [
        MailEvent::TimeLimit50,
        MailEvent::TimeLimit80,
        MailEvent::TimeLimit90,
    ];
    let parts: Vec<MailEvent> = parts
        .into_iter()
        .filter(|part| types.contains(part))
        .collect();
    if !parts.is_empty() {
        let parts = mail_types_text(&parts);
        notes.push(format!(
            "no mail is sent about {parts}: the embedded engine knows TIME_LIMIT"
        ));
    }
    if request.rare.array.is_some() && !types.contains(&MailEvent::ArrayTasks) {
        notes.push(
            "no mail is sent about the array as a whole; add ARRAY_TASKS to --mail-type for one of \
             each element"
                .to_owned(),
        );
    }
    match notify() {
        Ok(notify) => notes.extend(runs::mail_notes(&notify)),
        Err(why) => notes.push(format!("mail can't be sent: {why}")),
    }
    notes
}
