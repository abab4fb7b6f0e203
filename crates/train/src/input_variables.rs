//! What a person set in the environment for `sbatch`, read as `sbatch` reads it.

use crate::env_vars::{
    SBATCH_ACCOUNT, SBATCH_CONSTRAINT, SBATCH_CPUS_PER_GPU, SBATCH_EXCLUSIVE, SBATCH_GPUS,
    SBATCH_GPUS_PER_NODE, SBATCH_JOB_NAME, SBATCH_MEM_PER_CPU, SBATCH_MEM_PER_GPU,
    SBATCH_MEM_PER_NODE, SBATCH_PARTITION, SBATCH_QOS, SBATCH_TIMELIMIT,
};
use crate::keys::{self, Section};
use crate::reader::{From, Raw, Reader};
use crate::{MemorySize, OverrideProblem, Resolved, ResourceSection, Source};
use model::option_table::{Command, options_of};
use model::{TimeLimitRequest, parse_mebibytes};

/// The layer between run file and flags: Slurm's own input variables of `sbatch`, in Slurm's
/// language, so that a time without a unit is minutes here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    /// `SBATCH_JOB_NAME`
    pub(crate) name: Option<Resolved<String>>,
    /// The others that a run takes.
    pub(crate) resources: ResourceSection,
    /// Those of sbatch that a run doesn't take, by name.
    pub(crate) left_out: Vec<&'static str>,
}

/// Each variable that is read, and the key that it sets.
pub const INPUT_VARIABLES: [(&str, &str); 13] = [
    (SBATCH_JOB_NAME, "name"),
    (SBATCH_ACCOUNT, "account"),
    (SBATCH_CONSTRAINT, "constraint"),
    (SBATCH_EXCLUSIVE, "exclusive"),
    (SBATCH_CPUS_PER_GPU, "cpus_per_gpu"),
    (SBATCH_GPUS, "gpus"),
    (SBATCH_GPUS_PER_NODE, "gpus_per_node"),
    (SBATCH_MEM_PER_CPU, "memory_per_cpu"),
    (SBATCH_MEM_PER_GPU, "memory_per_gpu"),
    (SBATCH_MEM_PER_NODE, "memory"),
    (SBATCH_PARTITION, "partition"),
    (SBATCH_QOS, "qos"),
    (SBATCH_TIMELIMIT, "time"),
];

impl Variables {
    /// Reads what is set; `value` looks a variable up. Never gives up: what is understood, and what
    /// is wrong with the rest.
    pub fn read(value: &dyn Fn(&str) -> Option<String>) -> (Variables, Vec<OverrideProblem>) {
        let mut variables = Variables::default();
        let mut problems = Vec::new();
        for (variable, key) in INPUT_VARIABLES {
            let Some(text) = value(variable) else {
                continue;
            };
            if let Err(problem) = variables.set(variable, key, &text) {
                problems.push(problem);
            }
        }
        let known = |name: &str| INPUT_VARIABLES.iter().any(|(known, _)| *known == name);
        variables.left_out = options_of(Command::Sbatch)
            .flat_map(|option| option.variables(Command::Sbatch))
            .filter(|name| name.starts_with("SBATCH_") && !SET_BY_SLURM.contains(name))
            .filter(|name| !known(name) && value(name).is_some())
            .collect();
        (variables, problems)
    }

    fn set(
        &mut self,
        variable: &'static str,
        key: &str,
        text: &str,
    ) -> Result<(), OverrideProblem> {
        let whole = format!("{variable}={text}");
        let mut reader = Reader::new(&whole, From::Variable { variable });
        let start = variable.len() + 1;
        let own = &mut self.resources;
        let source = Source::Environment {
            variable: variable.to_owned(),
        };
        let mut refuse = |message: String, help: &str| {
            reader.complain(start..whole.len(), message, "", help);
        };
        match key {
            // Slurm's language, which has no need of units.
            "time" => match TimeLimitRequest::parse(text) {
                Some(time) => own.time = Some(Resolved::new(time, source)),
                None => refuse(
                    format!("{text:?} is not a time limit"),
                    "write minutes, or Slurm's \"1-00:00:00\"",
                ),
            },
            "memory" | "memory_per_cpu" | "memory_per_gpu" => match parse_mebibytes(text) {
                Some(size) if key == "memory" => {
                    own.memory = Some(Resolved::new(MemorySize(Some(size)), source));
                }
                Some(size) if key == "memory_per_cpu" => {
                    own.memory_per_cpu = Some(Resolved::new(size, source));
                }
                Some(size) => own.memory_per_gpu = Some(Resolved::new(size, source)),
                None => refuse(
                    format!("{text:?} is not an amount of memory"),
                    "write megabytes, or \"16G\"",
                ),
            },
            "exclusive" if ["", "exclusive"].contains(&text) => {
                own.exclusive = Some(Resolved::new(true, source));
            }
            "exclusive" => refuse(
                format!("{text:?} is no way to have a node alone"),
                "leave it empty; a run knows no exclusive=user",
            ),
            "name" => self.name = keys::name(&mut reader, Raw::Flag(text, start)),
            _ => {
                if let Some(known) = ResourceSection::key(key) {
                    known.read_into(own, &mut reader, Raw::Flag(text, start));
                }
            }
        }
        match reader.problems.pop() {
            Some(problem) => Err(OverrideProblem {
                text: whole,
                origin: "environment",
                problem: Box::new(problem),
            }),
            None => Ok(()),
        }
    }
}

/// Slurm itself sets these in every batch job, so that they say nothing of a person's wish.
const SET_BY_SLURM: [&str; 2] = ["SBATCH_MEM_BIND", "SBATCH_CPU_BIND"];

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use std::collections::BTreeSet;

    #[track_caller]
    fn check(set: &[(&str, &str)], want: Expect) {
        let value = |name: &str| {
            let (_, value) = set.iter().find(|(known, _)| *known == name)?;
            Some((*value).to_owned())
        };
        let (variables, problems) = Variables::read(&value);
        let resources = &variables.resources;
        let mut text = String::new();
        let mut add = |key: &str, value: Option<(String, &Source)>| {
            if let Some((value, source)) = value {
                text.push_str(&format!("{key} {value} ({source})\n"));
            }
        };
        fn shown<T: std::fmt::Debug>(value: &Option<Resolved<T>>) -> Option<(String, &Source)> {
            let value = value.as_ref()?;
            Some((format!("{:?}", value.value), &value.source))
        }
        add("name", shown(&variables.name));
        add("partition", shown(&resources.partition));
        add("time", shown(&resources.time));
        add("memory", shown(&resources.memory));
        add("gpus", shown(&resources.gpus_per_node));
        add("type", shown(&resources.gpu_type));
        add("exclusive", shown(&resources.exclusive));
        for name in &variables.left_out {
            text.push_str(&format!("left out {name}\n"));
        }
        for problem in &problems {
            text.push_str(&format!("{problem}\n"));
        }
        want.assert_eq(&text);
    }

    #[test]
    fn slurms_language_not_ours() {
        check(
            &[
                ("SBATCH_TIMELIMIT", "90"),
                ("SBATCH_MEM_PER_NODE", "4000"),
                ("SBATCH_GPUS_PER_NODE", "v100:4"),
                ("SBATCH_PARTITION", "gpu"),
                ("SBATCH_EXCLUSIVE", ""),
                ("SBATCH_GRES", "gpu:2"),
                ("SBATCH_MEM_BIND", "quiet,none,"),
            ],
            expect![[r#"
                partition "gpu" (SBATCH_PARTITION)
                time Limit(Seconds(5400)) (SBATCH_TIMELIMIT)
                memory MemorySize(Some(4000)) (SBATCH_MEM_PER_NODE)
                gpus 4 (SBATCH_GPUS_PER_NODE)
                type "v100" (SBATCH_GPUS_PER_NODE)
                exclusive true (SBATCH_EXCLUSIVE)
                left out SBATCH_GRES
            "#]],
        );
    }

    #[test]
    fn what_is_wrong_is_shown_with_its_variable() {
        check(
            &[
                ("SBATCH_TIMELIMIT", "1 day"),
                ("SBATCH_EXCLUSIVE", "user"),
                ("SBATCH_JOB_NAME", "a b"),
            ],
            expect![[r#"
                "a b" can't name a run
                   --> environment:1:17
                   1 │ SBATCH_JOB_NAME=a b
                     │                 ^^^
                  help: letters, digits, - _ and . are fine, at most 64, the first a letter or a digit
                "user" is no way to have a node alone
                   --> environment:1:18
                   1 │ SBATCH_EXCLUSIVE=user
                     │                  ^^^^
                  help: leave it empty; a run knows no exclusive=user
                "1 day" is not a time limit
                   --> environment:1:18
                   1 │ SBATCH_TIMELIMIT=1 day
                     │                  ^^^^^
                  help: write minutes, or Slurm's "1-00:00:00"
            "#]],
        );
    }

    #[test]
    fn sbatch_reads_every_one_of_them() {
        let read: BTreeSet<&str> = options_of(Command::Sbatch)
            .flat_map(|option| option.variables(Command::Sbatch))
            .collect();
        for (name, _) in INPUT_VARIABLES {
            assert!(read.contains(name), "{name}");
        }
    }
}
