//! Findings as SARIF 2.1.0, the format of code hosts and editors; written file by file.
//!
//! Source: the OASIS standard, sections 3.13 (log) to 3.57 (replacement): what it requires is there.

use super::few;
use crate::{Finding, Label, Lines, RULES, Severity};
use serde_json::{Value, json};

/// The beginning of the document, with all rules; `version` is the program's.
#[must_use]
pub fn sarif_head(version: &str) -> String {
    let rules: Vec<Value> = RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.code,
                "name": rule.name,
                "shortDescription": { "text": rule.summary },
                "fullDescription": { "text": rule.page },
                "defaultConfiguration": { "level": level(rule.severity) },
            })
        })
        .collect();
    let driver = json!({ "name": "yard lint", "version": version, "rules": rules });
    format!(
        "{{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\
         \"runs\":[{{\"tool\":{{\"driver\":{driver}}},\"columnKind\":\"unicodeCodePoints\",\"results\":["
    )
}

/// The end of the document.
#[must_use]
pub fn sarif_tail() -> String {
    "\n]}]}\n".to_owned()
}

/// The results of a file, whose name may be any bytes; a comma stands before all but the very first result.
#[must_use]
pub fn sarif_results(findings: &[Finding], lines: &Lines<'_>, name: &[u8], first: bool) -> String {
    let mut shown = String::new();
    for (index, finding) in findings.iter().enumerate() {
        if !(first && index == 0) {
            shown.push(',');
        }
        shown.push('\n');
        shown.push_str(&result(finding, lines, name).to_string());
    }
    shown
}

fn result(finding: &Finding, lines: &Lines<'_>, name: &[u8]) -> Value {
    let place = |label: &Label| {
        json!({ "physicalLocation": {
            "artifactLocation": { "uri": uri(name) },
            "region": region(label.range.clone(), lines),
        } })
    };
    let whole = || json!({ "physicalLocation": { "artifactLocation": { "uri": uri(name) } } });
    let mut message = finding.message.clone();
    for more in [&finding.really, &finding.help].into_iter().flatten() {
        message.push_str("; ");
        message.push_str(more);
    }
    let mut result = json!({
        "ruleId": finding.code,
        "level": level(finding.severity),
        "message": { "text": message },
        "locations": [finding.labels.first().map_or_else(whole, place)],
    });
    if let Some(index) = RULES.iter().position(|rule| rule.code == finding.code) {
        result["ruleIndex"] = json!(index);
    }
    let related: Vec<Value> = (0..)
        .zip(&finding.labels)
        .skip(1)
        .map(|(id, label): (usize, &Label)| {
            let mut related = place(label);
            related["id"] = json!(id);
            if !label.text.is_empty() {
                related["message"] = json!({ "text": label.text });
            }
            related
        })
        .collect();
    if !related.is_empty() {
        result["relatedLocations"] = json!(related);
    }
    if let Some(edits) = &finding.fix {
        let replacements: Vec<Value> = few(edits, lines)
            .iter()
            .map(|edit| {
                json!({
                    "deletedRegion": region(edit.start..edit.end, lines),
                    "insertedContent": { "text": edit.text },
                })
            })
            .collect();
        result["fixes"] = json!([{ "artifactChanges": [{
            "artifactLocation": { "uri": uri(name) },
            "replacements": replacements,
        }] }]);
    }
    result
}

fn region(range: std::ops::Range<usize>, lines: &Lines<'_>) -> Value {
    let (line, column) = lines.position(range.start);
    let (end_line, end_column) = lines.position(range.end);
    json!({
        "startLine": line, "startColumn": column,
        "endLine": end_line, "endColumn": end_column,
    })
}

fn level(severity: Severity) -> &'static str {
    severity.name()
}

/// A path as a URI reference: of its bytes all but RFC 3986's unreserved characters and `/` are
/// written in percents.
fn uri(name: &[u8]) -> String {
    if name == b"-" {
        return "stdin".to_owned();
    }
    let mut uri = String::with_capacity(name.len());
    if name.starts_with(b"/") {
        uri.push_str("file://");
    }
    for byte in name {
        match *byte {
            b'/' | b'.' | b'-' | b'_' | b'~' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[track_caller]
    fn check(name: &[u8], want: &str) {
        assert_eq!(uri(name), want);
    }

    #[test]
    fn every_path_is_a_uri() {
        check(b"jobs/a.sh", "jobs/a.sh");
        check(b"/jobs/a b.sh", "file:///jobs/a%20b.sh");
        check(b"100%.sh", "100%25.sh");
        check(b"a:b?c#d", "a%3Ab%3Fc%23d");
        check("größe.sh".as_bytes(), "gr%C3%B6%C3%9Fe.sh");
        check(b"\xff\x00.sh", "%FF%00.sh");
        check(b"-", "stdin");
    }
}
