//! The lines of a batch script, each as `sbatch` sees it.

use crate::scripts::script::{DIRECTIVE, FOREIGN, OLD_DIRECTIVE, is_separator};
use crate::values::nearest;

/// What `sbatch` makes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// The first line, with `#!`.
    Interpreter,
    /// `#SBATCH …` before the first command: read.
    Directive,
    /// `#SLURM …` before the first command: read, with a complaint.
    OldDirective,
    /// `#SBATCH hetjob` or `packjob` before the first command: what follows is of the next component
    /// of a heterogeneous job.
    Separator,
    /// `#PBS …` or `#BSUB …`: 22.05 translates it.
    Foreign,
    /// A comment that is perhaps a directive: not read.
    NearMiss(NearMiss),
    /// Any other comment before the first command.
    Comment,
    /// Nothing but blanks before the first command.
    Blank,
    /// The first line that is neither blank nor a comment, and all behind it.
    Body,
    /// `#SBATCH …` behind the first command: not read.
    LateDirective,
}

/// In what a line differs from a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NearMiss {
    /// Blanks stand before `#SBATCH`.
    Indented,
    /// Blanks stand between `#` and `SBATCH`.
    Parted,
    /// `##SBATCH`: how people switch a directive off.
    Doubled,
    /// Another case, such as `#sbatch`.
    Case,
    /// A word that is one or two letters away from `SBATCH`.
    Misspelt,
}

/// The lines of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptLines {
    /// What each line is, in order.
    pub kinds: Vec<LineKind>,
    /// The first line, counted from 1, that ends the directives.
    pub first_command: Option<usize>,
}

/// Reads a script's lines. Lines end at `\n`; a text that ends in one has no empty line behind it.
#[must_use]
pub fn script_lines(text: &str) -> ScriptLines {
    let mut first_command = None;
    let kind = |(index, line): (usize, &str)| {
        if first_command.is_some() {
            return if line.starts_with(DIRECTIVE) {
                LineKind::LateDirective
            } else {
                LineKind::Body
            };
        }
        let kind = before_commands(index, line);
        if kind == LineKind::Body {
            first_command = Some(index + 1);
        }
        kind
    };
    let text = text.strip_suffix('\n').unwrap_or(text);
    let kinds = text.split('\n').enumerate().map(kind).collect();
    ScriptLines {
        kinds,
        first_command,
    }
}

fn before_commands(index: usize, line: &str) -> LineKind {
    if index == 0 && line.starts_with("#!") {
        return LineKind::Interpreter;
    }
    for (word, kind) in [
        (DIRECTIVE, LineKind::Directive),
        (OLD_DIRECTIVE, LineKind::OldDirective),
    ] {
        if let Some(tail) = line.strip_prefix(word) {
            return if is_separator(tail) {
                LineKind::Separator
            } else {
                kind
            };
        }
    }
    let start = line.trim_ascii_start();
    if start.is_empty() {
        return LineKind::Blank;
    }
    if !start.starts_with('#') {
        return LineKind::Body;
    }
    if FOREIGN.iter().any(|word| line.starts_with(word)) {
        return LineKind::Foreign;
    }
    near_miss(line).map_or(LineKind::Comment, LineKind::NearMiss)
}

/// Tells in what a comment differs from a directive, if it looks like one at all.
#[must_use]
pub fn near_miss(line: &str) -> Option<NearMiss> {
    let start = line.trim_ascii_start();
    let after_hash = start.strip_prefix('#')?;
    let name = after_hash.trim_start_matches('#').trim_ascii_start();
    let end = name
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(name.len());
    let word = &name[..end];
    if word == "SBATCH" {
        return match (after_hash.starts_with('#'), after_hash.starts_with(name)) {
            (true, _) => Some(NearMiss::Doubled),
            (false, false) => Some(NearMiss::Parted),
            (false, true) if start.len() < line.len() => Some(NearMiss::Indented),
            (false, true) => None,
        };
    }
    if after_hash.starts_with('#') {
        return None;
    }
    let has_option = name[end..].trim_ascii_start().starts_with('-');
    if word.eq_ignore_ascii_case("SBATCH") {
        return has_option.then_some(NearMiss::Case);
    }
    let near = nearest(&word.to_ascii_uppercase(), ["SBATCH"]).is_some();
    (near && has_option && word.len() >= 4).then_some(NearMiss::Misspelt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(text: &str, want: Expect) {
        let read = script_lines(text);
        let kinds: Vec<String> = read.kinds.iter().map(|kind| format!("{kind:?}")).collect();
        want.assert_eq(&format!("{} | {:?}", kinds.join(" "), read.first_command));
    }

    #[test]
    fn each_line_is_what_sbatch_makes_of_it() {
        check(
            "#!/bin/sh\n#SBATCH -n 1\n#SBATCH--time=1\n#SLURM -n 1\n# a word\n\n#SBATCH hetjob\n#PBS -l x\ntrue\n#SBATCH -n 2\n# c\n",
            expect![[
                r#"Interpreter Directive Directive OldDirective Comment Blank Separator Foreign Body LateDirective Body | Some(9)"#
            ]],
        );
        check("", expect!["Blank | None"]);
    }

    #[test]
    fn comments_that_look_like_directives() {
        for (line, want) in [
            (" #SBATCH -n 1", Some(NearMiss::Indented)),
            ("# SBATCH -n 1", Some(NearMiss::Parted)),
            ("##SBATCH -n 1", Some(NearMiss::Doubled)),
            ("## SBATCH -n 1", Some(NearMiss::Doubled)),
            ("#sbatch -n 1", Some(NearMiss::Case)),
            ("#SBTACH -n 1", Some(NearMiss::Misspelt)),
            ("#SBACTH --time=1", Some(NearMiss::Misspelt)),
            ("#SBATCH -n 1", None),
            ("# the batch of today", None),
            ("#SBATCHES are lines", None),
            ("echo", None),
        ] {
            assert_eq!(near_miss(line), want, "{line}");
        }
    }
}
