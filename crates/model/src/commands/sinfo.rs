//! What `sinfo` prints of partitions and nodes: rows that differ in what is shown, as Slurm 22.05
//! puts them together.

use crate::fields::Cell;
use crate::fields::sinfo_fields::{SinfoField, SinfoValue, least};
use crate::fields::squeue_format::{Format, Part};
use crate::records::{SinfoNode, SinfoPartition};

/// The format of `sinfo` alone.
pub const SINFO_FORMAT: &str = "%9P %.5a %.10l %.6D %.6t %N";
/// The format of `sinfo -s`.
pub const SINFO_SUMMARY: &str = "%9P %.5a %.10l %.16F %N";
/// The format of `sinfo -l`.
pub const SINFO_LONG: &str = "%9P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N";

/// The lines of `sinfo`, its header first: a row for each set of nodes of a partition that differ
/// in a column. A partition without nodes has a row where a column of partitions is shown.
#[must_use]
pub fn sinfo_lines(
    format: &Format<SinfoField>,
    partitions: &[SinfoPartition],
    nodes: &[SinfoNode],
) -> Vec<String> {
    let header = line(format, |field| Cell::Text(field.header.to_owned()));
    let mut rows: Vec<Row<'_>> = Vec::new();
    for partition in partitions {
        let of_partition = nodes
            .iter()
            .filter(|node| partition.nodes.contains(&node.name));
        let mut any = false;
        for node in of_partition {
            any = true;
            put(
                &mut rows,
                key(format, partition, Some(node)),
                partition,
                Some(node),
            );
        }
        if !any {
            put(&mut rows, key(format, partition, None), partition, None);
        }
    }
    let body = rows.iter().map(|row| {
        line(format, |field| match field.value {
            SinfoValue::OfPartition(value) => value(row.partition),
            SinfoValue::OfNode(value) => match row.nodes.first() {
                Some(node) => value(node),
                None => Cell::Text("n/a".to_owned()),
            },
            SinfoValue::Least(value) => Cell::Text(least(&row.nodes, value)),
            SinfoValue::OfAll(value) => value(&row.nodes),
        })
    });
    std::iter::once(header).chain(body).collect()
}

struct Row<'a> {
    key: Vec<Cell>,
    partition: &'a SinfoPartition,
    nodes: Vec<&'a SinfoNode>,
}

fn put<'a>(
    rows: &mut Vec<Row<'a>>,
    key: Vec<Cell>,
    partition: &'a SinfoPartition,
    node: Option<&'a SinfoNode>,
) {
    let index = rows
        .iter()
        .position(|row| row.key == key)
        .unwrap_or_else(|| {
            rows.push(Row {
                key,
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

/// What must be alike for nodes to share a row.
fn key(
    format: &Format<SinfoField>,
    partition: &SinfoPartition,
    node: Option<&SinfoNode>,
) -> Vec<Cell> {
    let columns = format.parts.iter().filter_map(|part| match part {
        Part::Column { field, .. } => Some(field),
        Part::Literal(_) => None,
    });
    let cells = columns.filter_map(|field| match field.value {
        SinfoValue::OfPartition(value) => Some(value(partition)),
        SinfoValue::OfNode(value) => node.map(value),
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
    // What the formatter can do.
    let width = usize::try_from(width).unwrap_or(0).min(u16::MAX.into());
    if width == 0 {
        return value.to_owned();
    }
    let cut: String = match whole {
        true => value.to_owned(),
        false => value.chars().take(width).collect(),
    };
    match right {
        true => format!("{cut:>width$}"),
        false => format!("{cut:<width$}"),
    }
}
