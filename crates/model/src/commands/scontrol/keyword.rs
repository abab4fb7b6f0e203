//! The first word of a `scontrol`, and what may follow it.

use super::command::ScontrolCommand;
use super::daemons::of_daemons;
use super::entity::{create, delete, update};
use super::show::show;
use super::usage_error::ScontrolUsageError;
use crate::records::RequeueHold;
use crate::values::abbreviates;

/// Keywords of Slurm's that the embedded engine has no use for or no answer to yet.
const NOT_BUILT_IN: &[&str] = &[
    "abort",
    "fsdampeningfactor",
    "power",
    "setdebug",
    "setdebugflags",
    "shutdown",
    "takeover",
];

pub(super) fn command(words: &[String]) -> Result<ScontrolCommand, ScontrolUsageError> {
    let Some((keyword, rest)) = words.split_first() else {
        return Ok(ScontrolCommand::Nothing);
    };
    let is = |name: &str, least: usize| abbreviates(keyword, name, least);
    if is("show", 2) {
        return show(rest);
    }
    // Not shortened, as in Slurm.
    if is("requeuehold", 11) {
        return requeue(keyword, rest, true);
    }
    if is("requeue", 3) {
        return requeue(keyword, rest, false);
    }
    if ["hold", "holdu", "uhold"]
        .iter()
        .any(|name| keyword.eq_ignore_ascii_case(name))
    {
        return Ok(ScontrolCommand::Hold {
            jobs: without_keys(some(keyword, rest)?),
            hold: true,
            user: !keyword.eq_ignore_ascii_case("hold"),
        });
    }
    if is("release", 3) {
        return Ok(ScontrolCommand::Hold {
            jobs: without_keys(some(keyword, rest)?),
            hold: false,
            user: false,
        });
    }
    if is("suspend", 2) {
        return Ok(ScontrolCommand::Suspend {
            jobs: without_keys(some(keyword, rest)?),
            suspend: true,
        });
    }
    if is("resume", 3) {
        return Ok(ScontrolCommand::Suspend {
            jobs: without_keys(some(keyword, rest)?),
            suspend: false,
        });
    }
    if is("update", 1) {
        return update(rest);
    }
    if is("create", 2) {
        return create(rest);
    }
    if is("delete", 1) {
        return delete(rest);
    }
    if is("write", 2) {
        return write(rest);
    }
    if is("listpids", 1) {
        return match rest {
            [_, _, _, ..] => Err(ScontrolUsageError::TooMany(keyword.clone())),
            _ => Ok(ScontrolCommand::ListPids {
                job: rest.first().cloned(),
                node: rest.get(1).cloned(),
            }),
        };
    }
    if is("notify", 1) {
        return match rest {
            [job, words @ ..] if !words.is_empty() => Ok(ScontrolCommand::Notify {
                job: job.clone(),
                text: words.join(" "),
            }),
            _ => Err(ScontrolUsageError::TooFew(keyword.clone())),
        };
    }
    if is("top", 3) {
        return Ok(ScontrolCommand::Top(without_keys(some(keyword, rest)?)));
    }
    let bare = [
        ("reconfigure", 3, ScontrolCommand::Reconfigure),
        ("ping", 3, ScontrolCommand::Ping),
        ("version", 4, ScontrolCommand::Version),
        ("help", 2, ScontrolCommand::Help),
    ];
    for (name, least, command) in bare {
        if is(name, least) {
            return match rest {
                [] => Ok(command),
                _ => Err(ScontrolUsageError::TooMany(keyword.clone())),
            };
        }
    }
    if let Some(answer) = of_daemons(keyword, rest) {
        return answer;
    }
    if NOT_BUILT_IN
        .iter()
        .any(|name| keyword.eq_ignore_ascii_case(name))
    {
        return Err(ScontrolUsageError::Missing {
            what: keyword.clone(),
            todo: "it is about Slurm's daemons; yard engine starts, stops and shows this engine",
        });
    }
    Err(ScontrolUsageError::Keyword(keyword.clone()))
}

/// `write batch_script`
fn write(words: &[String]) -> Result<ScontrolCommand, ScontrolUsageError> {
    match words {
        [] => Err(ScontrolUsageError::TooFew("write".to_owned())),
        [entity, ..] if !abbreviates(entity, "batch_script", 5) => {
            Err(ScontrolUsageError::WriteEntity(entity.clone()))
        }
        // Without a job the real one does nothing.
        [_] => Ok(ScontrolCommand::None {
            stdout: String::new(),
            stderr: String::new(),
            status: 0,
        }),
        [_, job] => Ok(ScontrolCommand::WriteScript {
            job: job.clone(),
            file: None,
        }),
        [_, job, file] => Ok(ScontrolCommand::WriteScript {
            job: job.clone(),
            // The real one takes options for no names.
            file: Some(file.clone()).filter(|name| name == "-" || !name.starts_with('-')),
        }),
        [_, _, _, _, ..] => Err(ScontrolUsageError::TooMany("write".to_owned())),
    }
}

/// `requeue [incomplete] [State=SpecialExit] ID …`; flags alone do nothing, as in Slurm.
fn requeue(
    keyword: &str,
    words: &[String],
    hold: bool,
) -> Result<ScontrolCommand, ScontrolUsageError> {
    let (mut only_running, mut special_exit) = (false, false);
    let mut rest = some(keyword, words)?.into_iter().peekable();
    while let Some(word) = rest.peek() {
        if abbreviates(word, "incomplete", 0) {
            only_running = true;
        } else if is_special_exit(word) {
            special_exit = true;
        } else {
            break;
        }
        rest.next();
    }
    Ok(ScontrolCommand::Requeue {
        // The real `requeuehold` takes ids alone.
        jobs: if hold {
            rest.collect()
        } else {
            without_keys(rest.collect())
        },
        hold: match (hold, special_exit) {
            (false, false) => RequeueHold::No,
            (true, false) => RequeueHold::Held,
            (false, true) => RequeueHold::SpecialExit,
            (true, true) => RequeueHold::HeldSpecialExit,
        },
        only_running,
    })
}

/// `State=SpecialExit`, `State=SE`; what follows in the word is not read, as in Slurm.
fn is_special_exit(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let state = word.strip_prefix("state=");
    state.is_some_and(|state| state.starts_with("specialexit") || state.starts_with("se"))
}

/// Ids without the `JobID=` or `Job=` that may stand before them.
fn without_keys(mut jobs: Vec<String>) -> Vec<String> {
    for job in &mut jobs {
        for key in ["jobid=", "job="] {
            let starts = job.get(..key.len());
            if starts.is_some_and(|start| start.eq_ignore_ascii_case(key)) {
                job.drain(..key.len());
            }
        }
    }
    jobs
}

fn some(keyword: &str, words: &[String]) -> Result<Vec<String>, ScontrolUsageError> {
    if words.is_empty() {
        return Err(ScontrolUsageError::TooFew(keyword.to_owned()));
    }
    Ok(words.to_vec())
}
