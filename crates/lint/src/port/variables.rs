//! Variables that a site sets: what a script does where no site sets them.

use super::porter::{Porter, lines_words};
use std::ops::Range;

/// Names that sites give to the folders that they set up for jobs; Slurm sets none of these.
const OF_SITES: [&str; 10] = [
    "TMPDIR", "PROJECT", "PROJECTS", "WORK", "WORKDIR", "WRKDIR", "STORE", "JOBFS", "CFS",
    "LOCALDIR",
];

/// Where a script uses a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Use {
    /// From the `$` to its end.
    range: Range<usize>,
    name: String,
    /// `${X:-a}`: the script says itself what holds where no site sets it.
    has_default: bool,
}

impl Porter<'_> {
    /// Asks about each variable that is used before the script sets it, and that the other cluster
    /// isn't known to set. To be called when the folders are rewritten.
    pub fn site_variables(&mut self) {
        let mut open: Vec<(String, Vec<Range<usize>>)> = Vec::new();
        for used in uses(self.script.text) {
            let Use { range, name, .. } = &used;
            let sets_there = self.to.node_local.variable.as_ref();
            let settled = used.has_default
                || !self.is_of_site(name)
                || sets_there.is_some_and(|own| own.value == *name)
                || self.is_set_before(name, range.start)
                || !self.is_read(range.start)
                || self.is_directive(range.start)
                || self.is_tested(range)
                || self.is_changed(range);
            if settled {
                continue;
            }
            match open.iter_mut().find(|(other, _)| other == name) {
                Some((_, places)) => places.push(range.clone()),
                None => open.push((name.clone(), vec![range.clone()])),
            }
        }
        for (name, places) in open {
            self.unset_variable(&name, &places);
        }
    }

    fn unset_variable(&mut self, name: &str, places: &[Range<usize>]) {
        let numbers: Vec<usize> = places
            .iter()
            .map(|place| self.script.lines.number(place.start))
            .collect();
        let (from, to) = (&self.from.name, &self.to.name);
        let own = self.from.node_local.variable.as_ref();
        let who = if own.is_some_and(|own| own.value == *name) {
            format!("{from} sets it, and {to} isn't known to")
        } else {
            format!("the script doesn't set it, and {to} isn't known to")
        };
        let dangers: Vec<String> = places.iter().filter_map(|at| self.danger(at)).collect();
        let danger = match dangers.first() {
            Some(first) => format!("; where it is empty, {first}"),
            None => String::new(),
        };
        let about = format!("${name} in {}: {who}{danger}", lines_words(&numbers));
        let disk = name.contains("TMPDIR") || own.is_some_and(|own| own.value == *name);
        let paths = &self.to.paths;
        let there = match disk {
            true => self.to.node_local.path.as_ref(),
            false if name.contains("SCRATCH") => paths.scratch.as_ref(),
            false if name.contains("PROJ") => paths.project.as_ref(),
            false => None,
        };
        let ask = match there {
            Some(there) if disk && !there.contains("$SLURM_JOB_ID") => format!(
                "what is it there? {to} has {} on its nodes; the script must make a folder of its own \
                 in it, and remove that at its end",
                there.value
            ),
            Some(there) => format!("what is it there? perhaps {}", there.value),
            None => "what is it there?".to_owned(),
        };
        self.ask(numbers.first().copied(), about, ask);
    }

    /// A variable that sites set, by its name or as the first cluster's file says.
    fn is_of_site(&self, name: &str) -> bool {
        let own = self.from.node_local.variable.as_ref();
        let loud = !name.contains(|c: char| c.is_ascii_lowercase());
        OF_SITES.contains(&name)
            || (loud && (name.contains("SCRATCH") || name.ends_with("_TMPDIR")))
            || own.is_some_and(|own| own.value == *name)
    }

    /// Whether the script gives it a value further up, on any way that it may take.
    fn is_set_before(&self, name: &str, at: usize) -> bool {
        let by_word = |command: &crate::shell::Command<'_>| {
            let words = &command.words;
            let reads = matches!(words.first().map(|word| &*word.text), Some("read" | "for"));
            reads && command.range.end <= at && words.iter().any(|word| word.text == name)
        };
        let text = self.script.text;
        let default = format!("${{{name}:=");
        self.script.shell.sets(name).any(|set| set.range.end <= at)
            || self.script.shell.commands.iter().any(by_word)
            || text[..at].contains(&default)
    }

    fn is_directive(&self, at: usize) -> bool {
        let line = self.script.lines.number(at);
        self.script.lines.line(line).starts_with("#SBATCH")
    }

    /// `[ -z "$X" ]` is there for where no site sets it.
    fn is_tested(&self, used: &Range<usize>) -> bool {
        let mut commands = self.script.shell.commands.iter();
        commands.any(|command| {
            let holds = command.range.start <= used.start && used.end <= command.range.end;
            holds && matches!(command.name(), "[" | "[[" | "test")
        })
    }

    /// What an `rm` with that variable does where it is empty.
    fn danger(&self, used: &Range<usize>) -> Option<String> {
        let text = self.script.text;
        let number = self.script.lines.number(used.start);
        let line = self.script.lines.with_end(number);
        let commands = self.script.shell.commands.iter();
        let mut holding = commands.filter(|command| command.range.contains(&used.start));
        let rm = holding.rfind(|command| command.name() == "rm");
        // In the text of a `trap` or of a `bash -c` it is no command of its own yet.
        let start = match rm {
            Some(command) => command.range.start,
            None => line.start + last_rm(&text[line.start..used.start])?,
        };
        let end = text[used.end..].find(|c: char| c.is_whitespace() || ";&|)'`".contains(c));
        let end = end.map_or(text.len(), |end| used.end + end);
        let shown = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (written, becomes) = (
            shown(&text[start..end]),
            shown(&format!(
                "{}{}",
                &text[start..used.start],
                &text[used.end..end]
            )),
        );
        Some(format!("`{written}` in line {number} is `{becomes}`"))
    }
}

/// Where the last `rm` begins in the part of a line before a variable, if that is its word.
fn last_rm(before: &str) -> Option<usize> {
    let part = before.rfind([';', '&', '|']).map_or(0, |at| at + 1);
    let (at, _) = before[part..].match_indices("rm ").last()?;
    let at = part + at;
    let word = before[..at].chars().next_back();
    (!word.is_some_and(|c| c.is_alphanumeric() || "_-./$".contains(c))).then_some(at)
}

/// The variables that a text uses.
fn uses(text: &str) -> Vec<Use> {
    let mut found = Vec::new();
    // The first brace or line's end behind a place: of nested ones it is the same for all.
    let mut close = 0;
    let mut closes_behind = |at: usize| {
        if close < at {
            let behind = text[at..].find(['}', '\n']);
            close = behind.map_or(text.len(), |found| at + found);
        }
        close
    };
    for (start, _) in text.match_indices('$') {
        let rest = &text[start + 1..];
        let braces = rest.starts_with('{');
        let name_at = usize::from(braces);
        let body = &rest[name_at..];
        let length = body
            .find(|c: char| c != '_' && !c.is_ascii_alphanumeric())
            .unwrap_or(body.len());
        let name = &body[..length];
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let behind = &body[length..];
        let (end, has_default) = if !braces {
            (start + 1 + length, false)
        } else {
            let close = closes_behind(start + 2 + length);
            if !text[close..].starts_with('}') {
                continue;
            }
            let default = [":-", ":=", "-", "=", ":+", "+"];
            (
                close + 1,
                default.iter().any(|sign| behind.starts_with(sign)),
            )
        };
        found.push(Use {
            range: start..end,
            name: name.to_owned(),
            has_default,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_variables_are_read_once() {
        let count = 200_000;
        let text = format!("{}{}", "${a:-".repeat(count), "}".repeat(count));
        assert_eq!(uses(&text).len(), count);
    }

    #[test]
    fn variables_are_found_in_every_form() {
        let text = "a $X ${X} /$X \"$X/b\" ${X:-c} ${X%/} $1 $$ ${ \\$X ${é}";
        let found = uses(text);
        let found: Vec<(&str, bool)> = found
            .iter()
            .map(|used| (&text[used.range.clone()], used.has_default))
            .collect();
        assert_eq!(
            found,
            [
                ("$X", false),
                ("${X}", false),
                ("$X", false),
                ("$X", false),
                ("${X:-c}", true),
                ("${X%/}", false),
                ("$X", false),
            ]
        );
    }

    #[test]
    fn an_rm_is_found_before_a_variable() {
        assert_eq!(last_rm("trap \"rm -rf /"), Some(6));
        assert_eq!(last_rm("charm a "), None);
        assert_eq!(last_rm("rm a; ls "), None);
    }
}
