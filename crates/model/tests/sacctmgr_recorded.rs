//! `sacctmgr` answers as a real Slurm did, on the accounts of the cluster on which it was recorded.

mod recorded;

use recorded::part;
use yard_model::{
    Account, AccountAssociation, AccountUser, Accounting, Qos, SacctmgrArgs, SacctmgrFacts,
    Settings,
};

/// What is answered otherwise: each with the reason.
const NOT_MET: &[(&str, &str)] = &[
    ("sacctmgr", "the real one asks for commands"),
    ("sacctmgr -V", "our own version"),
    ("sacctmgr show cluster", "ports of the real one"),
    ("sacctmgr list cluster", "ports of the real one"),
    (
        "sacctmgr show cluster format=cluster,controlhost%12,controlport",
        "ports of the real one",
    ),
    ("sacctmgr show user account=proj1", "the real one hangs"),
    ("sacctmgr show user account=nosuch", "the real one hangs"),
    ("sacctmgr show tres", "types of GPUs"),
    ("sacctmgr list tres format=type,name,id", "types of GPUs"),
    ("sacctmgr show event", "the engine keeps events"),
    ("sacctmgr show configuration", "settings of daemons"),
    (
        "sacctmgr -i load /nosuch/file",
        "the file is read by the caller",
    ),
    (
        "sacctmgr -i load file=/tmp/sacctmgr-dump.cfg",
        "the file is read by the caller",
    ),
    (
        "cat /tmp/sacctmgr-dump.cfg",
        "the file is written by the caller",
    ),
    (
        "sacctmgr dump lab file=/tmp/sacctmgr-dump.cfg",
        "the file is written by the caller",
    ),
];

fn lab() -> Accounting {
    let names = |list: &[&str]| list.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
    let own = |list: &[(&str, &str)]| -> Settings {
        list.iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    };
    let account = |name: &str, description: &str, organization: &str| Account {
        name: name.to_owned(),
        description: description.to_owned(),
        organization: organization.to_owned(),
        ..Account::default()
    };
    let qos = |name: &str, settings: &[(&str, &str)]| Qos {
        name: name.to_owned(),
        description: name.to_owned(),
        settings: own(settings),
        ..Qos::default()
    };
    let mut lab = Accounting::new("lab", "root");
    lab.accounts = vec![
        account("root", "default root account", "root"),
        account("proj1", "proj1", "lab"),
        account("proj2", "proj2", "lab"),
    ];
    lab.users[0].default_account = "proj1".to_owned();
    lab.qos = vec![
        qos(
            "normal",
            &[
                ("priority", "100"),
                ("preempt", "opp"),
                ("maxwall", "86400"),
                ("maxjobsperuser", "5000"),
                ("maxsubmitjobsperuser", "20000"),
            ],
        ),
        qos(
            "test",
            &[
                ("priority", "1000"),
                ("preempt", "opp"),
                ("flags", "DenyOnLimit"),
                ("maxwall", "1800"),
                ("maxjobsperuser", "1"),
                ("maxsubmitjobsperuser", "4"),
            ],
        ),
        qos(
            "opp",
            &[
                ("priority", "1"),
                ("preemptmode", "requeue"),
                ("maxwall", "604800"),
                ("maxjobsperuser", "5000"),
                ("maxsubmitjobsperuser", "20000"),
            ],
        ),
        qos(
            "gpu2",
            &[("priority", "50"), ("maxtresperuser", "gres/gpu=2")],
        ),
    ];
    let all = names(&["normal", "test", "opp", "gpu2"]);
    let user = |name: &str, account: &str| AccountAssociation {
        account: account.to_owned(),
        user: Some(name.to_owned()),
        qos: Some(all.clone()),
        settings: own(&[("defaultqos", "normal")]),
        ..AccountAssociation::default()
    };
    lab.associations[0].qos = Some(all.clone());
    lab.associations[1] = user("root", "root");
    for name in ["proj1", "proj2"] {
        lab.associations.push(AccountAssociation {
            account: name.to_owned(),
            parent: Some("root".to_owned()),
            ..AccountAssociation::default()
        });
    }
    for name in ["alice", "bob", "carol", "dave", "root"] {
        lab.associations
            .extend([user(name, "proj1"), user(name, "proj2")]);
        if name != "root" {
            lab.users.push(AccountUser {
                name: name.to_owned(),
                default_account: "proj1".to_owned(),
                admin: "None".to_owned(),
                ..AccountUser::default()
            });
        }
    }
    lab
}

#[test]
fn recorded_answers_are_met() {
    let mut lab = lab();
    let (mut wrong, mut count) = (Vec::new(), 0);
    let parts = [part("sacctmgr: what there is"), part("sacctmgr: changes")];
    for recorded in parts.iter().flatten() {
        let line = recorded.line.as_str();
        if NOT_MET.iter().any(|(known, _)| *known == line) {
            continue;
        }
        let got = match SacctmgrArgs::parse(&recorded.args()) {
            Err(error) => recorded::answer(1, "", &error),
            Ok(asked) => {
                let answer = asked.answer(&mut lab, &SacctmgrFacts::default());
                recorded::answer(answer.status, &answer.stdout, &answer.stderr)
            }
        };
        count += 1;
        if got != recorded.answer {
            let (want, got) = (recorded.answer.join("\n"), got.join("\n"));
            wrong.push(format!("{line}\nreal\n{want}\nours\n{got}"));
        }
    }
    let (text, length) = (wrong.join("\n"), wrong.len());
    assert!(wrong.is_empty(), "{text}\n{length} of {count}");
    assert!(count > 140, "only {count} answers");
}
