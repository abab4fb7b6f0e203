//! `scontrol show assoc_mgr`: users, associations and QOS with what jobs use of their limits.

mod association;
mod counted_job;
mod qos;
mod used;

use crate::records::{AccountAssociation, Accounting, Qos, ShareRow};
use association::{Associations, association_lines};
pub use counted_job::CountedJob;
use qos::qos_text;
use std::collections::BTreeMap;

/// What a `show assoc_mgr` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssocMgrRequest {
    users: Option<Vec<String>>,
    accounts: Option<Vec<String>>,
    qos: Option<Vec<String>>,
    /// Users, associations, QOS.
    parts: [bool; 3],
}

/// What is wrong with it, and the exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssocMgrRefusal {
    /// In Slurm's words.
    pub words: String,
    /// Exit status.
    pub status: u8,
}

/// What there is.
#[derive(Clone, Debug, Default)]
pub struct AssocMgrFacts {
    /// Accounts, users, QOS.
    pub accounting: Accounting,
    /// How they stand.
    pub shares: Vec<ShareRow>,
    /// What is counted: `cpu`, `mem`, …
    pub tres: Vec<String>,
    /// Jobs that are counted, or were since the engine came up.
    pub jobs: Vec<CountedJob>,
    /// Numbers of users.
    pub uids: BTreeMap<String, u32>,
}

impl AssocMgrFacts {
    /// How many times a second of a QOS's job counts of what is used.
    fn usage_factor(&self, qos: &str) -> f64 {
        let qos = self.accounting.qos.iter().find(|known| known.name == qos);
        let factor = qos.and_then(|qos| qos.settings.get("usagefactor"));
        factor.and_then(|text| text.parse().ok()).unwrap_or(1.0)
    }
}

impl AssocMgrRequest {
    /// Reads the words after `assoc_mgr`.
    ///
    /// # Errors
    /// A word that says nothing, an unknown one, an unknown flag.
    pub fn parse(words: &[String]) -> Result<AssocMgrRequest, AssocMgrRefusal> {
        let mut asked = AssocMgrRequest {
            users: None,
            accounts: None,
            qos: None,
            parts: [true; 3],
        };
        for word in words {
            let Some((key, value)) = word.split_once('=') else {
                return Err(AssocMgrRefusal {
                    words: format!("No value given for option {word}"),
                    status: 0,
                });
            };
            let list = || value.split(',').map(str::to_owned).collect::<Vec<String>>();
            let key = key.to_ascii_lowercase();
            let is = |name: &str| !key.is_empty() && name.starts_with(&key);
            if is("accounts") {
                asked.accounts = Some(list());
            } else if is("flags") {
                asked.parts = parts(&list())?;
            } else if is("qos") {
                asked.qos = Some(list());
            } else if is("users") {
                asked.users = Some(list());
            } else {
                return Err(AssocMgrRefusal {
                    words: format!("invalid entity: {word} for keyword:show assoc_mgr"),
                    status: 1,
                });
            }
        }
        Ok(asked)
    }

    /// Whether QOS are shown, for which ended jobs count too.
    #[must_use]
    pub fn shows_use(&self) -> bool {
        self.parts[1] || self.parts[2]
    }

    /// All that is printed.
    #[must_use]
    pub fn print(&self, facts: &AssocMgrFacts, one_line: bool) -> String {
        let mut text = "Current Association Manager state\n".to_owned();
        let blank = if one_line { "" } else { "\n" };
        let mut section = |title: &str, none: &str, rows: Vec<String>| {
            if rows.is_empty() {
                text.push_str(&format!(
                    "{blank}No {none} currently cached in Slurm.\n{blank}"
                ));
                return;
            }
            text.push_str(&format!("{blank}{title} Records\n{blank}"));
            rows.iter().for_each(|row| text.push_str(row));
        };
        if self.parts[0] {
            section("User", "users", self.users(facts));
        }
        if self.parts[1] {
            section(
                "Association",
                "associations",
                self.associations(facts, one_line),
            );
        }
        if self.parts[2] {
            section("QOS", "QOS", self.qos(facts, one_line));
        }
        text
    }

    fn users(&self, facts: &AssocMgrFacts) -> Vec<String> {
        let users = facts.accounting.users.iter().enumerate();
        let wanted = users.filter(|(_, user)| is_in(&self.users, &user.name));
        let row = |(at, user): (usize, &crate::records::AccountUser)| {
            let key = match (at, user.default_wckey.as_str()) {
                // One who was there before any other has an empty one.
                (0, key) => key,
                (_, "") => "(null)",
                (_, key) => key,
            };
            format!(
                "UserName={} DefAccount={} DefWckey={key} AdminLevel={}\n",
                facts.named(&user.name),
                or_null(&user.default_account),
                user.admin
            )
        };
        wanted.map(row).collect()
    }

    fn associations(&self, facts: &AssocMgrFacts, one_line: bool) -> Vec<String> {
        let places = facts.accounting.places();
        let all = Associations::of(facts);
        let tree = facts.accounting.tree().into_iter();
        let wanted = tree.filter(|(_, it)| {
            let is_of = it.user.as_ref().is_none_or(|user| is_in(&self.users, user));
            is_of && is_in(&self.accounts, &it.account)
        });
        let row = |(_, it): (usize, &AccountAssociation)| {
            let left = places.get(&it.id).map(|place| place.left);
            block(&association_lines(&all, it, left), one_line)
        };
        wanted.map(row).collect()
    }

    fn qos(&self, facts: &AssocMgrFacts, one_line: bool) -> Vec<String> {
        let all = &facts.accounting.qos;
        // Named ones stand as they are named.
        let wanted: Vec<&Qos> = match &self.qos {
            None => all.iter().collect(),
            Some(names) => {
                let named = |name: &String| all.iter().find(|qos| qos.name == *name);
                names.iter().filter_map(named).collect()
            }
        };
        let text = |qos: &Qos| qos_text(facts, qos, one_line);
        wanted.into_iter().map(text).collect()
    }
}

fn parts(flags: &[String]) -> Result<[bool; 3], AssocMgrRefusal> {
    let mut parts = [false; 3];
    for flag in flags {
        let lower = flag.to_ascii_lowercase();
        let names = ["users", "associations", "qos"];
        let at = names
            .iter()
            .position(|name| !lower.is_empty() && name.starts_with(&lower));
        let at = at.ok_or_else(|| AssocMgrRefusal {
            words: format!("invalid flag '{flag}', valid options are 'Assoc, QOS, and/or Users'"),
            status: 0,
        })?;
        parts[at] = true;
    }
    Ok(parts)
}

fn is_in(wanted: &Option<Vec<String>>, name: &str) -> bool {
    wanted
        .as_ref()
        .is_none_or(|wanted| wanted.iter().any(|it| it == name))
}

fn or_null(text: &str) -> &str {
    if text.is_empty() { "(null)" } else { text }
}

fn block(lines: &[String], one_line: bool) -> String {
    let between = if one_line { " " } else { "\n    " };
    format!("{}\n", lines.join(between))
}

impl AssocMgrFacts {
    /// `root(0)`
    fn named(&self, user: &str) -> String {
        match self.uids.get(user) {
            Some(uid) => format!("{user}({uid})"),
            None => format!("{user}(4294967294)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::NodeName;

    fn parse(line: &str) -> Result<AssocMgrRequest, AssocMgrRefusal> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        AssocMgrRequest::parse(&words)
    }

    #[test]
    fn what_can_not_be_read_is_said_as_slurm_says_it() {
        let check = |line: &str, words: &str, status: u8| {
            let words = words.to_owned();
            assert_eq!(
                parse(line),
                Err(AssocMgrRefusal { words, status }),
                "{line}"
            );
        };
        check("nosuch", "No value given for option nosuch", 0);
        let words = "invalid entity: nosuch=1 for keyword:show assoc_mgr";
        check("nosuch=1", words, 1);
        let words = "invalid flag 'tres', valid options are 'Assoc, QOS, and/or Users'";
        check("flags=tres", words, 0);
        assert!(parse("flags=assoc,users qos=a accounts=b").is_ok());
    }

    #[test]
    fn what_jobs_use_stands_beside_the_limits() {
        let mut accounting = Accounting::new("lab", "root");
        let settings = &mut accounting.associations[1].settings;
        settings.insert("grptres".to_owned(), "cpu=10".to_owned());
        settings.insert("maxjobs".to_owned(), "3".to_owned());
        let factor = ("usagefactor".to_owned(), "2.000000".to_owned());
        accounting.qos[0].settings.extend([factor]);
        let facts = AssocMgrFacts {
            accounting,
            tres: vec!["cpu".to_owned(), "billing".to_owned()],
            jobs: vec![CountedJob {
                user: "root".to_owned(),
                account: "root".to_owned(),
                partition: "main".to_owned(),
                qos: "normal".to_owned(),
                is_live: true,
                is_running: true,
                elements: 1,
                tres: vec![2, 2],
                nodes: vec![NodeName::new("node1")],
                seconds_left: 329,
                seconds: 60.0,
            }],
            uids: BTreeMap::from([("root".to_owned(), 0)]),
            ..AssocMgrFacts::default()
        };
        let asked = parse("flags=assoc").expect("it can be read");
        let text = asked.print(&facts, false);
        for line in [
            "    GrpTRES=cpu=10(2),billing=N(2)\n",
            "    GrpTRESMins=cpu=N(4),billing=N(4)\n",
            "    GrpTRESRunMins=cpu=N(21),billing=N(21)\n",
            "    MaxJobs=3(1) MaxJobsAccrue= MaxSubmitJobs= MaxWallPJ=\n",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        let asked = parse("flags=qos").expect("it can be read");
        let text = asked.print(&facts, true);
        assert!(text.contains("UsageRaw=240.000000 GrpJobs=N(1)"), "{text}");
        let users = "User Limits= 0={MaxJobsPU=N(1) MaxJobsAccruePU=N(0) MaxSubmitJobsPU=N(1) MaxTRESPU=cpu=N(2),billing=N(2)}\n";
        assert!(text.ends_with(users), "{text}");
    }
}
