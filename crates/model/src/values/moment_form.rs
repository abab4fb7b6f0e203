//! The form in which Slurm's commands print moments: `SLURM_TIME_FORMAT`.

use jiff::Zoned;
use jiff::civil::Date;
use jiff::fmt::strtime;
use std::sync::OnceLock;

/// How moments are printed instead of as `2030-01-20T12:34:00`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MomentForm {
    /// `relative`: the shorter, the nearer they are to this day.
    Relative(Date),
    /// As `strftime` takes it.
    Written(String),
}

/// One program prints all its moments alike.
static CHOSEN: OnceLock<MomentForm> = OnceLock::new();

/// As long as Slurm's buffer.
const LONGEST: usize = 31;

impl MomentForm {
    /// Reads the variable; none is the usual form. `today` is that of the reader.
    ///
    /// # Errors
    /// It is no form: in Slurm's words.
    pub fn read(text: &str, today: Date) -> Result<Option<MomentForm>, String> {
        match text {
            "" | "standard" => Ok(None),
            "relative" => Ok(Some(MomentForm::Relative(today))),
            text if !text.contains('%') || text.len() > LONGEST => {
                Err(format!("invalid SLURM_TIME_FORMAT = '{text}'"))
            }
            text => Ok(Some(MomentForm::Written(text.to_owned()))),
        }
    }

    /// From now on this program prints moments so. Only the first call counts.
    pub fn choose(self) {
        // A second choice is none.
        let _first = CHOSEN.set(self);
    }

    /// A moment in the form that was chosen; none where there is no such, or it can't be printed so.
    pub(super) fn chosen_text(at: &Zoned) -> Option<String> {
        CHOSEN.get()?.text(at)
    }

    fn text(&self, at: &Zoned) -> Option<String> {
        let form = match self {
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
        let form = MomentForm::read(form, Date::constant(2030, 1, 20));
        let text = match form {
            Ok(None) => "as usual".to_owned(),
            Ok(Some(form)) => form.text(&at).unwrap_or_default(),
            Err(message) => message,
        };
        assert_eq!(text, want);
    }

    #[test]
    fn forms_are_those_of_slurm() {
        let at = "2030-01-20T12:34:05+00:00[UTC]";
        check("", at, "as usual");
        check("standard", at, "as usual");
        check("%s", at, "1895142845");
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
