//! What `sinfo` prints of partitions and nodes: rows that differ in what is shown, as Slurm 22.05
//! puts them together.

use crate::commands::Printed;
use crate::commands::padding::padded;
use crate::commands::sinfo_args::SinfoArgs;
use crate::commands::sinfo_order::{is_in_state, sort_rows};
use crate::fields::sinfo_fields::{SinfoField, SinfoValue, least};
use crate::fields::squeue_format::{Format, Part};
use crate::fields::{Cell, FieldTable};
use crate::records::{SinfoNode, SinfoPartition};
use crate::values::{Timestamp, one_line};
use jiff::tz::TimeZone;

const LIST: &str = "partition:9 ,available:.5 ,time:.10 ,nodes:.6 ,statecompact:.6 ,nodelist:0";
const LONG_LIST: &str = "partition:9 ,available:.5 ,time:.10 ,size:.10 ,root:.4 ,oversubscribe:.8 ,groups:.10 ,nodes:.6 ,statelong:.11 ,nodelist:0";
const SUMMARY: &str = "partition:9 ,available:.5 ,time:.10 ,nodeaiot:.16 ,nodelist:0";
const NODES: &str = "nodelist:9 ,nodes:.6 ,partition:.9 ,statecompact:6";
const LONG_NODES: &str = "nodelist:9 ,nodes:.6 ,partition:.9 ,statelong:.11 ,cpus:4 ,socketcorethread:.8 ,memory:.6 ,disk:.8 ,weight:.6 ,features:.8 ,reason:20";
const REASONS: &str = "reason:20 ,user:9 ,timestamp:19 ,nodelist:0";
const LONG_REASONS: &str = "reason:20 ,userlong:12 ,timestamp:19 ,statecompact:6 ,nodelist:0";

impl SinfoArgs {
    /// What is printed of a cluster.
    #[must_use]
    pub fn print(
        &self,
        partitions: &[SinfoPartition],
        nodes: &[SinfoNode],
        now: Timestamp,
        zone: &TimeZone,
    ) -> Printed {
        let (mut format, complaint) = self.columns();
        let rows = self.rows(&format, partitions, nodes);
        if self.format.is_none() && self.long_format.is_none() {
            widen(&mut format, &rows);
        }
        let mut lines = Vec::new();
        if self.every.is_some() || self.long && !self.no_header {
            lines.extend(date(now, zone));
        }
        if !self.no_header {
            lines.push(line(&format, |field| Cell::Text(field.header.to_owned())));
        }
        lines.extend(
            rows.iter()
                .map(|row| line(&format, |field| cell(field, row))),
        );
        let complaints = format.complaints.iter();
        Printed {
            stdout: lines.iter().map(|line| format!("{line}\n")).collect(),
            stderr: complaints
                .map(|text| format!("{complaint}{text}"))
                .collect(),
        }
    }

    /// The columns, and what stands before a complaint about one.
    fn columns(&self) -> (Format<SinfoField>, &'static str) {
        match (&self.format, &self.long_format) {
            (Some(text), _) if !text.eq_ignore_ascii_case("%all") => {
                return (Format::by_letters(text), "");
            }
            (_, Some(text)) if !text.eq_ignore_ascii_case("all") => {
                let mut format = Format::by_names(text);
                for complaint in &mut format.complaints {
                    // Slurm says `job` of the names and `node` of the letters.
                    *complaint = complaint.replacen("node format", "job format", 1);
                }
                return (format, "sinfo: error: ");
            }
            (Some(_), _) | (_, Some(_)) => return (every_column(), ""),
            (None, None) => {}
        }
        let names = match (self.summary, self.by_node, self.reasons, self.long) {
            (true, ..) => SUMMARY,
            (_, true, _, false) => NODES,
            (_, true, _, true) => LONG_NODES,
            (_, _, true, false) => REASONS,
            (_, _, true, true) => LONG_REASONS,
            (_, _, _, true) => LONG_LIST,
            (_, _, _, false) => LIST,
        };
        (Format::by_names(names), "")
    }

    /// A row for each set of nodes of a partition that differ in a column. A partition without
    /// nodes has a row of its own, but not where nodes are listed.
    fn rows<'a>(
        &self,
        format: &Format<SinfoField>,
        partitions: &'a [SinfoPartition],
        nodes: &'a [SinfoNode],
    ) -> Vec<SinfoRow<'a>> {
        let mut rows: Vec<SinfoRow<'a>> = Vec::new();
        let wanted = |partition: &SinfoPartition| {
            let names = self.partitions.as_ref();
            match names {
                Some(names) => names.contains(&partition.name),
                None => self.all || !partition.is_hidden,
            }
        };
        let partitions = partitions.iter().enumerate();
        for (index, partition) in partitions.filter(|(_, partition)| wanted(partition)) {
            let of_partition = nodes
                .iter()
                .filter(|node| partition.nodes.contains(&node.name) && self.takes(node));
            let mut any = false;
            for node in of_partition {
                any = true;
                self.put(&mut rows, format, (index, partition), Some(node));
            }
            if !any && !self.by_node && !self.reasons {
                self.put(&mut rows, format, (index, partition), None);
            }
        }
        let own = if self.by_node { "N" } else { "#P,-t" };
        sort_rows(&mut rows, self.sort.as_deref().unwrap_or(own));
        rows
    }

    fn takes(&self, node: &SinfoNode) -> bool {
        let by_state = |states: &Vec<String>| states.iter().any(|state| is_in_state(node, state));
        self.nodes
            .as_ref()
            .is_none_or(|names| names.contains(&node.name))
            && self.states.as_ref().is_none_or(by_state)
            && (!self.dead || node.is_dead)
            && (!self.responding || !node.is_dead)
            && (!self.reasons || node.reason.is_some())
    }

    fn put<'a>(
        &self,
        rows: &mut Vec<SinfoRow<'a>>,
        format: &Format<SinfoField>,
        (partition_index, partition): (usize, &'a SinfoPartition),
        node: Option<&'a SinfoNode>,
    ) {
        let mut key = key(format, partition, node, self.exact);
        if self.by_node {
            key.push(Cell::Text(partition.name.clone()));
            key.extend(node.map(|node| Cell::Text(node.name.to_string())));
        }
        // A row of no node is not one of nodes.
        key.push(Cell::Text(node.is_some().to_string()));
        let index = rows
            .iter()
            .position(|row| row.key == key)
            .unwrap_or_else(|| {
                rows.push(SinfoRow {
                    key,
                    partition_index,
                    partition,
                    nodes: Vec::new(),
                });
                rows.len() - 1
            });
        // A node of several partitions counts once where they are not told apart.
        let nodes = &mut rows[index].nodes;
        if let Some(node) = node.filter(|node| !nodes.iter().any(|known| known.name == node.name)) {
            nodes.push(node);
        }
    }
}

/// Nodes of a partition that share a line.
pub(crate) struct SinfoRow<'a> {
    key: Vec<Cell>,
    /// The partition's place in the cluster's own list.
    pub(crate) partition_index: usize,
    /// The first partition that it stands for.
    pub(crate) partition: &'a SinfoPartition,
    /// Its nodes.
    pub(crate) nodes: Vec<&'a SinfoNode>,
}

/// The date over a long listing.
fn date(now: Timestamp, zone: &TimeZone) -> Option<String> {
    let now = jiff::Timestamp::from_millisecond(now.0).ok()?;
    let now = now.to_zoned(zone.clone());
    Some(now.strftime("%a %b %d %H:%M:%S %Y").to_string())
}

/// `%all`: capitals have a space after them, as Slurm has it.
fn every_column() -> Format<SinfoField> {
    let letters = ('a'..='z').chain('A'..='Z');
    let known = letters.filter(|letter| SinfoField::by_letter(*letter).is_some());
    let words = known.map(|letter| {
        let space = if letter.is_ascii_uppercase() { " " } else { "" };
        format!("%{letter}{space}")
    });
    let mut format = Format::by_letters(&words.collect::<Vec<_>>().join("|"));
    if let Some(Part::Column { suffix, .. }) = format.parts.last_mut() {
        " ".clone_into(suffix);
    }
    format
}

/// Columns of partitions and nodes are as wide as their longest value where `sinfo` chooses them.
fn widen(format: &mut Format<SinfoField>, rows: &[SinfoRow<'_>]) {
    for part in &mut format.parts {
        let Part::Column { field, width, .. } = part else {
            continue;
        };
        if *width > 0 && matches!(field.letter, Some('P' | 'N')) {
            let longest = rows.iter().map(|row| match cell(field, row) {
                Cell::Text(text) | Cell::Long(text) => text.len(),
                Cell::Null => 0,
            });
            *width = (*width).max(i64::try_from(longest.max().unwrap_or(0)).unwrap_or(0));
        }
    }
}

fn cell(field: &SinfoField, row: &SinfoRow<'_>) -> Cell {
    match field.value {
        SinfoValue::OfPartition(value) => value(row.partition),
        SinfoValue::OfNode(value) => match row.nodes.first() {
            Some(node) => value(node),
            None => Cell::Text("n/a".to_owned()),
        },
        SinfoValue::Least(value) => Cell::Text(least(&row.nodes, value)),
        SinfoValue::OfAll(value) => value(&row.nodes),
    }
}

/// What must be alike for nodes to share a row.
fn key(
    format: &Format<SinfoField>,
    partition: &SinfoPartition,
    node: Option<&SinfoNode>,
    exact: bool,
) -> Vec<Cell> {
    let columns = format.parts.iter().filter_map(|part| match part {
        Part::Column { field, .. } => Some(field),
        Part::Literal(_) => None,
    });
    let cells = columns.filter_map(|field| match field.value {
        SinfoValue::OfPartition(value) => Some(value(partition)),
        SinfoValue::OfNode(value) => node.map(value),
        SinfoValue::Least(value) if exact => node.map(|node| Cell::Text(value(node).to_string())),
        SinfoValue::Least(_) | SinfoValue::OfAll(_) => None,
    });
    cells.collect()
}

fn line(format: &Format<SinfoField>, cell: impl Fn(&SinfoField) -> Cell) -> String {
    let mut text = String::new();
    for part in &format.parts {
        match part {
            Part::Literal(literal) => text.push_str(literal),
            Part::Column {
                field,
                width,
                right,
                suffix,
            } => {
                text.push_str(&column(&cell(field), *width, *right));
                text.push_str(suffix);
            }
        }
    }
    text
}

/// Cut and filled up to its width; 0 leaves it as it is, and node lists are never cut.
fn column(cell: &Cell, width: i64, right: bool) -> String {
    let (value, whole) = match cell {
        Cell::Text(value) => (value.as_str(), false),
        Cell::Long(value) => (value.as_str(), true),
        Cell::Null => ("(null)", false),
    };
    let value = one_line(value);
    let width = usize::try_from(width).unwrap_or(0);
    if width == 0 {
        return value.into_owned();
    }
    let cut: String = if whole {
        value.into_owned()
    } else {
        value.chars().take(width).collect()
    };
    padded(&cut, width, !right)
}
