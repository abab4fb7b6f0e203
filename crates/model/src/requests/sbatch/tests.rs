//! Tests of how `sbatch` is read: see `sbatch.rs`.

use super::*;
use crate::requests::read_line::{read_line, what_was_read};
use expect_test::{Expect, expect};

fn read(line: &str, variables: &[(&str, &str)], script: &str) -> (Sbatch, Vec<Diagnostic>) {
    read_line(line, variables, |args, lookup, surroundings| {
        resolve(args, lookup, Some(script), surroundings)
    })
}

/// Shows what differs from an empty request, and what there is to say.
#[track_caller]
fn check(line: &str, variables: &[(&str, &str)], script: &str, want: Expect) {
    let (sbatch, diagnostics) = read(line, variables, script);
    let lines = what_was_read(&sbatch.request, &diagnostics);
    want.assert_eq(&lines.join(" "));
}

#[test]
fn the_command_line_goes_before_the_environment_before_the_script() {
    let script = "#!/bin/sh\n#SBATCH -J script -t 1 -p script\n";
    let variables = [("SBATCH_JOB_NAME", "env"), ("SBATCH_TIMELIMIT", "2")];
    check(
        "-J args job.sh",
        &variables,
        script,
        expect![[
            r#"name: "args", partition: Some( "script", ), time: Some( Limit( Seconds( 120, ), ), ), chdir: "/work","#
        ]],
    );
}

/// As recorded with a real `sbatch`.
#[test]
fn what_the_last_component_says_of_a_requeue_holds_for_those_that_say_nothing() {
    let check = |line: &str, want: &[Option<bool>]| {
        let (sbatch, _) = read(line, &[], "");
        let all = std::iter::once(&sbatch.request).chain(&sbatch.later);
        let requeue: Vec<Option<bool>> = all.map(|it| it.rare.requeue).collect();
        assert_eq!(requeue, want, "{line}");
    };
    let (yes, no) = (Some(true), Some(false));
    check("-n1 : -n1 --wrap=x", &[None, None]);
    check("-n1 : -n1 --no-requeue --wrap=x", &[no, no]);
    check("-n1 --no-requeue : -n1 --wrap=x", &[no, no]);
    check("-n1 --requeue : -n1 --no-requeue --wrap=x", &[yes, no]);
    check("-n1 : -n1 --no-requeue : -n1 --wrap=x", &[no, no, no]);
}

#[test]
fn a_real_script_of_eight_gpus() {
    let script = "#!/bin/bash --login\n#SBATCH --time=24:00:00\n#SBATCH --gpus=8\n#SBATCH --constraint=v100\n\
                  #SBATCH --gpus-per-task=1\n#SBATCH --tasks-per-node=8\n#SBATCH --cpus-per-gpu=6\n\
                  #SBATCH --mem-per-gpu=90G\n#SBATCH --constraint=cpu_intel_platinum_8260\n\
                  #SBATCH --partition=batch\n#SBATCH --output=../results/%x/slurm-%j.out\n";
    check(
        "dir/job.sh a b",
        &[],
        script,
        expect![[
            r#"name: "job.sh", partition: Some( "batch", ), tasks: Some( 8, ), tasks_per_node: Some( 8, ), cpus_per_task: Some( 6, ), memory: Some( PerGpu( 92160, ), ), gpus: Some( GpuCount { kind: None, count: 8, ), time: Some( Limit( Seconds( 86400, ), ), ), output: Some( "../results/%x/slurm-%j.out", ), chdir: "/work", gpus_per_task: Some( GpuCount { kind: None, count: 1, ), cpus_per_gpu: Some( 6, ), written: [ "gpu:8", ], written: [ "gpu:1", ], constraint: Some( "cpu_intel_platinum_8260", ),"#
        ]],
    );
    let (sbatch, _) = read("dir/job.sh a b", &[], script);
    assert_eq!(sbatch.args, ["a", "b"]);
    assert_eq!(sbatch.source, ScriptSource::File("dir/job.sh".to_owned()));
}

#[test]
fn gpus_that_are_asked_for_twice() {
    let script = "#!/bin/bash\n#SBATCH --gres=gpu:4\n#SBATCH --gpus-per-node=4\n#SBATCH --nodes=1\n\
                  #SBATCH --ntasks-per-node=4\n#SBATCH --mem=0\n#SBATCH --exclusive\n#SBATCH --mail-type=ALL\n";
    check(
        "job.sh",
        &[],
        script,
        expect![[
            r#"name: "job.sh", min_nodes: Some( 1, ), max_nodes: Some( 1, ), tasks: Some( 4, ), tasks_per_node: Some( 4, ), memory: Some( PerNode( 0, ), ), gpus_per_node: Some( GpuCount { kind: None, count: 4, ), exclusive: true, chdir: "/work", written: [ "gpu:4", "gpu:4", ], mail_types: [ InvalidDepend, Begin, End, Fail, Requeue, StageOut, ],"#
        ]],
    );
    check(
        "--gpus-per-node=2 job.sh",
        &[],
        script,
        expect![[
            r#"name: "job.sh", min_nodes: Some( 1, ), max_nodes: Some( 1, ), tasks: Some( 4, ), tasks_per_node: Some( 4, ), memory: Some( PerNode( 0, ), ), gpus_per_node: Some( GpuCount { kind: None, count: 4, ), exclusive: true, chdir: "/work", written: [ "gpu:2", "gpu:4", ], mail_types: [ InvalidDepend, Begin, End, Fail, Requeue, StageOut, ], gpus-twice --gpus-per-node=2 and --gres=gpu:4 ask for GPUs twice: Slurm takes --gres; leave one out"#
        ]],
    );
}

#[test]
fn nothing_is_passed_over_in_silence() {
    let script =
        "#!/bin/sh\n#SBATCH --switches=1 -v --wckey=x\n#SBATCH --mem=1G --mem-per-cpu=1G\n";
    check(
        "--x11 --nosuch --licenses=a:x job.sh",
        &[],
        script,
        expect![[
            r#"name: "job.sh", memory: Some( PerNode( 1024, ), ), chdir: "/work", licenses: Some( "a:x", ), shown: Some( ShownOptions { former_time_min: None, former_deadline: None, network: None, cluster_features: None, delay_boot: None, mcs_label: None, levels_power: false, batch_features: None, disables_binding: false, admin_comment: None, wckey: Some( "x", ), kills_on_invalid_dependency: None, cpu_frequency: None, submit_line: None, session: 0, ), unknown-option argument 1: unrecognized option '--x11' unknown-option argument 2: unrecognized option '--nosuch' no-effect 2:22: --verbose in a script has no effect no-effect 2:9: --switches has no effect here: there is one machine no-effect 2:25: --wckey has no effect here: it is recorded, and no limit counts by it conflict --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive. refused argument 3: Batch job submission failed: Invalid license specification"#
        ]],
    );
}

#[test]
fn memory_by_hand_goes_before_the_environment() {
    let variables = [("SBATCH_MEM_PER_CPU", "1G")];
    check(
        "--mem=2G --wrap true",
        &variables,
        "",
        expect![[r#"name: "wrap", memory: Some( PerNode( 2048, ), ), chdir: "/work","#]],
    );
}

#[test]
fn wrapped_commands() {
    let (sbatch, diagnostics) = read("--parsable -W --wrap true", &[], "");
    assert_eq!(diagnostics, []);
    assert!(sbatch.parsable && sbatch.wait);
    assert_eq!(
        sbatch.script,
        "#!/bin/sh\n# This script was created by sbatch --wrap.\n\ntrue\n"
    );
    let (_, diagnostics) = read("--wrap true x", &[], "");
    assert_eq!(
        diagnostics[0].message,
        "Script arguments not permitted with --wrap option"
    );
}

#[test]
fn texts_that_no_controller_takes() {
    let refused = |line: &str| {
        let (_, said) = read(line, &[], "#!/bin/sh\n");
        said.iter().any(|said| {
            said.to_string()
                .ends_with("Pathname of a file, directory or other parameter too long")
        })
    };
    for (option, longest) in [
        ("-J", 1024),
        ("-A", 1024),
        ("--comment", 1024),
        ("-o", 4096),
    ] {
        let line = |length: usize| format!("{option} {} job.sh", "y".repeat(length));
        assert!(!refused(&line(longest)), "{option}");
        assert!(refused(&line(longest + 1)), "{option}");
        // The last one counts.
        assert!(!refused(&format!(
            "{option} {} {option} y job.sh",
            "y".repeat(longest + 1)
        )));
    }
    assert!(refused(&"y".repeat(1025)));
}

#[test]
fn the_environment_of_a_job_that_another_job_submits() {
    let (sbatch, _) = read("--export=HOME,A=b job.sh", &[], "#!/bin/sh\n");
    let caller = [
        ("HOME", "/h"),
        ("SLURM_JOB_ID", "1"),
        ("SLURM_NTASKS", "4"),
        ("X", "y"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let login = [("HOME", "/login"), ("SHELL", "/bin/bash")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let environment = sbatch.environment(&caller, &login, "login", Path::new("/work"), 0o22);
    let lines: Vec<String> = environment
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    expect![[r#"
        HOME=/h
        A=b
        SHELL=/bin/bash
        SLURM_SUBMIT_DIR=/work
        SLURM_SUBMIT_HOST=login
        SLURM_JOB_NAME=job.sh
        SLURM_UMASK=0022
        SLURM_PRIO_PROCESS=0
        SLURM_GET_USER_ENV=1
        SLURM_EXPORT_ENV=HOME,A=b"#]]
    .assert_eq(&lines.join("\n"));
}
