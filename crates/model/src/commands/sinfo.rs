//! What `sinfo` prints of partitions and nodes: rows that differ in what is shown, as Slurm 22.05
//! puts them together.

use crate::commands::Printed;
use crate::commands::padding::padded;
use crate::commands::sinfo_args::SinfoArgs;
use crate::commands::sinfo_order::sort_rows;
use crate::commands::sinfo_states::NodeStateFilter;
use crate::fields::sinfo_fields::{SinfoField, SinfoValue, between, least};
use crate::fields::squeue_format::{Format, Part};
use crate::fields::{Cell, FieldTable};
use crate::records::{SinfoNode, SinfoPartition};
use crate::values::{Timestamp, amount_text, one_line};
use jiff::tz::TimeZone;

const LIST: &str = "partition:9 ,available:.5 ,time:.10 ,nodes:.6 ,statecompact:.6 ,nodelist:0";
const LONG_LIST: &str = "partition:9 ,available:.5 ,time:.10 ,size:.10 ,root:.4 ,oversubscribe:.8 ,groups:.10 ,nodes:.6 ,statelong:.11 ,nodelist:0";
const SUMMARY: &str = "partition:9 ,available:.5 ,time:.10 ,nodeaiot:.16 ,nodelist:0";
const NODES: &str = "nodelist:9 ,nodes:.6 ,partition:.9 ,statecompact:6";
const LONG_NODES: &str = "nodelist:9 ,nodes:.6 ,partition:.9 ,statelong:.11 ,cpus:4 ,socketcorethread:.8 ,memory:.6 ,disk:.8 ,weight:.6 ,features:.8 ,reason:20";
const REASONS: &str = "reason:20 ,user:9 ,timestamp:19 ,nodelist:0";
const LONG_REASONS: &str = "reason:20 ,userlong:12 ,timestamp:19 ,statecompact:6 ,nodelist:0";

/// Whether `-O` asks for each column, whatever width it names for them.
fn is_all(names: &str) -> bool {
    let (name, _width) = names.split_once(':').unwrap_or((names, ""));
    name.eq_ignore_ascii_case("all")
}

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
        let is_dated = self.every.is_some() || self.long || self.is_verbose();
        if is_dated && !self.no_header {
            lines.extend(date(now, zone));
        }
        if !self.no_header {
            lines.push(line(&format, |field| Cell::Text(field.header.into())));
        }
        lines.extend(
            rows.iter()
                .map(|row| line(&format, |field| self.shown(field, row))),
        );
        let complaints = format.complaints.iter();
        Printed {
            stdout: lines.iter().map(|line| format!("{line}\n")).collect(),
            stderr: complaints
                .map(|text| format!("{complaint}{text}"))
                .collect(),
            status: 0,
        }
    }

    /// A column of a row as it is printed: counts in units of 1024 where nothing is lost.
    fn shown(&self, field: &SinfoField, row: &SinfoRow<'_>) -> Cell<'static> {
        match cell(field, row) {
            Cell::Text(text) if field.counts && !self.no_convert => {
                Cell::Text(in_units(&text).into())
            }
            other => other,
        }
    }

    /// The columns, and what stands before a complaint about one.
    fn columns(&self) -> (Format<SinfoField>, &'static str) {
        match (&self.format, &self.long_format) {
            (Some(text), _) if !text.eq_ignore_ascii_case("%all") => {
                return (Format::by_letters(text), "");
            }
            (_, Some(text)) if !is_all(text) => {
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
        let names = self.own_columns().unwrap_or_default();
        (Format::by_names(names), "")
    }

    /// The columns by name, where none are asked for.
    pub(crate) fn own_columns(&self) -> Option<&'static str> {
        if self.format.is_some() || self.long_format.is_some() {
            return None;
        }
        Some(
            match (self.summary, self.by_node, self.reasons, self.long) {
                (true, ..) => SUMMARY,
                (_, true, _, false) => NODES,
                (_, true, _, true) => LONG_NODES,
                (_, _, true, false) => REASONS,
                (_, _, true, true) => LONG_REASONS,
                (_, _, _, true) => LONG_LIST,
                (_, _, _, false) => LIST,
            },
        )
    }

    /// The names of the columns that are shown.
    pub(crate) fn column_names(&self) -> Vec<&'static str> {
        let (format, _) = self.columns();
        columns(&format)
            .filter_map(|field| field.names.first().copied())
            .collect()
    }

    /// A row for each set of nodes of a partition that differ in a column. Where partitions are shown, each
    /// has a row, also without nodes, but not where nodes are listed.
    fn rows<'a>(
        &self,
        format: &Format<SinfoField>,
        partitions: &'a [SinfoPartition],
        nodes: &'a [SinfoNode],
    ) -> Vec<SinfoRow<'a>> {
        let wanted = |partition: &SinfoPartition| match &self.partitions {
            Some(names) => names.contains(&partition.name),
            None => self.all || !partition.is_hidden,
        };
        let partitions = partitions.iter().enumerate();
        let partitions: Vec<_> = partitions.filter(|(_, it)| wanted(it)).collect();
        let mut rows = Vec::new();
        if !self.by_node && columns(format).any(|field| matches!(field.letter, Some('P' | 'R'))) {
            rows.extend(partitions.iter().map(|listed| SinfoRow::of(*listed)));
        }
        for listed in partitions {
            let of_partition = nodes
                .iter()
                .filter(|node| listed.1.nodes.contains(&node.name) && self.takes(node));
            for node in of_partition {
                self.put(&mut rows, format, listed, node);
            }
        }
        let own = if self.by_node { "N" } else { "#P,-t" };
        sort_rows(&mut rows, self.sort.as_deref().unwrap_or(own));
        rows
    }

    fn takes(&self, node: &SinfoNode) -> bool {
        let states = match &self.states {
            None if self.reasons => Some(NodeStateFilter::out_of_service()),
            states => states.clone(),
        };
        let names = self.nodes.as_ref();
        names.is_none_or(|names| names.contains(&node.name))
            && states.is_none_or(|states| states.takes(node.state))
            && (!self.dead || node.state.is_lost)
            && (!self.responding || !node.state.is_lost)
    }

    /// Puts a node into the first row that shows it as well, or into one of its own.
    fn put<'a>(
        &self,
        rows: &mut Vec<SinfoRow<'a>>,
        format: &Format<SinfoField>,
        listed: (usize, &'a SinfoPartition),
        node: &'a SinfoNode,
    ) {
        let is_alike = |row: &SinfoRow<'_>| {
            let is_there = self.reasons || are_partitions_alike(format, row.partition, listed.1);
            let first = row.nodes.first();
            is_there
                && first.is_none_or(|first| {
                    !self.by_node && are_nodes_alike(format, first, node, self.exact)
                })
        };
        let index = match rows.iter().position(is_alike) {
            Some(index) => index,
            None => {
                rows.push(SinfoRow::of(listed));
                rows.len() - 1
            }
        };
        // A node of several partitions counts once where they are not told apart.
        let nodes = &mut rows[index].nodes;
        if !nodes.iter().any(|known| known.name == node.name) {
            nodes.push(node);
        }
    }
}

/// Nodes of a partition that share a line.
pub(crate) struct SinfoRow<'a> {
    /// The partition's place in the cluster's own list.
    pub(crate) partition_index: usize,
    /// The first partition that it stands for.
    pub(crate) partition: &'a SinfoPartition,
    /// Its nodes.
    pub(crate) nodes: Vec<&'a SinfoNode>,
}

impl<'a> SinfoRow<'a> {
    fn of((partition_index, partition): (usize, &'a SinfoPartition)) -> SinfoRow<'a> {
        SinfoRow {
            partition_index,
            partition,
            nodes: Vec::new(),
        }
    }
}

/// A text with each number in it as [`amount_text`] has it.
fn in_units(text: &str) -> String {
    let parts = text.split_inclusive(|letter: char| !letter.is_ascii_digit());
    let shown = parts.map(|part| {
        let digits = part.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        let number = digits.parse().map(amount_text);
        number.unwrap_or_default() + &part[digits.len()..]
    });
    shown.collect()
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

fn cell(field: &SinfoField, row: &SinfoRow<'_>) -> Cell<'static> {
    let none = SinfoNode::default();
    match field.value {
        SinfoValue::OfPartition(value) | SinfoValue::OfFirstPartition(value) => {
            value(row.partition)
        }
        SinfoValue::OfNode(value) => value(row.nodes.first().unwrap_or(&&none)),
        SinfoValue::OfState(value) => Cell::Text(match row.nodes.first() {
            Some(node) => value(node.state).into(),
            None => "n/a".into(),
        }),
        SinfoValue::Least(value) => Cell::Text(least(&row.nodes, value).into()),
        SinfoValue::Between(value, text) => Cell::Text(between(&row.nodes, value, text).into()),
        SinfoValue::OfAll(value) | SinfoValue::OfAlike(value, _) => value(&row.nodes),
    }
}

fn columns(format: &Format<SinfoField>) -> impl Iterator<Item = &'static SinfoField> {
    format.parts.iter().filter_map(|part| match part {
        Part::Column { field, .. } => Some(*field),
        Part::Literal(_) => None,
    })
}

/// Whether nodes of these partitions may share a row.
fn are_partitions_alike(
    format: &Format<SinfoField>,
    one: &SinfoPartition,
    other: &SinfoPartition,
) -> bool {
    one.name == other.name
        || columns(format).all(|field| match field.value {
            SinfoValue::OfPartition(value) => value(one) == value(other),
            _ => true,
        })
}

/// Whether these nodes may share a row.
fn are_nodes_alike(
    format: &Format<SinfoField>,
    one: &SinfoNode,
    other: &SinfoNode,
    exact: bool,
) -> bool {
    columns(format).all(|field| match field.value {
        SinfoValue::OfNode(value) => value(one) == value(other),
        SinfoValue::OfState(value) => value(one.state) == value(other.state),
        SinfoValue::Least(value) | SinfoValue::Between(value, _) if exact => {
            value(one) == value(other)
        }
        SinfoValue::OfAlike(_, value) if exact => value(one) == value(other),
        _ => true,
    })
}

fn line(format: &Format<SinfoField>, cell: impl Fn(&SinfoField) -> Cell<'static>) -> String {
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
                let cell = cell(field);
                text.push_str(&column(&cell, *width, *right, field.letter == Some('P')));
                text.push_str(suffix);
            }
        }
    }
    text
}

/// Cut and filled up to its width; 0 leaves it as it is. The mark of the default partition is kept.
fn column(cell: &Cell<'_>, width: i64, right: bool, keeps_mark: bool) -> String {
    let value = match cell {
        Cell::Text(value) | Cell::Long(value) => value.as_ref(),
        Cell::Null => "(null)",
    };
    let value = one_line(value);
    let width = usize::try_from(width).unwrap_or(0);
    if width == 0 {
        return value.into_owned();
    }
    let mut cut: String = value.chars().take(width).collect();
    if keeps_mark && value.ends_with('*') && cut.len() < value.len() {
        cut.pop();
        cut.push('*');
    }
    padded(&cut, width, !right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_columns_may_have_a_width() {
        assert!(is_all("all") && is_all("ALL:1"));
        assert!(!is_all("allocmem:10") && !is_all("allocnodes"));
    }
}
