//! Values that are for no one else: what is written into a run file is copied with the code.

use lint::shell::{Command, Shell, Word};
use std::borrow::Cow;
use std::ops::Range;

/// What stands in the place of a value.
const HIDDEN: &str = "…";

/// Whether the name of a variable, an option or a header says that its value is for no one else.
pub(super) fn is_secret(name: &str) -> bool {
    const PARTS: [&str; 10] = [
        "KEY",
        "APIKEY",
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "CREDENTIAL",
        "CREDENTIALS",
        "AUTHORIZATION",
    ];
    let upper = name.trim_start_matches('-').to_ascii_uppercase();
    let mut parts = upper.split(['_', '-']);
    parts.any(|part| PARTS.contains(&part))
}

/// A piece of shell on one line, without the values of secrets.
pub(super) fn without_secrets(text: &str) -> String {
    let shell = Shell::read(text, 0);
    if !shell.sound {
        // Where a quote is never closed it is not known what belongs to what.
        let first = text.split_whitespace().next().unwrap_or_default();
        return format!("{first} {HIDDEN}");
    }
    let heredocs = shell.heredocs.iter().cloned();
    let mut hidden: Vec<(Range<usize>, String)> =
        heredocs.map(|body| (body, HIDDEN.to_owned())).collect();
    for command in &shell.commands {
        hide(command, &mut hidden);
    }
    hidden.sort_by_key(|(range, _)| range.start);
    let (mut shown, mut at) = (String::new(), 0);
    for (range, instead) in hidden {
        // A substitution's own words stand in a word that may be hidden already.
        if range.start >= at {
            shown.push_str(text.get(at..range.start).unwrap_or_default());
            shown.push_str(&instead);
            at = range.end;
        }
    }
    shown.push_str(text.get(at..).unwrap_or_default());
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn hide(command: &Command<'_>, hidden: &mut Vec<(Range<usize>, String)>) {
    for set in &command.sets {
        if is_secret(set.name) && !set.range.is_empty() {
            hidden.push((set.range.clone(), format!("{}={HIDDEN}", set.name)));
        }
    }
    let (mut is_value, mut logs_in) = (false, false);
    for (index, word) in command.words.iter().enumerate() {
        if std::mem::take(&mut is_value) || logs_in {
            hidden.push((word.range.clone(), HIDDEN.to_owned()));
            continue;
        }
        logs_in = index > 0 && word.text == "login";
        is_value = word.text.starts_with('-') && is_secret(&word.text);
        if let Cow::Owned(instead) = shown(word) {
            is_value = false;
            hidden.push((word.range.clone(), instead));
        }
    }
}

/// A word as it is shown; owned where something of it is hidden.
fn shown<'a>(word: &'a Word<'_>) -> Cow<'a, str> {
    let text = &*word.text;
    if let Some(at) = text.find(['=', ':'])
        && is_secret(&text[..at])
        && text.len() > at + 1
    {
        return Cow::Owned(format!("{}{HIDDEN}", &text[..=at]));
    }
    // `https://user:password@host/path`
    if let Some((scheme, rest)) = text.split_once("://")
        && let Some((login, _)) = rest.split('/').next().unwrap_or_default().split_once('@')
        && login.contains(':')
    {
        let host = &rest[login.len()..];
        return Cow::Owned(format!("{scheme}://{HIDDEN}{host}"));
    }
    // `bash -c 'cd there; TOKEN=x python eval.py'`
    // A substitution's commands are read already; what was in quotes is shorter without them.
    if text.contains(char::is_whitespace) && text.len() < word.range.len() {
        let inside = without_secrets(text);
        if inside.contains(HIDDEN) && !text.contains(HIDDEN) {
            return Cow::Owned(format!("'{inside}'"));
        }
    }
    Cow::Borrowed(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        assert_eq!(without_secrets(text), want, "{text}");
    }

    #[test]
    fn values_of_secrets_are_not_shown() {
        check(
            "python eval.py --keep 3 \\\n  -n 2",
            "python eval.py --keep 3 \\ -n 2",
        );
        check(
            "HF_TOKEN=hf_1 A=2 python eval.py",
            "HF_TOKEN=… A=2 python eval.py",
        );
        check(
            "push --api-key=k1 --wandb-token k2 --now",
            "push --api-key=… --wandb-token … --now",
        );
        check("wandb login k3", "wandb login …");
        check(
            "wandb login --relogin k3 | tee log",
            "wandb login … … | tee log",
        );
        check(
            "PASSWORD=\"my secret pw\" python eval.py",
            "PASSWORD=… python eval.py",
        );
        check("env TOKEN='a b' python x", "env TOKEN=… python x");
        check(
            "curl -H \"X-Api-Key: k 4\" -H 'authorization: Bearer x' http://host/a",
            "curl -H X-Api-Key:… -H authorization:… http://host/a",
        );
        check(
            "git clone https://me:pw@host/a.git",
            "git clone https://…@host/a.git",
        );
        check(
            "bash -c 'cd a; TOKEN=x run me'",
            "bash -c 'cd a; TOKEN=… run me'",
        );
        check("bash -c 'TOKEN=x run me'", "bash -c TOKEN=…");
        check(
            "echo $(vault read --token t1)",
            "echo $(vault read --token …)",
        );
        check("echo \"never closed TOKEN=x", "echo …");
        check("cat <<E > f\nTOKEN=x\nE\n", "cat <<E > f …E");
        check(
            "head -n 3 data:all 'a b' ../x",
            "head -n 3 data:all 'a b' ../x",
        );
    }
}
