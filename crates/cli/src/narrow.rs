//! Texts that were laid out for [`WIDEST`] columns, on a terminal that has fewer.

use crate::reason_table::ReasonTable;
use crate::words::shortened_path;
use model::{WIDEST, wrap_within};

/// The narrowest that texts are laid out for: below it a terminal breaks lines itself.
pub const NARROWEST: usize = 40;

/// A text in lines of at most `width` columns. Lines that were broken because they reached
/// [`WIDEST`] are joined first; columns, which two blanks part, go on below the one before where
/// they have no room. Words stay whole, and so do the quoted lines of a script (`12 │ srun`);
/// `cut_paths`: but of a path that is wider than its column the end alone stays.
#[must_use]
pub fn narrowed(text: &str, width: usize, cut_paths: bool) -> String {
    if width >= WIDEST {
        return text.to_owned();
    }
    let lines = joined(text);
    let mut narrow = String::new();
    let mut rest = &lines[..];
    let mut below = None;
    while let Some(line) = rest.first() {
        let table = ReasonTable::at_top_of(rest);
        let table =
            table.filter(|(_, count)| rest[..*count].iter().any(|line| columns(line) > width));
        if let Some((table, count)) = table
            && table.lay_out(&mut narrow, width)
        {
            rest = &rest[count..];
            continue;
        }
        let is_far = indent(line) > width / 2;
        if columns(line) <= width && !is_far || line.contains('│') {
            narrow.push_str(line);
        } else if let (true, Some(below)) = (is_far, below) {
            // What goes on in a column for which there is no room.
            let blanks = " ".repeat(below);
            wrap_within(width, &mut narrow, &blanks, &blanks, line.trim());
            narrow.pop();
        } else {
            lay_out(&mut narrow, line, width, cut_paths);
        }
        narrow.push('\n');
        if !is_far {
            below = cells(line).get(1).map(|(start, _)| *start);
        }
        rest = &rest[1..];
    }
    if !text.ends_with('\n') {
        narrow.pop();
    }
    narrow
}

/// The lines as they were before they were broken at [`WIDEST`].
fn joined(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let (mut before, mut goes_on) = (None::<&str>, None);
    for line in text.lines() {
        let word = line.split_whitespace().next().map_or(0, columns);
        let had_no_room = before.is_some_and(|before| columns(before) + 1 + word > WIDEST);
        let deeper = before.is_some_and(|before| indent(line) > indent(before));
        let is_rest = word > 0 && had_no_room && (deeper || goes_on == Some(indent(line)));
        match lines.last_mut() {
            Some(last) if is_rest => {
                last.push(' ');
                last.push_str(line.trim_start());
                goes_on = Some(indent(line));
            }
            _ => {
                lines.push(line.to_owned());
                goes_on = None;
            }
        }
        before = Some(line);
    }
    lines
}

fn lay_out(narrow: &mut String, line: &str, width: usize, cut_paths: bool) {
    let mut used = 0;
    let mut below = indent(line);
    for (index, (start, cell)) in cells(line).into_iter().enumerate() {
        let text = cell.trim_end();
        if start <= width / 2 {
            below = start;
        }
        let fits = used < start && start + columns(text) <= width;
        if index == 0 || start <= width / 2 && used < start || fits {
            narrow.extend(std::iter::repeat_n(' ', start.saturating_sub(used)));
            used = used.max(start);
        } else if used + 2 + columns(text) <= width {
            narrow.push_str("  ");
            used += 2;
        } else {
            begin(narrow, &mut used, below);
        }
        // A line of one cell goes on a little deeper than it begins.
        let below = if index == 0 { below + 2 } else { below };
        for (place, word) in text.split(' ').enumerate() {
            let room = width.saturating_sub(below);
            let cut = (cut_paths && word.starts_with('/')).then(|| shortened_path(word, room));
            let word = cut.as_deref().unwrap_or(word);
            if place > 0 && used + 1 + columns(word) > width {
                begin(narrow, &mut used, below);
            } else if place > 0 {
                narrow.push(' ');
                used += 1;
            }
            narrow.push_str(word);
            used += columns(word);
        }
    }
}

/// Begins a line below.
fn begin(narrow: &mut String, used: &mut usize, indent: usize) {
    narrow.push('\n');
    narrow.extend(std::iter::repeat_n(' ', indent));
    *used = indent;
}

/// What two blanks or more part, and where each begins.
pub fn cells(line: &str) -> Vec<(usize, &str)> {
    let mut cells = Vec::new();
    let mut rest = line.trim_start();
    let mut at = indent(line);
    while !rest.is_empty() {
        let end = rest.find("  ").unwrap_or(rest.len());
        let (cell, after) = rest.split_at(end);
        cells.push((at, cell));
        rest = after.trim_start();
        at += columns(cell) + columns(after) - columns(rest);
    }
    cells
}

/// The blanks that a line begins with.
pub fn indent(line: &str) -> usize {
    columns(line) - columns(line.trim_start())
}

/// How wide a text is.
pub fn columns(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(text: &str, width: usize, want: Expect) {
        let narrow = narrowed(text, width, true);
        want.assert_eq(&narrow);
        let longest = narrow.lines().map(columns).max().unwrap_or(0);
        assert!(longest <= width, "{longest}");
    }

    #[test]
    fn columns_go_below_where_they_have_no_room() {
        check(
            "digits\n\
             \x20 nodes           1                             one unless asked\n\
             \x20 constraint      v100&cpu_intel_platinum_8260  ibex's v100 have no type to ask for, nodes have a\n\
             \x20                                               feature; cpu_intel_platinum_8260 asked: yard.toml:7\n",
            50,
            expect![[r#"
                digits
                  nodes           1  one unless asked
                  constraint      v100&cpu_intel_platinum_8260
                                     ibex's v100 have no type to
                                     ask for, nodes have a
                                     feature;
                                     cpu_intel_platinum_8260
                                     asked: yard.toml:7
            "#]],
        );
    }

    #[test]
    fn paragraphs_are_broken_anew() {
        check(
            "error: a-tzew can't start, as nothing that is known of it says where it was to start\n\
             \x20 asked   two nodes with four GPUs each, for as long as it takes to finish\n",
            50,
            expect![[r#"
                error: a-tzew can't start, as nothing that is
                  known of it says where it was to start
                  asked   two nodes with four GPUs each, for as
                          long as it takes to finish
            "#]],
        );
    }

    #[test]
    fn of_a_path_without_room_the_end_stays() {
        let path = "/home/lab/a-long-name/of-a-project/scratch/trial-k3f9";
        let text = format!("  folder       {path}\nit runs (process 7, {path})\n");
        check(
            &text,
            50,
            expect![[r#"
                  folder       …me/of-a-project/scratch/trial-k3f9
                it runs (process 7,
                  …ab/a-long-name/of-a-project/scratch/trial-k3f9)
            "#]],
        );
        assert!(narrowed(&text, 50, false).contains(path));
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        for text in ["", "a\n", "a", "\n\n", "  a  b\n"] {
            assert_eq!(narrowed(text, 50, true), text);
        }
    }
}
