//! A batch script with all that rules ask about it.

use crate::input::LintInput;
use crate::lines::Lines;
use crate::shell::Shell;
use crate::{Edit, Finding, Severity};
use cluster_file::Sourced;
use model::option_table::{Effect, Key};
use model::sbatch::{Sbatch, resolve};
use model::script_lines::{LineKind, ScriptLines, script_lines};
use model::{Diagnostic, Given, Origin, Request, SlurmVersion, Span, Surroundings};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// A script that was read once for all rules.
#[derive(Debug)]
pub struct Script<'a> {
    /// Its text.
    pub text: &'a str,
    /// Its lines.
    pub lines: Lines<'a>,
    /// What `sbatch` makes of each.
    pub kinds: ScriptLines,
    /// What it asks for.
    pub sbatch: Sbatch,
    /// What `sbatch` would say of it.
    pub diagnostics: Vec<Diagnostic>,
    /// Its commands; none where it isn't a script of a shell like `sh`.
    pub shell: Shell<'a>,
    /// True for a script of `sh`, `bash`, `zsh`, `ksh` or `dash`.
    pub is_shell: bool,
    /// The Slurm it is for, where that is known.
    pub version: Option<SlurmVersion>,
    /// The cluster file assumes that version, or its documents say two.
    pub version_is_assumed: bool,
    /// Line and column of the words that `sbatch` refuses.
    refused: HashSet<(usize, usize)>,
    /// Which of the options stands at a line and column.
    places: HashMap<(usize, usize), usize>,
}

impl<'a> Script<'a> {
    /// Reads it.
    #[must_use]
    pub fn read(input: &LintInput<'a>) -> Script<'a> {
        let text = input.text;
        let version = version_of(input);
        let (sbatch, diagnostics) = as_sbatch_reads(input, text);
        let lines = Lines::new(text);
        let is_shell = is_shell(lines.line(1));
        let shell = if is_shell {
            Shell::read(text, 0)
        } else {
            Shell::default()
        };
        let refused = diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity == model::Severity::Error)
            .filter_map(|diagnostic| place(&diagnostic.span));
        let refused = refused.collect();
        let mut places = HashMap::new();
        for (index, given) in sbatch.given.iter().enumerate() {
            if let Some(place) = place(&given.span) {
                places.entry(place).or_insert(index);
            }
        }
        Script {
            refused,
            places,
            text,
            lines,
            kinds: script_lines(text),
            sbatch,
            diagnostics,
            shell,
            is_shell,
            version,
            version_is_assumed: input.version.is_none()
                && stated(input).is_some_and(|slurm| slurm.is_assumed() || slurm.is_disputed()),
        }
    }

    /// What it asks for.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.sbatch.request
    }

    /// The bytes of a place in the script; none for what stands elsewhere.
    #[must_use]
    pub fn bytes(&self, span: &Span) -> Option<Range<usize>> {
        match *span {
            Span::Script { line, start, end } => {
                let from = self.lines.with_end(line).start;
                let range = from + start..from + end;
                self.text.get(range.clone()).map(|_| range)
            }
            Span::Whole | Span::Argument(_) | Span::Variable(_) => None,
        }
    }

    /// All options of that key, in the order in which they were read.
    pub fn given(&self, key: Key) -> impl DoubleEndedIterator<Item = &Given> {
        let sets = move |given: &&Given| given.option.effect == Effect::Sets(key);
        self.sbatch.given.iter().filter(sets)
    }

    /// All options of that name, in the order in which they were read.
    pub fn named(&self, long: &str) -> impl DoubleEndedIterator<Item = &Given> {
        self.sbatch
            .given
            .iter()
            .filter(move |given| given.option.long == long)
    }

    /// The option of that key that counts.
    #[must_use]
    pub fn last(&self, key: Key) -> Option<&Given> {
        self.given(key).next_back()
    }

    /// The value of the option of that key that counts.
    #[must_use]
    pub fn value(&self, key: Key) -> Option<&str> {
        self.last(key).and_then(|given| given.value.as_deref())
    }

    /// The options that stand in the script.
    pub fn directives(&self) -> impl Iterator<Item = &Given> {
        self.sbatch
            .given
            .iter()
            .filter(|given| given.origin == Origin::Script)
    }

    /// The bytes of an option and its value; none where it isn't in the script.
    #[must_use]
    pub fn whole(&self, given: &Given) -> Option<Range<usize>> {
        let word = self.bytes(&given.span)?;
        let value = given.value_span.as_ref().and_then(|span| self.bytes(span));
        match value {
            Some(value)
                if value.end > word.end
                    && self.lines.number(value.start) == self.lines.number(word.start) =>
            {
                Some(word.start..value.end)
            }
            _ => Some(word),
        }
    }

    /// The bytes of an option's value, else of the option.
    #[must_use]
    pub fn value_bytes(&self, given: &Given) -> Option<Range<usize>> {
        let value = given.value_span.as_ref().and_then(|span| self.bytes(span));
        value.or_else(|| self.bytes(&given.span))
    }

    /// A finding at an option; without a place where that isn't in the script.
    #[must_use]
    pub fn finding(
        &self,
        code: &'static str,
        severity: Severity,
        given: &Given,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Finding {
        let finding = Finding::new(code, severity, message);
        match self.whole(given) {
            Some(range) => finding.at(range, label),
            None => finding,
        }
    }

    /// Whether `sbatch` refuses that word.
    #[must_use]
    pub fn is_refused(&self, given: &Given) -> bool {
        place(&given.span).is_some_and(|place| self.refused.contains(&place))
    }

    /// Whether all options were read: at a stray word and at an open quote `sbatch` stops, and what
    /// stands behind it is no less in the script.
    #[must_use]
    pub fn is_read_whole(&self) -> bool {
        let stopped = |diagnostic: &Diagnostic| {
            matches!(diagnostic.code, "directive-word" | "directive-syntax")
        };
        !self.diagnostics.iter().any(stopped)
    }

    /// The option that stands there, the first of a word with several letters.
    #[must_use]
    pub fn given_at(&self, span: &Span) -> Option<&Given> {
        let index = self.places.get(&place(span)?)?;
        self.sbatch.given.get(*index)
    }

    /// The line of an option that holds nothing else, but perhaps a comment.
    #[must_use]
    pub fn alone(&self, given: &Given) -> Option<usize> {
        let range = self.whole(given)?;
        let number = self.lines.number(range.start);
        let line = self.lines.range(number);
        let before = &self.text[line.start..range.start];
        let behind = self.text[range.end..line.end].trim_start();
        let nothing = behind.is_empty() || behind.starts_with('#');
        (before.trim_end() == "#SBATCH" && nothing).then_some(number)
    }

    /// An edit that takes a line away.
    #[must_use]
    pub fn without_line(&self, number: usize) -> Edit {
        Edit::new(self.lines.with_end(number), "")
    }

    /// An edit that adds a directive behind the last one that is read, or behind the first line.
    #[must_use]
    pub fn new_directive(&self, options: &str) -> Edit {
        let read = |kind: &LineKind| matches!(kind, LineKind::Directive | LineKind::Interpreter);
        let last = self
            .kinds
            .kinds
            .iter()
            .rposition(read)
            .map_or(1, |index| index + 1);
        let at = self.lines.with_end(last).end;
        let open = !self.text[..at].ends_with('\n');
        let (before, after) = if open { ("\n", "") } else { ("", "\n") };
        Edit::new(at..at, format!("{before}#SBATCH {options}{after}"))
    }

    /// A finding that another version than that of the script's Slurm would not have: a note where
    /// the version is only assumed.
    #[must_use]
    pub fn as_sure_as_version(&self, mut finding: Finding) -> Finding {
        let Some(version) = self.version.filter(|_| self.version_is_assumed) else {
            return finding;
        };
        finding.severity = Severity::Note;
        finding.refused = false;
        let why = format!("the cluster file assumes Slurm {version}");
        finding.really = Some(match finding.really.take() {
            Some(really) => format!("{really}; {why}"),
            None => why,
        });
        finding
    }

    /// True when the line was made by a template engine's statement: what it says is no script yet.
    #[must_use]
    pub fn is_template(&self) -> bool {
        let Some(first) = self.kinds.first_command else {
            return false;
        };
        let line = self.lines.line(first).trim();
        let marks = ["{%", "{{", "<%", "{#", "%(", "@", "__"];
        // `{options}`, or a variable that stands alone: whoever makes the script puts lines there.
        let gap = line.strip_prefix(['{', '$']).is_some_and(|rest| {
            let name = rest.trim_start_matches('{').trim_end_matches('}');
            let word = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
            !name.is_empty() && name.chars().all(word)
        });
        gap || marks.iter().any(|mark| line.starts_with(mark))
    }
}

/// The Slurm that a script is for, where that is known.
fn version_of(input: &LintInput<'_>) -> Option<SlurmVersion> {
    let version = input.version.or(stated(input).map(|version| version.value));
    // Of older ones no option is known: what they have is nearest to the oldest that is.
    version.map(|version| version.max(SlurmVersion::V22_05))
}

/// What the cluster file says of its Slurm.
fn stated<'a>(input: &LintInput<'a>) -> Option<&'a Sourced<SlurmVersion>> {
    input.cluster.and_then(|cluster| cluster.slurm.as_ref())
}

/// What `sbatch` makes of a text that stands in the place of the script's.
fn as_sbatch_reads(input: &LintInput<'_>, text: &str) -> (Sbatch, Vec<Diagnostic>) {
    read_as(input, text, false)
}

fn read_as(input: &LintInput<'_>, text: &str, pyxis: bool) -> (Sbatch, Vec<Diagnostic>) {
    let version = version_of(input);
    let known =
        cluster_file::surroundings(input.cluster, version, input.now, input.zone, input.cwd);
    let surroundings = Surroundings {
        pyxis: pyxis || known.pyxis,
        ..known
    };
    let name = if input.name == "-" {
        "sbatch"
    } else {
        input.name
    };
    let mut args = input.args.to_vec();
    args.push(name.to_owned());
    resolve(&args, &|_| None, Some(text), &surroundings)
}

/// What a script asks for where the plugin pyxis is loaded, which a cluster file need not know; none
/// where `sbatch` refuses it then too.
pub(crate) fn request_with_pyxis(input: &LintInput<'_>) -> Option<Request> {
    let (sbatch, diagnostics) = read_as(input, input.text, true);
    (errors(&diagnostics) == 0).then_some(sbatch.request)
}

/// How many reasons `sbatch` has to refuse a text that stands in the place of the script's.
pub(crate) fn refusals(input: &LintInput<'_>, text: &str) -> usize {
    let (_, diagnostics) = as_sbatch_reads(input, text);
    errors(&diagnostics)
}

/// How many options `sbatch` reads of a text that stands in the place of the script's.
pub(crate) fn options_read(input: &LintInput<'_>, text: &str) -> usize {
    as_sbatch_reads(input, text).0.given.len()
}

/// How many of these refuse a script.
pub(crate) fn errors(diagnostics: &[Diagnostic]) -> usize {
    let error = |diagnostic: &&Diagnostic| diagnostic.severity == model::Severity::Error;
    diagnostics.iter().filter(error).count()
}

/// Line and column of a word of the script.
fn place(span: &Span) -> Option<(usize, usize)> {
    match *span {
        Span::Script { line, start, .. } => Some((line, start)),
        Span::Whole | Span::Argument(_) | Span::Variable(_) => None,
    }
}

/// Whether an interpreter line names a shell like `sh`.
fn is_shell(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("#!") else {
        return false;
    };
    let mut words = rest.split_whitespace();
    let mut program = words.next().unwrap_or_default();
    if program.ends_with("/env") {
        program = words
            .find(|word| !word.starts_with('-'))
            .unwrap_or_default();
    }
    let name = program.rsplit('/').next().unwrap_or(program);
    matches!(name, "sh" | "bash" | "zsh" | "ksh" | "dash")
}
