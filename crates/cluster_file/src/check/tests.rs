//! Contradictions, and none in what is shipped.

use crate::{ClusterFile, shipped};
use expect_test::{Expect, expect};
use model::{Severity, render};

#[track_caller]
fn check(text: &str, want: Expect) {
    let file = match ClusterFile::parse("x", text) {
        Ok(file) => file,
        Err(problems) => panic!("{}", render(&problems[0], text, "x")),
    };
    let lines: Vec<String> = file
        .check()
        .iter()
        .map(|found| {
            let (line, column) = found.problem.position(text);
            format!(
                "{line}:{column} {:?} {}: {}; {}",
                found.severity, found.code, found.problem.message, found.problem.label
            )
        })
        .collect();
    want.assert_eq(&lines.join("\n"));
}

#[test]
fn nodes() {
    check(
        "[nodes.a]\nnames = \"n[1-4]\"\ncount = 3\ncpus = 9\nsockets = 2\ncores_per_socket = 4\n\
         gpu = { type = \"v100\", feature = \"v100\" }\n[nodes.b]\nnames = \"n[4-5]\"\n",
        expect![[r#"
            3:9 Error node-count: [nodes.a] has 4 names and count = 3; 
            4:8 Warning cpu-count: [nodes.a] has 9 CPUs; 2 sockets of 4 cores of 1 threads are 8
            7:7 Error gpu-count: GPUs of [nodes.a] have no count; 
            7:16 Warning gpu-model: GPU type v100 names no model; 
            7:34 Error gpu-feature: [nodes.a] lacks the feature v100 of its GPUs; 
            9:9 Error node-twice: node n4 stands twice; also in [nodes.a]"#]],
    );
}

#[test]
fn each_gpu_is_at_a_socket_that_there_is() {
    let check = |sockets: &str, want: &str| {
        let text = format!(
            "[nodes.a]\nnames = \"n1\"\ncpus = 8\nsockets = 2\ncores_per_socket = 4\n\
             gpu = {{ type = \"v100\", model = \"v100\", count = 2, sockets = \"{sockets}\" }}\n\
             [partition.p]\ndefault = true\nnodes = \"ALL\"\n"
        );
        let file = ClusterFile::parse("x", &text).expect("it can be read");
        let found: Vec<String> = file
            .check()
            .iter()
            .map(|found| format!("{}; {}", found.problem.message, found.problem.label))
            .collect();
        assert_eq!(found.join("\n"), want);
    };
    let wrong = "gpu.sockets of [nodes.a] does not fit its nodes; they have 2 GPUs and 2 sockets";
    check("0,1", "");
    check("1", wrong);
    check("0,2", wrong);
}

/// It was said to have no error, and nothing else.
#[test]
fn a_file_of_nothing() {
    for text in ["", "\u{feff}"] {
        check(text, expect!["1:1 Warning no-nodes: there are no nodes; "]);
    }
}

#[test]
fn partitions() {
    check(
        "[nodes.a]\nnames = \"n[1-4]\"\n[partition.p]\ndefault = true\nnodes = \"n[3-6]\"\nmax_time = \"1:00:00\"\n\
         default_time = \"2:00:00\"\nallow_qos = [\"fast\"]\n[partition.q]\ndefault = true\nnodes = [\"b\"]\ntotal_nodes = 3\n\
         max_nodes = 9\nmin_nodes = 10\n[partition.r]\n[qos.slow]\nmax_wall = \"3:00:00\"\n",
        expect![[r#"
            5:9 Error unknown-nodes: partition p names nodes that aren't there; no [nodes.…] has n[5-6]
            7:16 Error default-time: partition p: the default time is over the limit; max_time = 01:00:00
            8:13 Error unknown-qos: there is no [qos.fast]; 
            10:11 Error default-partition: partitions p and q are both the default; 
            11:9 Error unknown-nodes: there is no [nodes.b]; did you mean a?
            12:15 Warning node-total: partition q is said to have 3 nodes; its nodes are 0
            14:13 Error node-bounds: partition q takes no job at all; max_nodes = 9 is less
            15:12 Warning no-nodes: partition r names no nodes; 
            17:12 Warning over-partition: QOS slow allows more than any partition; every partition's max_time is shorter"#]],
    );
    check(
        "[partition.a]\nnodes = \"ALL\"\n",
        expect!["1:12 Note default-partition: no partition is the default: a job must name one; "],
    );
}

#[test]
fn accounts() {
    check(
        "[qos.a]\npreempt = [\"a\", \"bb\"]\nmax_tres_per_job = \"gres/gpu:v1=2\"\n[account.x]\nparent = \"y\"\n\
         [account.y]\nparent = \"x\"\n[account.z]\nparent = \"zz\"\ndefault_qos = \"b\"\n\
         [user.me]\naccounts = [\"x\"]\ndefault_account = \"y\"\nqos = [\"a\"]\ndefault_qos = \"c\"\n[user.me.account.none]\n",
        expect![[r#"
            2:11 Error unknown-qos: there is no [qos.bb]; 
            2:11 Error preempt-self: QOS a takes its own jobs' places; 
            3:20 Warning unknown-gpu: a limit counts GPUs of type v1, which no node has; 
            5:10 Error account-circle: account x is above itself; 
            7:10 Error account-circle: account y is above itself; 
            9:10 Error unknown-account: there is no [account.zz]; did you mean z?
            10:15 Error unknown-qos: there is no [qos.b]; did you mean a?
            13:19 Error default-account: user me has the default account y and isn't in it; 
            15:15 Error unknown-qos: there is no [qos.c]; did you mean a?
            15:15 Error default-qos: the default QOS c is not among a; 
            16:18 Error unknown-account: there is no [account.none]; "#]],
    );
}

/// One that is there twice, and one for a partition that is not there.
#[test]
fn associations() {
    check(
        "[nodes.n]\n[partition.P]\ndefault = true\nnodes = \"ALL\"\n[account.x]\n[user.me]\n\
         [[user.me.account.x]]\npartition = \"p\"\n[[user.me.account.x]]\npartition = \"q\"\n[[user.me.account.x]]\npartition = \"p\"\n",
        expect![[r#"
            7:19 Error two-associations: user me has two associations in x for the same partition; 
            10:13 Warning unknown-partition: an association of user me is for partition q, which is not there: it holds nowhere; "#]],
    );
}

/// What can be read and can't be so: none of a thing, a node twice, more than Slurm counts.
#[test]
fn amounts_that_cannot_be() {
    check(
        "[nodes.a]\nnames = \"a1,a1\"\ncpus = 0\nmemory = \"0M\"\ngpu = { count = 0, model = \"v100\" }\n\
         [nodes.b]\ncount = 70000\n[nodes.c]\nnames = \"c[0-70000]\"\n[partition.p]\ndefault = true\n\
         nodes = \"a1\"\nmax_nodes = 0\n",
        expect![[r#"
            2:9 Error node-twice: node a1 stands twice; in this list; it counts once
            3:8 Error zero: cpus of [nodes.a] is 0; no job could have any
            4:10 Error zero: memory of [nodes.a] is 0; no job could have any
            5:17 Error zero: gpu.count of [nodes.a] is 0; no job could have any
            7:9 Error node-count: [nodes.b] has 70000 nodes; a range has at most 65536 names
            9:9 Error node-list: Invalid hostlist: c[0-70000]; 
            13:13 Error zero: max_nodes of partition p is 0; no job could start"#]],
    );
    let wrong = |text: &str| {
        let problems = ClusterFile::parse("x", text).unwrap_err();
        let problem = &problems[0];
        format!(
            "{}; {}; {}",
            problem.message,
            problem.label,
            problem.help.clone().unwrap_or_default()
        )
    };
    expect!["nodes.a.cpus: -1 is below zero; expected a whole number; write a number from 0 to 4294967295"].assert_eq(&wrong("[nodes.a]\ncpus = -1\n"));
    expect!["nodes.a.cpus: 99999999999 is more than Slurm counts; expected a whole number; write a number from 0 to 4294967295"].assert_eq(&wrong("[nodes.a]\ncpus = 99999999999\n"));
    expect![[r#"partition.p.nodes: Invalid hostlist: a[0-70000]; expected a node list such as "node[1-3]", "ALL", or a list of [nodes.…] names; a range has at most 65536 names: part [0-70000] into several"#]].assert_eq(&wrong("[partition.p]\nnodes = \"a[0-70000]\"\n"));
    expect![[r#"partition.p.max_time: "9999999-00:00:00" is longer than Slurm counts; expected a time such as "24h", "7d", "7-00:00:00" or "UNLIMITED"; write UNLIMITED where there is no limit"#]].assert_eq(&wrong("[partition.p]\nmax_time = \"9999999-00:00:00\"\n"));
    let file = ClusterFile::parse("x", "[nodes.a]\nnames = \"a1,a1\"\n").unwrap();
    assert_eq!(file.count_of(&file.nodes[0]), 1);
}

#[test]
fn policy() {
    check(
        "[nodes.a]\nnames = \"n\"\ncpus = 16\nmemory = \"100G\"\ngpu = { model = \"v100\", count = 4 }\n\
         [policy]\ncpus_per_gpu = 6\n[policy.gpu.v100]\nmemory_per_gpu = \"32G-40G\"\n[policy.gpu.v10]\n\
         [paths]\nscratch = \"/home/me/scratch\"\nno_jobs = [\"/home\"]\n[node_local]\ntmpfs = true\nsurvives_jobs = true\n",
        expect![[r#"
            7:16 Warning policy-cpus: 6 CPUs for each GPU are more than [nodes.a] has; 4 GPUs share 16 CPUs
            9:18 Warning policy-memory: 32G for each GPU are more than [nodes.a] has; 4 GPUs share 100G
            10:1 Error unknown-gpu: there is a policy for v10, and no such GPU; did you mean v100?
            12:11 Error path-closed: scratch is in /home, where jobs can't run; 
            16:17 Warning tmpfs-survives: what is in memory counts against a job and ends with it; "#]],
    );
}

/// A word that no Slurm has, and one that does nothing here.
#[test]
fn words_of_slurms_own() {
    check(
        "[qos.a]\nflags = [\"denyonlimit\", \"DenyOnLimt\", \"UsageFactorSafe\", \"Relative\"]\n\
         [priority]\nage = 1\nflags = [\"MAX_TRES\", \"nonsense\", \"INCR_ONLY\", \"DEPTH_OBLIVIOUS\"]\n\
         [scheduling]\nparameters = \"bf_window=60, bf_continue,nonsense=7,assoc_limit_stop,bf_busy_nodes,bf_windw=1,\"\n\
         dependency_parameters = \"kill_invalid_depend,max_depend_depth=5,defer\"\n",
        expect![[r#"
            2:9 Warning unknown-word: DenyOnLimt is no flag of a QOS; did you mean DenyOnLimit?
            2:9 Note no-effect: Relative has no effect here; a flag of a QOS of Slurm's
            5:9 Warning unknown-word: nonsense is no flag of the priority; 
            5:9 Note no-effect: DEPTH_OBLIVIOUS has no effect here; a flag of the priority of Slurm's
            7:14 Warning unknown-word: nonsense is no parameter of the scheduler; 
            7:14 Note no-effect: bf_busy_nodes has no effect here; a parameter of the scheduler of Slurm's
            7:14 Warning unknown-word: bf_windw is no parameter of the scheduler; did you mean bf_window?
            8:25 Note no-effect: max_depend_depth has no effect here; a parameter of dependencies of Slurm's
            8:25 Warning unknown-word: defer is no parameter of dependencies; "#]],
    );
}

#[test]
fn what_is_shipped_has_notes_at_most() {
    let mut lines = Vec::new();
    for (name, text) in shipped() {
        let file = ClusterFile::parse(name, text).unwrap();
        for found in file.check() {
            assert_eq!(found.severity, Severity::Note, "{name}: {found:?}");
            lines.push(format!("{name} {}: {}", found.code, found.problem.message));
        }
    }
    expect![[r#"
        wilson default-partition: no partition is the default: a job must name one
        wilson node-total: partition gpu_gce is said to have 11 and 7 nodes"#]]
    .assert_eq(&lines.join("\n"));
}

/// `count` tables of one form.
fn many(count: usize, form: &str) -> String {
    let table = |number: usize| form.replace("{}", &number.to_string());
    (0..count).map(table).collect()
}

#[test]
fn accounts_in_a_circle_and_below_it() {
    check(
        "[account.a]\nparent = \"b\"\n[account.b]\nparent = \"a\"\n[account.c]\nparent = \"a\"\n[account.d]\nparent = \"d\"\n",
        expect![[r#"
            2:10 Error account-circle: account a is above itself; 
            4:10 Error account-circle: account b is above itself; 
            8:10 Error account-circle: account d is above itself; "#]],
    );
}

mod slow {
    use super::*;

    #[track_caller]
    fn codes(text: &str, want: usize) {
        let found = ClusterFile::parse("x", text).unwrap().check();
        assert_eq!(
            found
                .iter()
                .filter(|one| one.severity == Severity::Error)
                .count(),
            want
        );
    }

    /// Each takes minutes where it is looked for all names in all lists.
    #[test]
    fn many_tables_are_looked_up_by_name() {
        let nodes = "[nodes.a]\nnames = \"a[1-60000]\"\n";
        codes(
            &(nodes.to_owned() + &many(5_000, "[partition.p{}]\nnodes = \"a[1-60000]\"\n")),
            0,
        );
        codes(
            &(many(3_000, "[nodes.k{}]\nnames = \"n[1-1000]\"\n")
                + &many(3_000, "[partition.p{}]\nnodes = \"n{},n1\"\n")),
            2_999 + 2_000,
        );
        codes(
            &(many(30_000, "[account.a{}]\nparent = \"b{}\"\n")
                + &many(30_000, "[user.u{}]\ndefault_account = \"a{}\"\n")),
            30_000,
        );
        let chain: String = (0..30_000)
            .map(|i| format!("[account.a{i}]\nparent = \"a{}\"\n", (i + 1) % 30_000))
            .collect();
        codes(&chain, 30_000);
        let qos = "[qos.q{}]\npreempt = [\"gone{}\"]\nmax_wall = \"2:00:00\"\nmax_tres_per_job = \"gres/gpu:t{}=1\"\n";
        codes(
            &(many(30_000, qos)
                + &many(
                    30_000,
                    "[partition.p{}]\nmax_time = \"1:00:00\"\nqos = \"q{}\"\n",
                )),
            30_000,
        );
    }
}
