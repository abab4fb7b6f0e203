//! `scontrol show assoc_mgr`: users, associations and QOS with what jobs use of their limits.

use crate::records::{AccountAssociation, Accounting, Qos, Settings, ShareRow};
use crate::values::NodeName;
use std::collections::{BTreeMap, BTreeSet};

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

/// A job as limits count it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CountedJob {
    /// Whose.
    pub user: String,
    /// Its account.
    pub account: String,
    /// Its QOS.
    pub qos: String,
    /// It waits or runs.
    pub is_live: bool,
    /// It runs.
    pub is_running: bool,
    /// How many jobs it is: the elements of an array that wait together.
    pub elements: u64,
    /// What it has, in the order of [`AssocMgrFacts::tres`].
    pub tres: Vec<u64>,
    /// Where it runs: a node of several jobs is counted once.
    pub nodes: Vec<NodeName>,
    /// How long it may still run.
    pub minutes_left: u64,
    /// How long it ran, less what was forgotten of that.
    pub seconds: f64,
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
        let lefts = lefts(&facts.accounting);
        let tree = facts.accounting.tree().into_iter();
        let wanted = tree.filter(|(_, it)| {
            let is_of = it.user.as_ref().is_none_or(|user| is_in(&self.users, user));
            is_of && is_in(&self.accounts, &it.account)
        });
        let row = |(_, it): (usize, &AccountAssociation)| {
            block(
                &association_lines(facts, it, lefts.get(&it.id).copied()),
                one_line,
            )
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

/// Where each association begins in the tree: accounts that came last stand first.
fn lefts(accounting: &Accounting) -> BTreeMap<u32, u32> {
    let mut lefts = BTreeMap::new();
    let mut next = 1;
    let tops = accounting.associations.iter();
    for top in tops.filter(|it| it.user.is_none() && it.parent.is_none()) {
        number(accounting, top, &mut next, &mut lefts);
    }
    lefts
}

fn number(
    accounting: &Accounting,
    it: &AccountAssociation,
    next: &mut u32,
    lefts: &mut BTreeMap<u32, u32>,
) {
    if lefts.insert(it.id, *next).is_some() {
        return;
    }
    *next += 1;
    if it.user.is_none() {
        let is_below = |other: &&AccountAssociation| match &other.user {
            Some(_) => other.account == it.account,
            None => other.parent.as_ref() == Some(&it.account),
        };
        let mut below: Vec<_> = accounting.associations.iter().filter(is_below).collect();
        below.sort_by_key(|other| std::cmp::Reverse(other.id));
        below
            .into_iter()
            .for_each(|other| number(accounting, other, next, lefts));
    }
    *next += 1;
}

/// What some jobs use.
#[derive(Clone, Debug, Default)]
struct Used {
    running: u64,
    submitted: u64,
    seconds: f64,
    tres: Vec<u64>,
    seconds_of_tres: Vec<f64>,
    run_minutes: Vec<u64>,
}

impl Used {
    fn of<'a>(names: &[String], jobs: impl Iterator<Item = &'a CountedJob>) -> Used {
        let mut used = Used {
            tres: vec![0; names.len()],
            seconds_of_tres: vec![0.0; names.len()],
            run_minutes: vec![0; names.len()],
            ..Used::default()
        };
        let mut nodes = BTreeSet::new();
        for job in jobs {
            if job.is_running {
                nodes.extend(&job.nodes);
            }
            used.submitted += if job.is_live { job.elements } else { 0 };
            used.running += u64::from(job.is_running);
            used.seconds += job.seconds;
            for (at, amount) in job.tres.iter().enumerate().take(names.len()) {
                used.seconds_of_tres[at] += *amount as f64 * job.seconds;
                if job.is_running {
                    used.tres[at] += amount;
                    used.run_minutes[at] += amount * job.minutes_left;
                }
            }
        }
        if let Some(at) = names.iter().position(|name| name == "node") {
            used.tres[at] = nodes.len() as u64;
        }
        used
    }

    fn minutes(&self) -> Vec<u64> {
        let of = |seconds: &f64| (seconds / 60.0) as u64;
        self.seconds_of_tres.iter().map(of).collect()
    }
}

/// `10(3)`, or `N(3)` where there is no limit.
fn limit(settings: &Settings, key: &str, used: impl std::fmt::Display) -> String {
    let own = settings.get(key).map_or("N", String::as_str);
    format!("{own}({used})")
}

/// `cpu=10(3),mem=N(100)`
fn tres(names: &[String], limits: Option<&String>, used: &[u64]) -> String {
    let limit_of = |name: &str| {
        let mut parts = limits?.split(',').filter_map(|part| part.split_once('='));
        parts.find(|(key, _)| *key == name).map(|(_, limit)| limit)
    };
    let parts = names.iter().zip(used).map(|(name, used)| {
        let limit = limit_of(name).unwrap_or("N");
        format!("{name}={limit}({used})")
    });
    parts.collect::<Vec<_>>().join(",")
}

fn wall(settings: &Settings, used: &Used) -> String {
    let minutes = settings
        .get("grpwall")
        .and_then(|text| text.parse::<u64>().ok());
    let minutes = minutes.map_or_else(|| "N".to_owned(), |seconds| (seconds / 60).to_string());
    format!("{minutes}({:.2})", used.seconds / 60.0)
}

fn group_lines(names: &[String], settings: &Settings, used: &Used) -> [String; 3] {
    let of = |key: &str, used: &[u64]| tres(names, settings.get(key), used);
    [
        format!("GrpTRES={}", of("grptres", &used.tres)),
        format!("GrpTRESMins={}", of("grptresmins", &used.minutes())),
        format!("GrpTRESRunMins={}", of("grptresrunmins", &used.run_minutes)),
    ]
}

fn minutes_of(text: Option<&str>) -> String {
    let seconds = text.and_then(|text| text.parse::<u64>().ok());
    seconds.map_or_else(String::new, |seconds| (seconds / 60).to_string())
}

fn association_lines(
    facts: &AssocMgrFacts,
    it: &AccountAssociation,
    left: Option<u32>,
) -> Vec<String> {
    let accounting = &facts.accounting;
    let counts = |job: &&CountedJob| match &it.user {
        Some(user) => job.account == it.account && job.user == *user,
        None => accounting.is_under(&job.account, &it.account),
    };
    let used = Used::of(&facts.tres, facts.jobs.iter().filter(counts));
    let share = facts
        .shares
        .iter()
        .find(|row| row.account == it.account && row.user == it.user);
    let shares = it.settings.get("fairshare").map_or("1", String::as_str);
    let norm = share.map_or(0.0, |row| row.norm_shares);
    let norm = if it.user.is_none() && it.parent.is_none() {
        0.0
    } else {
        norm
    };
    let level = match shares.parse::<f64>() {
        Ok(shares) if norm > 0.0 => (shares / norm).round(),
        _ => 1.0,
    };
    let parent = it
        .parent
        .as_deref()
        .and_then(|name| accounting.account_association(name));
    let parent = parent.map_or_else(String::new, |it| format!("{}({})", it.account, it.id));
    let user = it
        .user
        .as_deref()
        .map_or_else(String::new, |name| facts.named(name));
    let default = |name: &String| {
        let mut users = accounting.users.iter();
        users.any(|user| user.name == *name && user.default_account == it.account)
    };
    let setting = |key: &str| accounting.setting(it, key);
    let most = |key: &str, used: u64| {
        setting(key).map_or_else(String::new, |limit| format!("{limit}({used})"))
    };
    let [group, minutes, run_minutes] = group_lines(&facts.tres, &it.settings, &used);
    vec![
        format!(
            "ClusterName={} Account={} UserName={user} Partition={} Priority={} ID={}",
            accounting.cluster,
            it.account,
            it.partition.as_deref().unwrap_or_default(),
            setting("priority").unwrap_or("0"),
            it.id
        ),
        format!(
            "SharesRaw/Norm/Level/Factor={shares}/{norm:.2}/{level}/{:.2}",
            share.and_then(|row| row.fair_share).unwrap_or(0.0)
        ),
        format!(
            "UsageRaw/Norm/Efctv={:.2}/{:.2}/{:.2}",
            share.map_or(0.0, |row| row.usage),
            share.map_or(0.0, |row| row.norm_usage),
            share.map_or(0.0, |row| row.effective_usage)
        ),
        format!(
            "ParentAccount={parent} Lft={} DefAssoc={}",
            left.unwrap_or(0),
            if it.user.as_ref().is_some_and(default) {
                "Yes"
            } else {
                "No"
            }
        ),
        format!(
            "GrpJobs={} GrpJobsAccrue=N(0)",
            limit(&it.settings, "grpjobs", used.running)
        ),
        format!(
            "GrpSubmitJobs={} GrpWall={}",
            limit(&it.settings, "grpsubmitjobs", used.submitted),
            wall(&it.settings, &used)
        ),
        group,
        minutes,
        run_minutes,
        format!(
            "MaxJobs={} MaxJobsAccrue= MaxSubmitJobs={} MaxWallPJ={}",
            most("maxjobs", used.running),
            most("maxsubmitjobs", used.submitted),
            minutes_of(setting("maxwall"))
        ),
        format!("MaxTRESPJ={}", setting("maxtres").unwrap_or_default()),
        format!(
            "MaxTRESPN={}",
            setting("maxtrespernode").unwrap_or_default()
        ),
        format!(
            "MaxTRESMinsPJ={}",
            setting("maxtresmins").unwrap_or_default()
        ),
        "MinPrioThresh=".to_owned(),
    ]
}

fn qos_text(facts: &AssocMgrFacts, qos: &Qos, one_line: bool) -> String {
    let jobs = || facts.jobs.iter().filter(|job| job.qos == qos.name);
    let used = Used::of(&facts.tres, jobs());
    let factor = qos
        .settings
        .get("usagefactor")
        .and_then(|text| text.parse::<f64>().ok());
    let billed = facts.tres.iter().position(|name| name == "billing");
    let raw = billed
        .and_then(|at| used.seconds_of_tres.get(at))
        .unwrap_or(&0.0);
    let [group, minutes, run_minutes] = group_lines(&facts.tres, &qos.settings, &used);
    let own = |key: &str| qos.settings.get(key).map_or("", String::as_str);
    let mode = match own("preemptmode") {
        "" | "cluster" => "OFF".to_owned(),
        mode => mode.to_ascii_uppercase(),
    };
    let mut lines = vec![
        format!("QOS={}({})", qos.name, qos.id),
        format!("UsageRaw={:.6}", raw * factor.unwrap_or(1.0)),
        format!(
            "GrpJobs={} GrpJobsAccrue=N(0) GrpSubmitJobs={} GrpWall={}",
            limit(&qos.settings, "grpjobs", used.running),
            limit(&qos.settings, "grpsubmitjobs", used.submitted),
            wall(&qos.settings, &used)
        ),
        group,
        minutes,
        run_minutes,
        format!(
            "MaxWallPJ={}",
            minutes_of(qos.settings.get("maxwall").map(String::as_str))
        ),
        format!("MaxTRESPJ={}", own("maxtres")),
        format!("MaxTRESPN={}", own("maxtrespernode")),
        format!("MaxTRESMinsPJ={}", own("maxtresmins")),
        "MinPrioThresh= ".to_owned(),
        format!("MinTRESPJ={}", own("mintres")),
        format!("PreemptMode={mode}"),
        format!(
            "Priority={}",
            qos.settings.get("priority").map_or("0", String::as_str)
        ),
    ];
    let accounts: BTreeSet<&String> = jobs().map(|job| &job.account).collect();
    let users: BTreeSet<&String> = jobs().map(|job| &job.user).collect();
    let of_accounts = accounts.into_iter().map(|name| {
        let used = Used::of(&facts.tres, jobs().filter(|job| job.account == *name));
        let rows = limits_each(facts, qos, &used, ("PA", "account"));
        (name.clone(), rows)
    });
    let of_users = users.into_iter().map(|name| {
        let used = Used::of(&facts.tres, jobs().filter(|job| job.user == *name));
        let rows = limits_each(facts, qos, &used, ("PU", "user"));
        let uid = facts
            .uids
            .get(name)
            .map_or_else(|| name.clone(), u32::to_string);
        (uid, rows)
    });
    for (title, each) in [
        ("Account", of_accounts.collect::<Vec<_>>()),
        ("User", of_users.collect()),
    ] {
        lines.push(each_text(title, &each, one_line));
    }
    block(&lines, one_line)
}

/// What each account or user has of a QOS.
fn limits_each(
    facts: &AssocMgrFacts,
    qos: &Qos,
    used: &Used,
    (short, long): (&str, &str),
) -> [String; 2] {
    let key = |name: &str| format!("{name}per{long}");
    let of = |name: &str, used: u64| limit(&qos.settings, &key(name), used);
    [
        format!(
            "MaxJobs{short}={} MaxJobsAccrue{short}=N(0) MaxSubmitJobs{short}={}",
            of("maxjobs", used.running),
            of("maxsubmitjobs", used.submitted)
        ),
        format!(
            "MaxTRES{short}={}",
            tres(&facts.tres, qos.settings.get(&key("maxtres")), &used.tres)
        ),
    ]
}

fn each_text(title: &str, each: &[(String, [String; 2])], one_line: bool) -> String {
    match (each, one_line) {
        ([], true) => format!("{title} Limits=No {title}s"),
        ([], false) => format!("{title} Limits\n        No {title}s"),
        (each, true) => {
            let rows = each
                .iter()
                .map(|(name, [jobs, tres])| format!("{name}={{{jobs} {tres}}}"));
            format!("{title} Limits= {}", rows.collect::<Vec<_>>().join(" "))
        }
        (each, false) => {
            let rows = each.iter().map(|(name, [jobs, tres])| {
                format!("\n      {name}\n        {jobs}\n        {tres}")
            });
            format!("{title} Limits{}", rows.collect::<String>())
        }
    }
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
        let facts = AssocMgrFacts {
            accounting,
            tres: vec!["cpu".to_owned(), "billing".to_owned()],
            jobs: vec![CountedJob {
                user: "root".to_owned(),
                account: "root".to_owned(),
                qos: "normal".to_owned(),
                is_live: true,
                is_running: true,
                elements: 1,
                tres: vec![2, 2],
                nodes: vec![NodeName::new("node1")],
                minutes_left: 5,
                seconds: 60.0,
            }],
            uids: BTreeMap::from([("root".to_owned(), 0)]),
            ..AssocMgrFacts::default()
        };
        let asked = parse("flags=assoc").expect("it can be read");
        let text = asked.print(&facts, false);
        for line in [
            "    GrpTRES=cpu=10(2),billing=N(2)\n",
            "    GrpTRESRunMins=cpu=N(10),billing=N(10)\n",
            "    MaxJobs=3(1) MaxJobsAccrue= MaxSubmitJobs= MaxWallPJ=\n",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        let asked = parse("flags=qos").expect("it can be read");
        let text = asked.print(&facts, true);
        assert!(text.contains("UsageRaw=120.000000 GrpJobs=N(1)"), "{text}");
        let users = "User Limits= 0={MaxJobsPU=N(1) MaxJobsAccruePU=N(0) MaxSubmitJobsPU=N(1) MaxTRESPU=cpu=N(2),billing=N(2)}\n";
        assert!(text.ends_with(users), "{text}");
    }
}
