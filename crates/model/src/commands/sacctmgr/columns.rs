//! The columns of `sacctmgr`: names, headers, widths. From 22.05's `sacctmgr/common.c`.

use crate::commands::padding::{asked_width, padded};
use crate::values::one_line;

/// A column.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Column {
    /// Its names in `Format=`; the beginning of one is enough, of at least `least` letters.
    names: &'static [&'static str],
    least: usize,
    /// It stands on the left.
    left: bool,
    /// Its header.
    pub(super) header: &'static str,
    /// Its width where none is asked for.
    pub(super) width: usize,
    /// What stands in it: a setting's name, or one of the entity's own.
    pub(super) key: &'static str,
}

const fn column(
    names: &'static [&'static str],
    header: &'static str,
    width: usize,
    key: &'static str,
) -> Column {
    Column {
        names,
        least: 1,
        left: false,
        header,
        width,
        key,
    }
}

/// One of nodes, whose names begin alike.
const fn of_nodes(column: Column, left: bool) -> Column {
    Column {
        least: 5,
        left,
        ..column
    }
}

/// One of whose name more letters are needed.
const fn long(column: Column, least: usize) -> Column {
    Column { least, ..column }
}

/// In the order in which the beginning of a name finds them.
#[rustfmt::skip]
const COLUMNS: &[Column] = &[
    column(&["account", "acct"], "Account", 10, "account"),
    column(&["action"], "Action", 20, "action"),
    column(&["actor"], "Actor", 10, "actor"),
    column(&["adminlevel"], "Admin", 9, "admin"),
    column(&["allocated"], "% Allocated", 11, "allocated"),
    column(&["allowed"], "% Allowed", 10, "allowed"),
    column(&["associations"], "Assocs", 10, "associations"),
    column(&["classification"], "Class", 9, "class"),
    column(&["cluster"], "Cluster", 10, "cluster"),
    column(&["clusternodes"], "Cluster Nodes", 20, "clusternodes"),
    column(&["coordinators"], "Coord Accounts", 20, "coordinators"),
    column(&["controlhost"], "ControlHost", 15, "controlhost"),
    column(&["controlport"], "ControlPort", 12, "controlport"),
    column(&["count"], "Count", 6, "count"),
    column(&["countallowed"], "# Allowed", 10, "countallowed"),
    column(&["cpucount"], "CPU Cnt", 7, "cpucount"),
    long(column(&["defaultaccount"], "Def Acct", 10, "defaultaccount"), 8),
    long(column(&["defaultqos"], "Def QOS", 9, "defaultqos"), 8),
    long(column(&["defaultwckey"], "Def WCKey", 10, "defaultwckey"), 8),
    column(&["description"], "Descr", 20, "description"),
    column(&["duration"], "Duration", 13, "duration"),
    column(&["end", "timeend"], "TimeEnd", 19, "end"),
    column(&["event"], "Event", 7, "event"),
    column(&["eventraw"], "EventRaw", 8, "eventraw"),
    column(&["fairshare", "share", "shares"], "Share", 9, "fairshare"),
    column(&["features"], "Features", 20, "features"),
    column(&["federation"], "Federation", 10, "federation"),
    column(&["fedstate"], "FedState", 12, "fedstate"),
    column(&["fedstateraw"], "FedStateRaw", 11, "fedstateraw"),
    column(&["flags"], "Flags", 20, "flags"),
    column(&["gracetime"], "GraceTime", 10, "gracetime"),
    column(&["grpcpumins"], "GrpCPUMins", 11, "grpcpumins"),
    column(&["grpcpurunmins"], "GrpCPURunMins", 13, "grpcpurunmins"),
    column(&["grpcpus"], "GrpCPUs", 8, "grpcpus"),
    column(&["grpjobs"], "GrpJobs", 7, "grpjobs"),
    column(&["grpjobsaccrue"], "GrpJobsAccrue", 13, "grpjobsaccrue"),
    column(&["grpmemory"], "GrpMem", 7, "grpmem"),
    column(&["grpnodes"], "GrpNodes", 8, "grpnodes"),
    column(&["grpsubmitjobs"], "GrpSubmit", 9, "grpsubmitjobs"),
    column(&["grptres"], "GrpTRES", 13, "grptres"),
    column(&["grptresmins"], "GrpTRESMins", 13, "grptresmins"),
    column(&["grptresrunmins"], "GrpTRESRunMins", 13, "grptresrunmins"),
    column(&["grpwall"], "GrpWall", 11, "grpwall"),
    column(&["id"], "ID", 6, "id"),
    column(&["info"], "Info", 20, "info"),
    column(&["lft"], "LFT", 6, "lft"),
    column(&["limitfactor"], "LimitFactor", 11, "limitfactor"),
    column(&["maxcpumins", "maxcpuminsperjob"], "MaxCPUMins", 11, "maxcpumins"),
    column(&["maxcpus", "maxcpusperjob"], "MaxCPUs", 8, "maxcpus"),
    column(&["maxcpuspu", "maxcpusperuser"], "MaxCPUsPU", 9, "maxcpusperuser"),
    column(&["maxjobs"], "MaxJobs", 7, "maxjobs"),
    column(&["maxjobsaccrue"], "MaxJobsAccrue", 13, "maxjobsaccrue"),
    column(&["maxjobsaccruepa", "maxjobsaccrueperaccount"], "MaxJobsAccruePA", 15, "maxjobsaccrueperaccount"),
    column(&["maxjobsaccruepu", "maxjobsaccrueperuser"], "MaxJobsAccruePU", 15, "maxjobsaccrueperuser"),
    column(&["maxjobspa", "maxjobsperaccount"], "MaxJobsPA", 9, "maxjobsperaccount"),
    column(&["maxjobspu", "maxjobsperuser"], "MaxJobsPU", 9, "maxjobsperuser"),
    column(&["maxnodes", "maxnodesperjob"], "MaxNodes", 8, "maxnodes"),
    column(&["maxnodespu", "maxnodesperuser"], "MaxNodesPU", 10, "maxnodesperuser"),
    column(&["maxsubmitjobs"], "MaxSubmit", 9, "maxsubmitjobs"),
    column(&["maxsubmitpa", "maxsubmitjobspa", "maxsubmitjobsperaccount"], "MaxSubmitPA", 11, "maxsubmitjobsperaccount"),
    column(&["maxsubmitpu", "maxsubmitjobspu", "maxsubmitjobsperuser"], "MaxSubmitPU", 11, "maxsubmitjobsperuser"),
    column(&["maxtres", "maxtresperjob"], "MaxTRES", 13, "maxtres"),
    column(&["maxtresmins", "maxtresminsperjob"], "MaxTRESMins", 13, "maxtresmins"),
    column(&["maxtrespa", "maxtresperaccount"], "MaxTRESPA", 13, "maxtresperaccount"),
    column(&["maxtrespernode", "maxtrespn"], "MaxTRESPerNode", 14, "maxtrespernode"),
    column(&["maxtrespu", "maxtresperuser"], "MaxTRESPU", 13, "maxtresperuser"),
    column(&["maxwall", "maxwalldurationperjob"], "MaxWall", 11, "maxwall"),
    column(&["mincpus", "mincpusperjob"], "MinCPUs", 8, "mincpus"),
    column(&["minpriothreshold"], "MinPrioThres", 12, "minpriothresh"),
    column(&["mintres", "mintresperjob"], "MinTRES", 13, "mintres"),
    column(&["name"], "Name", 10, "name"),
    of_nodes(column(&["nodecount"], "NodeCount", 9, "nodecount"), false),
    of_nodes(column(&["nodename", "nodenames"], "NodeName", 15, "nodename"), true),
    column(&["organization"], "Org", 20, "organization"),
    column(&["parentid"], "ParentID", 8, "parentid"),
    column(&["parentname"], "ParentName", 10, "parent"),
    column(&["partition"], "Partition", 10, "partition"),
    column(&["pluginidselect"], "PluginIDSelect", 14, "pluginidselect"),
    column(&["preempt"], "Preempt", 10, "preempt"),
    column(&["preemptexempttime"], "PreemptExemptTime", 19, "preemptexempttime"),
    column(&["preemptmode"], "PreemptMode", 11, "preemptmode"),
    column(&["priority"], "Priority", 10, "priority"),
    column(&["problem"], "Problem", 40, "problem"),
    column(&["qoslevel", "qos"], "QOS", 20, "qos"),
    long(column(&["qosrawlevel", "qosraw", "qos_raw"], "QOS_RAW", 10, "qosraw"), 4),
    column(&["reason"], "Reason", 30, "reason"),
    column(&["rgt"], "RGT", 6, "rgt"),
    column(&["rpc"], "RPC", 5, "rpc"),
    column(&["server"], "Server", 10, "server"),
    column(&["servertype"], "ServerType", 10, "servertype"),
    column(&["start", "timestart"], "TimeStart", 19, "start"),
    column(&["state"], "State", 6, "state"),
    column(&["stateraw"], "StateRaw", 8, "stateraw"),
    column(&["timestamp"], "Time", 19, "time"),
    column(&["tres"], "TRES", 20, "tres"),
    column(&["type"], "Type", 8, "type"),
    column(&["unusedwall"], "UnusedWall", 10, "unused"),
    column(&["usagefactor"], "UsageFactor", 11, "usagefactor"),
    column(&["usagethreshold"], "UsageThres", 10, "usagethreshold"),
    column(&["user"], "User", 10, "user"),
    column(&["wckeys"], "WCKey", 10, "wckey"),
    column(&["where"], "Where", 20, "where"),
];

/// A column of an answer, with its width and side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen {
    pub(super) column: &'static Column,
    pub(super) width: usize,
    pub(super) left: bool,
}

/// `account%20,user%-8,qos`.
///
/// # Errors
/// The first name of no column.
pub(super) fn choose(format: &str) -> Result<Vec<Chosen>, String> {
    let one = |word: &str| {
        let (name, size) = word.split_once('%').unwrap_or((word, ""));
        let lower = name.to_ascii_lowercase();
        let fits = |column: &&Column| column.names.contains(&lower.as_str());
        let begins = |column: &&Column| {
            let mut names = column.names.iter();
            lower.len() >= column.least && names.any(|name| name.starts_with(&lower))
        };
        let column = COLUMNS.iter().find(fits);
        let column = column.or_else(|| COLUMNS.iter().find(begins));
        let column = column.filter(|_| !name.is_empty());
        let column = column.ok_or_else(|| format!("Unknown field '{lower}'"))?;
        let width = asked_width(size).map_or(column.width, isize::unsigned_abs);
        Ok(Chosen {
            column,
            width,
            left: size.starts_with('-') || size.is_empty() && column.left,
        })
    };
    format.split(',').map(one).collect()
}

/// Moments, which are cut without a mark where they are wider than their column.
const MOMENTS: &[&str] = &["end", "start", "time"];

/// Lengths of time, which are never cut.
const LENGTHS: &[&str] = &[
    "duration",
    "gracetime",
    "grpwall",
    "maxwall",
    "preemptexempttime",
];

/// How an answer is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    /// `--noheader`
    pub(super) no_header: bool,
    /// `--parsable`, `--parsable2`: with a delimiter at the end or without.
    pub(super) parsable: Option<bool>,
}

/// A table: header, rules, rows.
/// The table of some records; `cell` says what stands under a column's key.
pub(super) fn table_of<T: Copy>(
    columns: &[Chosen],
    records: impl IntoIterator<Item = T>,
    style: Style,
    cell: impl Fn(T, &str) -> String,
) -> String {
    let cells = |record: T| {
        let keys = columns.iter().map(|chosen| chosen.column.key);
        keys.map(|key| cell(record, key)).collect()
    };
    let rows: Vec<Vec<String>> = records.into_iter().map(cells).collect();
    table(columns, &rows, style)
}

pub(super) fn table(columns: &[Chosen], rows: &[Vec<String>], style: Style) -> String {
    let mut text = String::new();
    if !style.no_header {
        let headers: Vec<String> = columns
            .iter()
            .map(|it| it.column.header.to_owned())
            .collect();
        put_line(columns, &headers, style, true, &mut text);
        if style.parsable.is_none() {
            for column in columns {
                text.push_str(&"-".repeat(column.width));
                text.push(' ');
            }
            text.push('\n');
        }
    }
    for row in rows {
        put_line(columns, row, style, false, &mut text);
    }
    text
}

fn put_line(columns: &[Chosen], cells: &[String], style: Style, header: bool, text: &mut String) {
    // Reasons and descriptions are somebody's own words: none may end a line or move a cursor.
    let cells: Vec<_> = cells.iter().map(|cell| one_line(cell)).collect();
    if let Some(ended) = style.parsable {
        text.push_str(&cells.join("|"));
        text.push_str(if ended { "|\n" } else { "\n" });
        return;
    }
    for (cell, column) in cells.iter().zip(columns) {
        let width = column.width;
        let cell: String = match cell.chars().count() > width {
            // A header is cut without a mark.
            true if header => cell.chars().take(width).collect(),
            true if MOMENTS.contains(&column.column.key) => cell.chars().take(width).collect(),
            true if LENGTHS.contains(&column.column.key) => cell.clone().into_owned(),
            true => {
                let kept: String = cell.chars().take(width.saturating_sub(1)).collect();
                format!("{kept}+")
            }
            false => cell.clone().into_owned(),
        };
        text.push_str(&padded(&cell, width, column.left));
        text.push(' ');
    }
    text.push('\n');
}
