//! A message to a web hook. Its address is a secret: it goes from its file to the standard input of
//! `curl` and stands nowhere else.

use super::{Notice, secret};
use crate::curl::Curl;
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use train::HookForm;

/// Calls it.
///
/// # Errors
/// In words, without the address.
pub(super) fn call(
    file: &Path,
    form: HookForm,
    notice: &Notice,
    limit: Duration,
) -> Result<(), String> {
    let problem = |why: String| format!("the web hook of {} was not called: {why}", file.display());
    let url = secret(file, "web hook").map_err(problem)?;
    if !["http://", "https://"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
    {
        let why = "its first line is no address that begins with https:// or http://";
        return Err(problem(why.to_owned()));
    }
    let asked = Curl::to(&url, limit)
        .set("proto", "=http,https")
        .set("header", "Content-Type: application/json")
        .set("data-binary", &document(form, notice))
        .status();
    let status = asked.map_err(|why| problem(why.to_string()))?;
    match status.as_str() {
        code if code.starts_with('2') => Ok(()),
        code => Err(problem(format!("it answered {code}"))),
    }
}

/// What the hook gets, in one line: control characters stand escaped in it.
fn document(form: HookForm, notice: &Notice) -> String {
    let document = match form {
        HookForm::Json => serde_json::to_value(notice).unwrap_or_default(),
        HookForm::Slack => json!({ "text": slack(notice) }),
        HookForm::Mattermost => json!({ "text": mattermost(notice) }),
    };
    document.to_string()
}

/// Slack's own marks stand for themselves where they are escaped.
fn slack(notice: &Notice) -> String {
    let escaped = |text: &str| {
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
    };
    let body = body(notice);
    format!("*{}*\n```{}```", escaped(&notice.title), escaped(&body))
}

fn mattermost(notice: &Notice) -> String {
    format!("**{}**\n```\n{}```", notice.title, body(notice))
}

/// All but the title, which no fence ends.
fn body(notice: &Notice) -> String {
    let text = notice.text();
    let body = text.split_once("\n\n").map_or("", |(_, body)| body);
    body.replace("```", "'''")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice() -> Notice {
        Notice {
            event: "failed",
            run: "gan-k3f9".to_owned(),
            name: "gan".to_owned(),
            cluster: "plai".to_owned(),
            job: 2201,
            restart: 1,
            title: "gan-k3f9 failed on plai".to_owned(),
            cause: Some("rank 5 <oom>".to_owned()),
            lasted_ms: 3_480_000,
            checkpoint: Some("step-3000".to_owned()),
            output: None,
            rank: 5,
            last_lines: vec!["``` CUDA out of memory".to_owned()],
            next: vec!["yard requeue gan-k3f9".to_owned()],
            folder: "/scratch/gan-k3f9".to_owned(),
            at_ms: 5,
        }
    }

    #[test]
    fn each_form() {
        let slack = document(HookForm::Slack, &notice());
        assert!(
            slack.starts_with("{\"text\":\"*gan-k3f9 failed on plai*\\n```why"),
            "{slack}"
        );
        assert!(
            slack.contains("&lt;oom&gt;") && slack.matches("```").count() == 2,
            "{slack}"
        );
        let mattermost = document(HookForm::Mattermost, &notice());
        assert!(
            mattermost.contains("**gan-k3f9 failed on plai**"),
            "{mattermost}"
        );
        let own = document(HookForm::Json, &notice());
        assert!(
            own.contains("\"event\":\"failed\"") && own.contains("\"checkpoint\":\"step-3000\""),
            "{own}"
        );
        for document in [slack, mattermost, own] {
            assert!(!document.contains('\n'));
        }
    }
}
