//! A program that gets an input and a limit.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// So much of what it prints is kept, in bytes.
const KEPT: u64 = 1 << 16;

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounded {
    /// Its exit code; 128 + signal where one ended it.
    pub code: i32,
    /// The beginning of what it wrote to its standard output.
    pub output: String,
}

/// Runs a program with that input until it ends, but no longer than `limit`: then it is killed. What
/// it writes to its standard error is thrown away, since it may hold what was a secret in its input.
///
/// # Errors
/// It can't be started; `TimedOut` where it was killed.
pub fn run_bounded(command: &mut Command, input: Vec<u8>, limit: Duration) -> io::Result<Bounded> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    std::thread::spawn(move || {
        if let Some(mut stdin) = stdin {
            // A program that reads nothing says so by its exit code.
            let _ = stdin.write_all(&input);
        }
    });
    let (tell, hear) = channel();
    std::thread::spawn(move || {
        let mut output = Vec::new();
        if let Some(mut stdout) = stdout {
            let _ = stdout.by_ref().take(KEPT).read_to_end(&mut output);
            let _ = io::copy(&mut stdout, &mut io::sink());
        }
        let _ = tell.send(output);
    });
    let output = match hear.recv_timeout(limit) {
        Ok(output) => output,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            let _ = child.kill();
            child.wait()?;
            return Err(io::ErrorKind::TimedOut.into());
        }
    };
    // It has closed its output; one that lives on is not waited for.
    let begun = std::time::Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begun.elapsed() > limit {
            let _ = child.kill();
            child.wait()?;
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    Ok(Bounded {
        code: status.code().unwrap_or(128 + signal.unwrap_or(0)),
        output: String::from_utf8_lossy(&output).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, input: &[u8], limit: Duration) -> io::Result<Bounded> {
        run_bounded(
            Command::new("sh").args(["-c", script]),
            input.to_vec(),
            limit,
        )
    }

    #[test]
    fn input_output_and_exit_code() {
        let long = Duration::from_secs(60);
        let ended = sh("cat; echo lost >&2; exit 3", b"hello", long).unwrap();
        assert_eq!((ended.code, ended.output.as_str()), (3, "hello"));
        // More than a pipe holds, not read; more than is kept, written.
        let ended = sh("yes | head -c 1000000", &vec![b'x'; 1 << 20], long).unwrap();
        assert_eq!((ended.code, ended.output.len() as u64), (0, KEPT));
        assert_eq!(sh("kill -9 $$", b"", long).unwrap().code, 137);
    }

    #[test]
    fn one_that_hangs_is_killed() {
        let error = sh("exec sleep 600", b"", Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
