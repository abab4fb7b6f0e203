//! A virtual cluster for a test.

use crate::{TestEnv, wait_until};
use std::ops::{Deref, DerefMut};

/// A virtual cluster `lab`, to which the environment's Slurm commands go. Its jobs and its engine end
/// with it.
pub struct VirtualCluster(TestEnv);

impl VirtualCluster {
    /// One that a cluster file with this text describes, of a built `yard`.
    #[must_use]
    pub fn start(program: &str, cluster: &str) -> VirtualCluster {
        let env = TestEnv::new(program);
        let file = env.write("lab.toml", cluster).display().to_string();
        VirtualCluster::of(env, &file)
    }

    /// The twin of a site whose cluster file comes with the program.
    #[must_use]
    pub fn of_site(program: &str, site: &str) -> VirtualCluster {
        VirtualCluster::of(TestEnv::new(program), site)
    }

    fn of(mut env: TestEnv, cluster: &str) -> VirtualCluster {
        env.yard(&["engine", "start", "lab", "--cluster", cluster])
            .success();
        env.set_var(sys::env_vars::TRAINYARD_ENGINE, "lab");
        VirtualCluster(env)
    }
}

impl Deref for VirtualCluster {
    type Target = TestEnv;

    fn deref(&self) -> &TestEnv {
        &self.0
    }
}

impl DerefMut for VirtualCluster {
    fn deref_mut(&mut self) -> &mut TestEnv {
        &mut self.0
    }
}

impl Drop for VirtualCluster {
    fn drop(&mut self) {
        let _cancelled = self.0.slurm("scancel", &["--me"]);
        // An engine that is stopped starts again when a job of its ends.
        wait_until("no job is left", || {
            self.0.slurm("squeue", &["-h"]).stdout.is_empty()
        });
        let _stopped = self.0.yard(&["engine", "stop", "lab"]);
    }
}
