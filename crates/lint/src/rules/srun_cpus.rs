//! Y054: `srun` that forgets `--cpus-per-task`.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Edit, Finding, Found, LintInput, Severity, steps};
use model::SlurmVersion;
use model::option_table::Key;

/// Y054.
pub const RULE: Rule = Rule {
    code: "Y054",
    name: "srun-cpus-per-task",
    severity: Severity::Warning,
    summary: "srun of 22.05 and 23.02 does not take over --cpus-per-task",
    page:
        "In Slurm 22.05 and 23.02 srun leaves the job's --cpus-per-task aside: it counts one CPU for each
task, and where tasks are bound to what they count, data loaders crawl. It reads
SRUN_CPUS_PER_TASK. 23.11 took SLURM_CPUS_PER_TASK up again. Exporting SRUN_CPUS_PER_TASK does no
harm anywhere.

```
#!/bin/bash
#SBATCH --cpus-per-task=8
srun python train.py
```

Source: release notes of 22.05 and 23.11; measured with 22.05.8.",
    holds: Holds::Between(SlurmVersion::V22_05, Some(SlurmVersion::V23_11)),
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let cpus = script.request().cpus_per_task.unwrap_or(1);
    let (Some(given), Some(first)) = (script.last(Key::CpusPerTask), script.kinds.first_command)
    else {
        return;
    };
    if cpus < 2 || script.text.contains("SRUN_CPUS_PER_TASK") {
        return;
    }
    let own = [
        "cpus-per-task",
        "cpus-per-gpu",
        "exclusive",
        "whole",
        "tres-per-task",
    ];
    let counts = |srun: &steps::Srun<'_, '_>| tasks_of_its_own(script, srun);
    let srun = steps::sruns(script).find(|srun| {
        !srun.has(&own)
            && !srun.unknown
            && !srun.inner.is_empty()
            && !is_trifle(srun)
            && counts(srun) != Tasks::More
    });
    let Some(srun) = srun else {
        return;
    };
    let line = script.lines.range(first).start;
    let finding = Finding::new(
        RULE.code,
        RULE.severity,
        match script.version {
            Some(_) => format!("this srun leaves --cpus-per-task={cpus} aside"),
            None => format!("srun of Slurm 22.05 and 23.02 leaves --cpus-per-task={cpus} aside"),
        },
    )
    .at(srun.word.range.clone(), "counts one CPU for each task");
    let finding = match script.whole(given) {
        Some(range) => finding.at(range, ""),
        None => finding,
    };
    let finding = finding.help("export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK");
    // The variable is for all steps: one with tasks of its own may not fit with it.
    let all = steps::sruns(script)
        .all(|srun| srun.has(&own) || !srun.unknown && counts(&srun) == Tasks::OfTheJob);
    findings.push(if all {
        finding.fix([Edit::new(
            line..line,
            "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\n",
        )])
    } else {
        finding
    });
}

/// How the tasks of a step compare with those of the job.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tasks {
    /// It says none.
    OfTheJob,
    /// It says some, and they are not more.
    Fewer,
    /// More than the job has, or as many as only the run tells: the CPUs are for them.
    More,
}

fn tasks_of_its_own(script: &Script<'_>, srun: &steps::Srun<'_, '_>) -> Tasks {
    if srun.has(&[
        "ntasks-per-node",
        "ntasks-per-core",
        "ntasks-per-socket",
        "overlap",
        "jobid",
    ]) {
        return Tasks::More;
    }
    if !srun.has(&["ntasks"]) {
        return if srun.has(&["nodes", "gpus", "gres", "nodelist"]) {
            Tasks::Fewer
        } else {
            Tasks::OfTheJob
        };
    }
    let own = srun.value("ntasks").unwrap_or_default();
    let same = ["$SLURM_NTASKS", "${SLURM_NTASKS}", "$SLURM_NPROCS"].contains(&own);
    let request = script.request();
    let of_job = request.tasks.or_else(|| {
        let nodes = request.min_nodes.unwrap_or(1);
        Some(request.tasks_per_node?.saturating_mul(nodes))
    });
    match own.parse::<u32>() {
        _ if same => Tasks::OfTheJob,
        Ok(tasks) if tasks <= of_job.unwrap_or(1) => Tasks::Fewer,
        _ => Tasks::More,
    }
}

/// Commands that need no second CPU.
fn is_trifle(srun: &steps::Srun<'_, '_>) -> bool {
    let words: Vec<&str> = srun.inner.iter().map(|word| &*word.text).collect();
    let program = match words[..] {
        // `bash -c 'hostname'`: one command alone.
        ["sh" | "bash", "-c" | "-lc", line] if !line.contains([';', '&', '|', '\n']) => {
            line.split_ascii_whitespace().next().unwrap_or_default()
        }
        [program, ..] => program,
        [] => "",
    };
    let name = program.rsplit('/').next().unwrap_or(program);
    matches!(
        name,
        "hostname"
            | "echo"
            | "mkdir"
            | "cp"
            | "rm"
            | "ls"
            | "date"
            | "nvidia-smi"
            | "cat"
            | "true"
            | "sleep"
            | "mv"
            | "tar"
            | "sbcast"
            | "touch"
            | "printenv"
            | "env"
            | "pwd"
            | "which"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fires_in, fixes, fixes_not, silent, silent_in};

    #[test]
    fn speaks() {
        assert_eq!(
            fires(&RULE, "#SBATCH -c 8\n«srun» python x.py\n").severity,
            Severity::Note
        );
        assert_eq!(
            fires_in(&RULE, "22.05", "#SBATCH -c 8\n«srun» ./a\n").severity,
            Severity::Warning
        );
        fires_in(&RULE, "23.02", "#SBATCH -n 2 -c 8\nx=$(«srun» -n 2 ./a)\n");
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "#SBATCH -c 4\nN=`srun -N 2 bash -c 'hostname' | wc -l`\n",
        );
        silent_in(&RULE, "23.11", "#SBATCH -c 8\nsrun ./a\n");
        silent(&RULE, "#SBATCH -c 8\nsrun -c $SLURM_CPUS_PER_TASK ./a\n");
        silent(
            &RULE,
            "#SBATCH -c 8\nsrun --cpus-per-task=8 ./a\nsrun hostname\n",
        );
        silent(
            &RULE,
            "#SBATCH -c 8\nexport SRUN_CPUS_PER_TASK=8\nsrun ./a\n",
        );
        silent(&RULE, "#SBATCH -c 1\nsrun ./a\n");
        silent(&RULE, "#SBATCH -c 8\npython x.py # srun ./a\n");
        silent(&RULE, "#SBATCH -c 8\nsrun $OPTIONS\n");
        // The job's CPUs are for these tasks.
        silent(&RULE, "#SBATCH -n 1 -c 8\nsrun -n 8 ./a\n");
    }

    #[test]
    fn exports_the_variable() {
        fixes(
            &RULE,
            "#SBATCH -c 8\n\ncd x\nsrun ./a\n",
            "#SBATCH -c 8\n\nexport SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\ncd x\nsrun ./a\n",
        );
        // Eight tasks of eight CPUs are more than the job has.
        fixes_not(&RULE, "#SBATCH -c 8\n«srun» ./a\nsrun -n 8 ./b\n");
    }
}
