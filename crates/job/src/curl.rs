//! One question over the network, asked with the program `curl`: it knows TLS, logins, proxies and the
//! machine's certificates.
//!
//! All that is asked goes to its standard input, where no list of processes shows what is secret.

use std::fmt::{self, Display};
use std::io;
use std::process::Command;
use std::time::Duration;
use sys::run_bounded;

/// A question that is being put together; not `Debug`, as what it asks with may be a secret.
pub struct Curl {
    config: String,
    limit: Duration,
}

/// Why no answer came. `curl`'s own words may hold the address, which may be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CurlError {
    /// The machine has no `curl`.
    NotInstalled,
    /// None within the limit.
    NoAnswer(Duration),
    /// The exit code of `curl`.
    Ended(i32),
    /// It could not be run.
    System(String),
}

impl Display for CurlError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CurlError::NotInstalled => to.write_str("curl is not installed on this machine"),
            CurlError::NoAnswer(limit) => write!(to, "no answer within {} s", limit.as_secs()),
            CurlError::Ended(5 | 6) => to.write_str("its name is not known here"),
            CurlError::Ended(7) => to.write_str("no connection"),
            CurlError::Ended(35 | 51 | 58 | 60) => {
                to.write_str("no TLS connection that can be trusted")
            }
            CurlError::Ended(55 | 56) => to.write_str("the connection broke"),
            CurlError::Ended(67) => to.write_str("it refuses the login"),
            CurlError::Ended(code) => write!(to, "curl ended with {code}"),
            CurlError::System(why) => to.write_str(why),
        }
    }
}

impl Curl {
    /// To that address, no longer than `limit` in whole seconds, but one at least.
    pub fn to(url: &str, limit: Duration) -> Curl {
        let limit = Duration::from_secs(limit.as_secs().max(1));
        let config = String::new();
        Curl { config, limit }.set("url", url)
    }

    /// With one of `curl`'s long options that takes a value.
    pub fn set(mut self, option: &str, value: &str) -> Curl {
        self.config
            .push_str(&format!("{option} = {}\n", quoted(value)));
        self
    }

    /// With one that takes none.
    pub fn flag(mut self, option: &str) -> Curl {
        self.config.push_str(option);
        self.config.push('\n');
        self
    }

    /// The status of the answer, as the protocol has it.
    pub fn status(self) -> Result<String, CurlError> {
        self.set("output", "/dev/null")
            .set("write-out", "%{response_code}")
            .answer()
    }

    /// The answer: its head where it was asked for with `head`, else its body.
    pub fn answer(self) -> Result<String, CurlError> {
        let Curl { config, limit } = self;
        let seconds = limit.as_secs().to_string();
        let mut command = Command::new("curl");
        command.args(["-q", "--silent", "--globoff", "--max-time", &seconds]);
        command.args(["--config", "-"]);
        // It watches the limit by itself; this is for one that doesn't.
        let patience = limit + Duration::from_secs(1);
        match run_bounded(&mut command, config.into_bytes(), patience) {
            Ok(ended) if ended.code == 0 => Ok(ended.output),
            Ok(ended) if ended.code == 28 => Err(CurlError::NoAnswer(limit)),
            Ok(ended) => Err(CurlError::Ended(ended.code)),
            Err(error) => Err(match error.kind() {
                io::ErrorKind::NotFound => CurlError::NotInstalled,
                io::ErrorKind::TimedOut => CurlError::NoAnswer(limit),
                _ => CurlError::System(error.to_string()),
            }),
        }
    }
}

/// As a value in a config of `curl`: nothing in it ends the line or the value.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace(char::is_control, " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_one_value() {
        let asked = Curl::to("a\"b\\c\nurl = x", Duration::ZERO).flag("head");
        assert_eq!(asked.config, "url = \"a\\\"b\\\\c url = x\"\nhead\n");
        assert_eq!(asked.limit, Duration::from_secs(1));
    }

    #[test]
    fn why_no_answer_came() {
        let check = |error: CurlError, want: &str| assert_eq!(error.to_string(), want);
        check(CurlError::Ended(6), "its name is not known here");
        check(
            CurlError::Ended(60),
            "no TLS connection that can be trusted",
        );
        check(CurlError::Ended(99), "curl ended with 99");
        check(
            CurlError::NoAnswer(Duration::from_secs(4)),
            "no answer within 4 s",
        );
    }
}
