//! The first word of a `scontrol`, and what may follow it.

use super::command::ScontrolCommand;
use super::daemons::of_daemons;
use super::entity::{create, delete, update};
use super::settings::setting;
use super::show::show;
use super::usage_error::ScontrolUsageError;
use crate::records::RequeueHold;
use crate::values::abbreviates;

pub(super) fn command(words: &[String]) -> Result<ScontrolCommand, ScontrolUsageError> {
    let Some((keyword, rest)) = words.split_first() else {
        return Ok(ScontrolCommand::Nothing);
    };
    let is = |name: &str, least: usize| abbreviates(keyword, name, least);
    if let Some(answer) = setting(keyword, rest) {
        return answer;
    }
    if is("show", 3) {
        return show(keyword, rest);
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
        return update(keyword, rest);
    }
    if is("create", 2) {
        return create(keyword, rest);
    }
    if is("delete", 3) {
        return delete(keyword, rest);
    }
    if is("write", 5) {
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
    if is("ping", 3) {
        return match rest {
            [] => Ok(ScontrolCommand::Ping),
            _ => Err(ScontrolUsageError::TooMany(keyword.clone())),
        };
    }
    // More words don't keep it from it.
    if is("reconfigure", 3) {
        return Ok(ScontrolCommand::Reconfigure);
    }
    // These are printed all the same.
    let told = [
        ("version", 4, ScontrolCommand::Version),
        ("help", 2, ScontrolCommand::Help),
    ];
    for (name, least, command) in told {
        if is(name, least) {
            return Ok(match rest {
                [] => command,
                _ => ScontrolCommand::WithMore {
                    command: Box::new(command),
                    said: if name == "version" {
                        format!("too many arguments for {keyword} keyword")
                    } else {
                        ScontrolUsageError::TooMany(keyword.clone()).to_string()
                    },
                },
            });
        }
    }
    if is("getent", 6) {
        return Ok(ScontrolCommand::StepUsers(rest.first().cloned()));
    }
    if let Some(answer) = of_daemons(keyword, rest) {
        return answer;
    }
    Err(ScontrolUsageError::Keyword(keyword.clone()))
}

/// `write batch_script`
fn write(words: &[String]) -> Result<ScontrolCommand, ScontrolUsageError> {
    match words {
        [] => Err(ScontrolUsageError::TooFew("write".to_owned())),
        [_, _, _, _, ..] => Err(ScontrolUsageError::TooMany("write".to_owned())),
        [entity, ..] if abbreviates(entity, "config", 6) => match words {
            [_, _, _, ..] => Err(ScontrolUsageError::TooMany("write".to_owned())),
            _ => Err(ScontrolUsageError::Missing {
                what: "write config".to_owned(),
                todo: "scontrol show config prints it; yard cluster show shows the cluster's file",
            }),
        },
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
