//! Absolute paths of which no cluster file says what they are.

use super::container_words::is_inside;
use super::folders::{Before, before};
use super::porter::{Porter, lines_words};
use std::ops::Range;

/// Folders that every Linux has for itself.
const OF_SYSTEM: [&str; 15] = [
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "root", "run", "sbin", "sys",
    "tmp", "var", "usr",
];

/// Programs whose words may be patterns between slashes.
const OF_PATTERNS: [&str; 8] = ["awk", "gawk", "sed", "grep", "egrep", "perl", "tr", "expr"];

/// Paths of one folder at the root.
struct Root {
    /// What they have in common.
    common: String,
    lines: Vec<usize>,
}

impl Porter<'_> {
    /// Asks about each folder at the root that is neither Linux's own nor known there; `known` are
    /// the places that were dealt with.
    pub(super) fn unknown_folders(&mut self, known: &[Range<usize>]) {
        let text = self.script.text;
        let found = absolute_paths(text);
        // Inside of a container, and on another machine, are other folders: `-B $X:/data`.
        let inside =
            |path: &Range<usize>| matches!(before(text, path.start), Before::Mount | Before::Host);
        let mounted: Vec<&str> = found
            .iter()
            .filter(|path| inside(path))
            .map(|path| &text[(*path).clone()])
            .collect();
        let mut roots: Vec<(String, Root)> = Vec::new();
        for path in &found {
            let written = &text[path.clone()];
            let first = written[1..].split('/').next().unwrap_or_default();
            let is_inside = |mount: &&&str| {
                let rest = written.strip_prefix(**mount);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let dealt = |other: &Range<usize>| other.start < path.end && path.start < other.end;
            let settled = OF_SYSTEM.contains(&first)
                || known.iter().any(dealt)
                || mounted.iter().find(is_inside).is_some()
                || inside(path)
                || !self.is_read(path.start)
                || self.is_pattern(path)
                || self.is_in_container(path)
                || self.is_asked_image(written)
                || self.is_changed(path) && !self.is_written_anew(written)
                || self.is_there(written);
            if settled {
                continue;
            }
            let line = self.script.lines.number(path.start);
            match roots.iter_mut().find(|(root, _)| root == first) {
                Some((_, root)) => {
                    root.common = in_common(&root.common, written);
                    root.lines.push(line);
                }
                None => roots.push((
                    first.to_owned(),
                    Root {
                        common: written.trim_end_matches('/').to_owned(),
                        lines: vec![line],
                    },
                )),
            }
        }
        for (_, root) in roots {
            let about = format!(
                "{} in {}: neither {}'s file nor {}'s says what it is, so it stays",
                root.common,
                lines_words(&root.lines),
                self.from.name,
                self.to.name
            );
            let ask = format!("where is that on {}?", self.to.name);
            self.ask(root.lines.first().copied(), about, ask);
        }
    }

    /// Below a folder that the other cluster has.
    fn is_there(&self, path: &str) -> bool {
        let (paths, closed) = (&self.to.paths, self.to.paths.no_jobs.as_ref());
        let containers = &self.to.containers;
        let own = [
            &paths.home,
            &paths.scratch,
            &paths.project,
            &paths.data,
            &self.to.node_local.path,
            &containers.cache,
            &containers.images,
        ];
        let own = own.into_iter().flatten().flat_map(|own| own.all());
        let mut own = own.chain(closed.into_iter().flat_map(|closed| closed.iter()));
        own.any(|own| {
            let fixed = own.split('$').next().unwrap_or_default();
            let fixed = fixed.trim_end_matches('/');
            let rest = path.strip_prefix(fixed);
            !fixed.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// A path that goes with an option comes again where that is written in other words.
    fn is_written_anew(&self, path: &str) -> bool {
        self.edits.iter().any(|(edit, _)| edit.text.contains(path))
    }

    /// An image that must be made anew there is asked about already.
    fn is_asked_image(&self, path: &str) -> bool {
        let about = format!("{path} is an image");
        let mut questions = self.questions.iter();
        questions.any(|question| question.about.starts_with(&about))
    }

    /// Whether a container has it. What is bound into one stands in its options, and is asked there.
    fn is_in_container(&self, path: &Range<usize>) -> bool {
        let mut commands = self.script.shell.commands.iter();
        commands.any(|command| is_inside(command, path.start))
    }

    /// Words that a program prints or searches for.
    fn is_pattern(&self, path: &Range<usize>) -> bool {
        let mut commands = self.script.shell.commands.iter();
        commands.any(|command| {
            let Some(word) = command
                .words
                .iter()
                .find(|word| word.range.contains(&path.start))
            else {
                return false;
            };
            let quoted = word.text.contains(char::is_whitespace)
                || self.script.text[word.range.clone()].starts_with(['\'', '"']);
            match command.name() {
                "echo" | "printf" => true,
                name => OF_PATTERNS.contains(&name) && quoted,
            }
        })
    }
}

/// The absolute paths of a text, up to the first thing that is no plain path.
fn absolute_paths(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let plain = |c: char| c.is_alphanumeric() || "_-.+/@".contains(c);
    let mut past = 0;
    for (start, _) in text.match_indices('/') {
        // A quote in the middle of a word, as in `$HOME"/x"`, opens nothing.
        let word = text[..start].trim_end_matches(['"', '\'']);
        let behind = word.chars().next_back();
        let opens = behind.is_none_or(|c| c.is_whitespace() || "=:(,<>".contains(c));
        // Nor does the end of a gap, as in `/home/<you>/x`.
        let gap = word
            .strip_suffix('>')
            .and_then(|word| word.rsplit_once('<'));
        let is_gap = gap.is_some_and(|(_, gap)| {
            !gap.is_empty() && !gap.contains(|c: char| c.is_whitespace() || "<>&|;".contains(c))
        });
        if !opens || is_gap || start < past {
            continue;
        }
        let rest = &text[start..];
        let named = rest[1..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        if !named {
            continue;
        }
        let length = rest.find(|c| !plain(c)).unwrap_or(rest.len());
        past = start + length;
        // Of `/data/x$N/y` the folder is known, of `/data$N/x` a part of its name.
        let open = rest[length..].starts_with(['$', '%', '{', '*', '?', '`']);
        let folder = rest[..length].rfind('/').filter(|at| open && *at > 0);
        found.push(start..start + folder.unwrap_or(length));
    }
    found
}

/// The folders that two paths begin with.
fn in_common(one: &str, other: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for (left, right) in one.split('/').zip(other.split('/')) {
        if left != right {
            break;
        }
        parts.push(left);
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_text() {
        let text = "cd /data/a; X=\"/b/$Y\" '/q'$Z'/r' $X\"/s\" ./<you>/t /w/log-%j /v$Y http://c/d a/e `pwd`/n -B /f:/g s/h/i/ >/j/k / //l ./m ~/n";
        let found = absolute_paths(text);
        let found: Vec<&str> = found.iter().map(|path| &text[path.clone()]).collect();
        assert_eq!(
            found,
            ["/data/a", "/b", "/q", "/w", "/v", "/f", "/g", "/j/k"]
        );
    }

    #[test]
    fn what_paths_have_in_common() {
        assert_eq!(in_common("/a/b/c", "/a/b/d/e"), "/a/b");
        assert_eq!(in_common("/a/b", "/a/bc"), "/a");
    }
}
