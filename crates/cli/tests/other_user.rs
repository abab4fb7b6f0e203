//! Another user on the engine of root, as on a lab machine that root lets its users reach: their jobs
//! are theirs, and nothing else is.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use testkit::{TestEnv, skip, wait_until};

/// `nobody`: a user of every system, and of no test.
const OTHER: u32 = 65534;

fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Lets others reach the engine: its folder and those above, and its socket.
fn share(env: &TestEnv) -> PathBuf {
    let state = env.trainyard_home().join("state");
    let engine = state.join(sys::host_name()).join("main");
    for folder in engine
        .ancestors()
        .take_while(|path| path.starts_with(env.root()))
    {
        open(folder, 0o755);
    }
    open(&engine.join("engine.sock"), 0o666);
    engine
}

#[test]
fn what_another_user_may_do_with_the_engine_of_root() {
    if sys::process::user() != 0 {
        return skip("other_user", "only root can act as another user");
    }
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.slurm("sbatch", &["--wrap", "while :; do sleep 0.05; done"])
        .success();
    let engine = share(&env);
    // Where every user can run it, and write.
    let yard = env.root().join("yard-of-others");
    fs::copy(env!("CARGO_BIN_EXE_yard"), &yard).unwrap();
    open(&yard, 0o755);
    open(&env.root().join("tmp"), 0o1777);
    let theirs = env.work().join("theirs");
    fs::create_dir(&theirs).unwrap();
    open(&theirs, 0o777);
    let as_other = |args: &[&str]| {
        let id = [
            format!("--reuid={OTHER}"),
            format!("--regid={OTHER}"),
            "--clear-groups".to_owned(),
        ];
        let mut words: Vec<&str> = id.iter().map(String::as_str).collect();
        words.push(yard.to_str().unwrap());
        words.push("slurm");
        words.extend(args);
        let mut command = env.program("setpriv", &words);
        command.env(sys::env_vars::TRAINYARD_ENGINE, &engine);
        let output = command.current_dir(&theirs).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    };

    let (code, seen, _) = as_other(&["squeue", "--noheader", "--format=%i %u"]);
    assert_eq!((code, seen.as_str()), (Some(0), "1 root\n"));
    let (code, _, said) = as_other(&["scancel", "1"]);
    assert_ne!(code, Some(0), "{said}");
    assert!(said.to_lowercase().contains("denied"), "{said}");

    let (code, said, wrong) = as_other(&["sbatch", "--wrap", "id -u > who; srun id -u >> who"]);
    assert_eq!(code, Some(0), "{said}{wrong}");
    let who = || fs::read_to_string(theirs.join("who")).unwrap_or_default();
    let own = format!("{OTHER}\n{OTHER}\n");
    wait_until("the other user's job is over", || {
        !as_other(&["squeue", "--noheader"]).1.contains("nobody")
            && theirs.join("slurm-2.out").exists()
    });
    let printed = fs::read_to_string(theirs.join("slurm-2.out")).unwrap();
    assert_eq!(who(), own, "{printed}");
    for file in ["who", "slurm-2.out"] {
        assert_eq!(fs::metadata(theirs.join(file)).unwrap().uid(), OTHER);
    }
    env.slurm("scancel", &["1"]).success();
    wait_until("no job is left", || {
        env.slurm("squeue", &["--noheader"]).success().is_empty()
    });
}
