//! Amounts of a cluster file: memory, ranges, trackable resources.

use super::value::{Value, Wrong, quoted, text};
use model::{mebibytes_option, parse_mebibytes};
use std::fmt;
use toml::de::DeValue;

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
        if self.least == self.most {
            self.most.fmt(f)
        } else {
            write!(f, "{}-{}", self.least, self.most)
        }
    }
}

fn bounds<T: PartialOrd + Copy>(
    text: &str,
    one: impl Fn(&str) -> Result<T, Wrong>,
) -> Result<Bounds<T>, Wrong> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    let (least, most) = (one(least.trim())?, one(most.trim())?);
    if least <= most {
        Ok(Bounds { least, most })
    } else {
        Err(Wrong::because(format!("{text:?} begins above its end")))
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
        if self.least == self.most {
            self.most.to_string()
        } else {
            quoted(&self.to_string())
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

/// So many times an amount, in whole numbers; a factor of 0 or less changes nothing.
#[must_use]
pub fn times(amount: u64, factor: f64) -> u64 {
    if factor > 0.0 {
        #[expect(
            clippy::cast_sign_loss,
            reason = "neither is below 0; what is too large becomes the greatest number"
        )]
        let times = (amount as f64 * factor) as u64;
        times
    } else {
        amount
    }
}

/// Trackable resources with amounts, in Slurm's own text: `cpu=4,mem=10G,node=2,gres/gpu:v100=8`.
/// Memory is in MiB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tres(pub Vec<(String, u64)>);

impl Tres {
    /// So many times as much, as Slurm makes of limits on TRES (`LimitFactor`).
    #[must_use]
    pub fn times(mut self, factor: f64) -> Tres {
        for (_, amount) in &mut self.0 {
            *amount = times(*amount, factor);
        }
        self
    }

    /// Those that count where others go before them: each resource is limited by the first that limits it
    /// (`_validate_tres_usage_limits` of 22.05).
    pub fn but_for<'a, 'b>(
        &'a self,
        before: impl Iterator<Item = &'b Tres> + Clone,
    ) -> impl Iterator<Item = (&'a str, u64)> {
        let all = self.0.iter().map(|(name, amount)| (name.as_str(), *amount));
        all.filter(move |(name, _)| before.clone().all(|tres| tres.get(name).is_none()))
    }

    /// In the order in which Slurm looks at them: that of its own, then as they are named.
    #[must_use]
    pub fn in_order(mut self) -> Tres {
        const OWN: [&str; 8] = [
            "cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages",
        ];
        let place = |name: &str| OWN.iter().position(|own| *own == name).unwrap_or(OWN.len());
        self.0.sort_by_key(|(name, _)| place(name));
        self
    }

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
        if amounts.is_empty() {
            Err(text.to_owned())
        } else {
            Ok(Tres(amounts))
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
