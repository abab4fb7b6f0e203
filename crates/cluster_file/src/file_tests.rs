//! Reading and printing cluster files.

use super::*;
use expect_test::{Expect, expect};
use model::render;
use proptest::prelude::*;

const SMALL: &str = r#"
from = "the tables of the page"
slurm = { value = "22.05", assumed = "as others of its time" }

[nodes.v100]
names = { value = "g[1-4]", assumed = "the page gives no names" }
cpus = 40
memory = "188G"
gpu = { type = "v100", model = "v100", count = 2, memory = "32G" }

[partition.gpu]
default = true
nodes = ["v100"]
max_time = "24:00:00"

[qos.opp]
priority = 0

[user."*"]
default_qos = { value = "opp", from = "the listing", or = { value = "regular", from = "the table" } }

[policy.gpu.v100]
cpus_per_gpu = "5-6"
memory_per_gpu = "64G-90G"
"#;

#[track_caller]
fn check_problems(text: &str, want: Expect) {
    let shown = match ClusterFile::parse("x", text) {
        Ok(file) => format!("no problem:\n{file}"),
        Err(problems) => problems
            .iter()
            .map(|problem| render(problem, text, "x.toml"))
            .collect(),
    };
    want.assert_eq(&shown);
}

#[test]
fn a_file_prints_as_it_was_read() {
    let file = ClusterFile::parse("small", SMALL).unwrap();
    expect![[r#"
        slurm = { value = "22.05", assumed = "as others of its time" }

        [nodes.v100]
        from = "the tables of the page"
        names = { value = "g[1-4]", assumed = "the page gives no names" }
        cpus = 40
        memory = "188G"

        [[nodes.v100.gpu]]
        from = "the tables of the page"
        type = "v100"
        model = "v100"
        count = 2
        memory = "32G"

        [partition.gpu]
        from = "the tables of the page"
        default = true
        nodes = ["v100"]
        max_time = "1-00:00:00"

        [qos.opp]
        priority = { value = 0, from = "the tables of the page" }

        [user."*"]
        default_qos = { value = "opp", from = "the listing", or = { value = "regular", from = "the table" } }

        [policy.gpu.v100]
        from = "the tables of the page"
        cpus_per_gpu = "5-6"
        memory_per_gpu = "64G-90G"
    "#]].assert_eq(&file.to_string());
    let again = ClusterFile::parse("small", &file.to_string()).unwrap();
    assert_eq!(again, file);
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    check_problems(
        "",
        expect![[r#"
        no problem:
    "#]],
    );
    check_problems(
        "[partition.gpu]\nmaxtime = \"1:00:00\"\nmax_time = 60\nnodes = \"n[1-\"\ndefault_time = \"60\"\n[nodes.b]\ngpus = 2\n[account.c]\nshares = 3\n",
        expect![[r#"
            error: unknown key maxtime
               --> x.toml:2:1
               2 │ maxtime = "1:00:00"
                 │ ^^^^^^^ did you mean max_time?
              help: [partition.gpu] takes default, nodes, total_nodes, max_time, default_time, max_nodes,
                    min_nodes, max_cpus_per_node, default_memory_per_cpu, default_memory_per_node,
                    default_memory_per_gpu, default_cpus_per_gpu, max_memory_per_cpu, max_memory_per_node,
                    exclusive, exclusive_user, oversubscribe, priority_tier, priority_factor, allow_accounts,
                    deny_accounts, allow_qos, deny_qos, allow_groups, submit_from, alternate, no_root_jobs,
                    over_time_limit, cpu_bind, qos, state, preempt_mode, grace_time, hidden, root_only,
                    least_loaded, needs_reservation, billing_weights, from, assumed
            error: partition.gpu.max_time is a whole number
               --> x.toml:3:12
               3 │ max_time = 60
                 │            ^^ expected a time such as "24h", "7d", "7-00:00:00" or "UNLIMITED"
            error: partition.gpu.default_time: "60" does not say of what
               --> x.toml:5:16
               5 │ default_time = "60"
                 │                ^^^^ expected a time such as "24h", "7d", "7-00:00:00" or "UNLIMITED"
            error: unknown key gpus
               --> x.toml:7:1
               7 │ gpus = 2
                 │ ^^^^ GPUs are gpu = { count = 2, model = "…" }
              help: [nodes.b] takes names, count, cpus, sockets, cores_per_socket, threads_per_core, memory,
                    reserved_memory, tmp_disk, features, gres, architecture, weight, state, gpu, from, assumed
            error: account.c.shares is a whole number
               --> x.toml:9:10
               9 │ shares = 3
                 │          ^ expected text
              help: write "3"
        "#]],
    );
    check_problems(
        "internet = \"logins\"\nslurm = { from = \"x\" }\n[nodes]\na = 1\n[nodes.b]\nmemory = \"100\"\nfeatures = \"a,b\"\ncpus = { value = 1, form = \"x\" }\n",
        expect![[r#"
            error: internet: "logins" is none of its words; did you mean login?
               --> x.toml:1:12
               1 │ internet = "logins"
                 │            ^^^^^^^^ expected "login", "compute" or "none"
            error: slurm has no value
               --> x.toml:2:9
               2 │ slurm = { from = "x" }
                 │         ^^^^^^^^^^^^^^
              help: write { value = …, from = "…" }; it takes a version of Slurm, such as "22.05"
            error: nodes.a is a whole number
               --> x.toml:4:5
               4 │ a = 1
                 │     ^ expected a table
              help: write [nodes.a] and its keys below
            error: nodes.b.memory: 100 has no unit
               --> x.toml:6:10
               6 │ memory = "100"
                 │          ^^^^^ expected an amount of memory with its unit, such as "188G"
              help: write "100M" or "100G"
            error: nodes.b.features is text
               --> x.toml:7:12
               7 │ features = "a,b"
                 │            ^^^^^ expected a list of texts
              help: write ["a,b"]
            error: unknown key form of nodes.b.cpus
               --> x.toml:8:21
               8 │ cpus = { value = 1, form = "x" }
                 │                     ^^^^
              help: write { value = …, from = "…" }, { value = …, assumed = "…" }, or the value alone: a whole
                    number
        "#]],
    );
    check_problems(
        "[a\nb = \n",
        expect![[r#"
        error: unclosed table, expected `]`
           --> x.toml:1:3
           1 │ [a
             │   ^
          help: a cluster file is written in TOML: text stands in quotes, https://toml.io
    "#]],
    );
    check_problems(
        "from = \"a\"\nassumed = \"b\"\n[qos.a]\nmax_tres_per_job = \"gpus=1\"\nusage_factor = -1.0\n",
        expect![[r#"
            error: from beside assumed
               --> x.toml:1:1
               1 │ from = "a"
                 │ ^^^^
              help: a value is either said somewhere or assumed: keep one of the two
            error: qos.a.max_tres_per_job: "gpus=1" is no resource with an amount
               --> x.toml:4:20
               4 │ max_tres_per_job = "gpus=1"
                 │                    ^^^^^^^^ expected resources as Slurm writes them, such as "node=2,gres/gpu=8"
            error: qos.a.usage_factor: it is below zero or no number
               --> x.toml:5:16
               5 │ usage_factor = -1.0
                 │                ^^^^ expected a number
        "#]],
    );
}

#[test]
fn questions_are_answered() {
    let file = ClusterFile::parse("small", SMALL).unwrap();
    let gpu = file.partition("gpu").unwrap();
    assert_eq!(file.default_partition(), Some(gpu));
    assert_eq!(file.nodes_of(gpu)[0].count, 4);
    assert_eq!(file.gpus_called("V100").len(), 1);
    let qos = file.default_qos("me", "any", None).unwrap();
    assert!(qos.is_disputed());
    assert_eq!(file.assumed().len(), 2);
    assert_eq!(file.facts(None).nodes[0].cpus, 40);
}

/// Texts that look like cluster files, many of them broken.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("[nodes.a]".to_owned()),
        Just("[[nodes.a.gpu]]".to_owned()),
        Just("[partition.\"x y\"]".to_owned()),
        Just("[user.\"*\".account.b]".to_owned()),
        Just("[[user.ann.account.b]]".to_owned()),
        Just("[policy.gpu.v]".to_owned()),
        "(cpus|count|names|memory|nodes|max_time|from|assumed|features|internet|cpus_per_gpu|grace_time|usage_factor) = \
         (1|-1|1e9|99999999999999999999|\"[0-9a-zA-Z\\[\\]:,-]{0,9}\"|\\[\"a\", 1\\]|\\{ value = 1, from = \"x\" \\}|true|1979-05-27)",
        "\\PC{0,12}",
    ];
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn no_text_panics_and_what_reads_prints_back(text in text()) {
        match ClusterFile::parse("x", &text) {
            Ok(file) => {
                let printed = file.to_string();
                let again = ClusterFile::parse("x", &printed);
                prop_assert_eq!(again.as_ref(), Ok(&file), "{}", printed);
                let _ = (file.facts(None), file.assumed());
            }
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                for problem in &problems {
                    let _ = render(problem, &text, "x");
                }
            }
        }
    }
}

#[test]
fn a_user_may_have_several_associations_in_an_account() {
    let text = "[account.lab]\n\n[user.ann]\naccounts = [\"lab\"]\n\n\
        [[user.ann.account.lab]]\npartition = \"gpu\"\nmax_jobs = 1\n\n\
        [[user.ann.account.lab]]\nmax_jobs = 2\n";
    let file = ClusterFile::parse("file", text).expect("a cluster file");
    let ann = file.user("ann").expect("a user");
    let jobs = |partition: Option<&str>| ann.association("lab", partition)?.max_jobs.as_ref();
    assert_eq!(jobs(Some("gpu")).map(|jobs| jobs.value), Some(1));
    assert_eq!(jobs(Some("cpu")).map(|jobs| jobs.value), Some(2));
    assert_eq!(jobs(None).map(|jobs| jobs.value), Some(2));
    assert_eq!(file.to_string(), text);
    // Of all else there is one of a name.
    let twice = "[[account.lab]]\n[[account.lab]]\n";
    assert!(ClusterFile::parse("file", twice).is_err());
}
