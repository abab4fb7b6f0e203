//! `sacctmgr show event`: when nodes took no jobs.

use super::columns::{Style, choose, table_of};
use super::facts::SacctmgrFacts;
use super::words::{Answer, list_of};
use crate::records::{Accounting, CLUSTER_REGISTERED, NodeEvent};
use crate::values::{NodeName, Timestamp, node_list, padded_elapsed_text, parse_past_moment};

const OF_ALL: &str = "cluster,nodename,start,end,state,reason,user";
const OF_CLUSTERS: &str = "cluster,tres,start,end,clusternodes";

/// Of what events are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Clusters,
    Nodes,
}

/// What a `show event` asks for.
#[derive(Default)]
struct EventRequest {
    nodes: Option<Vec<NodeName>>,
    states: Option<Vec<String>>,
    reasons: Option<Vec<String>>,
    users: Option<Vec<String>>,
    clusters: Option<Vec<String>>,
    of: Option<Of>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    all_time: bool,
    least_cpus: Option<u32>,
    format: Option<String>,
    /// What is said of moments that can't be read: the rest is shown all the same.
    remarks: String,
}

impl EventRequest {
    fn read(words: &[String], facts: &SacctmgrFacts) -> Result<EventRequest, Answer> {
        let mut asked = EventRequest::default();
        for word in words {
            let Some((key, value)) = word.split_once('=') else {
                match word.to_ascii_lowercase().as_str() {
                    "where" | "all_clusters" => {}
                    "all_time" => asked.all_time = true,
                    _ => asked.of = Some(of(word)?),
                }
                continue;
            };
            let value = value.trim_matches(['"', '\'']);
            let mut moment = || match parse_past_moment(value, facts.now, &facts.moments.zone) {
                Ok(at) => Some(at),
                Err(words) => {
                    asked.remarks.push_str(&format!("{words}\n"));
                    None
                }
            };
            match key.to_ascii_lowercase().as_str() {
                "start" | "starttime" => asked.since = moment(),
                "end" | "endtime" => asked.until = moment(),
                "event" | "events" => asked.of = Some(of(value)?),
                "node" | "nodes" => {
                    let nodes = node_list::expand(value).unwrap_or_default();
                    asked.nodes = Some(nodes);
                }
                "state" | "states" => {
                    let states = list_of(&value.to_ascii_uppercase());
                    if let Some(bad) = states.iter().find(|state| !is_state(state)) {
                        return Err(Answer::refused(bad_state(&bad.to_ascii_lowercase())));
                    }
                    asked.states = Some(states);
                }
                "reason" | "reasons" => asked.reasons = Some(list_of(value)),
                "user" | "users" => asked.users = Some(list_of(value)),
                "cluster" | "clusters" => asked.clusters = Some(list_of(value)),
                "mincpus" => asked.least_cpus = value.parse().ok(),
                // The real one asks for nothing by it either.
                "maxcpus" => {}
                "format" => asked.format = Some(value.to_owned()),
                _ => return Err(Answer::refused(format!(" Unknown condition: {word}\n"))),
            }
        }
        Ok(asked)
    }

    /// From when on events are shown: since yesterday, where nothing is said.
    fn since(&self, facts: &SacctmgrFacts) -> Timestamp {
        let yesterday = || {
            let midnight = parse_past_moment("midnight", facts.now, &facts.moments.zone);
            Timestamp(midnight.unwrap_or(facts.now).0 - 86_400_000)
        };
        match self.since {
            Some(at) => at,
            None if self.all_time => Timestamp(i64::MIN),
            None => yesterday(),
        }
    }

    fn wants(&self, event: &NodeEvent, from: &Accounting, facts: &SacctmgrFacts) -> bool {
        let is_node = !event.node.is_empty();
        let fits = |wanted: &Option<Vec<String>>, is: &dyn Fn(&String) -> bool| {
            let Some(wanted) = wanted else {
                return true;
            };
            is_node && wanted.iter().any(is)
        };
        let nodes = self.nodes.as_ref();
        let cpus = || {
            facts
                .node_tres
                .get(&event.node)
                .and_then(|tres| cpus_of(tres))
        };
        self.clusters
            .as_ref()
            .is_none_or(|it| it.contains(&from.cluster))
            && nodes.is_none_or(|it| it.iter().any(|node| node.as_str() == event.node))
            && self.of.is_none_or(|of| is_node == (of == Of::Nodes))
            && fits(&self.states, &|state| {
                event.state_text().starts_with(state.as_str())
            })
            && fits(&self.reasons, &|reason| {
                event.reason.contains(reason.as_str())
            })
            && fits(&self.users, &|user| event.user == *user)
            && self
                .least_cpus
                .is_none_or(|least| cpus().is_some_and(|it| it >= least))
            && event.end.is_none_or(|end| end >= self.since(facts))
            && self
                .until
                .is_none_or(|until| event.begin.seconds() <= until.seconds())
    }
}

/// In the order in which the real one tells them.
const STATES: &[&str] = &[
    "DRAIN",
    "FAIL",
    "UNKNOWN",
    "DOWN",
    "IDLE",
    "ALLOCATED",
    "?",
    "MIXED",
    "FUTURE",
];

/// The beginning of one is enough.
fn is_state(word: &str) -> bool {
    STATES
        .iter()
        .any(|state| state.starts_with(word) || word.starts_with(state))
}

fn bad_state(word: &str) -> String {
    format!(
        "Invalid state: {word}\nValid node states are: {} \nsacctmgr: fatal: unrecognized job state value\n",
        STATES.join(" ")
    )
}

fn of(word: &str) -> Result<Of, Answer> {
    let lower = word.to_ascii_lowercase();
    let is = |name: &str| !lower.is_empty() && name.starts_with(&lower);
    match (is("node"), is("cluster")) {
        (true, _) => Ok(Of::Nodes),
        (_, true) => Ok(Of::Clusters),
        _ => Err(Answer::refused(format!(
            " Unknown event type: '{word}'  Valid events are Cluster and Node.\n"
        ))),
    }
}

pub(super) fn cpus_of(tres: &str) -> Option<u32> {
    let mut parts = tres.split(',');
    parts.find_map(|part| part.strip_prefix("cpu=")?.parse().ok())
}

/// `show event …`
pub(super) fn events(
    words: &[String],
    from: &Accounting,
    facts: &SacctmgrFacts,
    style: Style,
) -> Result<Answer, Answer> {
    let asked = EventRequest::read(words, facts)?;
    let own = match asked.of {
        Some(Of::Clusters) => OF_CLUSTERS,
        Some(Of::Nodes) | None => OF_ALL,
    };
    let format = asked.format.as_deref().unwrap_or(own);
    let columns = choose(format).map_err(|wrong| Answer::refused(format!("{wrong}\n")))?;
    let mut all: Vec<&NodeEvent> = facts.events.iter().collect();
    all.retain(|event| asked.wants(event, from, facts));
    let place = |event: &NodeEvent| facts.nodes.iter().position(|it| it.as_str() == event.node);
    all.sort_by_key(|event| (place(event), event.begin));
    let shown = table_of(&columns, all, style, |event, key| {
        cell(event, key, from, facts)
    });
    Ok(Answer {
        stderr: asked.remarks,
        ..Answer::shown(shown)
    })
}

fn cell(event: &NodeEvent, key: &str, from: &Accounting, facts: &SacctmgrFacts) -> String {
    let is_cluster = event.node.is_empty();
    match key {
        "cluster" => from.cluster.clone(),
        "nodename" => event.node.clone(),
        "clusternodes" if is_cluster => node_list::fold(&facts.nodes),
        "start" => facts.moments.text(event.begin),
        "end" => event
            .end
            .map_or_else(|| "Unknown".to_owned(), |end| facts.moments.text(end)),
        "duration" => {
            let seconds = event.end.unwrap_or(facts.now).seconds() - event.begin.seconds();
            padded_elapsed_text(seconds)
        }
        "event" if is_cluster => "Cluster".to_owned(),
        "event" => "Node".to_owned(),
        "eventraw" => if is_cluster { "1" } else { "2" }.to_owned(),
        "state" => event.state_text().to_owned(),
        "stateraw" => event.state.to_string(),
        "cpucount" => {
            let tres = if is_cluster {
                Some(&facts.cluster_tres)
            } else {
                facts.node_tres.get(&event.node)
            };
            let cpus = tres.and_then(|tres| cpus_of(tres));
            cpus.map_or_else(String::new, |cpus| cpus.to_string())
        }
        "reason" if is_cluster => CLUSTER_REGISTERED.to_owned(),
        "reason" => event.reason.clone(),
        "user" => match facts.uids.get(&event.user) {
            Some(uid) => format!("{}({uid})", event.user),
            None => event.user.clone(),
        },
        "tres" if is_cluster => facts.cluster_tres.clone(),
        "tres" => facts
            .node_tres
            .get(&event.node)
            .cloned()
            .unwrap_or_default(),
        _ => String::new(),
    }
}
