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
    pub(crate) fn from_env() -> Keep {
        let value = |name| std::env::var(name).ok();
        Keep::of(
            value(TRAINYARD_KEEP_DAYS).as_deref(),
            value(TRAINYARD_KEEP_JOBS).as_deref(),
        )
    }

    /// What is no number is as if it were not said.
    fn of(days: Option<&str>, jobs: Option<&str>) -> Keep {
        let days = days.and_then(|text| text.parse().ok()).unwrap_or(365_u32);
        Keep {
            millis: i64::from(days) * DAY_MS,
            jobs: jobs.and_then(|text| text.parse().ok()).unwrap_or(1_000_000),
        }
    }
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
        assert_eq!(Keep::of(None, None), default);
        assert_eq!(Keep::of(Some("soon"), Some("-1")), default);
        let said = Keep {
            millis: 7 * DAY_MS,
            jobs: 100,
        };
        assert_eq!(Keep::of(Some("7"), Some("100")), said);
    }
}
