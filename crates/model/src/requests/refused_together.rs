//! What a controller refuses of options that contradict each other, though Slurm's commands send them.

use crate::options::option_table::{Command, Key};
use crate::options::reading::Reading;
use crate::values::{NodeName, Seconds, TimeLimitRequest};
use std::collections::HashSet;

/// Checks what was read, of a job of its own.
pub(crate) fn check(reading: &mut Reading<'_>) {
    times(reading);
    nodes(reading);
}

/// A node that must be there and must not (`_job_create` of `job_mgr.c`).
fn nodes(reading: &mut Reading<'_>) {
    let o = &reading.options;
    // Of a step they are looked at where its job's nodes are known.
    let is_step = reading.command == Command::Srun && o.job.is_some();
    if is_step || o.nodelist.is_empty() || o.exclude.is_empty() {
        return;
    }
    let excluded: HashSet<&str> = o.exclude.iter().map(NodeName::as_str).collect();
    if o.nodelist
        .iter()
        .any(|name| excluded.contains(name.as_str()))
    {
        let keys = [Key::NodeList, Key::Exclude];
        reading.refuse_together_as_any_controller(&keys, "Invalid node name specified");
    }
}

/// A least time over the limit, or a deadline that can't be met (`_valid_job_part` of `job_mgr.c`).
fn times(reading: &mut Reading<'_>) {
    const LATE: &str = "Requested time limit is invalid (missing or exceeds some limit)";
    const LONG: &str = "Invalid time-min specification (exceeds job's time or other limits)";
    let length = |time| match time {
        TimeLimitRequest::Limit(length) => length,
        TimeLimitRequest::Unlimited => Seconds(u64::MAX),
    };
    let (o, now) = (&reading.options, reading.surroundings.now);
    let least = o.time_min.map(length);
    let over_limit = least > o.time.map(length) && o.time.is_some();
    let over_deadline = o
        .deadline
        .zip(least)
        .is_some_and(|(deadline, least)| deadline < now + least);
    let passed = o.deadline.is_some_and(|deadline| deadline < now);
    if over_limit {
        reading.refuse_together_as_any_controller(&[Key::Time, Key::TimeMin], LONG);
    } else if passed {
        reading.refuse_together_as_any_controller(&[Key::Deadline], LATE);
    } else if over_deadline {
        reading.refuse_together_as_any_controller(&[Key::Deadline, Key::TimeMin], LONG);
    }
}

#[cfg(test)]
mod tests {
    use crate::options::Surroundings;
    use crate::requests::sbatch;
    use crate::values::{SlurmVersion, Timestamp};
    use jiff::tz::TimeZone;
    use std::path::Path;

    #[track_caller]
    fn check(line: &str, want: &[&str]) {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let zone = TimeZone::UTC;
        let now = Timestamp(1_900_000_000_000);
        let around = Surroundings::slurm(SlurmVersion::V22_05, now, &zone, Path::new("/"));
        let (_, said) = sbatch::resolve(&args, &|_| None, Some("#!/bin/sh\n"), &around);
        let said: Vec<String> = said.iter().map(ToString::to_string).collect();
        assert_eq!(said, want, "{line}");
    }

    #[test]
    fn times() {
        const LATE: &str = "Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)";
        const LONG: &str = "Batch job submission failed: Invalid time-min specification (exceeds job's time or other limits)";
        check("-t 5 --time-min=5", &[]);
        check("--time-min=5", &[]);
        check("--time-min=5 -t 0", &[]);
        check("-t 5 --time-min=6", &[&format!("argument 3: {LONG}")]);
        check(
            "-t 5 --time-min=UNLIMITED",
            &[&format!("argument 3: {LONG}")],
        );
        check("--deadline=2020-01-01", &[&format!("argument 1: {LATE}")]);
        check("--deadline=now+1hour --time-min=30", &[]);
        check(
            "--deadline=now+1hour --time-min=61",
            &[&format!("argument 2: {LONG}")],
        );
    }

    #[test]
    fn nodes() {
        let both = "argument 2: Batch job submission failed: Invalid node name specified";
        check("-wn[1-3] -xn4", &[]);
        check("-wn[1-3] -xn[3-9]", &[both]);
    }
}
