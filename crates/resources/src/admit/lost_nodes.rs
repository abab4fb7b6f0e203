//! A job of several partitions, the first of which takes no jobs of its user.

use super::partition::is_enforced;
use super::{Change, Fate, Finding, Judge, LimitPath};

impl Judge<'_, '_> {
    /// Why a job of several partitions would wait for ever though one of them takes it: where limits of partitions
    /// are not enforced and the first takes no jobs of its user, 22.05 counts more nodes than can be for one that
    /// asks for no most of them. `of_first` is what that partition has against the job.
    pub(super) fn lost_nodes(&self, of_first: &[Finding]) -> Option<Finding> {
        let names = self.request.partition.as_deref()?;
        let (first, others) = names.split_once(',')?;
        if is_enforced(self.file) || self.request.max_nodes.is_some() {
            return None;
        }
        let keeps_out = |found: &&Finding| match &found.at {
            LimitPath::Partition(name, key) => {
                name == first && matches!(*key, "root_only" | "no_root_jobs" | "allow_groups")
            }
            _ => false,
        };
        let found = of_first.iter().find(keeps_out)?;
        Some(Finding {
            fate: Fate::Waits("PartitionNodeLimit".into()),
            instead: vec![Change::partition(others)],
            ..found.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::findings;
    use cluster_file::ClusterFile;
    use model::Request;

    #[track_caller]
    fn check(enforce: &str, partitions: &str, most: Option<u32>, want: &[&str]) {
        let text = format!(
            "[nodes.n]\nnames = \"n[1-4]\"\ncpus = 4\n[limits]\nenforce_partition_limits = \"{enforce}\"\n\
             [partition.main]\nnodes = \"ALL\"\ndefault = true\n\
             [partition.admins]\nnodes = \"ALL\"\nroot_only = true\n"
        );
        let file = ClusterFile::parse("lab", &text).expect("it can be read");
        let request = Request {
            partition: Some(partitions.to_owned()),
            max_nodes: most,
            ..Request::default()
        };
        let all = findings(&file, &request, Some("bob"));
        let all: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(all, want, "{enforce} {partitions} {most:?}");
    }

    #[test]
    fn a_first_partition_that_takes_no_jobs_of_the_user_makes_a_job_wait() {
        let waits = "the job would wait for ever: PartitionNodeLimit; asked: --partition=admins; \
                     there: partition admins is root's; do: --partition=main";
        check("no", "admins,main", None, &[waits]);
        check("no", "admins,main", Some(2), &[]);
        check("no", "main,admins", None, &[]);
        check("any", "admins,main", None, &[]);
    }
}
