//! `scontrol update NodeName=…`: its words, and what Slurm 22.05 says of those that it refuses.

use super::scontrol::abbreviates;
use crate::records::Settings;

/// What a `scontrol update` of nodes asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeWords {
    /// A node list, or `ALL`.
    pub nodes: String,
    /// What becomes of them.
    pub state: Option<NodeStateWord>,
    /// Why.
    pub reason: Option<String>,
    /// `weight`, `features`, `activefeatures`, `gres`, `comment`, `extra`, `cpubind`, `nodeaddr`,
    /// `nodehostname`.
    pub settings: Settings,
}

/// A state that a node can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStateWord {
    /// `DRAIN`
    Drain,
    /// `DOWN`
    Down,
    /// `FAIL`
    Fail,
    /// `RESUME`
    Resume,
    /// `UNDRAIN`
    Undrain,
    /// `IDLE`
    Idle,
    /// `FUTURE`
    Future,
    /// One that Slurm knows and gives no node here, such as `ALLOCATED`.
    NotForNodes,
}

/// What is said of words that can't be taken, with exit status 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaidOfWords {
    /// Lines of standard error.
    pub lines: Vec<String>,
}

impl SaidOfWords {
    pub(super) fn of(lines: &[&str]) -> SaidOfWords {
        SaidOfWords {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        }
    }
}

/// Keys whose values are kept as they are written.
const TEXTS: &[(&str, &str)] = &[
    ("ActiveFeatures", "activefeatures"),
    ("AvailableFeatures", "features"),
    ("Features", "features"),
    ("Gres", "gres"),
    ("Comment", "comment"),
    ("Extra", "extra"),
    ("NodeAddr", "nodeaddr"),
    ("NodeHostName", "nodehostname"),
];

/// Reads the words.
///
/// # Errors
/// What Slurm says of the first that it refuses.
pub fn node_words(words: &[String]) -> Result<NodeWords, SaidOfWords> {
    let mut asked = NodeWords::default();
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            return Err(SaidOfWords::of(&[
                &format!("scontrol: error: Invalid input: {word}  Request aborted"),
                "slurm_update error: No error",
            ]));
        };
        let is = |name: &str| abbreviates(key, name, name.len().min(4));
        let text = TEXTS.iter().find(|(name, _)| is(name));
        if is("NodeName") {
            value.clone_into(&mut asked.nodes);
        } else if is("State") {
            asked.state = Some(state(value).ok_or_else(|| no_state(word))?);
        } else if is("Reason") {
            asked.reason = Some(value.to_owned());
        } else if is("Weight") {
            if value.parse::<u32>().is_err() {
                return Err(SaidOfWords::of(&[
                    &format!("scontrol: error: Weight value ({value}) is not a valid number"),
                    "No changes specified",
                ]));
            }
            asked.settings.insert("weight".to_owned(), value.to_owned());
        } else if let Some((_, name)) = text {
            asked.settings.insert((*name).to_owned(), value.to_owned());
        } else if is("CpuBind") {
            let bind = cpu_bind_setting(value).ok_or_else(|| {
                SaidOfWords::of(&[
                    &format!("scontrol: error: Invalid input {word}"),
                    "slurm_update error: No error",
                ])
            })?;
            asked.settings.insert("cpubind".to_owned(), bind);
        } else {
            return Err(SaidOfWords::of(&[
                &format!("Update of this parameter is not supported: {word}"),
                "Request aborted",
            ]));
        }
    }
    let needs_reason = matches!(
        asked.state,
        Some(NodeStateWord::Drain | NodeStateWord::Down | NodeStateWord::Fail)
    );
    if needs_reason && asked.reason.as_ref().is_none_or(String::is_empty) {
        return Err(SaidOfWords::of(&[
            "You must specify a reason when DOWNING or DRAINING a node. Request denied",
        ]));
    }
    if asked.state.is_none() && asked.reason.is_none() && asked.settings.is_empty() {
        return Err(SaidOfWords::of(&["No changes specified"]));
    }
    Ok(asked)
}

/// How tasks are bound on a node or in a partition where they don't say it, in the words that are shown;
/// `off` is nothing. `None` where it is no such word.
pub(super) fn cpu_bind_setting(text: &str) -> Option<String> {
    let kinds = [
        ("none", "none"),
        ("socket", "sockets"),
        ("ldom", "ldoms"),
        ("core", "cores"),
        ("thread", "threads"),
    ];
    let (mut is_verbose, mut bind) = (false, None);
    for word in text.split([',', ';']).filter(|word| !word.is_empty()) {
        let is = |known: &str| word.eq_ignore_ascii_case(known);
        let kind = kinds.iter().find(|(one, many)| is(one) || is(many));
        match kind {
            _ if is("off") => return Some(String::new()),
            _ if is("v") || is("verbose") => is_verbose = true,
            _ if is("q") || is("quiet") => is_verbose = false,
            Some((_, shown)) => bind = Some(*shown),
            None => return None,
        }
    }
    let verbose = is_verbose.then_some("verbose");
    let words: Vec<&str> = verbose.into_iter().chain(bind).collect();
    Some(words.join(","))
}

/// A state's word, which may be shortened.
fn state(text: &str) -> Option<NodeStateWord> {
    use NodeStateWord::{Down, Drain, Fail, Future, Idle, NotForNodes, Resume, Undrain};
    let words = [
        ("DRAIN", 3, Drain),
        ("FAIL", 3, Fail),
        ("FUTURE", 3, Future),
        ("NoResp", 1, NotForNodes),
        ("RESUME", 3, Resume),
        ("POWER_DOWN", 3, NotForNodes),
        ("POWER_UP", 3, NotForNodes),
        ("UNDRAIN", 3, Undrain),
        ("DOWN", 1, Down),
        ("IDLE", 1, Idle),
        ("ALLOCATED", 1, NotForNodes),
        ("ERROR", 1, NotForNodes),
        ("MIXED", 1, NotForNodes),
    ];
    let mut words = words.into_iter();
    words
        .find(|(word, least, _)| abbreviates(text, word, *least))
        .map(|(_, _, state)| state)
}

fn no_state(word: &str) -> SaidOfWords {
    SaidOfWords::of(&[
        &format!("Invalid input: {word}"),
        "Request aborted",
        "Valid states are: NoResp DRAIN FAIL FUTURE RESUME POWER_DOWN POWER_UP UNDRAIN",
        "Not all states are valid given a node's prior state",
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(line: &str, want: Expect) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        want.assert_eq(&match node_words(&words) {
            Ok(asked) => format!("{asked:?}"),
            Err(said) => said.lines.join("\n"),
        });
    }

    #[test]
    fn words_are_read_or_refused_as_slurm_does() {
        check(
            "Node=n1 State=DRAI Reason=x",
            expect![[
                r#"NodeWords { nodes: "n1", state: Some(Drain), reason: Some("x"), settings: {} }"#
            ]],
        );
        check(
            "NodeName=n1 Features=a,b Weight=3",
            expect![[
                r#"NodeWords { nodes: "n1", state: None, reason: None, settings: {"features": "a,b", "weight": "3"} }"#
            ]],
        );
        check("NodeName=n1", expect!["No changes specified"]);
        check(
            "NodeName=n1 State=fail",
            expect!["You must specify a reason when DOWNING or DRAINING a node. Request denied"],
        );
        check(
            "NodeName=n1 CPUs=4",
            expect![[r"
                Update of this parameter is not supported: CPUs=4
                Request aborted"]],
        );
    }
}
