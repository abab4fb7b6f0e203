//! The columns of `sinfo`: letters, names, headers, types, and how each is had from partitions and
//! nodes. From 22.05's `sinfo/opts.c` and `print.c`.

use crate::fields::field_table::FieldKind::{Length, Moment, Nodes, Number, Text};
use crate::fields::squeue_format::FieldTable;
use crate::fields::{Cell, FieldKind};
use crate::records::{NodeState, NodeUse, SinfoNode, SinfoPartition, SinfoReason};
use crate::values::{NodeName, Seconds, elapsed_text, node_list};
use SinfoValue::{Between, Least, OfAlike, OfAll, OfFirstPartition, OfNode, OfPartition, OfState};

/// A column of `sinfo`.
#[derive(Debug)]
pub struct SinfoField {
    /// Its letter in `-o`.
    pub letter: Option<char>,
    /// Its names in `-O`, in lower case; any case is taken.
    pub names: &'static [&'static str],
    /// Its header.
    pub header: &'static str,
    /// What stands in it.
    pub kind: FieldKind,
    /// How it is had.
    pub value: SinfoValue,
    /// It is a count, which has a unit unless `--noconvert` is given.
    pub counts: bool,
}

impl SinfoField {
    const fn counts(mut self) -> SinfoField {
        self.counts = true;
        self
    }
}

/// How a column's value is had. Rows differ where a partition's or a node's value does; the others
/// are made of all nodes of a row, and tell nodes apart with `--exact` alone.
#[derive(Clone, Copy, Debug)]
pub enum SinfoValue {
    /// From the partition.
    OfPartition(fn(&SinfoPartition) -> Cell<'static>),
    /// From the partition, and tells none apart.
    OfFirstPartition(fn(&SinfoPartition) -> Cell<'static>),
    /// From each node alike.
    OfNode(fn(&SinfoNode) -> Cell<'static>),
    /// From each node's state alike; a row without nodes has none.
    OfState(fn(NodeState) -> String),
    /// The least number of all nodes, with `+` where others have more.
    Least(fn(&SinfoNode) -> u64),
    /// The least and the greatest number, as they are printed.
    Between(fn(&SinfoNode) -> u64, fn(u64) -> String),
    /// From all nodes together.
    OfAll(fn(&[&SinfoNode]) -> Cell<'static>),
    /// Likewise, and with `--exact` these of a node tell it apart.
    OfAlike(
        fn(&[&SinfoNode]) -> Cell<'static>,
        fn(&SinfoNode) -> Cell<'static>,
    ),
}

impl FieldTable for SinfoField {
    const WHAT: &'static str = "node";
    fn by_letter(letter: char) -> Option<&'static Self> {
        SINFO_FIELDS
            .iter()
            .find(|field| field.letter == Some(letter))
    }
    fn by_name(name: &str) -> Option<&'static Self> {
        let lower = name.to_ascii_lowercase();
        let named = |field: &&SinfoField| field.names.contains(&lower.as_str());
        SINFO_FIELDS.iter().find(named)
    }
}

const fn field(
    letter: Option<char>,
    names: &'static [&'static str],
    header: &'static str,
    kind: FieldKind,
    value: SinfoValue,
) -> SinfoField {
    SinfoField {
        letter,
        names,
        header,
        kind,
        value,
        counts: false,
    }
}

/// Every column of 22.05's `sinfo`. Nodes here listen on no port.
#[rustfmt::skip]
pub const SINFO_FIELDS: &[SinfoField] = &[
    field(Some('a'), &["available"], "AVAIL", Text, OfPartition(|part| text(&part.state))),
    field(Some('b'), &["features_act"], "ACTIVE_FEATURES", Text, OfNode(|node| or_null(&node.active_features))),
    field(Some('B'), &["maxcpuspernode"], "MAX_CPUS_PER_NODE", Text, OfPartition(|part| text(&part.max_cpus_per_node.map_or_else(|| "UNLIMITED".to_owned(), |cpus| cpus.to_string())))),
    field(Some('c'), &["cpus"], "CPUS", Number, Least(|node| u64::from(node.cpus))).counts(),
    field(Some('C'), &["cpusstate"], "CPUS(A/I/O/T)", Text, OfAlike(cpus, |node| number(node.cpus.into()))),
    field(Some('d'), &["disk"], "TMP_DISK", Number, Least(|node| node.disk_mib)),
    field(Some('D'), &["nodes"], "NODES", Number, OfAll(count)),
    field(Some('e'), &["freemem"], "FREE_MEM", Number, Between(|node| node.free_memory_mib, |mebibytes| mebibytes.to_string())),
    field(Some('E'), &["reason"], "REASON", Text, OfNode(|node| reason(node, "none", |reason| &reason.text))),
    field(Some('f'), &["features"], "AVAIL_FEATURES", Text, OfNode(|node| or_null(&node.features))),
    field(Some('F'), &["nodeaiot"], "NODES(A/I/O/T)", Text, OfAll(states)),
    field(Some('A'), &["nodeai"], "NODES(A/I)", Text, OfAll(free)),
    field(Some('g'), &["groups"], "GROUPS", Text, OfPartition(|part| text(part.allow_groups.as_deref().unwrap_or("all")))),
    field(Some('G'), &["gres"], "GRES", Text, OfNode(|node| or_null(&node.gres))),
    field(Some('h'), &["oversubscribe", "share"], "OVERSUBSCRIBE", Text, OfPartition(|part| text(&part.over_subscribe))),
    field(Some('H'), &["timestamp"], "TIMESTAMP", Moment, OfNode(|node| reason(node, "Unknown", |reason| &reason.at))),
    field(Some('I'), &["priorityjobfactor"], "PRIO_JOB_FACTOR", Number, OfPartition(|part| text(&part.priority_factor.to_string()))).counts(),
    field(Some('l'), &["time"], "TIMELIMIT", Length, OfPartition(|part| limit(part.time))),
    field(Some('L'), &["defaulttime"], "DEFAULTTIME", Length, OfPartition(|part| part.default_time.map_or_else(|| text("n/a"), |time| limit(Some(time))))),
    field(Some('m'), &["memory"], "MEMORY", Number, Least(|node| node.memory_mib)),
    field(Some('M'), &["preemptmode"], "PREEMPT_MODE", Text, OfPartition(|part| text(&part.preempt_mode))),
    field(Some('n'), &["nodehost"], "HOSTNAMES", Nodes, OfNode(|node| text(&node.host))),
    field(Some('N'), &["nodelist"], "NODELIST", Nodes, OfAll(names)),
    field(Some('o'), &["nodeaddr"], "NODE_ADDR", Text, OfNode(|node| text(&node.address))),
    field(Some('O'), &["cpusload"], "CPU_LOAD", Text, Between(|node| node.load.map_or(NO_LOAD, u64::from), load)),
    field(Some('p'), &["prioritytier"], "PRIO_TIER", Number, OfPartition(|part| text(&part.priority_tier.to_string()))).counts(),
    field(Some('P'), &["partition"], "PARTITION", Text, OfPartition(|part| text(&format!("{}{}", part.name, if part.default { "*" } else { "" })))),
    field(Some('r'), &["root"], "ROOT", Text, OfPartition(|part| text(if part.is_root_only { "yes" } else { "no" }))),
    field(Some('R'), &["partitionname"], "PARTITION", Text, OfPartition(|part| text(&part.name))),
    field(Some('s'), &["size"], "JOB_SIZE", Text, OfPartition(job_size)).counts(),
    field(Some('S'), &["allocnodes"], "ALLOCNODES", Text, OfFirstPartition(|part| text(part.alloc_nodes.as_deref().unwrap_or("all")))),
    field(Some('t'), &["statecompact"], "STATE", Text, OfState(NodeState::short)),
    field(Some('T'), &["statelong"], "STATE", Text, OfState(NodeState::long)),
    field(Some('u'), &["user"], "USER", Text, OfNode(|node| reason(node, "Unknown", |reason| &reason.user))),
    field(Some('U'), &["userlong"], "USER", Text, OfNode(user_and_number)),
    field(Some('v'), &["version"], "VERSION", Text, OfAlike(version, |node| text(node.name.as_str()))),
    field(Some('V'), &["cluster"], "CLUSTER", Text, OfFirstPartition(|_| text("N/A"))),
    field(Some('w'), &["weight"], "WEIGHT", Number, Least(|node| node.weight)),
    field(Some('X'), &["sockets"], "SOCKETS", Number, Least(|node| u64::from(node.sockets))).counts(),
    field(Some('Y'), &["cores"], "CORES", Number, Least(|node| u64::from(node.cores))).counts(),
    field(Some('z'), &["socketcorethread"], "S:C:T", Text, OfAlike(layout, |node| layout(&[node]))).counts(),
    field(Some('Z'), &["threads"], "THREADS", Number, Least(|node| u64::from(node.threads))).counts(),
    field(None, &["allocmem"], "ALLOCMEM", Number, OfNode(|node| number(node.used_memory_mib))),
    field(None, &["comment"], "COMMENT", Text, OfNode(|node| or_null(node.comment.as_deref().unwrap_or_default()))),
    field(None, &["extra"], "EXTRA", Text, OfNode(|node| or_null(node.extra.as_deref().unwrap_or_default()))),
    field(None, &["gresused"], "GRES_USED", Text, OfNode(|node| or_null(&node.gres_used))),
    field(None, &["port"], "PORT", Number, OfNode(|_| text("0"))),
    field(None, &["statecomplete"], "STATECOMPLETE", Text, OfState(NodeState::complete)),
];

fn text(value: &str) -> Cell<'static> {
    Cell::Text(value.to_owned().into())
}

fn number(value: u64) -> Cell<'static> {
    Cell::Text(value.to_string().into())
}

/// `root(0)`
fn user_and_number(node: &SinfoNode) -> Cell<'static> {
    let said = |reason: &SinfoReason| match reason.uid {
        Some(uid) => format!("{}({uid})", reason.user),
        None => reason.user.clone(),
    };
    Cell::Text(
        node.reason
            .as_ref()
            .map_or("Unknown".into(), |reason| said(reason).into()),
    )
}

fn version(nodes: &[&SinfoNode]) -> Cell<'static> {
    text(nodes.first().map_or("N/A", |node| &node.version))
}

/// What a node's reason has, or what is printed of a node without one.
fn reason(node: &SinfoNode, none: &str, of: fn(&SinfoReason) -> &str) -> Cell<'static> {
    text(node.reason.as_ref().map_or(none, of))
}

fn job_size(part: &SinfoPartition) -> Cell<'static> {
    let least = part.min_nodes.max(1);
    match part.max_nodes {
        None => Cell::Text(format!("{least}-infinite").into()),
        Some(most) if most == least => Cell::Text(most.to_string().into()),
        Some(most) => Cell::Text(format!("{least}-{most}").into()),
    }
}

fn or_null(value: &str) -> Cell<'static> {
    text(if value.is_empty() { "(null)" } else { value })
}

fn limit(time: Option<Seconds>) -> Cell<'static> {
    match time {
        Some(Seconds(seconds)) => {
            Cell::Text(elapsed_text(i64::try_from(seconds).unwrap_or(i64::MAX)).into())
        }
        None => text("infinite"),
    }
}

/// What counts as the load of a node that did not say it.
const NO_LOAD: u64 = u64::MAX;

fn load(hundredths: u64) -> String {
    match hundredths {
        NO_LOAD => "N/A".to_owned(),
        load => format!("{}.{:02}", load / 100, load % 100),
    }
}

fn count(nodes: &[&SinfoNode]) -> Cell<'static> {
    Cell::Text(nodes.len().to_string().into())
}

fn names(nodes: &[&SinfoNode]) -> Cell<'static> {
    let mut names: Vec<NodeName> = nodes.iter().map(|node| node.name.clone()).collect();
    node_list::sort(&mut names);
    Cell::Text(node_list::fold(&names).into())
}

/// Nodes that are taken, free, and neither.
pub(crate) fn by_state(nodes: &[&SinfoNode]) -> [usize; 3] {
    let count =
        |which: fn(NodeState) -> bool| nodes.iter().filter(|node| which(node.state)).count();
    let taken = count(|state| !state.is_down && state.usage != NodeUse::Idle);
    let other = count(|state| state.is_down || state.is_drained && state.usage == NodeUse::Idle);
    [taken, nodes.len() - taken - other, other]
}

fn states(nodes: &[&SinfoNode]) -> Cell<'static> {
    let [taken, free, other] = by_state(nodes);
    Cell::Text(format!("{taken}/{free}/{other}/{}", nodes.len()).into())
}

fn free(nodes: &[&SinfoNode]) -> Cell<'static> {
    let [taken, free, _] = by_state(nodes);
    Cell::Text(format!("{taken}/{free}").into())
}

fn cpus(nodes: &[&SinfoNode]) -> Cell<'static> {
    let (mut taken, mut free, mut other) = (0, 0, 0);
    for node in nodes {
        taken += node.used_cpus;
        let rest = node.cpus - node.used_cpus.min(node.cpus);
        if node.state.is_drained || node.state.is_down {
            other += rest;
        } else {
            free += rest;
        }
    }
    Cell::Text(format!("{taken}/{free}/{other}/{}", taken + free + other).into())
}

/// The least of some numbers, with `+` where others are greater.
pub(crate) fn least(nodes: &[&SinfoNode], value: impl Fn(&SinfoNode) -> u64) -> String {
    let values = nodes.iter().map(|node| value(node));
    let (least, most) = (values.clone().min(), values.max());
    let more = if least == most { "" } else { "+" };
    format!("{}{more}", least.unwrap_or(0))
}

/// The least and the greatest of some numbers, or the one where they are alike.
pub(crate) fn between(
    nodes: &[&SinfoNode],
    value: impl Fn(&SinfoNode) -> u64,
    text: fn(u64) -> String,
) -> String {
    let values = nodes.iter().map(|node| value(node));
    match (values.clone().min(), values.max()) {
        (Some(least), Some(most)) if least != most => format!("{}-{}", text(least), text(most)),
        (least, _) => text(least.unwrap_or(0)),
    }
}

fn layout(nodes: &[&SinfoNode]) -> Cell<'static> {
    let least = |of: fn(&SinfoNode) -> u32| self::least(nodes, |node| u64::from(of(node)));
    let sockets = least(|node| node.sockets);
    let (cores, threads) = (least(|node| node.cores), least(|node| node.threads));
    Cell::Text(format!("{sockets}:{cores}:{threads}").into())
}
