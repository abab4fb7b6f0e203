//! The command line of `sattach`, and what it prints of a step.

use crate::options::long_options::{
    CommandOption, LongOption, command_options, parse_leading_options,
};
use crate::options::option_table::Takes;
use crate::values::{JobId, NodeName, StepId, node_list};

/// What an `sattach` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SattachArgs {
    /// What it does.
    pub action: SattachAction,
    /// The job and its step.
    pub step: (JobId, StepId),
    /// `--label`
    pub label: bool,
    /// `--input-filter`: the only task that gets input.
    pub input: Option<u32>,
    /// `--output-filter`: the only task of which is printed what it writes.
    pub output: Option<u32>,
    /// `--error-filter`: the only task whose error output is printed.
    pub error: Option<u32>,
}

/// What an `sattach` does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SattachAction {
    /// Shares the streams.
    #[default]
    Attach,
    /// `--layout`
    Layout,
    /// `--help`
    Help,
    /// `--usage`
    Usage,
    /// `--version`
    Version,
}

#[derive(Clone, Copy, PartialEq)]
enum Key {
    Action(SattachAction),
    Label,
    Input,
    Output,
    Error,
}

#[rustfmt::skip]
const OPTIONS: &[LongOption<Key>] = {
    use Takes::{No as Bare, Required};
    &[
        LongOption::new("help", Some('h'), Bare, Key::Action(SattachAction::Help)).does("this text"),
        LongOption::new("label", Some('l'), Bare, Key::Label).does("the number of the task before each line"),
        LongOption::accepted("quiet", Some('Q'), Bare, "nothing is said that is no error"),
        LongOption::new("usage", Some('u'), Bare, Key::Action(SattachAction::Usage)).does("one line of help"),
        LongOption::accepted("verbose", Some('v'), Bare, "there is no more to say"),
        LongOption::new("version", Some('V'), Bare, Key::Action(SattachAction::Version)).does("what this is"),
        LongOption::new("layout", None, Bare, Key::Action(SattachAction::Layout)).does("print which node has which tasks, and end"),
        LongOption::refused("debugger-test", None, Bare, "no debugger is attached to"),
        LongOption::new("input-filter", None, Required, Key::Input).of("TASK", "input for this task alone: only of a step with one task"),
        LongOption::new("output-filter", None, Required, Key::Output).of("TASK", "the output of this task alone"),
        LongOption::new("error-filter", None, Required, Key::Error).of("TASK", "the error output of this task alone"),
        LongOption::refused("pty", None, Bare, "the terminal of a step belongs to its srun"),
    ]
};

/// The options of `sattach`.
pub(crate) fn options() -> Vec<CommandOption> {
    command_options(OPTIONS)
}

/// `--usage`, and what follows a wrong line.
pub const USAGE: &str = "Usage: sattach [options] <jobid.stepid>";

/// A command line that `sattach` refuses with exit status 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SattachUsageError {
    /// What goes to standard error.
    pub text: String,
    /// Whether [`USAGE`] goes to standard output before it.
    pub usage: bool,
}

/// Reads a command line.
///
/// # Errors
/// What Slurm refuses, in its words.
pub fn parse(args: &[String]) -> Result<SattachArgs, SattachUsageError> {
    let refusal = |usage: bool, text: String| SattachUsageError {
        text: format!("sattach: {text}"),
        usage,
    };
    let mut asked = SattachArgs {
        action: SattachAction::Attach,
        step: (JobId(0), StepId::Batch),
        label: false,
        input: None,
        output: None,
        error: None,
    };
    let parsed = parse_leading_options(OPTIONS, args);
    for (key, value) in parsed.options {
        let task = |name: &str| {
            let text = value.as_deref().unwrap_or_default();
            let wrong = || format!("error: Invalid numeric value \"{text}\" for {name}.");
            text.parse().map(Some).map_err(|_| refusal(false, wrong()))
        };
        match key {
            Key::Action(action) => asked.action = action,
            Key::Label => asked.label = true,
            Key::Input => asked.input = task("input-filter")?,
            Key::Output => asked.output = task("output-filter")?,
            Key::Error => asked.error = task("error-filter")?,
        }
    }
    if let Some(message) = parsed.wrong {
        let more = "Try \"sattach --help\" for more information";
        return Err(refusal(false, format!("{message}\n{more}")));
    }
    if !matches!(asked.action, SattachAction::Attach | SattachAction::Layout) {
        return Ok(asked);
    }
    // The words for too few are the same as for too many.
    let [named] = parsed.operands.as_slice() else {
        return Err(refusal(true, "error: too many parameters".to_owned()));
    };
    let unread = || {
        let text = "error: Failed to parse stepid from command line options";
        refusal(true, text.to_owned())
    };
    let (job, step) = named.split_once('.').ok_or_else(unread)?;
    let id = JobId(job.parse().map_err(|_| unread())?);
    let step = match step {
        "batch" => StepId::Batch,
        number => StepId::Number(
            number
                .parse()
                .map_err(|_| refusal(false, format!("fatal: Bad step specified: {job}")))?,
        ),
    };
    asked.step = (id, step);
    // That of the output is of both, where errors have none of their own.
    asked.error = asked.error.or(asked.output);
    Ok(asked)
}

/// What `--layout` prints: each node's name with the ranks of its tasks.
#[must_use]
pub fn layout_text(nodes: &[(String, Vec<u32>)]) -> String {
    let names: Vec<NodeName> = nodes.iter().map(|(name, _)| NodeName::new(name)).collect();
    let names = node_list::fold(&names);
    let tasks: usize = nodes.iter().map(|(_, ranks)| ranks.len()).sum();
    let mut text = format!(
        "Job step layout:\n\t{tasks} tasks, {} nodes ({names})\n\n",
        nodes.len()
    );
    for (index, (name, ranks)) in nodes.iter().enumerate() {
        let list: String = ranks.iter().map(|rank| format!("{rank} ")).collect();
        text.push_str(&format!(
            "\tNode {index} ({name}), {} task(s): {list}\n",
            ranks.len()
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What 22.05.8 says of the same line.
    #[track_caller]
    fn check_wrong(line: &str, want: &str) {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let got = parse(&args).err().map(|error| error.text);
        assert_eq!(got, Some(format!("sattach: {want}")), "{line}");
    }

    #[test]
    fn command_lines() {
        check_wrong("", "error: too many parameters");
        check_wrong("12.0 --layout", "error: too many parameters");
        let unread = "error: Failed to parse stepid from command line options";
        check_wrong("x", unread);
        check_wrong("12", unread);
        check_wrong("12.x", "fatal: Bad step specified: 12");
        check_wrong(
            "--output-filter=x 12.0",
            "error: Invalid numeric value \"x\" for output-filter.",
        );
        let args = ["-l", "--output-filter=1", "12.3"].map(str::to_owned);
        let asked = parse(&args).expect("a right line");
        assert_eq!(asked.step, (JobId(12), StepId::Number(3)));
        assert_eq!((asked.label, asked.output), (true, Some(1)));
    }

    #[test]
    fn a_layout() {
        let nodes = [
            ("node1".to_owned(), vec![0, 1, 2]),
            ("node2".to_owned(), vec![3]),
        ];
        let want = "Job step layout:\n\t4 tasks, 2 nodes (node[1-2])\n\n\
                    \tNode 0 (node1), 3 task(s): 0 1 2 \n\tNode 1 (node2), 1 task(s): 3 \n";
        assert_eq!(layout_text(&nodes), want);
    }
}
