//! Options of `scontrol`, which stand before its keyword.

use super::command::ScontrolCommand;
use super::keyword::command;
use super::usage_error::ScontrolUsageError;
use crate::commands::ShowStyle;
use crate::options::long_options::{
    CommandOption, LongOption, command_options, parse_long_options,
};
use crate::options::option_table::Takes;

/// What a `scontrol` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScontrolArgs {
    /// What it does.
    pub command: ScontrolCommand,
    /// How jobs are shown.
    pub style: ShowStyle,
    /// `--quiet`: no word about what is wrong.
    pub quiet: bool,
    /// `--clusters`
    pub clusters: Option<String>,
    /// `--uid`: jobs are changed as this user; a name or a number.
    pub uid: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Key {
    All,
    Details,
    Future,
    Help,
    Hide,
    Clusters,
    OneLine,
    Quiet,
    Uid,
    Version,
}

#[rustfmt::skip]
const OPTIONS: &[LongOption<Key>] = {
    use Takes::{No as Bare, Required};
    &[
        LongOption::new("all", Some('a'), Bare, Key::All).does("partitions that are hidden too"),
        LongOption::new("cluster", None, Required, Key::Clusters),
        LongOption::new("clusters", Some('M'), Required, Key::Clusters).of("NAME", "the name of this cluster"),
        LongOption::new("details", Some('d'), Bare, Key::Details).does("a job with what it holds node by node"),
        LongOption::accepted("federation", None, Bare, "there is one cluster"),
        LongOption::new("future", Some('F'), Bare, Key::Future).does("nodes of the future too"),
        LongOption::new("help", Some('h'), Bare, Key::Help).does("this text"),
        LongOption::new("hide", None, Bare, Key::Hide).does("no hidden partitions, whatever --all before it says"),
        LongOption::accepted("local", None, Bare, "there is one cluster"),
        LongOption::new("oneliner", Some('o'), Bare, Key::OneLine).does("one line an entry"),
        LongOption::new("quiet", Some('Q'), Bare, Key::Quiet).does("no word about what is wrong"),
        LongOption::accepted("sibling", None, Bare, "there is one cluster"),
        LongOption::new("uid", Some('u'), Required, Key::Uid).of("USER", "change jobs as this user; root alone may"),
        LongOption::new("usage", None, Bare, Key::Help),
        LongOption::accepted("verbose", Some('v'), Bare, "there is no more to say"),
        LongOption::new("version", Some('V'), Bare, Key::Version).does("what this is"),
    ]
};

/// The options of `scontrol`.
pub(crate) fn options() -> Vec<CommandOption> {
    command_options(OPTIONS)
}

/// Reads a command line. `program` is `argv[0]`.
///
/// # Errors
/// What Slurm refuses, in its words; what of it this program lacks.
pub fn parse(program: &str, args: &[String]) -> Result<ScontrolArgs, ScontrolUsageError> {
    let parsed = parse_long_options(OPTIONS, args);
    let mut style = ShowStyle::default();
    let mut quiet = false;
    let with = |command, style, quiet| ScontrolArgs {
        command,
        style,
        quiet,
        clusters: None,
        uid: None,
    };
    let (mut clusters, mut uid) = (None, None);
    for (key, value) in &parsed.options {
        match key {
            Key::All => style.all = true,
            Key::Hide => style.all = false,
            Key::Future => style.future = true,
            Key::Details => style.details = true,
            Key::OneLine => style.one_line = true,
            Key::Quiet => quiet = true,
            Key::Help => return Ok(with(ScontrolCommand::Help, style, quiet)),
            Key::Version => return Ok(with(ScontrolCommand::Version, style, quiet)),
            Key::Clusters => clusters.clone_from(value),
            Key::Uid => uid.clone_from(value),
        }
    }
    if let Some(message) = parsed.wrong {
        return Err(ScontrolUsageError::Option {
            program: program.to_owned(),
            message,
        });
    }
    Ok(ScontrolArgs {
        clusters,
        uid,
        ..with(command(&parsed.operands)?, style, quiet)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(line: &str, want: Expect) {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let text = match parse("scontrol", &args) {
            Ok(asked) => format!("{:?}", asked.command),
            Err(error) => error.to_string(),
        };
        want.assert_eq(&text);
    }

    #[test]
    fn commands_may_be_short() {
        check("show job 12", expect![[r#"ShowJob(Some("12"))"#]]);
        check("-o show jobid=12_3", expect![[r#"ShowJob(Some("12_3"))"#]]);
        check(
            "sho hostn a[1-2]",
            expect![[r#"HostNames(Some("a[1-2]"))"#]],
        );
        check(
            "show hostlistsorted b,a",
            expect![[r#"HostList { names: "b,a", sorted: true }"#]],
        );
        check(
            "requeue 12,13",
            expect![[r#"Requeue { jobs: ["12,13"], hold: No, only_running: false }"#]],
        );
        check(
            "requeuehold incomplete 12",
            expect![[r#"Requeue { jobs: ["12"], hold: Held, only_running: true }"#]],
        );
        check(
            "requeuehold state=specialexit inc 12 13",
            expect![[
                r#"Requeue { jobs: ["12", "13"], hold: HeldSpecialExit, only_running: true }"#
            ]],
        );
        check(
            "requeue State=SE 12",
            expect![[r#"Requeue { jobs: ["12"], hold: SpecialExit, only_running: false }"#]],
        );
        check(
            "requeuehold State=SpecialExit",
            expect!["Requeue { jobs: [], hold: HeldSpecialExit, only_running: false }"],
        );
        check(
            "uhold 12",
            expect![[r#"Hold { jobs: ["12"], hold: true, user: true }"#]],
        );
        check(
            "hold 12",
            expect![[r#"Hold { jobs: ["12"], hold: true, user: false }"#]],
        );
        check(
            "rel 12 13",
            expect![[r#"Hold { jobs: ["12", "13"], hold: false, user: false }"#]],
        );
        check("pin", expect!["Ping"]);
    }

    #[test]
    fn refusals_have_slurms_words() {
        check("bad", expect!["invalid keyword: bad"]);
        check(
            "show nosuch",
            expect!["invalid entity:nosuch for keyword:show "],
        );
        check("show", expect!["too few arguments for keyword:show"]);
        check("hold", expect!["too few arguments for keyword:hold"]);
        check("show hostlist", expect!["invalid encode argument"]);
        check(
            "update job 3 TimeLimit=5",
            expect![[
                r#"UpdateJobs { jobs: "3", changes: [WrittenChange { key: "TimeLimit", sign: None, value: Some("5"), written: "TimeLimit=5" }] }"#
            ]],
        );
        check("update", expect!["too few arguments for update keyword"]);
        check(
            "update nosuch=1",
            expect![[r#"
                No valid entity in update command
                Input line must include "NodeName", "PartitionName", "Reservation", "JobId", or "SlurmctldDebug""#]],
        );
        check(
            "--nosuch",
            expect![[r#"
            scontrol: unrecognized option '--nosuch'
            Try "scontrol --help" for more information"#]],
        );
    }
}
