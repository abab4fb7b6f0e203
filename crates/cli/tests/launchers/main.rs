//! Each launcher's real program on two nodes, where it is installed. The folder of virtual environments
//! with the programs is `YARD_LAUNCHER_VENVS`, which `prepare` fills and `./test` sets: `debian` (with
//! Debian's torch, Lightning, Accelerate and JAX), and for `./test --full` `current` and `horovod`.

mod programs;
mod sweep;

use programs::{ACCELERATE, BOUND, DEEPSPEED, HOROVOD, JAX, LIGHTNING, TORCH};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use testkit::{RealSlurm, SlurmShape, TestEnv, VirtualCluster, gpus_missing, skip};

const CLUSTER: &str = "\
[nodes.n]\ncount = 2\ncpus = 4\nmemory = \"8000M\"\ngpu = { count = 2 }\n\
[partition.main]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1-0\"\n";

/// GPUs at two sockets of each node.
const SOCKETS: &str = "\
[nodes.n]\ncount = 2\ncpus = 4\nsockets = 2\ncores_per_socket = 2\nmemory = \"8000M\"\n\
gpu = { count = 2, sockets = \"0,1\" }\n\
[partition.main]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1-0\"\n";

/// A launcher's program.
struct Case {
    launcher: &'static str,
    /// The virtual environment with it.
    venv: &'static str,
    /// What it needs of Python, and of `PATH`.
    needs: [&'static str; 2],
    script: &'static str,
    /// What stands before the script.
    before: &'static str,
    /// More of the run file, before its sections.
    more: &'static str,
}

/// Two ranks on each node, so that one has the local number 1.
const TWO_EACH: &str = "ranks_per_node = 2\ncpus_per_rank = 1\n";

impl Case {
    const fn new(launcher: &'static str, module: &'static str, script: &'static str) -> Case {
        Case {
            launcher,
            venv: "debian",
            needs: [module, "true"],
            script,
            before: "",
            more: "",
        }
    }

    const fn of_venv(self, venv: &'static str) -> Case {
        Case { venv, ..self }
    }

    /// The folder of the virtual environment, where the programs are there.
    fn installed(&self) -> Option<PathBuf> {
        let there = |command: &mut Command| {
            let command = command.stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        let [module, program] = self.needs;
        let folder = std::env::var_os("YARD_LAUNCHER_VENVS").map(PathBuf::from);
        let folder = folder.map(|folder| folder.join(self.venv));
        let folder = folder.filter(|folder| {
            // Looked for, not imported: Lightning is importable only as its script prepares it.
            let find = format!(
                "import importlib.util, sys; sys.exit(not importlib.util.find_spec({module:?}))"
            );
            there(Command::new(folder.join("bin/python")).args(["-c", &find]))
                && there(Command::new(program).arg("--version"))
        });
        if folder.is_none() {
            let why = format!(
                "{module} of Python and {program} are needed; ./test installs them, or: \
                 crates/cli/tests/launchers/prepare FOLDER [--full]; YARD_LAUNCHER_VENVS=FOLDER"
            );
            skip(self.launcher, &why);
        }
        folder
    }

    /// Runs the script on two nodes of a cluster and looks in each rank's words for the sum, and with two
    /// ranks on each node for the local number. Returns what was printed.
    #[track_caller]
    fn run(&self, env: &mut TestEnv, cluster: &str, resources: &str, ranks: u32) -> String {
        let Some(venv) = self.installed() else {
            return String::new();
        };
        // Torch 1.13 on Python 3.11.
        env.set_var("PET_REDIRECTS", "9:3");
        env.set_var("PET_TEE", "9:3");
        env.set_var("DS_ACCELERATOR", "cpu");
        env.write("train.py", &format!("{}{}", self.before, self.script));
        let Case { launcher, more, .. } = self;
        let text = format!(
            "launcher = {launcher:?}\ncommand = [\"train.py\"]\n{more}[resources]\nnodes = 2\n\
             memory = \"2G\"\ntime = \"5m\"\n{resources}[environment]\nvenv = {venv:?}\n"
        );
        env.write("yard.toml", &text);
        let printed = env.yard(&["run", "--on", cluster]).success();
        let sum = format!(" sum {}", ranks * (ranks + 1) / 2);
        for rank in 0..ranks {
            let own = format!("rank {rank} local ");
            let mut said = printed
                .lines()
                .filter_map(|line| Some(line.split_once(&own)?.1));
            let local = said.find_map(|said| said.trim_end().strip_suffix(&sum));
            let local: u32 = local.and_then(|local| local.parse().ok()).expect(&printed);
            assert!(
                local == rank % 2 || resources != TWO_EACH,
                "rank {rank}: {printed}"
            );
        }
        printed
    }

    /// On a virtual cluster, two ranks on each node.
    #[track_caller]
    fn check(&self) {
        self.check_with(TWO_EACH, 4);
    }

    #[track_caller]
    fn check_with(&self, resources: &str, ranks: u32) -> String {
        if self.installed().is_none() {
            return String::new();
        }
        let mut lab = VirtualCluster::start(env!("CARGO_BIN_EXE_yard"), CLUSTER);
        self.run(&mut lab, "lab", resources, ranks)
    }

    /// On a virtual cluster with a GPU for each rank, the first near this machine's CPU 0 and the second near CPU 1:
    /// each rank says the CPU that it is bound to, in place of the sum.
    #[track_caller]
    fn check_binding(self) {
        let bindable = sys::cpu::available().starts_with(&[0, 1]);
        let few = || (!bindable).then(|| "the CPUs 0 and 1 are needed".to_owned());
        if let Some(reason) = gpus_missing().or_else(few) {
            return skip(self.launcher, &reason);
        }
        let case = Case {
            script: BOUND,
            ..self
        };
        let Some(venv) = case.installed() else {
            return;
        };
        let mut lab = VirtualCluster::start(env!("CARGO_BIN_EXE_yard"), SOCKETS);
        lab.pretend_gpus(&["NVIDIA H200"; 2]);
        lab.set_var("PRETENDED_CPUS", "0;1");
        lab.set_var("PET_REDIRECTS", "9:3");
        lab.set_var("PET_TEE", "9:3");
        lab.write("train.py", case.script);
        let Case { launcher, more, .. } = case;
        let text = format!(
            "launcher = {launcher:?}\ncommand = [\"train.py\"]\n{more}[resources]\nnodes = 2\n\
             gpus_per_node = 2\ncpus_per_rank = 1\nmemory = \"2G\"\ntime = \"5m\"\n\
             [environment]\nvenv = {venv:?}\n"
        );
        lab.write("yard.toml", &text);
        let printed = lab.yard(&["run", "--on", "lab"]).success();
        for rank in 0..4 {
            let bound = format!("rank {rank} on CPU {}\n", rank % 2);
            assert!(printed.contains(&bound), "{bound}{printed}");
        }
    }

    /// On a real Slurm, two ranks on each node.
    #[track_caller]
    fn check_on_slurm(&self) {
        if let Some(reason) = RealSlurm::missing() {
            return skip(self.launcher, &reason);
        }
        if self.installed().is_some() {
            let slurm = RealSlurm::start(SlurmShape { nodes: 2, cpus: 4 });
            let slurm = slurm.expect("a Slurm comes up");
            let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
            env.set_var("SLURM_CONF", slurm.conf());
            self.run(&mut env, "rig", TWO_EACH, 4);
        }
    }
}

const SRUN: Case = Case::new("srun", "torch", TORCH);
const TORCHRUN: Case = Case::new("torchrun", "torch", TORCH);
const LIGHTNING_CASE: Case = Case::new("lightning", "pytorch_lightning", LIGHTNING);
const JAX_CASE: Case = Case::new("jax", "jax", JAX);
const ACCELERATE_CASE: Case = Case::new("accelerate", "accelerate", ACCELERATE);
const ACCELERATE_TEED: Case = Case {
    // As PET_TEE, which Accelerate's own default replaces.
    more: "launcher_options = [\"--tee=9:3\"]\n",
    ..ACCELERATE_CASE
};
const MPI: Case = Case {
    needs: ["torch", "mpirun"],
    ..Case::new("mpi", "torch", TORCH)
};

mod slow {
    use super::*;

    #[test]
    fn srun_with_torch() {
        SRUN.check();
    }

    #[test]
    fn torchrun() {
        TORCHRUN.check();
    }

    /// The agents agree on their ranks though one has more than the other.
    #[test]
    fn torchrun_on_three_gpus_of_two_nodes() {
        TORCHRUN.check_with("gpus = 3\ncpus_per_rank = 1\n", 3);
    }

    /// Within the job: all agents end their ranks and start them again.
    #[test]
    fn torchrun_restarts_all_ranks_when_one_fails() {
        let case = Case {
            before: "\
import os, sys
if os.environ['RANK'] == '3' and not os.path.exists('failed'):
    open('failed', 'w').close()
    sys.exit(1)
sys.stdout.write(f'restarts {os.environ[\"TORCHELASTIC_RESTART_COUNT\"]}\\n')
",
            more: "launcher_options = [\"--max_restarts=1\"]\n",
            ..TORCHRUN
        };
        if case.installed().is_some() {
            let printed = case.check_with(TWO_EACH, 4);
            // The other agent counts none: it meets the one that restarts once more.
            assert_eq!(printed.matches("restarts 1").count(), 2, "{printed}");
            assert!(printed.contains("1 start ·"), "{printed}");
        }
    }

    #[test]
    fn lightning() {
        LIGHTNING_CASE.check();
    }

    #[test]
    fn jax() {
        JAX_CASE.check();
    }

    #[test]
    fn mpi_starts_its_daemons_through_srun() {
        MPI.check();
    }

    #[test]
    fn accelerate() {
        ACCELERATE_TEED.check();
    }

    #[test]
    fn a_rank_that_is_a_task_is_bound_near_its_gpu() {
        SRUN.check_binding();
    }

    /// Agents start their ranks within a task, which has the CPUs of all.
    #[test]
    fn torchrun_s_ranks_are_bound_near_their_gpus() {
        TORCHRUN.check_binding();
    }

    #[test]
    fn accelerate_s_ranks_are_bound_near_their_gpus() {
        ACCELERATE_TEED.check_binding();
    }

    #[test]
    fn mpirun_s_ranks_are_bound_near_their_gpus() {
        MPI.check_binding();
    }

    #[test]
    fn torchrun_on_a_real_slurm() {
        TORCHRUN.check_on_slurm();
    }

    #[test]
    fn jax_on_a_real_slurm() {
        JAX_CASE.check_on_slurm();
    }
}

#[test]
#[ignore = "needs Horovod, which takes long to build"]
fn horovod() {
    Case::new("horovod", "horovod.torch", HOROVOD)
        .of_venv("horovod")
        .check();
}

/// By `mpirun`, and Horovod's own controller over MPI.
#[test]
#[ignore = "needs Horovod, which takes long to build"]
fn horovod_over_mpi() {
    Case {
        needs: ["horovod.torch", "mpirun"],
        before: "import os\nassert os.environ['OMPI_COMM_WORLD_SIZE'] == '4'\n",
        ..Case::new("mpi", "horovod.torch", HOROVOD)
    }
    .of_venv("horovod")
    .check();
}

/// As `horovodrun` calls `ssh` for a rank on a further node, to which it hands on all variables of its own node.
#[test]
fn ranks_of_horovodrun_on_further_nodes_are_bound_near_their_gpus() {
    let bindable = sys::cpu::available().starts_with(&[0, 1]);
    let few = || (!bindable).then(|| "the CPUs 0 and 1 are needed".to_owned());
    if let Some(reason) = gpus_missing().or_else(few) {
        return skip("ranks of horovodrun", &reason);
    }
    let mut lab = VirtualCluster::start(env!("CARGO_BIN_EXE_yard"), SOCKETS);
    lab.pretend_gpus(&["NVIDIA H200"; 2]);
    lab.set_var("PRETENDED_CPUS", "0;1");
    let script = "#!/bin/bash\n#SBATCH --nodes=2 --gpus-per-node=2 --time=5 --output=out\n\
         export CUDA_VISIBLE_DEVICES=of-the-first-node\n\
         for local in 0 1; do\n\
         ssh -o PasswordAuthentication=no -o StrictHostKeyChecking=no n2   'cd /tmp > /dev/null 2>&1 ; \
         HOROVOD_LOCAL_RANK='$local' HOROVOD_LOCAL_SIZE=2 CUDA_VISIBLE_DEVICES='$CUDA_VISIBLE_DEVICES' GREETING=hello \
         sh -c \"echo \\$GREETING \\$HOROVOD_LOCAL_RANK sees \\$CUDA_VISIBLE_DEVICES on \\$(hostname)\"; \
         grep Cpus_allowed_list /proc/self/status'\n\
         done\n";
    lab.write("job.sh", script);
    let outcome = lab.slurm("sbatch", &["--wait", "job.sh"]);
    let said = std::fs::read_to_string(lab.work().join("out")).expect("the job has written");
    assert_eq!(outcome.status, 0, "{said}");
    for local in 0..2 {
        let of_rank = format!("hello {local} sees 0,1 on n2\nCpus_allowed_list:\t{local}\n");
        assert!(said.contains(&of_rank), "{of_rank}: {said}");
    }
}

/// As batch scripts for Satori have it: a list of hosts, and `horovodrun`, whose ssh and whose `mpirun` are led to the
/// job's nodes.
#[test]
#[ignore = "needs Horovod, which takes long to build"]
fn horovodrun_with_hosts() {
    let case = Case {
        needs: ["horovod.torch", "mpirun"],
        ..Case::new("horovod", "horovod.torch", HOROVOD)
    };
    let case = case.of_venv("horovod");
    let Some(venv) = case.installed() else {
        return;
    };
    let lab = VirtualCluster::start(env!("CARGO_BIN_EXE_yard"), CLUSTER);
    lab.write("train.py", HOROVOD);
    for controller in ["--gloo", "--mpi"] {
        let script = format!(
            "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=2 --time=5 --output=out{controller}\n\
             export PATH={}/bin:$PATH OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n\
             hosts=$(scontrol show hostnames | sed s/$/:2/ | paste -sd,)\n\
             horovodrun {controller} -np $SLURM_NTASKS -H $hosts python train.py\n",
            venv.display()
        );
        lab.write("job.sh", &script);
        let outcome = lab.slurm("sbatch", &["--wait", "job.sh"]);
        let said = std::fs::read_to_string(lab.work().join(format!("out{controller}")));
        let said = said.expect("the job has written");
        assert_eq!(outcome.status, 0, "{said}");
        for rank in 0..4 {
            let line = format!("rank {rank} local {} sum 10", rank % 2);
            assert!(said.contains(&line), "{controller} {line}: {said}");
        }
    }
}

#[test]
#[ignore = "needs the current torch, which is large"]
fn current_srun_with_torch() {
    SRUN.of_venv("current").check();
}

#[test]
#[ignore = "needs the current torch, which is large"]
fn current_torchrun() {
    TORCHRUN.of_venv("current").check();
}

#[test]
#[ignore = "needs the current Lightning, which is large"]
fn current_lightning() {
    LIGHTNING_CASE.of_venv("current").check();
}

#[test]
#[ignore = "needs the current JAX, which is large"]
fn current_jax() {
    JAX_CASE.of_venv("current").check();
}

#[test]
#[ignore = "needs the current Accelerate, which is large"]
fn current_accelerate() {
    ACCELERATE_CASE.of_venv("current").check();
}

#[test]
#[ignore = "needs DeepSpeed, which is large"]
fn deepspeed() {
    Case::new("deepspeed", "deepspeed", DEEPSPEED)
        .of_venv("current")
        .check();
}
