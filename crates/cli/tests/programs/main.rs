//! Programs that other people wrote for Slurm, as they come from PyPI.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::{TestEnv, skip, wait_until};

/// Slurm's commands, as these programs look for them.
const COMMANDS: [&str; 9] = [
    "salloc", "sbatch", "squeue", "scancel", "sacct", "sacctmgr", "scontrol", "sinfo", "srun",
];

/// A Python with these packages, and an environment in which Slurm's names are ours; none where PyPI
/// does not answer.
fn with_packages(what: &str, packages: &[&str]) -> Option<(TestEnv, PathBuf)> {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let python = env.root().join("venv");
    let bin = python.join("bin");
    let venv = [python.as_os_str()];
    let steps = [
        (Path::new("python3"), vec!["-m", "venv"], &venv[..]),
        (
            &bin.join("python"),
            [&["-m", "pip", "install", "--quiet"], packages].concat(),
            &[],
        ),
    ];
    for (program, words, folder) in steps {
        let output = Command::new(program).args(words).args(folder).output();
        let output = output.unwrap();
        if !output.status.success() {
            skip(what, &String::from_utf8_lossy(&output.stderr));
            return None;
        }
    }
    for command in COMMANDS {
        symlink(env!("CARGO_BIN_EXE_yard"), bin.join(command)).unwrap();
    }
    env.set_var("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    Some((env, bin.join("python")))
}

/// Runs a program of this folder; what it printed.
#[track_caller]
fn run(env: &TestEnv, python: &Path, program: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let output = env.program(python, &[path.join(program)]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

/// An engine of four nodes, for what follows in this environment.
fn start_four(env: &mut TestEnv, each: &[&str]) {
    let start = ["engine", "start", "four", "--nodes", "4"];
    env.yard(&[&start[..], each].concat()).success();
    env.set_var("TRAINYARD_ENGINE", "four");
}

fn wait_until_empty(env: &TestEnv) {
    wait_until("its jobs are over", || {
        env.slurm("squeue", &["-h"]).success().is_empty()
    });
}

mod slow {
    use super::*;

    #[test]
    fn submitit() {
        let Some((env, python)) = with_packages("submitit", &["submitit==1.5.4"]) else {
            return;
        };
        assert_eq!(
            run(&env, &python, "with_submitit.py"),
            "function: 5\narray: [11, 22, 33]\ninterrupted: 10\nrestarts: ['0', '1']\n"
        );
    }

    #[test]
    fn submitters_and_readers() {
        let packages = [
            "psij-python==0.9.11",
            "reportseff==2.10.3",
            "simple-slurm==0.3.6",
            "slurm-gpustat==0.0.15",
            "slurmpy==0.0.8",
            // slurm-gpustat does not name all that it needs.
            "beartype",
            "humanize",
            "termcolor",
        ];
        let Some((mut env, python)) = with_packages("submitters and readers", &packages) else {
            return;
        };
        start_four(&mut env, &["--cpus-per-node", "4", "--gpus-per-node", "2"]);
        assert_eq!(
            run(&env, &python, "with_submitters_and_readers.py"),
            "simple_slurm: ['element 1', 'element 2', 'element 3']\n\
             slurmpy: ['one', 'two']\n\
             psij: [('COMPLETED', 0), ('FAILED', 3)]\n\
             reportseff: ['COMPLETED', 'COMPLETED', 'COMPLETED']\n\
             slurm_gpustat: ['total', '8', '8', '8']\n"
        );
        env.yard(&["engine", "stop", "four"]).success();
    }

    #[test]
    fn monitors() {
        let packages = ["slmtop==0.1.0", "slurm-wtf==0.3.2", "sfollow==0.3"];
        let Some((mut env, python)) = with_packages("monitors", &packages) else {
            return;
        };
        start_four(&mut env, &["--cpus-per-node", "2", "--gpus-per-node", "2"]);
        assert_eq!(
            run(&env, &python, "with_monitors.py"),
            "slmtop: ['1/2', '0/2', '0/2', '0/2']\n\
             slmtop: ['looked-at']\n\
             slurm-wtf: [('lab', 1, 7.0), ('root', 0, 7.0)]\n\
             sfollow: ['first', 'last']\n"
        );
        env.yard(&["engine", "stop", "four"]).success();
    }

    #[test]
    #[ignore = "a minute of downloads and of waits that are parsl's own"]
    fn parsl() {
        let Some((mut env, python)) = with_packages("parsl", &["parsl==2026.10.26"]) else {
            return;
        };
        start_four(&mut env, &["--cpus-per-node", "4"]);
        let printed = run(&env, &python, "with_parsl.py");
        assert_eq!(printed, "[(0, True), (1, True), (4, True)]\n");
        wait_until_empty(&env);
        env.yard(&["engine", "stop", "four"]).success();
    }

    #[test]
    fn dask_jobqueue() {
        let packages = ["dask-jobqueue==0.9.0", "distributed==2026.8.0"];
        let Some((mut env, python)) = with_packages("dask-jobqueue", &packages) else {
            return;
        };
        start_four(&mut env, &["--cpus-per-node", "1"]);
        let printed = run(&env, &python, "with_dask.py");
        assert_eq!(printed, "workers: 4\nsum: 328350\n");
        wait_until_empty(&env);
        env.yard(&["engine", "stop", "four"]).success();
    }

    #[test]
    #[ignore = "a minute of downloads"]
    fn queue_adapters() {
        let packages = [
            "clusterfutures==0.5",
            "executorlib==1.11.0",
            "FireWorks==2.1.4",
            "pysqa==1.1.1",
            "qtoolkit==0.1.7",
        ];
        let Some((mut env, python)) = with_packages("queue adapters", &packages) else {
            return;
        };
        start_four(&mut env, &["--cpus-per-node", "2"]);
        assert_eq!(
            run(&env, &python, "with_queue_adapters.py"),
            "executorlib: [1, 4, 9]\n\
             clusterfutures: [16, 25]\n\
             qtoolkit: qtoolkit [('qtoolkit', 'RUNNING')] SUCCESSFUL\n\
             fireworks: True launched\n\
             pysqa: ['finished']\n"
        );
        env.yard(&["engine", "stop", "four"]).success();
    }

    #[test]
    #[ignore = "half a minute of downloads"]
    fn torchx() {
        let Some((mut env, python)) = with_packages("torchx", &["torchx==0.7.0"]) else {
            return;
        };
        start_four(&mut env, &["--cpus-per-node", "2", "--gpus-per-node", "2"]);
        assert_eq!(
            run(&env, &python, "with_torchx.py"),
            "torchx: SUCCEEDED [('reader', 1), ('trainer', 2)]\n\
             torchx: ['reader 2 of 3, GPU 0', 'trainer 0 of 3, GPU 0', 'trainer 1 of 3, GPU 0']\n"
        );
        wait_until_empty(&env);
        env.yard(&["engine", "stop", "four"]).success();
    }

    #[test]
    #[ignore = "half a minute of downloads"]
    fn waldur() {
        let Some((mut env, python)) = with_packages("waldur", &["waldur-site-agent-slurm==1.0.7"])
        else {
            return;
        };
        start_four(&mut env, &["--cpus-per-node", "2", "--gpus-per-node", "2"]);
        assert_eq!(
            run(&env, &python, "with_waldur.py"),
            "waldur: lab some words lab\n\
             waldur: root {'cpu': 100, 'gres/gpu': 5}\n\
             waldur: True {'cpu': 7}\n\
             waldur: True False lab_qos,normal\n\
             waldur: True\n\
             waldur: ['lab']\n\
             waldur: None\n"
        );
        env.yard(&["engine", "stop", "four"]).success();
    }

    #[test]
    #[ignore = "a minute of downloads"]
    fn workflows() {
        let packages = [
            "ClusterShell==1.10.1",
            "cluster_tools==4.3.3",
            "dpdispatcher==1.1.0",
            "signac-flow==0.29.1",
            "slurm2sql==0.9.9",
        ];
        let Some((mut env, python)) = with_packages("workflows", &packages) else {
            return;
        };
        // cluster_tools asks for the jobs of $USER, and its jobs read functions from the program's file.
        env.set_var("USER", testkit::this_user());
        env.set_var(
            "PYTHONPATH",
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs"),
        );
        env.set_var("PYTHONDONTWRITEBYTECODE", "1");
        start_four(&mut env, &["--cpus-per-node", "2", "--gpus-per-node", "2"]);
        assert_eq!(
            run(&env, &python, "with_workflows.py"),
            "cluster_tools: [1, 4, 9]\n\
             cluster_tools: RemoteException\n\
             signac-flow: DefaultSlurmEnvironment\n\
             signac-flow: ['4', '9']\n\
             dpdispatcher: [2, 2]\n\
             clustershell: @slurmpart:all node[1-4]\n\
             clustershell: node[1-2]\n\
             clustershell: ran\n\
             slurm2sql: [('kept', 'COMPLETED', 0, 2, None, 1.0, 300.0), \
             ('true', 'COMPLETED', 0, 2, 2, 1.0, None), ('batch', 'COMPLETED', 0, 2, 1, 1.0, None)]\n"
        );
        wait_until_empty(&env);
        env.yard(&["engine", "stop", "four"]).success();
    }

    #[test]
    #[ignore = "a minute of downloads"]
    fn frameworks() {
        let packages = [
            "hyperherd==0.1.3",
            "radical.saga==1.103.0",
            "ReFrame-HPC==4.10.4",
        ];
        let Some((mut env, python)) = with_packages("frameworks", &packages) else {
            return;
        };
        start_four(&mut env, &["--cpus-per-node", "4", "--gpus-per-node", "2"]);
        let no_failure = "(0 failure(s), 0 expected failure(s), 0 skipped, 0 aborted)";
        assert_eq!(
            run(&env, &python, "with_frameworks.py"),
            format!(
                "reframe: ['Ran 5/5 test case(s) from 3 check(s) {no_failure}']\n\
                 reframe: ['Ran 4/4 test case(s) from 4 check(s) {no_failure}']\n\
                 saga: [('Done', '0'), ('Failed', '1')] node1\n\
                 saga: ['Running', 'Suspended', 'Running', 'Canceled']\n\
                 hyperherd: ['completed', 'failed', 'completed']\n"
            )
        );
        env.yard(&["engine", "stop", "four"]).success();
    }

    #[test]
    #[ignore = "a minute of downloads"]
    fn hydra_submitit_launcher() {
        let packages = ["hydra-core==1.4.0rc3", "hydra-submitit-launcher==1.2.0"];
        let Some((mut env, python)) = with_packages("hydra-submitit-launcher", &packages) else {
            return;
        };
        start_four(&mut env, &["--cpus-per-node", "2"]);
        let results = env.work().join("results");
        std::fs::create_dir(&results).unwrap();
        env.set_var("RESULTS", &results);
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/with_hydra.py");
        let mut command = env.program(&python, &[program]);
        command.args(["--multirun", "hydra/launcher=submitit_slurm", "+x=1,2"]);
        let launcher = ["mem_gb=null", "cpus_per_task=1", "gpus_per_node=null"];
        command.args(launcher.map(|setting| format!("hydra.launcher.{setting}")));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        for (x, element) in [("1", "0"), ("2", "1")] {
            let result = std::fs::read_to_string(results.join(x)).unwrap();
            assert_eq!(result, element);
        }
        wait_until_empty(&env);
        env.yard(&["engine", "stop", "four"]).success();
    }

    #[test]
    #[ignore = "half a minute of downloads"]
    fn toil() {
        let Some((mut env, python)) = with_packages("toil", &["toil==9.6.0"]) else {
            return;
        };
        start_four(&mut env, &["--cpus-per-node", "2"]);
        let work = env.work().display().to_string();
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/with_toil.py");
        let mut command = env.program(&python, &[program]);
        command.args([&format!("file:{work}/store"), "--batchLogsDir", &work]);
        command.args(["--batchSystem", "slurm", "--slurmTime", "5:00"]);
        command.args(["--disableCaching", "--logWarning"]);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "toil: [4, 9]\n");
        wait_until_empty(&env);
        env.yard(&["engine", "stop", "four"]).success();
    }

    #[test]
    #[ignore = "a minute of downloads and of waits that are snakemake's own"]
    fn snakemake() {
        let packages = [
            "snakemake==9.27.1",
            "snakemake-executor-plugin-slurm==2.8.0",
        ];
        let Some((mut env, python)) = with_packages("snakemake", &packages) else {
            return;
        };
        start_four(&mut env, &["--cpus-per-node", "2"]);
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/Snakefile");
        let words = ["--executor", "slurm", "-j", "1", "--snakefile"];
        let mut command = env.program(python.with_file_name("snakemake"), &words);
        let output = command.arg(file).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let written = std::fs::read_to_string(env.work().join("one.txt")).unwrap();
        assert_eq!(written, "1\n");
        env.yard(&["engine", "stop", "four"]).success();
    }
}
