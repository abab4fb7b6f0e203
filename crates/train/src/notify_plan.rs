//! How a run tells what became of it: through which mail server, and to which web hook.

use crate::{NotifySection, Plan, Resolved};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The ways by which a run tells of itself. No secret is in it: passwords and web hooks' addresses
/// stay in their files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotifyPlan {
    /// The mail server.
    pub server: Option<Resolved<MailServer>>,
    /// The file with its password.
    pub password_file: Option<Resolved<PathBuf>>,
    /// The address that mail comes from.
    pub from: Option<Resolved<String>>,
    /// The file with the web hook's address.
    pub hook_file: Option<Resolved<PathBuf>>,
    /// What the web hook takes.
    pub hook_form: Option<Resolved<HookForm>>,
}

impl NotifyPlan {
    /// Of a section whose paths are against `/`, as those of the user's config are.
    #[must_use]
    pub fn of(section: NotifySection) -> NotifyPlan {
        let path = |path: Resolved<String>| path.map(PathBuf::from);
        NotifyPlan {
            server: section.server,
            password_file: section.password_file.map(path),
            from: section.from,
            hook_file: section.hook_file.map(path),
            hook_form: section.hook_form,
        }
    }
}

/// What a web hook takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookForm {
    /// A JSON document of ours.
    #[default]
    Json,
    /// What Slack's incoming web hooks take.
    Slack,
    /// What Mattermost's take.
    Mattermost,
}

/// A mail server, as `smtp://[USER@]HOST[:PORT]` or `smtps://…`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MailServer {
    /// Whether TLS is used from the start.
    pub tls: bool,
    /// Who logs in, if anyone.
    pub user: Option<String>,
    /// Host, and port where one is named.
    pub host: String,
}

impl FromStr for MailServer {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<MailServer, &'static str> {
        let (tls, rest) = match text.split_once("://") {
            Some(("smtp", rest)) => (false, rest),
            Some(("smtps", rest)) => (true, rest),
            _ => return Err("server begins with smtp:// or smtps://"),
        };
        let (user, host) = match rest.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, rest),
        };
        if user.is_some_and(|user| user.contains(':')) {
            return Err("server holds a password");
        }
        let is_odd = |letter: char| {
            letter.is_whitespace() || letter.is_control() || "/\\\"'?#{}[]".contains(letter)
        };
        if host.is_empty()
            || host.contains(is_odd)
            || user.is_some_and(|user| user.contains(is_odd))
        {
            return Err("server is no mail server");
        }
        Ok(MailServer {
            tls,
            user: user.filter(|user| !user.is_empty()).map(str::to_owned),
            host: host.to_owned(),
        })
    }
}

impl MailServer {
    /// Its address without the user.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.tls { "smtps" } else { "smtp" };
        format!("{scheme}://{}", self.host)
    }
}

impl fmt::Display for MailServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "smtps" } else { "smtp" };
        let user = self.user.as_ref().map(|user| format!("{user}@"));
        write!(f, "{scheme}://{}{}", user.unwrap_or_default(), self.host)
    }
}

impl TryFrom<String> for MailServer {
    type Error = &'static str;

    fn try_from(text: String) -> Result<MailServer, &'static str> {
        text.parse()
    }
}

impl From<MailServer> for String {
    fn from(server: MailServer) -> String {
        server.to_string()
    }
}

impl Plan {
    /// Whether a real Slurm sends the run's mail itself: then no job does it too.
    #[must_use]
    pub fn slurm_sends_mail(&self) -> bool {
        self.mail.is_some() && !self.embedded && self.notify.server.is_none()
    }

    /// Whether the run's jobs send its mail.
    #[must_use]
    pub fn job_sends_mail(&self) -> bool {
        self.mail.is_some() && !self.slurm_sends_mail()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: Option<&str>) {
        let server = text.parse::<MailServer>();
        assert_eq!(server.as_ref().ok().map(MailServer::url).as_deref(), want);
        if let Ok(server) = &server {
            assert_eq!(server.to_string(), text);
        }
    }

    #[test]
    fn servers() {
        check(
            "smtp://mail.example.org:25",
            Some("smtp://mail.example.org:25"),
        );
        check("smtps://me@mail", Some("smtps://mail"));
        check("smtp://me@example.org@mail", Some("smtp://mail"));
        for refused in [
            "",
            "mail",
            "http://x",
            "smtp://",
            "smtp://me:secret@x",
            "smtp://a b",
        ] {
            check(refused, None);
        }
    }
}
