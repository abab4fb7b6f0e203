//! Single values of a cluster file: how each is read and printed.

use super::section::Entry;
use super::sourced::Sourced;
use crate::{
    Seconds, SlurmVersion, TimeLimitRequest, mebibytes_option, node_list, parse_mebibytes,
};
use std::fmt;
use std::ops::Range;
use toml::de::DeValue;

/// A value that a key can take.
pub(super) trait Value: Sized + Clone + PartialEq {
    /// What a person is told to write.
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
    fn because(why: impl Into<String>) -> Wrong {
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

fn text<'v>(value: &'v DeValue<'_>) -> Result<&'v str, Wrong> {
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
        u32::try_from(number).map_err(|_| Wrong::because(format!("it is {number}")))
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
        text(value).map(str::to_owned)
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

impl Value for TimeLimitRequest {
    const TAKES: &'static str =
        "a time as Slurm takes it, \"24:00:00\", \"7-00:00:00\" or \"UNLIMITED\"";

    fn read(value: &DeValue<'_>) -> Result<TimeLimitRequest, Wrong> {
        let text = text(value)?;
        // A bare number of minutes is what people get wrong most; the file is read for years.
        match text.contains([':', '-']) || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => TimeLimitRequest::parse(text)
                .ok_or_else(|| Wrong::because(format!("{text:?} is no time"))),
            false => Err(Wrong::because(format!("{text:?} does not say of what"))),
        }
    }

    fn toml(&self) -> String {
        quoted(&self.to_string())
    }

    fn plain(&self) -> String {
        match self {
            TimeLimitRequest::Unlimited => "no limit".to_owned(),
            TimeLimitRequest::Limit(limit) => plain_length(*limit),
        }
    }
}

/// `8 h`, `7 d`, `30 min`; what is uneven as Slurm writes it.
fn plain_length(length: Seconds) -> String {
    match length.0 {
        0 => "0 s".to_owned(),
        seconds if seconds % 86_400 == 0 && seconds > 86_400 => format!("{} d", seconds / 86_400),
        seconds if seconds % 3600 == 0 => format!("{} h", seconds / 3600),
        seconds if seconds % 60 == 0 && seconds < 3600 => format!("{} min", seconds / 60),
        seconds if seconds < 60 => format!("{seconds} s"),
        seconds => TimeLimitRequest::Limit(Seconds(seconds)).to_string(),
    }
}

impl Value for Seconds {
    const TAKES: &'static str = "a length of time as Slurm writes it, such as \"00:02:00\"";

    fn read(value: &DeValue<'_>) -> Result<Seconds, Wrong> {
        let text = text(value)?;
        let wrong = || Wrong::because(format!("{text:?} is no length of time"));
        if !text.contains(':') && !text.contains('-') {
            return Err(wrong());
        }
        match TimeLimitRequest::parse(text).ok_or_else(wrong)? {
            TimeLimitRequest::Limit(length) => Ok(length),
            TimeLimitRequest::Unlimited if text.bytes().any(|byte| byte == b'0') => Ok(Seconds(0)),
            TimeLimitRequest::Unlimited => Err(wrong()),
        }
    }

    fn toml(&self) -> String {
        quoted(&TimeLimitRequest::Limit(*self).to_string())
    }

    fn plain(&self) -> String {
        plain_length(*self)
    }
}

/// An amount of memory in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mib(pub u64);

impl Mib {
    fn parse(text: &str) -> Result<Mib, Wrong> {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let mut wrong = Wrong::because(format!("{text} has no unit"));
            wrong.help = format!("write \"{text}M\" or \"{text}G\"");
            return Err(wrong);
        }
        let size = parse_mebibytes(text);
        size.map(Mib)
            .ok_or_else(|| Wrong::because(format!("{text:?} is no amount of memory")))
    }
}

impl fmt::Display for Mib {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0M"),
            size => f.write_str(&mebibytes_option(size)),
        }
    }
}

impl Value for Mib {
    const TAKES: &'static str = "an amount of memory with its unit, such as \"188G\"";

    fn read(value: &DeValue<'_>) -> Result<Mib, Wrong> {
        Mib::parse(text(value)?)
    }

    fn toml(&self) -> String {
        quoted(&self.to_string())
    }

    fn plain(&self) -> String {
        self.to_string()
    }
}

/// At least and at most: `6` or `5-6`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds<T> {
    /// At least.
    pub least: T,
    /// At most; what is taken where a choice is free.
    pub most: T,
}

impl<T: PartialOrd> Bounds<T> {
    /// Whether a value lies within.
    pub fn holds(&self, value: &T) -> bool {
        *value >= self.least && *value <= self.most
    }
}

impl<T: PartialEq + fmt::Display> fmt::Display for Bounds<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.least == self.most {
            true => self.most.fmt(f),
            false => write!(f, "{}-{}", self.least, self.most),
        }
    }
}

fn bounds<T: PartialOrd + Copy>(
    text: &str,
    one: impl Fn(&str) -> Result<T, Wrong>,
) -> Result<Bounds<T>, Wrong> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    let (least, most) = (one(least.trim())?, one(most.trim())?);
    match least <= most {
        true => Ok(Bounds { least, most }),
        false => Err(Wrong::because(format!("{text:?} begins above its end"))),
    }
}

impl Value for Bounds<u32> {
    const TAKES: &'static str = "a whole number, or \"5-6\"";

    fn read(value: &DeValue<'_>) -> Result<Bounds<u32>, Wrong> {
        if value.as_str().is_none() {
            let number = u32::read(value)?;
            return Ok(Bounds {
                least: number,
                most: number,
            });
        }
        let text = text(value)?;
        let one = |part: &str| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let number = part.parse().ok().filter(|_| digits);
            number.ok_or_else(|| Wrong::because(format!("{text:?} is no number and no range")))
        };
        bounds(text, one)
    }

    fn toml(&self) -> String {
        match self.least == self.most {
            true => self.most.to_string(),
            false => quoted(&self.to_string()),
        }
    }

    fn plain(&self) -> String {
        self.to_string()
    }
}

impl Value for Bounds<Mib> {
    const TAKES: &'static str = "an amount of memory, or \"64G-90G\"";

    fn read(value: &DeValue<'_>) -> Result<Bounds<Mib>, Wrong> {
        bounds(text(value)?, Mib::parse)
    }

    fn toml(&self) -> String {
        quoted(&self.to_string())
    }

    fn plain(&self) -> String {
        self.to_string()
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

/// Trackable resources with amounts, in Slurm's own text: `cpu=4,mem=10G,node=2,gres/gpu:v100=8`.
/// Memory is in MiB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tres(pub Vec<(String, u64)>);

impl Tres {
    /// Reads Slurm's text; the error names the part that can't be read. Nothing is no limit.
    pub fn parse(text: &str) -> Result<Tres, String> {
        let mut amounts: Vec<(String, u64)> = Vec::new();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let wrong = || part.to_owned();
            let (name, amount) = part.split_once('=').ok_or_else(wrong)?;
            let name = name.to_ascii_lowercase();
            let amount = match name.as_str() {
                "mem" => parse_mebibytes(amount),
                _ => amount.parse().ok(),
            };
            let known = |name: &str| {
                ["cpu", "mem", "node", "billing", "energy", "vmem"].contains(&name)
                    || ["gres/", "license/", "bb/", "fs/", "ic/"]
                        .iter()
                        .any(|kind| name.len() > kind.len() && name.starts_with(kind))
            };
            if !known(&name) || amounts.iter().any(|(known, _)| *known == name) {
                return Err(wrong());
            }
            amounts.push((name, amount.ok_or_else(wrong)?));
        }
        match amounts.is_empty() {
            true => Err(text.to_owned()),
            false => Ok(Tres(amounts)),
        }
    }

    /// The amount of one resource; `mem` in MiB.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, amount)| *amount)
    }
}

impl fmt::Display for Tres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.0.iter().map(|(name, amount)| match name.as_str() {
            "mem" => format!("mem={}", Mib(*amount)),
            name => format!("{name}={amount}"),
        });
        f.write_str(&parts.collect::<Vec<_>>().join(","))
    }
}

impl Value for Tres {
    const TAKES: &'static str = "resources as Slurm writes them, such as \"node=2,gres/gpu=8\"";

    fn read(value: &DeValue<'_>) -> Result<Tres, Wrong> {
        Tres::parse(text(value)?)
            .map_err(|part| Wrong::because(format!("{part:?} is no resource with an amount")))
    }

    fn toml(&self) -> String {
        quoted(&self.to_string())
    }

    fn plain(&self) -> String {
        self.to_string()
    }
}

/// Which nodes a partition has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionNodes {
    /// `"ALL"`
    All,
    /// A node list, such as `"node[1-3]"`.
    List(String),
    /// Groups of nodes by their names in the file, such as `["v100", "a100"]`.
    Groups(Vec<String>),
}

impl Value for PartitionNodes {
    const TAKES: &'static str =
        "a node list such as \"node[1-3]\", \"ALL\", or a list of [nodes.…] names";

    fn read(value: &DeValue<'_>) -> Result<PartitionNodes, Wrong> {
        if matches!(value, DeValue::Array(_)) {
            return Vec::<String>::read(value).map(PartitionNodes::Groups);
        }
        let text = text(value)?;
        if text.eq_ignore_ascii_case("all") {
            return Ok(PartitionNodes::All);
        }
        node_list::expand(text).map_err(|error| Wrong::because(error.to_string()))?;
        Ok(PartitionNodes::List(text.to_owned()))
    }

    fn toml(&self) -> String {
        match self {
            PartitionNodes::All => "\"ALL\"".to_owned(),
            PartitionNodes::List(list) => quoted(list),
            PartitionNodes::Groups(groups) => groups.toml(),
        }
    }

    fn plain(&self) -> String {
        match self {
            PartitionNodes::All => "all".to_owned(),
            PartitionNodes::List(list) => list.clone(),
            PartitionNodes::Groups(groups) => groups.plain(),
        }
    }
}
