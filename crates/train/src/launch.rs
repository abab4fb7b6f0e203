//! From a plan and an allocation to the command of each task.
//!
//! Launchers are rows over two shapes: a task is a rank, or it is an agent that starts its node's
//! ranks. What a row adds is environment, and for agents the agent's own command line.

use crate::env_vars as var;
use crate::placeholders::{UnknownPlaceholder, Values, fill};
use crate::{EnvChange, JobShape, Launcher, Plan, RankCommand, Rendezvous};
use std::collections::BTreeMap;
use std::path::Path;

type Env = BTreeMap<String, EnvChange>;

/// What each task of the ranks' step is started with, in the order of `SLURM_PROCID`: tasks are
/// counted node by node (`--distribution=block`).
///
/// # Errors
/// A placeholder that isn't known: a plan that was made here has none.
pub fn launch(
    plan: &Plan,
    shape: &JobShape,
    rendezvous: &Rendezvous,
    values: &Values,
) -> Result<Vec<RankCommand>, UnknownPlaceholder> {
    let command = command(plan, values)?;
    let tasks_per_node = plan.tasks_per_node.value;
    let nodes = u32::try_from(shape.nodes.len()).unwrap_or(u32::MAX);
    let mut commands = Vec::new();
    for node in 0..nodes {
        for local in 0..tasks_per_node {
            let task = Task {
                plan,
                shape,
                rendezvous,
                nodes,
                number: node * tasks_per_node + local,
                node,
                local,
            };
            let mut env = task.common(values);
            let argv = match plan.launcher.value {
                Launcher::None => command.clone(),
                Launcher::Srun => {
                    task.torch(&mut env);
                    command.clone()
                }
                Launcher::Lightning => {
                    task.torch(&mut env);
                    task.lightning(&mut env);
                    command.clone()
                }
                Launcher::Jax => {
                    task.jax(&mut env);
                    command.clone()
                }
                Launcher::Torchrun => {
                    clear_torchrun(&mut env);
                    task.torchrun(&command)
                }
            };
            commands.push(RankCommand {
                task: task.number,
                node,
                env,
                argv,
            });
        }
    }
    Ok(commands)
}

/// The person's command with placeholders replaced, and with the arguments for resuming where
/// there is something to resume.
fn command(plan: &Plan, values: &Values) -> Result<Vec<String>, UnknownPlaceholder> {
    let known = known(plan, values);
    let resume: &[String] = match values.resume_file {
        Some(_) => &plan.resume.args.value,
        None => &[],
    };
    let words = plan.command.value.iter().chain(resume);
    words.map(|word| fill(word, &known)).collect()
}

fn known<'a>(plan: &Plan, values: &Values) -> BTreeMap<&'a str, String> {
    let resume_file = values.resume_file.as_deref().map(text).unwrap_or_default();
    BTreeMap::from([
        ("data", text(&values.data)),
        ("checkpoints", text(&values.checkpoints)),
        ("resume", text(&values.resume)),
        ("resume_file", resume_file),
        ("logs", text(&values.logs)),
        ("run", values.run.clone()),
        ("nodes", plan.nodes.value.to_string()),
        ("gpus_per_node", plan.gpus_per_node.value.to_string()),
        ("world_size", plan.world_size().to_string()),
        ("repeat", plan.repeat.value.to_string()),
    ])
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn set(env: &mut Env, name: &str, value: impl ToString) {
    env.insert(name.to_owned(), EnvChange::Set(value.to_string()));
}

/// One task of the ranks' step.
struct Task<'a> {
    plan: &'a Plan,
    shape: &'a JobShape,
    rendezvous: &'a Rendezvous,
    nodes: u32,
    number: u32,
    node: u32,
    local: u32,
}

impl Task<'_> {
    fn tasks(&self) -> u32 {
        self.nodes * self.plan.tasks_per_node.value
    }

    fn gpus(&self) -> u32 {
        self.shape
            .gpus
            .get(self.node as usize)
            .copied()
            .unwrap_or(0)
    }

    /// `address:port`, IPv6 in brackets.
    fn endpoint(&self) -> String {
        format!("{}:{}", self.host(), self.rendezvous.port)
    }

    /// The address as it stands before a colon and a port.
    fn host(&self) -> String {
        let address = &self.rendezvous.address;
        if address.contains(':') {
            format!("[{address}]")
        } else {
            address.clone()
        }
    }

    /// What all launchers give.
    fn common(&self, values: &Values) -> Env {
        let mut env = Env::new();
        set(&mut env, var::YARD_DATA, text(&values.data));
        set(&mut env, var::YARD_CHECKPOINTS, text(&values.checkpoints));
        set(&mut env, var::YARD_RESUME, text(&values.resume));
        match &values.resume_file {
            Some(file) => set(&mut env, var::YARD_RESUME_FILE, text(file)),
            None => {
                env.insert(var::YARD_RESUME_FILE.to_owned(), EnvChange::Remove);
            }
        }
        set(&mut env, var::YARD_LOGS, text(&values.logs));
        set(&mut env, var::YARD_RUN, &values.run);
        set(&mut env, var::YARD_NODES, self.plan.nodes.value);
        set(
            &mut env,
            var::YARD_GPUS_PER_NODE,
            self.plan.gpus_per_node.value,
        );
        set(&mut env, var::YARD_WORLD_SIZE, self.plan.world_size());
        set(&mut env, var::YARD_REPEAT, self.plan.repeat.value);
        set(&mut env, var::YARD_COORDINATOR, self.endpoint());
        set(&mut env, var::YARD_NUM_PROCESSES, self.tasks());
        set(&mut env, var::YARD_PROCESS_ID, self.number);
        set(&mut env, var::YARD_LOCAL_PROCESS_ID, self.local);
        // Several ranks of one node would each start a thread a CPU of the node; torchrun would
        // set 1.
        let threads = self.plan.cpus_per_rank.value.to_string();
        env.insert("OMP_NUM_THREADS".to_owned(), EnvChange::Default(threads));
        // A log that is only written when a buffer is full tells nothing about a rank that hangs.
        let unbuffered = EnvChange::Default("1".to_owned());
        env.insert("PYTHONUNBUFFERED".to_owned(), unbuffered);
        if self.gpus() > 0 {
            // The order in which NVML and nvidia-smi count.
            let order = EnvChange::Default("PCI_BUS_ID".to_owned());
            env.insert("CUDA_DEVICE_ORDER".to_owned(), order);
        }
        env
    }

    /// What `init_process_group("env://")` reads, and DeepSpeed and Accelerate with it.
    fn torch(&self, env: &mut Env) {
        set(env, "RANK", self.number);
        set(env, "LOCAL_RANK", self.local);
        set(env, "WORLD_SIZE", self.tasks());
        set(env, "LOCAL_WORLD_SIZE", self.plan.tasks_per_node.value);
        set(env, "NODE_RANK", self.node);
        set(env, "MASTER_ADDR", &self.rendezvous.address);
        set(env, "MASTER_PORT", self.rendezvous.port);
    }

    /// Lightning's Slurm mode stops without these, and looks for nodes by the older name.
    fn lightning(&self, env: &mut Env) {
        set(env, "SLURM_NTASKS_PER_NODE", self.plan.tasks_per_node.value);
        set(env, "SLURM_NODELIST", self.node_list());
    }

    fn node_list(&self) -> String {
        let nodes: Vec<&str> = self.shape.nodes.iter().map(|node| node.as_str()).collect();
        nodes.join(",")
    }

    /// What a plain `jax.distributed.initialize()` reads beside Slurm's own variables. The address
    /// is always given: JAX's own reading of node lists is wrong for names with two brackets, and
    /// virtual nodes have no names that resolve.
    fn jax(&self, env: &mut Env) {
        set(env, "JAX_COORDINATOR_ADDRESS", self.endpoint());
        set(env, "JAX_COORDINATOR_PORT", self.rendezvous.port);
        set(env, "SLURM_JOB_ID", self.shape.job);
        set(env, "SLURM_NTASKS", self.tasks());
        set(env, "SLURM_PROCID", self.number);
        set(env, "SLURM_LOCALID", self.local);
        // Only its presence counts, beside the address above.
        let nodes = EnvChange::Default(self.node_list());
        env.insert("SLURM_STEP_NODELIST".to_owned(), nodes);
        // JAX asks for Open MPI before Slurm; a job that was submitted from inside mpirun has this.
        env.insert("OMPI_MCA_orte_hnp_uri".to_owned(), EnvChange::Remove);
        let (gpus, tasks) = (self.gpus(), self.plan.tasks_per_node.value);
        if gpus > tasks {
            // Without it each rank would take the one GPU that has its local number.
            let share = gpus / tasks;
            let own = (self.local * share..(self.local + 1) * share).map(|gpu| gpu.to_string());
            set(
                env,
                "JAX_LOCAL_DEVICE_IDS",
                own.collect::<Vec<_>>().join(","),
            );
        } else if gpus > 0 && gpus < tasks {
            set(env, "JAX_LOCAL_DEVICE_IDS", self.local % gpus);
        }
    }

    /// torchrun with a static rendezvous: no node has to guess whether it hosts the store. The
    /// options are written with underscores, which every version takes. It puts address and port
    /// together itself, so IPv6 comes in brackets.
    fn torchrun(&self, command: &[String]) -> Vec<String> {
        let mut argv = torchrun_program(command);
        let options = [
            ("nnodes", self.nodes.to_string()),
            ("node_rank", self.node.to_string()),
            ("nproc_per_node", self.plan.ranks_per_node.value.to_string()),
            ("master_addr", self.host()),
            ("master_port", self.rendezvous.port.to_string()),
        ];
        argv.extend(options.map(|(name, value)| format!("--{name}={value}")));
        argv.extend(torchrun_target(command));
        argv
    }
}

/// The interpreter of the command, when it is started with nothing but a script or a module.
fn python_of(command: &[String]) -> Option<&str> {
    let (program, rest) = command.split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    let python = name.strip_prefix("python").is_some_and(|version| {
        version
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
    });
    let plain = match rest.first().map(String::as_str) {
        Some("-u") => rest
            .get(1)
            .is_some_and(|word| word == "-m" || !word.starts_with('-')),
        Some("-m") => true,
        Some(word) => !word.starts_with('-'),
        None => false,
    };
    (python && plain).then_some(program)
}

/// torchrun by the interpreter that the command names: the one on `PATH` may be another.
fn torchrun_program(command: &[String]) -> Vec<String> {
    match python_of(command) {
        Some(python) => [python, "-m", "torch.distributed.run"]
            .map(str::to_owned)
            .to_vec(),
        None => vec!["torchrun".to_owned()],
    }
}

/// What torchrun starts: the script, `-m` and a module, or any other program as it is.
fn torchrun_target(command: &[String]) -> Vec<String> {
    if python_of(command).is_none() {
        let mut target = vec!["--no_python".to_owned()];
        target.extend_from_slice(command);
        return target;
    }
    // torchrun itself starts its ranks with `-u`.
    let skip = if command[1] == "-u" { 2 } else { 1 };
    command[skip..].to_vec()
}

/// Every option of torchrun also comes from `PET_…`, and a person's shell may hold some; so may
/// variables of an outer launcher, which a rank would take for its own. Those that say where output
/// goes (`PET_LOG_DIR`, `PET_REDIRECTS`, `PET_TEE`) change no launch and stay: torch 1.13 on Python
/// 3.11 starts only with the last two set.
fn clear_torchrun(env: &mut Env) {
    const OPTIONS: [&str; 21] = [
        "NNODES",
        "NPROC_PER_NODE",
        "RDZV_BACKEND",
        "RDZV_ENDPOINT",
        "RDZV_ID",
        "RDZV_CONF",
        "STANDALONE",
        "MAX_RESTARTS",
        "MONITOR_INTERVAL",
        "START_METHOD",
        "ROLE",
        "MODULE",
        "NO_PYTHON",
        "RUN_PATH",
        "NODE_RANK",
        "MASTER_ADDR",
        "MASTER_PORT",
        "LOCAL_ADDR",
        "LOGS_SPECS",
        "VIRTUAL_LOCAL_RANK",
        "SHUTDOWN_TIMEOUT",
    ];
    const RANKS: [&str; 7] = [
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "NODE_RANK",
        "MASTER_ADDR",
        "MASTER_PORT",
    ];
    for option in OPTIONS {
        env.insert(format!("PET_{option}"), EnvChange::Remove);
    }
    for name in RANKS {
        env.insert(name.to_owned(), EnvChange::Remove);
    }
}
