//! Y110: why the cluster would not take or never start the job, where no other rule says it.

use super::{placeholder, shell_variable};
use crate::rule::{Holds, Rule};
use crate::script::{Script, errors, request_with_pyxis};
use crate::{Finding, Found, LintInput, Severity};
use model::Given;
use model::option_table::Key;
use resources::{Denial, Fate, Finding as Denied, Subject};
use std::ops::Range;

/// Y110.
pub const RULE: Rule = Rule {
    code: "Y110",
    name: "not-taken",
    severity: Severity::Error,
    summary: "the cluster would not take the job, or never start it",
    page: "What a job asks is looked at together, as Slurm's controller does and as yard plan tells it: no
node may have so many GPUs and so much memory at once, a QOS may allow fewer jobs than an array
has, a partition may be for another account. The job is refused, or waits for ever. Where the
cluster file need not know everything, or only assumes it, this is a note.

```
#!/bin/bash
#SBATCH --partition=gpu
#SBATCH --gres=gpu:v100:4
#SBATCH --cpus-per-gpu=10
srun hostname
```

Source: the cluster file; job_mgr.c, acct_policy.c and node_scheduler.c of Slurm 22.05.",
    holds: Holds::Always,
    needs_cluster: true,
    check,
};

fn check(script: &Script<'_>, input: &LintInput<'_>, findings: &mut Found) {
    let Some(cluster) = input.cluster else {
        return;
    };
    // Of what sbatch itself refuses nobody asks the controller; a plugin's options it may take.
    let with_plugin = match errors(&script.diagnostics) {
        0 => None,
        _ => match request_with_pyxis(input) {
            Some(request) => Some(request),
            None => return,
        },
    };
    let request = with_plugin.as_ref().unwrap_or(script.request());
    for refusal in resources::findings(cluster, request, input.user) {
        let severity = severity(&refusal);
        let given = place(script, &refusal);
        // Such a value is not yet the one that sbatch will see.
        let is_open = |given: &&Given| shell_variable::is_one(given) || placeholder::is_one(given);
        if given.as_ref().is_some_and(is_open) {
            continue;
        }
        let start = given
            .and_then(|given| script.whole(given))
            .map(|at| at.start);
        let codes = said_by(&refusal);
        let same = |finding: &Finding| {
            codes.contains(&finding.code)
                && (finding.code != "Y102" || start.is_none_or(|start| finding.start() == start))
        };
        let said = findings
            .so_far()
            .iter()
            .any(|finding| same(finding) && finding.severity >= severity);
        if said {
            continue;
        }
        // One thing is said once: of what another rule was less sure of, Y110's judgement counts.
        let weaker = findings
            .since(0)
            .iter_mut()
            .find(|finding| same(finding) && start.is_some_and(|start| finding.start() == start));
        if let Some(weaker) = weaker {
            weaker.severity = severity;
            weaker.really = Some(refusal.there());
            continue;
        }
        let message = message(&refusal, &cluster.name);
        let finding = match given {
            Some(given) => script.finding(RULE.code, severity, given, message, refusal.asked()),
            None => Finding::new(
                RULE.code,
                severity,
                format!("{message}: {}", refusal.asked()),
            ),
        };
        let finding = finding.really(refusal.there()).help(refusal.todo());
        if !findings.so_far().contains(&finding) {
            findings.push(finding);
        }
    }
}

/// What a cluster would not take of a run file's jobs, at the place that decides.
#[must_use]
pub fn run_refused(refusal: &Denied, cluster: &str, place: Option<Range<usize>>) -> Finding {
    let severity = severity(refusal);
    let message = message(refusal, cluster);
    let finding = match place {
        Some(range) => Finding::new(RULE.code, severity, message).at(range, refusal.asked()),
        None => Finding::new(
            RULE.code,
            severity,
            format!("{message}: {}", refusal.asked()),
        ),
    };
    finding.really(refusal.there()).help(refusal.todo())
}

/// A run file of which no job could be made for a cluster, and why.
#[must_use]
pub fn run_without_plan(cluster: &str, why: &str, place: Option<Range<usize>>) -> Finding {
    let finding = Finding::new(
        RULE.code,
        RULE.severity,
        format!("no job for {cluster} can be made of this: {why}"),
    );
    match place {
        Some(range) => finding.at(range, ""),
        None => finding,
    }
}

fn severity(refusal: &Denied) -> Severity {
    match refusal.fate {
        // It is taken: nothing is lost until it is released.
        Fate::WaitsOnceReleased(_) => Severity::Warning,
        _ if refusal.assumed => Severity::Note,
        _ => RULE.severity,
    }
}

fn message(refusal: &Denied, cluster: &str) -> String {
    // Slurm's words without what stands in brackets behind some of them.
    let words = refusal.denial.words();
    let words = words.split(" (").next().unwrap_or(words);
    match (&refusal.fate, refusal.assumed) {
        (Fate::Refused, false) => format!("would be refused on {cluster}: {words}"),
        (Fate::Refused, true) => format!("might be refused on {cluster}: {words}"),
        (Fate::Waits(reason), false) => format!("would wait for ever on {cluster}: {reason}"),
        (Fate::Waits(reason), true) => format!("might wait for ever on {cluster}: {reason}"),
        (Fate::WaitsOnceReleased(reason), _) => {
            format!("would not start on {cluster} once released: {reason}")
        }
        (Fate::Cut, _) => format!("would be started on {cluster}, and ended at the limit"),
    }
}

/// The rules that say the same with more words.
fn said_by(refusal: &Denied) -> &'static [&'static str] {
    match refusal.denial {
        Denial::Partition => &["Y100"],
        Denial::TimeLimit => &["Y101"],
        Denial::Policy if refusal.about == Subject::Option(Key::Time) => &["Y101"],
        Denial::Account | Denial::Qos => &["Y102"],
        Denial::NodeConfig => &["Y103", "Y107", "Y109"],
        Denial::Feature => &["Y106"],
        Denial::NodeCount => &["Y109"],
        _ => &[],
    }
}

/// The option that it is about: the one that is named, else the first of those that could be.
fn place<'a>(script: &'a Script<'_>, refusal: &Denied) -> Option<&'a Given> {
    if let Subject::Option(key) = refusal.about
        && let Some(given) = script.last(key)
    {
        return Some(given);
    }
    let keys: &[Key] = match (refusal.denial, refusal.about) {
        (Denial::NodeConfig, _) => &[
            Key::GpusPerNode,
            Key::Gres,
            Key::Gpus,
            Key::GpusPerTask,
            Key::TasksPerNode,
            Key::CpusPerTask,
            Key::Mem,
            Key::MemPerCpu,
            Key::MemPerGpu,
            Key::Constraint,
            Key::Tasks,
            Key::Nodes,
        ],
        (Denial::Policy, Subject::Jobs) => &[Key::Array, Key::Qos],
        (Denial::Policy, Subject::Nodes) => &[Key::Nodes, Key::Qos],
        (Denial::Policy, Subject::Gpus) => &[
            Key::Gpus,
            Key::Gres,
            Key::GpusPerNode,
            Key::GpusPerTask,
            Key::Qos,
        ],
        (Denial::Policy, Subject::Cpus) => &[Key::CpusPerTask, Key::Tasks, Key::Qos],
        (Denial::Policy, Subject::Memory) => &[Key::Mem, Key::MemPerCpu, Key::Qos],
        (Denial::TaskMemory, _) => &[Key::Mem, Key::MemPerCpu],
        (Denial::Array, _) => &[Key::Array],
        (Denial::NodeCount, _) => &[Key::Nodes, Key::Tasks],
        (Denial::PartitionAccount, _) => &[Key::Account, Key::Partition],
        (Denial::PartitionQos, _) => &[Key::Qos, Key::Partition],
        (
            Denial::Partition
            | Denial::NoPartition
            | Denial::Access
            | Denial::Group
            | Denial::PartitionClosed
            | Denial::TooManyCpus,
            _,
        ) => &[Key::Partition],
        _ => &[],
    };
    keys.iter().find_map(|key| script.last(*key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, input_on, lint_on, silent};

    /// Every reason that plan has is said, as sure as plan is of it.
    #[track_caller]
    fn check(name: &str, options: &str) {
        let text = format!("#!/bin/sh\n#SBATCH {options}\nsrun x\n");
        let cluster = cluster_file::find(name).unwrap().unwrap();
        let found = lint_on(name, &text);
        let refusals = resources::findings(
            &cluster,
            Script::read(&input_on(&cluster, &text)).request(),
            Some("ada"),
        );
        assert!(!refusals.is_empty(), "{options}");
        for refusal in refusals {
            let message = message(&refusal, name);
            let says = |one: &&Finding| {
                let own = one.code == RULE.code && one.message.starts_with(&message);
                own || said_by(&refusal).contains(&one.code)
            };
            let surest = found.iter().filter(says).map(|one| one.severity).max();
            let want = if refusal.assumed {
                Severity::Note
            } else {
                Severity::Error
            };
            assert!(surest >= Some(want), "{options}: {refusal}: {found:#?}");
        }
    }

    #[test]
    fn speaks() {
        let found = fires(
            &RULE,
            "#SBATCH -p gpu «--gres=gpu:v100:4» --cpus-per-gpu=10\n",
        );
        assert_eq!(found.severity, Severity::Error);
        assert!(
            found.labels[0].text.contains("40 CPUs a node"),
            "{found:#?}"
        );
    }

    #[test]
    fn all_that_plan_refuses_is_said() {
        let time = "-p gpu_gce -t 1:00:00";
        check("wilson", &format!("{time} --gres=gpu:a100:1 --mem=600G"));
        check(
            "wilson",
            &format!("{time} --gres=gpu:v100:2 --ntasks-per-node=64"),
        );
        check(
            "wilson",
            &format!("{time} --gres=gpu:v100:1 --qos=test --array=0-3"),
        );
        check("wilson", "--gres=gpu:v100l:2 -N 2 --mem=20G -t 1:00:00");
        check(
            "satori",
            "--gres=gpu:4 -N 3 -q priority2 -t 20:00:00 -p sched_system_all",
        );
        check("satori", "--gres=gpu:v100:4 -p nosuch");
        check("satori", "--gres=gpu:p100:1 -p nosuch");
        check("satori", "--gres=gpu:8 -t 10:00:00");
        check("satori", "--gpus=8 -t 24:00:00 -p nosuch");
    }

    /// The count of GPUs is said by a document; which nodes the partition has is assumed.
    #[test]
    fn one_thing_is_said_once() {
        let found = lint_on(
            "satori",
            "#!/bin/sh\n#SBATCH --gres=gpu:8 -t 1:00:00\nsrun x\n",
        );
        let about = found
            .iter()
            .filter(|one| matches!(one.code, "Y103" | "Y110"));
        let about: Vec<_> = about.map(|one| (one.code, one.severity)).collect();
        assert_eq!(about, [("Y103", Severity::Error)]);
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -p gpu --gres=gpu:v100:4 --mem=300G\n");
        // Another rule says it.
        silent(&RULE, "#SBATCH -p nosuch\n");
        silent(&RULE, "#SBATCH -p gpu -c 64\n");
        silent(&RULE, "#SBATCH -p gpu --nodes=5\n");
        silent(&RULE, "#SBATCH -p gpu -t 20:00:00\n");
        silent(&RULE, "#SBATCH -q nosuch\n");
        silent(&RULE, "#SBATCH -C nosuch\n");
        // Nobody knows yet what it will be.
        silent(&RULE, "#SBATCH --nodelist=$NODE\n");
    }
}
