//! A sealed place in which the built `yard` runs.

use crate::wait::{PATIENCE, holds_within};
use crate::{Outcome, end_all_that_mention, that_mention};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// What a job that is as good as over takes to end, and to start the stopped engine again.
const JOB_END: Duration = Duration::from_secs(5);

/// A temporary folder with a home, a `TRAINYARD_HOME` and a working folder of its own. Commands
/// see only the environment variables that are set here.
///
/// Dropping it stops the engine and fails the test when any process of it is left.
pub struct TestEnv {
    root: TempDir,
    yard: PathBuf,
    vars: BTreeMap<OsString, OsString>,
    /// How long its processes may take to end when it is dropped.
    ends_within: Duration,
}

/// What `USER` is in a sealed environment, where the system has no name for the user of the tests.
const NAMELESS: &str = "tester";

/// Who the commands of a sealed environment are for the program: as the system knows the user, else by `USER`.
///
/// # Panics
/// When the system can't be asked.
#[must_use]
pub fn this_user() -> String {
    let entry = sys::users::user_by_id(sys::process::user()).expect("users can be looked up");
    entry.map_or_else(|| NAMELESS.to_owned(), |entry| entry.name)
}

/// What commands keep of the outer environment: where programs are found, and how this machine
/// reaches package registries.
fn is_kept(name: &str) -> bool {
    name == "PATH"
        || ["PIP_", "SSL_CERT_"]
            .iter()
            .any(|start| name.starts_with(start))
        || name.to_ascii_lowercase().ends_with("_proxy")
}

impl TestEnv {
    /// A new one for the program at `yard`: `TestEnv::new(env!("CARGO_BIN_EXE_yard"))`.
    ///
    /// # Panics
    /// When the temporary folders can't be made.
    #[must_use]
    pub fn new(yard: impl Into<PathBuf>) -> TestEnv {
        let root = tempfile::Builder::new()
            .prefix("yard-")
            .tempdir()
            .expect("a temporary folder can be made");
        let mut vars: BTreeMap<OsString, OsString> = std::env::vars_os()
            .filter(|(name, _)| name.to_str().is_some_and(is_kept))
            .collect();
        for (name, folder) in [
            ("HOME", "home"),
            (sys::env_vars::TRAINYARD_HOME, "yard"),
            ("PWD", "work"),
            // A node's disk of its own: each job removes there what dead ones have left.
            ("TMPDIR", "tmp"),
        ] {
            let folder = root.path().join(folder);
            fs::create_dir(&folder).expect("a folder can be made in a new one");
            vars.insert(name.into(), folder.into());
        }
        // Tests that run at once don't wait for each other's jobs.
        vars.insert(
            sys::env_vars::TRAINYARD_CPU_LOCKS.into(),
            root.path().into(),
        );
        let fixed = [
            ("LANG", "C.UTF-8"),
            ("TZ", "UTC"),
            ("USER", NAMELESS),
            // Whether a Slurm answers on this machine is no matter to a test.
            ("SLURM_CONF", "/dev/null"),
        ];
        for (name, value) in fixed {
            vars.insert(name.into(), value.into());
        }
        let yard = yard.into();
        TestEnv {
            root,
            yard,
            vars,
            ends_within: PATIENCE,
        }
    }

    /// The folder that holds everything.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// `TRAINYARD_HOME`: state, cache, config, scratch and index.
    #[must_use]
    pub fn trainyard_home(&self) -> PathBuf {
        self.root().join("yard")
    }

    /// Where commands run.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// Sets a variable for the commands that follow.
    pub fn set_var(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
        self.vars
            .insert(name.as_ref().into(), value.as_ref().into());
    }

    /// Pretends GPUs with these names to the commands that follow and to the engine that they
    /// start; returns their uuids, which no other test has.
    ///
    /// # Panics
    /// When the library that pretends can't be built: see [`crate::gpus_missing`].
    pub fn pretend_gpus(&mut self, names: &[&str]) -> Vec<String> {
        crate::pretended_gpus::pretend(self, names)
    }

    /// Writes a file below the working folder, with the folders above it.
    ///
    /// # Panics
    /// When it can't be written.
    pub fn write(&self, path: impl AsRef<Path>, text: &str) -> PathBuf {
        let path = self.work().join(path);
        let folder = path.parent().expect("invariant: below the working folder");
        fs::create_dir_all(folder).expect("a folder can be made");
        fs::write(&path, text).expect("a file can be written");
        path
    }

    /// `yard` with these arguments, in the working folder, not yet started.
    #[must_use]
    pub fn command<A: AsRef<OsStr>>(&self, args: &[A]) -> Command {
        self.program(&self.yard, args)
    }

    /// Another program in the same environment, not yet started.
    #[must_use]
    pub fn program<A: AsRef<OsStr>>(&self, program: impl AsRef<OsStr>, args: &[A]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .env_clear()
            .envs(&self.vars)
            .current_dir(self.work())
            .stdin(Stdio::null());
        command
    }

    /// Runs `yard` to its end, without a terminal and without input.
    ///
    /// # Panics
    /// When it can't be started.
    pub fn yard<A: AsRef<OsStr>>(&self, args: &[A]) -> Outcome {
        Outcome::of(&self.command(args).output().expect("yard can be started"))
    }

    /// Runs one of Slurm's commands of ours: `slurm("sbatch", &["job.sh"])`.
    ///
    /// # Panics
    /// When it can't be started.
    pub fn slurm<A: AsRef<OsStr>>(&self, name: &str, args: &[A]) -> Outcome {
        let mut all: Vec<&OsStr> = vec!["slurm".as_ref(), name.as_ref()];
        all.extend(args.iter().map(AsRef::as_ref));
        self.yard(&all)
    }

    /// Gives processes less than two minutes to end when this is dropped, where a test leaves some on
    /// purpose.
    pub fn end_within(&mut self, longest: Duration) {
        self.ends_within = longest;
    }

    /// Leaves the folder where it is when this is dropped, so that it can be looked at.
    pub fn keep(&mut self) {
        self.root.disable_cleanup(true);
    }

    /// A text in which what differs from test to test has names: `$TEST` is [`TestEnv::root`],
    /// `$HOST` the machine's name.
    #[must_use]
    pub fn normalise(&self, text: &str) -> String {
        text.replace(&*self.root().to_string_lossy(), "$TEST")
            .replace(&sys::host_name(), "$HOST")
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        let mut stopped = self.yard(&["engine", "stop"]);
        // What is on its way out gets its time; what stays was forgotten by the test, or by us. Where the
        // test has failed already, nothing hangs on that.
        let longest = if std::thread::panicking() {
            self.ends_within.min(Duration::from_secs(10))
        } else {
            self.ends_within
        };
        let has_ended = || that_mention(self.root()).is_empty();
        if !holds_within(longest.min(JOB_END), has_ended) {
            // A job that ended after the engine was stopped has started it again, to tell it its end.
            stopped = self.yard(&["engine", "stop"]);
            holds_within(longest, has_ended);
        }
        let left = that_mention(self.root());
        end_all_that_mention(self.root());
        if !left.is_empty() && !std::thread::panicking() {
            panic!("processes were left: {left:#?}\n{}", stopped.snapshot());
        }
    }
}
