//! How Slurm's commands print moments: in which zone, and in the form that `SLURM_TIME_FORMAT` names.

use super::{Timestamp, moment_text};
use jiff::Zoned;
use jiff::civil::Date;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use std::sync::Arc;

/// The form in which moments are printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MomentForm {
    /// `standard`: `2030-01-20T12:34:00`.
    #[default]
    Standard,
    /// `relative`: the shorter, the nearer they are to this day.
    Relative(Date),
    /// As `strftime` takes it.
    Written(Arc<str>),
}

/// How one command prints its moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MomentStyle {
    /// In this zone.
    pub zone: TimeZone,
    /// In this form.
    pub form: MomentForm,
}

/// As long as Slurm's buffer.
const LONGEST: usize = 31;

impl MomentStyle {
    /// The standard form in a zone.
    #[must_use]
    pub fn standard(zone: TimeZone) -> MomentStyle {
        let form = MomentForm::Standard;
        MomentStyle { zone, form }
    }

    /// A moment; in the standard form what can't be printed in another.
    #[must_use]
    pub fn text(&self, moment: Timestamp) -> String {
        let formed = || {
            let instant = jiff::Timestamp::from_second(moment.seconds()).ok()?;
            self.form.text(&instant.to_zoned(self.zone.clone()))
        };
        formed().unwrap_or_else(|| moment_text(moment, &self.zone))
    }
}

impl MomentForm {
    /// Reads the variable. `today` is that of the reader.
    ///
    /// # Errors
    /// It is no form: in Slurm's words.
    pub fn read(text: &str, today: Date) -> Result<MomentForm, String> {
        match text {
            "" | "standard" => Ok(MomentForm::Standard),
            "relative" => Ok(MomentForm::Relative(today)),
            text if !text.contains('%') || text.len() > LONGEST => {
                Err(format!("invalid SLURM_TIME_FORMAT = '{text}'"))
            }
            text => Ok(MomentForm::Written(text.into())),
        }
    }

    /// None in the standard form, and where it can't be printed so.
    fn text(&self, at: &Zoned) -> Option<String> {
        let form = match self {
            MomentForm::Standard => return None,
            MomentForm::Relative(today) => relative(*today, at.date()),
            MomentForm::Written(form) => form,
        };
        strtime::format(form, at).ok()
    }
}

/// As `_relative_date_fmt` of Slurm's parse_time.c, which counts 1000 days in a year.
fn relative(today: Date, day: Date) -> &'static str {
    let number = |day: Date| i64::from(day.year()) * 1000 + i64::from(day.day_of_year());
    match number(day) - number(today) {
        -1 => "Ystday %H:%M",
        0 => "%H:%M:%S",
        1 => "Tomorr %H:%M",
        2..=6 => "%a %H:%M",
        -365..=365 => "%-d %b %H:%M",
        _ => "%-d %b %Y",
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;

    #[track_caller]
    fn check(form: &str, at: &str, want: &str) {
        let at: Zoned = at.parse().unwrap();
        let zone = at.time_zone().clone();
        let text = MomentForm::read(form, Date::constant(2030, 1, 20)).map(|form| {
            let moment = Timestamp(at.timestamp().as_millisecond());
            MomentStyle { zone, form }.text(moment)
        });
        assert_eq!(text.unwrap_or_else(|message| message), want);
    }

    #[test]
    fn forms_are_those_of_slurm() {
        let at = "2030-01-20T12:34:05+00:00[UTC]";
        check("", at, "2030-01-20T12:34:05");
        check("standard", at, "2030-01-20T12:34:05");
        check("%s", at, "1895142845");
        let east = "2030-01-20T12:34:05+02:00[+02:00]";
        check("", east, "2030-01-20T12:34:05");
        check("%T", east, "12:34:05");
        check("%F %T", at, "2030-01-20 12:34:05");
        check("then%%", at, "then%");
        check("then", at, "invalid SLURM_TIME_FORMAT = 'then'");
        check("relative", at, "12:34:05");
        check("relative", "2030-01-19T12:34:05+00:00[UTC]", "Ystday 12:34");
        check("relative", "2030-01-21T12:34:05+00:00[UTC]", "Tomorr 12:34");
        check("relative", "2030-01-24T12:34:05+00:00[UTC]", "Thu 12:34");
        check("relative", "2030-03-04T12:34:05+00:00[UTC]", "4 Mar 12:34");
        check("relative", "2028-03-04T12:34:05+00:00[UTC]", "4 Mar 2028");
    }
}
