//! Reaching an engine: hello, and the start of one where none answers or an older one does.

use crate::serving_program::newer_program;
use crate::start_engine::start_engine;
use crate::{
    Call, ConnectError, EngineFolder, Handover, Hello, HelloAnswer, LONGEST_ANSWER, PROTOCOL,
    Startup, VERSION, read_frame, write_frame,
};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for an engine that holds the lock but does not answer yet.
const LONGEST_CONNECT: Duration = Duration::from_secs(60);
/// Pause between two attempts while another engine starts or ends.
const PAUSE: Duration = Duration::from_millis(5);
/// How many engines that end before they serve, giving no reason, are started anew.
const MOST_DIED: u32 = 3;

/// Connects, starting or replacing an engine as needed.
pub(crate) fn reach(
    folder: &EngineFolder,
    program: &Path,
    shows_notices: bool,
) -> Result<(UnixStream, HelloAnswer), ConnectError> {
    let begun = Instant::now();
    let mut died = 0;
    loop {
        let last = match greet(folder, shows_notices) {
            Ok((mut stream, engine)) => {
                if engine.protocol > PROTOCOL {
                    return Err(newer(folder, &engine));
                }
                if !is_older(&engine) {
                    return Ok((stream, engine));
                }
                let owner = sys::socket::peer_uid(&stream).unwrap_or(0);
                if owner != sys::process::user() {
                    return foreign(stream, engine, owner);
                }
                // Its answer, or the closed connection, says that its lock is free; any other
                // trouble shows when the next engine finds the lock held.
                let _either_way = hand_over(&mut stream);
                format!("engine {} did not hand over", engine.version)
            }
            Err(error) => error.to_string(),
        };
        let startup = match start_engine(folder, program) {
            // Killed while it started, perhaps: the next one may live.
            Err(ConnectError::Died { .. }) if died < MOST_DIED => {
                died += 1;
                continue;
            }
            startup => startup?,
        };
        match startup {
            Startup::Ready => {}
            // Two clients started engines at once, or the former engine is still ending.
            Startup::Locked => await_other(folder),
            Startup::Failed {
                asked,
                there,
                todo,
                may_pass,
            } => {
                return Err(ConnectError::Failed {
                    asked,
                    there,
                    todo,
                    may_pass,
                });
            }
        }
        if begun.elapsed() > LONGEST_CONNECT {
            return Err(ConnectError::Silent {
                folder: folder.root().to_owned(),
                last,
            });
        }
    }
}

/// Waits a little for the engine that holds the lock to answer, or for its lock to be free again.
fn await_other(folder: &EngineFolder) {
    for _ in 0..40 {
        if sys::socket::connect(&folder.socket()).is_ok() {
            return;
        }
        thread::sleep(PAUSE);
    }
}

pub(crate) fn greet(
    folder: &EngineFolder,
    shows_notices: bool,
) -> io::Result<(UnixStream, HelloAnswer)> {
    let mut stream = sys::socket::connect(&folder.socket())?;
    stream.set_read_timeout(Some(LONGEST_CONNECT))?;
    write_frame(&mut stream, &hello(shows_notices))?;
    let answer = read_hello(&mut stream)?;
    Ok((stream, answer))
}

pub(crate) fn hello(shows_notices: bool) -> Hello {
    Hello {
        version: VERSION.to_owned(),
        protocol: PROTOCOL,
        shows_notices,
    }
}

/// Reads what an engine says of itself, and shows what it has to report.
pub(crate) fn read_hello(stream: &mut impl Read) -> io::Result<HelloAnswer> {
    let answer: Option<HelloAnswer> = read_frame(stream, LONGEST_ANSWER)?;
    let answer = answer.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    if let Some(notice) = &answer.notice {
        // Here and not in each command: whichever comes first has to say it.
        let _unheard = writeln!(io::stderr(), "yard: warning: {notice}");
    }
    Ok(answer)
}

/// Not to be let in is not the same as that no engine is there.
pub(crate) fn refuse_locked_out(engine_dir: &Path, source: io::Error) -> Result<(), ConnectError> {
    if source.kind() != io::ErrorKind::PermissionDenied {
        return Ok(());
    }
    let folder = engine_dir.to_owned();
    Err(ConnectError::Folder { folder, source })
}

pub(crate) fn hand_over(stream: &mut UnixStream) -> io::Result<()> {
    let to = VERSION.to_owned();
    write_frame(stream, &Call::Handover(Handover { to }))?;
    read_frame::<serde_json::Value>(stream, LONGEST_ANSWER).map(|_answer| ())
}

/// An older engine of another user is not ours to replace; it is talked to where that is possible.
fn foreign(
    stream: UnixStream,
    engine: HelloAnswer,
    owner: u32,
) -> Result<(UnixStream, HelloAnswer), ConnectError> {
    if engine.protocol == PROTOCOL {
        return Ok((stream, engine));
    }
    Err(ConnectError::Foreign {
        ours: VERSION.to_owned(),
        theirs: engine.version,
        protocol: engine.protocol,
        owner,
    })
}

pub(crate) fn newer(folder: &EngineFolder, engine: &HelloAnswer) -> ConnectError {
    ConnectError::Newer {
        ours: VERSION.to_owned(),
        theirs: engine.version.clone(),
        protocol: engine.protocol,
        program: newer_program(folder),
    }
}

/// Whether this program's engine should take the place of the one that answers.
pub(crate) fn is_older(engine: &HelloAnswer) -> bool {
    engine.protocol < PROTOCOL
        || engine.protocol == PROTOCOL && numbers(&engine.version) < numbers(VERSION)
}

/// `1.12.3-rc1` as 1, 12, 3.
fn numbers(version: &str) -> Vec<u64> {
    let release = version.split(['-', '+']).next().unwrap_or_default();
    release
        .split('.')
        .map(|part| part.parse().unwrap_or(0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(protocol: u32, version: &str, older: bool) {
        let engine = HelloAnswer {
            version: version.to_owned(),
            protocol,
            pid: 1,
            store: String::new(),
            notice: None,
        };
        assert_eq!(is_older(&engine), older, "{version} {protocol}");
    }

    #[test]
    fn only_an_older_engine_is_replaced() {
        check(PROTOCOL, VERSION, false);
        check(PROTOCOL, "999.0.0", false);
        check(PROTOCOL, "0.0.9", true);
        check(PROTOCOL - 1, VERSION, true);
        check(PROTOCOL + 1, "0.0.1", false);
    }
}
