//! The caller's time zone, by the one file that holds it.
//!
//! `jiff`'s own look at the system lists all folders of the zone database first, to know their names;
//! every start of `sbatch` would pay for that.

use jiff::tz::TimeZone;
use std::path::{Path, PathBuf};

/// Where the machine's own zone is (localtime(5)).
const MACHINES: &str = "/etc/localtime";
/// Where zones are found by name (tzset(3)).
const DATABASE: &str = "/usr/share/zoneinfo";

/// The zone that `TZ` names, or the machine's; UTC where neither can be read, as in tzset(3).
#[must_use]
pub fn local_zone() -> TimeZone {
    let variable = std::env::var("TZ").ok();
    let read = |path: &Path| {
        let bytes = std::fs::read(path).ok()?;
        TimeZone::tzif(&path.to_string_lossy(), &bytes).ok()
    };
    let zone = match source(variable.as_deref()) {
        Source::Utc => None,
        Source::File(path) => read(&path),
        Source::Named(name) => {
            read(&Path::new(DATABASE).join(name)).or_else(|| TimeZone::posix(name).ok())
        }
    };
    zone.unwrap_or(TimeZone::UTC)
}

/// Where a zone's rules are.
#[derive(Debug, PartialEq, Eq)]
enum Source<'a> {
    Utc,
    File(PathBuf),
    /// A name of the database, or rules in the value itself (`CET-1CEST,M3.5.0,M10.5.0/3`).
    Named(&'a str),
}

fn source(variable: Option<&str>) -> Source<'_> {
    let Some(value) = variable else {
        return Source::File(MACHINES.into());
    };
    let value = value.strip_prefix(':').unwrap_or(value);
    if value.is_empty() {
        Source::Utc
    } else if value.starts_with('/') {
        Source::File(value.into())
    } else if Path::new(value)
        .components()
        .any(|part| part.as_os_str() == "..")
    {
        // What is outside the database has no name in it.
        Source::Utc
    } else {
        Source::Named(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variable: Option<&str>, want: Source<'_>) {
        assert_eq!(source(variable), want);
    }

    #[test]
    fn a_zone_is_found_as_the_c_library_finds_it() {
        check(None, Source::File(MACHINES.into()));
        check(Some(""), Source::Utc);
        check(Some(":"), Source::Utc);
        check(Some("Europe/Paris"), Source::Named("Europe/Paris"));
        check(Some(":Europe/Paris"), Source::Named("Europe/Paris"));
        check(Some("CET-1CEST"), Source::Named("CET-1CEST"));
        check(Some("/etc/zone"), Source::File("/etc/zone".into()));
        check(Some("../../tmp/zone"), Source::Utc);
    }

    #[test]
    fn it_shows_the_time_that_the_c_library_shows() {
        for seconds in [0, 1_700_000_000, 1_720_000_000] {
            let moment = jiff::Timestamp::from_second(seconds).unwrap();
            let shown = moment.to_zoned(local_zone()).datetime();
            assert_eq!(
                shown.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
                crate::local_time(seconds)
            );
        }
    }
}
