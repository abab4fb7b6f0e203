//! What `sacctmgr dump` writes: accounts, users, their limits.
//!
//! A line is `Account - 'name':Key='value':Key=value` below `Parent - 'name'`.

use super::conf_line::{AN_OPTION, key_alone};
use super::global::list;
use super::{ConfText, ImportNote, Importer};
use crate::{Account, Association, Extent, Named, Qos, Source, Sourced, Tres, User};
use model::{Seconds, TimeLimitRequest};
use std::collections::HashSet;

/// A line taken apart.
struct DumpLine<'a> {
    file: &'a str,
    number: usize,
    kind: &'a str,
    name: String,
    options: Vec<(String, String)>,
    /// Whether some of it is no `Key=value`.
    odd: bool,
}

impl Importer {
    pub(super) fn dump(&mut self, dump: ConfText<'_>) {
        dump.name.clone_into(&mut self.dump_name);
        let mut parent = "root".to_owned();
        let mut qos_at: Vec<(String, usize)> = Vec::new();
        let mut qos_seen: HashSet<String> = HashSet::new();
        for (index, line) in dump.text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some(line) = dump_line(dump.name, index + 1, line) else {
                self.dump_refused(index + 1, "this line", "it can't be read");
                continue;
            };
            if line.odd {
                self.dump_refused(index + 1, "this line", super::NO_OPTION);
            }
            let lists = line.options.iter().filter(|(key, _)| {
                ["qos", "qoslevel", "defaultqos"].contains(&&*key.to_ascii_lowercase())
            });
            for name in lists.flat_map(|(_, value)| names(value)) {
                if qos_seen.insert(name.clone()) {
                    qos_at.push((name, line.number));
                }
            }
            match line.kind.to_ascii_lowercase().as_str() {
                "cluster" => {
                    if self.file.cluster_name.is_none() {
                        self.file.cluster_name = at(&line, line.name.clone());
                    }
                    self.account_line(&line, "root", None);
                }
                "parent" => parent = line.name.clone(),
                "account" => self.account_line(&line, &line.name.clone(), Some(&parent)),
                "user" => self.user_line(&line, &parent),
                kind => {
                    let option = match key_alone(kind) {
                        AN_OPTION => "this line",
                        kind => kind,
                    };
                    self.dump_note(line.number, option, "a cluster file has no table for it");
                }
            }
        }
        self.members_hang_together();
        let unknown: Vec<(String, usize)> = qos_at
            .into_iter()
            .filter(|(name, _)| self.file.qos(name).is_none())
            .collect();
        if let Some((_, number)) = unknown.first() {
            let why = format!("{}:{number} names those that associations have", dump.name);
            let some = Sourced::new(Extent::Some, Source::Quote(why));
            self.file.lists.qos = Some(some);
            self.dump_note(
                *number,
                "QOS",
                "a dump names QOS without their limits: fill the [qos.…] tables with what sacctmgr -P show qos says",
            );
        }
        for (name, _) in unknown {
            self.file.qos.push(Named {
                name,
                span: 0..0,
                body: Qos::default(),
            });
        }
    }

    pub(super) fn dump_note(&mut self, line: usize, option: &str, why: &str) {
        self.notes.push(ImportNote {
            file: self.dump_name.clone(),
            line,
            option: option.to_owned(),
            why: Some(why.to_owned()),
            refused: false,
        });
    }

    /// Notes what can't be read.
    pub(super) fn dump_refused(&mut self, line: usize, option: &str, why: &str) {
        self.dump_note(line, option, why);
        if let Some(note) = self.notes.last_mut() {
            note.refused = true;
        }
    }

    /// Notes an option that was not taken.
    fn taken(&mut self, line: &DumpLine<'_>, key: &str, value: &str, taken: Option<bool>) {
        let option = format!("{key}={value}");
        match taken {
            Some(true) => {}
            // Its value may be of another kind than it looks: it isn't shown.
            None => {
                let why = "a cluster file has no key for it";
                self.dump_note(line.number, key_alone(key), why);
            }
            Some(false) if value == "0" => {
                self.dump_note(
                    line.number,
                    &option,
                    "a cluster file holds no limit of none",
                );
            }
            Some(false) => self.dump_refused(line.number, &option, "it can't be read"),
        }
    }

    /// A value as it stands, and for a list of QOS that adds to its parent's (`+name`) or takes from it
    /// (`-name`), as sacctmgr(1) says, what it comes to; none where the parent's is not known.
    fn whole_list(
        &mut self,
        line: &DumpLine<'_>,
        key: &str,
        value: &str,
        parent: &str,
    ) -> Option<String> {
        let is_qos = ["qos", "qoslevel"].contains(&&*key.to_ascii_lowercase());
        let changes = |item: &String| item.starts_with(['+', '-']);
        let items = list(value);
        if !is_qos || !items.iter().any(changes) {
            return Some(value.to_owned());
        }
        let of = |account: &str| self.file.account_value(account, |own| own.qos.as_ref());
        let Some(known) = of(parent).or_else(|| of("root")) else {
            let option = format!("{key}={value}");
            let why = "it changes its parent's list, which the dump doesn't have";
            self.dump_note(line.number, &option, why);
            return None;
        };
        let mut whole = known.value.clone();
        for item in &items {
            let name = item.trim_start_matches(['+', '-']);
            whole.retain(|known| !known.eq_ignore_ascii_case(name));
            if !item.starts_with('-') && !name.is_empty() {
                whole.push(name.to_owned());
            }
        }
        Some(whole.join(","))
    }

    fn account_line(&mut self, line: &DumpLine<'_>, name: &str, parent: Option<&str>) {
        let mut account = Account::default();
        if let Some(parent) = parent.filter(|parent| *parent != "root") {
            account.parent = at(line, parent.to_owned());
        }
        for (key, value) in &line.options {
            let Some(whole) = self.whole_list(line, key, value, parent.unwrap_or_default()) else {
                continue;
            };
            let taken = account_option(&mut account, line, key, &whole);
            self.taken(line, key, value, taken);
        }
        match self.members.accounts.get(name) {
            Some(index) => self.file.accounts[*index].body = account,
            None if name != "root" || account != Account::default() => {
                self.add_account(name, line.number, account);
            }
            None => {}
        }
    }

    fn user_line(&mut self, line: &DumpLine<'_>, account: &str) {
        let mut own = Association::default();
        let index = self.user_at(&line.name, line.number);
        let mut user = std::mem::take(&mut self.file.users[index].body);
        for (key, value) in &line.options {
            let Some(whole) = self.whole_list(line, key, value, account) else {
                continue;
            };
            let taken = user_option(&mut user, &mut own, line, key, &whole);
            self.taken(line, key, value, taken);
        }
        let member = (index, account.to_owned());
        let is_first = self.members.of_accounts.insert(member.clone());
        if is_first {
            match &mut user.accounts {
                Some(accounts) => accounts.value.push(account.to_owned()),
                None => user.accounts = at(line, vec![account.to_owned()]),
            }
        }
        // Shares of one in an account of equals say nothing.
        let plain = own.shares.as_ref().is_none_or(|shares| shares.value == "1");
        let rest = Association {
            shares: None,
            ..own.clone()
        };
        let named = |body: Association| Named {
            name: account.to_owned(),
            span: 0..0,
            body,
        };
        let partition = own.partition.as_ref().map(|name| name.value.clone());
        let known = self.members.associated.entry(member).or_default();
        if !is_first && known.is_empty() && partition.is_some() {
            // Beside one of a partition the one of all is there, though nothing is said of it.
            known.insert(None);
            user.associations.push(named(Association::default()));
        }
        if known.contains(&partition) {
            let option = format!("User {}", line.name);
            let why = format!("a second association in {account} for the same partition");
            self.dump_note(line.number, &option, &why);
        } else if !plain || rest != Association::default() || !known.is_empty() {
            known.insert(partition);
            user.associations.push(named(own));
        }
        self.file.users[index].body = user;
    }
}

/// Takes an option that accounts and associations have alike; false where its value can't be read,
/// none where there is no key.
macro_rules! shared_option {
    ($own:expr, $line:expr, $key:expr, $value:expr) => {{
        let (own, line, value) = ($own, $line, $value);
        Some(match $key {
            "fairshare" | "shares" => set(&mut own.shares, at(line, value.to_owned())),
            "qos" | "qoslevel" => set(&mut own.qos, at(line, names(value))),
            "defaultqos" => set(&mut own.default_qos, at(line, value.to_owned())),
            "maxjobs" => limit(&mut own.max_jobs, value, number(line, value)),
            "maxsubmitjobs" | "maxsubmit" => limit(&mut own.max_submit, value, number(line, value)),
            "maxwall" | "maxwalldurationperjob" => {
                limit(&mut own.max_wall, value, minutes(line, value))
            }
            "maxtres" | "maxtresperjob" => {
                limit(&mut own.max_tres_per_job, value, tres(line, value))
            }
            "maxtrespernode" => limit(&mut own.max_tres_per_node, value, tres(line, value)),
            "grptres" => limit(&mut own.group_tres, value, tres(line, value)),
            "grpjobs" => limit(&mut own.group_jobs, value, number(line, value)),
            "grpsubmitjobs" | "grpsubmit" => {
                limit(&mut own.group_submit, value, number(line, value))
            }
            "grpwall" => limit(&mut own.group_wall, value, minutes(line, value)),
            "grptresmins" => limit(&mut own.group_tres_minutes, value, tres(line, value)),
            "grptresrunmins" => limit(&mut own.group_tres_run_minutes, value, tres(line, value)),
            "maxtresmins" | "maxtresminsperjob" => {
                limit(&mut own.max_tres_minutes_per_job, value, tres(line, value))
            }
            "grpjobsaccrue" => limit(&mut own.group_jobs_accrue, value, number(line, value)),
            "maxjobsaccrue" => limit(&mut own.max_jobs_accrue, value, number(line, value)),
            "minpriothreshold" | "minpriothresh" => {
                limit(&mut own.min_priority_threshold, value, number(line, value))
            }
            _ => return None,
        })
    }};
}

/// Takes an option of an account.
fn account_option(
    account: &mut Account,
    line: &DumpLine<'_>,
    key: &str,
    value: &str,
) -> Option<bool> {
    match key.to_ascii_lowercase().as_str() {
        "description" => Some(set(&mut account.description, at(line, value.to_owned()))),
        "organization" => Some(set(&mut account.organization, at(line, value.to_owned()))),
        key => shared_option!(account, line, key, value),
    }
}

/// Takes an option of a user, or of an association of theirs.
fn user_option(
    user: &mut User,
    own: &mut Association,
    line: &DumpLine<'_>,
    key: &str,
    value: &str,
) -> Option<bool> {
    match key.to_ascii_lowercase().as_str() {
        "defaultaccount" => Some(set(&mut user.default_account, at(line, value.to_owned()))),
        "adminlevel" => {
            let level = match value.to_ascii_lowercase().as_str() {
                "administrator" | "admin" => "admin",
                "operator" => "operator",
                "none" | "not set" => "none",
                _ => return Some(false),
            };
            Some(set(&mut user.admin, at(line, level.to_owned())))
        }
        "partition" => Some(set(&mut own.partition, at(line, value.to_owned()))),
        key => shared_option!(own, line, key, value),
    }
}

fn dump_line<'a>(file: &'a str, number: usize, line: &'a str) -> Option<DumpLine<'a>> {
    let (kind, rest) = line.split_once('-')?;
    let mut parts = parts(rest.trim()).into_iter();
    let name = Some(unquoted(&parts.next()?)).filter(|name| !name.trim().is_empty())?;
    let (mut options, mut odd) = (Vec::new(), false);
    for part in parts.filter(|part| !part.trim().is_empty()) {
        match part.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                options.push((super::conf_line::clean(key), unquoted(value)));
            }
            _ => odd = true,
        }
    }
    // An empty value takes a limit away, which is what no key does.
    options.retain(|(_, value)| !value.trim().is_empty());
    Some(DumpLine {
        file,
        number,
        kind: kind.trim(),
        name,
        options,
        odd,
    })
}

/// Parts a line at colons that stand outside of quotes.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for letter in text.chars() {
        match letter {
            '\'' => quoted = !quoted,
            ':' if !quoted => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(letter);
        }
    }
    parts
}

fn unquoted(text: &str) -> String {
    super::conf_line::clean(text.trim().trim_matches('\''))
}

/// QOS in a list: `+name` is one that is added.
fn names(value: &str) -> Vec<String> {
    let all = list(value)
        .into_iter()
        .filter(|name| !name.starts_with('-'));
    all.map(|name| name.trim_start_matches('+').to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

fn at<T>(line: &DumpLine<'_>, value: T) -> Option<Sourced<T>> {
    Some(Sourced::new(
        value,
        Source::Quote(format!("{}:{}", line.file, line.number)),
    ))
}

/// A limit; -1 is none.
fn limit<T>(place: &mut Option<Sourced<T>>, text: &str, value: Option<Sourced<T>>) -> bool {
    text == "-1" || set(place, value)
}

fn set<T>(place: &mut Option<Sourced<T>>, value: Option<Sourced<T>>) -> bool {
    *place = value;
    place.is_some()
}

fn number(line: &DumpLine<'_>, value: &str) -> Option<Sourced<u32>> {
    value.parse().ok().and_then(|number| at(line, number))
}

/// A dump counts in minutes. None at all is no limit that a cluster file can hold.
fn minutes(line: &DumpLine<'_>, value: &str) -> Option<Sourced<TimeLimitRequest>> {
    let time = match value.parse::<u32>() {
        Ok(0) => return None,
        Ok(minutes) => TimeLimitRequest::Limit(Seconds(u64::from(minutes) * 60)),
        Err(_) => TimeLimitRequest::parse(value)?,
    };
    at(line, time)
}

fn tres(line: &DumpLine<'_>, value: &str) -> Option<Sourced<Tres>> {
    Tres::parse(value).ok().and_then(|tres| at(line, tres))
}
