//! A cluster with a scratch: what is made once lies there, and runs too where its nodes don't see the folder where a
//! user's runs usually lie (`[paths] no_jobs`).

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use std::path::PathBuf;
use testkit::{TestEnv, this_user};

/// An engine `lab` whose cluster file closes the user's places and names a scratch for this user.
struct Lab {
    env: TestEnv,
    lustre: PathBuf,
}

impl Lab {
    fn start() -> Lab {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        let closed = env.trainyard_home().display().to_string();
        let lab = Lab::of(env, &format!("no_jobs = [\"{closed}\"]\n"));
        fs::create_dir_all(&lab.lustre).unwrap();
        lab
    }

    /// With further `[paths]`; its scratch is not there yet.
    fn of(env: TestEnv, paths: &str) -> Lab {
        let lustre = env.root().join("lustre").join(this_user());
        let file = env.write(
            "lab.toml",
            &format!(
                "[nodes.n]\ncount = 2\ncpus = 2\nmemory = \"2G\"\n\
                 [partition.p]\nnodes = \"ALL\"\ndefault = true\nmax_time = \"1:00:00\"\n\
                 [paths]\nscratch = \"{}/lustre/$USER\"\n{paths}",
                env.root().display(),
            ),
        );
        let file = file.display().to_string();
        env.yard(&["engine", "start", "lab", "--cluster", &file])
            .success();
        Lab { env, lustre }
    }

    /// What is printed, without ends of lines where a note was wrapped.
    fn yard(&self, args: &[&str]) -> String {
        let printed = self.env.yard(args).success();
        printed.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.env.yard(&["engine", "stop", "lab"]);
    }
}

/// A scratch that is not there can't hold it, and what it reads may not be seen either.
#[test]
fn a_run_that_no_node_would_see_is_refused() {
    let lab = Lab::start();
    let home = lab.env.trainyard_home().display().to_string();
    lab.env.write(
        "yard.toml",
        &format!("command = [\"true\"]\n[data]\nstage = [\"{home}/config\"]\n"),
    );
    fs::create_dir_all(lab.env.trainyard_home().join("config")).unwrap();
    let plan = lab.yard(&["plan", "--on", "lab"]);
    let note = format!("the run reads {home}/config: nodes of lab don't see {home}");
    assert!(plan.contains(&note), "{plan}");

    fs::remove_dir(&lab.lustre).unwrap();
    for command in ["plan", "run"] {
        let refused = lab.env.yard(&[command, "--on", "lab"]).code(3);
        let said = refused.stderr;
        assert!(
            said.contains("nodes of lab would not see the run's folder"),
            "{said}"
        );
        assert!(said.contains("(paths.scratch) is not there"), "{said}");
        assert!(said.contains("set TRAINYARD_HOME"), "{said}");
    }
    let linted = lab.env.yard(&["lint", "yard.toml", "--on", "lab"]).code(1);
    let said = linted.stdout;
    assert!(said.contains("would not see the run's folder"), "{said}");
    assert!(said.contains("set TRAINYARD_HOME"), "{said}");
    assert_eq!(lab.yard(&["ls"]), "no runs yet; yard run FILE starts one");
}

mod slow {
    use super::*;

    /// It is planned, run, found again, and removed there.
    #[test]
    fn a_run_that_its_nodes_would_not_see_lies_on_scratch() {
        let lab = Lab::start();
        let (env, lustre) = (&lab.env, lab.lustre.display().to_string());
        env.write(
            "yard.toml",
            &format!(
                "name = \"seen\"\nlauncher = \"srun\"\n\
                 command = [\"sh\", \"-c\", \"echo in $PWD with $VIRTUAL_ENV; test -e {lustre}/ready\"]\n\
                 [resources]\nnodes = 2\ntime = \"10m\"\n\
                 [environment]\nrequirements = \"requirements.txt\"\n"
            ),
        );
        env.write("requirements.txt", "# nothing\n");
        let note = format!("the run has its folder in {lustre}/trainyard/scratch");
        let plan = lab.yard(&["plan", "--on", "lab"]);
        assert!(plan.contains(&note), "{plan}");
        let script = lab.yard(&["plan", "--on", "lab", "--script"]);
        assert!(
            script.contains(&format!("{lustre}/trainyard/scratch/PROJECT/")),
            "{script}"
        );
        let printed = env.yard(&["run", "--on", "lab"]).code(1).stdout;
        let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(printed.contains(&note), "{printed}");
        let kept = format!("kept in {lustre}/trainyard/scratch/");
        assert!(printed.contains(&kept), "{printed}");
        let made = format!("with {lustre}/trainyard/cache/");
        assert!(printed.matches(&made).count() >= 2, "{printed}");
        // Nothing of it lies where its nodes see nothing.
        let home = env.trainyard_home();
        assert!(!home.join("scratch").exists());
        assert!(!home.join("cache").exists());

        assert!(lab.yard(&["ls"]).contains("seen"));
        assert!(lab.yard(&["show", "seen"]).contains(&lustre));
        assert!(lab.yard(&["logs", "seen"]).contains(&made));
        let cached = lab.yard(&["cache", "ls", "--json"]);
        assert!(
            cached.contains(&format!("{lustre}/trainyard/cache/")),
            "{cached}"
        );
        assert!(lab.yard(&["du"]).contains(&lustre));
        // Half a folder of a run that was never submitted is found there too.
        let half = lab.lustre.join("trainyard/scratch/other/half-abcd");
        fs::create_dir_all(half.join("links")).unwrap();
        let left = lab.yard(&["clean", "--dry-run"]);
        assert!(left.contains("half-abcd"), "{left}");
        env.write(lab.lustre.join("ready"), "");
        assert!(lab.yard(&["requeue", "seen"]).contains("seen"));
        lab.yard(&["wait", "seen"]);
        let scratch = lab.lustre.join("trainyard/scratch/work");
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 1);
        lab.yard(&["rm", "--yes", "seen"]);
        assert!(!scratch.exists());
    }

    /// A home folder has little room. What was made there before is used as long as it is whole.
    #[test]
    fn what_is_made_once_lies_on_the_scratch_and_was_at_home_before() {
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        env.set_var("TRAINYARD_HOME", "");
        let lab = Lab::of(env, "scratch_purge_days = 60\n");
        let run = |requirements: &str| {
            lab.env.write("requirements.txt", requirements);
            lab.env.write(
                "yard.toml",
                "command = [\"sh\", \"-c\", \"echo in $VIRTUAL_ENV\"]\nlauncher = \"none\"\n\
                 [resources]\ntime = \"10m\"\n[environment]\nrequirements = \"requirements.txt\"\n",
            );
            let plan = lab.yard(&["plan", "--on", "lab"]);
            (plan, lab.yard(&["run", "--on", "lab"]))
        };
        let home = lab.env.root().join("home/.cache/trainyard");
        let home = home.display().to_string();
        let in_home = format!("in {home}/environments/");
        let scratch = lab.lustre.join("trainyard/cache").display().to_string();
        let (plan, printed) = run("# one\n");
        let shown = format!("environment in {home} the user's cache");
        assert!(plan.contains(&shown), "{plan}");
        assert!(printed.contains(&in_home), "{printed}");
        fs::create_dir_all(&lab.lustre).unwrap();
        let (plan, printed) = run("# one\n");
        let shown = format!(
            "environment in {scratch} paths.scratch of lab, where what no user touches goes after 60 days"
        );
        assert!(plan.contains(&shown), "{plan}");
        assert!(printed.contains(&in_home), "{printed}");
        let (_, printed) = run("# two\n");
        let made = format!("in {scratch}/environments/");
        assert!(printed.contains(&made), "{printed}");
        let cached = lab.yard(&["cache", "ls", "--json"]);
        let both = cached.contains(&home) && cached.contains(&scratch);
        assert!(both, "{cached}");
    }
}
