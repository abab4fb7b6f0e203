//! `sacctmgr show` of transactions, problems, reservations and the configuration.

use super::columns::{Style, choose, table_of};
use super::events::cpus_of;
use super::facts::SacctmgrFacts;
use super::is;
use super::show_request::{ShowRequest, named};
use super::words::{Answer, list_of};
use crate::records::{Accounting, AccountingTransaction};
use crate::values::{Timestamp, node_list, parse_past_moment};

/// What a transaction can be, as Slurm names it.
const ACTIONS: &[&str] = &[
    "Add Accounts",
    "Add Account Coord",
    "Add TRES",
    "Add Associations",
    "Add Clusters",
    "Add Federations",
    "Add Resources",
    "Add Users",
    "Modify Accounts",
    "Modify Associations",
    "Modify Clusters",
    "Modify Federations",
    "Modify Job",
    "Modify QOS",
    "Modify Resources",
    "Modify Users",
    "Remove Accounts",
    "Remove Account Coords",
    "Remove Associations",
    "Remove Clusters",
    "Remove Federations",
    "Remove Resources",
    "Remove Users",
    "Add QOS",
    "Remove QOS",
    "Add WCKeys",
    "Remove WCKeys",
];

/// `show transaction …`
pub(super) fn transactions(
    words: &[String],
    facts: &SacctmgrFacts,
    style: Style,
) -> Result<Answer, Answer> {
    let (mut actions, mut actors, mut named) = (Vec::new(), Vec::new(), Vec::new());
    let (mut since, mut until, mut format) = (None, None, None);
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            continue;
        };
        let value = value.trim_matches(['"', '\'']);
        let moment = || {
            let read = parse_past_moment(value, facts.now, &facts.moments.zone);
            read.map_err(|words| Answer::refused(format!("{words}\n")))
        };
        match key.to_ascii_lowercase().as_str() {
            "action" | "actions" => {
                let known =
                    |action: &str| ACTIONS.iter().find(|it| it.eq_ignore_ascii_case(action));
                for action in list_of(value) {
                    let known = known(&action).ok_or_else(|| {
                        Answer::refused(format!(
                            "sacctmgr: error: You gave a bad action '{action}'.\n"
                        ))
                    })?;
                    actions.push((*known).to_owned());
                }
            }
            "actor" | "actors" => actors.extend(list_of(value)),
            "account" | "accounts" | "user" | "users" => named.extend(list_of(value)),
            "cluster" | "clusters" | "id" => {}
            "start" | "starttime" => since = Some(moment()?),
            "end" | "endtime" => until = Some(moment()?),
            "format" => format = Some(value.to_owned()),
            _ => return Err(Answer::refused(format!(" Unknown condition: {word}\n"))),
        }
    }
    let format = format.unwrap_or_else(|| "timestamp,action,actor,where,info".to_owned());
    let columns = choose(&format).map_err(|wrong| Answer::refused(format!("{wrong}\n")))?;
    let is_wanted = |it: &&AccountingTransaction| {
        let is_of = |list: &[String], value: &String| list.is_empty() || list.contains(value);
        let says =
            |name: &String| it.object.contains(name.as_str()) || it.info.contains(name.as_str());
        is_of(&actions, &it.action)
            && is_of(&actors, &it.actor)
            && (named.is_empty() || named.iter().any(says))
            && since.is_none_or(|since: Timestamp| it.at >= since)
            && until.is_none_or(|until: Timestamp| it.at <= until)
    };
    let wanted = facts.transactions.iter().filter(is_wanted);
    let shown = table_of(&columns, wanted, style, |it, key| match key {
        "time" => facts.moments.text(it.at),
        "action" => it.action.clone(),
        "actor" => it.actor.clone(),
        "where" => it.object.clone(),
        "info" => it.info.clone(),
        _ => String::new(),
    });
    Ok(Answer::shown(shown))
}

/// `show problem …`: accounts and users that lead nowhere.
pub(super) fn problems(
    words: &[String],
    from: &Accounting,
    facts: &SacctmgrFacts,
    style: Style,
) -> Result<Answer, Answer> {
    let asked = ShowRequest::read(words, "")?;
    let columns = asked.columns("cluster,account,user,problem")?;
    let mut found: Vec<[&str; 3]> = Vec::new();
    for account in &from.accounts {
        let name = account.name.as_str();
        let mut own = from.associations.iter().filter(|it| it.account == name);
        let is_above =
            |it: &&crate::records::AccountAssociation| it.parent.as_deref() == Some(name);
        if from.account_association(name).is_none() {
            found.push([name, "", "Account has no Associations"]);
        } else if own.all(|it| it.user.is_none())
            && !from.associations.iter().any(|it| is_above(&it))
        {
            found.push([name, "", "Account has no users"]);
        }
    }
    for user in &from.users {
        let name = user.name.as_str();
        if !from
            .associations
            .iter()
            .any(|it| it.user.as_deref() == Some(name))
        {
            found.push(["", name, "User has no Associations"]);
        }
        if facts.unknown_users.contains(name) {
            found.push(["", name, "User does not have a uid"]);
        }
    }
    found.retain(|[account, user, _]| named(&asked.accounts, account) && named(&asked.users, user));
    let shown = table_of(
        &columns,
        found,
        style,
        |[account, user, problem], key| match key {
            "cluster" => from.cluster.clone(),
            "account" => account.to_owned(),
            "user" => user.to_owned(),
            "problem" => problem.to_owned(),
            _ => String::new(),
        },
    );
    Ok(Answer::shown(shown))
}

/// `show reservation …`
pub(super) fn reservations(
    words: &[String],
    from: &Accounting,
    facts: &SacctmgrFacts,
    style: Style,
) -> Result<Answer, Answer> {
    const HINT: &str = " Use keyword 'set' to modify value\n";
    let (mut since, mut until) = (None, None);
    let mut rest = Vec::new();
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let is_named = word.contains('=') || is(word, "where", 5);
        if !is_named {
            let said = format!(" Unknown condition: {word}\n{HINT}");
            return Err(Answer::refused(said));
        }
        let moment = || {
            let read = parse_past_moment(value, facts.now, &facts.moments.zone);
            read.map_err(|words| Answer::refused(format!("{words}\n")))
        };
        if is(key, "start", 1) {
            since = Some(moment()?);
        } else if is(key, "end", 1) {
            until = Some(moment()?);
        } else {
            rest.push(word.clone());
        }
    }
    let asked = ShowRequest::read(&rest, HINT)?;
    let columns = asked.columns("cluster,name%15,tres%30,start,end,unused")?;
    let mut all: Vec<_> = facts.reservations.iter().collect();
    all.retain(|it| {
        named(&asked.names, &it.name)
            && asked.is_here(from)
            && since.is_none_or(|since| it.end >= since)
            && until.is_none_or(|until| it.start <= until)
    });
    let shown = table_of(&columns, all, style, |it, key| {
        let cpus = it.nodes.iter().filter_map(|node| {
            let tres = facts.node_tres.get(node.as_str())?;
            cpus_of(tres).map(u64::from)
        });
        match key {
            "cluster" => from.cluster.clone(),
            "name" => it.name.clone(),
            "tres" => format!("cpu={}", cpus.clone().sum::<u64>()),
            "start" => facts.moments.text(it.start),
            "end" => facts.moments.text(it.end),
            "id" => it.number.to_string(),
            "nodename" => node_list::fold(&it.nodes),
            _ => String::new(),
        }
    });
    Ok(Answer::shown(shown))
}

/// `show configuration`: the settings of accounting that an engine has.
pub(super) fn configuration(facts: &SacctmgrFacts) -> Answer {
    let of = |name: &str, other: &str| {
        let value = facts.config.get(name);
        value.map_or_else(|| other.to_owned(), Clone::clone)
    };
    let rows = [
        ("AccountingStorageBackupHost ", "(null)".to_owned()),
        ("AccountingStorageHost ", "(null)".to_owned()),
        ("AccountingStorageParameters", "(null)".to_owned()),
        ("AccountingStoragePass ", "(null)".to_owned()),
        ("AccountingStoragePort ", "0".to_owned()),
        (
            "AccountingStorageType ",
            "accounting_storage/slurmdbd".to_owned(),
        ),
        ("AccountingStorageUser ", "N/A".to_owned()),
        ("AuthType", of("AuthType", "auth/none")),
        ("MessageTimeout", of("MessageTimeout", "10 sec")),
        ("PluginDir", of("PluginDir", "(null)")),
        ("PrivateData", "none".to_owned()),
        ("SlurmUserId", of("SlurmUser", "(null)")),
        ("SLURM_CONF", of("SLURM_CONF", "(null)")),
        (
            "SLURM_VERSION",
            of("SLURM_VERSION", crate::values::SPOKEN_VERSION),
        ),
        ("TCPTimeout", "2 sec".to_owned()),
        ("TrackWCKey", "No".to_owned()),
    ];
    let lines = rows
        .iter()
        .map(|(name, value)| format!("{name:<22} = {value}\n"));
    let at = facts.moments.text(facts.now);
    let lines: String = lines.collect();
    Answer::shown(format!(
        "Configuration data as of {at}\n{lines}\nSlurmDBD configuration:\n"
    ))
}
