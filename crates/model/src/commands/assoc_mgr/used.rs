//! What jobs use, beside the limits that count it.

use super::{AssocMgrFacts, CountedJob};
use crate::records::Settings;
use std::collections::BTreeSet;

/// What some jobs use.
#[derive(Clone, Debug, Default)]
pub(super) struct Used {
    pub(super) running: u64,
    pub(super) submitted: u64,
    pub(super) seconds: f64,
    pub(super) tres: Vec<u64>,
    pub(super) seconds_of_tres: Vec<f64>,
    /// Of each TRES what running jobs may still use until their limits, times seconds.
    run_seconds: Vec<f64>,
}

impl Used {
    /// A second of a job counts as its QOS says (`UsageFactor`).
    pub(super) fn of<'a>(
        facts: &AssocMgrFacts,
        jobs: impl Iterator<Item = &'a CountedJob>,
    ) -> Used {
        let names = &facts.tres;
        let mut used = Used {
            tres: vec![0; names.len()],
            seconds_of_tres: vec![0.0; names.len()],
            run_seconds: vec![0.0; names.len()],
            ..Used::default()
        };
        let mut nodes = BTreeSet::new();
        for job in jobs {
            if job.is_running {
                nodes.extend(&job.nodes);
            }
            used.submitted += if job.is_live { job.elements } else { 0 };
            used.running += u64::from(job.is_running);
            let factor = facts.usage_factor(&job.qos);
            let seconds = job.seconds * factor;
            let seconds_left = job.seconds_left as f64 * factor;
            used.seconds += seconds;
            for (at, amount) in job.tres.iter().enumerate().take(names.len()) {
                used.seconds_of_tres[at] += *amount as f64 * seconds;
                if job.is_running {
                    used.tres[at] += amount;
                    used.run_seconds[at] += *amount as f64 * seconds_left;
                }
            }
        }
        if let Some(at) = names.iter().position(|name| name == "node") {
            used.tres[at] = nodes.len() as u64;
        }
        used
    }

    fn minutes(&self) -> Vec<u64> {
        minutes(&self.seconds_of_tres)
    }

    fn run_minutes(&self) -> Vec<u64> {
        minutes(&self.run_seconds)
    }
}

fn minutes(seconds: &[f64]) -> Vec<u64> {
    let of = |seconds: &f64| (seconds / 60.0) as u64;
    seconds.iter().map(of).collect()
}

/// `10(3)`, or `N(3)` where there is no limit.
pub(super) fn limit(settings: &Settings, key: &str, used: impl std::fmt::Display) -> String {
    let own = settings.get(key).map_or("N", String::as_str);
    format!("{own}({used})")
}

/// `cpu=10(3),mem=N(100)`
pub(super) fn tres(names: &[String], limits: Option<&String>, used: &[u64]) -> String {
    let limit_of = |name: &str| {
        let mut parts = limits?.split(',').filter_map(|part| part.split_once('='));
        parts.find(|(key, _)| *key == name).map(|(_, limit)| limit)
    };
    let parts = names.iter().zip(used).map(|(name, used)| {
        let limit = limit_of(name).unwrap_or("N");
        format!("{name}={limit}({used})")
    });
    parts.collect::<Vec<_>>().join(",")
}

pub(super) fn wall(settings: &Settings, used: &Used) -> String {
    let minutes = settings
        .get("grpwall")
        .and_then(|text| text.parse::<u64>().ok());
    let minutes = minutes.map_or_else(|| "N".to_owned(), |seconds| (seconds / 60).to_string());
    format!("{minutes}({:.2})", used.seconds / 60.0)
}

pub(super) fn group_lines(names: &[String], settings: &Settings, used: &Used) -> [String; 3] {
    let of = |key: &str, used: &[u64]| tres(names, settings.get(key), used);
    [
        format!("GrpTRES={}", of("grptres", &used.tres)),
        format!("GrpTRESMins={}", of("grptresmins", &used.minutes())),
        format!(
            "GrpTRESRunMins={}",
            of("grptresrunmins", &used.run_minutes())
        ),
    ]
}

pub(super) fn minutes_of(text: Option<&str>) -> String {
    let seconds = text.and_then(|text| text.parse::<u64>().ok());
    seconds.map_or_else(String::new, |seconds| (seconds / 60).to_string())
}
