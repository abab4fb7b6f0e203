//! Names of the environment variables that are ours: the one place for them.

/// Holds state, caches, the user's configuration and laptop scratch under one folder, in
/// sub-folders of those names: tests and trials seal themselves with it.
pub const TRAINYARD_HOME: &str = "TRAINYARD_HOME";

/// The embedded engine's folder; set in every job of it, so that commands inside a job find it.
pub const TRAINYARD_ENGINE: &str = "TRAINYARD_ENGINE";

/// Pretends a kind of file system below a folder, for tests: `<kind>:<path prefix>`, such as
/// `nfs:/tmp/x`.
pub const TRAINYARD_TEST_FS: &str = "TRAINYARD_TEST_FS";

/// The user's own `BASH_ENV`, kept for bash while ours stands in its place inside a job.
pub const TRAINYARD_BASH_ENV: &str = "TRAINYARD_BASH_ENV";

/// Milliseconds from SIGTERM to SIGKILL where an engine ends a job, instead of Slurm's 30 s; for
/// tests.
pub const TRAINYARD_KILL_WAIT_MS: &str = "TRAINYARD_KILL_WAIT_MS";
