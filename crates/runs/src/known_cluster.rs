//! What is known of the cluster that a run goes to: its file, with what the cluster itself reports
//! over it, or what was changed of an engine's since.

use crate::cluster_files;
use crate::failure::Failure;
use crate::target::Target;
use backend::{ReportedNodes, ReportedSite};
use cluster_file::{ClusterFile, List, Lists};
use model::{NodeName, counted, node_list};
use resources::{Difference, Merged, changed, merge};
use std::collections::HashSet;
use std::fmt::Write as _;
use sys::Places;

/// What is known of a cluster that has a file.
pub(crate) struct KnownCluster {
    /// The file, with what its Slurm reports over it, or as its engine goes by it: by this all commands plan and
    /// judge.
    pub file: ClusterFile,
    /// What the Slurm or the engine reports otherwise than the file.
    pub differences: Vec<Difference>,
}

impl KnownCluster {
    /// The file that has the name of the target, or says that its `ClusterName` is that; of an
    /// embedded engine the one in its folder. None for this machine.
    ///
    /// # Errors
    /// The file of that name can't be read.
    pub fn of(target: &Target, places: &Places) -> Result<Option<KnownCluster>, Failure> {
        if target.facts.embedded {
            return KnownCluster::of_engine(&target.facts.name, places);
        }
        let name = target.facts.name.as_str();
        let (texts, _) = cluster_files::all(places);
        let named = texts.iter().find(|text| text.name == name);
        let file = match named {
            Some(text) => Some(text.parse()?),
            None => texts.iter().find_map(|text| {
                let file = text.parse().ok()?;
                let own = file.cluster_name.as_ref()?;
                (own.value == name).then_some(file)
            }),
        };
        Ok(file.map(|file| {
            // Which QOS its users have the file may know.
            let knows_qos = file.knows_all(List::Qos) && file.knows_all(List::Accounts);
            let site = ReportedSite {
                has_accounting: target.site.has_accounting && !knows_qos,
                ..target.site.clone()
            };
            match reported(name, &target.nodes, &site) {
                Some(reported) => {
                    let Merged { file, differences } = merge(&file, &reported);
                    KnownCluster { file, differences }
                }
                None => KnownCluster {
                    file,
                    differences: Vec::new(),
                },
            }
        }))
    }

    /// That of the embedded engine of this name, whether or not it runs; none where its cluster is this machine, and
    /// without such an engine.
    ///
    /// # Errors
    /// Its file can't be read.
    pub fn of_engine(name: &str, places: &Places) -> Result<Option<KnownCluster>, Failure> {
        let Some(written) = cluster_files::of_engine(places, name) else {
            return Ok(None);
        };
        let written = written?.parse()?;
        let mut known = match cluster_files::changed_of_engine(places, name) {
            Some(text) => {
                let file = text?.parse()?;
                // Where nobody wrote one, there is no file that it could differ from.
                let differences = if cluster_files::has_written(places, name) {
                    changed(&written, &file)
                } else {
                    Vec::new()
                };
                KnownCluster { file, differences }
            }
            None => KnownCluster {
                file: written,
                differences: Vec::new(),
            },
        };
        // It has what the file has, and nothing else.
        known.file.lists = Lists::whole();
        Ok(Some(known))
    }

    /// What a person should know of the differences.
    pub fn notes(&self, name: &str) -> Vec<String> {
        let told = self.differences.iter().take(TOLD);
        let told = told.map(|one| format!("{name} is not as its cluster file has it: {one}"));
        let more = self.differences.len().saturating_sub(TOLD);
        let more = (more > 0).then(|| format!("{} more of the kind", counted(more, "difference")));
        told.chain(more).collect()
    }
}

/// So many differences between a cluster and its file are shown, one each; of the others how many.
const TOLD: usize = 3;

/// The cluster by which what is sent to a target is judged before: what is known of it, else what a Slurm
/// reports. None for the embedded engine of this machine, which judges itself.
///
/// # Errors
/// The file of that name can't be read.
pub(crate) fn judged_by(target: &Target, places: &Places) -> Result<Option<KnownCluster>, Failure> {
    if let Some(known) = KnownCluster::of(target, places)? {
        return Ok(Some(known));
    }
    let file = reported(&target.facts.name, &target.nodes, &target.site);
    Ok(file.map(|file| KnownCluster {
        file,
        differences: Vec::new(),
    }))
}

/// What `sinfo` reports, as a cluster file has it; none where it can't be put so.
pub(crate) fn reported(
    name: &str,
    rows: &[ReportedNodes],
    site: &ReportedSite,
) -> Option<ClusterFile> {
    if rows.is_empty() {
        return None;
    }
    // Of QOS, accounts and features it says nothing, and nodes of a cloud that are powered down it leaves out.
    let mut text = String::from(
        "[lists]\nnodes = \"some\"\nqos = \"some\"\naccounts = \"some\"\nfeatures = \"some\"\n",
    );
    let mut told: HashSet<NodeName> = HashSet::new();
    let mut partitions: Vec<(&ReportedNodes, Vec<NodeName>)> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let names = node_list::expand(&row.names).ok()?;
        match partitions
            .iter_mut()
            .find(|(first, _)| first.partition == row.partition)
        {
            Some((_, nodes)) => nodes.extend(names.iter().cloned()),
            None => partitions.push((row, names.clone())),
        }
        // A node is told of once, in whichever partition it stands first.
        let new: Vec<NodeName> = names
            .into_iter()
            .filter(|name| told.insert(name.clone()))
            .collect();
        if new.is_empty() {
            continue;
        }
        let list = node_list::fold(&new);
        let _ = writeln!(text, "[nodes.kind{index}]\nnames = {list:?}");
        // Of CPUs and memory that differ only the least is told.
        if !row.differ {
            let (cpus, memory) = (row.group.cpus, row.group.memory_mib);
            let _ = writeln!(text, "cpus = {cpus}\nmemory = \"{memory}M\"");
        }
        for gpu in &row.group.gpus {
            let _ = writeln!(text, "[[nodes.kind{index}.gpu]]\ncount = {}", gpu.count);
            if let Some(kind) = &gpu.kind {
                let _ = writeln!(text, "type = {kind:?}");
            }
        }
    }
    for (row, nodes) in partitions {
        let list = node_list::fold(&nodes);
        let _ = writeln!(text, "[partition.{:?}]\nnodes = {list:?}", row.partition);
        match &site.job_submit {
            _ if !row.is_default => {}
            // It may send a job elsewhere that names none.
            Some(plugins) => {
                let said = format!("JobSubmitPlugins={plugins}, which may choose another");
                let _ = writeln!(
                    text,
                    "default = {{ value = true, or = {{ value = false, from = {said:?} }} }}"
                );
            }
            None => text.push_str("default = true\n"),
        }
        let mut limit = |key: &str, value: String, flag: &str| {
            let _ = if site.has_accounting {
                let why = format!("a user's own QOS may lift it ({flag})");
                writeln!(text, "{key} = {{ value = {value}, assumed = {why:?} }}")
            } else {
                writeln!(text, "{key} = {value}")
            };
        };
        if let Some(time) = row.max_time {
            limit("max_time", format!("\"{time}\""), "PartitionTimeLimit");
        }
        if let Some(size) = row.job_size {
            limit(
                "min_nodes",
                size.least.max(1).to_string(),
                "PartitionMinNodes",
            );
            if let Some(most) = size.most {
                limit("max_nodes", most.to_string(), "PartitionMaxNodes");
            }
        }
        if let Some(time) = row.default_time {
            let _ = writeln!(text, "default_time = \"{time}\"");
        }
    }
    ClusterFile::parse(name, &text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use backend::JobSize;
    use expect_test::{Expect, expect};
    use model::{GpuGroup, NodeGroup, Seconds, TimeLimitRequest};

    fn row(partition: &str, names: &str, cpus: u32, gpus: u32) -> ReportedNodes {
        ReportedNodes {
            partition: partition.to_owned(),
            is_default: partition == "gpu",
            names: names.to_owned(),
            group: NodeGroup {
                count: 1,
                cpus,
                memory_mib: 16_000,
                gpus: (gpus > 0)
                    .then(|| GpuGroup {
                        kind: Some("v100".to_owned()),
                        count: gpus,
                        memory_mib: None,
                    })
                    .into_iter()
                    .collect(),
            },
            differ: false,
            max_time: Some(TimeLimitRequest::Limit(Seconds(7200))),
            default_time: None,
            job_size: Some(JobSize {
                least: 1,
                most: None,
            }),
        }
    }

    const FILE: &str = r#"
        [nodes.gpu]
        names = "n[1-4]"
        cpus = 8
        memory = "16000M"
        gpu = { type = "v100", count = 4 }
        [partition.gpu]
        nodes = "n[1-4]"
        max_time = "2:00:00"
    "#;

    #[track_caller]
    fn check(rows: &[ReportedNodes], want: Expect) {
        let file = ClusterFile::parse("lab", FILE).unwrap();
        let reported = reported("lab", rows, &ReportedSite::default()).unwrap();
        let differences = merge(&file, &reported).differences;
        let lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
        want.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn what_is_reported_is_held_against_the_file() {
        check(&[row("gpu", "n[1-4]", 8, 4)], expect![""]);
        check(
            &[row("gpu", "n[1-2]", 8, 4), row("gpu", "n[3-4]", 16, 2)],
            expect![[r#"
                n[3-4]: CPUs: 8 in the file, 16 reported
                n[3-4]: GPUs: 4 v100 in the file, 2 v100 reported"#]],
        );
        check(
            &[row("gpu", "n[1-4]", 8, 4), row("all", "n[3-4]", 8, 4)],
            expect!["partition all: not there in the file, there reported"],
        );
        let differ = ReportedNodes {
            differ: true,
            max_time: Some(TimeLimitRequest::Unlimited),
            ..row("gpu", "n[1-4]", 1, 4)
        };
        check(
            &[differ],
            expect!["partition gpu: MaxTime: 02:00:00 in the file, UNLIMITED reported"],
        );
    }

    /// The sizes of jobs and the default of their time.
    #[test]
    fn limits_that_only_one_of_them_says() {
        let file = |limits: &str| ClusterFile::parse("lab", &format!("{FILE}{limits}\n")).unwrap();
        let row = |least, most, default_time| ReportedNodes {
            job_size: Some(JobSize { least, most }),
            default_time,
            ..row("gpu", "n[1-4]", 8, 4)
        };
        let check = |limits: &str, row: ReportedNodes, want: Expect| {
            let reported = reported("lab", &[row], &ReportedSite::default()).unwrap();
            let Merged {
                file: merged,
                differences,
            } = merge(&file(limits), &reported);
            let lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
            let gpu = merged.partition("gpu").unwrap();
            let now = (
                gpu.min_nodes.as_ref().map(|it| it.value),
                gpu.max_nodes.as_ref().map(|it| it.value),
                gpu.default_time.as_ref().map(|it| it.value.to_string()),
            );
            want.assert_eq(&format!("{}\n{now:?}", lines.join("\n")));
        };
        let hour = TimeLimitRequest::Limit(Seconds(3600));
        let said = "max_nodes = 2\ndefault_time = \"30:00\"";
        check(
            said,
            row(1, Some(2), Some(hour)),
            expect![[r#"
            partition gpu: DefaultTime: 00:30:00 in the file, 01:00:00 reported
            (Some(1), Some(2), Some("01:00:00"))"#]],
        );
        check(
            said,
            row(2, None, None),
            expect![[r#"
            partition gpu: DefaultTime: 00:30:00 in the file, NONE reported
            partition gpu: MaxNodes: 2 in the file, UNLIMITED reported
            (Some(2), None, None)"#]],
        );
        check(
            "min_nodes = 2",
            row(1, Some(3), Some(hour)),
            expect![[r#"
            partition gpu: MinNodes: 2 in the file, 1 reported
            (Some(1), Some(3), Some("01:00:00"))"#]],
        );
    }
}
