//! `sacctmgr show`: accounts, users, associations, QOS, clusters and TRES as tables.

use super::columns::{Chosen, Style, table, table_of};
use super::facts::SacctmgrFacts;
use super::is;
use super::show_request::{ShowRequest, named};
use super::words::{Answer, list_of};
use crate::records::{
    Account, AccountAssociation, AccountChains, AccountUser, Accounting, Qos, TreePlace,
};
use crate::values::{node_list, padded_elapsed_text};
use std::collections::BTreeMap;

const ACCOUNT: &str = "account,description,organization";
const ACCOUNT_LIMITS: &str = "cluster,parentname,user,share,priority,grpjobs,grpnodes,grpcpus,grpmem,grpsubmit,grpwall,grpcpumins,maxjobs,maxnodes,maxcpus,maxsubmit,maxwall,maxcpumins,qos,defaultqos";
const USER: &str = "user,defaultaccount,adminlevel";
const USER_LIMITS: &str = "cluster,account,partition,share,priority,maxjobs,maxnodes,maxcpus,maxsubmit,maxwall,maxcpumins,qos,defaultqos";
const ASSOCIATION: &str = "cluster,account,user,partition,share,priority,grpjobs,grptres,grpsubmit,grpwall,grptresmins,maxjobs,maxtres,maxtrespernode,maxsubmit,maxwall,maxtresmins,qos,defaultqos,grptresrunmins";
const ASSOCIATION_ALONE: &str = "cluster,account,user,partition";
const QOS: &str = "name,priority,gracetime,preempt,preemptexempttime,preemptmode,flags%40,usagethreshold,usagefactor,grptres,grptresmins,grptresrunmins,grpjobs,grpsubmit,grpwall,maxtres,maxtrespernode,maxtresmins,maxwall,maxtrespu,maxjobspu,maxsubmitpu,maxtrespa,maxjobspa,maxsubmitpa,mintres";
const CLUSTER: &str = "cluster,controlhost,controlport,rpc,share,grpjobs,grptres,grpsubmit,maxjobs,maxtres,maxsubmit,maxwall,qos,defaultqos";
const TRES: &str = "type,name%15,id";

/// The number of the protocol of Slurm 22.05.
const PROTOCOL: &str = "9728";

/// The number of Slurm's plugin that gives jobs CPUs and GPUs one by one.
const CONS_TRES: &str = "109";

/// `show account …`
pub(super) fn accounts(
    words: &[String],
    from: &Accounting,
    style: Style,
) -> Result<Answer, Answer> {
    let asked = ShowRequest::read(words, " Use keyword 'set' to modify value\n")?;
    let own = match (asked.with_assoc, asked.with_coord) {
        (true, _) => format!("{ACCOUNT},{ACCOUNT_LIMITS}"),
        (false, true) => format!("{ACCOUNT},coordinators"),
        (false, false) => ACCOUNT.to_owned(),
    };
    let columns = asked.columns(&own)?;
    let mut accounts: Vec<&Account> = from.accounts.iter().collect();
    accounts.retain(|account| {
        named(&asked.names, &account.name)
            && named(&asked.accounts, &account.name)
            && asked.fits("description", &account.description)
            && asked.fits("organization", &account.organization)
    });
    accounts.sort_by(|a, b| a.name.cmp(&b.name));
    let shown = ShownAssociations::of(from);
    let mut by_account: BTreeMap<&str, Vec<&AccountAssociation>> = BTreeMap::new();
    for it in from.associations.iter().filter(|_| asked.with_assoc) {
        by_account.entry(&it.account).or_default().push(it);
    }
    let mut rows = Vec::new();
    for account in accounts {
        let of_account = by_account
            .get(&*account.name)
            .into_iter()
            .flatten()
            .copied();
        let own = of_account.clone().filter(|it| it.user.is_none());
        let users = of_account.filter(|it| it.user.is_some());
        let each: Vec<_> = own.chain(users.rev()).map(Some).collect();
        let each = if asked.with_assoc { each } else { vec![None] };
        for association in each {
            let cell = |chosen: &Chosen| match chosen.column.key {
                "fairshare" | "id" | "lft" | "parentid" | "rgt" if association.is_none() => {
                    "0".to_owned()
                }
                "account" | "name" => account.name.clone(),
                "description" => account.description.clone(),
                "organization" => account.organization.clone(),
                "coordinators" => account.coordinators.join(","),
                key => association.map_or_else(String::new, |it| shown.cell(it, key)),
            };
            rows.push(columns.iter().map(cell).collect());
        }
    }
    Ok(Answer::shown(table(&columns, &rows, style)))
}

/// `show user …`
pub(super) fn users(words: &[String], from: &Accounting, style: Style) -> Result<Answer, Answer> {
    const HINT: &str = " Use keyword 'set' to modify value\n";
    let asked = ShowRequest::read(words, HINT)?;
    // These are of accounts.
    let is_of_accounts = |word: &&String| {
        let key = word.split_once('=').map_or("", |(key, _)| key);
        is(key, "organization", 1) || is(key, "description", 1)
    };
    if let Some(word) = words.iter().find(is_of_accounts) {
        let said = format!(" Unknown condition: {word}\n{HINT}");
        return Err(Answer::refused(said));
    }
    let own = match (asked.with_assoc, asked.with_coord) {
        (true, _) => format!("{USER},{USER_LIMITS}"),
        (false, true) => format!("{USER},coordinators"),
        (false, false) => USER.to_owned(),
    };
    let columns = asked.columns(&own)?;
    let is_in = |user: &AccountUser, association: &AccountAssociation| {
        association.user.as_ref() == Some(&user.name)
            && named(&asked.accounts, &association.account)
    };
    let mut users: Vec<&AccountUser> = from.users.iter().collect();
    users.retain(|user| {
        let admin = user.admin.to_ascii_lowercase();
        named(&asked.names, &user.name)
            && named(&asked.users, &user.name)
            && asked.fits("defaultaccount", &user.default_account)
            && asked
                .admin
                .as_ref()
                .is_none_or(|wanted| admin.starts_with(wanted))
            && (asked.accounts.is_none() || from.associations.iter().any(|it| is_in(user, it)))
    });
    users.sort_by(|a, b| a.name.cmp(&b.name));
    let shown = ShownAssociations::of(from);
    let mut by_user: BTreeMap<&str, Vec<&AccountAssociation>> = BTreeMap::new();
    for it in from.associations.iter().rev() {
        let user = it.user.as_deref().filter(|_| asked.with_assoc);
        if let Some(user) = user {
            by_user.entry(user).or_default().push(it);
        }
    }
    let mut rows = Vec::new();
    for user in users {
        let own = by_user.get(&*user.name).into_iter().flatten().copied();
        let each: Vec<_> = own.filter(|it| is_in(user, it)).map(Some).collect();
        let each = if asked.with_assoc { each } else { vec![None] };
        for association in each {
            let cell = |chosen: &Chosen| match chosen.column.key {
                "fairshare" | "id" | "lft" | "parentid" | "rgt" if association.is_none() => {
                    "0".to_owned()
                }
                "user" | "name" => user.name.clone(),
                "defaultaccount" => user.default_account.clone(),
                "admin" => user.admin.clone(),
                "defaultwckey" => user.default_wckey.clone(),
                "coordinators" => {
                    let all = from.accounts.iter();
                    let own = all.filter(|it| it.coordinators.contains(&user.name));
                    own.map(|it| it.name.clone()).collect::<Vec<_>>().join(",")
                }
                key => association.map_or_else(String::new, |it| shown.cell(it, key)),
            };
            rows.push(columns.iter().map(cell).collect());
        }
    }
    Ok(Answer::shown(table(&columns, &rows, style)))
}

/// `show association …`
pub(super) fn associations(
    words: &[String],
    from: &Accounting,
    style: Style,
) -> Result<Answer, Answer> {
    let mut asked = ShowRequest::read(words, "")?;
    asked.take_ids()?;
    asked.refuse_unknown_qos(from)?;
    let own = if asked.without_limits {
        ASSOCIATION_ALONE
    } else {
        ASSOCIATION
    };
    let mut columns = asked.columns(own)?;
    let has_width = asked
        .format
        .as_deref()
        .is_some_and(|format| format.to_ascii_lowercase().contains("account%"));
    if asked.tree && !has_width {
        for chosen in &mut columns {
            if chosen.column.key == "account" {
                (chosen.width, chosen.left) = (20, true);
            }
        }
    }
    let is_default = |it: &AccountAssociation| {
        let mut users = from.users.iter();
        users.any(|user| it.user.as_ref() == Some(&user.name) && it.account == user.default_account)
    };
    let chains = AccountChains::of(from);
    let is_under_named = |account: &str| {
        let mut named = asked.accounts.iter().flatten();
        asked.sub_accounts && named.any(|over| chains.is_under(account, over))
    };
    // Those that were given it themselves.
    let has_qos = |it: &AccountAssociation| {
        let wanted = asked.values.get("qos");
        let mut own = it.qos.iter().flatten();
        wanted.is_none_or(|all| own.any(|qos| all.contains(qos)))
    };
    let takes = |it: &AccountAssociation| {
        let user = it.user.as_deref().unwrap_or_default();
        let default_qos = it.settings.get("defaultqos");
        asked.is_here(from)
            && (named(&asked.accounts, &it.account) || is_under_named(&it.account))
            && named(&asked.users, user)
            && has_qos(it)
            && asked.fits("defaultqos", default_qos.map_or("", String::as_str))
            && asked.fits("partition", it.partition.as_deref().unwrap_or_default())
            && asked.fits("parent", it.parent.as_deref().unwrap_or_default())
            && asked.fits("id", &it.id.to_string())
            && (!asked.only_defaults || is_default(it))
    };
    let is_of_users = |names: &Vec<String>| names.iter().any(|name| !name.is_empty());
    let list: Vec<&AccountAssociation> = if asked.users.as_ref().is_some_and(is_of_users) {
        // The newest first, as the database has them.
        from.associations.iter().rev().collect()
    } else {
        from.tree().into_iter().map(|(_, it)| it).collect()
    };
    let mut shown = ShownAssociations::of(from);
    shown.own_alone = asked.without_parents;
    // Each under what stands over it, where that is shown.
    let mut depths: BTreeMap<&str, usize> = BTreeMap::new();
    let rows = list.into_iter().filter(|it| takes(it)).map(|it| {
        let depth = it.name_above().and_then(|above| depths.get(above));
        let depth = depth.map_or(0, |above| above + 1);
        if it.user.is_none() {
            depths.insert(&it.account, depth);
        }
        let cell = |chosen: &Chosen| match chosen.column.key {
            "account" if asked.tree && chosen.left => {
                format!("{}{}", " ".repeat(depth), it.account)
            }
            key => shown.cell(it, key),
        };
        columns.iter().map(cell).collect()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    Ok(Answer::shown(table(&columns, &rows, style)))
}

/// `show qos …`
pub(super) fn qos(words: &[String], from: &Accounting, style: Style) -> Result<Answer, Answer> {
    let hint = " Use keyword 'set' to modify SLURM_PRINT_VALUE\n";
    let asked = ShowRequest::read(words, hint)?;
    asked.refuse_unknown_mode()?;
    let columns = asked.columns(QOS)?;
    let mut all: Vec<&Qos> = from.qos.iter().collect();
    all.retain(|qos| {
        named(&asked.names, &qos.name)
            && asked.fits("description", &qos.description)
            && asked.fits("id", &qos.id.to_string())
            && asked.fits("preemptmode", &of_qos(qos, "preemptmode"))
    });
    if asked.names.is_some() {
        all.sort_by(|a, b| a.name.cmp(&b.name));
    }
    let shown = table_of(&columns, all, style, of_qos);
    Ok(Answer::shown(shown))
}

/// `show cluster …`
pub(super) fn clusters(
    words: &[String],
    from: &Accounting,
    facts: &SacctmgrFacts,
    style: Style,
) -> Result<Answer, Answer> {
    let asked = ShowRequest::read(words, " Use keyword 'set' to modify value\n")?;
    let columns = asked.columns(CLUSTER)?;
    let shown = ShownAssociations::of(from);
    let mut rows: Vec<Vec<String>> = Vec::new();
    if named(&asked.names, &from.cluster) && asked.is_here(from) {
        let top = from
            .associations
            .iter()
            .find(|it| it.user.is_none() && it.parent.is_none());
        let cell = |chosen: &Chosen| match chosen.column.key {
            "cluster" | "name" => from.cluster.clone(),
            "controlhost" => "127.0.0.1".to_owned(),
            "controlport" => "0".to_owned(),
            "rpc" => PROTOCOL.to_owned(),
            "fedstate" => "NA".to_owned(),
            "fedstateraw" => "0".to_owned(),
            "pluginidselect" => CONS_TRES.to_owned(),
            "nodecount" => facts.nodes.len().to_string(),
            "tres" => facts.cluster_tres.clone(),
            "clusternodes" => node_list::fold(&facts.nodes),
            "flags" if facts.is_pretended => "MultipleSlurmd".to_owned(),
            key => top.map_or_else(String::new, |it| shown.cell(it, key)),
        };
        rows.push(columns.iter().map(cell).collect());
    }
    Ok(Answer::shown(table(&columns, &rows, style)))
}

/// `show tres …`
pub(super) fn tres(
    words: &[String],
    facts: &SacctmgrFacts,
    style: Style,
) -> Result<Answer, Answer> {
    let (kinds, words): (Vec<String>, Vec<String>) = words
        .iter()
        .cloned()
        .partition(|word| word.to_ascii_lowercase().starts_with("type="));
    let kinds = kinds
        .iter()
        .flat_map(|word| list_of(&word["type=".len()..]));
    let kinds: Vec<String> = kinds.collect();
    let asked = ShowRequest::read(&words, " Use keyword 'set' to modify value\n")?;
    let columns = asked.columns(TRES)?;
    let own = [
        ("cpu", "", 1),
        ("mem", "", 2),
        ("energy", "", 3),
        ("node", "", 4),
        ("billing", "", 5),
        ("fs", "disk", 6),
        ("vmem", "", 7),
        ("pages", "", 8),
    ];
    let typed = facts.tres.iter().zip(1001..);
    let typed = typed.map(|(it, id)| (it.kind.as_str(), it.name.as_str(), id));
    let is_wanted = |kind: &str, name: &str| {
        let fits = kinds.is_empty() || kinds.iter().any(|wanted| wanted == kind);
        fits && named(&asked.names, name)
    };
    let is_id = |id: u32| asked.fits("id", &id.to_string());
    let wanted = own
        .into_iter()
        .chain(typed)
        .filter(|(kind, name, id)| is_wanted(kind, name) && is_id(*id));
    let shown = table_of(&columns, wanted, style, |(kind, name, id), key| match key {
        "type" => kind.to_owned(),
        "name" => name.to_owned(),
        "id" => id.to_string(),
        _ => String::new(),
    });
    Ok(Answer::shown(shown))
}

/// Associations as the columns of a table show them.
struct ShownAssociations<'a> {
    from: &'a Accounting,
    places: BTreeMap<u32, TreePlace>,
    chains: AccountChains<'a>,
    /// Without what it has of those over it.
    own_alone: bool,
}

impl<'a> ShownAssociations<'a> {
    fn of(from: &'a Accounting) -> ShownAssociations<'a> {
        ShownAssociations {
            from,
            places: from.places(),
            chains: AccountChains::of(from),
            own_alone: false,
        }
    }

    /// What an association has under a column.
    fn cell(&self, it: &'a AccountAssociation, key: &str) -> String {
        let from = self.from;
        let place = || self.places.get(&it.id).copied().unwrap_or_default();
        match key {
            "account" => it.account.clone(),
            "user" => it.user.clone().unwrap_or_default(),
            "cluster" => from.cluster.clone(),
            "id" => it.id.to_string(),
            "parent" => it.parent.clone().unwrap_or_default(),
            "parentid" => place().parent.to_string(),
            "lft" => place().left.to_string(),
            "rgt" => place().right.to_string(),
            "partition" => it.partition.clone().unwrap_or_default(),
            "qos" if self.own_alone => joined(it.qos.clone().unwrap_or_default()),
            "qos" => joined(self.chains.qos_of(it).to_vec()),
            "qosraw" => {
                let names = self.chains.qos_of(it);
                let own = from.qos.iter().filter(|qos| names.contains(&qos.name));
                let ids: Vec<String> = own.map(|qos| qos.id.to_string()).collect();
                ids.join(",")
            }
            "fairshare" => it
                .settings
                .get(key)
                .cloned()
                .unwrap_or_else(|| "1".to_owned()),
            key => {
                let of = |key: &str| {
                    if self.own_alone {
                        it.settings.get(key).map(String::as_str)
                    } else {
                        self.chains.setting(it, key)
                    }
                };
                of_one_tres(key, of)
                    .or_else(|| of(key).map(|value| printed(key, value)))
                    .unwrap_or_default()
            }
        }
    }
}

fn joined(mut names: Vec<String>) -> String {
    names.sort();
    names.join(",")
}

/// Columns that show one type of a limit of TRES.
const OF_ONE_TRES: &[(&str, &str, &str)] = &[
    ("grpcpumins", "grptresmins", "cpu"),
    ("grpcpurunmins", "grptresrunmins", "cpu"),
    ("grpcpus", "grptres", "cpu"),
    ("grpmem", "grptres", "mem"),
    ("grpnodes", "grptres", "node"),
    ("maxcpumins", "maxtresmins", "cpu"),
    ("maxcpus", "maxtres", "cpu"),
    ("maxcpusperuser", "maxtresperuser", "cpu"),
    ("maxnodes", "maxtres", "node"),
    ("maxnodesperuser", "maxtresperuser", "node"),
    ("mincpus", "mintres", "cpu"),
];

/// What such a column shows; `of` tells the settings.
fn of_one_tres<'a>(key: &str, of: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let (_, setting, kind) = OF_ONE_TRES.iter().find(|(column, ..)| *column == key)?;
    let mut parts = of(setting)?.split(',');
    parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        (name == *kind).then(|| value.to_owned())
    })
}

/// What a QOS has under a column.
fn of_qos(qos: &Qos, key: &str) -> String {
    // What is of each user has the names of associations too.
    let key = match key {
        "maxjobs" => "maxjobsperuser",
        "maxsubmitjobs" => "maxsubmitjobsperuser",
        key => key,
    };
    let of = |key: &str| qos.settings.get(key).map(String::as_str);
    let own = of_one_tres(key, of).or_else(|| of(key).map(|value| printed(key, value)));
    match key {
        "name" => qos.name.clone(),
        "description" => qos.description.clone(),
        "id" => qos.id.to_string(),
        "priority" => own.unwrap_or_else(|| "0".to_owned()),
        "gracetime" => own.unwrap_or_else(|| "00:00:00".to_owned()),
        "preemptmode" => own.unwrap_or_else(|| "cluster".to_owned()),
        "usagefactor" => own.unwrap_or_else(|| "1.000000".to_owned()),
        _ => own.unwrap_or_default(),
    }
}

/// A setting as it is printed: lengths of time in Slurm's form.
pub(super) fn printed(key: &str, value: &str) -> String {
    match (key, value.parse::<i64>()) {
        ("maxwall" | "grpwall" | "gracetime" | "preemptexempttime", Ok(seconds)) => {
            padded_elapsed_text(seconds)
        }
        ("usagefactor" | "limitfactor" | "usagethreshold", _) => {
            let number = value.parse::<f64>();
            number.map_or_else(|_| value.to_owned(), |number| format!("{number:.6}"))
        }
        _ => value.to_owned(),
    }
}
