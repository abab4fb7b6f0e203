//! Single values of a cluster file: how each is read and printed.

use super::section::Entry;
use super::sourced::Sourced;
use model::SlurmVersion;
use std::ops::Range;
use toml::de::DeValue;

/// A value that a key can take.
pub(super) trait Value: Sized + Clone + PartialEq {
    /// What a person should write.
    const TAKES: &'static str;
    fn read(value: &DeValue<'_>) -> Result<Self, Wrong>;
    /// As TOML, so that it reads back the same.
    fn toml(&self) -> String;
    /// As a person reads it.
    fn plain(&self) -> String {
        self.toml()
    }
}

/// Why a value can't be read.
#[derive(Debug, Default)]
pub(super) struct Wrong {
    /// Beside `expected …`; none where its type alone is wrong.
    pub why: Option<String>,
    /// The item of a list that it is about.
    pub item: Option<Range<usize>>,
    /// What to do.
    pub help: String,
}

impl Wrong {
    pub fn because(why: impl Into<String>) -> Wrong {
        Wrong {
            why: Some(why.into()),
            ..Wrong::default()
        }
    }
}

/// One value of a table as text.
pub(super) fn entry<T: Value>(key: &'static str, value: &Sourced<T>) -> Entry {
    let others = value
        .others
        .iter()
        .map(|other| (other.value.toml(), other.value.plain(), other.quote.clone()));
    Entry {
        key,
        toml: value.value.toml(),
        plain: value.value.plain(),
        source: value.source.clone(),
        others: others.collect(),
        span: value.span.clone(),
    }
}

/// What a value is, for a sentence.
pub(super) fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or a time of day",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Text in TOML's double quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            letter if letter.is_control() => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(letter)));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

fn whole(value: &DeValue<'_>) -> Result<i64, Wrong> {
    match value {
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_err(|_| Wrong::because(format!("{} is too large", number.as_str()))),
        _ => Err(Wrong::default()),
    }
}

/// A text that says something, in one line.
pub(super) fn text<'v>(value: &'v DeValue<'_>) -> Result<&'v str, Wrong> {
    let text = value.as_str().ok_or_else(Wrong::default)?;
    if text.trim().is_empty() {
        let mut wrong = Wrong::because("the text is empty");
        "leave the key out where there is nothing to say".clone_into(&mut wrong.help);
        return Err(wrong);
    }
    match text.chars().find(|letter| letter.is_control()) {
        Some(odd) => Err(Wrong::because(format!("the text holds {odd:?}"))),
        None => Ok(text),
    }
}

impl Value for bool {
    const TAKES: &'static str = "true or false";

    fn read(value: &DeValue<'_>) -> Result<bool, Wrong> {
        value.as_bool().ok_or_else(Wrong::default)
    }

    fn toml(&self) -> String {
        self.to_string()
    }

    fn plain(&self) -> String {
        if *self { "yes" } else { "no" }.to_owned()
    }
}

impl Value for u32 {
    const TAKES: &'static str = "a whole number";

    fn read(value: &DeValue<'_>) -> Result<u32, Wrong> {
        let number = whole(value)?;
        u32::try_from(number).map_err(|_| Wrong {
            help: format!("write a number from 0 to {}", u32::MAX),
            ..Wrong::because(if number < 0 {
                format!("{number} is below zero")
            } else {
                format!("{number} is more than Slurm counts")
            })
        })
    }

    fn toml(&self) -> String {
        self.to_string()
    }
}

/// A number with a fraction.
impl Value for f64 {
    const TAKES: &'static str = "a number";

    fn read(value: &DeValue<'_>) -> Result<f64, Wrong> {
        let number = match value {
            DeValue::Float(number) => number.as_str().replace('_', "").parse().ok(),
            value => u32::try_from(whole(value)?).ok().map(f64::from),
        };
        let fits = |number: &f64| number.is_finite() && *number >= 0.0;
        number
            .filter(fits)
            .ok_or_else(|| Wrong::because("it is below zero or no number"))
    }

    fn toml(&self) -> String {
        format!("{self:?}")
    }

    fn plain(&self) -> String {
        self.to_string()
    }
}

impl Value for String {
    const TAKES: &'static str = "text";

    fn read(value: &DeValue<'_>) -> Result<String, Wrong> {
        match value {
            DeValue::Integer(number) => Err(Wrong {
                help: format!("write \"{}\"", number.as_str()),
                ..Wrong::default()
            }),
            value => text(value).map(str::to_owned),
        }
    }

    fn toml(&self) -> String {
        quoted(self)
    }

    fn plain(&self) -> String {
        self.clone()
    }
}

impl Value for Vec<String> {
    const TAKES: &'static str = "a list of texts";

    fn read(value: &DeValue<'_>) -> Result<Vec<String>, Wrong> {
        let DeValue::Array(items) = value else {
            let mut wrong = Wrong::default();
            if let Some(text) = value.as_str() {
                wrong.help = format!("write [{}]", quoted(text));
            }
            return Err(wrong);
        };
        let mut texts = Vec::new();
        for item in items.iter() {
            let read = text(item.get_ref()).map_err(|wrong| Wrong {
                why: wrong
                    .why
                    .or_else(|| Some(format!("it holds {}", type_name(item.get_ref())))),
                item: Some(item.span()),
                help: wrong.help,
            })?;
            texts.push(read.to_owned());
        }
        Ok(texts)
    }

    fn toml(&self) -> String {
        let items: Vec<String> = self.iter().map(|item| quoted(item)).collect();
        format!("[{}]", items.join(", "))
    }

    fn plain(&self) -> String {
        self.join(", ")
    }
}

impl Value for SlurmVersion {
    const TAKES: &'static str = "a version of Slurm, such as \"22.05\"";

    fn read(value: &DeValue<'_>) -> Result<SlurmVersion, Wrong> {
        let text = text(value)?;
        text.parse()
            .map_err(|_| Wrong::because(format!("{text:?} is no version of Slurm")))
    }

    fn toml(&self) -> String {
        quoted(&self.to_string())
    }

    fn plain(&self) -> String {
        self.to_string()
    }
}
