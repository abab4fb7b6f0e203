use super::*;
use crate::testing::machine;
use expect_test::{Expect, expect};
use model::NodeName;

#[path = "gpu_tests.rs"]
mod gpus;

fn job(nodes: &[(&str, &[u32])]) -> Allocation {
    let share = |(node, cpus): &(&str, &[u32])| NodeShare {
        node: NodeName::new(node),
        cpus: cpus.to_vec(),
        memory: 100 * cpus.len() as u64,
        gpus: vec![],
        tasks: u32::try_from(cpus.len()).unwrap_or_default(),
    };
    Allocation {
        nodes: nodes.iter().map(share).collect(),
    }
}

/// A step that holds all that it uses.
fn holding(nodes: &[NodeShare]) -> RunningStep<'_> {
    let holds = nodes;
    RunningStep { nodes, holds }
}

#[track_caller]
fn check(request: &StepRequest, job: &Allocation, held: &[&[NodeShare]], want: Expect) {
    let running: Vec<RunningStep<'_>> = held.iter().map(|held| holding(held)).collect();
    let shown = match place_step(request, job, &machine(1), &running) {
        Ok(placement) => {
            let show = |shares: &[NodeShare]| {
                let each = shares.iter().map(|share| {
                    format!(
                        "{} {}× {:?} {}M",
                        share.node, share.tasks, share.cpus, share.memory
                    )
                });
                each.collect::<Vec<_>>().join(", ")
            };
            format!("{} | {}", show(&placement.nodes), show(&placement.holds))
        }
        Err(refusal) => refusal.to_string(),
    };
    want.assert_eq(&shown);
}

#[test]
fn without_options_a_step_has_a_task_on_each_node_of_the_job() {
    let job = job(&[("a", &[0, 1]), ("b", &[2])]);
    check(
        &StepRequest::default(),
        &job,
        &[],
        expect!["a 1× [0, 1] 200M, b 1× [2] 100M | a 1× [0, 1] 200M, b 1× [2] 100M"],
    );
}

#[test]
fn a_second_step_waits_unless_it_overlaps() {
    let job = job(&[("a", &[0, 1])]);
    let all = job.nodes.clone();
    let one = StepRequest {
        tasks: Some(1),
        ..StepRequest::default()
    };
    check(&one, &job, &[&all], expect!["Requested nodes are busy"]);
    let overlap = StepRequest {
        overlap: true,
        ..one
    };
    check(&overlap, &job, &[&all], expect!["a 1× [0, 1] 200M | "]);
    let ports = StepRequest {
        reserved_ports: 2,
        ..overlap
    };
    check(
        &ports,
        &job,
        &[&all],
        expect![[r#"
        Requires more ports than can be reserved
          there   0 of the 2 ports that are asked: programs choose their own here"#]],
    );
}

#[test]
fn exact_steps_stand_side_by_side() {
    let job = job(&[("a", &[0, 1])]);
    let exact = StepRequest {
        tasks: Some(1),
        exact: true,
        ..StepRequest::default()
    };
    check(&exact, &job, &[], expect!["a 1× [0] 100M | a 1× [0] 100M"]);
    let first = place_step(&exact, &job, &machine(1), &[]).map(|placement| placement.holds);
    let first = first.unwrap_or_default();
    check(
        &exact,
        &job,
        &[&first],
        expect!["a 1× [1] 100M | a 1× [1] 100M"],
    );
    let two = StepRequest {
        tasks: Some(2),
        ..exact
    };
    check(&two, &job, &[&first], expect!["Requested nodes are busy"]);
}

#[test]
fn one_task_a_node_and_single_nodes() {
    let job = job(&[("a", &[0, 1]), ("b", &[2, 3])]);
    let agents = StepRequest {
        min_nodes: Some(2),
        tasks: Some(2),
        tasks_per_node: Some(1),
        overlap: true,
        memory: Some(0),
        ..StepRequest::default()
    };
    check(
        &agents,
        &job,
        &[&job.nodes.clone()],
        expect!["a 1× [0, 1] 200M, b 1× [2, 3] 200M | "],
    );
    let second = StepRequest {
        nodelist: vec![NodeName::new("b")],
        tasks: Some(1),
        ..StepRequest::default()
    };
    check(
        &second,
        &job,
        &[],
        expect!["b 1× [2, 3] 200M | b 1× [2, 3] 200M"],
    );
    let few = StepRequest {
        tasks: Some(3),
        ..StepRequest::default()
    };
    check(
        &few,
        &job,
        &[],
        expect!["a 2× [0, 1] 200M, b 1× [2, 3] 200M | a 2× [0, 1] 200M, b 1× [2, 3] 200M"],
    );
}

/// As a real Slurm was seen to deal tasks out.
#[test]
fn tasks_are_dealt_out_in_turn_as_far_as_cpus_go() {
    #[track_caller]
    fn check(tasks: u32, cpus: &[u32], overcommit: bool, want: Option<&[u32]>) {
        let counts = Distribution::even_counts(tasks, cpus, overcommit);
        assert_eq!(counts.as_deref(), want);
    }
    check(4, &[3, 1], false, Some(&[3, 1]));
    check(4, &[8, 8], false, Some(&[2, 2]));
    check(7, &[5, 1, 1], false, Some(&[5, 1, 1]));
    check(3, &[2, 1], false, Some(&[2, 1]));
    check(9, &[8, 1], false, Some(&[8, 1]));
    check(12, &[1], false, None);
    check(12, &[1], true, Some(&[12]));
    check(7, &[2, 1], true, Some(&[4, 3]));
}

#[test]
fn tasks_follow_a_list_of_nodes() {
    let job = job(&[("a", &[0, 1]), ("b", &[2]), ("c", &[3])]);
    let listed = |names: &[&str]| StepRequest {
        min_nodes: Some(3),
        tasks: Some(9),
        nodelist: vec![NodeName::new("a"), NodeName::new("b")],
        task_nodes: names.iter().copied().map(NodeName::new).collect(),
        ..StepRequest::default()
    };
    check(
        &listed(&["b", "a", "b"]),
        &job,
        &[],
        expect!["a 1× [0, 1] 200M, b 2× [2] 100M | a 1× [0, 1] 200M, b 2× [2] 100M"],
    );
    check(
        &listed(&["b", "a", "b", "b"]),
        &job,
        &[],
        expect![[r#"
            More processors requested than permitted
              there   the job has fewer CPUs than tasks with their CPUs need"#]],
    );
}

#[test]
fn more_than_the_job_has_is_never() {
    let job = job(&[("a", &[0])]);
    let tasks = StepRequest {
        tasks: Some(2),
        ..StepRequest::default()
    };
    check(
        &tasks,
        &job,
        &[],
        expect![[r#"
            More processors requested than permitted
              there   the job has fewer CPUs than tasks with their CPUs need"#]],
    );
    let nodes = StepRequest {
        min_nodes: Some(2),
        ..StepRequest::default()
    };
    check(
        &nodes,
        &job,
        &[],
        expect!["Only allocated 1 nodes asked for 2"],
    );
    let second = StepRequest {
        relative: Some(1),
        min_nodes: Some(1),
        ..StepRequest::default()
    };
    check(
        &second,
        &job,
        &[],
        expect!["--relative and --nodes option incompatible with count of allocated nodes (1+1>1)"],
    );
}

/// Recorded of a real 22.05.8 (`rest/commands.txt`), but for what is after the first line of the second.
#[test]
fn nodes_that_are_left_out_are_told_in_the_words_of_srun() {
    let job = job(&[("a", &[0]), ("b", &[0])]);
    let [a, b] = ["a", "b"].map(model::NodeName::new);
    let without = |nodelist: &[&model::NodeName], exclude: &[&model::NodeName]| StepRequest {
        nodelist: nodelist.iter().copied().cloned().collect(),
        exclude: exclude.iter().copied().cloned().collect(),
        ..StepRequest::default()
    };
    check(
        &without(&[&b], &[&a, &b]),
        &job,
        &[],
        expect![[r#"
            Requested node b is also in the excluded list.
            error: Job not submitted."#]],
    );
    check(
        &without(&[], &[&a, &b]),
        &job,
        &[],
        expect![[r#"
            Hostlist is empty!  Can't run job.
              there   all nodes of the job are excluded"#]],
    );
}

#[test]
fn a_range_of_nodes_is_taken_as_far_as_nodes_are_free() {
    let job = job(&[("a", &[0]), ("b", &[0]), ("c", &[0])]);
    let range = |least, most, tasks| StepRequest {
        min_nodes: Some(least),
        max_nodes: Some(most),
        tasks,
        exact: true,
        memory: Some(0),
        ..StepRequest::default()
    };
    check(
        &range(1, 2, Some(2)),
        &job,
        &[],
        expect!["a 1× [0] 100M, b 1× [0] 100M | a 1× [0] 0M, b 1× [0] 0M"],
    );
    check(
        &range(2, 4, None),
        &job,
        &[],
        expect![
            "a 1× [0] 100M, b 1× [0] 100M, c 1× [0] 100M | a 1× [0] 0M, b 1× [0] 0M, c 1× [0] 0M"
        ],
    );
    let first = job.nodes[..1].to_vec();
    check(
        &range(1, 3, Some(2)),
        &job,
        &[&first],
        expect!["b 1× [0] 100M, c 1× [0] 100M | b 1× [0] 0M, c 1× [0] 0M"],
    );
}

#[test]
fn a_step_goes_to_a_node_without_another() {
    let job = job(&[("a", &[0, 1]), ("b", &[0, 1])]);
    let one = StepRequest {
        min_nodes: Some(1),
        tasks: Some(1),
        exact: true,
        ..StepRequest::default()
    };
    let first = place_step(&one, &job, &machine(1), &[]).map(|placement| placement.holds);
    let first = first.unwrap_or_default();
    check(
        &one,
        &job,
        &[&first],
        expect!["b 1× [0] 100M | b 1× [0] 100M"],
    );
    let second = job.nodes[1..].to_vec();
    check(
        &one,
        &job,
        &[&first, &second],
        expect!["a 1× [1] 100M | a 1× [1] 100M"],
    );
}

#[test]
fn a_step_goes_to_the_node_with_cpus_for_its_tasks() {
    let job = job(&[("a", &[0]), ("b", &[0, 1, 2])]);
    let two = StepRequest {
        min_nodes: Some(1),
        tasks: Some(2),
        ..StepRequest::default()
    };
    check(
        &two,
        &job,
        &[],
        expect!["b 2× [0, 1, 2] 300M | b 2× [0, 1, 2] 300M"],
    );
}

/// As in `salloc -n9` on nodes of eight CPUs, with one on the second.
#[test]
fn cpus_of_tasks_may_be_on_different_nodes() {
    let job = job(&[("a", &[0, 1, 2, 3, 4, 5, 6, 7]), ("b", &[0])]);
    let ask = |tasks, cpus| StepRequest {
        min_nodes: Some(2),
        tasks: Some(tasks),
        cpus_per_task: Some(cpus),
        exact: true,
        memory: Some(0),
        ..StepRequest::default()
    };
    check(
        &ask(2, 4),
        &job,
        &[],
        expect!["a 1× [0, 1, 2, 3] 800M, b 1× [0] 100M | a 1× [0, 1, 2, 3] 0M, b 1× [0] 0M"],
    );
    check(
        &ask(3, 3),
        &job,
        &[],
        expect![
            "a 2× [0, 1, 2, 3, 4, 5] 800M, b 1× [0] 100M | a 2× [0, 1, 2, 3, 4, 5] 0M, b 1× [0] 0M"
        ],
    );
    check(
        &StepRequest {
            min_nodes: Some(1),
            ..ask(1, 9)
        },
        &job,
        &[],
        expect![[r#"
            More processors requested than permitted
              there   the job has fewer CPUs than tasks with their CPUs need"#]],
    );
}

#[test]
fn tasks_wait_for_their_cpus_where_the_job_has_room_for_them() {
    let job = job(&[("a", &[0, 1, 2, 3]), ("b", &[0, 1, 2, 3])]);
    let three = StepRequest {
        tasks: Some(2),
        cpus_per_task: Some(3),
        exact: true,
        memory: Some(0),
        ..StepRequest::default()
    };
    let other = NodeShare {
        cpus: vec![0, 1],
        ..job.nodes[0].clone()
    };
    check(
        &three,
        &job,
        &[&[other]],
        expect!["Requested nodes are busy"],
    );
}

#[test]
fn an_exact_step_goes_where_memory_is_left_for_its_cpus() {
    let job = job(&[("a", &[0, 1]), ("b", &[0, 1])]);
    let held = |node: &str, memory| NodeShare {
        node: NodeName::new(node),
        cpus: vec![0],
        memory,
        gpus: Vec::new(),
        tasks: 1,
    };
    let exact = |tasks, nodes| StepRequest {
        min_nodes: Some(nodes),
        tasks: Some(tasks),
        exact: true,
        ..StepRequest::default()
    };
    let others = [held("a", 150), held("b", 50)];
    check(
        &exact(1, 1),
        &job,
        &[&others],
        expect!["b 1× [1] 100M | b 1× [1] 100M"],
    );
    let others = [held("a", 150)];
    check(
        &exact(2, 2),
        &job,
        &[&others],
        expect!["Requested nodes are busy"],
    );
}

/// `_mark_busy_nodes` of step_mgr.c.
#[test]
fn a_step_that_overlaps_makes_its_node_busy() {
    let job = job(&[("a", &[0, 1]), ("b", &[0, 1])]);
    let one = StepRequest {
        min_nodes: Some(1),
        tasks: Some(1),
        overlap: true,
        ..StepRequest::default()
    };
    let place = |running: &[RunningStep<'_>]| {
        let placed = place_step(&one, &job, &machine(1), running);
        let nodes = placed.map(|it| it.nodes[0].node.to_string());
        nodes.unwrap_or_else(|refusal| refusal.to_string())
    };
    let on = |index: usize| RunningStep {
        nodes: &job.nodes[index..=index],
        holds: &[],
    };
    assert_eq!(place(&[on(0)]), "b");
    assert_eq!(place(&[on(1)]), "a");
    assert_eq!(place(&[on(0), on(1)]), "a");
}
