//! `{data}`, `{checkpoints}` and the rest in commands.

use crate::env_vars::{
    YARD_CHECKPOINTS, YARD_DATA, YARD_GPUS_PER_NODE, YARD_LOGS, YARD_NODES, YARD_REPEAT,
    YARD_RESUME, YARD_RESUME_FILE, YARD_RUN, YARD_WORLD_SIZE,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

/// A placeholder of a command.
#[derive(Clone, Copy, Debug)]
pub struct Placeholder {
    /// What stands in the braces.
    pub name: &'static str,
    /// What it stands for.
    pub doc: &'static str,
    /// The variable in which ranks find the same.
    pub variable: &'static str,
}

/// All of them, in the order in which they are shown.
pub const PLACEHOLDERS: [Placeholder; 10] = [
    Placeholder {
        name: "data",
        doc: "The folder on the node's own disk with what `[data] stage` names.",
        variable: YARD_DATA,
    },
    Placeholder {
        name: "checkpoints",
        doc: "The folder on the node's own disk into which the program writes checkpoints. Each file \
              or folder directly in it is one; what is complete is copied to the run folder while \
              the training continues.",
        variable: YARD_CHECKPOINTS,
    },
    Placeholder {
        name: "resume",
        doc: "A folder with the newest complete checkpoint, inside it under its own name: what the \
              program wrote as `{checkpoints}/step-300` is `{resume}/step-300`. Empty at the first \
              start. What the program keeps beside its checkpoints to find the newest (a link \
              `latest.pt`, a file `latest` or `latest_checkpointed_iteration.txt`) is in it and names that \
              checkpoint, if it named one of its series; with a number in its name it is copied as a \
              checkpoint of its own. The newest is, of \
              names that differ in numbers alone, the one with the highest step (epochs before steps, \
              of `epoch=3-step=20`; else the last number), else the one that the program wrote last: numbers of metrics, \
              dates, ranks and versions are none. One without a step in its name is \
              newer than one with a step where it was written a minute later; what has less than half \
              of the bytes of the largest (of names with a step, of those) comes after those, and tables, texts \
              and pictures (`.csv`, `.txt`, `.png` and so on) come last. Files of one step whose names differ in \
              such a word alone, such as `model_140.pt` and `optim_140.pt` (`optimizer`, `scheduler`, `scaler`, \
              `rng`, `ema`), are one checkpoint: they come back together, and are kept and removed together; one \
              that lacks what the one before it has is resumed from only where no other is whole. Other files of \
              one checkpoint belong into one folder.",
        variable: YARD_RESUME,
    },
    Placeholder {
        name: "resume_file",
        doc: "The checkpoint itself, `{resume}/NAME`: a file or a folder, as the program wrote it. \
              Empty at the first start, so it belongs into `[resume] args`, which are added only \
              where there is a checkpoint.",
        variable: YARD_RESUME_FILE,
    },
    Placeholder {
        name: "logs",
        doc: "The folder `tensorboard` in the run folder, for event files; with `[data] local_logs` one on \
              the node's own disk.",
        variable: YARD_LOGS,
    },
    Placeholder {
        name: "run",
        doc: "The run's id.",
        variable: YARD_RUN,
    },
    Placeholder {
        name: "nodes",
        doc: "The number of nodes.",
        variable: YARD_NODES,
    },
    Placeholder {
        name: "gpus_per_node",
        doc: "The number of GPUs of each node.",
        variable: YARD_GPUS_PER_NODE,
    },
    Placeholder {
        name: "world_size",
        doc: "The number of ranks.",
        variable: YARD_WORLD_SIZE,
    },
    Placeholder {
        name: "repeat",
        doc: "Which of the repeats this is, from 1.",
        variable: YARD_REPEAT,
    },
];

/// Whether there is a placeholder of that name.
fn is_known(name: &str) -> bool {
    PLACEHOLDERS.iter().any(|known| known.name == name)
}

/// What the placeholders stand for in one start of a job; the ranks have the same in `YARD_*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    /// The node-local folder with the staged data.
    pub data: PathBuf,
    /// The node-local folder that the program writes checkpoints to.
    pub checkpoints: PathBuf,
    /// The node-local folder with the checkpoint to resume from; empty at the first start.
    pub resume: PathBuf,
    /// The checkpoint's own path in it; `None` when there is nothing to resume.
    pub resume_file: Option<PathBuf>,
    /// The run folder's `tensorboard`, or a node-local folder.
    pub logs: PathBuf,
    /// The run's id.
    pub run: String,
    /// The ranks' working folder, in the run's copy of the code.
    pub code: PathBuf,
    /// The project's name.
    pub project: String,
    /// A folder on shared storage, of the run alone, that stays.
    pub scratch: PathBuf,
}

/// A `{name}` that isn't known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown placeholder {{{name}}}")]
pub struct UnknownPlaceholder {
    /// What stands in the braces.
    pub name: String,
    /// Where, in bytes.
    pub span: Range<usize>,
}

/// Replaces the placeholders of one argument. `{{name}}` and `{{` are `{name}` and `{`; `${name}`
/// and a brace before anything but lower-case letters, digits, `_` and `.` are left alone, so
/// shell and JSON pass.
///
/// # Errors
/// The first name that is not in `values`.
pub fn fill(text: &str, values: &BTreeMap<&str, String>) -> Result<String, UnknownPlaceholder> {
    replace(text, |name| values.get(name).map(String::as_str))
}

/// Finds the first unknown placeholder.
///
/// # Errors
/// That one.
pub(crate) fn check(text: &str) -> Result<(), UnknownPlaceholder> {
    let known = |name: &str| is_known(name).then_some("");
    replace(text, known).map(|_| ())
}

fn replace<'v>(
    text: &str,
    value: impl Fn(&str) -> Option<&'v str>,
) -> Result<String, UnknownPlaceholder> {
    let mut filled = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find('{') {
        let brace = at + found;
        filled.push_str(&text[at..brace]);
        let rest = &text[brace + 1..];
        if rest.starts_with('{') {
            filled.push('{');
            at = brace + 2;
            if let Some(name) =
                name_in(&text[at..]).filter(|name| text[at + name.len()..].starts_with("}}"))
            {
                filled.push_str(name);
                filled.push('}');
                at += name.len() + 2;
            }
            continue;
        }
        match name_in(rest) {
            Some(name) if !text[..brace].ends_with('$') => {
                let Some(value) = value(name) else {
                    return Err(UnknownPlaceholder {
                        name: name.to_owned(),
                        span: brace..brace + name.len() + 2,
                    });
                };
                filled.push_str(value);
                at = brace + name.len() + 2;
            }
            _ => {
                filled.push('{');
                at = brace + 1;
            }
        }
    }
    filled.push_str(&text[at..]);
    Ok(filled)
}

/// The name before the next closing brace, when all of it could be one.
fn name_in(text: &str) -> Option<&str> {
    let name = &text[..text.find('}')?];
    let fits = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'.'
    };
    let starts = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase());
    (starts && name.bytes().all(fits)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    #[track_caller]
    fn check_all(rows: &[&str], want: Expect) {
        let values = BTreeMap::from([("data", "/d".to_owned()), ("nodes", "2".to_owned())]);
        let shown = rows.iter().map(|text| match fill(text, &values) {
            Ok(filled) => format!("{text} -> {filled}\n"),
            Err(unknown) => format!("{text} -> {unknown} at {:?}\n", unknown.span),
        });
        want.assert_eq(&shown.collect::<String>());
    }

    #[test]
    fn known_names_are_replaced_and_the_rest_is_left_alone() {
        check_all(
            &[
                "{data}/imagenet",
                "{nodes}x{nodes}",
                "plain",
                "{{data}}",
                "{{",
                "a{{data}b",
                "${data}",
                r#"{"lr": {"x": 1}}"#,
                "{HOME}",
                "{dat}",
                "{data",
                "}{}",
                "x{trial.lr}",
                "ü{nodes}ü",
            ],
            expect![[r#"
                {data}/imagenet -> /d/imagenet
                {nodes}x{nodes} -> 2x2
                plain -> plain
                {{data}} -> {data}
                {{ -> {
                a{{data}b -> a{data}b
                ${data} -> ${data}
                {"lr": {"x": 1}} -> {"lr": {"x": 1}}
                {HOME} -> {HOME}
                {dat} -> unknown placeholder {dat} at 0..5
                {data -> {data
                }{} -> }{}
                x{trial.lr} -> unknown placeholder {trial.lr} at 1..11
                ü{nodes}ü -> ü2ü
            "#]],
        );
    }

    proptest! {
        #[test]
        fn text_without_braces_stays(text in "[^{]{0,30}") {
            prop_assert_eq!(fill(&text, &BTreeMap::new()).unwrap(), text);
        }

        #[test]
        fn no_text_panics(text in "[{}$a-zü.]{0,20}") {
            let _ = check(&text);
        }
    }
}
