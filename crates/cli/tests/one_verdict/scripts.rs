//! Scripts for a cluster with accounts and QOS.

use crate::doors::{Doors, NODES, said};
use testkit::this_user;

/// The same names, where nothing is refused.
const FROM: &str = r#"
[nodes.all]
names = "n[1-2]"
cpus = 4
memory = "16G"
[partition.main]
default = true
nodes = "ALL"
max_time = "UNLIMITED"
[partition.hour]
nodes = "ALL"
max_time = "UNLIMITED"
[partition.brief]
nodes = "ALL"
max_time = "UNLIMITED"
[partition.others]
nodes = "ALL"
max_time = "UNLIMITED"
[qos.normal]
[qos.short]
[account.own]
[account.walled]
[account.other]
"#;

/// A cluster whose accounts and QOS are for this user.
fn accounts() -> String {
    let user = this_user();
    format!(
        r#"{NODES}allow_accounts = ["other"]
[partition.hour]
nodes = "ALL"
max_time = "8:00:00"
default_time = "1:00:00"
[partition.brief]
nodes = "ALL"
max_time = "10:00"
[limits]
enforce = ["associations", "limits", "qos"]
[qos.normal]
[qos.short]
max_wall = "30:00"
[account.own]
[account.walled]
max_wall = "40:00"
[account.other]
[user.{user}]
accounts = ["own", "walled"]
default_account = "own"
qos = ["normal", "short"]
default_qos = "normal"
"#
    )
}

#[test]
fn plan_lint_run_and_port_give_one_verdict_on_a_script() {
    let doors = Doors::of(&accounts(), FROM);
    for (options, refused) in [
        ("--time=10", None),
        ("--time=9:00:00", Some("8:00:00")),
        ("--time=10 --account=own", None),
        ("--time=10 --account=other", Some("account")),
        (
            "--time=10 --partition=others",
            Some("not permitted to use this partition (others allows other not own)"),
        ),
        // A job without a time gets what limits give it, where its partition has no default.
        ("--ntasks=1", None),
        ("--qos=short", None),
        ("--account=walled", None),
        ("--qos=short --account=walled", None),
        ("--qos=short --time=20", None),
        ("--qos=short --time=60", Some("00:30:00")),
        ("--qos=short --partition=hour", Some("which is 01:00:00")),
        ("--qos=short --partition=brief", Some("which is 00:30:00")),
        ("--partition=brief", None),
    ] {
        doors.check(options, refused);
    }
    // A run whose time nobody said has that time too.
    for on in [&doors.file, "twin"] {
        let args = ["plan", "--on", on, "--qos=short", "--", "true"];
        let plan = said(&doors.env.yard(&args).code(0));
        assert!(
            plan.contains("time a job 30 min qos.short.max_wall"),
            "{plan}"
        );
    }
}

/// A job of cron or of `docker exec` has no `USER`, and any name may stand in it.
#[test]
fn who_asks_is_the_user_whatever_a_variable_says() {
    let mut doors = Doors::of(&accounts(), FROM);
    for user in ["", "somebody-else"] {
        doors.env.set_var("USER", user);
        doors.check("--time=10", None);
        doors.check("--time=10 --account=other", Some("account"));
    }
}

/// An engine has the names that its file has, however many more there are on the machine that the file describes.
#[test]
fn names_that_an_engine_of_a_file_with_some_names_lacks_are_wrong() {
    let file = format!(
        "[lists]\nnodes = \"some\"\npartitions = \"some\"\nqos = \"some\"\nfeatures = \"some\"\n{NODES}[qos.normal]\n"
    );
    let doors = Doors::of(&file, FROM);
    for options in ["-C nosuch", "-w nosuch", "-p nosuch", "--qos=nosuch"] {
        let text = format!("#!/bin/sh\n#SBATCH --time=10 {options}\ntrue\n");
        let script = doors.env.write("job.sh", &text).display().to_string();
        for (command, code) in [
            (&["plan"][..], 3),
            (&["lint"], 1),
            (&["run", "--detach"], 3),
        ] {
            let args = [command, &[&script, "--on", "twin"]].concat();
            let outcome = doors.env.yard(&args);
            assert_eq!(
                outcome.status,
                code,
                "{args:?} {options}: {}",
                said(&outcome)
            );
        }
        // By the file alone it may be a name that the file does not know.
        let args = ["lint", &script, "--on", &doors.file];
        doors.env.yard(&args).success();
    }
}
