//! `sacctmgr dump` and `load`: the accounting as a file in Slurm's format.

use super::words::{Answer, OF_ASSOCIATIONS, Setting, list_of};
use crate::records::{
    Account, AccountAssociation, AccountChains, AccountUser, Accounting, Settings, Wckey,
};

const HEAD: &str = "\
# To edit this file start with a cluster line for the new cluster
# Cluster - 'cluster_name':MaxTRESPerJob=node=50
# Followed by Accounts you want in this fashion (root is created by default)...
# Parent - 'root'
# Account - 'cs':MaxTRESPerJob=node=5:MaxJobs=4:MaxTRESMinsPerJob=cpu=20:FairShare=399:MaxWallDurationPerJob=40:Description='Computer Science':Organization='LC'
# Any of the options after a ':' can be left out and they can be in any order.
# If you want to add any sub accounts just list the Parent THAT HAS ALREADY
# BEEN CREATED before the account line in this fashion...
# Parent - 'cs'
# Account - 'test':MaxTRESPerJob=node=1:MaxJobs=1:MaxTRESMinsPerJob=cpu=1:FairShare=1:MaxWallDurationPerJob=1:Description='Test Account':Organization='Test'
# To add users to a account add a line like this after a Parent - 'line'
# User - 'lipari':MaxTRESPerJob=node=2:MaxJobs=3:MaxTRESMinsPerJob=cpu=4:FairShare=1:MaxWallDurationPerJob=1
";

/// The file's text on standard output: the caller writes it where it belongs.
pub(super) fn dump(words: &[String], from: &Accounting) -> Result<Answer, Answer> {
    let bare = words.iter().find(|word| !word.contains('='));
    let named = words.iter().find_map(|word| word.strip_prefix("cluster="));
    let Some(cluster) = bare.map(String::as_str).or(named) else {
        return Err(Answer::refused(" We need a cluster to dump.\n".to_owned()));
    };
    if cluster != from.cluster {
        return Err(Answer::refused(format!(
            " Cluster {cluster} doesn't exist.\n"
        )));
    }
    let is_known = |word: &&String| {
        !word.contains('=') || is_cluster(word) || word.to_ascii_lowercase().starts_with("file=")
    };
    if let Some(unknown) = words.iter().find(|word| !is_known(word)) {
        return Err(Answer::refused(format!(" Unknown option: {unknown}\n")));
    }
    let chains = AccountChains::of(from);
    let mut lines: Vec<String> = Vec::new();
    for (_, it) in from.tree() {
        if it.user.is_some() {
            continue;
        }
        if it.parent.is_none() {
            lines.push(format!(
                "Cluster - '{cluster}'{}",
                tail(it, &chains, it.qos.as_deref())
            ));
        }
        let under = under(from, &chains, &it.account);
        if !under.is_empty() {
            lines.push(format!("Parent - '{}'", it.account));
            lines.extend(under);
        }
    }
    let text = lines
        .iter()
        .map(|line| format!("{line}\n"))
        .collect::<String>();
    Ok(Answer {
        stdout: format!("{HEAD}{text}"),
        stderr: lines
            .iter()
            .map(|line| format!("sacctmgr: {line}\n"))
            .collect(),
        ..Answer::default()
    })
}

/// Users of an account, and the accounts right under it.
fn under<'a>(from: &'a Accounting, chains: &AccountChains<'a>, account: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut users: Vec<&AccountAssociation> = from.associations.iter().collect();
    users.retain(|it| it.user.is_some() && it.account == account);
    users.sort_by(|a, b| a.user.cmp(&b.user));
    for it in users {
        lines.push(format!(
            "User - '{}'{}{}",
            it.user.as_deref().unwrap_or_default(),
            user_words(from, it),
            tail(it, chains, it.qos.as_deref())
        ));
    }
    let mut children: Vec<&AccountAssociation> = from.associations.iter().collect();
    children.retain(|it| it.user.is_none() && it.parent.as_deref() == Some(account));
    children.sort_by(|a, b| a.account.cmp(&b.account));
    for it in children {
        let record = from
            .accounts
            .iter()
            .find(|record| record.name == it.account);
        let (description, organization) = record.map_or(("", ""), |record| {
            (&record.description, &record.organization)
        });
        lines.push(format!(
            "Account - '{}':Description='{description}':Organization='{organization}'{}",
            it.account,
            tail(it, chains, it.qos.as_deref())
        ));
    }
    lines
}

/// What a line of a user says of the user.
fn user_words(from: &Accounting, it: &AccountAssociation) -> String {
    let name = it.user.as_deref().unwrap_or_default();
    let partition = it.partition.iter();
    let partition = partition.map(|name| format!(":Partition='{name}'"));
    let mut text: String = partition.collect();
    let Some(user) = from.users.iter().find(|user| user.name == name) else {
        return text;
    };
    let account = match user.default_account.as_str() {
        "" => "(null)",
        account => account,
    };
    text.push_str(&format!(":DefaultAccount='{account}'"));
    let mut list = |key: &str, names: &[&str]| {
        if names.iter().any(|name| !name.is_empty()) {
            text.push_str(&format!(":{key}='{}'", names.join(",")));
        }
    };
    list("DefaultWCKey", &[&user.default_wckey]);
    if user.admin != "None" {
        list("AdminLevel", &[&user.admin]);
    }
    let coordinated = from.accounts.iter();
    let coordinated =
        coordinated.filter(|account| account.coordinators.iter().any(|it| it == name));
    let mut coordinated: Vec<&str> = coordinated.map(|account| account.name.as_str()).collect();
    coordinated.sort_unstable();
    list("Coordinator", &coordinated);
    let keys = from.wckeys.iter().filter(|key| key.user == name);
    let keys: Vec<&str> = keys.map(|key| key.name.as_str()).collect();
    list("WCKeys", &keys);
    text
}

/// Limits of associations by their keys, under the names and in the order in which a file has them
/// (`print_file_add_limits_to_line` of file_functions.c).
const LIMITS: &[(&str, &str)] = &[
    ("grptresmins", "GrpTRESMins"),
    ("grptresrunmins", "GrpTRESRunMins"),
    ("grptres", "GrpTRES"),
    ("grpjobs", "GrpJobs"),
    ("grpjobsaccrue", "GrpJobsAccrue"),
    ("grpsubmitjobs", "GrpSubmitJobs"),
    ("grpwall", "GrpWall"),
    ("maxtresmins", "MaxTRESMinsPerJob"),
    ("maxtres", "MaxTRESPerJob"),
    ("maxtrespernode", "MaxTRESPerNode"),
    ("maxjobs", "MaxJobs"),
    ("maxjobsaccrue", "MaxJobsAccrue"),
    ("maxsubmitjobs", "MaxSubmitJobs"),
    ("maxwall", "MaxWallDurationPerJob"),
    ("priority", "Priority"),
];

/// `:DefaultQOS='a':Fairshare=1:MaxSubmitJobs=3:QOS='a,b'`
fn tail(it: &AccountAssociation, chains: &AccountChains<'_>, qos: Option<&[String]>) -> String {
    // That of an account is its own, a user's is the one that holds.
    let default_qos = match it.user {
        Some(_) => chains.setting(it, "defaultqos"),
        None => it.settings.get("defaultqos").map(String::as_str),
    };
    let default_qos = default_qos.map(|qos| format!(":DefaultQOS='{qos}'"));
    let share = it.settings.get("fairshare").map_or("1", String::as_str);
    let mut text = format!("{}:Fairshare={share}", default_qos.unwrap_or_default());
    for (key, name) in LIMITS {
        match (*key, it.settings.get(*key)) {
            (_, None) => {}
            ("grpwall" | "maxwall", Some(seconds)) => {
                let minutes = seconds.parse::<u64>().unwrap_or(0) / 60;
                text.push_str(&format!(":{name}={minutes}"));
            }
            (_, Some(value)) => text.push_str(&format!(":{name}={value}")),
        }
    }
    if let Some(qos) = qos {
        let mut names = qos.to_vec();
        names.sort();
        text.push_str(&format!(":QOS='{}'", names.join(",")));
    }
    text
}

/// `clean`, which has all go first.
pub(super) fn is_clean(word: &str) -> bool {
    word.eq_ignore_ascii_case("clean")
}

fn is_cluster(word: &str) -> bool {
    word.to_ascii_lowercase().starts_with("cluster=")
}

const CLEAN: &str = "\
sacctmgr: error: what there is does not go before a file is loaded
sacctmgr:   asked   load clean
sacctmgr:   there   accounts and users with jobs that were counted for them
sacctmgr:   do      delete the accounts that are to go, then load the file
";

/// Adds what a file has and the accounting has not; settings of what is there become the file's.
pub(super) fn load(
    words: &[String],
    to: &mut Accounting,
    text: Option<&str>,
) -> Result<Answer, Answer> {
    let is_file = |word: &str| {
        word.get(..5)
            .is_some_and(|key| key.eq_ignore_ascii_case("file="))
    };
    let mut unknown = words.iter();
    let unknown = unknown.find(|word| word.contains('=') && !is_file(word) && !is_cluster(word));
    let unknown = unknown.map(|word| format!(" Unknown option: {word}\n"));
    let has_file = words
        .iter()
        .any(|word| is_file(word) || !word.contains('=') && !is_clean(word));
    if unknown.is_some() || !has_file {
        let missing = " No filename given, specify one with file=''\n";
        return Err(Answer::refused(format!(
            "{}{}",
            unknown.unwrap_or_default(),
            if has_file { "" } else { missing }
        )));
    }
    if words.iter().any(|word| is_clean(word)) {
        return Err(Answer::refused(CLEAN.to_owned()));
    }
    let text = text.unwrap_or_default();
    let before = to.clone();
    let mut parent = "root".to_owned();
    let mut coordinators: Vec<(String, String)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = || Answer::refused(format!(" Misformatted line({}): {line}\n", number + 1));
        let (kind, rest) = line.split_once(" - ").ok_or_else(wrong)?;
        let mut parts = parts(rest).into_iter();
        let name = parts
            .next()
            .map(|part| plain(&part))
            .filter(|name| !name.is_empty());
        let name = name.ok_or_else(wrong)?;
        let mut values = Vec::new();
        for part in parts {
            let (key, value) = part.split_once('=').ok_or_else(wrong)?;
            let (key, mut value) = (key.to_ascii_lowercase(), plain(value));
            if key == "description" || key == "organization" {
                value.make_ascii_lowercase();
            }
            values.push((key, value));
        }
        match kind {
            "Cluster" | "Machine" => {
                if name != to.cluster {
                    return Err(Answer::refused(format!(" Cluster {name} doesn't exist.\n")));
                }
                let root = to
                    .associations
                    .iter_mut()
                    .find(|it| it.user.is_none() && it.parent.is_none());
                if let Some(root) = root {
                    put(root, &values);
                }
            }
            "Parent" => {
                if to.account_association(&name).is_none() {
                    return Err(wrong());
                }
                parent = name;
            }
            "Account" | "Project" => put_account(to, &name, &parent, &values),
            "User" => {
                put_user(to, &name, &parent, &values);
                let own = value_of(&values, "coordinator").map_or("", String::as_str);
                coordinators.extend(
                    list_of(own)
                        .into_iter()
                        .map(|account| (account, name.clone())),
                );
            }
            _ => return Err(wrong()),
        }
    }
    // Last: an account that a user coordinates may stand below.
    for (account, user) in coordinators {
        let mut accounts = to.accounts.iter_mut();
        if let Some(own) = accounts.find(|it| it.name == account)
            && !own.coordinators.contains(&user)
        {
            own.coordinators.push(user);
        }
    }
    let mut answer = Answer::changed(format!("For cluster {}\n", to.cluster));
    answer.changes = before != *to;
    answer.stderr = "sacctmgr: Done adding cluster in usec=1\n".to_owned();
    Ok(answer)
}

/// `'a':B='x:y':C=2` at its colons outside of quotation marks.
fn parts(text: &str) -> Vec<String> {
    let mut quoted = false;
    let parts = text.split(|letter| {
        quoted ^= letter == '\'';
        letter == ':' && !quoted
    });
    parts.map(str::to_owned).collect()
}

fn plain(text: &str) -> String {
    text.trim().trim_matches(['\'', '"']).to_owned()
}

/// The value of a key of a line.
fn value_of<'a>(values: &'a [(String, String)], key: &str) -> Option<&'a String> {
    let mut known = values.iter().filter(|(known, _)| known == key);
    known.next().map(|(_, value)| value)
}

fn put_account(to: &mut Accounting, name: &str, parent: &str, values: &[(String, String)]) {
    let of = |key: &str| value_of(values, key);
    match to.accounts.iter_mut().find(|account| account.name == name) {
        Some(account) => {
            account.description = of("description").unwrap_or(&account.description).clone();
            account.organization = of("organization").unwrap_or(&account.organization).clone();
        }
        None => {
            let own = name.to_owned();
            // As in Slurm: that of the account over it.
            let above = if parent == "root" { &own } else { parent };
            to.accounts.push(Account {
                description: of("description").unwrap_or(&own).clone(),
                organization: of("organization").map_or(above, String::as_str).to_owned(),
                coordinators: Vec::new(),
                name: own,
            });
            to.associations.push(AccountAssociation {
                account: name.to_owned(),
                parent: Some(parent.to_owned()),
                ..AccountAssociation::default()
            });
        }
    }
    let is_it = |it: &&mut AccountAssociation| it.user.is_none() && it.account == name;
    if let Some(own) = to.associations.iter_mut().find(is_it) {
        put(own, values);
    }
}

fn put_user(to: &mut Accounting, name: &str, account: &str, values: &[(String, String)]) {
    let of = |key: &str| value_of(values, key);
    let default_account = of("defaultaccount").filter(|account| *account != "(null)");
    if !to.users.iter().any(|user| user.name == name) {
        to.users.push(AccountUser {
            name: name.to_owned(),
            default_account: account.to_owned(),
            admin: of("adminlevel").map_or("None", String::as_str).to_owned(),
            ..AccountUser::default()
        });
    }
    if let Some(user) = to.users.iter_mut().find(|user| user.name == name) {
        let changes = [
            (&mut user.default_account, default_account),
            (&mut user.default_wckey, of("defaultwckey")),
        ];
        for (now, new) in changes {
            if let Some(new) = new {
                now.clone_from(new);
            }
        }
    }
    for key in list_of(of("wckeys").map_or("", String::as_str)) {
        let is_it = |it: &Wckey| it.name == key && it.user == name;
        if !to.wckeys.iter().any(is_it) {
            let user = name.to_owned();
            to.wckeys.push(Wckey { name: key, user });
        }
    }
    let partition = of("partition").cloned();
    let is_it = |it: &AccountAssociation| {
        it.user.as_deref() == Some(name) && it.account == account && it.partition == partition
    };
    if !to.associations.iter().any(is_it) {
        to.associations.push(AccountAssociation {
            account: account.to_owned(),
            user: Some(name.to_owned()),
            partition: partition.clone(),
            ..AccountAssociation::default()
        });
    }
    if let Some(own) = to.associations.iter_mut().find(|it| is_it(it)) {
        put(own, values);
    }
}

/// Puts a line's values into an association; what is none of its settings belongs to others.
fn put(into: &mut AccountAssociation, values: &[(String, String)]) {
    let mut settings: Settings = into.settings.clone();
    for (key, value) in values {
        if key == "qos" {
            into.qos = Some(list_of(value));
        } else if let Some(setting) = Setting::named(OF_ASSOCIATIONS, key) {
            // A value that can't be read leaves what was there.
            let _ = setting.put(key, value, &mut settings);
        }
    }
    // One is what a share is where nothing is said.
    if settings.get("fairshare").is_some_and(|share| share == "1") {
        settings.remove("fairshare");
    }
    into.settings = settings;
}
