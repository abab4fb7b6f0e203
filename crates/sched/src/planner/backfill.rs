//! What Slurm's `SchedulerParameters` say of its backfill.

use super::Planning;
use std::fmt;

/// The parameters of Slurm's backfill that decide who starts. Lengths are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackfillParameters {
    /// A cycle each so much. `bf_interval`
    pub interval: i64,
    /// `bf_window`
    pub window: i64,
    /// `bf_resolution`
    pub resolution: i64,
    /// So many of the first jobs are tried in a cycle. `bf_max_job_test`
    pub tests: usize,
    /// So many of each user. `bf_max_job_user`
    pub tests_of_user: usize,
    /// So many of each partition. `bf_max_job_part`
    pub tests_of_partition: usize,
    /// So many of each user in a partition. `bf_max_job_user_part`
    pub tests_of_user_there: usize,
    /// So many of each association; those of each user are not counted then. `bf_max_job_assoc`
    pub tests_of_association: usize,
    /// `bf_job_part_count_reserve`
    pub promises: usize,
}

impl Default for BackfillParameters {
    /// Slurm's own values.
    fn default() -> BackfillParameters {
        BackfillParameters {
            interval: 30_000,
            window: 1440 * 60_000,
            resolution: 60_000,
            tests: 500,
            tests_of_user: usize::MAX,
            tests_of_partition: usize::MAX,
            tests_of_user_there: usize::MAX,
            tests_of_association: usize::MAX,
            promises: usize::MAX,
        }
    }
}

/// A parameter whose value Slurm would not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// Which.
    pub key: String,
    /// What stands there.
    pub value: String,
    /// What may.
    pub least: i64,
    /// The greatest value.
    pub most: i64,
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ParameterError {
            key,
            value,
            least,
            most,
        } = self;
        write!(
            f,
            "{key}={value}: a number from {least} to {most} is needed"
        )
    }
}

impl std::error::Error for ParameterError {}

impl BackfillParameters {
    /// Reads Slurm's text: `bf_window=2880,bf_max_job_user=10`. Other parameters are left to
    /// others; a 0 means no bound where it does in Slurm. `None` where `bf_interval=-1` switches
    /// backfill off.
    ///
    /// # Errors
    /// A value is no number, or one that Slurm refuses.
    pub fn parse(text: &str) -> Result<Option<BackfillParameters>, ParameterError> {
        let mut parameters = BackfillParameters::default();
        let mut is_off = false;
        for part in text.split(',') {
            let Some((key, value)) = part.split_once('=') else {
                continue;
            };
            let (key, value) = (key.trim(), value.trim());
            let number = |least: i64, most: i64| {
                let number = value.parse().ok();
                number
                    .filter(|number| (least..=most).contains(number))
                    .ok_or_else(|| ParameterError {
                        key: key.to_owned(),
                        value: value.to_owned(),
                        least,
                        most,
                    })
            };
            let bound = |most: i64| {
                let number = number(0, most)?;
                Ok(match usize::try_from(number) {
                    Ok(0) | Err(_) => usize::MAX,
                    Ok(number) => number,
                })
            };
            match key {
                "bf_interval" => {
                    is_off = value == "-1";
                    if !is_off {
                        parameters.interval = number(1, 10_800)? * 1000;
                    }
                }
                "bf_window" => parameters.window = number(1, 43_200)? * 60_000,
                "bf_resolution" => parameters.resolution = number(1, 3600)? * 1000,
                "bf_max_job_test" => parameters.tests = number(1, 1_000_000)? as usize,
                "bf_max_job_user" => parameters.tests_of_user = bound(1_000_000)?,
                "bf_max_job_part" => parameters.tests_of_partition = bound(1_000_000)?,
                "bf_max_job_user_part" => parameters.tests_of_user_there = bound(1_000_000)?,
                "bf_max_job_assoc" => parameters.tests_of_association = bound(1_000_000)?,
                "bf_job_part_count_reserve" => parameters.promises = bound(100_000)?,
                _ => {}
            }
        }
        if parameters.tests_of_association < usize::MAX {
            parameters.tests_of_user = usize::MAX;
        }
        Ok((!is_off).then_some(parameters))
    }

    /// How a cycle plans; a job that is overdue is killed after `overdue`.
    #[must_use]
    pub fn planning(&self, overdue: i64) -> Planning {
        Planning {
            overdue,
            window: self.window,
            resolution: self.resolution,
            whole_nodes: true,
            promises: self.promises,
        }
    }

    /// Those of a queue that a cycle tries, whose user and partition `owner` tells as numbers.
    #[must_use]
    pub fn tried(&self, queue: &[u32], owner: impl Fn(u32) -> (u32, u32)) -> Vec<u32> {
        let (mut users, mut partitions) = (Vec::new(), Vec::new());
        let is_left = |counts: &mut Vec<usize>, at: u32, most: usize| {
            let at = at as usize;
            if counts.len() <= at {
                counts.resize(at + 1, 0);
            }
            counts[at] += 1;
            counts[at] <= most
        };
        let mut tried = queue.iter().copied().filter(|slot| {
            let (user, partition) = owner(*slot);
            is_left(&mut partitions, partition, self.tests_of_partition)
                && is_left(&mut users, user, self.tests_of_user)
        });
        tried.by_ref().take(self.tests).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_slurm_takes() {
        let text = "bf_window=2880, bf_interval=60,defer,bf_max_job_user=0,bf_max_job_test=10";
        let parameters = BackfillParameters::parse(text).expect("Slurm takes it");
        let want = BackfillParameters {
            interval: 60_000,
            window: 172_800_000,
            tests: 10,
            ..BackfillParameters::default()
        };
        assert_eq!(parameters, Some(want));
        let off = BackfillParameters::parse("bf_window=2880,bf_interval=-1");
        assert_eq!(off.expect("Slurm takes it"), None);
    }

    #[test]
    fn what_slurm_refuses() {
        for (text, want) in [
            (
                "bf_window=x",
                "bf_window=x: a number from 1 to 43200 is needed",
            ),
            (
                "bf_resolution=0",
                "bf_resolution=0: a number from 1 to 3600 is needed",
            ),
            (
                "bf_interval=-2",
                "bf_interval=-2: a number from 1 to 10800 is needed",
            ),
        ] {
            let error = BackfillParameters::parse(text).expect_err(text);
            assert_eq!(error.to_string(), want);
        }
    }

    #[test]
    fn budgets_of_users_and_partitions() {
        let parameters = BackfillParameters {
            tests: 4,
            tests_of_user: 2,
            ..BackfillParameters::default()
        };
        let tried = parameters.tried(&[0, 1, 2, 3, 4, 5, 6], |slot| (u32::from(slot > 3), 0));
        assert_eq!(tried, [0, 1, 4, 5]);
    }
}
