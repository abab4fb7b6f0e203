//! The end of a campaign: what was attacked how often, and what became of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What one run adds to the table.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What was attacked; each has a row.
    pub targets: Vec<String>,
    /// Processes that were killed.
    pub kills: u32,
    pub survived: bool,
    pub steps_lost: u32,
    pub left: usize,
}

#[derive(Default)]
struct Row {
    runs: usize,
    kills: u32,
    survived: usize,
    steps_lost: u32,
    left: usize,
}

/// The table, with a row for each target and one for all.
pub fn table(entries: &[Entry]) -> String {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let mut all = Row::default();
    for entry in entries {
        for target in &entry.targets {
            rows.entry(target).or_default().add(entry);
        }
        all.add(entry);
    }
    let mut text = format!(
        "{:18} {:>5} {:>6} {:>9} {:>5} {:>11} {:>10}\n",
        "target", "runs", "kills", "survived", "lost", "steps lost", "left over"
    );
    for (name, row) in rows
        .iter()
        .map(|(name, row)| (*name, row))
        .chain([("all", &all)])
    {
        let lost = row.runs - row.survived;
        let _ = writeln!(
            text,
            "{name:18} {:>5} {:>6} {:>9} {lost:>5} {:>11} {:>10}",
            row.runs, row.kills, row.survived, row.steps_lost, row.left
        );
    }
    text
}

impl Row {
    fn add(&mut self, entry: &Entry) {
        self.runs += 1;
        self.kills += entry.kills;
        self.survived += usize::from(entry.survived);
        self.steps_lost += entry.steps_lost;
        self.left += entry.left;
    }
}

#[test]
fn a_run_with_two_targets_counts_once_in_all() {
    let entry = Entry {
        targets: vec!["Agent".to_owned(), "Engine".to_owned()],
        kills: 2,
        survived: true,
        steps_lost: 0,
        left: 0,
    };
    let text = table(&[entry]);
    let last = text.lines().last().unwrap();
    assert_eq!(
        last.split_whitespace().collect::<Vec<_>>(),
        ["all", "1", "2", "1", "0", "0", "0"]
    );
    assert_eq!(text.lines().count(), 4);
}
