//! Environments of the ranks: conda and modules by stand-ins, a Pipfile for real.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use sys::lock::FileLock;
use testkit::{TestEnv, skip, wait_until};

fn env(run_file: &str) -> (TestEnv, PathBuf) {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let home = env.work().join("home");
    fs::create_dir_all(&home).unwrap();
    env.set_var("HOME", &home);
    env.write("yard.toml", run_file);
    (env, home)
}

/// A conda that no shell was initialised for: its installer's file alone is there.
#[test]
fn a_conda_that_is_not_initialised() {
    let (env, home) = env("command = [\"sh\", \"-c\", \"echo of $CONDA_PREFIX\"]\n\
         [environment]\nconda = \"mine\"\n");
    let folder = home.join("miniconda3/etc/profile.d");
    fs::create_dir_all(&folder).unwrap();
    let stand_in = "conda() {\n  case \"$1 $2\" in\n    'shell.bash hook') ;;\n\
        \x20   'activate mine') export CONDA_PREFIX=/envs/mine ;;\n    *) return 1 ;;\n  esac\n}\n";
    fs::write(folder.join("conda.sh"), stand_in).unwrap();
    let shown = env.yard(&["run"]).snapshot();
    assert!(shown.contains("of /envs/mine"), "{shown}");
    let other = "command = [\"true\"]\n[environment]\nconda = \"other\"\n";
    env.write("yard.toml", other);
    let shown = env.yard(&["run"]).code(1).snapshot();
    assert!(
        shown.contains("conda environment other can't be activated"),
        "{shown}"
    );
}

#[test]
fn modules_are_loaded_and_a_missing_one_is_refused() {
    let (env, home) = env("command = [\"sh\", \"-c\", \"echo cuda $CUDA_HOME\"]\n\
         [environment]\nmodules = [\"cuda/12.4\"]\n");
    let stand_in = "module() {\n  case \"$1 $2\" in\n    'load cuda/12.4') export CUDA_HOME=/sw/cuda ;;\n\
        \x20   *) echo \"ERROR: Unable to locate a modulefile for '$2'\" >&2; return 1 ;;\n  esac\n}\n";
    fs::write(home.join(".bash_profile"), stand_in).unwrap();
    let shown = env.yard(&["run"]).snapshot();
    assert!(shown.contains("cuda /sw/cuda"), "{shown}");
    let other = "command = [\"true\"]\n[environment]\nmodules = [\"cuda/11\"]\n";
    env.write("yard.toml", other);
    let shown = env.yard(&["run"]).code(1).snapshot();
    assert!(
        shown.contains("modules cuda/11 can't be loaded here"),
        "{shown}"
    );
    assert!(shown.contains("Unable to locate"), "{shown}");
}

/// What the packages want is looked for on `PATH`, and named where it is not there.
#[test]
fn an_environment_is_made_with_the_python_that_its_packages_want() {
    let (mut env, _) = env("command = [\"true\"]\n[environment]\nrequirements = \"Pipfile\"\n");
    // A Python of another version than any that there is.
    let stand_in =
        "#!/bin/sh\necho /py/bin/python3.4\necho 3.4.5\necho /py/bin/python3.4 3.4.5 x86_64\n";
    let program = env.write("bin/python3.4", stand_in);
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let want = |version: &str| {
        let text = format!("[packages]\n[requires]\npython_version = \"{version}\"\n");
        env.write("Pipfile", &text);
    };
    want("3.4");
    let shown = env.yard(&["run"]).code(1).snapshot();
    assert!(
        shown.contains("no Python here is of the version"),
        "{shown}"
    );
    assert!(shown.contains("Python 3.4 (Pipfile)"), "{shown}");
    assert!(shown.contains("[environment] modules"), "{shown}");
    let path = std::env::var("PATH").unwrap();
    let bin = env.work().join("bin").display().to_string();
    env.set_var("PATH", format!("{bin}:{path}"));
    // It is taken, and what it is said to be can't be started.
    let shown = env.yard(&["run"]).code(1).snapshot();
    assert!(
        shown.contains("python3 -m venv can't be started"),
        "{shown}"
    );
}

mod slow {
    use super::*;

    /// It was seen when the installer was through. The stand-in for uv never is.
    #[test]
    fn a_run_that_is_ended_while_packages_are_installed_ends_the_installer() {
        ended_while_installing(15);
    }

    /// The installer went on.
    #[test]
    fn a_terminal_that_is_closed_while_packages_are_installed_ends_the_installer() {
        ended_while_installing(1);
    }

    #[track_caller]
    fn ended_while_installing(signal: i32) {
        let (mut env, _) = env("command = [\"true\"]\n\
             [environment]\nrequirements = \"requirements.txt\"\n");
        env.write("requirements.txt", "some-package\n");
        let noted = env.work().join("pid");
        let uv = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\nsleep 600 &\necho $! > {0}.new\n\
             mv {0}.new {0}\nwait\n",
            noted.display()
        );
        let uv = env.write("bin/uv", uv.as_str());
        fs::set_permissions(&uv, PermissionsExt::from_mode(0o755)).unwrap();
        let bin = env.work().join("bin");
        let path = std::env::var("PATH").unwrap();
        env.set_var("PATH", format!("{}:{path}", bin.display()));
        let run = env
            .command(&["run"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_until("packages are being installed", || noted.exists());
        sys::process::signal(run.id(), signal).unwrap();
        let ended = run.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(130), "{said}");
        assert!(
            said.contains("interrupted; nothing was submitted"),
            "{said}"
        );
        let pid = fs::read_to_string(&noted).unwrap().trim().parse().unwrap();
        assert_eq!(sys::process::start_time(pid), None, "its child goes on");
        let made = env.trainyard_home().join("cache/environments");
        let left = fs::read_dir(made).unwrap().flatten();
        let folders = left.filter(|entry| entry.path().is_dir());
        assert_eq!(folders.count(), 0);
    }

    /// It was decided by what had been listed before. The engine of a job that is noted there answers once a run has been
    /// submitted.
    #[test]
    fn what_a_run_was_submitted_with_meanwhile_is_not_pruned() {
        let (env, _) = env("command = [\"true\"]\n[environment]\nrequirements = \".\"\n");
        env.write("requirements.txt", "# nothing\n");
        env.yard(&["run"]).success();
        env.yard(&["rm", "@", "--yes"]).success();
        let cache = env.trainyard_home().join("cache/environments");
        let place = only_folder(&cache);
        fs::create_dir(cache.join("other")).unwrap();
        fs::write(cache.join("other/trainyard-made"), "another").unwrap();
        let engine = api::EngineFolder::new(env.root().join("e"));
        fs::create_dir(engine.root()).unwrap();
        fs::write(engine.store(), "").unwrap();
        let noted = format!("7 {}\n", engine.root().display());
        fs::write(cache.join("other.jobs"), noted).unwrap();
        let listener = UnixListener::bind(engine.socket()).unwrap();
        let mut prune = env.command(&["cache", "prune"]);
        let prune = prune.stdout(Stdio::piped()).spawn().unwrap();
        let asked = listener.accept().unwrap();
        env.yard(&["run", "-d"]).success();
        drop((asked, listener));
        let said = prune.wait_with_output().unwrap().stdout;
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("submitted meanwhile"), "{said}");
        assert!(place.join("bin/python").exists(), "{said}");
        env.yard(&["wait", "@"]).success();
    }

    /// The run began without it.
    #[test]
    fn an_environment_that_is_removed_before_it_is_held_is_made_again() {
        let (env, _) = env("command = [\"true\"]\n[environment]\nrequirements = \".\"\n");
        env.write("requirements.txt", "# nothing\n");
        env.yard(&["run"]).success();
        let place = only_folder(&env.trainyard_home().join("cache/environments"));
        let removing = FileLock::acquire(&place.with_extension("lock")).unwrap();
        let mut run = env.command(&["run"]).spawn().unwrap();
        let id = run.id().to_string();
        wait_until("it waits for who removes it", || {
            let locks = fs::read_to_string("/proc/locks").unwrap();
            let mut waiting = locks.lines().filter(|line| line.contains("-> FLOCK"));
            waiting.any(|line| line.split_whitespace().any(|word| word == id))
        });
        fs::remove_dir_all(&place).unwrap();
        drop(removing);
        assert!(run.wait().unwrap().success());
        assert!(place.join("bin/python").exists());
    }

    fn only_folder(cache: &Path) -> PathBuf {
        let all = fs::read_dir(cache).unwrap().flatten();
        let mut folders = all.map(|entry| entry.path()).filter(|path| path.is_dir());
        let one = folders.next().unwrap();
        assert_eq!(folders.next(), None);
        one
    }

    /// What pip or uv says stands in the answer; what was half made is made anew the next time.
    #[test]
    fn requirements_that_can_not_be_resolved_say_which_and_leave_nothing_half_made() {
        let (env, _) = env("command = [\"sh\", \"-c\", \"echo in $VIRTUAL_ENV\"]\n\
             [environment]\nrequirements = \"requirements.txt\"\n");
        env.write("requirements.txt", "--no-index\nno-such-package==1.0\n");
        for _ in 0..2 {
            let shown = env.yard(&["run"]).code(1).snapshot();
            assert!(shown.contains("no-such-package"), "{shown}");
            assert!(shown.contains("correct the requirements"), "{shown}");
        }
        let listed = env.yard(&["ls"]).success();
        assert_eq!(listed, "no runs yet; yard run FILE starts one\n");
        env.yard(&["cache", "prune"]).success();
        let listed = env.yard(&["cache", "ls"]).success();
        assert_eq!(listed, "nothing is cached\n");
    }

    /// On a cluster whose nodes reach the registries: a job of its own makes it, once, and the run waits.
    #[test]
    fn an_environment_is_made_by_a_job_where_the_cluster_file_says_that_nodes_reach_the_outside() {
        let (mut env, _) = env(
            "launcher = \"none\"\ncommand = [\"sh\", \"-c\", \"echo in $VIRTUAL_ENV\"]\n\
             [resources]\npartition = \"plai\"\ngpus_per_node = 1\ntime = \"10m\"\n\
             [environment]\nrequirements = \"requirements.txt\"\n",
        );
        env.write("requirements.txt", "# nothing\n");
        env.yard(&["engine", "start", "plai", "--cluster", "plai"])
            .success();
        let run = || env.yard(&["run", "--on", "plai"]);
        let shown = run().success();
        assert!(shown.contains("makes it on a node first"), "{shown}");
        assert!(shown.contains("/cache/environments/"), "{shown}");
        let again = run().success();
        assert!(!again.contains("makes it on a node first"), "{again}");
        assert!(again.contains("/cache/environments/"), "{again}");
        env.write("requirements.txt", "--no-index\nno-such-package==1.0\n");
        let failed = run().code(1).snapshot();
        assert!(
            failed.contains("failed: the environment could not be made"),
            "{failed}"
        );
        assert!(failed.contains("no-such-package"), "{failed}");
        let shown = env.yard(&["show"]).success();
        assert!(
            shown.contains("the environment could not be made"),
            "{shown}"
        );
        // What failed for want of a registry may not fail again: its job is submitted again too.
        env.yard(&["requeue", "@"]).success();
        let _failed = env.yard(&["wait", "@"]).code(1);
        env.set_var("TRAINYARD_ENGINE", "plai");
        let jobs = env
            .slurm("sacct", &["-nX", "--format=JobName%40"])
            .success();
        assert_eq!(jobs.matches("-environment").count(), 3, "{jobs}");
        env.yard(&["engine", "stop", "plai"]).success();
    }

    #[test]
    fn a_run_that_waits_for_its_environment_names_the_job_that_makes_it() {
        let (mut env, _) = env(
            "launcher = \"none\"\ncommand = [\"true\"]\n[resources]\ntime = \"10m\"\n\
             [environment]\nrequirements = \"requirements.txt\"\n",
        );
        env.write("requirements.txt", "# nothing\n");
        let cluster = "internet = \"compute\"\n[nodes.n]\ncount = 1\ncpus = 1\nmemory = \"4000M\"\n\
             [partition.main]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1-0\"\n";
        let file = env.write("lab.toml", cluster).display().to_string();
        env.yard(&["engine", "start", "lab", "--cluster", &file])
            .success();
        env.set_var("TRAINYARD_ENGINE", "lab");
        // Has the node to itself.
        env.slurm("sbatch", &["--exclusive", "--wrap", "sleep 600"])
            .success();
        env.yard(&["run", "--detach", "--on", "lab"]).success();
        let shown = env.yard(&["show"]).success();
        let words = "(Dependency)\n  environment  job 2 makes it on a node first\n";
        assert!(shown.contains(words), "{shown}");
        // Once it is there, whatever the run waits for, no job makes it.
        let json = env.yard(&["show", "--json"]).success();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let (_, run) =
            folder::RunFolder::open(Path::new(json["folder"].as_str().unwrap())).unwrap();
        let place = run.environment.unwrap().path;
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join(folder::MADE_MARKER), "").unwrap();
        let shown = env.yard(&["show"]).success();
        assert!(shown.contains("(Dependency)\n"), "{shown}");
        assert!(!shown.contains("makes it on a node"), "{shown}");
        env.slurm("scancel", &["--me"]).success();
        wait_until("no job is left", || {
            env.slurm("squeue", &["-h"]).stdout.is_empty()
        });
        env.yard(&["engine", "stop", "lab"]).success();
    }

    /// Without a home folder, as nodes of some sites are. The Pipfile goes before the requirements,
    /// which could not be had.
    #[test]
    fn a_pipfile_makes_an_environment_that_the_cache_keeps() {
        let (mut env, _) = env("command = [\"sh\", \"-c\", \"echo in $VIRTUAL_ENV\"]\n\
             [environment]\nrequirements = \".\"\n");
        env.set_var("HOME", "/nonexistent");
        env.write("Pipfile", "[packages]\n");
        env.write("requirements.txt", "--no-index\nno-such-package\n");
        let shown = env.yard(&["run"]).snapshot();
        assert!(shown.contains("/cache/environments/"), "{shown}");
        let listed = env.yard(&["cache", "ls"]).success();
        assert!(
            listed.contains("environment") && listed.contains("Pipfile"),
            "{listed}"
        );
        let kept = env.yard(&["cache", "prune"]).success();
        assert!(kept.contains("0 B removed"), "{kept}");
        // As a killed agent leaves what was staged.
        let shown = env.yard(&["show", "--json"]).success();
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        let all = format!("tmp/trainyard-{}", sys::process::user());
        let start = format!("{}.99.0", shown["run"].as_str().unwrap());
        let staged = env.root().join(all).join(start).join("data");
        fs::create_dir_all(staged.join("sets")).unwrap();
        for folder in [&*staged, staged.ancestors().nth(2).unwrap()] {
            fs::set_permissions(folder, PermissionsExt::from_mode(0o700)).unwrap();
        }
        let listed = env.yard(&["cache", "ls"]).success();
        assert!(
            listed.contains("data") && listed.contains("sets"),
            "{listed}"
        );
        env.yard(&["cache", "prune"]).success();
        assert!(!staged.exists());
        let dry = env
            .yard(&["cache", "prune", "--all", "--dry-run"])
            .success();
        assert!(dry.contains("would remove"), "{dry}");
        let removed = env.yard(&["cache", "prune", "--all"]).success();
        assert!(removed.contains("removed"), "{removed}");
        let listed = env.yard(&["cache", "ls"]).success();
        assert_eq!(listed, "nothing is cached\n");
        env.write("Pipfile", "[packages]\nx = { git = \"https://h/x\" }\n");
        let shown = env.yard(&["run"]).code(1).snapshot();
        assert!(shown.contains("x is no package of a registry"), "{shown}");
    }

    /// It was submitted, and its rank found "no bin/python there; put it on a file system that the nodes share".
    #[test]
    fn a_run_whose_environment_was_pruned_is_not_put_back() {
        let (env, _) = env("command = [\"sh\", \"-c\", \"exit 3\"]\n\
             [environment]\nrequirements = \"requirements.txt\"\n");
        env.write("requirements.txt", "# nothing\n");
        let _failed = env.yard(&["run"]).code(1);
        env.yard(&["cache", "prune", "--all"]).success();
        let refused = env.yard(&["requeue"]).code(3).snapshot();
        assert!(refused.contains("is not there any more"), "{refused}");
        let shown = env.yard(&["show", "--json"]).success();
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["starts"].as_array().unwrap().len(), 1);
    }

    /// Writes a package as installers take it.
    const WHEEL: &str = "\
import zipfile
about = 'kit-1.0.dist-info/'
files = {
    'kit.py': 'WORDS = \"words of a wheel\"\\n',
    about + 'METADATA': 'Metadata-Version: 2.1\\nName: kit\\nVersion: 1.0\\n',
    about + 'WHEEL': 'Wheel-Version: 1.0\\nGenerator: us\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n',
    about + 'RECORD': 'kit.py,,\\n' + about + 'METADATA,,\\n' + about + 'WHEEL,,\\n' + about + 'RECORD,,\\n',
}
with zipfile.ZipFile('wheels/kit-1.0-py3-none-any.whl', 'w') as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
";

    /// uv for real, which `crates/cli/tests/launchers/prepare` installs: it writes a lock, and makes an environment of it.
    #[test]
    fn a_lock_of_uv_makes_an_environment_by_uv() {
        let what = "an environment that uv makes";
        let venvs = std::env::var_os("YARD_LAUNCHER_VENVS").map(std::path::PathBuf::from);
        let uv = venvs.map(|venvs| venvs.join("uv/bin/uv"));
        let Some(uv) = uv.filter(|uv| uv.is_file()) else {
            return skip(what, "uv is needed, of crates/cli/tests/launchers/prepare");
        };
        let (mut env, _) = env(
            "command = [\"python3\", \"-c\", \"import kit; print(kit.WORDS)\"]\n\
             [environment]\nrequirements = \".\"\n",
        );
        fs::create_dir(env.work().join("bin")).unwrap();
        std::os::unix::fs::symlink(uv, env.work().join("bin/uv")).unwrap();
        let path = std::env::var("PATH").unwrap();
        let bin = env.work().join("bin").display().to_string();
        env.set_var("PATH", format!("{bin}:{path}"));
        env.set_var("UV_PYTHON_DOWNLOADS", "never");
        env.write(
            "pyproject.toml",
            "[project]\nname = \"shop\"\nversion = \"1\"\nrequires-python = \">=3.8\"\ndependencies = [\"kit\"]\n\
             [tool.uv]\nno-index = true\nfind-links = [\"wheels\"]\n",
        );
        fs::create_dir(env.work().join("wheels")).unwrap();
        let made = env.program("python3", &["-c", WHEEL]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        let locked = env.program("uv", &["lock"]).output().unwrap();
        assert!(locked.status.success(), "{locked:?}");
        let shown = env.yard(&["run"]).success();
        assert!(shown.contains("words of a wheel"), "{shown}");
        let listed = env.yard(&["cache", "ls"]).success();
        assert!(listed.contains("uv.lock"), "{listed}");
    }
}
