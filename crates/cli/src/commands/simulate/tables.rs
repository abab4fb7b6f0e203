//! What `yard simulate` prints: measures of each policy, and waits by size, user and queue.

use crate::words::{fitted, length};
use sched::replay::{Measures, Part, Policy, Report, SizeClass, Trace};
use std::fmt::Write as _;

/// So many users and queues are shown; `--json` has all.
const SHOWN: usize = 5;

/// A policy's name, as its option has it.
pub(super) fn name(policy: Policy) -> &'static str {
    match policy {
        Policy::Fifo => "fifo",
        Policy::Easy => "easy",
        Policy::EasySjbf => "easy-sjbf",
        Policy::Conservative => "conservative",
        Policy::Slurm => "slurm",
    }
}

/// A row a measure, a column a policy.
pub(super) fn table(reports: &[Report], width: usize) -> String {
    let time = |seconds: f64| length((seconds * 1000.0).round() as i64);
    let percent = |share: Option<f64>| share.map(|it| format!("{:.1} %", it * 100.0));
    type Cell<'a> = &'a dyn Fn(&Measures) -> Option<String>;
    let rows: &[(&str, Cell<'_>)] = &[
        ("jobs", &|it| Some(it.jobs.to_string())),
        ("mean wait", &|it| Some(time(it.wait.mean))),
        ("median wait", &|it| Some(time(it.wait.median))),
        ("95 of 100 wait at most", &|it| Some(time(it.wait.p95))),
        ("longest wait", &|it| Some(time(it.wait.max))),
        ("mean bounded slowdown", &|it| {
            Some(format!("{:.2}", it.bounded_slowdown.mean))
        }),
        ("greatest", &|it| {
            Some(format!("{:.1}", it.bounded_slowdown.max))
        }),
        ("CPUs in use", &|it| percent(it.cpu_use)),
        ("GPUs in use", &|it| percent(it.gpu_use)),
        ("backfilled", &|it| percent(Some(it.backfilled))),
        ("first to last", &|it| Some(time(it.length))),
    ];
    let mut head = vec![""];
    head.extend(reports.iter().map(|report| name(report.rules.policy)));
    let rows: Vec<Vec<String>> = rows
        .iter()
        .filter_map(|(label, cell)| {
            let cells: Vec<Option<String>> = reports
                .iter()
                .map(|report| cell(&report.measures))
                .collect();
            let is_known = cells.iter().any(Option::is_some);
            let cells = cells
                .into_iter()
                .map(|cell| cell.unwrap_or_else(|| "–".to_owned()));
            is_known.then(|| std::iter::once((*label).to_owned()).chain(cells).collect())
        })
        .collect();
    fitted(&head, &rows, width)
}

/// The mean waits under several policies, a column each: by size, then of those users and queues that used
/// most.
pub(super) fn waits(reports: &[Report], trace: &Trace, width: usize) -> String {
    let units = if trace.jobs.iter().any(|job| job.gpus > 0) {
        "GPUs"
    } else {
        "processors"
    };
    let sizes = |measures: &Measures| {
        let sizes = measures.sizes.iter();
        let rows = sizes.map(|size| (size_name(size), size.jobs, size.wait.mean));
        rows.collect::<Vec<_>>()
    };
    let of_parts = |parts: &[Part]| {
        let rows = parts.iter();
        let rows = rows.map(|part| (part.name.to_string(), part.jobs, part.mean_wait));
        rows.collect::<Vec<_>>()
    };
    let users = |measures: &Measures| of_parts(&measures.users);
    let queues = |measures: &Measures| of_parts(&measures.queues);
    type Rows<'a> = &'a dyn Fn(&Measures) -> Vec<(String, usize, f64)>;
    let matrices: [(&str, Rows<'_>, usize); 3] = [
        (units, &sizes, usize::MAX),
        ("user", &users, SHOWN),
        ("queue", &queues, SHOWN),
    ];
    let mut text = String::new();
    for (what, rows, shown) in matrices {
        let columns: Vec<_> = reports
            .iter()
            .map(|report| rows(&report.measures))
            .collect();
        let Some(first) = columns.first().filter(|first| first.len() > 1) else {
            continue;
        };
        let wait = |column: &Vec<(String, usize, f64)>, name: &str| {
            let row = column.iter().find(|(own, ..)| own == name);
            row.map_or_else(
                || "–".to_owned(),
                |(_, _, wait)| length((wait * 1000.0).round() as i64),
            )
        };
        let rows: Vec<Vec<String>> = first
            .iter()
            .take(shown)
            .map(|(name, jobs, _)| {
                let waits = columns.iter().map(|column| wait(column, name));
                [name.clone(), jobs.to_string()]
                    .into_iter()
                    .chain(waits)
                    .collect()
            })
            .collect();
        let mut head = vec![what, "jobs"];
        head.extend(reports.iter().map(|report| name(report.rules.policy)));
        let _ = write!(text, "\nmean wait\n{}", fitted(&head, &rows, width));
        if first.len() > shown {
            let _ = writeln!(text, "{} more: --json has all", first.len() - shown);
        }
    }
    text
}

/// `1`, `2-3`, `4-7`
pub(super) fn size_name(size: &SizeClass) -> String {
    match size.from {
        0 | 1 => size.from.to_string(),
        from => format!("{from}-{}", size.to),
    }
}

/// Those that used most.
pub(super) fn parts(what: &str, parts: &[Part], width: usize) -> String {
    let has_names = parts.iter().any(|part| !part.name.is_empty());
    if !has_names || parts.len() < 2 {
        return String::new();
    }
    let rows: Vec<Vec<String>> = parts
        .iter()
        .take(SHOWN)
        .map(|part| {
            let hours = if part.gpu_hours > 0.0 {
                part.gpu_hours
            } else {
                part.cpu_hours
            };
            vec![
                part.name.to_string(),
                part.jobs.to_string(),
                length((part.mean_wait * 1000.0).round() as i64),
                format!("{:.2}", part.mean_bounded_slowdown),
                format!("{hours:.0}"),
            ]
        })
        .collect();
    let head = if parts.iter().any(|part| part.gpu_hours > 0.0) {
        "GPU hours"
    } else {
        "CPU hours"
    };
    let mut text = format!(
        "\n{}",
        fitted(
            &[what, "jobs", "mean wait", "mean slowdown", head],
            &rows,
            width
        )
    );
    if parts.len() > SHOWN {
        let _ = writeln!(text, "{} more: --json has all", parts.len() - SHOWN);
    }
    text
}
