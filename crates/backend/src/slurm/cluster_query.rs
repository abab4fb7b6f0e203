//! The two questions for a whole cluster, and how their answers are read: `sinfo` for its nodes,
//! `squeue` for the jobs of all users.

use super::query::local_time;
use crate::cluster_view::{Amount, NodeView, QueueState, QueuedJob, Used};
use crate::transport::TransportError;
use model::{JobId, NodeName, node_list};

/// `sinfo --Node --Format`. What an administrator wrote of a node is last: it may hold a `|`.
pub const NODES: &str = "NodeList:128|,StateLong:24|,Partition:128|,CPUsState:48|,Memory:16|,\
AllocMem:16|,Gres:512|,GresUsed:512|,Reason:256|";

/// `squeue --Format`. What a user wrote is last.
pub const QUEUE: &str = "JobID:12|,State:24|,UserName:64|,ReasonList:1024|,StartTime:32|,EndTime:32|,\
NumNodes:12|,NumCPUs:12|,tres-alloc:512|,ArrayJobID:12|,ArrayTaskID:256|,Name:256|";

/// Reads the answer about nodes, which has a line for each partition that a node is in.
///
/// # Errors
/// A line with other fields than were asked for.
pub fn nodes(text: &str) -> Result<Vec<NodeView>, TransportError> {
    let mut nodes: Vec<NodeView> = Vec::new();
    let mut index = std::collections::HashMap::new();
    for line in text.lines() {
        let wrong = || TransportError::Answer {
            command: "sinfo".to_owned(),
            line: line.to_owned(),
        };
        let fields: Vec<&str> = line.splitn(9, '|').map(str::trim).collect();
        let [
            name,
            state,
            partition,
            cpus,
            memory,
            held,
            gres,
            gres_used,
            reason,
        ] = fields[..]
        else {
            return Err(wrong());
        };
        let partition = partition.trim_end_matches('*').to_owned();
        if let Some(known) = index.get(name).copied() {
            let known: &mut NodeView = &mut nodes[known];
            if !known.partitions.contains(&partition) {
                known.partitions.push(partition);
            }
            continue;
        }
        let counts: Vec<u64> = cpus.split('/').filter_map(|it| it.parse().ok()).collect();
        let [used, _idle, _other, total] = counts[..] else {
            return Err(wrong());
        };
        let (gpus, gpu_types) = gpus_of(gres);
        let reason = reason.trim_end_matches('|').trim_end();
        index.insert(name, nodes.len());
        nodes.push(NodeView {
            name: NodeName::new(name),
            state: state.to_owned(),
            partitions: vec![partition],
            cpus: Used { used, total },
            memory: Used {
                used: held.parse().unwrap_or(0),
                total: memory.parse().map_err(|_| wrong())?,
            },
            gpus: Used {
                used: gpus_of(gres_used).0,
                total: gpus,
            },
            gpu_types,
            reason: (!reason.is_empty() && reason != "none").then(|| reason.to_owned()),
        });
    }
    Ok(nodes)
}

/// Reads the answer about jobs.
///
/// # Errors
/// A line with other fields than were asked for.
pub fn queue(text: &str) -> Result<Vec<QueuedJob>, TransportError> {
    text.lines().map(job).collect()
}

fn job(line: &str) -> Result<QueuedJob, TransportError> {
    let wrong = || TransportError::Answer {
        command: "squeue".to_owned(),
        line: line.to_owned(),
    };
    let fields: Vec<&str> = line.splitn(12, '|').map(str::trim).collect();
    let [
        id,
        state,
        user,
        reason,
        start,
        end,
        nodes,
        cpus,
        tres,
        array,
        task,
        name,
    ] = fields[..]
    else {
        return Err(wrong());
    };
    let state = match state {
        "PENDING" => QueueState::Waits {
            // A waiting job's list shows its reason in parentheses.
            reason: reason.trim_matches(['(', ')']).to_owned(),
            start: local_time(start),
        },
        _ => QueueState::Runs {
            nodes: node_list::expand(reason).unwrap_or_default(),
            until: local_time(end),
        },
    };
    Ok(QueuedJob {
        id: JobId(id.parse().map_err(|_| wrong())?),
        label: match task {
            "N/A" => id.to_owned(),
            one if one.bytes().all(|byte| byte.is_ascii_digit()) => format!("{array}_{one}"),
            several => format!("{array}_[{}]", several.trim_matches(['[', ']'])),
        },
        name: name.trim_end_matches('|').trim_end().to_owned(),
        user: user.to_owned(),
        amount: Amount::Counted {
            // A range while it waits: the least.
            nodes: nodes
                .split('-')
                .next()
                .unwrap_or_default()
                .parse()
                .map_err(|_| wrong())?,
            cpus: cpus.parse().map_err(|_| wrong())?,
            gpus: gpus_of_tres(tres),
        },
        state,
    })
}

/// `gres/gpu=4` of `cpu=8,mem=16G,node=1,billing=8,gres/gpu=4,gres/gpu:v100=4`; where only typed ones
/// are counted, their sum.
fn gpus_of_tres(tres: &str) -> u64 {
    let mut typed = 0;
    for item in tres.split(',') {
        let Some((name, count)) = item.split_once('=') else {
            continue;
        };
        let count = count.parse().unwrap_or(0);
        if name == "gres/gpu" {
            return count;
        }
        if name.starts_with("gres/gpu:") {
            typed += count;
        }
    }
    typed
}

/// Count and types of the GPUs in `gpu:v100:4(S:0-1),nvme:1` or `gpu:v100:2(IDX:0,2)`.
fn gpus_of(gres: &str) -> (u64, Vec<String>) {
    let (mut count, mut types) = (0, Vec::new());
    // Commas in parentheses part nothing.
    let mut depth = 0;
    let items = gres.split(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    });
    for item in items {
        let item = item.split('(').next().unwrap_or_default();
        let parts: Vec<&str> = item.split(':').collect();
        match parts[..] {
            ["gpu", number] => count += number.parse().unwrap_or(0),
            ["gpu", kind, number] => {
                count += number.parse().unwrap_or(0);
                types.push(kind.to_owned());
            }
            _ => {}
        }
    }
    (count, types)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check_nodes(text: &str, want: Expect) {
        let text = match nodes(text) {
            Ok(nodes) => nodes
                .iter()
                .map(|node| {
                    let (cpus, gpus) = (node.cpus, node.gpus);
                    format!(
                        "{} {} in {} CPUs {}/{} MiB {}/{} GPUs {}/{} {:?} {:?}\n",
                        node.name,
                        node.state,
                        node.partitions.join("+"),
                        cpus.used,
                        cpus.total,
                        node.memory.used,
                        node.memory.total,
                        gpus.used,
                        gpus.total,
                        node.gpu_types,
                        node.reason
                    )
                })
                .collect(),
            Err(error) => format!("error: {error}"),
        };
        want.assert_eq(&text);
    }

    #[track_caller]
    fn check_queue(text: &str, want: Expect) {
        let text = match queue(text) {
            Ok(jobs) => jobs
                .iter()
                .map(|job| {
                    format!(
                        "{} {:?} {} {:?} {:?}\n",
                        job.label, job.name, job.user, job.amount, job.state
                    )
                })
                .collect(),
            Err(error) => format!("error: {error}"),
        };
        want.assert_eq(&text);
    }

    #[test]
    fn nodes_with_their_partitions_and_gpus() {
        check_nodes(
            "n1  |mixed  |main*  |3/5/0/8  |16000 |2048 |gpu:v100:4(S:0-1),nvme:1 |gpu:v100:2(IDX:0,3),nvme:0 |none |\n\
             n1  |mixed  |debug  |3/5/0/8  |16000 |2048 |gpu:v100:4(S:0-1),nvme:1 |gpu:v100:2(IDX:0,3),nvme:0 |none |\n\
             n2  |drained* |main* |0/0/8/8 |16000 |0    |(null) |(null) |bad | fan  |",
            expect![[r#"
                n1 mixed in main+debug CPUs 3/8 MiB 2048/16000 GPUs 2/4 ["v100"] None
                n2 drained* in main CPUs 0/8 MiB 0/16000 GPUs 0/0 [] Some("bad | fan")
            "#]],
        );
        check_nodes(
            "slurm_load_partitions: Unable to contact slurm controller",
            expect![[
                r#"error: sinfo answered what can't be read: "slurm_load_partitions: Unable to contact slurm controller""#
            ]],
        );
    }

    #[test]
    fn jobs_of_all_users() {
        check_queue(
            "7 |RUNNING |ann |n[1-2] |N/A |N/A |2 |3 |cpu=3,node=2,gres/gpu=2,gres/gpu:v100=2 |7 |N/A |a|b |\n\
             8 |PENDING |bob |(Resources) |N/A |N/A |2-4 |16 |cpu=16,gres/gpu:a100=1 |8 |N/A |wide |\n\
             9 |PENDING |bob |(JobHeldUser) |N/A |N/A |1 |1 |cpu=1 |9 |1-3%2 |row |\n\
             11 |RUNNING |bob |n1 |N/A |N/A |1 |1 |cpu=1 |9 |4 |row |",
            expect![[r#"
                7 "a|b" ann Counted { nodes: 2, cpus: 3, gpus: 2 } Runs { nodes: [NodeName("n1"), NodeName("n2")], until: None }
                8 "wide" bob Counted { nodes: 2, cpus: 16, gpus: 1 } Waits { reason: "Resources", start: None }
                9_[1-3%2] "row" bob Counted { nodes: 1, cpus: 1, gpus: 0 } Waits { reason: "JobHeldUser", start: None }
                9_4 "row" bob Counted { nodes: 1, cpus: 1, gpus: 0 } Runs { nodes: [NodeName("n1")], until: None }
            "#]],
        );
        check_queue(
            "7 |RUNNING",
            expect![[r#"error: squeue answered what can't be read: "7 |RUNNING""#]],
        );
    }
}
