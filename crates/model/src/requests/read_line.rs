//! Command lines as tests write them.

use crate::options::Surroundings;
use crate::options::diagnostic::Diagnostic;
use crate::values::Timestamp;
use jiff::tz::TimeZone;
use std::path::Path;

/// Reads a line of words, split at blanks, in `/work` at the epoch.
pub(crate) fn read_line<T>(
    line: &str,
    variables: &[(&str, &str)],
    resolve: impl Fn(
        &[String],
        &dyn Fn(&str) -> Option<String>,
        &Surroundings<'_>,
    ) -> (T, Vec<Diagnostic>),
) -> (T, Vec<Diagnostic>) {
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let lookup = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let zone = TimeZone::UTC;
    let surroundings = Surroundings::embedded(Timestamp(0), &zone, Path::new("/work"));
    resolve(&args, &lookup, &surroundings)
}

/// The lines in which a value differs from one of which nothing was said, and what there is to say.
pub(super) fn what_was_read<T: std::fmt::Debug + Default>(
    value: &T,
    diagnostics: &[Diagnostic],
) -> Vec<String> {
    let plain = format!("{:#?}", T::default());
    let plain: Vec<&str> = plain.lines().collect();
    let shown = format!("{value:#?}");
    let own = shown.lines().filter(|line| !plain.contains(line));
    let own = own.map(|line| line.trim().to_owned());
    own.chain(diagnostics.iter().map(|it| format!("{} {it}", it.code)))
        .collect()
}
