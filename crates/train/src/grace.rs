//! How long before its limit a job is ended, and what Slurm makes of the limit.

use crate::planner::or;
use crate::{Refusal, RefusalKind, Resolved, say_seconds};
use model::{ClusterFacts, Seconds, TimeLimitRequest};
use std::time::Duration;

/// Long enough for some gigabytes to a network file system.
const GRACE: Duration = Duration::from_secs(120);
/// The least that a copy, a stop and a requeue need.
const LEAST_GRACE: Duration = Duration::from_secs(2);

/// Slurm counts in minutes.
pub(crate) fn granularity_note(
    facts: &ClusterFacts,
    time: Option<&Resolved<TimeLimitRequest>>,
) -> Option<String> {
    let TimeLimitRequest::Limit(asked) = time?.value else {
        return None;
    };
    let step = facts.time_granularity.0.max(1);
    let given = Seconds(asked.0.div_ceil(step) * step);
    (given != asked).then(|| {
        format!(
            "{} counts in steps of {}: the limit becomes {}",
            facts.name,
            say_seconds(Seconds(step)),
            say_seconds(given)
        )
    })
}

/// How long before its limit a job is ended where the run file names no grace: two minutes, or an
/// eighth of a short limit, but two seconds as long as half of the limit is left for work.
#[must_use]
pub fn default_grace(limit: Duration) -> Duration {
    let least = LEAST_GRACE.min(limit / 2);
    (limit / 8).clamp(least, GRACE.max(least))
}

pub(crate) fn grace(
    asked: Option<Resolved<Seconds>>,
    time: Option<&Resolved<TimeLimitRequest>>,
) -> Result<Resolved<Seconds>, Refusal> {
    let limit = match time.map(|time| time.value) {
        Some(TimeLimitRequest::Limit(limit)) => Some(limit),
        Some(TimeLimitRequest::Unlimited) | None => None,
    };
    match (asked, limit, time) {
        (Some(grace), Some(limit), Some(time)) if grace.value >= limit => Err(Refusal {
            kind: RefusalKind::Usage,
            message: "the grace is as long as the job".to_owned(),
            asked: format!("grace = {} ({})", say_seconds(grace.value), grace.source),
            there: format!("time = {} ({})", say_seconds(limit), time.source),
            todo: "a shorter grace, or a longer time".to_owned(),
        }),
        (Some(grace), _, _) => Ok(grace),
        (None, limit, _) => {
            let limit = limit.map(|limit| Duration::from_secs(limit.0));
            let grace = limit.map_or(GRACE, default_grace);
            let why = if grace < GRACE {
                "default: an eighth of the limit"
            } else {
                "default: to save a last checkpoint before the limit"
            };
            let whole = grace.as_secs() + u64::from(grace.subsec_nanos() > 0);
            Ok(or(Seconds(whole), why))
        }
    }
}
