//! Which variables a piece of shell reads.

use crate::shell::{Command, Shell};
use std::collections::BTreeSet;

/// The variables that a script expands as `$NAME` or `${NAME}`, in order, without those that it, or the shell, sets itself.
/// One with a default (`${NAME:-x}`) is its author's to have thought of.
#[must_use]
pub fn variables_read(script: &str) -> Vec<String> {
    let shell = Shell::read(script, 0);
    let own = |name: &str| {
        let commands = &shell.commands;
        let sets = |command: &Command<'_>| command.assignments().any(|set| set.name == name);
        let words = |command: &Command<'_>| {
            let takes = ["for", "read", "mapfile", "local", "declare", "getopts"];
            let mut all = command.words.iter();
            takes.contains(&command.name()) && all.any(|word| word.text == name)
        };
        // The reader passes over the words of a loop.
        let loops = script.contains(&format!("for {name} "));
        loops
            || commands
                .iter()
                .any(|command| sets(command) || words(command))
    };
    let mut seen = BTreeSet::new();
    let mut names = expanded(script);
    names.retain(|name| seen.insert(*name) && !is_the_shells(name) && !own(name));
    names.into_iter().map(str::to_owned).collect()
}

/// Whether bash itself gives the variable a value.
fn is_the_shells(name: &str) -> bool {
    const NAMES: [&str; 14] = [
        "EPOCHREALTIME",
        "EPOCHSECONDS",
        "EUID",
        "HOSTNAME",
        "IFS",
        "LINENO",
        "OLDPWD",
        "OPTARG",
        "OPTIND",
        "PPID",
        "PWD",
        "RANDOM",
        "SECONDS",
        "UID",
    ];
    name.starts_with("BASH") || NAMES.contains(&name)
}

/// What stands behind a `$` that a shell would expand.
fn expanded(script: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let (mut single, mut double) = (false, false);
    let mut rest = script;
    while let Some(letter) = rest.chars().next() {
        let after = &rest[letter.len_utf8()..];
        rest = after;
        match letter {
            '\\' if !single => {
                let next = after.chars().next().map_or(0, char::len_utf8);
                rest = &after[next..];
            }
            '\'' if !double => single = !single,
            '"' if !single => double = !double,
            '$' if !single => {
                let (text, braces) = match after.strip_prefix('{') {
                    Some(text) => (text, true),
                    None => (after, false),
                };
                let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
                let end = text.find(|letter| !is_part(letter)).unwrap_or(text.len());
                let name = &text[..end];
                let is_name =
                    name.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic());
                if is_name && (!braces || text[end..].starts_with('}')) {
                    names.push(name);
                }
            }
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, want: &[&str]) {
        assert_eq!(variables_read(script), want);
    }

    #[test]
    fn what_is_read_and_not_set() {
        check(
            "t --port $RANDOM --host ${HOSTNAME} $BASH_VERSION $HOST",
            &["HOST"],
        );
        check(
            r#"exec python train.py --out "$OUT/a b" ${DATA} $OUT"#,
            &["OUT", "DATA"],
        );
        check("OUT=$HOME/x; exec python t.py $OUT", &["HOME"]);
        check(r"echo '$A' \$B ${C:-3} $1 $? $$ ${#D}", &[]);
        check("for seed in 1 2; do python t.py $seed; done", &[]);
        check("read line; echo $line", &[]);
        check(r#"echo "it's $A""#, &["A"]);
    }
}
