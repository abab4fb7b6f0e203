//! For how long ended jobs are remembered.

use sys::env_vars::{TRAINYARD_KEEP_DAYS, TRAINYARD_KEEP_JOBS};

const DAY_MS: i64 = 86_400_000;

/// Jobs beyond either bound are forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keep {
    /// Since their ends.
    pub(crate) millis: i64,
    /// The newest, by their ids.
    pub(crate) jobs: u32,
}

impl Keep {
    /// As the user says, or a year and a million.
    pub(crate) fn from_env() -> Result<Keep, NotACount> {
        Keep::of(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    fn of(value: impl Fn(&str) -> Option<String>) -> Result<Keep, NotACount> {
        let said = |name| value(name).filter(|text| !text.is_empty());
        let count = |name, default: u32| match said(name) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| NotACount { name, value: text }),
        };
        Ok(Keep {
            millis: i64::from(count(TRAINYARD_KEEP_DAYS, 365)?) * DAY_MS,
            jobs: count(TRAINYARD_KEEP_JOBS, 1_000_000)?,
        })
    }
}

/// A variable says no number where one is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotACount {
    pub(crate) name: &'static str,
    pub(crate) value: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_and_a_million_unless_said() {
        let default = Keep {
            millis: 365 * DAY_MS,
            jobs: 1_000_000,
        };
        let of = |days: Option<&str>, jobs: Option<&str>| {
            Keep::of(|name| {
                let said = if name == TRAINYARD_KEEP_DAYS {
                    days
                } else {
                    jobs
                };
                said.map(str::to_owned)
            })
        };
        assert_eq!(of(None, None), Ok(default));
        let said = Keep {
            millis: 7 * DAY_MS,
            jobs: 100,
        };
        assert_eq!(of(Some("7"), Some("100")), Ok(said));
        let refused = |name, value: &str| {
            let value = value.to_owned();
            Err(NotACount { name, value })
        };
        assert_eq!(of(Some("soon"), None), refused(TRAINYARD_KEEP_DAYS, "soon"));
        assert_eq!(
            of(Some("7"), Some("-1")),
            refused(TRAINYARD_KEEP_JOBS, "-1")
        );
    }
}
