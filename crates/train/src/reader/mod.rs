//! Reads single values, of a run file or of a flag, and notes what is wrong with them.

mod amounts;
mod texts;
mod words;

use crate::keys::{KeyRow, Section, section_of};
use crate::slurms_words::slurms_word;
use crate::{Problem, Resolved, Sections, Source};
use model::{count_lines, nearest};
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

    /// An unknown key: what it is called here where it is one of Slurm's words, else one that begins so or is near;
    /// and all of them.
    pub fn unknown_key(&mut self, span: Range<usize>, key: &str, place: &str, known: &[&str]) {
        // Its first words before one that is spelled alike: `cpus` is `cpus_per_rank`, and not `gpus`.
        let is_longer = |one: &&str| {
            let rest = one.strip_prefix(key);
            rest.is_some_and(|rest| !key.is_empty() && rest.starts_with('_'))
        };
        let mut all = known.iter().copied();
        let near = all
            .find(is_longer)
            .or_else(|| nearest(key, known.iter().copied()));
        let label = match (slurms_word(key), near) {
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
}

/// Where a value stands.
pub(crate) fn span(raw: Raw<'_>) -> Range<usize> {
    match raw {
        Raw::Toml(value) => value.span(),
        Raw::Flag(text, start) => start..start + text.len(),
    }
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
