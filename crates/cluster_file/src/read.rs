//! Reads tables and values of a cluster file, and notes what is wrong with them.

use super::section::{Section, joined};
use super::sourced::{Other, Source, Sourced};
use super::value::{Value, type_name};
use model::{Problem, nearest};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value of the text, with where it stands.
#[derive(Clone)]
pub struct Given<'a, 'i> {
    /// Such as `partition.gpu.max_time`.
    pub(super) path: String,
    pub(super) value: &'a Spanned<DeValue<'i>>,
    /// The source that the table around it has for all its values.
    pub(super) inherited: Option<&'a Source>,
}

/// Reads one text.
#[derive(Default)]
pub struct Reader {
    pub(super) problems: Vec<Problem>,
}

/// Keys that say where all values of a table come from.
const SOURCE_KEYS: [&str; 2] = ["from", "assumed"];

impl Reader {
    pub(super) fn complain(
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

    /// Reads a table; none where it isn't one.
    pub(super) fn section<S: Section>(&mut self, given: &Given<'_, '_>) -> Option<S> {
        let path = &given.path;
        let Some(table) = given.value.get_ref().as_table() else {
            let found = type_name(given.value.get_ref());
            let help = format!("write [{path}] and its keys below");
            self.complain(
                given.value.span(),
                format!("{path} is {found}"),
                "expected a table",
                help,
            );
            return None;
        };
        Some(self.table(table, given.value.span(), path, given.inherited))
    }

    /// Reads a table's keys and the tables in it.
    pub(super) fn table<S: Section>(
        &mut self,
        table: &DeTable<'_>,
        span: Range<usize>,
        path: &str,
        inherited: Option<&Source>,
    ) -> S {
        let mut section = S::default();
        section.set_span(span);
        let own = self.source_of(table);
        let source = own.as_ref().or(inherited);
        for (key, value) in table.iter() {
            let name = key.get_ref().as_ref();
            if SOURCE_KEYS.contains(&name) {
                continue;
            }
            let given = Given {
                path: joined(path, name),
                value,
                inherited: source,
            };
            if !section.take(name, &given, self) && !section.take_table(name, &given, self) {
                self.unknown_key::<S>(key.span(), name, path);
            }
        }
        section
    }

    fn unknown_key<S: Section>(&mut self, span: Range<usize>, key: &str, path: &str) {
        let keys = S::KEYS.iter().map(|key| key.name);
        let known: Vec<&str> = keys
            .chain(S::TABLES.iter().copied())
            .chain(SOURCE_KEYS)
            .collect();
        let label = match nearest(key, known.iter().copied()) {
            _ if key == "gpus" && S::TABLES.contains(&"gpu") => {
                "GPUs are gpu = { count = 2, model = \"…\" }".to_owned()
            }
            Some(near) => format!("did you mean {near}?"),
            None => String::new(),
        };
        let place = match path {
            "" => "a cluster file".to_owned(),
            path => format!("[{path}]"),
        };
        let help = format!("{place} takes {}", known.join(", "));
        let shown: String = key.chars().take(40).collect();
        self.complain(span, format!("unknown key {shown}"), label, help);
    }

    /// `from` or `assumed` of a table.
    fn source_of(&mut self, table: &DeTable<'_>) -> Option<Source> {
        let mut found = None;
        for (key, value) in table.iter() {
            let key_name = key.get_ref().as_ref();
            if !SOURCE_KEYS.contains(&key_name) {
                continue;
            }
            let Some(words) = self.words(key_name, value) else {
                continue;
            };
            if found.is_some() {
                let help = "a value is either said somewhere or assumed: keep one of the two";
                self.complain(key.span(), "from beside assumed", "", help);
                continue;
            }
            found = Some(if key_name == "from" {
                Source::Quote(words)
            } else {
                Source::Assumed(words)
            });
        }
        found
    }

    /// Text that says something.
    fn words(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<String> {
        match value.get_ref().as_str().map(str::trim) {
            Some("") | None => {
                let found = type_name(value.get_ref());
                let message = match found {
                    "text" => format!("{key} is empty"),
                    found => format!("{key} is {found}"),
                };
                let label = "expected where the value stands, or why it is assumed";
                self.complain(value.span(), message, label, "");
                None
            }
            Some(words) => Some(words.to_owned()),
        }
    }

    /// Reads a value that stands alone, or as `{ value = …, from = "…" }`.
    pub(super) fn sourced<T: Value>(&mut self, given: &Given<'_, '_>) -> Option<Sourced<T>> {
        let inherited = given.inherited.cloned().unwrap_or_default();
        let Some(table) = given.value.get_ref().as_table() else {
            return Some(Sourced {
                value: self.value(&given.path, given.value)?,
                source: inherited,
                others: Vec::new(),
                span: given.value.span(),
            });
        };
        let source = self.source_of(table).unwrap_or(inherited);
        let mut value = None;
        let mut others = Vec::new();
        for (key, inner) in table.iter() {
            match key.get_ref().as_ref() {
                "value" => value = Some(inner),
                "or" => others = self.others(&given.path, inner)?,
                name if SOURCE_KEYS.contains(&name) => {}
                name => {
                    let message = format!("unknown key {name} of {}", given.path);
                    let help = format!(
                        "write {{ value = …, from = \"…\" }}, {{ value = …, assumed = \"…\" }}, or the value alone: {}",
                        T::TAKES
                    );
                    self.complain(key.span(), message, "", help);
                    return None;
                }
            }
        }
        let Some(value) = value else {
            let message = format!("{} has no value", given.path);
            let help = format!("write {{ value = …, from = \"…\" }}; it takes {}", T::TAKES);
            self.complain(given.value.span(), message, "", help);
            return None;
        };
        Some(Sourced {
            value: self.value(&given.path, value)?,
            source,
            others,
            span: value.span(),
        })
    }

    /// `or`: one `{ value, from }` or several.
    fn others<T: Value>(
        &mut self,
        path: &str,
        given: &Spanned<DeValue<'_>>,
    ) -> Option<Vec<Other<T>>> {
        let one = std::slice::from_ref(given);
        let items: &[Spanned<DeValue<'_>>] = match given.get_ref() {
            DeValue::Array(items) => items,
            _ => one,
        };
        let mut others = Vec::new();
        for item in items {
            let table = item.get_ref().as_table();
            let key = |name: &str| {
                let found = table?.iter().find(|(key, _)| key.get_ref() == name);
                found.map(|(_, value)| value)
            };
            let (Some(value), Some(from)) = (key("value"), key("from")) else {
                let message = format!("or of {path} lacks a value or where it stands");
                let help = "write or = { value = …, from = \"…\" }";
                self.complain(item.span(), message, "", help);
                return None;
            };
            if let Some((odd, _)) = table
                .into_iter()
                .flat_map(|table| table.iter())
                .find(|(key, _)| !["value", "from"].contains(&key.get_ref().as_ref()))
            {
                let message = format!("unknown key {} of or", odd.get_ref());
                self.complain(odd.span(), message, "", "or takes value and from");
                return None;
            }
            others.push(Other {
                value: self.value(path, value)?,
                quote: self.words("from", from)?,
            });
        }
        Some(others)
    }

    fn value<T: Value>(&mut self, path: &str, given: &Spanned<DeValue<'_>>) -> Option<T> {
        match T::read(given.get_ref()) {
            Ok(value) => Some(value),
            Err(wrong) => {
                let span = wrong.item.unwrap_or_else(|| given.span());
                let message = match wrong.why {
                    Some(why) => format!("{path}: {why}"),
                    None => format!("{path} is {}", type_name(given.get_ref())),
                };
                self.complain(span, message, format!("expected {}", T::TAKES), wrong.help);
                None
            }
        }
    }
}
