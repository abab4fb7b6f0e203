//! Another user on the engine of root, as on a lab machine that root lets its users reach: their jobs
//! are theirs, and nothing else is.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use testkit::{TestEnv, skip, wait_until};

/// `nobody`: a user of every system, and of no test.
const OTHER: u32 = 65534;
/// `daemon`: another one.
const THIRD: u32 = 1;

fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// An engine of root's that other users reach.
struct Shared<'a> {
    env: &'a TestEnv,
    engine: PathBuf,
    /// Where every user can run it.
    yard: PathBuf,
    /// Where every user can write.
    folder: PathBuf,
}

impl Shared<'_> {
    fn new<'a>(env: &'a TestEnv, engine: &str) -> Shared<'a> {
        let engine = share(env, engine);
        let yard = env.root().join("yard-of-others");
        fs::copy(env!("CARGO_BIN_EXE_yard"), &yard).unwrap();
        open(&yard, 0o755);
        open(&env.root().join("tmp"), 0o1777);
        let folder = env.work().join("theirs");
        fs::create_dir(&folder).unwrap();
        open(&folder, 0o777);
        Shared {
            env,
            engine,
            yard,
            folder,
        }
    }

    /// A Slurm command of that user's, with these variables; its exit code and what it prints.
    fn run(
        &self,
        user: u32,
        variables: &[(&str, &str)],
        args: &[&str],
    ) -> (Option<i32>, String, String) {
        let id = [
            format!("--reuid={user}"),
            format!("--regid={user}"),
            "--clear-groups".to_owned(),
        ];
        let mut words: Vec<&str> = id.iter().map(String::as_str).collect();
        words.push(self.yard.to_str().unwrap());
        words.push("slurm");
        words.extend(args);
        let mut command = self.env.program("setpriv", &words);
        command.env(sys::env_vars::TRAINYARD_ENGINE, &self.engine);
        command.envs(variables.iter().copied());
        let output = command.current_dir(&self.folder).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }
}

/// Lets others reach the engine: its folder and those above, and its socket.
fn share(env: &TestEnv, engine: &str) -> PathBuf {
    let state = env.trainyard_home().join("state");
    let engine = state.join(sys::host_name()).join(engine);
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
    let shared = Shared::new(&env, "main");
    let theirs = &shared.folder;
    let as_other = |args: &[&str]| shared.run(OTHER, &[], args);

    let (code, seen, _) = as_other(&["squeue", "--noheader", "--format=%i %u"]);
    assert_eq!((code, seen.as_str()), (Some(0), "1 root\n"));
    let (code, _, said) = as_other(&["scancel", "1"]);
    assert_ne!(code, Some(0), "{said}");
    assert!(said.to_lowercase().contains("denied"), "{said}");
    // As recorded of a real one.
    let denied = "Access/permission denied";
    let (code, _, said) = as_other(&["scontrol", "top", "1"]);
    assert_eq!((code, said), (Some(1), format!("{denied} for job 1\n")));
    let modify = ["sacctmgr", "-i", "modify", "job", "jobid=1", "set"];
    for set in ["comment=x", "admincomment=x"] {
        let want = format!(
            "sacctmgr: error: Your user doesn't have privilege to perform this action\n \
             Error with request: {denied}\n"
        );
        let answer = as_other(&[&modify[..], &[set]].concat());
        assert_eq!(answer, (Some(1), String::new(), want));
    }

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

/// Numbers of jobs are no secret, and scripts hold tokens.
#[test]
fn a_script_is_for_its_jobs_user_alone_whatever_umask_the_engine_was_started_with() {
    if sys::process::user() != 0 {
        return skip("scripts of others", "only root can act as another user");
    }
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let start = "umask 077; exec \"$0\" engine start";
    let started = env.program("sh", &["-c", start, env!("CARGO_BIN_EXE_yard")]);
    assert!({ started }.output().unwrap().status.success());
    // The folder of jobs is made by a job of root's own.
    env.slurm("sbatch", &["-W", "--wrap", "true"]).success();
    let shared = Shared::new(&env, "main");
    let wrap = "stat -c '%u %a' $0";
    let (code, _, said) = shared.run(OTHER, &[], &["sbatch", "-W", "--wrap", wrap]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let printed = fs::read_to_string(shared.folder.join("slurm-2.out")).unwrap();
    assert_eq!(printed, format!("{OTHER} 700\n"));
}

/// As a controller leaves them out: `_all_parts_hidden` of 22.05's `job_mgr.c`.
#[test]
fn jobs_of_hidden_partitions_are_listed_only_where_that_is_asked() {
    if sys::process::user() != 0 {
        return skip("hidden partitions", "only root can act as another user");
    }
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let lab = "[nodes.n]\nnames = \"n[1-2]\"\ncpus = 4\nmemory = \"8000M\"\n\
               [partition.open]\ndefault = true\nnodes = \"ALL\"\n\
               [partition.closed]\nnodes = \"ALL\"\nhidden = true\n";
    let file = env.write("lab.toml", lab).display().to_string();
    let started = ["engine", "start", "lab", "--cluster", &file];
    env.yard(&started).success();
    env.set_var("TRAINYARD_ENGINE", "lab");
    for partition in ["open", "closed", "closed,open"] {
        env.slurm("sbatch", &["-H", "-p", partition, "--wrap", "true"])
            .success();
    }
    let shared = Shared::new(&env, "lab");
    let listed = |variables: &[(&str, &str)], args: &[&str]| {
        let args = [&["squeue", "-h", "-S", "i", "-o", "%i"], args].concat();
        let (code, printed, said) = shared.run(OTHER, variables, &args);
        assert_eq!((code, said.as_str()), (Some(0), ""), "{args:?}");
        printed.replace('\n', " ")
    };
    assert_eq!(listed(&[], &[]), "1 3 ");
    assert_eq!(listed(&[], &["-a"]), "1 2 3 ");
    assert_eq!(listed(&[("SQUEUE_ALL", "1")], &[]), "1 2 3 ");
    assert_eq!(listed(&[("SQUEUE_ALL", "1")], &["--hide"]), "1 3 ");
    assert_eq!(listed(&[], &["-p", "closed"]), "2 3 ");
    assert_eq!(listed(&[], &["-j", "2"]), "2 ");
    // Who manages the cluster sees all.
    let own = env.slurm("squeue", &["-h", "-S", "i", "-o", "%i"]);
    assert_eq!(own.success().replace('\n', " "), "1 2 3 ");
    env.slurm("scancel", &["-u", "root"]).success();
}

/// `sbatch --uid` and `--gid`: everything of such a job is the other user's.
#[test]
fn root_submits_jobs_of_another_user() {
    if sys::process::user() != 0 {
        return skip("sbatch --uid", "only root can act as another user");
    }
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let submit = |options: &[&str], script: &str| {
        let args = [&["-W", "-o", "theirs/out"], options, &["--wrap", script]].concat();
        env.slurm("sbatch", &args)
    };
    // The engine's folder is root's alone at first.
    let refused = submit(&["--uid=nobody"], "true").code(1).stderr;
    assert!(refused.contains("nobody can't reach "), "{refused}");
    assert!(refused.contains("chmod o+x "), "{refused}");
    let shared = Shared::new(&env, "main");
    let printed = |options: &[&str], script: &str| {
        let outcome = submit(options, script);
        let path = shared.folder.join("out");
        let printed = fs::read_to_string(&path).unwrap_or_default();
        let owner = fs::metadata(&path).map(|facts| (facts.uid(), facts.gid()));
        let _none = fs::remove_file(path);
        (printed, owner.ok(), outcome.stderr)
    };
    let own_group = sys::users::user("nobody").unwrap().unwrap().group;
    let (said, owner, wrong) = printed(
        &["--uid=nobody"],
        "id -u; id -g; id -G; echo $SLURM_JOB_USER; srun id -u",
    );
    let want = format!("{OTHER}\n{own_group}\n{own_group}\nnobody\n{OTHER}\n");
    assert_eq!(said, want, "{wrong}");
    assert_eq!(owner, Some((OTHER, own_group)));
    let (said, owner, wrong) = printed(&["--uid=65534", "--gid=1"], "id -u; id -g");
    assert_eq!(said, format!("{OTHER}\n1\n"), "{wrong}");
    assert_eq!(owner, Some((OTHER, 1)));
    // Neither what root may read, nor the variables of root's login.
    let secret = env.work().join("secret");
    fs::write(&secret, "a secret").unwrap();
    open(&secret, 0o600);
    let read = format!("cat {}; echo $HOME", secret.display());
    let (said, _, wrong) = printed(&["--uid=nobody", "--export=NONE"], &read);
    let home = sys::users::user("nobody").unwrap().unwrap().home;
    assert!(!said.contains("a secret"), "{said}{wrong}");
    assert!(said.ends_with(&format!("{}\n", home.display())), "{said}");
    let said = submit(&["--uid=nobody", "--test-only"], "true")
        .code(0)
        .stderr;
    assert!(said.contains("to start at"), "{said}");
    // Who was only asked about gets no folder.
    let said = submit(&["--uid=daemon", "--test-only"], "true")
        .code(0)
        .stderr;
    assert!(said.contains("to start at"), "{said}");
    let daemon = sys::users::user("daemon").unwrap().unwrap().id;
    let of_users = shared.engine.join("srun-of-users");
    assert!(of_users.join(OTHER.to_string()).exists());
    assert!(!of_users.join(daemon.to_string()).exists());
    // An image would be made ready by root.
    let image = format!("--container-image={}", secret.display());
    let said = submit(&["--uid=nobody", &image], "true").code(1).stderr;
    assert!(
        said.contains("a container for a job of user nobody"),
        "{said}"
    );
    assert!(said.contains("runuser -u nobody -- sbatch"), "{said}");
    for (option, want) in [
        ("--uid=no-such", "Invalid --uid specification"),
        ("--uid=3999999999", "Invalid --uid specification"),
        ("--gid=no-such", "Invalid --gid specification"),
    ] {
        let said = submit(&[option], "true").code(255).stderr;
        assert_eq!(said, format!("sbatch: error: {want}\n"));
    }
    // Others may not, whoever they name.
    for option in ["--uid=root", "--uid=nobody", "--gid=0"] {
        let words = ["sbatch", option, "--wrap", "true"];
        let (code, _, said) = shared.run(OTHER, &[], &words);
        let (name, _) = option.split_once('=').unwrap();
        let want = format!("sbatch: error: {name} only permitted by root user\n");
        assert_eq!((code, said), (Some(255), want));
    }
}

#[test]
fn why_there_is_no_engine_is_said_to_root_for_another_user_too() {
    if sys::process::user() != 0 {
        return skip("scontrol --uid", "only root can act as another user");
    }
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let update = ["--uid=nobody", "update", "jobid=1", "comment=x"];
    // It starts for root, and is no place of that user's.
    let said = env.slurm("scontrol", &update).code(1).stderr;
    assert_eq!(said, "slurm_update error: Invalid user id\n");
    let running = api::Client::connect_running(&env.engine_folder()).unwrap();
    assert!(running.is_some());
    let mut without = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    without.set_var("TRAINYARD_ENGINE", "nosuch");
    let said = without.slurm("scontrol", &update).code(1).stderr;
    assert!(
        said.starts_with("scontrol: error: no engine is called nosuch\n"),
        "{said}"
    );
}

/// What an attacker's job leaves on the node.
const HOSTILE: &str = "\
ln -s /etc /tmp/$PLACE
ln -s /etc /dev/shm/$PLACE
";

#[test]
fn each_other_user_has_folders_of_a_node_alone() {
    if sys::process::user() != 0 {
        return skip("users on nodes", "only root can act as another user");
    }
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let started = ["engine", "start", "lab", "--nodes", "2"];
    env.yard(&started).success();
    env.set_var("TRAINYARD_ENGINE", "lab");
    let status = env.yard(&["engine", "status", "lab"]).success();
    if !status.contains("other users have a /tmp and /dev/shm each of their own on a node") {
        env.yard(&["engine", "stop", "lab"]).success();
        return skip("users on nodes", &status);
    }
    let shared = Shared::new(&env, "lab");
    let as_user = |user: u32, variables: &[(&str, &str)], script: &str| {
        let output = format!("out.{user}");
        let words = ["sbatch", "-W", "-N2", "-o", &output, "--wrap", script];
        let (_, _, said) = shared.run(user, variables, &words);
        let printed = fs::read_to_string(shared.folder.join(output)).unwrap_or_default();
        format!("{printed}{said}")
    };
    // Their jobs keep the nodes from being emptied.
    let (code, _, said) = shared.run(OTHER, &[], &["sbatch", "-N2", "--wrap", "sleep 1000"]);
    assert_eq!(code, Some(0), "{said}");
    let script = "hostname; cat /proc/1/comm; id -u
         echo of $SLURM_JOB_UID | tee /tmp/mine > /dev/shm/mine
         srun -N2 -n2 sh -c 'hostname; id -u; touch /tmp/step; cat /proc/1/comm'";
    let printed = as_user(OTHER, &[], script);
    for line in ["node1", "node2", "yard:node1", "yard:node2", "65534"] {
        assert!(printed.lines().any(|it| it == line), "{line}: {printed}");
    }
    assert!(!Path::new("/tmp/mine").exists() && !Path::new("/dev/shm/mine").exists());
    // The same user's next job has them, another's has not, nor has root's.
    let look = "cat /tmp/mine /dev/shm/mine; ls /tmp/step; echo over";
    let printed = as_user(OTHER, &[], look);
    let of_other = format!("of {OTHER}\n");
    assert_eq!(printed, format!("{of_other}{of_other}/tmp/step\nover\n"));
    for user in [THIRD, 0] {
        let printed = as_user(user, &[], look);
        assert!(
            !printed.contains("of ") && printed.ends_with("over\n"),
            "{printed}"
        );
    }
    // What a user's variables name leads nowhere that the user could not go.
    let hidden = env.root().join("closed/below");
    fs::create_dir_all(&hidden).unwrap();
    fs::write(hidden.join("secret"), "a secret").unwrap();
    open(&env.root().join("closed"), 0o700);
    let link = format!("/tmp/link-{}", std::process::id());
    std::os::unix::fs::symlink(&hidden, &link).unwrap();
    for home in [&*link, "/tmp/..", "/tmp/../root"] {
        let printed = as_user(OTHER, &[("HOME", home)], "cat $HOME/secret; ls -l /tmp");
        assert!(!printed.contains("a secret"), "{home}: {printed}");
        assert!(printed.contains(" mine\n"), "{home}: {printed}");
    }
    fs::remove_file(link).unwrap();
    // Where a link waits for root's mount, nothing is hidden behind it.
    let place = format!("/tmp/place-{}", std::process::id());
    fs::create_dir(&place).unwrap();
    open(Path::new(&place), 0o777);
    let name = place.trim_start_matches("/tmp/");
    let printed = as_user(THIRD, &[("PLACE", name)], HOSTILE);
    assert_eq!(printed, "");
    let printed = as_user(THIRD, &[("HOME", &place)], "ls /etc/passwd");
    assert!(
        printed.contains(&format!("{place} on the node is not a folder")),
        "{printed}"
    );
    fs::remove_dir(place).unwrap();
    let (code, _, said) = shared.run(OTHER, &[], &["scancel", "-u", "nobody"]);
    assert_eq!(code, Some(0), "{said}");
    wait_until("no job is left", || {
        env.slurm("squeue", &["--noheader"]).success().is_empty()
    });
    env.yard(&["engine", "stop", "lab"]).success();
}

/// As recorded of 22.05.8: root's own partition takes what root submits for another user, and starts none of it.
#[test]
fn root_submits_for_another_user_to_a_partition_of_its_own() {
    if sys::process::user() != 0 {
        return skip("sbatch --uid", "only root can act as another user");
    }
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let text = "[nodes.n]\nnames = \"n[1-2]\"\ncpus = 4\n[partition.main]\ndefault = true\nnodes = \"ALL\"\n\
                [partition.admins]\nnodes = \"ALL\"\nroot_only = true\n";
    let file = env.write("lab.toml", text).display().to_string();
    env.yard(&["engine", "start", "lab", "--cluster", &file])
        .success();
    env.set_var("TRAINYARD_ENGINE", "lab");
    let shared = Shared::new(&env, "lab");
    let submit = ["sbatch", "-o/dev/null", "-p", "admins", "--wrap=true"];
    let (code, _, said) = shared.run(OTHER, &[], &submit);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("Access/permission denied"), "{said}");
    let as_nobody = [&submit[1..], &["--uid=nobody"]].concat();
    env.slurm("sbatch", &as_nobody).success();
    wait_until("it is looked at", || {
        let shown = env.slurm("squeue", &["-h", "-a", "-o", "%u %t %r"]);
        shown.success() == "nobody PD PartitionConfig\n"
    });
    env.slurm("scancel", &["-u", "nobody"]).success();
}
