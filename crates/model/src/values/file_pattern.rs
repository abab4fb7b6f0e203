//! File names with `%` codes: `--output`, `--error`, `--input`.
//!
//! Read as Slurm 22.05.8 reads them (`fname.c`, and seen): unknown codes stay as they are (`%b`,
//! `%r`, which later versions know, among them), and a backslash anywhere switches all codes off.

use crate::values::{JobId, StepId};
use std::path::{Path, PathBuf};

/// `%a` of a job that is no array's, and `%A_%a` with it: Slurm's "no value".
const NO_VALUE: u32 = 0xffff_fffe;

/// Longest number that a width makes.
const WIDEST: usize = 10;

/// What the codes stand for.
#[derive(Clone, Copy, Debug)]
pub struct PatternContext<'a> {
    /// `%j`, and `%A` outside of arrays.
    pub job: JobId,
    /// `%A` and `%a` of an array's element.
    pub array: Option<(JobId, u32)>,
    /// `%s`, and `%J` with the job.
    pub step: StepId,
    /// `%N`: the node's short name.
    pub node: &'a str,
    /// `%n`: the node's index in the job or step.
    pub node_index: u32,
    /// `%t`: the task's rank.
    pub task: u32,
    /// `%u`
    pub user: &'a str,
    /// `%x`
    pub job_name: &'a str,
}

/// Fills in the codes of `pattern`; a relative result lies under `chdir`.
#[must_use]
pub fn file_path(pattern: &str, context: &PatternContext<'_>, chdir: &Path) -> PathBuf {
    chdir.join(file_name(pattern, context))
}

/// Fills in the codes of `pattern`.
#[must_use]
pub fn file_name(pattern: &str, context: &PatternContext<'_>) -> String {
    if pattern.contains('\\') {
        return without_escapes(pattern);
    }
    let mut name = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('%') {
        name.push_str(before);
        if let Some(tail) = after.strip_prefix('%') {
            name.push('%');
            rest = tail;
            continue;
        }
        let end = after
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(after.len());
        let width = after[..end].parse().unwrap_or(WIDEST).min(WIDEST);
        let width = if end == 0 { 0 } else { width };
        let code = after[end..].chars().next();
        match code.and_then(|code| value(code, width, context)) {
            Some(value) => {
                name.push_str(&value);
                rest = &after[end + 1..];
            }
            // Slurm forgets the `%` of an unknown code with a width, and all but its last digit.
            None if end > 0 => rest = &after[end - 1..],
            None => {
                name.push('%');
                rest = after;
            }
        }
    }
    name.push_str(rest);
    name
}

/// True when the files of different tasks or nodes have different names.
#[must_use]
pub fn differs_between_tasks(pattern: &str) -> bool {
    let with = |task, node: &str, node_index| {
        let context = PatternContext {
            job: JobId(1),
            array: None,
            step: StepId::Number(0),
            node,
            node_index,
            task,
            user: "",
            job_name: "",
        };
        file_name(pattern, &context)
    };
    with(0, "a", 0) != with(1, "b", 1)
}

fn value(code: char, width: usize, context: &PatternContext<'_>) -> Option<String> {
    let number = |value: u32| format!("{value:0width$}");
    Some(match code {
        'a' => number(context.array.map_or(NO_VALUE, |(_, task)| task)),
        'A' => number(context.array.map_or(context.job, |(job, _)| job).0),
        'j' => number(context.job.0),
        'J' => match context.step {
            StepId::Batch => number(context.job.0),
            StepId::Number(step) => format!("{}.{step}", number(context.job.0)),
        },
        'n' => number(context.node_index),
        'N' => context.node.to_owned(),
        's' => match context.step {
            StepId::Batch => "batch".to_owned(),
            StepId::Number(step) => number(step),
        },
        't' => number(context.task),
        'u' => context.user.to_owned(),
        'x' => context.job_name.to_owned(),
        _ => return None,
    })
}

/// Takes one backslash away from each run of them: `\%j` is `%j`, `\\` is `\`.
fn without_escapes(pattern: &str) -> String {
    let mut name = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => name.extend(characters.next()),
            _ => name.push(character),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: PatternContext<'_> = PatternContext {
        job: JobId(42),
        array: None,
        step: StepId::Batch,
        node: "node1",
        node_index: 0,
        task: 0,
        user: "dave",
        job_name: "nm",
    };

    #[track_caller]
    fn check(context: &PatternContext<'_>, pattern: &str, name: &str) {
        assert_eq!(file_name(pattern, context), name);
    }

    #[test]
    fn codes_of_an_array_element() {
        let element = PatternContext {
            job: JobId(45),
            array: Some((JobId(42), 3)),
            ..BATCH
        };
        check(&element, "%A_%a %3a %j", "42_3 003 45");
    }

    #[test]
    fn codes_of_a_task() {
        let task = PatternContext {
            step: StepId::Number(7),
            node_index: 1,
            task: 12,
            ..BATCH
        };
        check(&task, "%J.%s.%3t.%n.%N", "42.7.7.012.1.node1");
        assert!(differs_between_tasks("%t"));
        assert!(differs_between_tasks("%N"));
        assert!(!differs_between_tasks("%j.%%t"));
    }

    #[test]
    fn unknown_codes_and_odd_widths() {
        check(&BATCH, "%4h|%12h|%h|%4|%", "4h|2h|%h|4|%");
        check(&BATCH, "%99j", "0000000042");
        check(&BATCH, "%%j%%%j", "%j%42");
    }

    #[test]
    fn a_backslash_switches_codes_off() {
        check(&BATCH, r"a\%j%j", "a%j%j");
        check(&BATCH, r"a\\%j", r"a\%j");
    }

    #[test]
    fn relative_names_lie_in_the_working_directory() {
        let path = |pattern| file_path(pattern, &BATCH, Path::new("/work"));
        assert_eq!(path("a/%j"), Path::new("/work/a/42"));
        assert_eq!(path("/a/%j"), Path::new("/a/42"));
    }
}
