//! What a person calls a run or a job: `digits`, `17`, `4_1`, `@`, or one of these behind an
//! engine's name, `local:17`.

use backend::LOCAL;
use model::JobId;
use serde::{Deserialize, Serialize};

/// The cluster that another name of it stands for: this machine's Slurm.
pub const SLURM: &str = "slurm";

/// What means the newest run or job.
pub const NEWEST: &str = "@";

/// A name, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpokenName<'a> {
    /// On this cluster alone.
    pub cluster: Option<&'a str>,
    /// The rest.
    pub rest: &'a str,
}

/// A job by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobNumber {
    /// The job, or the array.
    pub job: JobId,
    /// `1` in `4_1`.
    pub element: Option<u32>,
}

impl<'a> SpokenName<'a> {
    /// Takes a name apart. Names of jobs may hold colons: only what names a cluster is one.
    #[must_use]
    pub fn parse(text: &'a str, is_cluster: impl Fn(&str) -> bool) -> SpokenName<'a> {
        match text.split_once(':') {
            Some((cluster, rest)) if [LOCAL, SLURM].contains(&cluster) || is_cluster(cluster) => {
                let cluster = Some(cluster);
                SpokenName { cluster, rest }
            }
            _ => SpokenName {
                cluster: None,
                rest: text,
            },
        }
    }

    /// Whether this can be on that cluster; `slurm` is every one but the embedded engines.
    #[must_use]
    pub fn is_on(&self, cluster: &str, is_engine: impl Fn(&str) -> bool) -> bool {
        match self.cluster {
            None => true,
            Some(SLURM) => !is_engine(cluster),
            Some(own) => own == cluster,
        }
    }

    /// The job that it is the number of, if it is one.
    #[must_use]
    pub fn number(&self) -> Option<JobNumber> {
        let (job, element) = match self.rest.split_once('_') {
            Some((job, element)) => (job, Some(element.parse().ok()?)),
            None => (self.rest, None),
        };
        let job = JobId(job.parse().ok()?);
        Some(JobNumber { job, element })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_stands_before_a_colon() {
        let check = |text: &str, cluster: Option<&str>, rest: &str| {
            let name = SpokenName::parse(text, |name| name == "rig");
            assert_eq!((name.cluster, name.rest), (cluster, rest), "{text}");
        };
        check("local:17", Some("local"), "17");
        check("slurm:17", Some("slurm"), "17");
        check("rig:digits", Some("rig"), "digits");
        check("my:job", None, "my:job");
        check("17", None, "17");
    }

    #[test]
    fn slurm_is_every_cluster_but_ours() {
        let is_local = |name: &str| name == LOCAL;
        let name = SpokenName::parse("slurm:17", |_| false);
        assert!(name.is_on("rig", is_local) && !name.is_on(LOCAL, is_local));
        let name = SpokenName::parse("17", |_| false);
        assert!(name.is_on("rig", is_local) && name.is_on(LOCAL, is_local));
    }

    #[test]
    fn numbers_of_jobs_and_of_elements() {
        let check = |text: &str, want: Option<(u32, Option<u32>)>| {
            let number = SpokenName::parse(text, |_| false).number();
            let number = number.map(|number| (number.job.0, number.element));
            assert_eq!(number, want, "{text}");
        };
        check("17", Some((17, None)));
        check("local:4_1", Some((4, Some(1))));
        check("4_x", None);
        check("digits_1", None);
    }
}
