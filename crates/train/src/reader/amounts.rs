//! Values with a unit: lengths of time and amounts of memory.

use super::{Raw, Reader, span};
use crate::amounts::{AmountProblem, mebibytes, seconds, time_limit};
use crate::keys::KeyRow;
use crate::{MemorySize, Resolved};
use model::{Seconds, TimeLimitRequest};
use std::ops::Range;
use toml::de::DeValue;

impl Reader<'_> {
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

    fn amount(&mut self, key: &str, span: Range<usize>, problem: AmountProblem) {
        let message = format!("{key}: {}", problem.message);
        self.complain(span, message, "", problem.help);
    }
}
