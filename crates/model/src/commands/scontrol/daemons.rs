//! Keywords of `scontrol` that are about Slurm's daemons.

use super::command::ScontrolCommand;
use super::usage_error::ScontrolUsageError;
use crate::values::abbreviates;

/// As `scontrol errnumstr` of 22.05.8 says them: number, words.
const ERRORS: &str = include_str!("error_numbers.tsv");

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
    let too_few = || Some(Err(ScontrolUsageError::TooFew(keyword.to_owned())));
    let too_many = || Some(Err(ScontrolUsageError::TooMany(keyword.to_owned())));
    if is("completing", 2) {
        return match words {
            [] => Some(Ok(ScontrolCommand::Completing)),
            _ => too_many(),
        };
    }
    if is("errnumstr", 2) {
        return Some(Ok(error_number(keyword, words)));
    }
    if is("pidinfo", 3) {
        return match words {
            [pid] => Some(Ok(ScontrolCommand::PidInfo(pid.parse().unwrap_or(0)))),
            [] => Some(Err(ScontrolUsageError::NoArgument(keyword.to_owned()))),
            _ => too_many(),
        };
    }
    if is("wait_job", 2) {
        return match words {
            [job] if !job.starts_with(|first: char| first.is_ascii_digit() && first != '0') => {
                Some(Err(ScontrolUsageError::WaitedJob(job.clone())))
            }
            [job] => Some(Ok(ScontrolCommand::WaitJob(job.clone()))),
            [] => too_few(),
            _ => too_many(),
        };
    }
    if is("cancel_reboot", 3) {
        return match words {
            [nodes] => Some(Ok(ScontrolCommand::CancelReboot(nodes.clone()))),
            [] => Some(Err(ScontrolUsageError::NoArgument(keyword.to_owned()))),
            _ => too_many(),
        };
    }
    if is("gethost", 7) && words.len() != 2 {
        let words = format!("two arguments required for keyword:{keyword}");
        return Some(Ok(said("", &words, 1)));
    }
    // Of these one word is read.
    let of_one = [
        ("schedloglevel", 3),
        ("setdebug", 2),
        ("setdebugflags", 9),
        ("fsdampeningfactor", 3),
    ];
    if of_one.iter().any(|(name, least)| is(name, *least)) {
        match words {
            [] => return too_few(),
            [_] => {}
            _ => return too_many(),
        }
    }
    if is("callerid", 3) && words.len() < 3 {
        return too_few();
    }
    // There is no log of the scheduler's own, no program that boots a node and no key to sign a token with: as
    // where Slurm has none of them.
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
        return Some(reboot(keyword, words));
    } else if is("token", 3) {
        let is_known =
            |word: &&String| word.starts_with("lifespan=") || word.starts_with("username=");
        match words.iter().find(|word| !is_known(word)) {
            Some(word) => said("", &format!("Invalid option: `{word}`"), 1),
            None => said("", "Error fetching token", 1),
        }
    } else if is("setdebug", 2) {
        let level = first?;
        if is_level(level) {
            return Some(Err(not_built_in("setdebug")));
        }
        said("", &format!("invalid debug level: {level}"), 1)
    } else if is("setdebugflags", 9) {
        let flag = first?;
        if flag.starts_with(['+', '-']) {
            return Some(Err(not_built_in("setdebugflags")));
        }
        let words = format!("invalid debug flag: {flag}\nUsage: setdebugflags [+|-]NAME");
        said("", &words, 1)
    } else if is("fsdampeningfactor", 3) {
        let factor = first?;
        if factor.parse::<u16>().is_ok_and(|factor| factor > 0) {
            return Some(Err(not_built_in("fsdampeningfactor")));
        }
        said("", &format!("invalid dampening factor: {factor}"), 0)
    } else {
        let others = ["abort", "callerid", "gethost", "shutdown", "takeover"];
        let other = others
            .iter()
            .find(|name| keyword.eq_ignore_ascii_case(name))?;
        return Some(Err(not_built_in(other)));
    };
    Some(Ok(answer))
}

/// What of Slurm's the embedded engine has no use for.
fn not_built_in(keyword: &str) -> ScontrolUsageError {
    ScontrolUsageError::Missing {
        what: keyword.to_owned(),
        todo: "it is about Slurm's daemons; yard engine starts, stops and shows this engine",
    }
}

/// `reboot [ASAP] [nextstate=RESUME|DOWN] [reason=TEXT] NODES`: as where no program reboots nodes.
fn reboot(keyword: &str, words: &[String]) -> Result<ScontrolCommand, ScontrolUsageError> {
    let mut rest = words;
    while let Some((word, others)) = rest.split_first() {
        let word = word.to_ascii_lowercase();
        if let Some(state) = word.strip_prefix("nextstate=") {
            if !["down", "resume"].contains(&state) {
                let words = format!("Invalid state: {state}\nValid states: DOWN, RESUME");
                return Ok(said("", &words, 1));
            }
        } else if word != "asap" && !word.starts_with("reason=") {
            break;
        }
        rest = others;
    }
    match rest {
        [] => Ok(said("", "Missing node list. Specify ALL|<NodeList>", 1)),
        [_] => Ok(said(
            "",
            "scontrol: error: RebootProgram isn't defined\nscontrol_reboot_nodes error: Unspecified error",
            1,
        )),
        _ => Err(ScontrolUsageError::TooMany(keyword.to_owned())),
    }
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

pub(super) fn said(stdout: &str, stderr: &str, status: u8) -> ScontrolCommand {
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
            Some(Err(error)) => format!("{error} (1)"),
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
        check("setdebug", "too few arguments for keyword:setdebug (1)");
        check("se info x", "too many arguments for keyword:se (1)");
        check(
            "setdebugflags x",
            "invalid debug flag: x\nUsage: setdebugflags [+|-]NAME (1)",
        );
        check("fsd", "too few arguments for keyword:fsd (1)");
        check("fsd 0", "invalid dampening factor: 0 (0)");
        check("schedloglevel x", "invalid schedlog level: x (1)");
        check("reboot", "Missing node list. Specify ALL|<NodeList> (1)");
        check(
            "reboot ASAP",
            "Missing node list. Specify ALL|<NodeList> (1)",
        );
        check(
            "reboot nextstate=x node1",
            "Invalid state: x\nValid states: DOWN, RESUME (1)",
        );
        check(
            "reboot node1 node2",
            "too many arguments for keyword:reboot (1)",
        );
        check("token", "Error fetching token (1)");
        check("token lifespan=5 x", "Invalid option: `x` (1)");
        check("pidinfo", "missing argument for keyword:pidinfo (1)");
        check("pidinfo x", "Some(Ok(PidInfo(0)))");
        check("cancel", "missing argument for keyword:cancel (1)");
        check(
            "gethost x",
            "two arguments required for keyword:gethost (1)",
        );
        check("wait_job x", "Invalid job_id x (1)");
        check("power up node1", "None");
    }
}
