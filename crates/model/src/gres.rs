//! GPUs by `--gpus`, `--gpus-per-node`, `--gpus-per-task` and `--gres`.

use crate::GpuCount;
use crate::number::leading;
use std::fmt;

impl GpuCount {
    /// Reads `[TYPE:]NUMBER`, as `--gpus` and its kin take it. Several types become one number of
    /// any type: one machine's GPUs are told apart by their type only where one is named.
    #[must_use]
    pub fn parse(text: &str) -> Option<GpuCount> {
        let parts: Vec<GpuCount> = text.split(',').map(one).collect::<Option<_>>()?;
        merge(parts)
    }

    /// Reads `--gres`: `gpu`, `gpu:2`, `gpu:v100`, `gpu:v100:2`, several with commas, `none`.
    /// `Ok(None)` asks for nothing; the error names a resource that is no GPU.
    pub fn parse_gres(text: &str) -> Result<Option<GpuCount>, String> {
        let mut parts = Vec::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            if part.eq_ignore_ascii_case("none") {
                continue;
            }
            let part = part
                .strip_prefix("gres:")
                .or(part.strip_prefix("gres/"))
                .unwrap_or(part);
            match part.split_once(':') {
                None if part == "gpu" => parts.push(GpuCount {
                    kind: None,
                    count: 1,
                }),
                Some(("gpu", rest)) => parts.push(one(rest).ok_or_else(|| part.to_owned())?),
                _ => return Err(part.to_owned()),
            }
        }
        Ok(merge(parts))
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

/// `2`, `v100`, `v100:2`, `2K`; what follows in brackets (`(S:0)`) binds to sockets.
fn one(text: &str) -> Option<GpuCount> {
    let text = text.split('(').next().unwrap_or(text);
    let (kind, number) = match text.rsplit_once([':', '=']) {
        Some((kind, number)) => (Some(kind.to_owned()), number),
        None => (None, text),
    };
    match (kind, count(number)) {
        (kind, Some(count)) => Some(GpuCount { kind, count }),
        // `--gres=gpu:-1` is one GPU to Slurm, of a type called `-1`.
        (None, None) if !number.is_empty() => Some(GpuCount {
            kind: Some(number.to_owned()),
            count: 1,
        }),
        _ => None,
    }
}

fn count(text: &str) -> Option<u32> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (number, rest) = leading(text);
    let factor = match rest {
        "" => 1,
        "k" | "K" => 1024,
        "m" | "M" => 1_048_576,
        _ => return None,
    };
    u32::try_from(number?.checked_mul(factor)?).ok()
}

fn merge(parts: Vec<GpuCount>) -> Option<GpuCount> {
    let count = parts
        .iter()
        .try_fold(0_u32, |sum, part| sum.checked_add(part.count))?;
    let first = parts.first()?.kind.clone();
    let same = parts.iter().all(|part| part.kind == first);
    Some(GpuCount {
        kind: first.filter(|_| same),
        count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, printed: &str) {
        let read = GpuCount::parse(text).map(|count| count.to_string());
        assert_eq!(read.as_deref().unwrap_or("invalid"), printed);
    }

    #[track_caller]
    fn check_gres(text: &str, printed: &str) {
        let read = match GpuCount::parse_gres(text) {
            Ok(Some(count)) => count.to_string(),
            Ok(None) => "nothing".to_owned(),
            Err(other) => format!("not a GPU: {other}"),
        };
        assert_eq!(read, printed);
    }

    #[test]
    fn gpus() {
        check("2", "2");
        check("v100:2", "v100:2");
        check("v100:2,a100:1", "3");
        check("a100", "a100:1");
        check("", "invalid");
        check("v100:x", "invalid");
    }

    #[test]
    fn gres() {
        check_gres("gpu", "1");
        check_gres("gpu:0", "0");
        check_gres("gpu:a100", "a100:1");
        check_gres("gpu:v100:2", "v100:2");
        check_gres("gpu:2(S:0-1)", "2");
        check_gres("none", "nothing");
        check_gres("fpga:1", "not a GPU: fpga:1");
    }
}
