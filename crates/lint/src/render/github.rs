//! Findings as the workflow commands of GitHub's runners, which show them beside the lines.

use crate::{Finding, Lines, Severity};

/// A finding in one line: `::error file=…,line=…,…::message`.
#[must_use]
pub fn github(finding: &Finding, lines: &Lines<'_>, name: &str) -> String {
    let kind = match finding.severity {
        Severity::Note => "notice",
        severity => severity.name(),
    };
    let mut place = format!("file={}", property(name));
    if let Some(label) = finding.labels.first() {
        let (line, column) = lines.position(label.range.start);
        let (end_line, end_column) = lines.position(label.range.end);
        place.push_str(&format!(
            ",line={line},col={column},endLine={end_line},endColumn={end_column}"
        ));
    }
    let title = property(&format!("yard lint {}", finding.code));
    let mut message = finding.message.clone();
    for more in [&finding.really, &finding.help].into_iter().flatten() {
        message.push('\n');
        message.push_str(more);
    }
    format!("::{kind} {place},title={title}::{}\n", data(&message))
}

fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
