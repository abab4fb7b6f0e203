//! One task of the ranks' step, or one rank where a launcher's own processes start them.

use crate::env_vars as var;
use crate::{EnvChange, JobShape, Plan, Values};
use std::collections::BTreeMap;
use std::path::Path;

/// What changes in an environment.
pub(super) type Env = BTreeMap<String, EnvChange>;

/// Where the ranks meet.
#[derive(Clone, Copy)]
pub(super) struct MeetingPlace<'a> {
    /// Without brackets around IPv6.
    pub address: &'a str,
    pub port: &'a str,
    /// Tells this start from all others: the number of its job and of the restart.
    pub id: &'a str,
}

/// One task.
pub(super) struct Task<'a> {
    pub plan: &'a Plan,
    pub shape: &'a JobShape,
    pub meeting: MeetingPlace<'a>,
    /// How many tasks each node has.
    pub tasks_of_nodes: &'a [u32],
    /// Its number among them.
    pub number: u32,
    /// The index of its node in the job.
    pub node: u32,
    /// Its number on the node.
    pub local: u32,
}

impl Task<'_> {
    /// How many tasks there are.
    pub fn tasks(&self) -> u32 {
        self.tasks_of_nodes.iter().sum()
    }

    /// How many tasks its node has.
    pub fn per_node(&self) -> u32 {
        let own = self.tasks_of_nodes.get(self.node as usize);
        own.copied().unwrap_or(1)
    }

    /// How many ranks its node has.
    pub fn ranks(&self) -> u32 {
        match self.plan.uneven {
            Some(_) => self.per_node(),
            None => self.plan.ranks_per_node.value,
        }
    }

    pub fn nodes(&self) -> u32 {
        u32::try_from(self.shape.nodes.len()).unwrap_or(u32::MAX)
    }

    /// The GPUs that the job has on the task's node.
    pub fn gpus(&self) -> u32 {
        let gpus = self.shape.gpus.get(self.node as usize);
        gpus.copied().unwrap_or(0)
    }

    /// `address:port`, IPv6 in brackets.
    pub fn endpoint(&self) -> String {
        format!("{}:{}", self.host(), self.meeting.port)
    }

    /// The address as it stands before a colon and a port.
    pub fn host(&self) -> String {
        let address = self.meeting.address;
        if address.contains(':') {
            format!("[{address}]")
        } else {
            address.to_owned()
        }
    }

    /// The job's nodes with commas between them.
    pub fn node_list(&self) -> String {
        let nodes: Vec<&str> = self.shape.nodes.iter().map(|node| node.as_str()).collect();
        nodes.join(",")
    }

    /// What all launchers give.
    pub fn common(&self, values: &Values) -> Env {
        let mut env = Env::new();
        set(&mut env, var::YARD_DATA, text(&values.data));
        // Programs for clusters of the Digital Research Alliance of Canada find their data there, at
        // the paths below the folder that they were staged from.
        set_default(&mut env, "SLURM_TMPDIR", text(&values.data));
        // The words of job submitters at the University of British Columbia, with the folders
        // `$scratch_dir/hpc_outputs` and `$scratch_dir/$exp_name/checkpoints`.
        set_default(&mut env, "source_dir", text(&values.code));
        set_default(&mut env, "project_name", &values.project);
        set_default(&mut env, "scratch_dir", text(&values.scratch));
        set_default(&mut env, "exp_name", &self.plan.name.value);
        set(&mut env, var::YARD_CHECKPOINTS, text(&values.checkpoints));
        set(&mut env, var::YARD_RESUME, text(&values.resume));
        match &values.resume_file {
            Some(file) => set(&mut env, var::YARD_RESUME_FILE, text(file)),
            None => remove(&mut env, var::YARD_RESUME_FILE),
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
        set_default(&mut env, "OMP_NUM_THREADS", self.plan.cpus_per_rank.value);
        // A log that is only written when a buffer is full tells nothing about a rank that hangs.
        set_default(&mut env, "PYTHONUNBUFFERED", 1);
        if self.gpus() > 0 {
            // The order in which NVML and nvidia-smi count.
            set_default(&mut env, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
        }
        env
    }
}

pub(super) fn text(path: &Path) -> String {
    path.display().to_string()
}

pub(super) fn set(env: &mut Env, name: &str, value: impl ToString) {
    env.insert(name.to_owned(), EnvChange::Set(value.to_string()));
}

/// Only where it is unset.
pub(super) fn set_default(env: &mut Env, name: &str, value: impl ToString) {
    env.insert(name.to_owned(), EnvChange::Default(value.to_string()));
}

pub(super) fn remove(env: &mut Env, name: &str) {
    env.insert(name.to_owned(), EnvChange::Remove);
}
