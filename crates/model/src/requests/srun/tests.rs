//! Tests of how `srun` is read: see `srun.rs`.

use super::*;
use crate::requests::read_line::{read_line, what_was_read};
use expect_test::{Expect, expect};

fn read(line: &str, variables: &[(&str, &str)]) -> (Srun, Vec<Diagnostic>) {
    read_line(line, variables, resolve)
}

#[track_caller]
fn check_step(line: &str, variables: &[(&str, &str)], want: Expect) {
    let (srun, diagnostics) = read(line, variables);
    let mut lines = what_was_read(&srun.step, &diagnostics);
    lines.push(format!("job {:?}", srun.job.map(|job| job.0)));
    want.assert_eq(&lines.join(" "));
}

/// A job of two nodes with two tasks each.
const JOB: &[(&str, &str)] = &[
    ("SLURM_JOB_ID", "42"),
    ("SLURM_JOB_NAME", "train"),
    ("SLURM_JOB_NUM_NODES", "2"),
    ("SLURM_NTASKS", "4"),
    ("SLURM_NTASKS_PER_NODE", "2"),
    ("SLURM_CPUS_PER_TASK", "3"),
    ("SLURM_MEM_PER_NODE", "1000"),
    ("SLURM_GPUS", "4"),
];

#[test]
fn a_step_is_as_its_job() {
    check_step(
        "/bin/hostname -f",
        JOB,
        expect![[
            r#"name: "hostname", min_nodes: Some( 2, ), max_nodes: Some( 2, ), nodes_inherited: true, tasks: Some( 4, ), tasks_per_node: Some( 2, ), cpus_per_task: Some( 3, ), job Some(42)"#
        ]],
    );
    let (srun, _) = read("/bin/hostname -f", JOB);
    assert_eq!(srun.command, ["/bin/hostname", "-f"]);
}

#[test]
fn a_smaller_step() {
    check_step(
        "-N1 -n1 -c1 --mem=0 --overlap --gres=none true",
        JOB,
        expect![[
            r#"name: "true", min_nodes: Some( 1, ), max_nodes: Some( 1, ), tasks: Some( 1, ), cpus_per_task: Some( 1, ), memory: Some( 0, ), gpus_per_node: Some( GpuCount { kind: None, count: 0, }, ), overlap: true, exact: true, job Some(42)"#
        ]],
    );
    check_step(
        "-n1 true",
        JOB,
        expect![[
            r#"name: "true", min_nodes: Some( 1, ), max_nodes: Some( 1, ), nodes_inherited: true, tasks: Some( 1, ), cpus_per_task: Some( 3, ), fewer-nodes Warning: can't run 1 processes on 2 nodes, setting nnodes to 1 job Some(42)"#
        ]],
    );
    check_step(
        "--ntasks-per-node=1 true",
        JOB,
        expect![[
            r#"name: "true", min_nodes: Some( 2, ), max_nodes: Some( 2, ), nodes_inherited: true, tasks: Some( 4, ), cpus_per_task: Some( 3, ), tasks-per-node Warning: can't honor --ntasks-per-node set to 1 which doesn't match the requested tasks 4 with the number of requested nodes 2. Ignoring --ntasks-per-node. job Some(42)"#
        ]],
    );
    check_step(
        "-N2 --gpus=4 --mem-per-cpu=10 -K true",
        JOB,
        expect![[
            r#"name: "true", min_nodes: Some( 2, ), max_nodes: Some( 2, ), tasks: Some( 4, ), tasks_per_node: Some( 2, ), cpus_per_task: Some( 3, ), memory: Some( 60, ), gpus_per_node: Some( GpuCount { kind: None, count: 2, }, ), kill_on_bad_exit: true, job Some(42)"#
        ]],
    );
}

#[test]
fn a_steps_gpus_in_all_go_before_its_jobs_on_each_node() {
    let variables = &[
        ("SLURM_JOB_ID", "42"),
        ("SLURM_JOB_NUM_NODES", "2"),
        ("SLURM_GPUS_PER_NODE", "2"),
    ];
    check_step(
        "-N1 -n1 --exact -G1 true",
        variables,
        expect![[
            r#"name: "true", min_nodes: Some( 1, ), max_nodes: Some( 1, ), tasks: Some( 1, ), gpus_per_node: Some( GpuCount { kind: None, count: 1, }, ), exact: true, job Some(42)"#
        ]],
    );
}

/// As in `salloc -G4` on 22.05.8: how many of the job's GPUs a step may have is for the controller to say, but the
/// job's are read beside those that are asked for by type.
#[test]
fn a_steps_gpus_are_not_held_against_its_jobs() {
    let asked = |line: &str| {
        let (srun, said) = read(&format!("{line} true"), JOB);
        match crate::options::first_error(&said) {
            Some(error) => error.printed(Command::Srun),
            None => {
                let gpus = srun.step.gpus_per_node;
                gpus.map_or_else(String::new, |gpus| gpus.to_string())
            }
        }
    };
    assert_eq!(asked("-n1 --gres=gpu:1"), "1");
    assert_eq!(asked("-n1 --gpus-per-node=1"), "1");
    assert_eq!(asked("-n1 --gpus-per-node=2 --gpus-per-task=2"), "2");
    assert_eq!(
        asked("--gres=gpu:x:y"),
        "srun: error: Invalid generic resource (gres) specification\n"
    );
    assert_eq!(asked("-n1 --gres=gpu:3"), "3");
    assert_eq!(
        asked("-n1 --gres=gpu:v100:1"),
        "srun: error: Invalid GRES specification (with and without type identification)\n"
    );
    let (_, said) = read("-N1 -n1 --gpus=2 --gres=gpu:1 true", &[]);
    let error = crate::options::first_error(&said).map(|error| error.message.as_str());
    assert!(
        error.is_some_and(|error| error.contains("required nodes (2)")),
        "{error:?}"
    );
}

#[test]
fn cpus_of_a_task_are_asked_by_the_step_its_environment_or_its_own_job() {
    let cpus = |line: &str, variables: &[(&str, &str)]| read(line, variables).0.step.cpus_per_task;
    assert_eq!(cpus("--jobid=42 --overlap true", &[]), None);
    assert_eq!(cpus("--jobid=42 --overlap -c1 true", &[]), Some(1));
    assert_eq!(cpus("true", JOB), Some(3));
    let by_gpus = "-n1 --cpus-per-gpu=3 --gpus-per-task=2 true";
    assert_eq!(cpus(by_gpus, &[]), Some(6));
}

#[test]
fn a_step_that_is_exact_about_its_cpus_has_the_memory_that_its_job_asked_for() {
    let memory = |line: &str| read(line, JOB).0.step.memory;
    assert_eq!(memory("-n1 --exact true"), Some(1000));
    assert_eq!(memory("-n1 --exact --mem=10 true"), Some(10));
    assert_eq!(memory("-n1 -N1 --exact --mem-per-cpu=10 true"), Some(30));
    assert_eq!(memory("-n1 true"), None);
}

#[test]
fn begin_and_components_mean_nothing_in_a_plain_job() {
    let (_, said) = read("--begin=now+1hour true", JOB);
    let said: Vec<String> = said.iter().map(|it| it.printed(Command::Srun)).collect();
    assert_eq!(
        said,
        ["srun: error: --begin is ignored because nodes are already allocated.\n"]
    );
    for (group, want) in [
        (
            0,
            "No directives to start application on any available hetjob components",
        ),
        (
            1,
            "Requested het-group offset exceeds highest hetjob index (1 > 0)",
        ),
    ] {
        let (_, said) = read(&format!("--het-group={group} true"), JOB);
        let error = crate::options::first_error(&said).map(|it| it.message.as_str());
        assert_eq!(error, Some(want));
    }
}

#[test]
fn tasks_have_the_steps_name_for_their_jobs() {
    let (srun, _) = read("-J foo true", JOB);
    let name = ("SLURM_JOB_NAME".to_owned(), "foo".to_owned());
    assert_eq!(srun.launch.handed_on, [name]);
    assert_eq!(read("true", JOB).0.launch.handed_on, []);
}

#[test]
fn an_allocation_of_open_size_has_a_task_on_each_node() {
    let (srun, diagnostics) = read("-N2-4 true", &[]);
    assert_eq!(diagnostics, []);
    assert_eq!((srun.request.tasks, srun.step.tasks), (None, None));
    let (srun, _) = read("-N1-3 -n5 true", &[]);
    let step = &srun.step;
    assert_eq!(
        (step.min_nodes, step.max_nodes, step.tasks),
        (Some(1), Some(3), Some(5))
    );
    let (srun, _) = read("-N1-2 -n3 --gpus=2 true", &[]);
    assert_eq!(srun.step.gpus_per_node, None);
}

#[test]
fn an_allocation_of_its_own() {
    let (srun, diagnostics) = read("-N2 --gres=gpu:v100:1 -t 5 --pty bash", &[]);
    assert_eq!(diagnostics, []);
    assert_eq!(srun.job, None);
    assert_eq!(
        (srun.request.min_nodes, srun.request.tasks),
        (Some(2), Some(2))
    );
    assert_eq!(
        srun.request
            .gpus_per_node
            .map(|gpus| gpus.to_string())
            .as_deref(),
        Some("v100:1")
    );
    assert!(srun.launch.pty);
    assert_eq!(srun.launch.time, Some(Seconds(300)));
}

#[test]
fn streams() {
    let (srun, _) = read("-n4 -o %t -e none -i 2 -l true", &[]);
    let launch = srun.launch;
    assert_eq!(launch.output, Stream::File("%t".to_owned()));
    assert_eq!(launch.error, Stream::File("/dev/null".to_owned()));
    assert_eq!(launch.input, Stream::Task(2));
    assert!(launch.label);
    assert_eq!(
        read("-n4 -o 4 true", &[]).0.launch.output,
        Stream::File("4".to_owned())
    );
    assert_eq!(read("-o all true", &[]).0.launch.output, Stream::All);
}

/// That of the step alone counts; its job's, which `srun` 22.05 doesn't read, is what a task has.
#[test]
fn which_steps_count_tasks_by_cpus() {
    let check = |line: &str, variable: &str, want: bool| {
        let variables = [("SLURM_JOB_ID", "42"), (variable, "4")];
        let (srun, _) = read(line, &variables);
        assert_eq!(srun.counts_by_cpus, want, "{line} {variable}");
    };
    check("-c 4 true", "NONE", true);
    check("true", "SRUN_CPUS_PER_TASK", true);
    check("true", "SLURM_CPUS_PER_TASK", false);
    check("-n 1 true", "SRUN_CPUS_PER_TASK", false);
    check("true", "NONE", false);
    let (outside, _) = read("true", &[("SRUN_CPUS_PER_TASK", "4")]);
    assert!(!outside.counts_by_cpus);
}

#[track_caller]
fn check_refused(line: &str, want: &str) {
    let (_, diagnostics) = read(line, &[]);
    let error = crate::options::first_error(&diagnostics);
    assert_eq!(
        error.map(|error| error.printed(Command::Srun)),
        Some(format!("{want}\n"))
    );
}

#[test]
fn gpus_of_several_types_that_are_more_than_any_number_are_added() {
    let (srun, _) = read("-G a:18446744073709551614,b:3 --ntasks-per-gpu=2 true", &[]);
    assert_eq!(srun.request.tasks, Some(u32::MAX));
}

/// `sbatch` and `salloc` alone refuse blocks that leave a node without a task: as 22.05.8 was seen to start it.
#[test]
fn blocks_of_a_plane_may_be_larger_than_a_node_has_tasks() {
    let (_, diagnostics) = read("-n 2 -N 2 -m plane=2 true", &[]);
    assert_eq!(crate::options::first_error(&diagnostics), None);
}

#[test]
fn slurms_words() {
    check_refused("", "srun: fatal: No command given to execute.");
    check_refused(
        "-n 0 true",
        "srun: error: Invalid numeric value \"0\" for --ntasks.",
    );
    check_refused(
        "--exact --whole true",
        "srun: error: --exact and --whole are mutually exclusive.",
    );
    check_refused(
        "-r 1 -w n1 true",
        "srun: error: -r,--relative not allowed with -w,--nodelist or -x,--exclude.",
    );
    check_refused(
        "--exclusive --overlap true",
        "srun: error: --exclusive and --overlap are mutually exclusive",
    );
}
