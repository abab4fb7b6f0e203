//! Whose accounts and QOS a script is ported for.

use super::{PortInput, port};
use cluster_file::ClusterFile;

/// Accounts and QOS are those of who ports, where the other cluster's file names them.
#[test]
fn a_port_is_for_its_user() {
    let from = ClusterFile::parse("from", "[partition.p]\ndefault = true\n").unwrap();
    let to = ClusterFile::parse(
        "to",
        "[partition.p]\ndefault = true\n\
         [limits]\nenforce = [\"associations\", \"limits\", \"qos\"]\n[qos.short]\nmax_wall = \"30:00\"\n[qos.long]\n\
         [account.own]\n[account.other]\n[account.third]\n\
         [user.ada]\naccounts = [\"own\"]\nqos = [\"short\"]\ndefault_qos = \"short\"\n\
         [user.eve]\naccounts = [\"other\", \"third\"]\nqos = [\"long\"]\n",
    )
    .unwrap();
    let check = |user: &str, options: &str, want: &[&str]| {
        let text = format!("#!/bin/sh\n#SBATCH {options}\ntrue\n");
        let ported = port(&PortInput {
            name: "job.sh",
            text: &text,
            from: &from,
            to: &to,
            user: Some(user),
        });
        let changes = ported.changes.iter();
        let changes = changes.map(|it| format!("{}: {}", it.to, it.why));
        let questions = ported.questions.iter();
        let questions = questions.map(|it| format!("? {}; {}", it.about, it.ask));
        let all: Vec<String> = changes.chain(questions).collect();
        assert_eq!(all, want, "{user} {options}");
    };
    check("ada", "-A own -t 20", &[]);
    check("eve", "-A third -t 60", &[]);
    let only_own = "own: ada has no account other on to; ada has no other than own";
    check("ada", "-A other -t 20", &[only_own]);
    let which = "? account own: eve has other, third there; which is yours there?";
    check("eve", "-A own -t 60", &[which]);
}

/// By its default QOS, which one it has is known though the script's account and partition are the other cluster's.
#[test]
fn the_default_qos_is_that_of_the_account_and_partition_that_are_there() {
    let from = ClusterFile::parse("from", "[partition.p]\n[account.old]\n").unwrap();
    let to = ClusterFile::parse(
        "to",
        "[nodes.n]\nnames = \"n1\"\ncpus = 4\n[partition.q]\nnodes = \"ALL\"\ndefault = true\nmax_time = \"10:00:00\"\n\
         [qos.short]\nmax_wall = \"30:00\"\n[qos.long]\n[account.own]\ndefault_qos = \"long\"\n\
         [user.ada]\naccounts = [\"own\"]\ndefault_account = \"own\"\n\
         [user.ada.account.own]\npartition = \"q\"\ndefault_qos = \"short\"\n",
    )
    .unwrap();
    let text = "#!/bin/sh\n#SBATCH -A old -p p -t 1:00:00\ntrue\n";
    let ported = port(&PortInput {
        name: "job.sh",
        text,
        from: &from,
        to: &to,
        user: Some("ada"),
    });
    let want = "#!/bin/sh\n#SBATCH -A own -p q -t 00:30:00\ntrue\n";
    assert_eq!(ported.text, want);
}

/// An account that is another user's there is changed, and the time is judged by the QOS of the one that stands in its place.
#[test]
fn the_default_qos_is_that_of_the_users_own_account() {
    let from = ClusterFile::parse("from", "[partition.p]\n[account.own]\n").unwrap();
    let to = ClusterFile::parse(
        "to",
        "[nodes.n]\nnames = \"n1\"\ncpus = 4\n[partition.p]\nnodes = \"ALL\"\ndefault = true\nmax_time = \"10:00:00\"\n\
         [qos.short]\nmax_wall = \"30:00\"\n[qos.long]\n\
         [account.own]\ndefault_qos = \"long\"\n[account.other]\ndefault_qos = \"short\"\n\
         [user.eve]\naccounts = [\"other\"]\ndefault_account = \"other\"\n",
    )
    .unwrap();
    let check = |account: &str, want: &str| {
        let ported = port(&PortInput {
            name: "job.sh",
            text: &format!("#!/bin/sh\n#SBATCH -A {account} -p p -t 1:00:00\ntrue\n"),
            from: &from,
            to: &to,
            user: Some("eve"),
        });
        let want = format!("#!/bin/sh\n#SBATCH {want}\ntrue\n");
        assert_eq!(ported.text, want, "{account}");
    };
    check("own", "-A other -p p -t 00:30:00");
    // Names of accounts are one in any case.
    check("OTHER", "-A OTHER -p p -t 00:30:00");
}
