//! Signals by name, and `--signal=[R][B][:]SIGNAL[@SECONDS]`.

use crate::values::number::leading;
use crate::values::{Seconds, SlurmVersion};
use serde::{Deserialize, Serialize};
use std::fmt;

/// `--signal=[R][B][:]SIG[@SECONDS]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalSpec {
    /// The signal's number.
    pub signal: i32,
    /// So long before the limit.
    pub before: Seconds,
    /// Who gets it.
    pub target: SignalTarget,
    /// `R:` the job may use nodes of reservations that wait for it to end (`MaxStartDelay`).
    #[serde(default)]
    pub borrows: bool,
}

/// Who gets the warning signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalTarget {
    /// Every step but the batch script (the default).
    Steps,
    /// `B:` the batch shell alone.
    BatchShell,
}

/// The names that Slurm knows, with their numbers on Linux, for the architectures that Trainyard
/// runs on. Others can be given as numbers.
const SIGNALS: &[(&str, i32)] = &[
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ABRT", 6),
    ("KILL", 9),
    ("USR1", 10),
    ("USR2", 12),
    ("ALRM", 14),
    ("TERM", 15),
    ("CONT", 18),
    ("STOP", 19),
    ("TSTP", 20),
    ("TTIN", 21),
    ("TTOU", 22),
    ("URG", 23),
    ("XCPU", 24),
];

/// Those that 23.11 added (`sig_name2num` of `proc_args.c`).
const LATER_SIGNALS: &[(&str, i32)] = &[("PIPE", 13), ("CHLD", 17)];

/// The greatest signal that Linux has.
pub(crate) const GREATEST: i32 = 64;

/// Reads `USR1`, `SIGUSR1`, `usr1` or `10`.
#[must_use]
pub fn parse_signal(text: &str) -> Option<i32> {
    parse_signal_in(SlurmVersion::V22_05, text).filter(|signal| *signal <= GREATEST)
}

fn parse_signal_in(version: SlurmVersion, text: &str) -> Option<i32> {
    if let (Some(number), rest) = leading(text) {
        // Whether there is such a signal is not asked; of the number 16 bits are kept.
        let kept = i32::try_from(number & 0xffff).ok()?;
        return (rest.trim().is_empty() && kept > 0).then_some(kept);
    }
    let name = text.trim().to_ascii_uppercase();
    let name = name.strip_prefix("SIG").unwrap_or(&name);
    let later = LATER_SIGNALS
        .iter()
        .filter(|_| version >= SlurmVersion::V23_11);
    let found = SIGNALS
        .iter()
        .chain(later)
        .find(|(known, _)| *known == name);
    found.map(|(_, number)| *number)
}

/// The name without `SIG`; a number where there is none.
#[must_use]
pub fn signal_name(signal: i32) -> String {
    let found = SIGNALS.iter().find(|(_, number)| *number == signal);
    found.map_or_else(|| signal.to_string(), |(name, _)| (*name).to_owned())
}

impl SignalSpec {
    /// Reads what `--signal` takes; 60 seconds before the end without a time. `batch` is true for
    /// `sbatch`, which alone knows `B`. `None` where Slurm says "Invalid --signal specification".
    #[must_use]
    pub fn parse(text: &str, batch: bool) -> Option<SignalSpec> {
        SignalSpec::parse_in(SlurmVersion::V22_05, text, batch)
    }

    /// The same by the rules of a version.
    pub(crate) fn parse_in(version: SlurmVersion, text: &str, batch: bool) -> Option<SignalSpec> {
        let strip = |text, letter: char| {
            let text: &str = text;
            match text.strip_prefix([letter, letter.to_ascii_lowercase()]) {
                Some(rest) => (rest, true),
                None => (text, false),
            }
        };
        let (rest, borrows) = strip(text, 'R');
        let (rest, shell) = if batch {
            strip(rest, 'B')
        } else {
            (rest, false)
        };
        let (rest, borrows_too) = if batch {
            strip(rest, 'R')
        } else {
            (rest, false)
        };
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        let (name, before) = match rest.split_once('@') {
            Some((name, seconds)) => {
                let (number, rest) = leading(seconds);
                let number = u64::try_from(number.unwrap_or(0)).ok()?;
                (
                    name,
                    (rest.is_empty() && number <= 0xffff).then_some(number)?,
                )
            }
            None => (rest, 60),
        };
        Some(SignalSpec {
            signal: parse_signal_in(version, name)?,
            before: Seconds(before),
            target: if shell {
                SignalTarget::BatchShell
            } else {
                SignalTarget::Steps
            },
            borrows: borrows || borrows_too,
        })
    }
}

impl fmt::Display for SignalSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = match (self.borrows, self.target) {
            (true, SignalTarget::BatchShell) => "RB:",
            (true, SignalTarget::Steps) => "R:",
            (false, SignalTarget::BatchShell) => "B:",
            (false, SignalTarget::Steps) => "",
        };
        let name = signal_name(self.signal);
        write!(f, "{flags}{name}@{}", self.before.0)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails loudly")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, printed: &str) {
        let read = SignalSpec::parse(text, true);
        assert_eq!(
            read.map_or("invalid".to_owned(), |spec| spec.to_string()),
            printed
        );
    }

    #[test]
    fn forms() {
        check("USR1", "USR1@60");
        check("SIGUSR1@90", "USR1@90");
        check("B:TERM", "B:TERM@60");
        check("RB:12@0", "RB:USR2@0");
        check("R:USR1", "R:USR1@60");
        check("BR:10", "RB:USR1@60");
        for wrong in [
            "",
            "X@1",
            "BUS",
            "SIGCHLD",
            "USR1@99999",
            "USR1@-1",
            "USR1@1x",
            "0",
            "B:",
        ] {
            check(wrong, "invalid");
        }
    }

    proptest! {
        #[test]
        fn print_then_parse(signal in 1_i32..64, before in 0_u64..65_536, shell: bool, borrows: bool) {
            let target = if shell { SignalTarget::BatchShell } else { SignalTarget::Steps };
            let spec = SignalSpec { signal, before: Seconds(before), target, borrows };
            prop_assert_eq!(SignalSpec::parse(&spec.to_string(), true).unwrap(), spec);
        }
    }
}
