//! `yard ls`

use super::listed_cells::cells;
use crate::exit_code;
use crate::failure::Outcome;
use crate::printer::Printer;
use crate::words;
use clap::Args as ClapArgs;
use model::{Seconds, Timestamp};
use runs::{Listed, ListedKind, Listing, Run, RunState, list, places};
use serde_json::json;
use std::collections::BTreeSet;

/// List runs, and other jobs
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Only runs that can still change
    #[arg(long)]
    live: bool,
    /// Only in these states
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = RunState::WORDS)]
    state: Vec<String>,
    /// Only on these clusters
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    cluster: Vec<String>,
    /// Only with this text in the name or id
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Only made within so long, such as 2d
    #[arg(long, value_name = "LENGTH", value_parser = train::parse_length)]
    newer: Option<Seconds>,
    /// Only made longer ago, such as 30d
    #[arg(long, value_name = "LENGTH", value_parser = train::parse_length)]
    older: Option<Seconds>,
    /// Also jobs of scripts that ended more than a day ago
    #[arg(long)]
    all: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// So much of a note stands always.
const LEAST_NOTE: usize = 24;

/// A job of a script that ended is shown so long.
const REMEMBERED_MS: i64 = 24 * 3600 * 1000;

/// Runs `yard ls`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let now = Timestamp(sys::now());
    let since = if args.all {
        Timestamp(0)
    } else {
        Timestamp(now.0.saturating_sub(REMEMBERED_MS))
    };
    let Listing { mut rows, problems } = list(&places()?, since)?;
    let all = rows.len();
    let unknown = unknown_clusters(&args.cluster, &rows);
    rows.retain(|row| args.takes(row, now));
    if args.json {
        let rows: Vec<_> = rows.iter().map(row_json).collect();
        printer.line(&json!({ "runs": rows, "problems": problems }).to_string());
    } else if rows.is_empty() && args.live {
        printer.show_line(if problems.is_empty() {
            "nothing waits or runs; yard ls shows what has ended"
        } else {
            "nothing that is known to wait or run; not everything answers"
        });
    } else if rows.is_empty() && all > 0 {
        printer.show_line("none of them; yard ls shows all");
        if let Some(unknown) = unknown {
            printer.say(&format!("note: {unknown}"));
        }
    } else if rows.is_empty() {
        printer.show_line("no runs yet; yard run FILE starts one");
    } else {
        let cells: Vec<_> = rows.iter().map(|row| cells(row, now)).collect();
        printer.shown(&table(&cells, printer.width()));
    }
    if !args.json {
        for problem in &problems {
            printer.say(&format!("note: {problem}"));
        }
    }
    Ok(exit_code::DONE)
}

/// That a cluster was asked for of which nothing is listed, with those of which something is.
fn unknown_clusters(asked: &[String], rows: &[Listed]) -> Option<String> {
    let known: BTreeSet<&str> = rows.iter().map(|row| row.cluster.as_str()).collect();
    let unknown = asked.iter().find(|name| !known.contains(name.as_str()))?;
    let known = known.into_iter().collect::<Vec<_>>().join(", ");
    Some(format!(
        "nothing is known of a cluster {unknown}; the clusters of what is listed: {known}"
    ))
}

impl Args {
    /// Whether a row is asked for.
    fn takes(&self, row: &Listed, now: Timestamp) -> bool {
        let one_of =
            |asked: &[String], own: &str| asked.is_empty() || asked.iter().any(|one| one == own);
        let names = match &row.what {
            ListedKind::Run { run, .. } => [run.entry.id.as_str(), &run.entry.name],
            ListedKind::Job { job, .. } => [job.name.as_str(), ""],
            ListedKind::Repeats { entry, .. } => [entry.id.as_str(), &entry.name],
        };
        let age = Seconds(u64::try_from(now.since(row.made()) / 1000).unwrap_or(0));
        let has = |text: &String| names.iter().any(|name| name.contains(text.as_str()));
        (!self.live || row.state.is_live())
            && one_of(&self.state, row.state.word())
            && one_of(&self.cluster, &row.cluster)
            && self.name.as_ref().is_none_or(has)
            && self.newer.is_none_or(|length| age <= length)
            && self.older.is_none_or(|length| age > length)
    }
}

/// The rows within the width: as a table, with fewer columns and notes below the rows where that is
/// too wide, else a run a block. A run's id is never cut.
fn table(rows: &[Vec<String>], width: usize) -> String {
    let fits = |text: &String| text.lines().all(|line| line.chars().count() <= width);
    let wide = || {
        let mut rows = rows.to_vec();
        cut_notes(&HEAD, &mut rows, width);
        words::table(&HEAD, &rows)
    };
    let below = |text: &str| {
        if text.is_empty() {
            String::new()
        } else {
            format!("  {}\n", words::folded(text, width - 2, 2))
        }
    };
    let notes_below = |columns: &[usize]| {
        let kept: Vec<Vec<String>> = rows.iter().map(|row| picked(row, columns)).collect();
        let head: Vec<&str> = columns.iter().map(|column| HEAD[*column]).collect();
        let table = words::table(&head, &kept);
        let mut lines = table.lines();
        let head = lines.next().map(|head| format!("{head}\n"));
        let notes = rows
            .iter()
            .map(|row| below(row.last().map_or("", String::as_str)));
        let rows = lines
            .zip(notes)
            .map(|(line, note)| format!("{line}\n{note}"));
        head.into_iter().chain(rows).collect::<String>()
    };
    let blocks = || {
        let block = |row: &Vec<String>| {
            let facts = picked(row, &NARROW[1..]).join(" · ");
            let note = row.last().map_or("", String::as_str);
            format!("{}\n{}{}", row[0], below(&facts), below(note))
        };
        rows.iter().map(block).collect()
    };
    let wide = Some(wide()).filter(fits);
    wide.or_else(|| Some(notes_below(&ALL_BUT_NOTES)).filter(fits))
        .or_else(|| Some(notes_below(&NARROW)).filter(fits))
        .unwrap_or_else(blocks)
}

/// The columns of a table.
const HEAD: [&str; 7] = [
    "RUN", "JOB", "CLUSTER", "STATE", "SINCE", "PROGRESS", "NOTE",
];

/// Those of one with its notes below the rows, by their places in a row.
const ALL_BUT_NOTES: [usize; 6] = [0, 1, 2, 3, 4, 5];

/// Those of a narrow table: run, state, since, progress.
const NARROW: [usize; 4] = [0, 3, 4, 5];

fn picked(row: &[String], columns: &[usize]) -> Vec<String> {
    columns.iter().map(|column| row[*column].clone()).collect()
}

/// Cuts the last column to what the others leave of a line: `yard show` has it whole.
fn cut_notes(head: &[&str], rows: &mut [Vec<String>], width: usize) {
    let last = head.len() - 1;
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widths = cells.map(|cell| cell.chars().count());
        widths
            .chain([head[column].chars().count()])
            .max()
            .unwrap_or(0)
            + 2
    };
    let used: usize = (0..last).map(widest).sum();
    for note in rows.iter_mut().filter_map(|row| row.get_mut(last)) {
        *note = words::shortened(note, width.saturating_sub(used).max(LEAST_NOTE));
    }
}

fn row_json(row: &Listed) -> serde_json::Value {
    if let ListedKind::Repeats { entry, array, rows } = &row.what {
        let repeats: Vec<_> = rows.iter().map(row_json).collect();
        return json!({
            "run": entry.id,
            "name": entry.name,
            "job": array,
            "cluster": row.cluster,
            "state": row.state.word(),
            "note": row.note(),
            "since": row.since(),
            "folder": entry.folder,
            "created": entry.created,
            "repeats": repeats,
        });
    }
    let run = row.run();
    let checkpoint = run.and_then(Run::last_checkpoint);
    let job_name = match &row.what {
        ListedKind::Run { view, .. } => view.as_ref().map(|view| &view.name),
        ListedKind::Job { job, .. } => Some(&job.name),
        ListedKind::Repeats { .. } => None,
    };
    json!({
        "run": run.map(|run| &run.entry.id),
        "name": run.map(|run| &run.entry.name),
        "job": row.job(),
        "job_name": job_name,
        "cluster": row.cluster,
        "state": row.state.word(),
        "note": row.note(),
        "since": row.since(),
        "starts": run.map(|run| run.starts.len()),
        "checkpoint": checkpoint.as_ref().map(|(name, ..)| name),
        "step": checkpoint.and_then(|(_, step, _)| step),
        "folder": run.map(|run| &run.entry.folder),
        "created": run.map(|run| run.entry.created),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(run: &str, width: usize, want: Expect) {
        let row = |cells: [&str; 7]| cells.map(str::to_owned).to_vec();
        let why = "rank 3 on n1 ended with exit code 1, and so did the one beside it";
        let rows = [
            row(["digits-vfjk", "1", "local", "done", "3 min", "step 900", ""]),
            row([run, "12", "local", "failed", "2 h 10", "–", why]),
        ];
        let shown = table(&rows, width);
        let longest = shown.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(width), "{shown}");
        want.assert_eq(&shown);
    }

    #[test]
    fn fits_wide_and_narrow_terminals() {
        check(
            "cnn-xq2f",
            100,
            expect![[r#"
            RUN          JOB  CLUSTER  STATE   SINCE   PROGRESS  NOTE
            digits-vfjk  1    local    done    3 min   step 900
            cnn-xq2f     12   local    failed  2 h 10  –         rank 3 on n1 ended with exit code 1, and so di…
        "#]],
        );
        check(
            "horovod-single-node-benchmark-of-resnet-b2xt",
            90,
            expect![[r#"
                RUN                                           JOB  CLUSTER  STATE   SINCE   PROGRESS
                digits-vfjk                                   1    local    done    3 min   step 900
                horovod-single-node-benchmark-of-resnet-b2xt  12   local    failed  2 h 10  –
                  rank 3 on n1 ended with exit code 1, and so did the one beside it
            "#]],
        );
        check(
            "cnn-xq2f",
            50,
            expect![[r#"
            RUN          STATE   SINCE   PROGRESS
            digits-vfjk  done    3 min   step 900
            cnn-xq2f     failed  2 h 10  –
              rank 3 on n1 ended with exit code 1, and so did
              the one beside it
        "#]],
        );
        check(
            "resnet-finetune-large-batch-xq2f",
            50,
            expect![[r#"
            digits-vfjk
              done · 3 min · step 900
            resnet-finetune-large-batch-xq2f
              failed · 2 h 10 · –
              rank 3 on n1 ended with exit code 1, and so did
              the one beside it
        "#]],
        );
    }
}
