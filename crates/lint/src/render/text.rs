//! Findings for people. Words go on in the next line where one is full, lines of the script are cut
//! round the place in question; the name of a file stays whole.

use super::Counts;
use crate::{Finding, Label, Lines};
use model::{counted, wrap_within};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A finding with the lines that it is about, within `width` columns; `name` is the script's. Ends
/// with an empty line.
#[must_use]
pub fn text(finding: &Finding, lines: &Lines<'_>, name: &str, width: usize) -> String {
    let mut shown = String::new();
    let head = format!("{}[{}]: ", finding.severity.name(), finding.code);
    wrap_within(width, &mut shown, &head, "  ", &finding.message);
    // A name with a line end in it would make a line of its own.
    let name = name.replace(char::is_control, "\u{fffd}");
    match finding.labels.first() {
        Some(first) => {
            let (line, column) = lines.position(first.range.start);
            let _ = writeln!(shown, "  --> {name}:{line}:{column}");
        }
        None => {
            let _ = writeln!(shown, "  --> {name}");
        }
    }
    let mut by_line: BTreeMap<usize, Vec<(bool, &Label)>> = BTreeMap::new();
    for (index, label) in finding.labels.iter().enumerate() {
        let number = lines.number(label.range.start);
        by_line.entry(number).or_default().push((index == 0, label));
    }
    let digits = by_line
        .keys()
        .next_back()
        .map_or(4, |last| last.to_string().len().max(4));
    let gutter = format!("{:>digits$} │ ", "");
    // A mark may stand behind the last character.
    let room = width.saturating_sub(columns(&gutter) + 1);
    for (number, mut labels) in by_line {
        labels.sort_by_key(|(_, label)| label.range.start);
        let line = lines.line(number);
        let start = lines.range(number).start;
        let (cut, from) = cut(line, labels[0].1.range.start.saturating_sub(start), room);
        let _ = writeln!(shown, "{number:>digits$} │ {}", plain(cut));
        for (first, label) in labels {
            let at = label.range.start.saturating_sub(start + from);
            // Where the line was cut there is nothing to mark.
            if at > cut.len() || label.range.start < start + from {
                continue;
            }
            let until = label.range.end.saturating_sub(start + from).min(cut.len());
            let before = cut.get(..at.min(cut.len())).map_or(0, columns);
            let length = cut.get(at.min(until)..until).map_or(1, columns).max(1);
            let mark = if first { "^" } else { "-" }.repeat(length);
            let row = format!("{gutter}{}{mark} ", " ".repeat(before));
            if columns(&row) + columns(&label.text) <= width {
                let _ = writeln!(shown, "{}", format!("{row}{}", label.text).trim_end());
            } else {
                let _ = writeln!(shown, "{}", row.trim_end());
                wrap_within(width, &mut shown, &gutter, &gutter, &label.text);
            }
        }
    }
    if let Some(really) = &finding.really {
        wrap_within(width, &mut shown, &gutter, &gutter, really);
    }
    let by_fix = finding.fix.is_some();
    match &finding.help {
        Some(help) if by_fix => {
            let help = format!("{help} (--fix does it)");
            wrap_within(width, &mut shown, "  help: ", "        ", &help);
        }
        Some(help) => wrap_within(width, &mut shown, "  help: ", "        ", help),
        None if by_fix => shown.push_str("  help: --fix puts it right\n"),
        None => {}
    }
    shown.push('\n');
    shown
}

/// What stands at the end: `2 errors, 1 warning · yard lint --explain Y012`.
#[must_use]
pub fn summary(counts: Counts, code: Option<&str>) -> String {
    let count = |number: usize, name: &str| (number > 0).then(|| counted(number, name));
    let parts = [
        count(counts.errors, "error"),
        count(counts.warnings, "warning"),
        count(counts.notes, "note"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let mut line = if parts.is_empty() {
        "nothing found".to_owned()
    } else {
        parts.join(", ")
    };
    if counts.fixable > 0 {
        let _ = write!(line, " · --fix puts {} right", counts.fixable);
    }
    if let Some(code) = code {
        let _ = write!(line, " · yard lint --explain {code}");
    }
    line.push('\n');
    line
}

/// The part of a long line round a byte, and where it begins.
fn cut(line: &str, at: usize, room: usize) -> (&str, usize) {
    // A character has at most 4 bytes; a long line is not counted for each place in it.
    if line.len() <= 4 * room && columns(line) <= room {
        return (line, 0);
    }
    let mut from = at.saturating_sub(30);
    while !line.is_char_boundary(from) {
        from -= 1;
    }
    let rest = &line[from..];
    let end = rest
        .char_indices()
        .nth(room)
        .map_or(rest.len(), |(end, _)| end);
    (&rest[..end], from)
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Without what moves the cursor.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
