//! What a job's priority is made of (`priority/multifactor`).

use model::{PriorityParts, Seconds};
use resources::PriorityPolicy;

/// What of a cluster the factors are measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Nodes that are up.
    pub nodes: u32,
    /// CPUs of the cluster.
    pub cpus: u32,
    /// The highest `PriorityJobFactor` of a partition.
    pub partition: u32,
    /// The highest `Priority` of a QOS.
    pub qos: u32,
    /// The highest `Priority` of an association.
    pub association: u32,
}

/// What of a job counts, in one of its partitions.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFacts<'a> {
    /// How long it has been waiting where that counts, in seconds.
    pub waited: f64,
    /// How long since its submission, in seconds.
    pub since_submission: f64,
    /// Its user's fair share; none without an association.
    pub fair_share: Option<f64>,
    /// `Priority` of its association.
    pub association: u32,
    /// `PriorityJobFactor` of the partition.
    pub partition: u32,
    /// `Priority` of its QOS.
    pub qos: u32,
    /// The fewest nodes that it takes.
    pub nodes: u32,
    /// CPUs.
    pub cpus: u32,
    /// Its time limit; none is no limit.
    pub limit: Option<Seconds>,
    /// What it asks for and what the partition has of it, by names as Slurm writes them, in small
    /// letters; memory in MiB.
    pub tres: &'a [(&'a str, f64, f64)],
    /// `--nice`
    pub nice: i64,
    /// `SiteFactor`
    pub site: i64,
}

/// What a job's priority is made of: each factor with its weight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Factors {
    /// What each adds.
    pub parts: PriorityParts,
    /// What is taken off.
    pub nice: i64,
    /// What an operator added.
    pub site: i64,
}

/// A year in minutes: what Slurm takes no limit for.
const YEAR: f64 = 365.0 * 24.0 * 60.0;

impl Factors {
    /// Those of a job.
    #[must_use]
    pub fn of(policy: &PriorityPolicy, scale: &Scale, job: &JobFacts<'_>) -> Factors {
        let all = policy.has_flag("NO_NORMAL_ALL");
        let normal = |value: u32, most: u32, flag: &str| {
            let value = f64::from(value);
            if all || policy.has_flag(flag) {
                value
            } else if most == 0 {
                0.0
            } else {
                value / f64::from(most)
            }
        };
        let waited = if policy.has_flag("ACCRUE_ALWAYS") {
            job.since_submission
        } else {
            job.waited
        };
        let age = if waited < policy.max_age.0 as f64 {
            waited / policy.max_age.0 as f64
        } else {
            1.0
        };
        let raw_tres = all || policy.has_flag("NO_NORMAL_TRES");
        let tres = policy.tres.iter().map(|(name, weight)| {
            let found = job.tres.iter().find(|(own, ..)| own == name);
            let factor = found.map_or(0.0, |(_, asked, there)| match raw_tres {
                _ if *there <= 0.0 => 0.0,
                true => *asked,
                false => asked / there,
            });
            (name.clone(), weight * factor)
        });
        let weighted = |weight: u32, factor: f64| f64::from(weight) * factor;
        let parts = PriorityParts {
            age: weighted(policy.age, age.clamp(0.0, 1.0)),
            association: weighted(
                policy.association,
                normal(job.association, scale.association, "NO_NORMAL_ASSOC"),
            ),
            fair_share: weighted(policy.fair_share, job.fair_share.unwrap_or(0.0)),
            job_size: weighted(policy.job_size, job_size(policy, scale, job)),
            partition: weighted(
                policy.partition,
                normal(job.partition, scale.partition, "NO_NORMAL_PART"),
            ),
            qos: weighted(policy.qos, normal(job.qos, scale.qos, "NO_NORMAL_QOS")),
            tres: tres.collect(),
        };
        Factors {
            parts,
            nice: job.nice,
            site: job.site,
        }
    }

    /// What they come to: at least 1, since 0 is held, and at most what 32 bits hold.
    #[must_use]
    pub fn priority(&self) -> u32 {
        let parts = &self.parts;
        let tres: f64 = parts.tres.iter().map(|(_, weighted)| weighted).sum();
        let sum = parts.age
            + parts.association
            + parts.fair_share
            + parts.job_size
            + parts.partition
            + parts.qos
            + tres
            + self.site as f64
            - self.nice as f64;
        // A conversion of what is no number or too much stops at the bounds.
        (sum as u32).max(1)
    }
}

/// From 0 to 1: large jobs have more, or small ones.
fn job_size(policy: &PriorityPolicy, scale: &Scale, job: &JobFacts<'_>) -> f64 {
    let of = |part: u32, whole: u32| f64::from(part) / f64::from(whole.max(1));
    let size = if policy.has_flag("SMALL_RELATIVE_TO_TIME") {
        let limit = job.limit.map_or(YEAR, |limit| limit.0 as f64 / 60.0);
        let each = scale.cpus / scale.nodes.max(1);
        let cpus = job.nodes.saturating_mul(each).max(job.cpus);
        f64::from(cpus) / limit.max(1.0) / f64::from(scale.cpus.max(1))
    } else {
        f64::midpoint(of(job.nodes, scale.nodes), of(job.cpus, scale.cpus))
    };
    let size = if policy.favor_small { 1.0 - size } else { size };
    size.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(policy: PriorityPolicy, nice: i64, want: u32) {
        let scale = Scale {
            nodes: 0,
            cpus: 0,
            partition: 0,
            qos: 0,
            association: 0,
        };
        let job = JobFacts {
            waited: 1e12,
            since_submission: 1e12,
            fair_share: Some(1.0),
            association: 1,
            partition: 1,
            qos: u32::MAX,
            nodes: u32::MAX,
            cpus: u32::MAX,
            limit: Some(Seconds(0)),
            tres: &[("cpu", f64::INFINITY, 0.0), ("mem", f64::MAX, 1.0)],
            nice,
            site: 0,
        };
        assert_eq!(Factors::of(&policy, &scale, &job).priority(), want);
    }

    #[test]
    fn a_priority_that_overflows_is_the_highest() {
        let all = PriorityPolicy {
            age: u32::MAX,
            fair_share: u32::MAX,
            job_size: u32::MAX,
            qos: u32::MAX,
            tres: vec![("cpu".to_owned(), 1e300), ("mem".to_owned(), 1e300)],
            ..PriorityPolicy::default()
        };
        check(all.clone(), i64::MIN, u32::MAX);
        check(
            PriorityPolicy {
                max_age: Seconds(0),
                flags: vec![
                    "NO_NORMAL_ALL".to_owned(),
                    "SMALL_RELATIVE_TO_TIME".to_owned(),
                ],
                ..all
            },
            0,
            u32::MAX,
        );
    }

    #[test]
    fn one_below_nothing_is_not_held() {
        check(PriorityPolicy::default(), 1000, 1);
        check(PriorityPolicy::default(), i64::MAX, 1);
    }
}
