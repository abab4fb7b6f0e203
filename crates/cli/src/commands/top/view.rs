//! What is shown, as text: of lists, runs and samples.

use crate::commands::listed_cells::cells;
use crate::words;
use model::Timestamp;
use runs::{Listed, RunLook};
use watch::{Latest, Measure, Subject};

/// What the screen shows, as it was at one moment.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// The newest first.
    pub rows: Vec<Row>,
    /// The chosen one.
    pub detail: Option<Detail>,
    /// What could not be asked, in words.
    pub problems: Vec<String>,
}

/// A line of the list.
#[derive(Clone, Debug)]
pub struct Row {
    /// What a command takes for it.
    pub key: String,
    /// Name, job, cluster, state, since, progress, used, note.
    cells: [String; 8],
    /// Whether it can still change.
    pub is_live: bool,
}

/// The titles of a row's cells.
pub const HEAD: [&str; 8] = [
    "RUN", "JOB", "CLUSTER", "STATE", "SINCE", "PROGRESS", "USED", "NOTE",
];

impl Row {
    /// One line of the list.
    pub fn of(row: &Listed, look: &RunLook, now: Timestamp) -> Row {
        let mut cells = cells(row, now).into_iter().map(|cell| plain(&cell));
        let mut next = || cells.next().unwrap_or_default();
        let (name, job, cluster, state) = (next(), next(), next(), next());
        let (since, progress, note) = (next(), next(), next());
        Row {
            key: row.key(),
            is_live: row.state.is_live(),
            cells: [name, job, cluster, state, since, progress, used(look), note],
        }
    }

    /// Its cells.
    pub fn cells(&self) -> Vec<String> {
        self.cells.to_vec()
    }

    /// The word for where it stands.
    pub fn state(&self) -> &str {
        &self.cells[3]
    }
}

/// `8 × 93 %` of GPUs, else `3.1 CPUs`.
fn used(look: &RunLook) -> String {
    let of = |measure, is_own: fn(&Subject) -> bool| {
        let own = look
            .measured
            .iter()
            .filter(move |(_, subject, _)| is_own(subject));
        let values: Vec<f32> = own
            .filter_map(|(.., latest)| latest.sample.get(measure))
            .collect();
        values
    };
    let gpus = of(Measure::Busy, |subject| matches!(subject, Subject::Gpu(_)));
    let ranks = of(Measure::Cpu, |subject| matches!(subject, Subject::Rank(_)));
    match (gpus.len(), ranks.len()) {
        (0, 0) => "–".to_owned(),
        (0, _) => format!("{:.1} CPUs", ranks.iter().sum::<f32>()),
        (1, _) => format!("{:.0} %", gpus[0]),
        (count, _) => format!("{count} × {:.0} %", gpus.iter().sum::<f32>() / count as f32),
    }
}

/// One run or job in detail.
#[derive(Clone, Debug)]
pub struct Detail {
    /// What a command takes for it.
    pub key: String,
    /// Name, cluster, state, job.
    pub title: String,
    /// Why it stands there, where there is more to say.
    pub note: String,
    /// A line a node.
    pub nodes: Vec<String>,
    /// A line a GPU.
    pub gpus: Vec<String>,
    /// A short text a rank.
    pub ranks: Vec<String>,
    /// How many ranks have printed or were measured.
    pub rank_count: u32,
    /// The rank whose lines these are.
    pub rank: u32,
    /// Its last lines.
    pub lines: Vec<String>,
}

/// A rank that has printed nothing for so long is worth a word.
const QUIET_MS: i64 = 60_000;

impl Detail {
    /// Of a run or job, as it was just seen.
    pub fn of(row: &Listed, look: &RunLook, now: Timestamp) -> Detail {
        let cells = cells(row, now);
        let job = row.job().map(|job| format!(" · job {job}"));
        let title = format!(
            "{} · {} · {}{}",
            cells[0],
            row.cluster,
            row.state.word(),
            job.unwrap_or_default()
        );
        let mut detail = Detail {
            key: row.key(),
            title: plain(&title),
            note: plain(&row.note()),
            nodes: Vec::new(),
            gpus: Vec::new(),
            ranks: Vec::new(),
            rank_count: 0,
            rank: look.rank,
            lines: look.lines.iter().map(|line| plain(line)).collect(),
        };
        let mut last_rank = look.printed.keys().next_back().copied();
        for (node, subject, latest) in &look.measured {
            match subject {
                Subject::Node => detail.nodes.push(node_line(node, latest)),
                Subject::Gpu(index) => detail.gpus.push(gpu_line(node, *index, latest)),
                Subject::Rank(rank) => last_rank = last_rank.max(Some(*rank)),
            }
        }
        detail.rank_count = last_rank.map_or(0, |last| last + 1);
        let mut ranks: Vec<_> = look
            .measured
            .iter()
            .filter_map(|(node, subject, latest)| match subject {
                Subject::Rank(rank) => Some((*rank, node, latest)),
                Subject::Node | Subject::Gpu(_) => None,
            })
            .collect();
        ranks.sort_by_key(|(rank, ..)| *rank);
        let line = |(rank, node, latest): (u32, &String, &Latest)| {
            let quiet = look.printed.get(&rank).map(|at| now.since(*at));
            rank_line(rank, node, latest, quiet)
        };
        detail.ranks = ranks.into_iter().map(line).collect();
        detail
    }
}

fn node_line(node: &str, latest: &Latest) -> String {
    let of = |measure| latest.sample.get(measure);
    let mut parts = vec![plain(node)];
    parts.extend(of(Measure::Cpu).map(|cpus| format!("{cpus:.1} CPUs busy")));
    if let (Some(used), Some(total)) = (of(Measure::Memory), of(Measure::MemoryTotal)) {
        parts.push(format!("memory {} of {} GiB", gib(used), gib(total)));
    }
    if let (Some(read), Some(write)) = (of(Measure::Read), of(Measure::Write)) {
        parts.push(format!("disk {read:.0} + {write:.0} MiB/s"));
    }
    if let (Some(receive), Some(send)) = (of(Measure::Receive), of(Measure::Send)) {
        parts.push(format!("network {receive:.0} + {send:.0} MiB/s"));
    }
    parts.extend(of(Measure::DiskFree).map(|free| format!("{} GiB of disk free", gib(free))));
    parts.join("  ")
}

fn gpu_line(node: &str, index: u32, latest: &Latest) -> String {
    let of = |measure| latest.sample.get(measure);
    let mut parts = vec![format!("{}:{index}", plain(node))];
    let history: Vec<f32> = latest.busy.iter().copied().collect();
    parts.push(match of(Measure::Busy) {
        Some(busy) => format!("{busy:>3.0} % {}", sparkline(&history, 100.0, 16)),
        None => "lost".to_owned(),
    });
    if let (Some(used), Some(total)) = (of(Measure::GpuMemory), of(Measure::GpuMemoryTotal)) {
        parts.push(format!("{} of {} GiB", gib(used), gib(total)));
    }
    parts.extend(of(Measure::Temperature).map(|celsius| format!("{celsius:.0} °C")));
    parts.extend(of(Measure::Power).map(|watt| format!("{watt:.0} W")));
    parts.extend(of(Measure::Rank).map(|rank| format!("rank {rank:.0}")));
    parts.join("  ")
}

/// `  3 n1 0.9 CPU 1.2 GiB`, or how long it has printed nothing.
fn rank_line(rank: u32, node: &str, latest: &Latest, quiet: Option<i64>) -> String {
    let of = |measure| latest.sample.get(measure);
    let mut parts = vec![format!("{rank:>3} {}", plain(node))];
    parts.extend(of(Measure::Cpu).map(|cpus| format!("{cpus:.1} CPU")));
    let memory = || of(Measure::Memory).map(|used| format!("{} GiB", gib(used)));
    let quiet = quiet.filter(|quiet| *quiet >= QUIET_MS);
    let quiet = quiet.map(|quiet| format!("quiet {}", words::length(quiet)));
    parts.extend(quiet.or_else(memory));
    parts.join(" ")
}

fn gib(mib: f32) -> String {
    let gib = f64::from(mib) / 1024.0;
    if gib >= 100.0 {
        format!("{gib:.0}")
    } else {
        format!("{gib:.1}")
    }
}

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The newest values as bars.
fn sparkline(values: &[f32], full: f32, width: usize) -> String {
    let newest = &values[values.len().saturating_sub(width)..];
    let bar = |value: &f32| {
        let level = (value / full * 7.0).round().clamp(0.0, 7.0);
        BARS[level as usize]
    };
    newest.iter().map(bar).collect()
}

/// In one line, without what moves a cursor; so long that no screen is wider.
pub fn plain(text: &str) -> String {
    const WIDEST: usize = 1000;
    let text: String = text.chars().take(WIDEST).collect();
    // Colours of a program's own are of no use here.
    let text = anstream::adapter::strip_str(&text).to_string();
    words::harmless(&text).replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_and_harmless_lines() {
        assert_eq!(sparkline(&[0.0, 50.0, 100.0, 300.0], 100.0, 3), "▅██");
        assert_eq!(sparkline(&[], 100.0, 3), "");
        assert_eq!(plain("\x1b[31mred\x1b[0m\x07 <b>\n"), "red <b> ");
        assert_eq!(plain(&"x".repeat(10 << 20)).len(), 1000);
    }
}
