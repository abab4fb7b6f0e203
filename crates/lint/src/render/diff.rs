//! What fixes would change, as a unified diff.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Lines that are shown round a change.
const CONTEXT: usize = 3;
/// Beyond so many pairs of lines no shortest way is looked for.
const MOST_PAIRS: usize = 4_000_000;

/// One line of a diff: how it goes from the old text to the new one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step<'a> {
    Keep(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// The unified diff of two texts of one file, empty where they are the same.
#[must_use]
pub fn diff(old: &str, new: &str, name: &str) -> String {
    let steps = steps(old, new);
    let changed = |step: &Step<'_>| !matches!(step, Step::Keep(_));
    let mut shown = String::new();
    let mut at = 0;
    while let Some(offset) = steps[at..].iter().position(changed) {
        let from = (at + offset).saturating_sub(CONTEXT);
        let mut end = at + offset + 1;
        while let Some(next) = steps[end..].iter().take(2 * CONTEXT + 1).position(changed) {
            end += next + 1;
        }
        end = (end + CONTEXT).min(steps.len());
        if shown.is_empty() {
            let name = header_name(name);
            let _ = writeln!(shown, "--- {name}\n+++ {name}");
        }
        hunk(&mut shown, &steps, from, end);
        at = end;
    }
    shown
}

/// A name as git and patch write one that would end the line: in quotes, escaped as in C.
fn header_name(name: &str) -> Cow<'_, str> {
    if !name.contains(|c: char| c.is_control()) {
        return Cow::Borrowed(name);
    }
    let mut quoted = String::from("\"");
    for letter in name.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => {
                let mut bytes = [0; 4];
                for byte in letter.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(quoted, "\\{byte:03o}");
                }
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    Cow::Owned(quoted)
}

fn hunk(shown: &mut String, steps: &[Step<'_>], from: usize, end: usize) {
    let old = |steps: &[Step<'_>]| steps.iter().filter(|s| !matches!(s, Step::New(_))).count();
    let new = |steps: &[Step<'_>]| steps.iter().filter(|s| !matches!(s, Step::Old(_))).count();
    let (before, inside) = (&steps[..from], &steps[from..end]);
    let (count, to) = (old(inside), new(inside));
    // A place without lines is named by the line before it.
    let start = |before: usize, count: usize| if count == 0 { before } else { before + 1 };
    let _ = writeln!(
        shown,
        "@@ -{},{count} +{},{to} @@",
        start(old(before), count),
        start(new(before), to)
    );
    for step in inside {
        let (mark, line) = match step {
            Step::Keep(line) => (' ', line),
            Step::Old(line) => ('-', line),
            Step::New(line) => ('+', line),
        };
        shown.push(mark);
        shown.push_str(line);
        if !line.ends_with('\n') {
            shown.push_str("\n\\ No newline at end of file\n");
        }
    }
}

fn steps<'a>(old: &'a str, new: &'a str) -> Vec<Step<'a>> {
    let a: Vec<&str> = old.split_inclusive('\n').collect();
    let b: Vec<&str> = new.split_inclusive('\n').collect();
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    let end = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (tail, a) = (&a[a.len() - end..], &a[..a.len() - end]);
    let b = &b[..b.len() - end];
    let head = old.split_inclusive('\n').take(same).map(Step::Keep);
    let mut steps: Vec<Step<'_>> = head.collect();
    middle(a, b, &mut steps);
    steps.extend(tail.iter().map(|line| Step::Keep(line)));
    steps
}

/// The longest common lines of what differs at both ends.
fn middle<'a>(a: &[&'a str], b: &[&'a str], steps: &mut Vec<Step<'a>>) {
    if a.len().saturating_mul(b.len()) > MOST_PAIRS {
        steps.extend(a.iter().map(|line| Step::Old(line)));
        steps.extend(b.iter().map(|line| Step::New(line)));
        return;
    }
    let width = b.len() + 1;
    let mut longest = vec![0_u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            longest[i * width + j] = if a[i] == b[j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            steps.push(Step::Keep(a[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == b.len()
            || (i < a.len() && longest[(i + 1) * width + j] >= longest[i * width + j + 1])
        {
            steps.push(Step::Old(a[i]));
            i += 1;
        } else {
            steps.push(Step::New(b[j]));
            j += 1;
        }
    }
}
