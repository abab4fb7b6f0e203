//! Lengths, sizes and tables as `yard` prints them.

use std::borrow::Cow;
use std::path::Path;

pub use model::say_length as length;
pub use train::say_bytes as bytes;

/// A text cut to so many characters, the last one an ellipsis where it was cut.
#[must_use]
pub fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// A path that fits `width` columns: of a long one the end stays, which tells it from others.
#[must_use]
pub fn shortened_path(path: &str, width: usize) -> String {
    let length = path.chars().count();
    if length <= width {
        return path.to_owned();
    }
    let kept: String = path.chars().skip(length + 1 - width).collect();
    format!("…{kept}")
}

/// A checkpoint, of a run or at a path of its own.
#[must_use]
pub fn checkpoint_of(name: &str, of: &str) -> String {
    if Path::new(of).ends_with(name) {
        of.to_owned()
    } else {
        format!("{name} of {of}")
    }
}

/// A text without what moves a terminal's cursor, clears its screen or sets its title: other
/// control characters than line ends and tabs stand as [`char::REPLACEMENT_CHARACTER`].
#[must_use]
pub fn harmless(text: &str) -> Cow<'_, str> {
    // Marks of direction make a line read otherwise than it is.
    let turns = |letter: char| matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_odd = |letter: char| letter.is_control() && !"\n\t".contains(letter) || turns(letter);
    if text.contains(is_odd) {
        Cow::Owned(text.replace(is_odd, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// A text in one line of a table.
fn cell(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// Rows under a head, two blanks between columns, each as wide as its widest cell; nothing behind
/// the last.
#[must_use]
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let cells = |row: &Vec<String>, column: usize| row.get(column).map_or(0, |c| c.chars().count());
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            let widest = rows.iter().map(|row| cells(row, column)).max().unwrap_or(0);
            widest.max(head[column].chars().count())
        })
        .collect();
    let line = |row: &[&str]| {
        let mut text = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            // A format's width is a u16, and a cell may be longer.
            let blanks = width.saturating_sub(cell.chars().count()) + 2;
            text.push_str(cell);
            text.push_str(&" ".repeat(blanks));
        }
        format!("{}\n", text.trim_end())
    };
    let mut text = line(head);
    for row in rows {
        let row: Vec<String> = row.iter().map(|text| cell(text)).collect();
        let row: Vec<&str> = row.iter().map(String::as_str).collect();
        text.push_str(&line(&row));
    }
    text
}

/// The narrowest that a column is cut to.
const LEAST_CELL: usize = 8;

/// Like [`table()`], within `width` columns: where a table would be wider, its widest cells are cut.
/// One that can't be cut to fit stands as a block a row, a line a cell.
#[must_use]
pub fn fitted(head: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let letters = |row: &[String], column: usize| row.get(column).map_or(0, |c| c.chars().count());
    let mut widths: Vec<usize> = (0..head.len())
        .map(|column| {
            let widest = rows.iter().map(|row| letters(row, column)).max();
            widest.unwrap_or(0).max(head[column].chars().count())
        })
        .collect();
    let between = 2 * head.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + between > width {
        let Some(widest) = widths
            .iter_mut()
            .max()
            .filter(|widest| **widest > LEAST_CELL)
        else {
            return blocks(head, rows, width);
        };
        *widest -= 1;
    }
    let cut = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let short = |(cell, width): (&String, &usize)| {
            if cell.starts_with('/') {
                shortened_path(cell, *width)
            } else {
                shortened(cell, *width)
            }
        };
        cells.map(short).collect()
    };
    let rows: Vec<Vec<String>> = rows.iter().map(cut).collect();
    table(head, &rows)
}

/// A row in lines: its first cell, and below it the title and text of each other one that has any.
fn blocks(head: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let titles = head.iter().skip(1).map(|title| title.chars().count());
    let widest = titles.max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        for (index, (title, cell)) in head.iter().zip(row).enumerate() {
            let line = match (index, cell.as_str()) {
                (_, "" | "–") => continue,
                (0, name) => name.to_owned(),
                (_, value) => format!("  {title:<widest$}  {value}"),
            };
            text.push_str(&format!("{}\n", shortened(&line, width)));
        }
    }
    text
}

/// A text in lines of at most `width` characters, parted at blanks; those after the first begin
/// with `indent` blanks.
#[must_use]
pub fn folded(text: &str, width: usize, indent: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join(&format!("\n{}", " ".repeat(indent)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn lengths() {
        let shown: Vec<String> = [
            0,
            12,
            999,
            1000,
            9_940,
            71_000,
            150_000,
            7_800_000,
            273_600_000,
        ]
        .map(length)
        .to_vec();
        expect![[r#"
            0 ms | 12 ms | 999 ms | 1.0 s | 9.9 s | 71 s | 2 min | 2 h 10 | 3 d 4 h"#]]
        .assert_eq(&shown.join(" | "));
    }

    #[test]
    fn sizes() {
        let shown: Vec<String> = [0, 999, 1000, 1_234_567, 144_000_000_000, u64::MAX]
            .map(bytes)
            .to_vec();
        expect!["0 B | 999 B | 1.0 kB | 1.2 MB | 144 GB | 18447 PB"].assert_eq(&shown.join(" | "));
    }

    #[test]
    fn a_checkpoint_at_a_path_is_named_once() {
        assert_eq!(
            checkpoint_of("step-7", "first-x3k2"),
            "step-7 of first-x3k2"
        );
        assert_eq!(checkpoint_of("step-7", "/kept/step-7"), "/kept/step-7");
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(shortened("rank 5", 6), "rank 5");
        assert_eq!(shortened("rank 5 ended", 8), "rank 5…");
    }

    #[test]
    fn tables_can_be_cut_to_fit() {
        let rows = vec![vec!["a".repeat(90), "b".repeat(30), "c".to_owned()]];
        let table = fitted(&["ONE", "TWO", ""], &rows, 100);
        assert!(
            table.lines().all(|line| line.chars().count() <= 100),
            "{table}"
        );
        assert!(table.contains(&"b".repeat(30)) && table.contains("a…"));
        let blocks = fitted(&["ONE", "TWO", ""], &rows, 20);
        assert_eq!(blocks.lines().count(), 3, "{blocks}");
        assert!(blocks.lines().all(|line| line.chars().count() <= 20));
    }

    #[test]
    fn a_cell_may_be_longer_than_a_format_can_pad() {
        let rows = vec![
            vec!["a".repeat(70_000), "b".to_owned()],
            vec!["c".to_owned(), "d\n\x1b[2J".to_owned()],
        ];
        let text = table(&["ONE", "TWO"], &rows);
        assert_eq!(text.lines().count(), 3);
        assert!(
            text.ends_with(" d\u{fffd}\u{fffd}[2J\n"),
            "{}",
            &text[140_000..]
        );
    }

    #[test]
    fn what_moves_a_cursor_is_not_said() {
        assert_eq!(harmless("a\tb\n"), "a\tb\n");
        assert_eq!(
            harmless("a\x1b[2Jb\r\u{9b}2J"),
            "a\u{fffd}[2Jb\u{fffd}\u{fffd}2J"
        );
    }

    #[test]
    fn long_talk_is_folded() {
        assert_eq!(folded("one two three", 7, 2), "one two\n  three");
    }

    #[test]
    fn of_a_long_path_the_end_stays() {
        assert_eq!(shortened_path("/a/b", 4), "/a/b");
        assert_eq!(shortened_path("/scratch/lab/run-1", 10), "…lab/run-1");
    }

    #[test]
    fn tables_have_no_trailing_blanks() {
        expect![[r#"
            RUN   NOTE
            a     –
            long
        "#]]
        .assert_eq(&table(
            &["RUN", "NOTE"],
            &[
                vec!["a".to_owned(), "–".to_owned()],
                vec!["long".to_owned(), String::new()],
            ],
        ));
    }
}
