//! What of a run's messages can't be sent, as far as this machine shows: said before anything is
//! submitted.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use train::{NotifyPlan, Plan};

/// In words, without what is secret.
pub fn notes(plan: &Plan) -> Vec<String> {
    let notify = &plan.notify;
    let mut notes = if plan.job_sends_mail() {
        mail_notes(notify)
    } else {
        Vec::new()
    };
    if notify.hook_file.is_some() {
        let has_curl = find_program("curl").is_some();
        let text = "web hooks need the program curl, which is not here";
        notes.extend((!has_curl).then(|| text.to_owned()));
    }
    if let Some(file) = &notify.hook_file {
        notes.extend(file_note(&file.value, "the web hook is not called"));
    }
    notes
}

/// Why mail can't be sent that way, in words.
#[must_use]
pub fn mail_notes(notify: &NotifyPlan) -> Vec<String> {
    let mut notes = Vec::new();
    if notify.server.is_none() && find_program("sendmail").is_none() {
        notes.push(
            "mail can't be sent: there is no sendmail on this machine; name a mail server with \
             [notify] server = \"smtp://HOST:25\""
                .to_owned(),
        );
    }
    if notify.server.is_some() && find_program("curl").is_none() {
        notes.push("mail can't be sent: it needs the program curl, which is not here".to_owned());
    }
    if let Some(file) = &notify.password_file {
        notes.extend(file_note(&file.value, "mail can't be sent"));
    }
    notes
}

/// What is wrong with a file that holds a secret.
fn file_note(file: &Path, what: &str) -> Option<String> {
    let path = at_home(file);
    let shown = file.display();
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => return Some(format!("{what}: {shown} can't be read: {error}")),
    };
    if text
        .lines()
        .next()
        .is_none_or(|line| line.trim().is_empty())
    {
        return Some(format!("{what}: the first line of {shown} is empty"));
    }
    let mode = path.metadata().map_or(0, |facts| facts.mode());
    (mode & 0o077 != 0)
        .then(|| format!("{shown} holds a secret and other users can read it: chmod 600 {shown}"))
}

fn at_home(path: &Path) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// On the PATH, or where programs of the system's own stand.
fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/usr/lib", "/sbin"].map(PathBuf::from);
    let mut folders = std::env::split_paths(&path).chain(system);
    folders.find_map(|folder| Some(folder.join(name)).filter(|path| path.is_file()))
}
