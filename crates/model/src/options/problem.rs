//! What is wrong with a text that a person wrote (a run file, a cluster file), and how it is shown.

use crate::values::wrap::wrap;
use std::fmt::Write as _;
use std::ops::Range;

/// One thing that is wrong in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, in bytes of the text.
    pub span: Range<usize>,
    /// What: a lower-case fragment.
    pub message: String,
    /// Stands beside the marked place; may be empty.
    pub label: String,
    /// What to do.
    pub help: Option<String>,
}

impl Problem {
    /// Line and column of its start, both from 1, the column in characters.
    #[must_use]
    pub fn position(&self, text: &str) -> (u32, u32) {
        let place = Place::of(self.span.start, text);
        (place.number, count(place.before) + 1)
    }
}

/// Shows an error with the line that it is in: message, place, line, marks, help. `origin` is the
/// text's name as the person gave it. Ends with a line feed.
#[must_use]
pub fn render(problem: &Problem, text: &str, origin: &str) -> String {
    render_as("error", problem, text, origin)
}

/// Shows a problem as [`render`] does, as what it is called: `error`, `warning`, `note`.
#[must_use]
pub fn render_as(kind: &str, problem: &Problem, text: &str, origin: &str) -> String {
    let place = Place::of(problem.span.start, text);
    let column = count(place.before) + 1;
    let rest = &place.line[place.before.len()..];
    let length = problem.span.len().min(rest.len());
    let marked = rest.get(..length).map_or(1, |part| count(part).max(1));
    let mut shown = String::new();
    wrap(&mut shown, &format!("{kind}: "), "  ", &problem.message);
    let _ = writeln!(shown, "   --> {origin}:{}:{column}", place.number);
    if !text.is_empty() {
        let line = place.line.replace('\t', " ");
        let _ = writeln!(shown, "{:>4} │ {line}", place.number);
        let marks = "^".repeat(marked as usize);
        let indent = " ".repeat(column as usize - 1);
        let row = format!("     │ {indent}{marks} {}", problem.label);
        let _ = writeln!(shown, "{}", row.trim_end());
    }
    if let Some(help) = &problem.help {
        wrap(&mut shown, "  help: ", "        ", help);
    }
    shown
}

/// The line that an offset is in.
struct Place<'a> {
    number: u32,
    line: &'a str,
    /// Its part before the offset.
    before: &'a str,
}

impl Place<'_> {
    fn of(offset: usize, text: &str) -> Place<'_> {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
        let end = text[offset..]
            .find('\n')
            .map_or(text.len(), |at| offset + at);
        Place {
            number: count_lines(&text[..offset]),
            line: text[start..end].trim_end_matches('\r'),
            before: text[start..offset].trim_end_matches('\r'),
        }
    }
}

/// The number of the line that a text ends in, from 1.
#[must_use]
pub fn count_lines(before: &str) -> u32 {
    u32::try_from(before.matches('\n').count()).unwrap_or(u32::MAX - 1) + 1
}

fn count(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX - 1)
}
