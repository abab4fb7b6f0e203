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
