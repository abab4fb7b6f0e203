//! The words of `--cpu-freq`: names of governors and of speeds, which may be shortened.
//!
//! `_cpu_freq_check_gov` and `_cpu_freq_check_freq` of 22.05.8's `cpu_frequency.c`.

use crate::values::number::leading;

/// Of each governor the least that names it, and its name in Slurm's words.
const GOVERNORS: [(&str, &str); 6] = [
    ("co", "Conservative"),
    ("perf", "Performance"),
    ("pow", "PowerSave"),
    ("user", "UserSpace"),
    ("onde", "OnDemand"),
    ("sche", "SchedUtil"),
];

/// Of each speed the least that names it, its name in Slurm's words, and its place among them.
const SPEEDS: [(&str, &str, i64); 5] = [
    ("lo", "Low", 1),
    ("med", "Medium", 2),
    ("him1", "Highm1", 4),
    ("highm1", "Highm1", 4),
    ("hi", "High", 3),
];

fn begins(text: &str, start: &str) -> bool {
    let first = text.as_bytes().get(..start.len());
    first.is_some_and(|first| first.eq_ignore_ascii_case(start.as_bytes()))
}

/// The governor that a word names.
pub(crate) fn governor(text: &str) -> Option<&'static str> {
    let found = GOVERNORS.iter().find(|(start, _)| begins(text, start));
    found.map(|(_, name)| *name)
}

/// What a frequency counts: a number of kHz, or a word, which Slurm holds above every number.
pub(crate) fn speed(text: &str) -> Option<i64> {
    match SPEEDS.iter().find(|(start, ..)| begins(text, start)) {
        Some((.., place)) => Some(i64::from(u32::MAX) + place),
        None => leading(text).0.filter(|number| *number != 0),
    }
}

/// A governor or a frequency in Slurm's words, a number without what follows it.
pub(crate) fn word(text: &str) -> String {
    let speed = || SPEEDS.iter().find(|(start, ..)| begins(text, start));
    match governor(text).or_else(|| speed().map(|(_, name, _)| *name)) {
        Some(name) => name.to_owned(),
        None => leading(text)
            .0
            .map_or_else(|| text.to_owned(), |number| number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_as_slurm_completes_them() {
        for (text, want) in [
            ("co", "Conservative"),
            ("PERF", "Performance"),
            ("powersave", "PowerSave"),
            ("userland", "UserSpace"),
            ("ondemand", "OnDemand"),
            ("schedutil", "SchedUtil"),
            ("lo", "Low"),
            ("medium", "Medium"),
            ("him1", "Highm1"),
            ("highM1", "Highm1"),
            ("high", "High"),
            ("2400000", "2400000"),
            ("2400000kHz", "2400000"),
        ] {
            assert_eq!(word(text), want);
        }
        assert_eq!([governor("low"), governor("per")], [None, None]);
        assert!(speed("low") < speed("med") && speed("hi") < speed("him1"));
        assert_eq!([speed("0"), speed("x"), speed("7")], [None, None, Some(7)]);
    }
}
