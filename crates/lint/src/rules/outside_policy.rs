//! Y104: CPUs or memory for a GPU outside of what the site wants.

use super::{given_twice, site};
use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};
use cluster_file::{Bounds, ClusterFile, Mib, Named, PolicyOfGpu, Sourced};
use model::option_table::{Effect, Key};
use model::{Given, MemoryRequest, mebibytes_text};

/// Y104.
pub const RULE: Rule = Rule {
    code: "Y104",
    name: "outside-policy",
    severity: Severity::Warning,
    summary: "CPUs or memory for each GPU outside of the site's policy",
    page: "A node's CPUs and memory are shared by those who use its GPUs. A job that takes more of them than
its GPUs' part leaves GPUs that no job can use; one that takes less waits for its own data. The
policy is what the site's documents ask for. Of GPUs without a type the policies of all kinds
count that the job could get: it is a note where only some of them ask for something else. Where
GPUs have no type and differ by features of their nodes, a job without --constraint gets
any of them.

```
#!/bin/bash
#SBATCH --partition=gpu
#SBATCH --gpus=1
#SBATCH --cpus-per-gpu=32
srun python train.py
```

Source: the cluster file's [policy].",
    holds: Holds::Always,
    needs_cluster: true,
    check,
};

fn check(script: &Script<'_>, input: &LintInput<'_>, findings: &mut Found) {
    let Some(cluster) = input.cluster else {
        return;
    };
    let request = script.request();
    let kind = [
        &request.gpus_per_node,
        &request.gpus,
        &request.rare.gpus_per_task,
    ]
    .into_iter()
    .flatten()
    .find_map(|gpus| gpus.kind.clone());
    let words = words(script);
    let asked = |policy: &&Named<PolicyOfGpu>| match &kind {
        Some(kind) => policy.name.eq_ignore_ascii_case(kind),
        None => words
            .iter()
            .any(|word| policy.name.eq_ignore_ascii_case(word)),
    };
    let of_kind = cluster.policy.gpus.iter().find(asked);
    if kind.is_none() {
        findings.extend(any_gpu(script, input, &words));
    }
    let named = of_kind.is_some();
    let of_kinds = match of_kind {
        Some(policy) => vec![Some(policy)],
        None => of_all_kinds(script, input, kind.as_deref(), &words),
    };
    let general = &cluster.policy;
    if let Some((given, each)) = cpus_of_a_gpu(script) {
        let bounds = bounds_of(
            &of_kinds,
            |own| own.cpus_per_gpu.as_ref(),
            general.cpus_per_gpu.as_ref(),
        );
        let text = |cpus: u32| format!("{cpus} CPUs");
        let found = bounds.and_then(|all| outside(script, cluster, &all, given, each, text));
        findings.extend(found.map(|finding| as_sure_as(finding, named, cluster)));
    }
    if let Some((given, each)) = memory_of_a_gpu(script) {
        let bounds = bounds_of(
            &of_kinds,
            |own| own.memory_per_gpu.as_ref(),
            general.memory_per_gpu.as_ref(),
        );
        let text = |memory: Mib| mebibytes_text(memory.0);
        let found = bounds.and_then(|all| outside(script, cluster, &all, given, Mib(each), text));
        findings.extend(found.map(|finding| as_sure_as(finding, named, cluster)));
    }
}

/// The name of a kind of GPUs, and how much of something each may have.
type OfKind<'a, T> = (&'a str, &'a Sourced<Bounds<T>>);

/// Names and policies of kinds of GPUs; none where one of them has no policy.
fn bounds_of<'a, T>(
    kinds: &[Option<&'a Named<PolicyOfGpu>>],
    own: impl Fn(&'a PolicyOfGpu) -> Option<&'a Sourced<Bounds<T>>>,
    general: Option<&'a Sourced<Bounds<T>>>,
) -> Option<Vec<OfKind<'a, T>>> {
    let bounds = |kind: &Option<&'a Named<PolicyOfGpu>>| {
        let name = kind.map_or("", |kind| kind.name.as_str());
        Some((name, kind.and_then(|kind| own(&kind.body)).or(general)?))
    };
    kinds.iter().map(bounds).collect()
}

/// The policies of all GPUs that the job could get, where the script doesn't say which; a GPU without
/// one of its own has the general policy.
fn of_all_kinds<'a>(
    script: &Script<'_>,
    input: &LintInput<'a>,
    kind: Option<&str>,
    words: &[&str],
) -> Vec<Option<&'a Named<PolicyOfGpu>>> {
    let Some(cluster) = input.cluster else {
        return Vec::new();
    };
    let mut kinds = cluster.gpus(site::partition(script, input).map(|partition| &partition.body));
    kinds.retain(|one| match kind {
        Some(kind) => one.gpu.is_called(kind),
        None => {
            let listed = one.nodes.features.iter().flat_map(|list| &list.value);
            let own = one.gpu.feature.iter().map(|feature| &feature.value);
            let mut features = listed.chain(own);
            words.is_empty() || features.any(|feature| words.contains(&feature.as_str()))
        }
    });
    let mut policies: Vec<Option<&Named<PolicyOfGpu>>> = Vec::new();
    for one in kinds {
        let own = |policy: &&Named<PolicyOfGpu>| one.gpu.is_called(&policy.name);
        let policy = cluster.policy.gpus.iter().find(own);
        let same = |known: &Option<&Named<PolicyOfGpu>>| {
            known.map(|known| &known.name) == policy.map(|policy| &policy.name)
        };
        if !policies.iter().any(same) {
            policies.push(policy);
        }
    }
    // Of GPUs that the file doesn't know, the general policy speaks.
    if policies.is_empty() {
        policies.push(None);
    }
    policies
}

/// Where the script names no GPU, others than those that the file knows may come.
fn as_sure_as(finding: Finding, named: bool, cluster: &ClusterFile) -> Finding {
    if named || cluster.policy.gpus.is_empty() {
        finding
    } else {
        site::of_known_nodes(finding, cluster)
    }
}

/// The features that `--constraint` names.
fn words<'s>(script: &'s Script<'_>) -> Vec<&'s str> {
    let value = script.value(Key::Constraint).unwrap_or_default();
    let words = value.split(['&', '|', ',', '[', ']', '(', ')']);
    let words = words.map(|word| word.split('*').next().unwrap_or(word).trim());
    words.filter(|word| !word.is_empty()).collect()
}

/// GPUs of no stated kind, where the site tells them apart by features: any kind may come.
fn any_gpu(script: &Script<'_>, input: &LintInput<'_>, words: &[&str]) -> Option<Finding> {
    let cluster = input.cluster?;
    let request = script.request();
    let counts = [
        &request.gpus,
        &request.gpus_per_node,
        &request.rare.gpus_per_task,
    ];
    if !counts.into_iter().flatten().any(|gpus| gpus.count > 0) {
        return None;
    }
    let keys = [Key::Gpus, Key::GpusPerNode, Key::Gres, Key::GpusPerTask];
    let given = keys.into_iter().find_map(|key| script.last(key))?;
    let kinds = cluster.gpus(site::partition(script, input).map(|partition| &partition.body));
    if kinds.iter().any(|kind| kind.gpu.kind.is_some()) {
        return None;
    }
    let features: Vec<&Sourced<String>> = kinds
        .iter()
        .filter_map(|kind| kind.gpu.feature.as_ref())
        .collect();
    let first = features.first()?;
    if features
        .iter()
        .any(|feature| words.contains(&feature.as_str()))
    {
        return None;
    }
    let mut names: Vec<&str> = features.iter().map(|feature| feature.as_str()).collect();
    names.dedup();
    // One that is said and replaced is another finding: its help names both.
    let mut replaced = given_twice::replaced(script)
        .into_iter()
        .filter(|(first, _)| {
            let value = first.value.as_deref().unwrap_or_default();
            let mut words = value.split(['&', '|', ',', '[', ']', '(', ')', '*']);
            first.option.effect == Effect::Sets(Key::Constraint)
                && words.any(|word| names.contains(&word))
        });
    if replaced.next().is_some() {
        return None;
    }
    let finding = script
        .finding(
            RULE.code,
            Severity::Note,
            given,
            format!(
                "GPUs of any kind: {} tells them apart by --constraint",
                cluster.name
            ),
            "no word of which",
        )
        .help(format!(
            "such as --constraint={}",
            names.join(" or --constraint=")
        ));
    Some(site::resting_on(finding, first, "the feature"))
}

/// What is outside of the policy of all GPUs that the job could get, or, as a note, of some of them.
fn outside<T: PartialOrd + Copy + std::fmt::Display>(
    script: &Script<'_>,
    cluster: &ClusterFile,
    all: &[OfKind<'_, T>],
    given: &Given,
    each: T,
    text: impl Fn(T) -> String,
) -> Option<Finding> {
    let is_outside = |(_, bounds): &&OfKind<'_, T>| !bounds.all().any(|own| own.holds(&each));
    let bad: Vec<&OfKind<'_, T>> = all.iter().filter(is_outside).collect();
    let (_, first) = bad.first()?;
    let more = bad.iter().all(|(_, bounds)| each > bounds.most);
    let less = bad.iter().all(|(_, bounds)| each < bounds.least);
    let way = match (more, less) {
        (true, _) => "more than",
        (_, true) => "less than",
        (false, false) => "other than",
    };
    let names: Vec<&str> = bad.iter().map(|(name, _)| *name).collect();
    let (severity, of) = if bad.len() == all.len() {
        (RULE.severity, String::new())
    } else {
        (Severity::Note, format!(" for {}", names.join(" and ")))
    };
    let policy = match all {
        [(_, one)] => one.value.to_string(),
        several => {
            let each = several.iter().map(|(name, own)| match *name {
                "" => format!("{} for others", own.value),
                name => format!("{} for {name}", own.value),
            });
            each.collect::<Vec<_>>().join(", ")
        }
    };
    let finding = script.finding(
        RULE.code,
        severity,
        given,
        format!(
            "{} for each GPU: {way} {} wants{of}",
            text(each),
            cluster.name
        ),
        format!("the policy is {policy}"),
    );
    // It is as sure as the least sure of them.
    let unsure = bad.iter().map(|(_, own)| own);
    let unsure = unsure
        .copied()
        .find(|own| own.is_assumed() || own.is_disputed());
    Some(site::resting_on(
        finding,
        unsure.unwrap_or(first),
        "its policy of GPUs",
    ))
}

fn gpus_of_a_node(script: &Script<'_>) -> Option<u32> {
    let request = script.request();
    let per_node = request.gpus_per_node.as_ref().map(|gpus| gpus.count);
    let one_node = request.min_nodes == Some(1) && request.max_nodes == Some(1);
    let all = request
        .gpus
        .as_ref()
        .filter(|_| one_node)
        .map(|gpus| gpus.count);
    per_node.or(all).filter(|count| *count > 0)
}

fn cpus_of_a_gpu<'s>(script: &'s Script<'_>) -> Option<(&'s Given, u32)> {
    let request = script.request();
    if let Some(cpus) = request.rare.cpus_per_gpu {
        return Some((script.last(Key::CpusPerGpu)?, cpus));
    }
    let given = script.last(Key::CpusPerTask)?;
    let cpus = request.cpus_per_task?;
    let gpus = gpus_of_a_node(script)?;
    let tasks = request.tasks_per_node.unwrap_or(1).max(1);
    Some((given, cpus.saturating_mul(tasks) / gpus))
}

fn memory_of_a_gpu<'s>(script: &'s Script<'_>) -> Option<(&'s Given, u64)> {
    match script.request().memory? {
        MemoryRequest::PerGpu(memory) => Some((script.last(Key::MemPerGpu)?, memory)),
        // All of a node's is said with other words.
        MemoryRequest::PerNode(0) | MemoryRequest::PerCpu(_) => None,
        MemoryRequest::PerNode(memory) => Some((
            script.last(Key::Mem)?,
            memory / u64::from(gpus_of_a_node(script)?),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, input_on, lint_on, silent};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH -p gpu --gpus=1 «--cpus-per-gpu=32»\n");
        assert_eq!(found.message, "32 CPUs for each GPU: more than test wants");
        fires(&RULE, "#SBATCH -p gpu --gres=gpu:4 «--mem=64G»\n");
        fires(&RULE, "#SBATCH -p gpu --gres=gpu:2 «-c 2»\n");
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "#SBATCH -p gpu --gpus=1 --cpus-per-gpu=6 --mem-per-gpu=90G\n",
        );
        silent(&RULE, "#SBATCH -p gpu --gres=gpu:2 -c 10\n");
        silent(&RULE, "#SBATCH -p batch -c 32 --mem=1G\n");
        silent(&RULE, "#SBATCH -p plain --gpus=1 -C any\n");
    }

    #[test]
    fn the_policy_of_a_gpu_among_other_features() {
        let script = "#!/bin/sh\n#SBATCH --gpus=1 --cpus-per-gpu=32\n\
            #SBATCH -C v100&cpu_intel_gold_6142\n";
        let found = lint_on("ibex", script);
        let found = found.iter().find(|one| one.code == RULE.code).unwrap();
        assert_eq!(found.message, "32 CPUs for each GPU: more than ibex wants");
        let found = lint_on("ibex", "#!/bin/sh\n#SBATCH --gpus=1\n");
        let found = found.iter().find(|one| one.code == RULE.code).unwrap();
        assert_eq!(found.help.as_deref(), Some("such as --constraint=v100"));
    }

    /// The findings about amounts for each GPU, on a cluster with these policies.
    #[track_caller]
    fn check_kinds(lists: &str, options: &str, want: &[(Severity, &str)]) {
        let cluster = format!(
            "[lists]\nnodes = \"{lists}\"\n\
             [nodes.a]\nnames = \"a[1-2]\"\ngpu = {{ type = \"v100\", count = 4 }}\n\
             [nodes.b]\nnames = \"b[1-2]\"\ngpu = {{ type = \"p100\", count = 4 }}\n\
             [partition.all]\ndefault = true\nnodes = [\"a\", \"b\"]\n\
             [partition.old]\nnodes = [\"b\"]\n\
             [policy.gpu.v100]\ncpus_per_gpu = \"5-8\"\n\
             [policy.gpu.p100]\ncpus_per_gpu = \"1-6\"\n"
        );
        let cluster = ClusterFile::parse("test", &cluster).unwrap();
        let script = format!("#!/bin/sh\n#SBATCH {options}\n");
        let found = crate::check(&input_on(&cluster, &script));
        let found = found.iter().filter(|one| one.code == RULE.code);
        let found: Vec<_> = found.map(|one| (one.severity, &*one.message)).collect();
        assert_eq!(found, want, "{options}");
    }

    #[test]
    fn gpus_of_no_type_have_the_policy_of_all_that_could_come() {
        use Severity::{Note, Warning};
        let all = "9 CPUs for each GPU: more than test wants";
        check_kinds("whole", "--gres=gpu:1 -c 9", &[(Warning, all)]);
        check_kinds("some", "--gres=gpu:1 -c 9", &[(Note, all)]);
        let old = "7 CPUs for each GPU: more than test wants for p100";
        check_kinds("whole", "--gpus=1 --cpus-per-gpu=7", &[(Note, old)]);
        let new = "2 CPUs for each GPU: less than test wants for v100";
        check_kinds("whole", "--gpus=1 --cpus-per-gpu=2", &[(Note, new)]);
        check_kinds("whole", "--gpus=1 --cpus-per-gpu=5", &[]);
        check_kinds("whole", "-p old --gpus=1 --cpus-per-gpu=2", &[]);
        let only = "7 CPUs for each GPU: more than test wants";
        check_kinds(
            "whole",
            "-p old --gpus=1 --cpus-per-gpu=7",
            &[(Warning, only)],
        );
        check_kinds(
            "whole",
            "--gpus=p100:1 --cpus-per-gpu=7",
            &[(Warning, only)],
        );
        check_kinds("whole", "--gpus=v100:1 --cpus-per-gpu=7", &[]);
    }

    #[test]
    fn gpus_of_no_type_on_ibex() {
        let found = lint_on("ibex", "#!/bin/sh\n#SBATCH --gres=gpu:1 -c 32 --mem=32G\n");
        let found: Vec<_> = found
            .iter()
            .filter(|one| one.code == RULE.code)
            .map(|one| (one.severity, &*one.message))
            .collect();
        assert!(found.contains(&(Severity::Note, "32 CPUs for each GPU: more than ibex wants")));
        assert!(found.contains(&(Severity::Note, "32G for each GPU: less than ibex wants")));
    }

    /// Two findings would contradict each other: Y012 quotes the line that names it.
    #[test]
    fn a_gpu_that_a_replaced_constraint_names() {
        let script = "#!/bin/sh\n#SBATCH --gpus=8\n#SBATCH --constraint=v100\n\
            #SBATCH --constraint=cpu_intel_platinum_8260\nsrun x\n";
        let found = lint_on("ibex", script);
        assert!(found.iter().any(|one| one.code == "Y012"));
        let any = found
            .iter()
            .find(|one| one.message.starts_with("GPUs of any kind"));
        assert_eq!(any, None);
    }

    #[test]
    fn gpus_that_only_a_constraint_tells_apart() {
        let found = fires(&RULE, "#SBATCH -p plain «--gpus=2»\n");
        assert_eq!(found.help.as_deref(), Some("such as --constraint=any"));
        assert_eq!(found.severity, Severity::Note);
    }
}
