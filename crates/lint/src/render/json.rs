//! Findings for programs: one document, written file by file.

use super::few;
use crate::{Finding, Lines, Rule, is_refused};
use serde_json::{Value, json};

/// The beginning of the document.
#[must_use]
pub fn json_head() -> String {
    "{\"version\":1,\"files\":[".to_owned()
}

/// The end of the document.
#[must_use]
pub fn json_tail() -> String {
    "\n]}\n".to_owned()
}

/// A file of the document; a comma stands before all but the first. `place` tells for a byte of the
/// text the byte of the file: they differ where that is no UTF-8.
#[must_use]
pub fn json_file(
    findings: &[Finding],
    lines: &Lines<'_>,
    place: &dyn Fn(usize) -> usize,
    name: &str,
    first: bool,
) -> String {
    let rows = findings.iter().map(|finding| row(finding, lines, place));
    let found: Vec<Value> = rows.collect();
    let file = json!({ "name": name, "refused": is_refused(findings), "findings": found });
    format!("{}\n{file}", if first { "" } else { "," })
}

fn row(finding: &Finding, lines: &Lines<'_>, place: &dyn Fn(usize) -> usize) -> Value {
    let labels: Vec<Value> = finding
        .labels
        .iter()
        .map(|label| {
            let (line, column) = lines.position(label.range.start);
            let (end_line, end_column) = lines.position(label.range.end);
            json!({
                "start": place(label.range.start), "end": place(label.range.end),
                "line": line, "column": column,
                "end_line": end_line, "end_column": end_column,
                "text": label.text,
            })
        })
        .collect();
    let fix = finding.fix.as_ref().map(|edits| {
        let edit = |edit: &crate::Edit| {
            json!({ "start": place(edit.start), "end": place(edit.end), "text": edit.text })
        };
        few(edits, lines).iter().map(edit).collect::<Vec<Value>>()
    });
    json!({
        "code": finding.code,
        "name": Rule::find(finding.code).map(|rule| rule.name),
        "severity": finding.severity.name(),
        "refused": finding.refused,
        "message": finding.message,
        "labels": labels,
        "really": finding.really,
        "help": finding.help,
        "fix": fix,
    })
}
