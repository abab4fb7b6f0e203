//! Limits and lengths of time in a cluster file.

use super::value::{Value, Wrong, quoted, text};
use model::{Seconds, TimeLimitRequest, length_with_units};
use toml::de::DeValue;

/// Slurm holds limits as minutes in 32 bits, of which the two highest values are no time
/// (`INFINITE` and `NO_VAL` of slurm.h).
const MOST_MINUTES: u64 = 0xffff_fffd;

/// Whether a time is one that Slurm can hold.
pub(super) fn is_counted(time: TimeLimitRequest) -> bool {
    match time {
        TimeLimitRequest::Limit(limit) => limit.0 / 60 <= MOST_MINUTES,
        TimeLimitRequest::Unlimited => true,
    }
}

impl Value for TimeLimitRequest {
    const TAKES: &'static str = "a time such as \"24h\", \"7d\", \"7-00:00:00\" or \"UNLIMITED\"";

    fn read(value: &DeValue<'_>) -> Result<TimeLimitRequest, Wrong> {
        let text = text(value)?;
        // A bare number of minutes is what people get wrong most; the file is read for years.
        if text.contains([':', '-']) || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            let with_units =
                length_with_units(text).map(|length| TimeLimitRequest::Limit(Seconds(length)));
            match with_units.or_else(|| TimeLimitRequest::parse_uncut(text)) {
                None => Err(Wrong::because(format!("{text:?} is no time"))),
                Some(time) if is_counted(time) => Ok(time),
                Some(_) => Err(Wrong {
                    help: "write UNLIMITED where there is no limit".to_owned(),
                    ..Wrong::because(format!("{text:?} is longer than Slurm counts"))
                }),
            }
        } else {
            Err(Wrong::because(format!("{text:?} does not say of what")))
        }
    }

    fn toml(&self) -> String {
        quoted(&self.to_string())
    }

    fn plain(&self) -> String {
        match self {
            TimeLimitRequest::Unlimited => "no limit".to_owned(),
            TimeLimitRequest::Limit(limit) => plain_length(*limit),
        }
    }
}

/// `8 h`, `7 d`, `30 min`; what is uneven as Slurm writes it.
fn plain_length(length: Seconds) -> String {
    match length.0 {
        0 => "0 s".to_owned(),
        seconds if seconds % 86_400 == 0 && seconds > 86_400 => format!("{} d", seconds / 86_400),
        seconds if seconds % 3600 == 0 => format!("{} h", seconds / 3600),
        seconds if seconds % 60 == 0 && seconds < 3600 => format!("{} min", seconds / 60),
        seconds if seconds < 60 => format!("{seconds} s"),
        seconds => TimeLimitRequest::Limit(Seconds(seconds)).to_string(),
    }
}

impl Value for Seconds {
    const TAKES: &'static str = "a length of time, such as \"2m\" or \"00:02:00\"";

    fn read(value: &DeValue<'_>) -> Result<Seconds, Wrong> {
        let text = text(value)?;
        let wrong = || Wrong::because(format!("{text:?} is no length of time"));
        if let Some(length) = length_with_units(text) {
            return Ok(Seconds(length));
        }
        if !text.contains(':') && !text.contains('-') {
            return Err(wrong());
        }
        match TimeLimitRequest::parse_uncut(text).ok_or_else(wrong)? {
            TimeLimitRequest::Limit(length) => Ok(length),
            TimeLimitRequest::Unlimited if text.bytes().any(|byte| byte == b'0') => Ok(Seconds(0)),
            TimeLimitRequest::Unlimited => Err(wrong()),
        }
    }

    fn toml(&self) -> String {
        quoted(&TimeLimitRequest::Limit(*self).to_string())
    }

    fn plain(&self) -> String {
        plain_length(*self)
    }
}
