//! Licences of servers and federations: `sacctmgr show|add|modify|delete resource` and `federation`.

use super::columns::{Style, table_of};
use super::show_request::{ShowRequest, named};
use super::words::{Answer, check_names, list_of};
use crate::records::{Accounting, LicenceResource};

const HINT: &str = " Use keyword 'set' to modify SLURM_PRINT_VALUE\n";

/// What `key=value` words say of a resource.
#[derive(Default)]
struct Given {
    names: Vec<String>,
    servers: Option<Vec<String>>,
    clusters: Option<Vec<String>>,
    count: Option<u32>,
    allowed: Option<u32>,
    kind: Option<String>,
    description: Option<String>,
    server_type: Option<String>,
}

impl Given {
    fn read(words: &[String]) -> Result<Given, Answer> {
        let mut given = Given::default();
        for word in words {
            let Some((key, value)) = word.split_once('=') else {
                if !word.eq_ignore_ascii_case("where") {
                    given.names.extend(list_of(word));
                }
                continue;
            };
            let value = value.trim_matches(['"', '\'']);
            let number = || {
                value.parse::<u32>().map_err(|_| {
                    Answer::refused(format!(
                        "sacctmgr: error: Invalid value for {key} ({value})\n Unknown option: {word}\n"
                    ))
                })
            };
            match key.to_ascii_lowercase().as_str() {
                "name" | "names" | "resource" | "resources" => given.names = list_of(value),
                "server" | "servers" => given.servers = Some(list_of(value)),
                "cluster" | "clusters" => given.clusters = Some(list_of(value)),
                "count" => given.count = Some(number()?),
                "percentallowed" | "allowed" => given.allowed = Some(number()?),
                "description" | "descriptions" => given.description = Some(value.to_owned()),
                "servertype" => given.server_type = Some(value.to_owned()),
                "type" if is_beginning(value, "license") => given.kind = Some("License".to_owned()),
                "type" => {
                    return Err(Answer::refused(format!(
                        " Unknown resource type: '{value}'  Valid resources is License.\n"
                    )));
                }
                _ => {
                    return Err(Answer::refused(format!(
                        " Unknown option: {word}\n Use keyword 'where' to modify condition\n"
                    )));
                }
            }
        }
        Ok(given)
    }

    /// Whether anything says which resources.
    fn is_condition(&self) -> bool {
        let lists = [&self.servers, &self.clusters];
        let mut lists = lists.into_iter().flatten();
        !self.names.is_empty() || lists.any(|list| !list.is_empty())
    }

    /// Refuses more than all of a resource.
    fn check_allowed(&self, of: impl Fn() -> Option<(String, String)>) -> Result<(), Answer> {
        let Some(share) = self.allowed.filter(|share| *share > 100) else {
            return Ok(());
        };
        // One cluster is all that there is, and so nothing else is used.
        match of() {
            None => Ok(()),
            Some((name, server)) => Err(Answer::refused(format!(
                " Adding this 1 clusters to resource {name}@{server} at {share}% each , with 0% already used,  would go over 100%.  Please redo your math and resubmit.\n"
            ))),
        }
    }

    fn means(&self, it: &LicenceResource) -> bool {
        let is_named = self.names.is_empty() || self.names.contains(&it.name);
        is_named && named(&self.servers, &it.server)
    }
}

fn is_beginning(word: &str, name: &str) -> bool {
    let start = name.get(..word.len());
    !word.is_empty() && start.is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// `show resource …`
pub(super) fn show(words: &[String], from: &Accounting, style: Style) -> Result<Answer, Answer> {
    let (own, words): (Vec<String>, Vec<String>) = words.iter().cloned().partition(|word| {
        let lower = word.to_ascii_lowercase();
        lower == "withclusters" || lower.starts_with("server=")
    });
    let with_clusters = own
        .iter()
        .any(|word| word.eq_ignore_ascii_case("withclusters"));
    let servers = own.iter().find_map(|word| word.split_once('='));
    let servers = servers.filter(|(key, _)| key.eq_ignore_ascii_case("server"));
    let servers = servers.map(|(_, value)| list_of(value));
    let asked = ShowRequest::read(&words, HINT)?;
    let mut own = "name,server,type,count,allocated,servertype".to_owned();
    if with_clusters {
        own.push_str(",cluster,allowed");
    }
    let columns = asked.columns(&own)?;
    let mut all: Vec<&LicenceResource> = from.resources.iter().collect();
    all.retain(|it| named(&asked.names, &it.name) && named(&servers, &it.server));
    let shown = table_of(&columns, all, style, |it, key| {
        let share = it.allowed.filter(|_| with_clusters);
        match key {
            "name" => it.name.clone(),
            "server" => it.server.clone(),
            "type" => "License".to_owned(),
            "count" => it.count.to_string(),
            "allocated" => it.allowed.unwrap_or(0).to_string(),
            "servertype" => it.server_type.clone(),
            "description" => it.description.clone(),
            "cluster" if share.is_some() => from.cluster.clone(),
            "allowed" => share.map_or_else(String::new, |share| share.to_string()),
            "countallowed" => share.map_or_else(String::new, |share| {
                (u64::from(it.count) * u64::from(share) / 100).to_string()
            }),
            _ => String::new(),
        }
    });
    Ok(Answer::shown(shown))
}

/// `add resource …`
pub(super) fn add(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let given = Given::read(words)?;
    if given.names.is_empty() {
        return Err(Answer::refused(
            " Need name of resource to add.\n".to_owned(),
        ));
    }
    let clusters = given.clusters.clone().unwrap_or_default();
    if clusters.iter().any(|it| *it != to.cluster) {
        return Err(Answer::refused(
            " Need a valid cluster name to add a cluster resource.\n".to_owned(),
        ));
    }
    let server = given.servers.iter().flatten().next().cloned();
    let server = server.unwrap_or_else(|| "slurmdb".to_owned());
    check_names(given.names.iter().chain([&server]))?;
    given.check_allowed(|| Some((given.names[0].clone(), server.clone())))?;
    let share = (!clusters.is_empty()).then(|| given.allowed.unwrap_or(100));
    let mut lines = String::new();
    let mut is_new = false;
    for name in &given.names {
        let mut known = to.resources.iter_mut();
        let known = known.find(|it| it.name == *name && it.server == server);
        let own = format!("  {name}@{server}\n");
        let of_cluster = share.map_or_else(String::new, |share| {
            format!("   Cluster - {}\t{share}%\n", clusters[0])
        });
        match (known, share) {
            (Some(known), Some(share)) if known.allowed.is_none() => known.allowed = Some(share),
            (Some(_), _) => continue,
            (None, _) => {
                let missing = match (&given.kind, given.count) {
                    (None, _) => Some("type"),
                    (_, None) => Some("count"),
                    _ => None,
                };
                if let Some(missing) = missing {
                    return Err(Answer::refused(format!(
                        " Need to designate a resource {missing} to initially add '{name}'.\n"
                    )));
                }
                is_new = true;
                to.resources.push(LicenceResource {
                    name: name.clone(),
                    server: server.clone(),
                    description: given.description.clone().unwrap_or_else(|| name.clone()),
                    server_type: given.server_type.clone().unwrap_or_default(),
                    count: given.count.unwrap_or(0),
                    allowed: share,
                });
            }
        }
        lines.push_str(&own);
        lines.push_str(&of_cluster);
    }
    if lines.is_empty() {
        return Err(Answer::nothing("Nothing new added."));
    }
    let mut text = format!(" Adding Resource(s)\n{lines} Settings\n");
    let mut said = |name: &str, value: &str| text.push_str(&format!("  {name:<14} = {value}\n"));
    if is_new {
        said("Name", &given.names[0]);
    }
    said("Server", &server);
    if is_new {
        said(
            "Description",
            given.description.as_ref().unwrap_or(&given.names[0]),
        );
        said("Count", &given.count.unwrap_or(0).to_string());
    }
    if given.kind.is_some() {
        said("Type", "License");
    }
    Ok(Answer::changed(text))
}

/// Lines of resources, and of the cluster where it has some of them.
fn lines_of<'a>(cluster: &str, of: impl Iterator<Item = &'a LicenceResource>) -> String {
    let lines = of.map(|it| {
        let name = it.full_name();
        let of_cluster = it.allowed.map_or_else(String::new, |_| {
            format!("  Cluster - {cluster}\t- {name}\n")
        });
        format!("  {name}\n{of_cluster}")
    });
    lines.collect()
}

/// `modify resource NAME where … set …`
pub(super) fn modify(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let (mut conditions, mut after) = (Vec::new(), Vec::new());
    let mut within_set = false;
    for word in words {
        match word.to_ascii_lowercase().as_str() {
            "set" => within_set = true,
            "where" => within_set = false,
            _ if within_set => after.push(word.clone()),
            _ => conditions.push(word.clone()),
        }
    }
    let (condition, set) = (Given::read(&conditions)?, Given::read(&after)?);
    if after.is_empty() {
        return Err(Answer::refused(
            " You didn't give me anything to set\n".to_owned(),
        ));
    }
    if set.clusters.is_some() {
        return Err(Answer::refused(
            " Can't modify the cluster of an resource\n".to_owned(),
        ));
    }
    if set.count.is_some() && condition.clusters.is_some() {
        return Err(Answer::refused(
            "sacctmgr: error: Can't change \"count\" on a cluster-based resource. Remove cluster selection.\n".to_owned(),
        ));
    }
    let meant = || to.resources.iter().filter(|it| condition.means(it));
    set.check_allowed(|| {
        meant()
            .next()
            .map(|it| (it.name.clone(), it.server.clone()))
    })?;
    let lines = lines_of(&to.cluster, meant());
    if lines.is_empty() {
        return Err(Answer::nothing("Nothing modified"));
    }
    for it in to.resources.iter_mut().filter(|it| condition.means(it)) {
        it.count = set.count.unwrap_or(it.count);
        if it.allowed.is_some() {
            it.allowed = set.allowed.or(it.allowed);
        }
        if let Some(text) = &set.description {
            it.description.clone_from(text);
        }
        if let Some(text) = &set.server_type {
            it.server_type.clone_from(text);
        }
    }
    Ok(Answer::changed(format!(
        " Modified server resource ...\n{lines}"
    )))
}

/// `delete resource …`: with a cluster its share alone.
pub(super) fn delete(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let given = Given::read(words)?;
    if !given.is_condition() {
        return Err(Answer::refused(
            " No conditions given to remove, not executing.\n".to_owned(),
        ));
    }
    if let Some(clusters) = &given.clusters {
        if !clusters.contains(&to.cluster) {
            return Err(Answer::nothing("Nothing deleted"));
        }
        let mut lines = String::new();
        for it in to.resources.iter_mut().filter(|it| given.means(it)) {
            if it.allowed.take().is_some() {
                lines.push_str(&format!(
                    "  Cluster - {}\t- {}\n",
                    to.cluster,
                    it.full_name()
                ));
            }
        }
        if lines.is_empty() {
            return Err(Answer::nothing("Nothing deleted"));
        }
        return Ok(Answer::changed(format!(
            " Deleting resource(s)...\n{lines}"
        )));
    }
    let lines = lines_of(
        &to.cluster,
        to.resources.iter().filter(|it| given.means(it)),
    );
    if lines.is_empty() {
        return Err(Answer::nothing("Nothing deleted"));
    }
    to.resources.retain(|it| !given.means(it));
    Ok(Answer::changed(format!(
        " Deleting resource(s)...\n{lines}"
    )))
}

/// `show federation …`
pub(super) fn federations(
    words: &[String],
    from: &Accounting,
    style: Style,
) -> Result<Answer, Answer> {
    let asked = ShowRequest::read(words, "")?;
    let columns = asked.columns("federation,cluster,id%2,features,fedstate")?;
    let mut names: Vec<&String> = from.federations.iter().collect();
    names.retain(|name| named(&asked.names, name));
    let shown = table_of(&columns, names, style, |name, key| match key {
        "federation" | "name" => name.clone(),
        _ => String::new(),
    });
    Ok(Answer::shown(shown))
}

/// `add federation NAME`
pub(super) fn add_federation(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let mut names = Vec::new();
    for word in words {
        match word.split_once('=') {
            None => names.extend(list_of(word)),
            Some((key, value)) if key.eq_ignore_ascii_case("name") => names.extend(list_of(value)),
            Some((key, _)) if is_beginning(key, "clusters") => {
                return Err(Answer::refused(format!(
                    "sacctmgr: error: this accounting is of one cluster alone, which is in no federation\n\
                     sacctmgr:   asked   {word}\n\
                     sacctmgr:   there   the cluster {}\n\
                     sacctmgr:   do      leave {key}= out: the federation's name is kept\n",
                    to.cluster
                )));
            }
            Some(_) => return Err(Answer::refused(format!(" Unknown option: {word}\n"))),
        }
    }
    if names.is_empty() {
        return Err(Answer::refused(
            " Need name of federation to add.\n".to_owned(),
        ));
    }
    names.retain(|name| !to.federations.contains(name));
    if names.is_empty() {
        return Err(Answer::nothing("Nothing new added."));
    }
    let lines: String = names.iter().map(|name| format!("  {name}\n")).collect();
    to.federations.extend(names);
    Ok(Answer::changed(format!(" Adding Federation(s)\n{lines}")))
}

/// `delete federation NAME`
pub(super) fn delete_federation(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let names: Vec<String> = words
        .iter()
        .flat_map(|word| list_of(word.split_once('=').map_or(word, |(_, value)| value)))
        .collect();
    let gone: Vec<String> = to
        .federations
        .iter()
        .filter(|it| names.contains(it))
        .cloned()
        .collect();
    if gone.is_empty() {
        return Err(Answer::nothing("Nothing deleted"));
    }
    to.federations.retain(|it| !gone.contains(it));
    let lines: String = gone.iter().map(|name| format!("  {name}\n")).collect();
    Ok(Answer::changed(format!(
        " Deleting federations...\n{lines}"
    )))
}
