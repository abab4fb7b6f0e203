//! Nodes of a pretended cluster: machines of their own where the system makes namespaces, and all that
//! works without them.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use testkit::{TestEnv, skip, wait_until};

const SCRIPT: &str = r#"#!/bin/bash
#SBATCH -N2 --ntasks-per-node=2 -t 5 -p sched_system_all
echo batch on $(hostname) in $(pwd)
srun -N2 --ntasks-per-node=2 hostname | sort | uniq -c
first=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -1)
srun -N2 -n2 sh -c 'echo of $SLURMD_NODENAME > $PLACE/mine'
srun -N2 -n2 sh -c 'cat $PLACE/mine'
srun -N2 -n2 sh -c 'echo memory of $SLURMD_NODENAME > $MEMORY/shared'
srun -N2 -n2 sh -c 'cat $MEMORY/shared'
srun -N2 -n2 python3 meet.py $first
ssh -o BatchMode=yes me@node0002 'echo by ssh on $SLURMD_NODENAME'
ssh service0001 'echo on a login node; squeue -h | wc -l'
ssh example.org uptime
sbatch --parsable --dependency=afterok:$SLURM_JOB_ID -t 1 --wrap true
yard ls | head -1
"#;

/// The second task connects to the first at the first node's name.
const MEET: &str = "\
import os, socket, sys, time
at = sys.argv[1]
if os.environ['SLURM_PROCID'] == '0':
    with socket.create_server((at, 0)) as server:
        with open('port.new', 'w') as file:
            file.write(str(server.getsockname()[1]))
        os.rename('port.new', 'port')
        print('rank 0 got', server.accept()[0].recv(100).decode())
else:
    while not os.path.exists('port'):
        time.sleep(0.01)
    port = int(open('port').read())
    with socket.create_connection((at, port)) as connection:
        connection.send(b'words of rank 1')
";

fn start(env: &mut TestEnv) -> String {
    let bin = env.root().join("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("ssh"), "#!/bin/sh\necho the real ssh: $*\n").unwrap();
    fs::set_permissions(bin.join("ssh"), PermissionsExt::from_mode(0o755)).unwrap();
    let yard = env!("CARGO_BIN_EXE_yard");
    // A node's own /tmp does not show where it was built, if that is there.
    fs::copy(yard, bin.join("yard")).unwrap();
    env.set_var("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    env.write("job.sh", SCRIPT);
    env.write("meet.py", MEET);
    let started = ["engine", "start", "satori", "--cluster", "satori"];
    env.yard(&started).success();
    env.yard(&["engine", "status", "satori"]).success()
}

#[track_caller]
fn run(env: &TestEnv) -> String {
    let printed = env.yard(&["run", "job.sh", "--on", "satori"]).success();
    // An engine that is stopped before its last job has ended is started at that end.
    env.yard(&["wait", "2"]).success();
    env.yard(&["engine", "stop", "satori"]).success();
    for words in [
        "rank 0 got words of rank 1",
        "by ssh on node0002",
        "on a login node\n1\n",
        "the real ssh: example.org uptime",
        "RUN ",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    printed
}

#[test]
fn isolated_nodes_have_names_and_folders_of_their_own() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.set_var("PLACE", "/tmp");
    env.set_var("MEMORY", "/dev/shm");
    let status = start(&mut env);
    if !status.contains("nodes have their own host names") {
        env.yard(&["engine", "stop", "satori"]).success();
        skip("isolated nodes", "no namespaces can be made");
        return;
    }
    let printed = run(&env);
    assert!(printed.contains("batch on node0001 in /tmp/"), "{printed}");
    for node in ["node0001", "node0002"] {
        assert!(printed.contains(&format!("2 {node}")), "{printed}");
        assert!(printed.contains(&format!("\nof {node}")), "{printed}");
        assert!(printed.contains(&format!("memory of {node}")), "{printed}");
    }
    assert!(!std::path::Path::new("/tmp/mine").exists());
    assert!(!std::path::Path::new("/dev/shm/shared").exists());
    // What jobs leave there goes with the last job of the node.
    let left = files_named("mine", &env.trainyard_home().join("state"));
    let left: Vec<_> = left.iter().filter(|path| path.contains("/tmp/")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// As on Cedar, whose scripts copy their data there: each node has one of its own, and it goes with the job though another
/// job is on the node.
#[test]
fn jobs_have_the_folder_that_their_site_gives_them() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let cluster = "[nodes.n]\ncount = 2\ncpus = 2\nmemory = \"2G\"\n\
         [partition.p]\nnodes = \"ALL\"\ndefault = true\nmax_time = \"1:00:00\"\n\
         [node_local]\npath = \"$SLURM_TMPDIR\"\nvariable = \"SLURM_TMPDIR\"\n";
    let file = env.write("lab.toml", cluster).display().to_string();
    env.yard(&["engine", "start", "lab", "--cluster", &file])
        .success();
    let status = env.yard(&["engine", "status", "lab"]).success();
    if !status.contains("nodes have their own host names") {
        env.yard(&["engine", "stop", "lab"]).success();
        return skip(
            "folders of jobs on isolated nodes",
            "no namespaces can be made",
        );
    }
    let slurm = |name: &str, args: &[&str]| {
        let mut command = env.command(&[&["slurm", name], args].concat());
        let output = command.env("TRAINYARD_ENGINE", "lab").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let other = "touch $SLURM_TMPDIR/others; until [ -e end ]; do sleep 0.05; done";
    slurm("sbatch", &["-N2", "--mem=100M", "--wrap", other]);
    env.write(
        "job.sh",
        "#!/bin/bash\n#SBATCH -N2 --mem=100M -o out\necho $SLURM_TMPDIR\n\
         srun -N2 -n2 sh -c 'echo of $SLURMD_NODENAME > $SLURM_TMPDIR/mine'\n\
         srun -N2 -n2 sh -c 'cat $SLURM_TMPDIR/*' | sort\n",
    );
    slurm("sbatch", &["--wait", "job.sh"]);
    let out = fs::read_to_string(env.work().join("out")).unwrap();
    let user = slurm("squeue", &["-h", "-o", "%u"]);
    let nodes: Vec<&str> = out.lines().skip(1).collect();
    assert_eq!(
        out.lines().next(),
        Some(&*format!("/tmp/{}.2.0", user.trim()))
    );
    assert!(nodes.len() == 2 && nodes[0] != nodes[1], "{out}");
    let state = env.trainyard_home().join("state");
    wait_until("the job's folders are gone", || {
        files_named("mine", &state).is_empty()
    });
    assert_eq!(files_named("others", &state).len(), 1);
    // Of a node that it gives back at once: there is another job.
    let shrinks =
        "srun -N2 -n2 sh -c 'echo > $SLURM_TMPDIR/kept'; until [ -e end ]; do sleep 0.05; done";
    slurm("sbatch", &["-N2", "--mem=100M", "--wrap", shrinks]);
    wait_until("it has written on both nodes", || {
        files_named("kept", &state).len() == 2
    });
    slurm("scontrol", &["update", "JobId=3", "NumNodes=1"]);
    wait_until("its folder on one of them is gone", || {
        files_named("kept", &state).len() == 1
    });
    env.write("end", "");
    wait_until("the other job's folder is gone", || {
        files_named("others", &state).is_empty()
    });
    // An engine that is stopped before its last job has ended is started at that end.
    wait_until("no job is left", || slurm("squeue", &["-h"]).is_empty());
    env.yard(&["engine", "stop", "lab"]).success();
}

/// A job's script did not find it: its nodes have a `/tmp` of their own.
#[test]
fn a_program_of_ours_below_tmp_is_found_on_isolated_nodes() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let status = start(&mut env);
    if !status.contains("nodes have their own host names") {
        return skip("yard below /tmp", "no namespaces can be made");
    }
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let link = folder.path().join("bin/yard");
    fs::create_dir(folder.path().join("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_yard"), link).unwrap();
    let path = std::env::var("PATH").unwrap();
    env.set_var("PATH", format!("{}/bin:{path}", folder.path().display()));
    env.set_var("TRAINYARD_ENGINE", "satori");
    let words = ["-N1", "-psched_system_all", "-t5", "yard", "--version"];
    let printed = env.slurm("srun", &words).success();
    assert!(printed.starts_with("yard "), "{printed}");
    env.yard(&["engine", "stop", "satori"]).success();
}

/// Listens at a port of all addresses until it is ended.
const LISTEN: &str = "\
import signal, socket, sys
s = socket.socket()
s.bind(('', int(sys.argv[1])))
s.listen()
print('listens', flush=True)
signal.pause()
";

#[test]
fn a_port_that_another_nodes_job_has_is_named_with_the_job() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let status = start(&mut env);
    assert!(
        status.contains("two programs can't listen at one port")
            || status.contains("no namespaces")
    );
    env.set_var("TRAINYARD_ENGINE", "satori");
    env.write("listen.py", LISTEN);
    // Nobody else's for as long as the test runs.
    let mut chosen = sys::ProgramPort::choose(Ipv4Addr::UNSPECIFIED).expect("a port is free");
    drop(chosen.take_listener());
    let port = chosen.number().to_string();
    // In what srun prints, and in the log of a run's rank.
    let words = [
        "-N2",
        "-n2",
        "-psched_system_all",
        "-t5",
        "--kill-on-bad-exit=1",
        "python3",
        "listen.py",
        &port,
    ];
    let outcome = env.slurm("srun", &words);
    let run = format!(
        "launcher = \"srun\"\ncommand = [\"listen.py\", \"{port}\"]\n[resources]\nnodes = 2\n\
         partition = \"sched_system_all\"\ntime = \"5m\"\n"
    );
    env.write("yard.toml", &run);
    let shown = env.yard(&["run", "--on", "satori"]);
    let _cancelled = env.slurm("scancel", &["--me"]);
    env.yard(&["engine", "stop", "satori"]).success();
    for printed in [outcome.stderr, shown.stdout] {
        let named = format!("{port} (job ");
        assert!(
            printed.contains(&named) && printed.contains(" on node000"),
            "{printed}"
        );
    }
}

/// Listens at one port on each node. The second task connects to the first's, and to this machine.
const MEET_AT: &str = "\
import os, socket, sys, time
port, first, machine, outside = int(sys.argv[1]), sys.argv[2] or os.environ['MASTER_ADDR'], sys.argv[3], int(sys.argv[4])
rank = int(os.environ['SLURM_PROCID'])
def connect(*at):
    while True:
        try:
            return socket.create_connection(at)
        except ConnectionRefusedError:
            time.sleep(0.05)
with socket.create_server(('', port)) as server:
    if rank == 0:
        print('rank 0 got', server.accept()[0].recv(100).decode(), flush=True)
    else:
        connect(first, port).send(b'words of rank 1')
        connect(machine, outside).send(b'words of a job')
";

#[test]
fn with_networks_of_their_own_two_nodes_listen_at_one_port() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let started = ["engine", "start", "lab", "--nodes", "2", "--networks"];
    env.yard(&started).success();
    let status = env.yard(&["engine", "status", "lab"]).success();
    let machine = status
        .split_once("/dev/shm and networks (")
        .and_then(|(_, rest)| rest.split_once(" is this machine"));
    let Some((machine, _)) = machine else {
        env.yard(&["engine", "stop", "lab"]).success();
        skip("networks of nodes", &status);
        return;
    };
    env.set_var("TRAINYARD_ENGINE", "lab");
    env.write("meet_at.py", MEET_AT);
    let here = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let outside = here.local_addr().unwrap().port().to_string();
    let words = ["-N2", "-n2", "python3", "meet_at.py", "4711", "node1"];
    let printed = env.slurm("srun", &[&words[..], &[machine, &outside]].concat());
    let printed = printed.success();
    assert!(printed.contains("rank 0 got words of rank 1"), "{printed}");
    let mut said = String::new();
    std::io::Read::read_to_string(&mut here.accept().unwrap().0, &mut said).unwrap();
    assert_eq!(said, "words of a job");
    // The ranks of a run meet at the first node's own address.
    let run = format!(
        "launcher = \"srun\"\ncommand = [\"meet_at.py\", \"4711\", \"\", {machine:?}, {outside:?}]\n\
         [resources]\nnodes = 2\ntime = \"5m\"\n"
    );
    env.write("yard.toml", &run);
    let printed = env.yard(&["run", "--on", "lab"]).success();
    assert!(printed.contains("rank 0 got words of rank 1"), "{printed}");
    let made = files_named("network", &env.trainyard_home().join("state"));
    let of_nodes = made.iter().filter_map(|path| fs::read_link(path).ok());
    let of_nodes: Vec<_> = of_nodes.collect();
    assert_eq!(of_nodes.len(), 2, "{made:?}");
    assert!(of_nodes.iter().all(|namespace| namespace.exists()));
    env.yard(&["engine", "stop", "lab"]).success();
    assert!(!of_nodes.iter().any(|namespace| namespace.exists()));
}

/// Meets as [`MEET_AT`] does, and tells what it does not reach.
const MEET_ALONE: &str = "\
import os, socket, sys, time
rank = int(os.environ['SLURM_PROCID'])
with socket.create_server(('', 4711)) as server:
    if rank == 0:
        print('rank 0 got', server.accept()[0].recv(100).decode(), flush=True)
    else:
        while True:
            try:
                connection = socket.create_connection((sys.argv[1] or os.environ['MASTER_ADDR'], 4711))
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        connection.send(b'words of rank 1')
        try:
            socket.create_connection(('127.0.0.1', int(sys.argv[2])))
        except OSError as error:
            print('this machine:', error.strerror, flush=True)
";

/// Runs as another user the test of that name alone, which is ignored otherwise.
fn as_ordinary_user(test: &str) {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    fs::set_permissions(env.root(), PermissionsExt::from_mode(0o755)).unwrap();
    let root = &env.root().join("of-the-user");
    fs::create_dir(root).unwrap();
    fs::set_permissions(root, PermissionsExt::from_mode(0o777)).unwrap();
    let copy = |from: &std::path::Path, name: &str| {
        let to = root.join(name);
        fs::copy(from, &to).unwrap();
        fs::set_permissions(&to, PermissionsExt::from_mode(0o755)).unwrap();
        to
    };
    let own = copy(&std::env::current_exe().unwrap(), "test");
    let yard = copy(std::path::Path::new(env!("CARGO_BIN_EXE_yard")), "yard");
    let output = std::process::Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(own)
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env("YARD", yard)
        .env("HOME", root)
        .env("TMPDIR", root)
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    // What is skipped is said.
    let _said = std::io::Write::write_all(&mut std::io::stdout(), &output.stdout);
}

#[test]
fn an_ordinary_users_nodes_have_networks_of_their_own_too() {
    let test = "networks_of_an_ordinary_user";
    match sys::process::user() {
        0 => as_ordinary_user(test),
        _ => networks_of_an_ordinary_user(),
    }
}

#[test]
#[ignore = "is run as another user by the test before"]
fn networks_of_an_ordinary_user() {
    let yard = std::env::var("YARD").unwrap_or_else(|_| env!("CARGO_BIN_EXE_yard").to_owned());
    let mut env = TestEnv::new(yard);
    let started = ["engine", "start", "lab", "--nodes", "2", "--networks"];
    env.yard(&started).success();
    let status = env.yard(&["engine", "status", "lab"]).success();
    if !status.contains("by which they reach each other alone") {
        env.yard(&["engine", "stop", "lab"]).success();
        skip("networks of an ordinary user", &status);
        return;
    }
    env.set_var("TRAINYARD_ENGINE", "lab");
    env.write("meet.py", MEET_ALONE);
    let here = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let outside = here.local_addr().unwrap().port().to_string();
    let words = ["-N2", "-n2", "python3", "meet.py", "node1", &outside];
    let printed = env.slurm("srun", &words).success();
    assert!(printed.contains("rank 0 got words of rank 1"), "{printed}");
    assert!(
        printed.contains("this machine: Connection refused"),
        "{printed}"
    );
    // The ranks of a run meet at the first node's own address.
    let run = format!(
        "launcher = \"srun\"\ncommand = [\"meet.py\", \"\", {outside:?}]\n[resources]\nnodes = 2\ntime = \"5m\"\n"
    );
    env.write("yard.toml", &run);
    let printed = env.yard(&["run", "--on", "lab"]).success();
    assert!(printed.contains("rank 0 got words of rank 1"), "{printed}");
    // What a service serves is not reached from here, and no address says so.
    env.write(
        "yard.toml",
        "command = [\"sh\", \"-c\", \"until grep -q http: $YARD_LOGS/../links/*.events; do sleep 0.1; done\"]\n\
         [resources]\ntime = \"5m\"\n[services.page]\n\
         command = [\"python3\", \"-m\", \"http.server\", \"--bind\", \"127.0.0.1\", \"{port}\"]\n",
    );
    let printed = env.yard(&["run", "--on", "lab"]).success();
    assert!(
        printed.contains("for jobs of this engine alone"),
        "{printed}"
    );
    assert!(!printed.contains("ssh -N"), "{printed}");
    // An engine that was killed leaves them to the next one.
    let killed = env.engine_pid("lab");
    let keepers = files_named("keepers", &env.trainyard_home().join("state"));
    let kept = fs::read_to_string(&keepers[0]).unwrap();
    sys::process::signal(killed, 9).unwrap();
    let printed = env.slurm("srun", &words).success();
    assert!(printed.contains("rank 0 got words of rank 1"), "{printed}");
    assert_eq!(fs::read_to_string(&keepers[0]).unwrap(), kept);
    keeper_of_networks_is_killed(&env, &words, &keepers[0]);
}

/// Prints its network, waits for `go` and prints it again.
const TWO_STEPS: &str = "\
#!/bin/sh
#SBATCH -N2 -n2 --output=two.out --requeue
srun -l readlink /proc/self/ns/net
echo > began
until [ -e go ]; do sleep 0.1; done
srun -l readlink /proc/self/ns/net
echo over >> two.out
echo > over
";

fn keeper_of_networks_is_killed(env: &TestEnv, words: &[&str], keepers: &str) {
    let kill = || {
        let kept = fs::read_to_string(keepers).unwrap();
        let keeper: u32 = kept.split(' ').next().unwrap().parse().unwrap();
        sys::process::signal(keeper, 9).unwrap();
    };
    let log = || fs::read_to_string(files_named("engine.log", &env.trainyard_home())[0].as_str());
    // While no job is there, the networks are made anew.
    kill();
    wait_until("they are made anew", || {
        log().unwrap().contains("networks of nodes were made anew")
    });
    let printed = env.slurm("srun", words).success();
    assert!(printed.contains("rank 0 got words of rank 1"), "{printed}");
    // While one is there, no other starts, and all of its steps have the network it began with or none.
    env.write("two.sh", TWO_STEPS);
    env.slurm("sbatch", &["two.sh"]).success();
    wait_until("began", || env.work().join("began").exists());
    kill();
    wait_until("its nodes are drained", || {
        let states = env.slurm("sinfo", &["-hN", "-o", "%E"]).success();
        states.lines().all(|line| line == "Network is gone")
    });
    env.slurm("sbatch", &["--output=next.out", "--wrap", "echo > next"])
        .success();
    let states = env.slurm("sinfo", &["-hN", "-o", "%t %E"]).success();
    assert_eq!(
        states.lines().collect::<Vec<_>>(),
        ["drng Network is gone"; 2]
    );
    let status = env.yard(&["engine", "status", "lab"]).success();
    assert!(status.contains("their networks are gone"), "{status}");
    assert!(log().unwrap().contains("the networks of nodes are gone"));
    env.yard(&["engine", "stop", "lab"]).success();
    env.yard(&["engine", "start", "lab", "--networks"])
        .success();
    wait_until("next", || env.work().join("next").exists());
    env.write("go", "");
    wait_until("over", || env.work().join("over").exists());
    let printed = fs::read_to_string(env.work().join("two.out")).unwrap();
    assert_eq!(printed.matches(": net:[").count(), 2, "{printed}");
    assert!(printed.contains("its network is gone"), "{printed}");
    let printed = env.slurm("srun", words).success();
    assert!(printed.contains("rank 0 got words of rank 1"), "{printed}");
    env.yard(&["engine", "stop", "lab"]).success();
    assert!(!std::path::Path::new(keepers).exists());
}

/// Paths of the files of that name below a folder.
fn files_named(name: &str, folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files_named(name, &path));
        } else if entry.file_name() == name {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn without_namespaces_nodes_see_this_machine_and_all_else_works() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.set_var(sys::env_vars::TRAINYARD_NAMESPACES, "0");
    for name in ["PLACE", "MEMORY"] {
        env.set_var(name, env.root().join("tmp"));
    }
    // Names that this machine does not know are no way to meet.
    let status = start(&mut env);
    assert!(status.contains("no namespaces can be made"), "{status}");
    assert!(status.contains("are one for all its nodes"), "{status}");
    assert!(status.contains("leads to no address"), "{status}");
    for (nodes, is_noted) in [(1, false), (2, true)] {
        let text = format!(
            "command = [\"true\"]\nlauncher = \"srun\"\nresources = {{ nodes = {nodes} }}\n"
        );
        env.write("yard.toml", text.as_str());
        let plan = env.yard(&["plan", "--on", "satori"]).success();
        assert_eq!(
            plan.contains("share this machine's disk"),
            is_noted,
            "{plan}"
        );
    }
    let script = SCRIPT.replace("meet.py $first", "meet.py localhost");
    env.write("job.sh", &script);
    let printed = run(&env);
    let own = format!("4 {}", sys::host_name());
    assert!(printed.contains(&own), "{printed}");
}
