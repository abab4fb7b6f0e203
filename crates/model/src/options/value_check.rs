//! Values that are checked and not kept: what they ask for is the cluster's to do.
//!
//! The rules are those of 22.05.8's `proc_args.c`, `tres_bind.c`, `tres_frequency.c`,
//! `cpu_frequency.c`, `slurm_resource_info.c` and `slurm_acct_gather_profile.c`.

use crate::options::option_table::Command;
use crate::options::option_value::{Wrong, invalid};
use crate::values::number::leading;
use crate::values::{SlurmVersion, cpu_frequency};

/// `--acctg-freq`: `30`, `task=30,energy=10`; every word has a number.
pub(crate) fn accounting_frequency(text: &str) -> Result<(), Wrong> {
    const KINDS: [&str; 4] = ["energy=", "task=", "filesystem=", "network="];
    let number = |text: &str| leading(text).0.is_some_and(|number| number != -1);
    for word in text.split(',').filter(|word| !word.is_empty()) {
        let lower = word.to_ascii_lowercase();
        let named = |kind: &&str| {
            lower
                .split_once(*kind)
                .is_some_and(|(_, rest)| number(rest))
        };
        if !number(word) && !KINDS.iter().any(named) {
            return Err(invalid(format!(
                "Invalid --acctg-freq specification: {word}"
            )));
        }
    }
    Ok(())
}

/// `--cpu-freq=P1[-P2[:P3]]`.
pub(crate) fn cpu_frequency(text: &str) -> Result<(), Wrong> {
    let wrong = |what: String| invalid(format!("{what}\nInvalid --cpu-freq argument"));
    let (range, governor) = match text.split_once(':') {
        Some((range, governor)) => (range, Some(governor)),
        None => (text, None),
    };
    let (first, second) = match range.split_once('-') {
        Some((first, second)) => (first, Some(second)),
        None => (range, None),
    };
    let speed = |text: &str| {
        let unknown = || wrong(format!("unrecognized --cpu-freq argument \"{text}\""));
        cpu_frequency::speed(text).ok_or_else(unknown)
    };
    // Without a least frequency it counts as the greatest there is.
    let mut least = i64::MAX;
    match (cpu_frequency::governor(first).is_some(), governor) {
        (true, Some(governor)) => {
            let what =
                format!("governor cannot be specified twice {first}{{-}}:{governor} in --cpu-freq");
            return Err(wrong(what));
        }
        (true, None) => {}
        (false, _) => least = speed(first)?,
    }
    if let Some(second) = second
        && speed(second)? < least
    {
        let what = format!("min cpu-frec ({first}) must be < max cpu-freq ({second})");
        return Err(wrong(what));
    }
    match (governor, second) {
        (Some(governor), None) => Err(wrong(format!(
            "gov on cpu-frec ({governor}) illegal without max"
        ))),
        (Some(governor), Some(_)) if cpu_frequency::governor(governor).is_none() => {
            Err(wrong(format!("illegal governor: {governor} on --cpu-freq")))
        }
        _ => Ok(()),
    }
}

/// Whether a list of words for binding has `help` among them.
pub(crate) fn asks_for_help(text: &str) -> bool {
    text.split(',')
        .any(|word| word.eq_ignore_ascii_case("help"))
}

/// `--cpu-bind`; lists of numbers stand behind `map_cpu:` and its like.
pub(crate) fn cpu_bind(text: &str) -> Result<(), Wrong> {
    const WORDS: &[&str] = &[
        "help",
        "q",
        "quiet",
        "v",
        "verbose",
        "one_thread",
        "no",
        "none",
        "rank",
        "rank_ldom",
        "socket",
        "sockets",
        "core",
        "cores",
        "thread",
        "threads",
        "ldom",
        "ldoms",
    ];
    const LISTS: &[&str] = &[
        "map_cpu",
        "mapcpu",
        "mask_cpu",
        "maskcpu",
        "map_ldom",
        "mapldom",
        "mask_ldom",
        "maskldom",
    ];
    bind("cpu-bind", text, WORDS, LISTS).map_err(|Wrong(code, message, _)| {
        Wrong(
            code,
            format!("{message}\nFailed to parse --cpu-bind= values."),
            1,
        )
    })
}

/// `--mem-bind`.
///
/// 25.11 knows no sorting any more (`slurm_resource_info.c`).
pub(crate) fn memory_bind(text: &str, version: SlurmVersion) -> Result<(), Wrong> {
    const SORTING: &[&str] = &["nosort", "sort"];
    const WORDS: &[&str] = &[
        "help", "p", "prefer", "q", "quiet", "v", "verbose", "no", "none", "rank", "local",
    ];
    const LISTS: &[&str] = &["map_mem", "mapmem", "mask_mem", "maskmem"];
    let words = if version < SlurmVersion::V25_11 {
        [WORDS, SORTING].concat()
    } else {
        WORDS.to_vec()
    };
    bind("mem-bind", text, &words, LISTS)
}

/// Words and lists, parted by commas that no number follows.
fn bind(long: &str, text: &str, words: &[&str], lists: &[&str]) -> Result<(), Wrong> {
    let bytes = text.as_bytes();
    let mut from = 0;
    let ends = (0..bytes.len()).filter(|at| {
        let next = bytes.get(at + 1).copied().unwrap_or_default();
        bytes[*at] == b',' && !next.is_ascii_digit()
    });
    for end in ends.chain([bytes.len()]) {
        let word = &text[from..end];
        from = end + 1;
        let lower = word.to_ascii_lowercase();
        if words.contains(&lower.as_str()) {
            continue;
        }
        let Some(list) = lists.iter().find(|list| lower.starts_with(**list)) else {
            return Err(invalid(format!(
                "unrecognized --{long} argument \"{word}\""
            )));
        };
        let mut parts = word.splitn(3, [':', '=']).skip(1);
        if parts.next().is_none_or(str::is_empty) {
            return Err(invalid(format!(
                "missing list for \"--{long}={list}:<list>\""
            )));
        }
    }
    Ok(())
}

/// `--gpu-bind`, and 23.11's `--tres-bind`, where `gres/gpu:` stands before.
///
/// 22.05 looks at the first letter of `closest` and `none` alone, 23.02 at the whole words; 23.11
/// knows `map` and `mask` too (`tres_bind.c`).
pub(crate) fn gpu_bind(long: &str, text: &str, version: SlurmVersion) -> Result<(), Wrong> {
    let later = version >= SlurmVersion::V23_11;
    let bare = text.strip_prefix("gres/gpu:").unwrap_or(text);
    let lower = bare.to_ascii_lowercase();
    let lower = lower.strip_prefix("verbose,").unwrap_or(&lower);
    let mut offending = String::new();
    let mut numbers = |list: &str, hexadecimal: bool| {
        list.split(',').all(|number| {
            let digits = number
                .strip_prefix("0x")
                .filter(|_| hexadecimal)
                .unwrap_or(number);
            let known =
                |c: char| c.is_ascii_digit() || c == '*' || (hexadecimal && c.is_ascii_hexdigit());
            let odd = digits.chars().find(|c| !known(*c));
            if let Some(odd) = odd {
                offending = format!("Failed to validate {digits}, offending character is {odd}\n");
            }
            odd.is_none()
        })
    };
    let positive = |number: &str| leading(number).0.unwrap_or(0) >= 0;
    let known = match lower.split_once(':') {
        Some(("map_gpu", list)) => numbers(list, false),
        Some(("mask_gpu", list)) => numbers(list, true),
        Some(("map", list)) if later => numbers(list, false),
        Some(("mask", list)) if later => numbers(list, true),
        Some(("per_task" | "single", number)) => positive(number),
        _ if version < SlurmVersion::V23_02 => lower.starts_with(['c', 'n']),
        _ => lower.starts_with("closest") || lower.starts_with("none"),
    };
    if known {
        return Ok(());
    }
    let shown = if long == "gpu-bind" && !later {
        format!("gpu:{text}")
    } else {
        text.to_owned()
    };
    Err(invalid(format!(
        "{offending}Invalid --{long} argument: {shown}"
    )))
}

/// `--gpu-freq=[VALUE][,memory=VALUE][,verbose]`.
pub(crate) fn gpu_frequency(text: &str) -> Result<(), Wrong> {
    let value = |text: &str| match leading(text) {
        (Some(number), "") if text.starts_with(|c: char| c.is_ascii_digit()) => number < i64::MAX,
        _ => ["low", "medium", "high", "highm1"].contains(&text),
    };
    let known = |word: &str| match word.split_once('=') {
        Some((name, number)) => name == "memory" && value(number),
        None => word == "verbose" || value(word),
    };
    if !text.is_empty() && text.split(',').filter(|word| !word.is_empty()).all(known) {
        return Ok(());
    }
    Err(invalid(format!("Invalid --gpu-freq argument: gpu:{text}")))
}

/// `--gres-flags`: one word until 23.02, several and more of them since 23.11 (`slurm_opt.c`).
pub(crate) fn gres_flags(text: &str, version: SlurmVersion, command: Command) -> Result<(), Wrong> {
    const BINDING: [&str; 2] = ["disable-binding", "enforce-binding"];
    const SHARING: [&str; 2] = ["one-task-per-sharing", "multiple-tasks-per-sharing"];
    let lower = text.to_ascii_lowercase();
    if version < SlurmVersion::V23_11 {
        return if BINDING.contains(&lower.as_str()) {
            Ok(())
        } else {
            Err(invalid("Invalid --gres-flags specification".to_owned()))
        };
    }
    let has = |word: &&str| lower.split(',').any(|known| known == *word);
    for word in text.split(',').filter(|word| !word.is_empty()) {
        let known = word.to_ascii_lowercase();
        if known == "allow-task-sharing" {
            if command != Command::Srun {
                let message = "--gres-flags=allow-task-sharing is only used with srun.";
                return Err(invalid(message.to_owned()));
            }
        } else if !BINDING.iter().chain(&SHARING).any(|word| *word == known) {
            let message = format!("Invalid --gres-flags specification: {word}");
            return Err(invalid(message));
        }
    }
    for words in [BINDING, SHARING] {
        if words.iter().all(has) {
            let [one, other] = words;
            let message =
                format!("Invalid --gres-flags combo: {one} and {other} are mutually exclusive.");
            return Err(invalid(message));
        }
    }
    Ok(())
}

/// The words of `--hint`; the error is the first unknown one.
pub(crate) fn hint(text: &str) -> Result<(), &str> {
    const WORDS: &[&str] = &[
        "help",
        "compute_bound",
        "memory_bound",
        "multithread",
        "nomultithread",
    ];
    let known = |word: &&str| WORDS.iter().any(|known| known.eq_ignore_ascii_case(word));
    text.split(',')
        .find(|word| !known(word))
        .map_or(Ok(()), Err)
}

/// `--get-user-env[=SECONDS][S|L]`.
pub(crate) fn user_environment(text: &str) -> Option<()> {
    let mode = leading(text).1.chars().next();
    matches!(mode, None | Some('s' | 'S' | 'l' | 'L')).then_some(())
}

/// `--no-kill[=set|off]`.
pub(crate) fn no_kill(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "" | "set" => Some(true),
        "off" | "no" => Some(false),
        _ => None,
    }
}

/// `--send-libs[=yes|no]`.
pub(crate) fn send_libraries(text: &str) -> Option<()> {
    let lower = text.to_ascii_lowercase();
    matches!(lower.as_str(), "" | "yes" | "y" | "no" | "n").then_some(())
}

/// `--profile`: any text that holds one of its words.
pub(crate) fn profile(text: &str) -> Result<(), Wrong> {
    let lower = text.to_ascii_lowercase();
    let words = ["none", "all", "energy", "task", "lustre", "network"];
    if words.iter().any(|word| lower.contains(word)) {
        return Ok(());
    }
    Err(invalid(format!("invalid --profile={text} option")))
}

/// The least number of a range of `-B`: `2`, `2-4`, `1k`; `*` and nothing are any number. The error
/// is Slurm's sentence.
pub(crate) fn least_of_range(text: &str, name: &str) -> Result<Option<u32>, String> {
    if text.is_empty() || text.starts_with('*') {
        return Ok(None);
    }
    let wrong = || format!("Invalid numeric value \"{text}\" for {name}.");
    let part = |text| -> Result<(i64, &str), String> {
        let (number, rest) = leading(text);
        let number = number.unwrap_or(0);
        Ok(match rest.chars().next() {
            Some('k' | 'K') => (number.saturating_mul(1024), &rest[1..]),
            Some('m' | 'M') => (number.saturating_mul(1_048_576), &rest[1..]),
            _ => (number, rest),
        })
    };
    let (least, rest) = part(text)?;
    if !(rest.is_empty() || rest.starts_with('-')) || least < 0 {
        return Err(wrong());
    }
    if let Some(most) = rest.strip_prefix('-') {
        let (most, rest) = part(most)?;
        if !(rest.is_empty() || rest.starts_with('-')) || most <= 0 {
            return Err(wrong());
        }
    }
    u32::try_from(least)
        .map(Some)
        .map_err(|_| format!("Numeric argument ({least}) to big for {name}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T>(
        of: impl Fn(&'static str) -> T,
        good: &[&'static str],
        bad: &[&'static str],
        is_good: fn(&T) -> bool,
    ) {
        for text in good {
            assert!(is_good(&of(text)), "{text} is taken");
        }
        for text in bad {
            assert!(!is_good(&of(text)), "{text} is refused");
        }
    }

    #[test]
    fn values_that_slurm_takes_and_refuses() {
        check(
            accounting_frequency,
            &["30", "task=30,energy=10", ""],
            &["x", "task=x", "-1"],
            Result::is_ok,
        );
        check(
            cpu_frequency,
            &["high", "1000000", "low-high:performance", "Performance"],
            &["x", "high:performance", "low-high:x", "perf:perf", "0"],
            Result::is_ok,
        );
        check(
            cpu_bind,
            &["none", "verbose,cores", "map_cpu:0,1,2,v", "mask_cpu:0x1"],
            &["x", "map_cpu", "map_cpu:", ""],
            Result::is_ok,
        );
        check(
            |text| memory_bind(text, SlurmVersion::V22_05),
            &["local", "map_mem:0,1", "prefer,rank"],
            &["x", "mask_mem"],
            Result::is_ok,
        );
        check(
            |text| gpu_bind("gpu-bind", text, SlurmVersion::V22_05),
            &[
                "closest",
                "none",
                "verbose,single:1",
                "map_gpu:0,1",
                "mask_gpu:0x3,f",
                "per_task:2",
            ],
            &["x", "map_gpu:x", "single", ""],
            Result::is_ok,
        );
        check(
            gpu_frequency,
            &["high", "450,memory=low", "verbose"],
            &["", "x", "memory=x", "core=1"],
            Result::is_ok,
        );
        check(
            hint,
            &["nomultithread", "compute_bound,multithread"],
            &["x", ""],
            Result::is_ok,
        );
        check(profile, &["all", "Task,Energy"], &["x", ""], Result::is_ok);
        check(
            user_environment,
            &["", "10", "L", "10L"],
            &["x", "10X"],
            Option::is_some,
        );
        check(
            |text| gres_flags(text, SlurmVersion::V22_05, Command::Sbatch),
            &["disable-binding"],
            &["x", "one-task-per-sharing"],
            Result::is_ok,
        );
        check(
            |text| gres_flags(text, SlurmVersion::V24_05, Command::Sbatch),
            &["one-task-per-sharing,enforce-binding"],
            &["x", "allow-task-sharing", "enforce-binding,disable-binding"],
            Result::is_ok,
        );
        check(
            |text| least_of_range(text, "first arg of -B"),
            &["2", "2-4", "*", "", "1k"],
            &["x", "2-0", "-1"],
            Result::is_ok,
        );
    }
}
