//! Keywords of `scontrol` that are about Slurm's daemons, and those that only set how it prints.

use super::command::ScontrolCommand;
use super::usage_error::ScontrolUsageError;
use crate::values::abbreviates;

/// As `scontrol errnumstr` of 22.05.8 says them: number, words.
const ERRORS: &str = include_str!("error_numbers.tsv");

/// Keywords for its own prompt, or that a flag says too.
const WITHOUT_EFFECT: &[&str] = &[
    "all", "cluster", "details", "exit", "hide", "oneliner", "quiet", "quit", "verbose",
];

/// Levels of a log.
const LEVELS: &[&str] = &[
    "quiet", "fatal", "error", "info", "verbose", "debug", "debug2", "debug3", "debug4", "debug5",
];

/// What a keyword of these answers; none where it is another.
pub(super) fn of_daemons(
    keyword: &str,
    words: &[String],
) -> Option<Result<ScontrolCommand, ScontrolUsageError>> {
    let is = |name: &str, least| abbreviates(keyword, name, least);
    let first = words.first().map(String::as_str);
    if WITHOUT_EFFECT
        .iter()
        .any(|name| keyword.eq_ignore_ascii_case(name))
    {
        return Some(Ok(said("", "", 0)));
    }
    if is("completing", 1) {
        return Some(Ok(ScontrolCommand::Completing));
    }
    if is("errnumstr", 2) {
        return Some(Ok(error_number(keyword, words)));
    }
    if is("pidinfo", 3) {
        return Some(match words {
            [pid] => Ok(ScontrolCommand::PidInfo(pid.parse().unwrap_or(0))),
            [] => Err(ScontrolUsageError::TooFew(keyword.to_owned())),
            _ => Err(ScontrolUsageError::TooMany(keyword.to_owned())),
        });
    }
    if is("wait_job", 1) {
        return Some(match words {
            [job] => Ok(ScontrolCommand::WaitJob(job.clone())),
            [] => Err(ScontrolUsageError::TooFew(keyword.to_owned())),
            _ => Err(ScontrolUsageError::TooMany(keyword.to_owned())),
        });
    }
    // There is no log of the scheduler's own, no program that boots a node, no flag of a reboot to take
    // back and no key to sign a token with: as where Slurm has none of them.
    let answer = if is("schedloglevel", 3) {
        let level = first?;
        let words = ["enable", "disable", "0", "1"];
        if words.iter().any(|word| word.eq_ignore_ascii_case(level)) {
            said(
                "",
                "slurm_set_schedlog_level error: Requested operation is presently disabled",
                1,
            )
        } else {
            said("", &format!("invalid schedlog level: {level}"), 1)
        }
    } else if is("reboot", 3) {
        match first {
            None => said("", "Missing node list. Specify ALL|<NodeList>", 1),
            Some(_) => said(
                "",
                "scontrol: error: RebootProgram isn't defined\nscontrol_reboot_nodes error: Unspecified error",
                1,
            ),
        }
    } else if is("cancel_reboot", 4) && first.is_some() {
        said("", "slurm_update error: Invalid node state specified", 1)
    } else if is("token", 3) {
        said("", "Error fetching token", 1)
    } else if is("setdebug", 8) && first.is_some_and(|level| !is_level(level)) {
        said("", &format!("invalid debug level: {}", first?), 1)
    } else if is("fsdampeningfactor", 3) && first.is_some_and(|it| it.parse::<u16>().is_err()) {
        said("", &format!("invalid dampening factor: {}", first?), 0)
    } else {
        return None;
    };
    Some(Ok(answer))
}

fn is_level(word: &str) -> bool {
    let is_number = word.parse::<u8>().is_ok_and(|level| level <= 9);
    is_number || LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word))
}

/// `errnumstr NUMBER`
fn error_number(keyword: &str, words: &[String]) -> ScontrolCommand {
    let [word] = words else {
        return said(
            "",
            &format!("one arguments required for keyword:{keyword}"),
            1,
        );
    };
    let Ok(number) = word.parse::<i32>() else {
        return said(
            "",
            &format!("numeric arguments required for keyword:{keyword}"),
            1,
        );
    };
    let own = number.to_string();
    let known = ERRORS.lines().filter_map(|row| row.split_once('\t'));
    let words = known.clone().find(|(number, _)| *number == own);
    let words = words.map_or_else(
        || format!("Unknown error {own}"),
        |(_, words)| words.to_owned(),
    );
    said(&format!("{words}\n"), "", 0)
}

fn said(stdout: &str, stderr: &str, status: u8) -> ScontrolCommand {
    ScontrolCommand::None {
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
        status,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, want: &str) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let text = match of_daemons(&words[0], &words[1..]) {
            Some(Ok(ScontrolCommand::None {
                stdout,
                stderr,
                status,
            })) => {
                format!("{stdout}{stderr} ({status})")
            }
            other => format!("{other:?}"),
        };
        assert_eq!(text, want, "{line}");
    }

    #[test]
    fn answers_are_those_of_22_05() {
        check("errnumstr 2017", "Invalid job id specified\n (0)");
        check("errnumstr 13", "Permission denied\n (0)");
        check("errnumstr 99999", "Unknown error 99999\n (0)");
        check(
            "errnumstr x",
            "numeric arguments required for keyword:errnumstr (1)",
        );
        check(
            "errnumstr",
            "one arguments required for keyword:errnumstr (1)",
        );
        check("setdebug nosuch", "invalid debug level: nosuch (1)");
        check("setdebug info", "None");
        check("schedloglevel x", "invalid schedlog level: x (1)");
        check("reboot", "Missing node list. Specify ALL|<NodeList> (1)");
        check("token", "Error fetching token (1)");
        check("details", " (0)");
        check("pidinfo x", "Some(Ok(PidInfo(0)))");
        check("shutdown", "None");
    }
}
