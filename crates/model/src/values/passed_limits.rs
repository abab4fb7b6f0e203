//! The limits of a process (`ulimit`) that a job takes over from the shell that submits it.

use super::Variables;

/// The limits that `--propagate` knows, by its names.
const NAMES: [&str; 10] = [
    "AS", "CORE", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "NPROC", "RSS", "STACK",
];

/// How the variables are called in which limits travel: Slurm's own, which no program of the job
/// sees.
const PREFIX: &str = "SLURM_RLIMIT_";

/// Which limits go along (`--propagate`); without the option all, as far as the node lets them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PassedLimits {
    /// All of them.
    #[default]
    All,
    /// Those that were asked for by name; the job's output names one that can't be set.
    Requested(Vec<&'static str>),
}

/// One that came with a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedLimit {
    /// Its name, without `RLIMIT_`.
    pub name: String,
    /// The soft limit, in the unit of `setrlimit`; `u64::MAX` is none.
    pub soft: u64,
    /// It was asked for by name.
    pub asked: bool,
}

impl PassedLimits {
    /// Reads the option's value; an empty one is `ALL`.
    ///
    /// # Errors
    /// Slurm's words.
    pub fn parse(text: &str) -> Result<PassedLimits, String> {
        let mut asked = Vec::new();
        let words = text.split([',', ' ']).filter(|word| !word.is_empty());
        let mut words = words.peekable();
        if words.peek().is_none() {
            asked.extend(NAMES);
        }
        for word in words {
            let name = word.strip_prefix("RLIMIT_").unwrap_or(word);
            match NAMES.iter().find(|known| **known == name) {
                Some(name) => asked.push(*name),
                None if name == "ALL" => asked.extend(NAMES),
                None if name == "NONE" => asked.clear(),
                None => {
                    return Err(format!(
                        "Bad rlimit name: {word}\n--propagate={text} is not valid."
                    ));
                }
            }
        }
        Ok(PassedLimits::Requested(asked))
    }

    /// The variables that carry them, of the submitting process's soft `limits` by their names.
    #[must_use]
    pub fn variables(&self, limits: &[(&str, u64)]) -> Variables {
        let of = |(name, soft): &(&str, u64)| {
            let value = match self {
                PassedLimits::All => soft.to_string(),
                PassedLimits::Requested(names) if names.contains(name) => format!("U{soft}"),
                PassedLimits::Requested(_) => return None,
            };
            Some((format!("{PREFIX}{name}"), value))
        };
        limits.iter().filter_map(of).collect()
    }
}

impl PassedLimit {
    /// Takes those that came with a job out of its environment.
    pub fn take(environment: &mut Variables) -> Vec<PassedLimit> {
        let mut taken = Vec::new();
        environment.retain(|(name, value)| {
            let Some(name) = name.strip_prefix(PREFIX) else {
                return true;
            };
            let number = value.strip_prefix('U');
            taken.extend(
                number
                    .unwrap_or(value)
                    .parse()
                    .ok()
                    .map(|soft| PassedLimit {
                        name: name.to_owned(),
                        soft,
                        asked: number.is_some(),
                    }),
            );
            false
        });
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(option: Option<&str>, want: &str) {
        let passed = option.map_or(Ok(PassedLimits::default()), PassedLimits::parse);
        let limits = [("CORE", 0), ("NOFILE", 1024), ("STACK", u64::MAX)];
        let mut variables = passed.expect("it is right").variables(&limits);
        variables.push(("HOME".to_owned(), "/h".to_owned()));
        let taken = PassedLimit::take(&mut variables);
        let words = taken.iter().map(|limit| {
            let asked = if limit.asked { "!" } else { "" };
            format!("{}={}{asked}", limit.name, limit.soft)
        });
        assert_eq!(words.collect::<Vec<_>>().join(" "), want, "{option:?}");
        assert_eq!(variables.len(), 1);
    }

    #[test]
    fn which_go_along() {
        check(None, "CORE=0 NOFILE=1024 STACK=18446744073709551615");
        check(Some("NONE"), "");
        check(Some("NOFILE"), "NOFILE=1024!");
        check(Some("RLIMIT_CORE,NOFILE"), "CORE=0! NOFILE=1024!");
        let all = "CORE=0! NOFILE=1024! STACK=18446744073709551615!";
        check(Some(""), all);
        check(Some("ALL"), all);
        let wrong = "Bad rlimit name: FOO\n--propagate=NOFILE,FOO is not valid.";
        assert_eq!(PassedLimits::parse("NOFILE,FOO"), Err(wrong.to_owned()));
    }
}
