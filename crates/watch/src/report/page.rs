//! The page.

use super::advice::{self, Row};
use super::chart::{COLOURS, Chart, Line};
use super::facts::{MarkKind, RunFacts, StartFacts};
use super::html::{escaped, number};
use super::timeline::timeline;
use crate::{Measure, Subject, Track, findings};
use model::{Timestamp, say_length};
use std::collections::BTreeSet;
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");

/// More scalars have no chart of their own.
const MOST_SCALARS: usize = 24;

/// The report of a run, or of several beside each other: HTML that needs nothing else, no script and
/// no network. `made`: when and by what, in words.
#[must_use]
pub fn page(runs: &[RunFacts], made: &str) -> String {
    let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    let title = escaped(&ids.join(" · "));
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=en>\n<meta charset=utf-8>\n\
         <meta name=viewport content=\"width=device-width,initial-scale=1\">\n\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none';style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n<main>\n"
    );
    match runs {
        [run] => one(&mut html, run),
        runs => several(&mut html, runs),
    }
    for run in runs {
        for note in &run.notes {
            writeln!(html, "<p class=note>{}</p>", escaped(note)).expect(STRING);
        }
    }
    write!(
        html,
        "<footer>{}</footer>\n</main>\n</html>\n",
        escaped(made)
    )
    .expect(STRING);
    html
}

/// Why writing into a string is no error.
const STRING: &str = "invariant: a string takes all";

fn one(html: &mut String, run: &RunFacts) {
    let cluster = escaped(&run.cluster);
    writeln!(
        html,
        "<h1>{}</h1>\n<p class=sub>{cluster} · {} · {}</p>",
        escaped(&run.id),
        escaped(&run.state),
        escaped(&run.began)
    )
    .expect(STRING);
    html.push_str("<div class=cards>");
    for (what, value) in cards(run) {
        write!(
            html,
            "<div><b>{}</b><span>{}</span></div>",
            escaped(&value),
            of_number(what, &value)
        )
        .expect(STRING);
    }
    html.push_str("</div>\n");
    html.push_str(&timeline(run));
    let hangs = run.marks.iter().filter(|mark| mark.kind == MarkKind::Hang);
    let mut found: Vec<String> = hangs.map(|mark| mark.text.clone()).collect();
    let findings = findings(&run.usage, run.asked.cpus_per_rank);
    found.extend(findings.iter().map(ToString::to_string));
    if !found.is_empty() {
        html.push_str("<h2>What stands out</h2>\n<ul class=found>");
        for finding in found {
            write!(html, "<li>{}</li>", escaped(&finding)).expect(STRING);
        }
        html.push_str("</ul>\n");
    }
    let rows = advice::rows(run);
    if !rows.is_empty() {
        html.push_str("<h2>Requested and used</h2>\n<div class=scroll><table>");
        html.push_str("<tr><th>What<th>Requested<th>Used<th>Next time</tr>");
        for row in &rows {
            html.push_str(&asked_row(row));
        }
        html.push_str("</table></div>\n");
    }
    charts(html, std::slice::from_ref(run));
    if !run.starts.is_empty() {
        html.push_str("<h2>Starts</h2>\n<div class=scroll><table>");
        html.push_str("<tr><th>Start<th>Took<th>Nodes<th>End</tr>");
        for start in &run.starts {
            html.push_str(&start_row(start));
        }
        html.push_str("</table></div>\n");
    }
}

fn several(html: &mut String, runs: &[RunFacts]) {
    html.push_str(
        "<h1>Runs compared</h1>\n<h2>Requested and used</h2>\n<div class=scroll><table><tr><th>",
    );
    for run in runs {
        write!(html, "<th>{}", escaped(&run.id)).expect(STRING);
    }
    html.push_str("</tr>");
    let row = |html: &mut String, what: &str, cells: Vec<String>| {
        write!(html, "<tr><th>{what}").expect(STRING);
        for cell in cells {
            write!(html, "<td>{}", escaped(&cell)).expect(STRING);
        }
        html.push_str("</tr>");
    };
    let of = |cell: &dyn Fn(&RunFacts) -> String| runs.iter().map(cell).collect::<Vec<_>>();
    row(html, "Cluster", of(&|run| run.cluster.clone()));
    row(html, "State", of(&|run| run.state.clone()));
    row(html, "Began", of(&|run| run.began.clone()));
    let all: Vec<Vec<(&str, String)>> = runs.iter().map(cards).collect();
    let mut titles: Vec<&str> = Vec::new();
    for (what, _) in all.iter().flatten() {
        if !titles.contains(what) {
            titles.push(what);
        }
    }
    for title in titles {
        let cell = |own: &Vec<(&str, String)>| {
            let found = own.iter().find(|(what, _)| *what == title);
            found.map_or_else(|| "–".to_owned(), |(_, value)| value.clone())
        };
        row(html, &capitalised(title), all.iter().map(cell).collect());
    }
    let advice: Vec<Vec<Row>> = runs.iter().map(advice::rows).collect();
    let whats: Vec<&str> = advice.iter().flatten().map(|row| row.what).collect();
    let mut seen = BTreeSet::new();
    for what in whats.into_iter().filter(|what| seen.insert(*what)) {
        let cell = |rows: &Vec<Row>| {
            let own = rows.iter().find(|row| row.what == what);
            own.map_or_else(
                || "–".to_owned(),
                |row| format!("{} (requested: {})", row.used, row.asked),
            )
        };
        row(html, what, advice.iter().map(cell).collect());
    }
    html.push_str("</table></div>\n");
    for run in runs {
        writeln!(html, "<h2>{}</h2>", escaped(&run.id)).expect(STRING);
        html.push_str(&timeline(run));
    }
    charts(html, runs);
}

/// The numbers that matter most, with what they are.
fn cards(run: &RunFacts) -> Vec<(&'static str, String)> {
    let count = |kind| run.marks.iter().filter(|mark| mark.kind == kind).count();
    let mut cards = vec![
        ("from start to end", say_length(run.extent.length_ms())),
        ("starts", run.starts.len().to_string()),
        ("checkpoints saved", count(MarkKind::Checkpoint).to_string()),
    ];
    if run.gpus() > 0 {
        cards.push(("GPU hours", hours(run.gpu_hours())));
        let busy: Vec<f64> = run
            .usage
            .of(Measure::Busy)
            .map(|(.., track)| track.mean())
            .collect();
        if !busy.is_empty() {
            let mean = busy.iter().sum::<f64>() / busy.len() as f64;
            cards.push(("GPUs busy", format!("{mean:.0} %")));
        }
    } else {
        let cpus = run.asked.ranks.saturating_mul(run.asked.cpus_per_rank);
        cards.push(("CPU hours", hours(f64::from(cpus) * run.hours())));
    }
    let steps = run
        .scalars
        .iter()
        .filter_map(|(_, points)| Some(points.last()?.step));
    if let Some(step) = steps.max() {
        cards.push(("last step", step.to_string()));
    }
    cards
}

/// Hours that were held; those of a moment have no digits that matter.
fn hours(hours: f64) -> String {
    if hours > 0.0 && hours < 0.01 {
        "< 0.01".to_owned()
    } else {
        number(hours)
    }
}

fn asked_row(row: &Row) -> String {
    let share = row.share.map_or(String::new(), |share| {
        format!(
            "<span class=share><i style=\"width:{}%\"></i></span>",
            share.min(100)
        )
    });
    format!(
        "<tr><td>{}<td>{}<td>{}{share}<td class=next>{}</tr>",
        row.what,
        escaped(&row.asked),
        escaped(&row.used),
        if row.next.is_empty() {
            "–".to_owned()
        } else {
            escaped(&row.next)
        }
    )
}

/// With a capital letter, as the first words of a table's rows have it.
fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// `starts`, and `start` of one.
fn of_number(what: &'static str, value: &str) -> &'static str {
    match (what, value) {
        ("starts", "1") => "start",
        ("checkpoints saved", "1") => "checkpoint saved",
        ("GPU hours", "1") => "GPU hour",
        ("CPU hours", "1") => "CPU hour",
        _ => what,
    }
}

fn start_row(start: &StartFacts) -> String {
    format!(
        "<tr><td>{}<td>{}<td>{}<td>{}</tr>",
        escaped(&start.title),
        say_length(start.to.since(start.from)),
        escaped(&start.nodes.join(", ")),
        escaped(&start.end)
    )
}

fn charts(html: &mut String, runs: &[RunFacts]) {
    let length_ms = runs
        .iter()
        .map(|run| run.extent.length_ms())
        .max()
        .unwrap_or(1);
    let restarts = match runs {
        [run] => restarts(run),
        _ => Vec::new(),
    };
    let drawn: Vec<String> = used(runs)
        .into_iter()
        .filter(|(.., lines)| !lines.is_empty())
        .map(|(title, unit, at_least, limit, lines)| {
            let chart = Chart {
                title,
                unit,
                lines,
                from_zero: true,
                at_least,
                limit: limit
                    .as_ref()
                    .map(|(limit, words)| (*limit, words.as_str())),
                length_ms,
                restarts: &restarts,
            };
            chart.html()
        })
        .collect();
    section(html, "What it used", &drawn);
    let mut tags: Vec<&str> = Vec::new();
    for (tag, _) in runs.iter().flat_map(|run| &run.scalars) {
        if !tags.contains(&tag.as_str()) {
            tags.push(tag);
        }
    }
    // What most people look for first; the others in their order.
    tags.sort_by_key(|tag| !tag.to_lowercase().contains("loss"));
    let left_out = tags.len().saturating_sub(MOST_SCALARS);
    let drawn = tags.into_iter().take(MOST_SCALARS).map(|tag| {
        let chart = Chart {
            title: tag,
            unit: "",
            lines: scalar_lines(runs, tag),
            from_zero: false,
            at_least: f64::MIN,
            limit: None,
            length_ms,
            restarts: &restarts,
        };
        chart.html()
    });
    section(html, "What it learned", &drawn.collect::<Vec<_>>());
    if left_out > 0 {
        writeln!(
            html,
            "<p class=note>{left_out} more scalars are in its event files.</p>"
        )
        .expect(STRING);
    }
}

fn section(html: &mut String, title: &str, charts: &[String]) {
    if !charts.is_empty() {
        write!(
            html,
            "<h2>{title}</h2>\n<div class=charts>\n{}</div>\n",
            charts.concat()
        )
        .expect(STRING);
    }
}

fn restarts(run: &RunFacts) -> Vec<i64> {
    let marks = run
        .marks
        .iter()
        .filter(|mark| mark.kind == MarkKind::Restart);
    marks.map(|mark| mark.at.since(run.extent.from)).collect()
}

fn scalar_lines(runs: &[RunFacts], tag: &str) -> Vec<Line> {
    let line = |run: &RunFacts| {
        let (_, points) = run.scalars.iter().find(|(own, _)| own == tag)?;
        let begin = run.extent.from;
        let points = points
            .iter()
            .map(|point| (point.at.since(begin), Some(point.value)));
        Some(Line {
            name: run.id.clone(),
            points: points.collect(),
        })
    };
    runs.iter().filter_map(line).collect()
}

/// Title, unit, the least height of the axis, what was asked, lines.
type Drawn = (
    &'static str,
    &'static str,
    f64,
    Option<(f64, String)>,
    Vec<Line>,
);

fn used(runs: &[RunFacts]) -> Vec<Drawn> {
    let asked = |value: f64, words: &str| match runs {
        [_] if value > 0.0 => Some((value, words.to_owned())),
        _ => None,
    };
    let first = &runs[0];
    let is_gpu = |subject: Subject| matches!(subject, Subject::Gpu(_));
    let is_rank = |subject: Subject| matches!(subject, Subject::Rank(_));
    let is_node = |subject: Subject| subject == Subject::Node;
    let total = first
        .usage
        .of(Measure::GpuMemoryTotal)
        .map(|(.., track)| track.peak());
    let total = total.fold(0.0, f64::max) / 1024.0;
    let gib = 1.0 / 1024.0;
    vec![
        (
            "GPUs",
            "% busy",
            100.0,
            None,
            lines(runs, Measure::Busy, 1.0, &is_gpu),
        ),
        (
            "GPU memory",
            "GiB",
            0.0,
            asked(total, "all of it"),
            lines(runs, Measure::GpuMemory, gib, &is_gpu),
        ),
        (
            "GPU power",
            "W",
            0.0,
            None,
            lines(runs, Measure::Power, 1.0, &is_gpu),
        ),
        (
            "CPUs of the ranks",
            "CPUs",
            0.0,
            asked(first.asked.cpus_per_rank.into(), "asked"),
            lines(runs, Measure::Cpu, 1.0, &is_rank),
        ),
        (
            "Memory of the ranks",
            "GiB",
            0.0,
            None,
            lines(runs, Measure::Memory, gib, &is_rank),
        ),
        (
            "Read from storage",
            "MiB/s",
            0.0,
            None,
            lines(runs, Measure::Read, 1.0, &is_rank),
        ),
        (
            "Network, received",
            "MiB/s",
            0.0,
            None,
            lines(runs, Measure::Receive, 1.0, &is_node),
        ),
    ]
}

/// The lines of a measure: one each while they are few, else the lowest, the mean and the highest;
/// of several runs one each, the mean.
fn lines(
    runs: &[RunFacts],
    measure: Measure,
    scale: f64,
    is_drawn: &dyn Fn(Subject) -> bool,
) -> Vec<Line> {
    let tracks = |run: &'_ RunFacts| -> Vec<(String, Track)> {
        let all = run
            .usage
            .of(measure)
            .filter(|(_, subject, _)| is_drawn(*subject));
        let one_node = run.usage.nodes().len() == 1;
        let named = all.map(|(node, subject, track)| {
            let name = match (subject, one_node) {
                (Subject::Node, _) => node.to_owned(),
                (subject @ Subject::Rank(_), _) | (subject, true) => subject.to_string(),
                (subject, false) => format!("{node} {subject}"),
            };
            (name, track.clone())
        });
        named.collect()
    };
    let line = |name: String, begin: Timestamp, points: Vec<(Timestamp, Option<f64>)>| Line {
        name,
        points: thinned(
            points
                .into_iter()
                .map(|(at, value)| (at.since(begin), value.map(|value| value * scale))),
        ),
    };
    if let [run] = runs {
        let tracks = tracks(run);
        let begin = run.extent.from;
        if tracks.len() <= COLOURS {
            let one = |(name, track): (String, Track)| line(name, begin, track.line().collect());
            return tracks.into_iter().map(one).collect();
        }
        let folded = ["lowest", "mean", "highest"]
            .map(|name| line(name.to_owned(), begin, folded(&tracks, name)));
        return folded.into();
    }
    let mean = |run: &RunFacts| {
        let tracks = tracks(run);
        (!tracks.is_empty()).then(|| line(run.id.clone(), run.extent.from, folded(&tracks, "mean")))
    };
    runs.iter().filter_map(mean).collect()
}

/// Many lines as one: at each moment the lowest, the highest or the mean of them.
fn folded(tracks: &[(String, Track)], how: &str) -> Vec<(Timestamp, Option<f64>)> {
    let all: Vec<Vec<(Timestamp, Option<f64>)>> = tracks
        .iter()
        .map(|(_, track)| track.line().collect())
        .collect();
    let moments = all.first().map_or(0, Vec::len);
    let at = |moment: usize| {
        let values = all.iter().filter_map(|line| line[moment].1);
        let values: Vec<f64> = values.collect();
        let value = match how {
            "lowest" => values.iter().copied().reduce(f64::min),
            "highest" => values.iter().copied().reduce(f64::max),
            _ => (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64),
        };
        (all[0][moment].0, value)
    };
    (0..moments).map(at).collect()
}

/// Without gaps that are only between samples: a short run has fewer samples than the line points.
fn thinned(points: impl Iterator<Item = (i64, Option<f64>)>) -> Vec<(i64, Option<f64>)> {
    /// Longer without samples is a gap.
    const GAP_MS: i64 = 15_000;
    let mut thin: Vec<(i64, Option<f64>)> = Vec::new();
    let mut last = None;
    for (at, value) in points {
        if value.is_none() {
            continue;
        }
        if last.is_some_and(|last| at - last > GAP_MS) && thin.len() > 1 {
            let width = thin[1].0 - thin[0].0;
            if last.is_some_and(|last| at - last > 2 * width.max(GAP_MS / 2)) {
                thin.push((at, None));
            }
        }
        thin.push((at, value));
        last = Some(at);
    }
    thin
}
