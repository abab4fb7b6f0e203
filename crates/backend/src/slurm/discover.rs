//! Whether a real Slurm answers here, and what it has: asked once a command, in three questions.

use super::command::{ask_ok, slurm_command};
use super::commands;
use crate::transport::TransportError;
use model::{ClusterFacts, Comeback, GpuGroup, Internet, NodeGroup, Seconds, TimeLimitRequest};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A Slurm that answered.
#[derive(Debug)]
pub struct Discovered {
    /// The folder of its commands.
    pub bin: PathBuf,
    /// Its version, such as `22.05.8`.
    pub version: String,
    /// What it is and has.
    pub facts: ClusterFacts,
    /// Its nodes by partition, as it reports them.
    pub nodes: Vec<ReportedNodes>,
    /// What of a job it may decide by itself.
    pub site: ReportedSite,
}

/// What a Slurm may decide of a job that doesn't say it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedSite {
    /// Its plugins that may change what a job asks (`JobSubmitPlugins`), where there are any.
    pub job_submit: Option<String>,
    /// Its users may have a QOS by default, of which nothing is known here.
    pub has_accounting: bool,
}

/// Nodes of one partition that have the same, as `sinfo` reports them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedNodes {
    /// The partition.
    pub partition: String,
    /// Jobs that name none go there.
    pub is_default: bool,
    /// The nodes, as a list of Slurm's.
    pub names: String,
    /// What each of them has.
    pub group: NodeGroup,
    /// Their CPUs or memory differ, and `group` has the least.
    pub differ: bool,
    /// The partition's longest limit.
    pub max_time: Option<TimeLimitRequest>,
    /// The limit of its jobs that ask for none; none where those have the longest.
    pub default_time: Option<TimeLimitRequest>,
    /// The fewest and the most nodes that it gives a job; none where that can't be read.
    pub job_size: Option<JobSize>,
}

/// How many nodes a partition gives a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSize {
    /// The fewest.
    pub least: u32,
    /// The most; none where there is no limit.
    pub most: Option<u32>,
}

impl JobSize {
    /// Reads `1-infinite`, `2-4`, `3` and `1-2K`, as `sinfo --format=%s` prints them.
    fn parse(text: &str) -> Option<JobSize> {
        let number = |text: &str| {
            let (digits, unit) = match text.strip_suffix('K') {
                Some(digits) => (digits, 1024),
                None => (text.strip_suffix('M').unwrap_or(text), 1 << 20),
            };
            let unit = if digits == text { 1 } else { unit };
            digits.parse::<u32>().ok()?.checked_mul(unit)
        };
        let (least, most) = text.split_once('-').unwrap_or((text, text));
        Some(JobSize {
            least: number(least)?,
            most: match most {
                "infinite" => None,
                most => Some(number(most)?),
            },
        })
    }
}

impl Discovered {
    /// Name and version of what schedules there: `slurm 22.05.8`.
    #[must_use]
    pub fn scheduler(&self) -> String {
        format!("slurm {}", self.version)
    }
}

/// Looks for a Slurm on PATH. `None`: there is none on this machine.
///
/// # Errors
/// Its commands are here, but it does not answer: a tool that failed is not an empty answer.
pub fn discover() -> Result<Option<Discovered>, TransportError> {
    let Some(bin) = commands::folder() else {
        return Ok(None);
    };
    match read_facts(&bin) {
        Ok((config, facts, nodes)) => Ok(Some(Discovered {
            bin,
            version: config_value(&config, "SLURM_VERSION")
                .unwrap_or_default()
                .to_owned(),
            facts,
            nodes,
            site: site_of(&config),
        })),
        Err(error) if is_unconfigured(&error) => Ok(None),
        Err(error) => Err(TransportError::Unreachable {
            cluster: "the Slurm on this machine".to_owned(),
            message: error.to_string(),
            todo: "wait until sinfo answers, or say --on local for the embedded engine".to_owned(),
        }),
    }
}

/// Slurm's programs are installed, but belong to no cluster: there is neither a `slurm.conf` nor a
/// host that would hand one out. Seen with Slurm 22.05.
fn is_unconfigured(error: &TransportError) -> bool {
    matches!(error, TransportError::Command { message, .. }
        if message.contains("Could not establish a configuration source"))
}

/// The name of this machine's Slurm; `None` where there is none on this machine.
///
/// # Errors
/// Only the controller knows it, and does not answer.
pub fn slurm_here() -> Result<Option<String>, TransportError> {
    commands::folder().map_or(Ok(None), |bin| name_here(&bin))
}

/// The name of the Slurm whose commands stand there. The file that `SLURM_CONF` names says it
/// without a question; another file is believed only while the controller does not answer.
pub fn name_here(bin: &Path) -> Result<Option<String>, TransportError> {
    if let Some(name) = commands::named_configuration() {
        return Ok(Some(name));
    }
    let mut config = slurm_command(&bin.join("scontrol"));
    config.args(["show", "config"]);
    match ask_ok(config) {
        Ok(config) => Ok(config_value(&config, "ClusterName").map(ToOwned::to_owned)),
        Err(error) if is_unconfigured(&error) => Ok(None),
        Err(error) => commands::usual_configuration().map(Some).ok_or(error),
    }
}

/// Whether this machine's Slurm is the cluster of that name; while nothing says, it is taken for it.
pub fn is_here(bin: &Path, cluster: &str) -> bool {
    name_here(bin).map_or(true, |name| name.as_deref() == Some(cluster))
}

/// The answer of `scontrol show config`, and what is read off it and off that of `sinfo`.
fn read_facts(bin: &Path) -> Result<(String, ClusterFacts, Vec<ReportedNodes>), TransportError> {
    let mut config = slurm_command(&bin.join("scontrol"));
    config.args(["show", "config"]);
    let config = ask_ok(config)?;
    let mut nodes = slurm_command(&bin.join("sinfo"));
    nodes.args([
        "--noheader",
        "--all",
        "--format=%P|%D|%c|%m|%G|%L|%M|%l|%s|%N",
    ]);
    let nodes = ask_ok(nodes)?;
    let rows: Vec<Row> = nodes.lines().map(parse_row).collect::<Result<_, _>>()?;
    let facts = facts_of(&config, &rows)?;
    let nodes = rows.into_iter().map(|row| row.nodes).collect();
    Ok((config, facts, nodes))
}

fn site_of(config: &str) -> ReportedSite {
    let said = |name| config_value(config, name).filter(|it| !it.is_empty() && *it != "(null)");
    ReportedSite {
        job_submit: said("JobSubmitPlugins").map(str::to_owned),
        has_accounting: said("AccountingStorageType")
            .is_none_or(|kind| kind != "accounting_storage/none"),
    }
}

/// One value of `scontrol show config`.
fn config_value<'a>(config: &'a str, name: &str) -> Option<&'a str> {
    config.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == name).then_some(value.trim())
    })
}

/// Reads the answer of `scontrol show config` beside that of `sinfo`.
fn facts_of(config: &str, rows: &[Row]) -> Result<ClusterFacts, TransportError> {
    let name = config_value(config, "ClusterName").ok_or_else(|| TransportError::Answer {
        command: "scontrol show config".to_owned(),
        line: config.lines().next().unwrap_or_default().to_owned(),
    })?;
    // A job that names no partition goes to the default one.
    let default: Vec<&Row> = rows.iter().filter(|row| row.nodes.is_default).collect();
    let chosen: Vec<&Row> = if default.is_empty() {
        rows.iter().collect()
    } else {
        default
    };
    let mut nodes: Vec<NodeGroup> = chosen.iter().map(|row| row.nodes.group.clone()).collect();
    nodes.sort_by_key(|group| std::cmp::Reverse(group.count));
    Ok(ClusterFacts {
        name: name.to_owned(),
        embedded: false,
        nodes,
        node_local: PathBuf::from("/tmp"),
        nodes_share_disk: false,
        internet: Internet::Login,
        default_time: chosen.iter().find_map(|row| row.nodes.default_time),
        time_granularity: Seconds(60),
        comeback: comeback(config, &chosen),
        containers: model::ContainerFacts {
            runtimes: crate::facts::runtimes_here(),
            ..model::ContainerFacts::default()
        },
    })
}

/// What ends jobs early there. `JobRequeue` is no part of it: it is what jobs get that don't say,
/// and ours say (slurmctld's `_copy_job_desc_to_job_record`).
fn comeback(config: &str, partitions: &[&Row]) -> Comeback {
    let kill_wait = config_value(config, "KillWait")
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .map_or(Comeback::default().kill_wait, Seconds);
    let preempts = config_value(config, "PreemptType").is_some_and(|kind| kind != "preempt/none");
    let cancels = preempts && partitions.iter().any(|row| row.preempt_mode == "CANCEL");
    Comeback {
        no_requeue: cancels.then(|| "preempted jobs are cancelled (PreemptMode=CANCEL)".to_owned()),
        kill_wait,
        ..Comeback::default()
    }
}

/// One line of `sinfo --format=%P|%D|%c|%m|%G|%L|%M|%l|%s|%N`.
struct Row {
    nodes: ReportedNodes,
    preempt_mode: String,
}

fn parse_row(line: &str) -> Result<Row, TransportError> {
    let wrong = || TransportError::Answer {
        command: "sinfo".to_owned(),
        line: line.to_owned(),
    };
    let fields: Vec<&str> = line.split('|').collect();
    let [
        partition,
        count,
        cpus,
        memory,
        gres,
        default_time,
        preempt_mode,
        max_time,
        job_size,
        names,
    ] = fields[..]
    else {
        return Err(wrong());
    };
    // `+` behind a number: the nodes differ, and this is the least of them.
    let number = |text: &str| text.trim_end_matches('+').parse().map_err(|_| wrong());
    let memory_mib = memory.trim_end_matches('+').parse().map_err(|_| wrong())?;
    Ok(Row {
        nodes: ReportedNodes {
            partition: partition.trim_end_matches('*').to_owned(),
            is_default: partition.ends_with('*'),
            names: names.to_owned(),
            group: NodeGroup {
                count: number(count)?,
                cpus: number(cpus)?,
                memory_mib,
                gpus: gpus_of(gres),
            },
            differ: cpus.ends_with('+') || memory.ends_with('+'),
            max_time: TimeLimitRequest::parse(max_time),
            default_time: TimeLimitRequest::parse(default_time),
            job_size: JobSize::parse(job_size),
        },
        preempt_mode: preempt_mode.to_owned(),
    })
}

/// GPUs in a node's GRES, such as `gpu:v100:4(S:0-1),nvme:1`.
fn gpus_of(gres: &str) -> Vec<GpuGroup> {
    let plain = gres
        .split(',')
        .map(|item| item.split('(').next().unwrap_or_default());
    plain
        .filter_map(|item| {
            let mut parts = item.split(':');
            if parts.next() != Some("gpu") {
                return None;
            }
            let rest: Vec<&str> = parts.collect();
            let (kind, count) = match rest[..] {
                [count] => (None, count),
                [kind, count] => (Some(kind.to_owned()), count),
                _ => return None,
            };
            Some(GpuGroup {
                kind,
                count: count.parse().ok()?,
                memory_mib: None,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(sinfo: &str, want: Expect) {
        let config =
            "Configuration data as of 2026-11-21T12:00:00\nClusterName             = lab\n";
        let rows: Result<Vec<Row>, TransportError> = sinfo.lines().map(parse_row).collect();
        let text = match rows.and_then(|rows| facts_of(config, &rows)) {
            Ok(facts) => {
                let group = |group: &NodeGroup| {
                    let gpus = group.gpus.iter().map(|gpus| {
                        format!(" {}×{}", gpus.count, gpus.kind.as_deref().unwrap_or("?"))
                    });
                    let gpus: String = gpus.collect();
                    format!(
                        "{}: {} CPUs {} MiB{gpus}",
                        group.count, group.cpus, group.memory_mib
                    )
                };
                let nodes: Vec<String> = facts.nodes.iter().map(group).collect();
                format!("{} {}", facts.name, nodes.join("; "))
            }
            Err(error) => format!("error: {error}"),
        };
        want.assert_eq(&text);
    }

    #[test]
    fn default_partition_alone_counts() {
        check(
            "gpu*|3|8|16000|gpu:v100:4|1:00:00|OFF|infinite|1-infinite|n[1-3]\ngpu*|1|8+|16000+|gpu:a100:4(S:0-1)|1:00:00|OFF|infinite|1-infinite|n4\ncpu|2|8|16000|(null)|30:00|OFF|1-00:00:00|1-2|c[1-2]",
            expect!["lab 3: 8 CPUs 16000 MiB 4×v100; 1: 8 CPUs 16000 MiB 4×a100"],
        );
    }

    #[test]
    fn an_unreadable_line_is_an_error() {
        check(
            "slurm_load_partitions: Unable to contact slurm controller",
            expect![[
                r#"error: sinfo answered what can't be read: "slurm_load_partitions: Unable to contact slurm controller""#
            ]],
        );
    }

    #[track_caller]
    fn check_comeback(config: &str, mode: &str, want: (bool, u64)) {
        let row = parse_row(&format!(
            "main*|2|8|16000|(null)|30:00|{mode}|1:00:00|1-infinite|n[1-2]"
        ))
        .unwrap();
        let found = comeback(config, &[&row]);
        assert_eq!((found.no_requeue.is_some(), found.kill_wait.0), want);
    }

    #[test]
    fn sizes_of_jobs() {
        let check = |text: &str, want: Option<(u32, Option<u32>)>| {
            let want = want.map(|(least, most)| JobSize { least, most });
            assert_eq!(JobSize::parse(text), want, "{text}");
        };
        check("1-infinite", Some((1, None)));
        check("2-4", Some((2, Some(4))));
        check("3", Some((3, Some(3))));
        check("1K-2K", Some((1024, Some(2048))));
        check("n/a", None);
        check("", None);
    }

    #[test]
    fn what_it_may_decide_of_a_job() {
        let check = |config: &str, job_submit: Option<&str>, has_accounting: bool| {
            let job_submit = job_submit.map(str::to_owned);
            let want = ReportedSite {
                job_submit,
                has_accounting,
            };
            assert_eq!(site_of(config), want, "{config}");
        };
        let none = "AccountingStorageType   = accounting_storage/none\n";
        check(
            &format!("{none}JobSubmitPlugins        = (null)\n"),
            None,
            false,
        );
        check(&format!("{none}JobSubmitPlugins        = \n"), None, false);
        check(
            "AccountingStorageType = accounting_storage/slurmdbd\nJobSubmitPlugins = lua,all_partitions\n",
            Some("lua,all_partitions"),
            true,
        );
        // What it doesn't say is not known not to be.
        check("", None, true);
    }

    #[test]
    fn what_ends_jobs_early() {
        let preempts = "KillWait = 5 sec\nPreemptType = preempt/partition_prio\n";
        check_comeback(preempts, "CANCEL", (true, 5));
        check_comeback(preempts, "REQUEUE", (false, 5));
        check_comeback("PreemptType = preempt/none\n", "CANCEL", (false, 30));
    }
}
