//! What a command did.

use std::process::Output;

/// Exit status and output of a command that has ended. Something must be asserted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a command's outcome has to be asserted: success(), code(n) or snapshot()"]
pub struct Outcome {
    /// Exit status; 128 + n after signal n, as a shell has it.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Outcome {
    /// Of a command that was waited for.
    pub fn of(output: &Output) -> Outcome {
        use std::os::unix::process::ExitStatusExt;
        let by_signal = || 128 + output.status.signal().unwrap_or(0);
        Outcome {
            status: output.status.code().unwrap_or_else(by_signal),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Standard output of a command that must have succeeded.
    ///
    /// # Panics
    /// When the status isn't 0.
    #[track_caller]
    pub fn success(self) -> String {
        self.code(0).stdout
    }

    /// The same outcome, of which the status is now known.
    ///
    /// # Panics
    /// When the status is another one.
    #[track_caller]
    pub fn code(self, status: i32) -> Outcome {
        assert_eq!(self.status, status, "{}", self.snapshot());
        self
    }

    /// Status and both outputs as one text, for `expect!`.
    #[must_use]
    pub fn snapshot(&self) -> String {
        format!(
            "status {}\n-- stdout\n{}-- stderr\n{}",
            self.status, self.stdout, self.stderr
        )
    }
}
