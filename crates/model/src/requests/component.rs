//! The components of a heterogeneous job: jobs that start together or not at all.

use crate::options::diagnostic::Diagnostic;
use crate::options::getopt::{self, Taken, Word};
use crate::options::given::{Given, Origin};
use crate::options::option_table::{Command, Dialect};
use crate::requests::Request;
use crate::values::{JobId, NodeName};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A job's place among those that start together. The engine gives it, with ids that follow each
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentPlace {
    /// The first of them, whose id stands for all.
    pub leader: JobId,
    /// Which one, counted from 0.
    pub offset: u32,
    /// How many there are.
    pub size: u32,
    /// The first one has a batch script.
    #[serde(default)]
    pub batch: bool,
}

impl ComponentPlace {
    /// The ids of all, in order.
    pub fn ids(self) -> impl DoubleEndedIterator<Item = JobId> {
        (0..self.size).map(move |offset| JobId(self.leader.0.saturating_add(offset)))
    }

    /// `26-27`
    #[must_use]
    pub fn ids_text(self) -> String {
        let last = self.leader.0.saturating_add(self.size.saturating_sub(1));
        format!("{}-{last}", self.leader)
    }
}

/// Keeps each component from the nodes that others name, as a controller does before it looks at any
/// (`_exclude_het_job_nodes` of 22.05.8's proc_req.c): one that two name can then be had by neither.
pub fn exclude_nodes_of_others(components: &mut [&mut Request]) {
    let named: Vec<Arc<Vec<NodeName>>> = components
        .iter()
        .map(|request| Arc::clone(&request.rare.nodelist))
        .collect();
    for (own, request) in components.iter_mut().enumerate() {
        let others = named.iter().enumerate().filter(|(at, _)| *at != own);
        let others: Vec<NodeName> = others
            .flat_map(|(_, names)| names.iter().cloned())
            .collect();
        if !others.is_empty() {
            Arc::make_mut(&mut request.rare.exclude).extend(others);
        }
    }
}

/// Variables of a job that its steps find for each component too, with its number at the end.
pub const COMPONENT_VARIABLES: &[&str] = &[
    "SLURM_CPUS_PER_GPU",
    "SLURM_CPUS_PER_TASK",
    "SLURM_GPUS",
    "SLURM_GPUS_PER_NODE",
    "SLURM_GPUS_PER_TASK",
    "SLURM_JOB_ACCOUNT",
    "SLURM_JOB_CPUS_PER_NODE",
    "SLURM_JOB_ID",
    "SLURM_JOB_NAME",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_NUM_NODES",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_QOS",
    "SLURM_MEM_PER_CPU",
    "SLURM_MEM_PER_GPU",
    "SLURM_MEM_PER_NODE",
    "SLURM_NPROCS",
    "SLURM_NTASKS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_TASKS_PER_NODE",
];

/// Options that each component has for itself; the others go on from the first: `slurm_opt.c` of
/// 22.05, `reset_each_pass`.
pub const OWN_OF_COMPONENTS: &[&str] = &[
    "bb",
    "bbf",
    "constraint",
    "contiguous",
    "core-spec",
    "cores-per-socket",
    "cpu-freq",
    "cpus-per-gpu",
    "cpus-per-task",
    "distribution",
    "exclusive",
    "extra-node-info",
    "gpu-bind",
    "gpu-freq",
    "gpus",
    "gpus-per-node",
    "gpus-per-socket",
    "gpus-per-task",
    "gres",
    "gres-flags",
    "hint",
    "licenses",
    "mail-type",
    "mail-user",
    "mem-bind",
    "mem-per-cpu",
    "mem-per-gpu",
    "mincpus",
    "network",
    "nodefile",
    "nodelist",
    "nodes",
    "ntasks",
    "ntasks-per-core",
    "ntasks-per-gpu",
    "ntasks-per-node",
    "ntasks-per-socket",
    "ntasks-per-tres",
    "overcommit",
    "oversubscribe",
    "partition",
    "power",
    "sockets-per-node",
    "spread-job",
    "switches",
    "tasks-per-node",
    "thread-spec",
    "threads-per-core",
    "tmp",
    "umask",
    "use-min-nodes",
];

/// Those of the options of a component, in the order in which they were read, that go on to the next one.
pub(crate) fn carried(read: &[Result<Given, Diagnostic>]) -> Vec<Result<Given, Diagnostic>> {
    let goes_on = |given: &&Given| !OWN_OF_COMPONENTS.contains(&given.option.long);
    let given = read.iter().filter_map(|read| read.as_ref().ok());
    given.filter(goes_on).cloned().map(Ok).collect()
}

/// What parts the components on a command line.
const BETWEEN: &str = ":";

/// Takes a command line apart, component by component. `used` of each counts from the line's first
/// word, and only the last one has words beyond it.
pub(crate) fn take(command: Command, dialect: Dialect, words: &[Word]) -> Vec<Taken> {
    let mut all = Vec::new();
    let mut from = 0;
    loop {
        let mut taken = getopt::take(command, dialect, Origin::Arguments, &words[from..]);
        taken.used += from;
        taken.words += from;
        let is_last = !is_between(words, taken.used);
        if !is_last {
            taken.words = taken.used;
        }
        from = taken.used + 1;
        all.push(taken);
        if is_last {
            return all;
        }
    }
}

/// Parts the components of `srun`, each of which has a command of its own: options, and the words
/// of the command.
pub(crate) fn take_with_commands(dialect: Dialect, words: &[Word]) -> Vec<(Taken, Vec<String>)> {
    let mut all = Vec::new();
    let mut from = 0;
    loop {
        let taken = getopt::take(Command::Srun, dialect, Origin::Arguments, &words[from..]);
        let start = from + taken.used;
        let length = words[start..]
            .iter()
            .take_while(|word| word.text != BETWEEN);
        let end = start + length.count();
        let command = words[start..end].iter().map(|word| word.text.clone());
        all.push((taken, command.collect()));
        if end == words.len() {
            return all;
        }
        from = end + 1;
    }
}

fn is_between(words: &[Word], at: usize) -> bool {
    words.get(at).is_some_and(|word| word.text == BETWEEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<Word> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Word::of(&words)
    }

    #[track_caller]
    fn check(line: &str, want: &[(usize, usize)]) {
        let taken = take(Command::Sbatch, Dialect::Embedded, &words(line));
        let got: Vec<_> = taken.iter().map(|it| (it.read.len(), it.used)).collect();
        assert_eq!(got, want, "{line}");
    }

    #[test]
    fn components_leave_each_other_the_nodes_that_they_name() {
        let naming = |names: &[&str]| {
            let mut request = Request::default();
            let names = names.iter().map(|name| NodeName::new(name));
            request.rare.nodelist = Arc::new(names.collect());
            request
        };
        let mut all = [naming(&["a"]), naming(&[]), naming(&["a", "b"])];
        exclude_nodes_of_others(&mut all.iter_mut().collect::<Vec<_>>());
        let excluded = all.map(|request| {
            let names = request.rare.exclude.iter().map(NodeName::as_str);
            names.collect::<Vec<_>>().join(",")
        });
        assert_eq!(excluded, ["a,b", "a,a,b", "a"]);
    }

    #[test]
    fn components_of_a_batch_job() {
        check("-n1 -J a job.sh x : y", &[(2, 3)]);
        check("-n1 : -n2 -t 5 : job.sh", &[(1, 1), (2, 5), (0, 6)]);
        // A value is no separator.
        check("-J : job.sh", &[(1, 2)]);
    }

    #[test]
    fn components_of_a_step() {
        let line = words("-n1 echo a : -n2 -l echo b");
        let taken = take_with_commands(Dialect::Embedded, &line);
        let got: Vec<_> = taken
            .iter()
            .map(|(it, command)| (it.read.len(), command.join(" ")))
            .collect();
        assert_eq!(got, [(1, "echo a".to_owned()), (2, "echo b".to_owned())]);
    }
}
