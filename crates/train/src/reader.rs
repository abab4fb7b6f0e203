//! Reads single values, of a run file or of a flag, and notes what is wrong with them.

use crate::amounts::{AmountProblem, mebibytes, seconds, time_limit};
use crate::keys::{Choice, KeyRow, Section, section_of};
use crate::placeholders::{self, PLACEHOLDERS};
use crate::slurms_words::slurms_word;
use crate::{MemorySize, Problem, Resolved, Sections, Source};
use model::{Seconds, TimeLimitRequest, count_lines, nearest};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::DeValue;

/// A value as it was given.
#[derive(Clone, Copy)]
pub(crate) enum Raw<'a> {
    /// In a run file.
    Toml(&'a Spanned<DeValue<'a>>),
    /// As a flag's text, which starts at this byte of the reader's text.
    Flag(&'a str, usize),
}

/// Reads values of one text.
pub(crate) struct Reader<'a> {
    text: &'a str,
    /// Where the values that are read now come from, but for the line.
    from: From,
    pub problems: Vec<Problem>,
}

/// Where values come from.
#[derive(Clone)]
pub(crate) enum From {
    File {
        file: String,
        whose: Whose,
        /// Below `[cluster.NAME]`.
        cluster: Option<String>,
    },
    Variable {
        variable: &'static str,
    },
    Flag {
        flag: String,
    },
}

/// Which of the two files of one language it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// A run file.
    Run,
    /// The user's config.
    User,
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a str, from: From) -> Reader<'a> {
        Reader {
            text,
            from,
            problems: Vec::new(),
        }
    }

    /// From now on values belong to `[cluster.NAME]`, or to the file again.
    pub fn inside(&mut self, cluster: Option<&str>) {
        if let From::File { cluster: own, .. } = &mut self.from {
            *own = cluster.map(ToOwned::to_owned);
        }
    }

    /// Whether this is the user's config.
    pub fn is_user_config(&self) -> bool {
        let whose = Whose::User;
        matches!(&self.from, From::File { whose: own, .. } if *own == whose)
    }

    pub fn complain(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        let help = help.into();
        self.problems.push(Problem {
            span,
            message: message.into(),
            label: label.into(),
            help: (!help.is_empty()).then_some(help),
        });
    }

    fn amount(&mut self, key: &str, span: Range<usize>, problem: AmountProblem) {
        let message = format!("{key}: {}", problem.message);
        self.complain(span, message, "", problem.help);
    }

    /// An unknown key: what it is called here where it is one of Slurm's words, else the nearest one;
    /// and all of them.
    pub fn unknown_key(&mut self, span: Range<usize>, key: &str, place: &str, known: &[&str]) {
        let label = match (slurms_word(key), nearest(key, known.iter().copied())) {
            (Some(ours), _) => format!("Slurm's {key} is {ours} here"),
            (None, Some(near)) => format!("did you mean {near}?"),
            (None, None) => String::new(),
        };
        let help = format!("{place} takes {}", known.join(", "));
        self.complain(span, format!("unknown key {key}"), label, help);
    }

    /// The keys of a section.
    pub fn section<S: Section>(
        &mut self,
        own: &mut S,
        name: &'static str,
        value: &Spanned<DeValue<'_>>,
    ) {
        let place = format!("[{name}]");
        let DeValue::Table(table) = value.get_ref() else {
            let help = format!("write {place} on a line of its own and its keys below");
            let message = format!("{name} is not a table");
            self.complain(value.span(), message, "", help);
            return;
        };
        for (key, value) in table.iter() {
            match S::key(key.get_ref()) {
                Some(known) => known.read_into(own, self, Raw::Toml(value)),
                None if self.is_misplaced(key.span(), key.get_ref(), name) => {}
                None => self.unknown_key(key.span(), key.get_ref(), &place, &S::names()),
            }
        }
    }

    /// Complains about a key in `section` that belongs to another section, or to none. TOML has a key in the
    /// section that begins above it.
    fn is_misplaced(&mut self, span: Range<usize>, key: &str, section: &str) -> bool {
        let cluster = match &self.from {
            From::File { cluster, .. } => cluster.as_deref(),
            From::Variable { .. } | From::Flag { .. } => None,
        };
        let header = |section: &str| match cluster {
            Some(cluster) => format!("[cluster.{cluster}.{section}]"),
            None => format!("[{section}]"),
        };
        let here = header(section);
        let (label, help) = if Sections::key(key).is_some() {
            let above = match cluster {
                Some(cluster) => format!("write it right below the line [cluster.{cluster}]"),
                None => "write it above the first line that begins with [".to_owned(),
            };
            (
                format!("stands below {here}, and belongs to no section"),
                above,
            )
        } else if let Some(own) = section_of(key) {
            let own = header(own);
            let help = format!("write it below the line {own}");
            (format!("stands below {here}, and belongs to {own}"), help)
        } else {
            return false;
        };
        self.complain(span, format!("{key} is no key of {here}"), label, help);
        true
    }

    fn resolved<T>(&self, raw: Raw<'_>, value: T) -> Option<Resolved<T>> {
        let line = || count_lines(&self.text[..span(raw).start.min(self.text.len())]);
        let source = match self.from.clone() {
            From::File {
                file,
                whose: Whose::User,
                cluster,
            } => Source::UserConfig {
                file,
                line: line(),
                cluster,
            },
            From::File {
                file,
                cluster: None,
                ..
            } => Source::RunFile { file, line: line() },
            From::File {
                file,
                cluster: Some(cluster),
                ..
            } => Source::ClusterSection {
                cluster,
                file,
                line: line(),
            },
            From::Variable { variable } => Source::Environment {
                variable: variable.to_owned(),
            },
            From::Flag { flag } => Source::Flag { flag },
        };
        Some(Resolved::new(value, source))
    }

    fn wrong_type(&mut self, key: &str, raw: Raw<'_>, wanted: &str) {
        let found = match raw {
            Raw::Toml(value) => type_name(value.get_ref()),
            Raw::Flag(..) => "text",
        };
        self.complain(
            span(raw),
            format!("{key} is {found}"),
            format!("expected {wanted}"),
            "",
        );
    }

    /// Text that isn't empty.
    pub fn text(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<String>> {
        self.text_of(row, raw, row.example)
    }

    fn text_of(&mut self, row: &KeyRow, raw: Raw<'_>, example: &str) -> Option<Resolved<String>> {
        let key = row.name;
        let text = match raw {
            Raw::Flag(text, _) => text,
            Raw::Toml(value) => match value.get_ref() {
                DeValue::String(text) => text.as_ref(),
                _ => {
                    self.wrong_type(key, raw, &format!("text, such as {example}"));
                    return None;
                }
            },
        };
        if text.trim().is_empty() {
            let help = format!("write {example}, or leave the key out");
            self.complain(span(raw), format!("{key} is empty"), "", help);
            return None;
        }
        if let Some(odd) = text.chars().find(|letter| letter.is_control()) {
            self.complain(span(raw), format!("{key} holds {odd:?}"), "", "");
            return None;
        }
        self.resolved(raw, text.to_owned())
    }

    /// A whole number, of at least what the row says.
    pub fn count(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<u32>> {
        let (key, least) = (row.name, row.value.least());
        let number = match raw {
            Raw::Flag(text, _) => text.trim().parse::<i64>().ok(),
            Raw::Toml(value) => match value.get_ref() {
                DeValue::Integer(number) => {
                    Some(i64::from_str_radix(number.as_str(), number.radix()).unwrap_or(i64::MAX))
                }
                _ => None,
            },
        };
        let Some(number) = number else {
            self.wrong_type(key, raw, "a whole number");
            return None;
        };
        match u32::try_from(number) {
            Ok(number) if number >= least => self.resolved(raw, number),
            _ => {
                let message = format!("{key} is {number}");
                let label = format!("expected a whole number of at least {least}");
                self.complain(span(raw), message, label, "");
                None
            }
        }
    }

    /// `true` or `false`.
    pub fn switch(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<bool>> {
        let value = match raw {
            Raw::Flag(text, _) => text.parse().ok(),
            Raw::Toml(value) => value.get_ref().as_bool(),
        };
        if value.is_none() {
            self.wrong_type(row.name, raw, "true or false");
        }
        self.resolved(raw, value?)
    }

    /// An array of texts, each of which may be any text.
    pub fn texts(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<Vec<String>>> {
        let texts = self.spanned_texts(row.name, raw, row.example)?;
        let texts = texts.into_iter().map(|(text, _)| text).collect();
        self.resolved(raw, texts)
    }

    /// An array of names of variables.
    pub fn names(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<Vec<String>>> {
        let texts = self.spanned_texts(row.name, raw, row.example)?;
        for (text, span) in &texts {
            if !is_variable(text) {
                let message = format!("{text:?} can't be the name of a variable");
                let help = "letters, digits and _, and no digit first";
                self.complain(span.clone(), message, "", help);
                return None;
            }
        }
        let texts = texts.into_iter().map(|(text, _)| text).collect();
        self.resolved(raw, texts)
    }

    /// A table of variables, with placeholders in their values.
    pub fn variables(
        &mut self,
        row: &KeyRow,
        raw: Raw<'_>,
    ) -> Option<Resolved<BTreeMap<String, String>>> {
        let Raw::Toml(value) = raw else { return None };
        let Some(table) = value.get_ref().as_table() else {
            self.wrong_type(row.name, raw, &format!("a table, such as {}", row.example));
            return None;
        };
        let mut variables = BTreeMap::new();
        for (name, value) in table.iter() {
            let key = name.get_ref().as_ref();
            if !is_variable(key) {
                let message = format!("{key:?} can't be the name of a variable");
                let help = "letters, digits and _, and no digit first";
                self.complain(name.span(), message, "", help);
                return None;
            }
            let text = match value.get_ref() {
                DeValue::String(text) if !text.contains('\0') => text.as_ref().to_owned(),
                other => {
                    let source = self.text.get(value.span()).unwrap_or_default();
                    let help = match other {
                        DeValue::String(_) => "leave the NUL character out".to_owned(),
                        _ => format!("write \"{source}\""),
                    };
                    let message = format!("{key} is {}", type_name(other));
                    self.complain(value.span(), message, "expected text", help);
                    return None;
                }
            };
            self.placeholders(&text, value.span());
            variables.insert(key.to_owned(), text);
        }
        self.resolved(raw, variables)
    }

    /// An array of texts with placeholders in them.
    pub fn words(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<Vec<String>>> {
        let texts = self.spanned_texts(row.name, raw, row.example)?;
        for (text, span) in &texts {
            self.placeholders(text, span.clone());
        }
        let texts = texts.into_iter().map(|(text, _)| text).collect();
        self.resolved(raw, texts)
    }

    /// Complains about an unknown placeholder in a word.
    pub fn placeholders(&mut self, word: &str, span: Range<usize>) {
        let Err(unknown) = placeholders::check(word) else {
            return;
        };
        // Where the word stands in the text without escapes, the placeholder itself is marked.
        let marked = format!("{{{}}}", unknown.name);
        let source = self.text.get(span.clone()).unwrap_or_default();
        let span = match source.find(&marked) {
            Some(at) => span.start + at..span.start + at + marked.len(),
            None => span,
        };
        let label = match nearest(&unknown.name, PLACEHOLDERS.map(|known| known.name)) {
            Some(near) => format!("did you mean {{{near}}}?"),
            None => String::new(),
        };
        let known = PLACEHOLDERS
            .map(|known| format!("{{{}}}", known.name))
            .join(" ");
        let help = format!("known are {known}; {{{{ is a brace");
        self.complain(span, unknown.to_string(), label, help);
    }

    fn spanned_texts(
        &mut self,
        key: &str,
        raw: Raw<'_>,
        example: &str,
    ) -> Option<Vec<(String, Range<usize>)>> {
        let items = match raw {
            Raw::Toml(value) => match value.get_ref() {
                DeValue::Array(items) => items,
                DeValue::String(text) => {
                    let words: Vec<String> = text
                        .split_whitespace()
                        .map(|word| format!("{word:?}"))
                        .collect();
                    let message = format!("{key} is one text");
                    // Of others nobody expects that a shell would.
                    let no_shell = if ["command", "args"].contains(&key) {
                        "; no shell reads it"
                    } else {
                        ""
                    };
                    let help = format!("write {key} = [{}]{no_shell}", words.join(", "));
                    self.complain(span(raw), message, "expected an array of texts", help);
                    return None;
                }
                _ => {
                    self.wrong_type(key, raw, &format!("an array of texts, such as {example}"));
                    return None;
                }
            },
            Raw::Flag(..) => return None,
        };
        let mut texts = Vec::new();
        for item in items.iter() {
            match item.get_ref() {
                DeValue::String(text) if text.contains('\0') => {
                    self.complain(item.span(), format!("{key} holds a NUL character"), "", "");
                    return None;
                }
                DeValue::String(text) => texts.push((text.as_ref().to_owned(), item.span())),
                other => {
                    let found = type_name(other);
                    let source = self.text.get(item.span()).unwrap_or_default();
                    let message = format!("{key} holds {found}");
                    let help = format!("write \"{source}\"");
                    self.complain(item.span(), message, "expected text", help);
                    return None;
                }
            }
        }
        Some(texts)
    }

    /// One of the words of a choice.
    pub fn word<T: Choice>(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<T>> {
        self.one_word(row, raw, T::WORDS)
    }

    /// One of several words.
    pub fn one_word<T: Copy>(
        &mut self,
        row: &KeyRow,
        raw: Raw<'_>,
        known: &[(&str, T)],
    ) -> Option<Resolved<T>> {
        let example = format!("one of {}", names(known));
        let word = self.text_of(row, raw, &example)?.value;
        let (_, value) = known[self.one_of(row.name, &word, span(raw), known)?];
        self.resolved(raw, value)
    }

    /// An array of words, each once.
    pub fn several<T: Choice>(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<Vec<T>>> {
        let known = T::WORDS;
        let words = self.spanned_texts(row.name, raw, &format!("some of {}", names(known)))?;
        let mut places = Vec::new();
        for (word, span) in words {
            places.push(self.one_of(row.name, &word, span, known)?);
        }
        places.sort_unstable();
        places.dedup();
        let values = places.into_iter().map(|place| known[place].1).collect();
        self.resolved(raw, values)
    }

    /// The place of a word among those that are known.
    fn one_of<T>(
        &mut self,
        key: &str,
        word: &str,
        span: Range<usize>,
        known: &[(&str, T)],
    ) -> Option<usize> {
        let is_it = |(name, _): &(&str, T)| name.eq_ignore_ascii_case(word);
        if let Some(place) = known.iter().position(is_it) {
            return Some(place);
        }
        let label = match nearest(word, known.iter().map(|(name, _)| *name)) {
            Some(near) => format!("did you mean {near}?"),
            None => String::new(),
        };
        let help = format!("{key} is one of {}", names(known));
        self.complain(span, format!("unknown {key} {word:?}"), label, help);
        None
    }

    /// The text of a value that has a unit.
    fn with_unit<'v>(&mut self, key: &str, raw: Raw<'v>, units: [&str; 3]) -> Option<&'v str> {
        let value = match raw {
            Raw::Flag(text, _) => return Some(text),
            Raw::Toml(value) => value,
        };
        match value.get_ref() {
            DeValue::String(text) => Some(text),
            DeValue::Integer(number) => {
                let number = number.as_str();
                let said = units.map(|unit| format!("\"{number}{unit}\""));
                let help = format!("write {}, {} or {}", said[0], said[1], said[2]);
                let message = format!("{key} = {number} has no unit");
                self.complain(span(raw), message, "expected text with a unit", help);
                None
            }
            DeValue::Datetime(clock) => {
                let help = format!("write \"{clock}\"");
                let message = format!("{key} is a date or a time of day");
                self.complain(span(raw), message, "expected text", help);
                None
            }
            _ => {
                let example = units.map(|unit| format!("\"10{unit}\"")).join(" or ");
                self.wrong_type(key, raw, &format!("text such as {example}"));
                None
            }
        }
    }

    /// A limit.
    pub fn time(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<TimeLimitRequest>> {
        let text = self.with_unit(row.name, raw, ["s", "m", "h"])?;
        match time_limit(text) {
            Ok(limit) => self.resolved(raw, limit),
            Err(problem) => {
                self.amount(row.name, span(raw), problem);
                None
            }
        }
    }

    /// A length of time.
    pub fn length(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<Seconds>> {
        let text = self.with_unit(row.name, raw, ["s", "m", "h"])?;
        match seconds(text) {
            Ok(length) => self.resolved(raw, length),
            Err(problem) => {
                self.amount(row.name, span(raw), problem);
                None
            }
        }
    }

    /// An amount of memory; `"all"`, and Slurm's `0` in a flag, is all of it, and `"default"` what the
    /// cluster gives to who asks for none.
    pub fn memory(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<MemorySize>> {
        let text = self.with_unit(row.name, raw, ["M", "G", "T"])?;
        if text.eq_ignore_ascii_case("all") || (matches!(raw, Raw::Flag(..)) && text == "0") {
            return self.resolved(raw, MemorySize(Some(0)));
        }
        if text.eq_ignore_ascii_case("default") {
            return self.resolved(raw, MemorySize(None));
        }
        match mebibytes(text) {
            Ok(size) => self.resolved(raw, MemorySize(Some(size))),
            Err(problem) => {
                self.amount(row.name, span(raw), problem);
                None
            }
        }
    }

    /// An amount of memory, in MiB.
    pub fn mebibytes(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<u64>> {
        let text = self.with_unit(row.name, raw, ["M", "G", "T"])?;
        match mebibytes(text) {
            Ok(size) => self.resolved(raw, size),
            Err(problem) => {
                self.amount(row.name, span(raw), problem);
                None
            }
        }
    }
}

/// Where a value stands.
pub(crate) fn span(raw: Raw<'_>) -> Range<usize> {
    match raw {
        Raw::Toml(value) => value.span(),
        Raw::Flag(text, start) => start..start + text.len(),
    }
}

/// Whether a shell could set a variable of that name.
fn is_variable(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let mut bytes = name.bytes();
    bytes.next().is_some_and(is_letter)
        && bytes.all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

fn names<T>(known: &[(&str, T)]) -> String {
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or a time of day",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
