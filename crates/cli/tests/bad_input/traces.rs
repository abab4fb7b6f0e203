//! `yard simulate`: what is no trace, what no machine holds, and what it writes of one that is.

use crate::house::env;
use std::fs;

/// Three jobs for a machine of four processors; the third fits beside the first.
const LOG: &str = "; MaxProcs: 4\n\
    1 0 -1 100 3 -1 -1 3 100\n\
    2 10 -1 50 4 -1 -1 4 60\n\
    3 20 -1 30 1 -1 -1 1 40\n\
    4 30 -1 10 9 -1 -1 9 40\n\
    5 40 -1 0 1 -1 -1 1 40\n";

#[test]
fn each_policy_starts_its_jobs() {
    let env = env();
    env.write("log.swf", LOG);
    for (policy, starts) in [
        ("fifo", "1,0,0,100\n2,10,100,150\n3,20,150,180\n"),
        ("easy", "1,0,0,100\n3,20,20,50\n2,10,100,150\n"),
        // What it promises begins on a whole minute: the third would reach into the second.
        ("slurm", "1,0,0,100\n2,10,100,150\n3,20,150,180\n"),
        ("conservative", "1,0,0,100\n3,20,20,50\n2,10,100,150\n"),
    ] {
        let said = env.yard(&[
            "simulate",
            "log.swf",
            "--policy",
            policy,
            "--starts",
            "starts.csv",
        ]);
        let said = said.code(0);
        assert!(
            said.stderr.contains("1 did not run (line 6)"),
            "{}",
            said.stderr
        );
        assert!(said.stderr.contains("1 job left out"), "{}", said.stderr);
        let written = fs::read_to_string(env.work().join("starts.csv")).unwrap();
        assert_eq!(
            written,
            format!("job,submit,start,end\n{starts}"),
            "{policy}"
        );
    }
}

#[test]
fn jobs_larger_than_the_machine() {
    check(
        &["sizes.csv", "--processors", "1"],
        "none of the 1 jobs fits",
    );
    let env = env();
    env.write("log.swf", LOG);
    let said = env.yard(&["simulate", "log.swf", "--processors", "2"]);
    // The machine has two processors: two of the jobs need more.
    let said = said.code(0);
    assert!(said.stderr.contains("left out"), "{}", said.stderr);
}

#[test]
fn a_million_lines_of_garbage() {
    let env = env();
    for (name, head, why) in [
        ("log.swf", "", "1000000 not a job"),
        (
            "log.csv",
            "submit,run,cpus\n",
            "1000000 no number in `submit`",
        ),
    ] {
        let text = format!("{head}{}", "x1 # -- 7\n".repeat(1_000_000));
        env.write(name, &text);
        let said = env.yard(&["simulate", name, "--processors", "4"]);
        assert!((1..=9).contains(&said.status), "{}", said.stderr);
        assert!(said.stderr.contains(why), "{}", said.stderr);
    }
}

/// Partitions that share a node, one of a higher tier: its job starts first. Of the two that wait for
/// the other it is the one of the user who used nothing yet.
#[test]
fn queues_are_partitions_and_shares_order_them() {
    let env = env();
    env.write(
        "two.toml",
        "[nodes.n]\ncount = 1\ncpus = 2\n\
         [partition.batch]\nnodes = \"all\"\ndefault = true\n\
         [partition.urgent]\nnodes = \"all\"\npriority_tier = 10\n\
         [priority]\nfair_share = 1000\n",
    );
    env.write(
        "log.csv",
        "job,submit,run,cpus,user,queue\n\
         1,0,100,2,ann,batch\n\
         2,10,100,2,ann,batch\n\
         3,20,100,2,bob,batch\n\
         4,30,100,2,ann,urgent\n",
    );
    let args = "simulate log.csv --cluster ./two.toml --policy slurm --order multifactor \
        --starts starts.csv";
    let args: Vec<&str> = args.split_whitespace().collect();
    env.yard(&args).success();
    let written = fs::read_to_string(env.work().join("starts.csv")).unwrap();
    let want = "1,0,0,100\n4,30,100,200\n3,20,200,300\n2,10,300,400\n";
    assert_eq!(written, format!("job,submit,start,end\n{want}"));
}

#[track_caller]
fn check(args: &[&str], want: &str) {
    let env = env();
    env.write("log.swf", LOG);
    env.write("script", "#!/bin/bash\necho hello\n");
    env.write("table.csv", "job,cpus\n1,2\n");
    env.write("sizes.csv", "submit,run,cpus\n0,5,2\n");
    fs::write(env.work().join("cut.gz"), [0x1f, 0x8b, 8, 0]).unwrap();
    let mut all = vec!["simulate"];
    all.extend(args);
    let said = env.yard(&all);
    assert!((1..=9).contains(&said.status), "{}", said.stderr);
    assert!(said.stderr.contains(want), "{}", said.stderr);
    assert_eq!(said.stdout, "");
}

#[test]
fn what_can_not_be_played_says_why() {
    check(&["script"], "script is no trace: no line of it is a job");
    check(&["table.csv"], "no column `submit`");
    check(&["cut.gz"], "cut.gz can't be unpacked");
    check(&["missing.swf"], "missing.swf can't be read");
    check(&["sizes.csv"], "does not say how many processors");
    check(
        &["sizes.csv", "--processors", "1"],
        "none of the 1 jobs fits",
    );
    check(
        &["log.swf", "--processors", "0"],
        "a whole number of at least 1",
    );
    check(&["log.swf", "--cluster", "nowhere"], "nowhere");
    check(
        &["log.swf", "--policy", "fifo,easy", "--starts", "starts.csv"],
        "--starts is one schedule",
    );
    check(
        &[
            "log.swf",
            "--policy",
            "slurm",
            "--parameters",
            "bf_window=0",
        ],
        "bf_window=0: a number from 1 to 43200 is needed",
    );
    check(
        &["log.swf", "--arrivals", "while-blocked"],
        "while-blocked knows no backfill",
    );
    check(
        &["log.swf", "--order", "multifactor"],
        "--order multifactor needs the weights of a cluster",
    );
    check(
        &[
            "log.swf",
            "--order",
            "multifactor",
            "--policy",
            "fifo",
            "--arrivals",
            "while-blocked",
        ],
        "--arrivals while-blocked knows none",
    );
    check(
        &["log.swf", "--pictures", "p", "--window", "tomorrow"],
        "--window tomorrow is no part of the time",
    );
    check(
        &["log.swf", "--pictures", "script/pictures"],
        "script/pictures can't be written",
    );
}

#[test]
fn pictures_of_several_policies() {
    let env = env();
    env.write("log.swf", LOG);
    env.yard(&[
        "simulate",
        "log.swf",
        "--policy",
        "fifo,easy",
        "--pictures",
        "pictures",
        "--window",
        "0+0:10",
    ])
    .success();
    for name in ["use", "waits", "gantt-fifo", "gantt-easy"] {
        let at = |end: &str| env.work().join(format!("pictures/{name}.{end}"));
        let svg = fs::read_to_string(at("svg")).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("<text"), "{name}");
        let png = fs::read(at("png")).unwrap();
        assert!(png.starts_with(b"\x89PNG"), "{name}");
    }
}

/// A node of 1000 MiB holds one of the two jobs at a time, though each asks for two CPUs of four.
#[test]
fn memory_of_jobs_of_several_cpus_is_not_given_twice() {
    let env = env();
    env.write(
        "node.toml",
        "[nodes.n]\ncount = 1\ncpus = 4\nmemory = \"1000M\"\n\
         [partition.batch]\nnodes = \"all\"\ndefault = true\n",
    );
    env.write(
        "jobs.csv",
        "job,submit,run,cpus,memory\n\"a,b\",0,100,2,1000\nc,0,100,2,1000\n",
    );
    let words = [
        "simulate",
        "jobs.csv",
        "--cluster",
        "./node.toml",
        "--starts",
        "starts.csv",
    ];
    env.yard(&words).success();
    let written = fs::read_to_string(env.work().join("starts.csv")).unwrap();
    assert_eq!(
        written,
        "job,submit,start,end\n\"a,b\",0,0,100\nc,0,100,200\n"
    );
}

#[test]
fn a_packed_log_is_played_and_told_as_json() {
    let env = env();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, LOG.as_bytes()).unwrap();
    fs::write(env.work().join("log.swf.gz"), packed.finish().unwrap()).unwrap();
    let told = |log: &str| {
        let said = env.yard(&["simulate", log, "--policy", "fifo,easy", "--json"]);
        serde_json::from_str::<serde_json::Value>(&said.success()).unwrap()
    };
    env.write("log.swf", LOG);
    let (packed, plain) = (told("log.swf.gz"), told("log.swf"));
    let of = |policy: usize, what: &str| plain[policy]["wait"][what].as_f64();
    assert_eq!([of(0, "max"), of(1, "max")], [Some(130.0), Some(90.0)]);
    assert_eq!(plain[1]["policy"], "easy");
    assert_eq!(packed, plain);
}

/// A log may be longer than what is read of other files; that of a machine's whole life is.
#[test]
fn a_long_log_is_read() {
    let env = env();
    let comments = "; a long one\n".repeat((65 << 20) / 13);
    env.write("log.swf", &format!("{comments}{LOG}"));
    env.yard(&["simulate", "log.swf"]).success();
}

#[test]
fn gpus_need_a_machine_that_has_some() {
    let env = env();
    env.write("gpus.csv", "submit,run,gpus\n0,10,1\n");
    let said = env.yard(&["simulate", "gpus.csv", "--processors", "1000"]);
    let said = said.code(2);
    assert!(
        said.stderr.contains("name a cluster with GPUs: --cluster"),
        "{}",
        said.stderr
    );
}
