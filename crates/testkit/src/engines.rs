//! The engines of an environment, for tests that kill them or look into their folders.

use crate::TestEnv;
use std::path::PathBuf;

impl TestEnv {
    /// The process of the engine of that name, which runs; `local` is this machine's own.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    #[track_caller]
    pub fn engine_pid(&self, name: &str) -> u32 {
        let status = self.yard(&["engine", "status", name, "--json"]).success();
        let read: Option<serde_json::Value> = serde_json::from_str(&status).ok();
        let pid = read.and_then(|status| u32::try_from(status["pid"].as_u64()?).ok());
        pid.unwrap_or_else(|| panic!("engine {name} runs: {status}"))
    }

    /// The folder of this machine's own engine.
    #[must_use]
    pub fn engine_folder(&self) -> PathBuf {
        let state = self.trainyard_home().join("state");
        state.join(sys::host_name()).join("main")
    }
}
