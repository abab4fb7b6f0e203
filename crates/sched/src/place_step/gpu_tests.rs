//! Steps with GPUs of their own.

use super::*;

fn with_gpus(mut job: Allocation, count: u32) -> Allocation {
    for share in &mut job.nodes {
        share.gpus = (0..count).collect();
    }
    job
}

#[test]
fn a_gpu_is_not_shared_by_tasks_that_have_their_own() {
    let job = with_gpus(job(&[("a", &[0, 1, 2]), ("b", &[0])]), 2);
    let one = model::GpuCount {
        kind: None,
        count: 1,
    };
    let ask = |tasks, overcommit| StepRequest {
        tasks: Some(tasks),
        gpus_per_node: Some(model::GpuCount {
            kind: None,
            count: 2,
        }),
        gpus_per_task: Some(one.clone()),
        overcommit,
        ..StepRequest::default()
    };
    let refused = || {
        expect![[r#"
            More processors requested than permitted
              there   the job has fewer CPUs or GPUs than tasks with their CPUs and GPUs need"#]]
    };
    check(&ask(4, false), &job, &[], refused());
    check(&ask(5, true), &job, &[], refused());
    check(
        &ask(3, false),
        &job,
        &[],
        expect!["a 2× [0, 1, 2] 300M, b 1× [0] 100M | a 2× [0, 1, 2] 300M, b 1× [0] 100M"],
    );
}

#[test]
fn a_step_goes_where_its_gpus_are_free() {
    let job = with_gpus(job(&[("a", &[0, 1]), ("b", &[0, 1])]), 2);
    let one = StepRequest {
        min_nodes: Some(1),
        tasks: Some(1),
        memory: Some(10),
        exact: true,
        ..StepRequest::default()
    };
    let first = place_step(&one, &job, &machine(1), &[]).map(|placement| placement.holds);
    let first = first.unwrap_or_default();
    check(
        &one,
        &job,
        &[&first],
        expect!["b 1× [0] 10M | b 1× [0] 10M"],
    );
    let second =
        place_step(&one, &job, &machine(1), &[holding(&first)]).map(|placement| placement.holds);
    let second = second.unwrap_or_default();
    check(
        &one,
        &job,
        &[&first, &second],
        expect!["Requested nodes are busy"],
    );
}
