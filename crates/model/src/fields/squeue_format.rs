//! What `squeue -o` and `-O` say: which columns, how wide, with what between them.

use crate::fields::{Cell, JobField, StepField};
use crate::values::one_line;

/// A line's parts in order, for jobs (`Format<JobField>`) or steps (`Format<StepField>`).
#[derive(Debug)]
pub struct Format<F: 'static> {
    /// What a line is made of.
    pub parts: Vec<Part<F>>,
    /// What could not be read, in Slurm's words: said, and the rest is printed all the same.
    pub complaints: Vec<String>,
}

/// A part of a line.
#[derive(Debug)]
pub enum Part<F: 'static> {
    /// Printed as it stands.
    Literal(String),
    /// A column.
    Column {
        /// Which.
        field: &'static F,
        /// Bytes; 0 is as wide as what stands in it.
        width: i64,
        /// Aligned to the right.
        right: bool,
        /// Printed behind it.
        suffix: String,
    },
}

/// A table of columns that formats name.
pub trait FieldTable: Sized + 'static {
    /// What Slurm calls it in its complaints.
    const WHAT: &'static str;
    /// By letter of `-o`.
    fn by_letter(letter: char) -> Option<&'static Self>;
    /// By name of `-O`.
    fn by_name(name: &str) -> Option<&'static Self>;
}

impl FieldTable for JobField {
    const WHAT: &'static str = "job";
    fn by_letter(letter: char) -> Option<&'static Self> {
        JobField::by_letter(letter)
    }
    fn by_name(name: &str) -> Option<&'static Self> {
        JobField::by_name(name)
    }
}

impl FieldTable for StepField {
    const WHAT: &'static str = "job step";
    fn by_letter(letter: char) -> Option<&'static Self> {
        StepField::by_letter(letter)
    }
    fn by_name(name: &str) -> Option<&'static Self> {
        StepField::by_name(name)
    }
}

impl<F: FieldTable> Format<F> {
    /// Reads `-o`: `%.18i %.9P`, `%all`. A `%` that no letter follows and `%%` print nothing, as
    /// Slurm has it.
    #[must_use]
    pub fn by_letters(text: &str) -> Format<F> {
        let mut format = Format {
            parts: Vec::new(),
            complaints: Vec::new(),
        };
        if text.eq_ignore_ascii_case("%all") {
            format.all();
            return format;
        }
        let (prefix, rest) = text.split_at(text.find('%').unwrap_or(text.len()));
        if !prefix.is_empty() {
            format.parts.push(Part::Literal(prefix.to_owned()));
        }
        for token in rest.split('%').filter(|token| !token.is_empty()) {
            format.letter(token);
        }
        format
    }

    /// Reads `-O`: `jobid:.18 ,name`. 20 wide where no width is given.
    #[must_use]
    pub fn by_names(text: &str) -> Format<F> {
        let mut format = Format {
            parts: Vec::new(),
            complaints: Vec::new(),
        };
        for token in text.split(',').filter(|token| !token.is_empty()) {
            format.name(token);
        }
        format
    }

    fn all(&mut self) {
        for letter in ('a'..='z').chain('A'..='Z') {
            if let Some(field) = F::by_letter(letter) {
                if !self.parts.is_empty() {
                    self.parts.push(Part::Literal("|".to_owned()));
                }
                self.column(field, 0, false, "");
            }
        }
    }

    /// `.18i `, without its `%`.
    fn letter(&mut self, token: &str) {
        let right = token.starts_with('.');
        let rest = &token[usize::from(right)..];
        let (width, rest) = number(rest);
        let letter = rest.chars().next();
        match letter.and_then(|letter| F::by_letter(letter).map(|field| (letter, field))) {
            Some((letter, field)) => self.column(field, width, right, &rest[letter.len_utf8()..]),
            None => {
                self.parts.push(Part::Literal(format!("%{token}")));
                let letter = letter.map(String::from).unwrap_or_default();
                self.complain(&letter);
            }
        }
    }

    /// `name:.18 `
    fn name(&mut self, token: &str) {
        let (name, size) = match token.split_once(':') {
            Some((name, size)) => (name, Some(size)),
            None => (token, None),
        };
        let (right, width, suffix) = match size {
            None => (false, 20, ""),
            Some(size) => {
                let right = size.starts_with('.');
                let size = &size[usize::from(right)..];
                let negative = size.starts_with('-');
                let (width, suffix) = number(&size[usize::from(negative)..]);
                (right, if negative { -width } else { width }, suffix)
            }
        };
        match F::by_name(name) {
            Some(field) => self.column(field, width, right, suffix),
            None => {
                self.parts.push(Part::Literal(suffix.to_owned()));
                self.complain(name);
            }
        }
    }

    fn column(&mut self, field: &'static F, width: i64, right: bool, suffix: &str) {
        self.parts.push(Part::Column {
            field,
            width,
            right,
            suffix: suffix.to_owned(),
        });
    }

    fn complain(&mut self, what: &str) {
        self.complaints
            .push(format!("Invalid {} format specification: {what}", F::WHAT));
    }

    /// Puts a line behind a text: what `cell` says of each column.
    pub fn put<'c>(&self, text: &mut String, cell: impl Fn(&'static F) -> Cell<'c>) {
        for part in &self.parts {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Column {
                    field,
                    width,
                    right,
                    suffix,
                } => {
                    put_padded(text, &cell(field), *width, *right);
                    text.push_str(suffix);
                }
            }
        }
        text.push('\n');
    }
}

/// Digits at the start, and the rest; no digits are 0.
fn number(text: &str) -> (i64, &str) {
    let end = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    // Wider than any line: a larger number would only fill the memory.
    let width = text[..end].parse::<i64>().unwrap_or(0).min(65_536);
    (width, &text[end..])
}

/// Puts a cell in a column, cut and filled as Slurm does it, in bytes.
fn put_padded(line: &mut String, cell: &Cell<'_>, width: i64, right: bool) {
    // The C library prints `(null)` only where six bytes of it are wanted.
    let text = match cell {
        Cell::Text(text) | Cell::Long(text) => one_line(text),
        Cell::Null if !right && (1..6).contains(&width) => "".into(),
        Cell::Null => "(null)".into(),
    };
    let text = text.as_ref();
    let Ok(width) = usize::try_from(width) else {
        line.push_str(text);
        line.push(' ');
        return;
    };
    if width == 0 {
        line.push_str(text);
        return;
    }
    let text = match cell {
        Cell::Long(_) if right => text,
        Cell::Text(_) | Cell::Long(_) | Cell::Null => cut(text, width),
    };
    let fill = std::iter::repeat_n(' ', width.saturating_sub(text.len()));
    if right {
        line.extend(fill);
        line.push_str(text);
    } else {
        line.push_str(text);
        line.extend(fill);
    }
}

/// At most so many bytes of it, in whole letters.
fn cut(text: &str, width: usize) -> &str {
    &text[..text.floor_char_boundary(width)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(format: &Format<JobField>, want: Expect) {
        let mut header = String::new();
        format.put(&mut header, JobField::header_cell);
        let said = format.complaints.join("\n");
        want.assert_eq(&format!("{said}\n[{}]", header.trim_end_matches('\n')));
    }

    #[test]
    fn letters_with_widths_and_what_stands_between() {
        check(
            &Format::by_letters("%.18i %.9P %.8j %.2t"),
            expect![[r#"

                [             JOBID PARTITION     NAME ST]"#]],
        );
        check(
            &Format::by_letters("job %i%%|"),
            expect![[r#"
                Invalid job format specification: |
                [job JOBID%|]"#]],
        );
        check(
            &Format::by_letters("%.10i|%-10j|"),
            expect![[r#"
                Invalid job format specification: -
                [     JOBID|%-10j|]"#]],
        );
        check(
            &Format::by_letters("%5"),
            expect![[r#"
                Invalid job format specification: 
                [%5]"#]],
        );
    }

    #[test]
    fn names_with_widths() {
        check(
            &Format::by_names("JobArrayID:.8 ,name,reasonlist:0"),
            expect![[r#"

                [   JOBID NAME                NODELIST(REASON)]"#]],
        );
        check(
            &Format::by_names("nosuch:5|"),
            expect![[r#"
                Invalid job format specification: nosuch
                [|]"#]],
        );
    }

    fn padded(cell: &Cell<'_>, width: i64, right: bool) -> String {
        let mut text = String::new();
        put_padded(&mut text, cell, width, right);
        text
    }

    #[test]
    fn cells_are_cut_in_whole_letters() {
        assert_eq!(padded(&Cell::Text("größe".into()), 3, false), "gr ");
        assert_eq!(
            padded(&Cell::Long("1-02:03:04".into()), 4, true),
            "1-02:03:04"
        );
        assert_eq!(padded(&Cell::Long("1-02:03:04".into()), 4, false), "1-02");
        assert_eq!(padded(&Cell::Null, 5, false), "     ");
        assert_eq!(padded(&Cell::Null, 5, true), "(null");
    }
}
