//! The state as a frame. Pure: drawing reads only.

use super::state::{Screen, State};
use super::view::{Detail, HEAD, News, Row};
use crate::words;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, Paragraph, Row as TableRow, Table, TableState};

/// From so many columns on the chosen one stands beside the list.
const WIDE: u16 = 150;
/// Columns between the list and the chosen one.
const GAP: u16 = 2;
/// Columns of the list that are dropped first where there is no room, by their places.
const DROPPED: [usize; 4] = [5, 1, 2, 4];
/// So much of a note is worth a column.
const LEAST_NOTE: u16 = 12;
/// The keys, in the last line.
const KEYS: &str = "↑↓ choose  l log  ←→ rank  c cancel  r requeue  a all  ? keys  q quit";
const LOG_KEYS: &str = "↑↓ scroll  ←→ rank  l list  c cancel  r requeue  q quit";

/// What each key does.
const HELP: [(&str, &str); 10] = [
    ("↑ ↓  k j", "choose a run or job; in a log, scroll"),
    ("PgUp PgDn Home End", "the same in larger steps"),
    ("← →  [ ]", "the rank whose lines are shown"),
    ("l  Enter", "the log of that rank, or back to the list"),
    ("c", "cancel the chosen run or job, after a question"),
    ("r", "put it back into the queue, after a question"),
    ("a", "also what has ended, or only what waits and runs"),
    ("?", "this page"),
    ("Esc", "back; from the list, leave"),
    ("q  Ctrl-C", "leave; runs go on"),
];

/// Draws all of it.
pub fn draw(frame: &mut Frame<'_>, state: &State) {
    let [head, middle, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(head_line(state)), head);
    match state.screen() {
        Screen::Help => help(frame, middle),
        Screen::Log => log(frame, middle, state),
        Screen::List => {
            let rows = state.rows();
            if rows.is_empty() {
                frame.render_widget(Paragraph::new(nothing(state)), middle);
            } else if middle.width >= WIDE {
                let halves = [Constraint::Percentage(55), Constraint::Percentage(45)];
                let halves = Layout::horizontal(halves).spacing(GAP);
                let [left, right] = halves.areas(middle);
                list(frame, left, state, &rows);
                detail(frame, right, state);
            } else {
                let most = (middle.height / 2).max(3);
                let wanted = u16::try_from(rows.len() + 1).unwrap_or(u16::MAX);
                let parts = [Constraint::Length(wanted.min(most)), Constraint::Min(0)];
                let [above, below] = Layout::vertical(parts).areas(middle);
                list(frame, above, state, &rows);
                detail(frame, below, state);
            }
        }
    }
    frame.render_widget(Paragraph::new(foot_line(state)), foot);
}

fn head_line(state: &State) -> Line<'static> {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let mut parts = vec![Span::styled("yard top", bold)];
    let Some(news) = state.news() else {
        parts.push(Span::raw(" · looking"));
        return Line::from(parts);
    };
    let counts = ["running", "waiting", "resuming"].map(|word| {
        let rows = news.rows.iter();
        (word, rows.filter(|row| row.state() == word).count())
    });
    for (word, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        parts.push(Span::raw(format!(" · {count} {word}")));
    }
    if let Some(problem) = news.problems.first() {
        let more = match news.problems.len() {
            1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        let text = format!(" · {problem}{more}");
        parts.push(Span::styled(text, Style::new().fg(Color::Yellow)));
    }
    Line::from(parts)
}

fn foot_line(state: &State) -> Line<'static> {
    match state.line() {
        Some(line) if state.asks() => {
            Line::styled(line, Style::new().add_modifier(Modifier::REVERSED))
        }
        Some(line) => Line::styled(line, Style::new().add_modifier(Modifier::BOLD)),
        None => {
            let keys = match state.screen() {
                Screen::Log => LOG_KEYS,
                Screen::List | Screen::Help => KEYS,
            };
            Line::styled(keys, Style::new().add_modifier(Modifier::DIM))
        }
    }
}

fn nothing(state: &State) -> &'static str {
    match (state.news(), state.shows_all()) {
        (None, _) => "",
        (Some(_), true) => "no runs yet; yard run FILE starts one",
        (Some(News { rows, .. }), false) if rows.is_empty() => {
            "no runs yet; yard run FILE starts one"
        }
        (Some(_), false) => "nothing waits or runs; a shows what has ended",
    }
}

fn of_state(word: &str) -> Style {
    match word {
        "running" | "done" => Style::new().fg(Color::Green),
        "waiting" | "resuming" => Style::new().fg(Color::Yellow),
        "failed" | "refused" => Style::new().fg(Color::Red),
        _ => Style::new(),
    }
}

/// Which columns there are, and how wide, within so many.
fn columns(rows: &[Vec<String>], width: u16) -> Vec<(usize, u16)> {
    let widest = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        let widest = cells.chain([HEAD[column].len()]).max().unwrap_or(0);
        u16::try_from(widest).unwrap_or(u16::MAX)
    };
    let note = HEAD.len() - 1;
    let mut shown: Vec<(usize, u16)> = (0..note).map(|column| (column, widest(column))).collect();
    let used = |shown: &[(usize, u16)]| {
        shown.iter().fold(0u16, |sum, (_, width)| {
            sum.saturating_add(width.saturating_add(2))
        })
    };
    for dropped in DROPPED {
        if used(&shown) <= width {
            break;
        }
        shown.retain(|(column, _)| *column != dropped);
    }
    if used(&shown) > width
        && let Some((_, name)) = shown.first_mut()
    {
        *name = (*name).min(width / 2);
    }
    let left = width.saturating_sub(used(&shown));
    if left >= LEAST_NOTE {
        shown.push((note, left));
    }
    shown
}

fn list(frame: &mut Frame<'_>, area: Rect, state: &State, rows: &[&Row]) {
    let cells: Vec<Vec<String>> = rows.iter().map(|row| row.cells()).collect();
    let columns = columns(&cells, area.width);
    let head = columns.iter().map(|(column, _)| Cell::from(HEAD[*column]));
    let head = TableRow::new(head).style(Style::new().add_modifier(Modifier::DIM));
    let lines = rows.iter().zip(&cells).map(|(row, cells)| {
        let cells = columns.iter().map(|(column, width)| {
            let text = words::shortened(&cells[*column], usize::from(*width));
            match HEAD[*column] {
                "STATE" => Cell::from(text).style(of_state(row.state())),
                _ => Cell::from(text),
            }
        });
        TableRow::new(cells)
    });
    let widths = columns.iter().map(|(_, width)| Constraint::Length(*width));
    let table = Table::new(lines, widths)
        .header(head)
        .column_spacing(2)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut place = TableState::new().with_selected(state.place());
    frame.render_stateful_widget(table, area, &mut place);
}

/// How many lines each part gets of so many; the last takes what is left.
fn shares(height: usize, wanted: [usize; 3]) -> [usize; 4] {
    // Some lines of the log are always worth it.
    let least_lines = (height / 3).min(5);
    let mut left = height.saturating_sub(least_lines);
    let mut given = [0; 4];
    for (index, wanted) in wanted.into_iter().enumerate() {
        // What comes after must get something.
        let fair = left.div_ceil(3 - index);
        given[index] = wanted.min(fair.max(1)).min(left);
        left -= given[index];
    }
    given[3] = left + least_lines;
    given
}

fn detail(frame: &mut Frame<'_>, area: Rect, state: &State) {
    if area.height < 2 {
        return;
    }
    let block = Block::new().borders(Borders::TOP);
    let Some(detail) = state.detail() else {
        frame.render_widget(block, area);
        return;
    };
    let block = block.title(format!(" {} ", detail.title));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let (width, height) = (usize::from(inner.width), usize::from(inner.height));
    let mut lines: Vec<Line<'_>> = Vec::new();
    if !detail.note.is_empty() {
        let note = words::folded(&detail.note, width, 2);
        lines.extend(note.lines().take(3).map(|line| Line::raw(line.to_owned())));
    }
    let per_row = (width / RANK_WIDTH).max(1);
    let ranks = detail.ranks.len().div_ceil(per_row);
    let height = height.saturating_sub(lines.len());
    let given = shares(height, [detail.nodes.len(), detail.gpus.len(), ranks]);
    lines.extend(some(&detail.nodes, given[0], width, "nodes"));
    lines.extend(some(&detail.gpus, given[1], width, "GPUs"));
    let rows: Vec<String> = detail
        .ranks
        .chunks(per_row)
        .map(|ranks| {
            let cells = ranks.iter().map(|rank| {
                let rank = words::shortened(rank, RANK_WIDTH - 2);
                format!("{rank:<width$}", width = RANK_WIDTH - 2)
            });
            cells.collect::<Vec<_>>().join("  ")
        })
        .collect();
    lines.extend(some(&rows, given[2], width, "lines of ranks"));
    lines.extend(log_lines(detail, given[3], 0));
    frame.render_widget(Paragraph::new(lines), inner);
}

/// A rank's cell and the blanks after it.
const RANK_WIDTH: usize = 28;

/// The first of them in so many columns, and how many more there are.
fn some(texts: &[String], room: usize, width: usize, what: &str) -> Vec<Line<'static>> {
    let all = texts.len() <= room;
    let shown = if all { room } else { room.saturating_sub(1) };
    let mut lines: Vec<Line<'static>> = texts
        .iter()
        .take(shown)
        .map(|text| Line::raw(words::shortened(text, width)))
        .collect();
    if !all && room > 0 {
        lines.push(Line::raw(format!(
            "  and {} more {what}",
            texts.len() - shown
        )));
    }
    lines
}

fn log_lines(detail: &Detail, room: usize, back: usize) -> Vec<Line<'_>> {
    let end = detail.lines.len().saturating_sub(back);
    let begin = end.saturating_sub(room);
    let rank = detail.rank;
    let line = |text: &String| {
        let rank = Span::styled(
            format!("[{rank}] "),
            Style::new().add_modifier(Modifier::DIM),
        );
        Line::from(vec![rank, Span::raw(text.clone())])
    };
    detail.lines[begin..end].iter().map(line).collect()
}

fn log(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let title = match state.detail() {
        Some(detail) => format!(" {} · rank {} ", detail.title, state.rank()),
        None => " it is no longer listed; l goes back ".to_owned(),
    };
    let block = Block::new().borders(Borders::TOP).title(title);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let lines = match state.detail() {
        Some(detail) if detail.lines.is_empty() => vec![Line::raw("nothing printed yet")],
        Some(detail) => log_lines(detail, usize::from(inner.height), state.back()),
        None => Vec::new(),
    };
    frame.render_widget(Paragraph::new(lines), inner);
}

fn help(frame: &mut Frame<'_>, area: Rect) {
    let line = |(keys, what): (&str, &str)| Line::raw(format!("  {keys:<20}{what}"));
    let lines: Vec<Line<'_>> = HELP.into_iter().map(line).collect();
    let block = Block::new().borders(Borders::TOP).title(" keys ");
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

#[cfg(test)]
#[path = "draw_tests.rs"]
mod tests;
