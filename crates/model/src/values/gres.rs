//! Generic resources: what `--gres` and `--gpus` and its kin take, kept as it was written.

use crate::values::GpuCount;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A list of generic resources as it was asked for, such as `gpu:v100:2,gpu:a100:1`. It prints as
/// Slurm's records have it, with `gres:` before each.
///
/// The list may hold what no Slurm takes: [`GresList::items`] tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GresList {
    /// Each item as written, without `gres:`.
    written: Vec<String>,
}

/// One resource of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GresItem {
    /// `gpu`
    pub name: String,
    /// The type, such as `v100`.
    pub kind: Option<String>,
    /// How many; never 0, since an item of none is left out.
    pub count: u64,
}

/// An item that is no resource: `gpu:`, `gpu::2`, `gpu:v100:x`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no generic resource: write NAME[:TYPE][:COUNT]")]
pub struct NoGres(pub String);

impl GresList {
    /// Reads `--gres`. `None` stands for `none`.
    #[must_use]
    pub fn of_gres(text: &str) -> Option<GresList> {
        if text.eq_ignore_ascii_case("none") {
            return None;
        }
        let bare = |item: &str| item.strip_prefix("gres:").unwrap_or(item).to_owned();
        let items = text.split(',').map(bare);
        Some(GresList {
            written: items.filter(|item| !item.is_empty()).collect(),
        })
    }

    /// Reads `--gpus`, `--gpus-per-node`, `--gpus-per-socket` or `--gpus-per-task`:
    /// `[TYPE:]COUNT`, several with commas.
    #[must_use]
    pub fn of_gpus(text: &str) -> GresList {
        let items = text.split(',').filter(|item| !item.is_empty());
        GresList {
            written: items.map(|item| format!("gpu:{item}")).collect(),
        }
    }

    /// GPUs as they were asked for: `v100:2`.
    pub(crate) fn gpus_as_written(&self) -> String {
        let bare = |item: &String| item.strip_prefix("gpu:").unwrap_or(item).to_owned();
        self.written.iter().map(bare).collect::<Vec<_>>().join(",")
    }

    /// True where nothing is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.written.is_empty()
    }

    /// Puts another list behind this one.
    pub fn extend(&mut self, other: &GresList) {
        self.written.extend(other.written.iter().cloned());
    }

    /// What the items ask for; those that ask for none are left out. Errors for an item that Slurm
    /// calls an invalid generic resource specification.
    pub fn items(&self) -> Result<Vec<GresItem>, NoGres> {
        let mut items = Vec::new();
        for written in &self.written {
            let item = item(written).ok_or_else(|| NoGres(written.clone()))?;
            if item.count > 0 {
                items.push(item);
            }
        }
        Ok(items)
    }

    /// Whether an item has a type where early controllers look for a count, since it begins with a
    /// digit, such as `gpu:3g.20gb` or `gpu:1.5` (`valid_tres_cnt` of 22.05's `job_mgr.c`).
    pub(crate) fn has_digit_for_count(&self) -> bool {
        let unreadable = |item: &String| {
            let last = item.rsplit(':').next().unwrap_or_default();
            last.starts_with(|c: char| c.is_ascii_digit()) && count(last).is_none()
        };
        self.written.iter().any(unreadable)
    }

    /// The GPUs of a list: `None` where there are none. Of several types it is their sum, of any
    /// type; [`GresList::has_several_kinds`] tells.
    #[must_use]
    pub fn gpus(&self) -> Option<GpuCount> {
        let gpus = self.gpu_items();
        let first = gpus.first()?;
        let sum = gpus
            .iter()
            .fold(0_u64, |sum, item| sum.saturating_add(item.count));
        Some(GpuCount {
            kind: first.kind.clone().filter(|_| !self.has_several_kinds()),
            count: u32::try_from(sum).unwrap_or(u32::MAX),
        })
    }

    /// True where GPUs of more than one type are asked for.
    #[must_use]
    pub fn has_several_kinds(&self) -> bool {
        let gpus = self.gpu_items();
        gpus.windows(2).any(|pair| pair[0].kind != pair[1].kind)
    }

    fn gpu_items(&self) -> Vec<GresItem> {
        let mut items = self.items().unwrap_or_default();
        items.retain(|item| item.name == "gpu");
        items
    }
}

impl fmt::Display for GresList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, item) in self.written.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}gres:{item}")?;
        }
        Ok(())
    }
}

impl fmt::Display for GpuCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Some(kind) => write!(f, "{kind}:{}", self.count),
            None => self.count.fmt(f),
        }
    }
}

impl GpuCount {
    /// Reads `[TYPE:]NUMBER`, as `--gpus` and its kin take it. Several types become one number of
    /// any type; zero is kept.
    #[must_use]
    pub fn parse(text: &str) -> Option<GpuCount> {
        let list = GresList::of_gpus(text);
        if list.is_empty() {
            return None;
        }
        list.items().ok()?;
        let none = GpuCount {
            kind: None,
            count: 0,
        };
        Some(list.gpus().unwrap_or(none))
    }
}

/// `NAME`, `NAME:TYPE`, `NAME:COUNT`, `NAME:TYPE:COUNT`.
fn item(written: &str) -> Option<GresItem> {
    let (name, rest) = match written.split_once(':') {
        Some((name, rest)) => (name, Some(rest)),
        None => (written, None),
    };
    let (kind, count) = match rest {
        None => (None, 1),
        Some("") => return None,
        Some(rest) => match rest.split_once(':') {
            Some(("", _) | (_, "")) => return None,
            Some((kind, number)) => (Some(kind), count(number)?),
            None => match count(rest) {
                Some(count) => (None, count),
                // What is no number is a type, `-1` among them.
                None => (Some(rest), 1),
            },
        },
    };
    Some(GresItem {
        name: name.to_owned(),
        kind: kind.map(str::to_owned),
        count,
    })
}

/// A number as `strtoull` reads it, with a unit behind it. The greatest number of all is none, and
/// `-1` is that one.
fn count(text: &str) -> Option<u64> {
    let (number, unit) = leading_unsigned(text);
    let number = number.filter(|number| *number != u64::MAX)?;
    let unit = unit.to_ascii_lowercase();
    let (base, letter) = match unit.strip_suffix("ib") {
        Some(letter) => (1024, letter),
        None => match unit.strip_suffix('b') {
            Some(letter) => (1000, letter),
            None => (1024, unit.as_str()),
        },
    };
    let power = match letter {
        "" if unit.is_empty() => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    Some(number.wrapping_mul(u64::pow(base, power)))
}

/// `strtoull`: no digits are 0, a minus wraps around.
fn leading_unsigned(text: &str) -> (Option<u64>, &str) {
    let start = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let (negative, digits) = match start.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, start.strip_prefix('+').unwrap_or(start)),
    };
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    if end == 0 {
        return (Some(0), text);
    }
    let number = digits[..end].parse::<u64>().ok();
    let number = number.map(|number| {
        if negative {
            number.wrapping_neg()
        } else {
            number
        }
    });
    (number, &digits[end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    #[track_caller]
    fn check(list: &GresList, want: Expect) {
        let items = match list.items() {
            Ok(items) => items
                .iter()
                .map(|item| {
                    let kind = item.kind.as_deref().unwrap_or("-");
                    format!("{} {kind} {}", item.name, item.count)
                })
                .collect::<Vec<_>>()
                .join(", "),
            Err(error) => error.to_string(),
        };
        let gpus = list.gpus().map(|gpus| gpus.to_string());
        want.assert_eq(&format!("{list} | {items} | {gpus:?}"));
    }

    #[test]
    fn gpus() {
        let list = GresList::of_gpus;
        check(&list("2"), expect![[r#"gres:gpu:2 | gpu - 2 | Some("2")"#]]);
        check(
            &list("v100:2,a100:1"),
            expect![[r#"gres:gpu:v100:2,gres:gpu:a100:1 | gpu v100 2, gpu a100 1 | Some("3")"#]],
        );
        check(
            &list("a100"),
            expect![[r#"gres:gpu:a100 | gpu a100 1 | Some("a100:1")"#]],
        );
        check(&list(""), expect![" |  | None"]);
        check(
            &list("v100:x"),
            expect![[
                r#"gres:gpu:v100:x | "gpu:v100:x" is no generic resource: write NAME[:TYPE][:COUNT] | None"#
            ]],
        );
        check(&list("0"), expect!["gres:gpu:0 |  | None"]);
        check(
            &list("1K"),
            expect![[r#"gres:gpu:1K | gpu - 1024 | Some("1024")"#]],
        );
    }

    #[test]
    fn gres() {
        let list = |text| GresList::of_gres(text).unwrap_or_default();
        check(&list("gpu"), expect![[r#"gres:gpu | gpu - 1 | Some("1")"#]]);
        check(
            &list("gpu:-1"),
            expect![[r#"gres:gpu:-1 | gpu -1 1 | Some("-1:1")"#]],
        );
        check(
            &list("gres:gpu:v100:2,lscratch:10G"),
            expect![[
                r#"gres:gpu:v100:2,gres:lscratch:10G | gpu v100 2, lscratch - 10737418240 | Some("v100:2")"#
            ]],
        );
        check(
            &list("gpu:2(S:0-1)"),
            expect![[
                r#"gres:gpu:2(S:0-1) | "gpu:2(S:0-1)" is no generic resource: write NAME[:TYPE][:COUNT] | None"#
            ]],
        );
        assert_eq!(GresList::of_gres("NONE"), None);
    }

    proptest! {
        #[test]
        fn print_then_parse(text in "[a-z]{1,3}(:[a-z0-9-]{0,4}){0,3}(,[a-z:0-9]{0,8}){0,3}") {
            if let Some(list) = GresList::of_gres(&text) {
                prop_assert_eq!(GresList::of_gres(&list.to_string()), Some(list));
            }
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = GresList::of_gpus(&text).gpus();
        }
    }
}
