//! Years of a machine's log, played again under another policy.

mod driver;
mod machine;
mod measures;
mod multifactor;
mod one_by_one;
mod ranking;
mod rules;
mod series;
mod swf;
mod table;
mod trace;

pub use driver::{Played, Start};
pub use machine::{flat_machine, replay};
pub use measures::{Measures, Part, Report, Spread};
pub use rules::{Arrivals, Estimates, Order, Policy, Rules};
pub use series::{Bar, Lanes, SizeClass, Use, in_use, lanes, waits_by_size};
pub use swf::read_swf;
pub use table::read_table;
pub use trace::{LeftOut, Moments, NoJob, NoTrace, Trace, TraceJob};

/// Reads a log in whichever of the known forms it is.
///
/// # Errors
/// A table without a column that is needed, or no line is a job.
pub fn read_trace(text: &str) -> Result<Trace, NoTrace> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    let is_table = first.is_some_and(|line| !line.starts_with(';') && line.contains(','));
    if is_table {
        read_table(text)
    } else {
        read_swf(text)
    }
}
