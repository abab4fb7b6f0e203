//! Where what an engine goes by differs from its cluster file: what `scontrol` and `sacctmgr` changed since.

use super::merge::{Setting, features, nodes, partitions};
use super::{Cluster, Difference, Trust};
use cluster_file::{ClusterFile, Named, Partition, ROOT_ACCOUNT, Sourced};
use std::fmt;

/// Where the document that an engine goes by differs from the file of which it was made, in the same order. It says
/// all: what it leaves out is no longer so.
#[must_use]
pub fn changed(file: &ClusterFile, now: &ClusterFile) -> Vec<Difference> {
    let [own, theirs] = [file, now].map(|file| Cluster::build(file, Trust::All));
    let mut found = Vec::new();
    nodes(file, &own, &theirs, &mut found);
    features(&own, &theirs, &mut found);
    partitions((file, now), &own, &theirs, settings_changed, &mut found);
    qos_changed(file, now, &mut found);
    found
}

/// Those that decide whether a job is taken and starts, of a document that says all.
fn settings_changed(own: &Partition, theirs: &Partition) -> Vec<Setting> {
    let listed = |list: &Option<Sourced<Vec<String>>>| {
        let list = list.as_ref();
        list.map(|list| list.map(|names| names.join(",")))
    };
    let state = |of: &Partition| {
        let state = of.state.as_ref();
        state.map(|state| state.map(|state| state.word().to_uppercase()))
    };
    vec![
        (
            "MaxTime",
            told(&own.max_time, &theirs.max_time, "UNLIMITED"),
        ),
        (
            "DefaultTime",
            told(&own.default_time, &theirs.default_time, "NONE"),
        ),
        (
            "MaxNodes",
            told(&own.max_nodes, &theirs.max_nodes, "UNLIMITED"),
        ),
        ("MinNodes", told(&own.min_nodes, &theirs.min_nodes, "0")),
        ("State", told(&state(own), &state(theirs), "UP")),
        (
            "AllowAccounts",
            told(
                &listed(&own.allow_accounts),
                &listed(&theirs.allow_accounts),
                "ALL",
            ),
        ),
        (
            "DenyAccounts",
            told(
                &listed(&own.deny_accounts),
                &listed(&theirs.deny_accounts),
                "NONE",
            ),
        ),
        (
            "AllowQos",
            told(&listed(&own.allow_qos), &listed(&theirs.allow_qos), "ALL"),
        ),
        (
            "DenyQos",
            told(&listed(&own.deny_qos), &listed(&theirs.deny_qos), "NONE"),
        ),
        (
            "AllowGroups",
            told(
                &listed(&own.allow_groups),
                &listed(&theirs.allow_groups),
                "ALL",
            ),
        ),
        ("QOS", told(&own.qos, &theirs.qos, "N/A")),
    ]
}

/// What both documents say, where that is not the same and `none` stands for what one leaves out.
fn told<T: fmt::Display>(
    own: &Option<Sourced<T>>,
    theirs: &Option<Sourced<T>>,
    none: &str,
) -> Option<(String, String)> {
    let say = |of: &Option<Sourced<T>>| match of {
        Some(of) => of.value.to_string(),
        None => none.to_owned(),
    };
    let (own, theirs) = (say(own), say(theirs));
    (own != theirs).then_some((own, theirs))
}

/// What there is once `sacctmgr` has changed anything, which no file need name: the account over all others, and the
/// QOS of a file without any.
const OWN: [&str; 2] = [ROOT_ACCOUNT, "normal"];

/// What `sacctmgr` changed of QOS and accounts: those that are new or gone, and of QOS the longest time.
fn qos_changed(file: &ClusterFile, now: &ClusterFile, found: &mut Vec<Difference>) {
    existence("QOS", &file.qos, &now.qos, found);
    for own in &file.qos {
        let both = now
            .qos(&own.name)
            .and_then(|theirs| told(&own.max_wall, &theirs.max_wall, "UNLIMITED"));
        found.extend(both.map(|(file, reported)| Difference {
            what: format!("QOS {}: MaxWall", own.name),
            file,
            reported,
        }));
    }
    // A file without any says nothing of them.
    if !file.accounts.is_empty() {
        existence("account", &file.accounts, &now.accounts, found);
    }
}

fn existence<T>(what: &str, own: &[Named<T>], theirs: &[Named<T>], found: &mut Vec<Difference>) {
    let say = |is_there: bool| if is_there { "there" } else { "not there" };
    for (one, other, is_own) in [(own, theirs, true), (theirs, own, false)] {
        let lacks = |it: &&Named<T>| !other.iter().any(|other| other.name == it.name);
        let odd = one.iter().filter(lacks);
        let odd = odd.filter(|it| !OWN.contains(&it.name.as_str()));
        found.extend(odd.map(|it| Difference {
            what: format!("{what} {}", it.name),
            file: say(is_own).to_owned(),
            reported: say(!is_own).to_owned(),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn file(text: &str) -> ClusterFile {
        ClusterFile::parse("test", text).unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    const FILE: &str = r#"
        [nodes.gpu]
        names = "node[1-4]"
        cpus = 40
        memory = "188G"
        features = ["ib"]
        gpu = { type = "v100", count = 4 }
        [partition.gpu]
        nodes = "node[1-4]"
        max_time = "12:00:00"
        [partition.old]
        nodes = "node1"
    "#;

    #[test]
    fn what_was_changed_of_an_engine_since() {
        let check = |now: &str, want: Expect| {
            let found = changed(&file(FILE), &file(now));
            let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
            want.assert_eq(&lines.join("\n"));
        };
        check(FILE, expect![""]);
        let nodes = FILE.split("[partition").next().unwrap_or_default();
        check(
            &format!(
                "{nodes}[partition.gpu]\nnodes = \"node[1-3]\"\nstate = \"down\"\nallow_qos = [\"a\", \"b\"]\n\
                 [partition.old]\nnodes = \"node1\"\nmax_time = \"30:00\"\n\
                 [qos.long]\nmax_wall = \"9:00:00\"\n"
            ),
            expect![[r#"
                partition gpu: nodes: node[1-4] in the file, node[1-3] reported
                partition gpu: MaxTime: 12:00:00 in the file, UNLIMITED reported
                partition gpu: State: UP in the file, DOWN reported
                partition gpu: AllowQos: ALL in the file, a,b reported
                partition old: MaxTime: UNLIMITED in the file, 00:30:00 reported
                QOS long: not there in the file, there reported"#]],
        );
        check(&format!("{FILE}[account.chem]\n"), expect![""]);
        let with_qos = |wall: &str| file(&format!("{FILE}[qos.long]\n{wall}[qos.test]\n"));
        let found = changed(
            &with_qos("max_wall = \"9:00:00\"\n"),
            &with_qos("max_submit_per_user = 3\n"),
        );
        let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        expect!["QOS long: MaxWall: 09:00:00 in the file, UNLIMITED reported"]
            .assert_eq(&lines.join("\n"));
    }
}
