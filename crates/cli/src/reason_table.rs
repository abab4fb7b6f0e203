//! A table of names, values and reasons, such as a plan's, in fewer columns than it was laid out for.

use crate::narrow::{cells, columns, indent};
use model::wrap_within;

/// Reasons with less room than this go below their values.
const LEAST_REASON: usize = 24;

/// Its rows, and where its values begin.
#[derive(Debug, PartialEq, Eq)]
pub struct ReasonTable<'t> {
    indent: usize,
    values_at: usize,
    rows: Vec<Row<'t>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Row<'t> {
    name: &'t str,
    value: &'t str,
    reason: &'t str,
}

impl<'t> ReasonTable<'t> {
    /// The table that lines begin with, and how many of them are of it. Two rows at least have their
    /// reasons in one column.
    pub fn at_top_of(lines: &'t [String]) -> Option<(ReasonTable<'t>, usize)> {
        let first = cells(lines.first()?);
        let indent = indent(lines.first()?);
        let &(values_at, _) = first.get(1)?;
        let mut rows: Vec<Row<'t>> = Vec::new();
        let mut reasons_at: Vec<usize> = Vec::new();
        let mut count = 0;
        for line in lines {
            match (&cells(line)[..], rows.last_mut()) {
                _ if line.contains('│') => break,
                (&[(name_at, name), (at, value)], _) if name_at == indent && at == values_at => {
                    rows.push(Row::of(name, value, ""));
                }
                (&[(name_at, name), (at, value), (reason_at, reason)], _)
                    if name_at == indent && at == values_at =>
                {
                    rows.push(Row::of(name, value, reason));
                    reasons_at.push(reason_at);
                }
                // The reason of a value that has its lines for itself.
                (&[(at, reason)], Some(row)) if at > values_at && row.reason.is_empty() => {
                    row.reason = reason.trim_end();
                }
                _ => break,
            }
            count += 1;
        }
        let is_column = |at: &usize| reasons_at.iter().filter(|other| *other == at).count() > 1;
        let table = ReasonTable {
            indent,
            values_at,
            rows,
        };
        (indent > 0 && reasons_at.iter().any(is_column)).then_some((table, count))
    }

    /// Writes it with its reasons where that takes the fewest lines; false where no column of at most
    /// `width` has room for reasons beside values.
    pub fn lay_out(&self, narrow: &mut String, width: usize) -> bool {
        let starts = self
            .rows
            .iter()
            .map(|row| self.values_at + columns(row.value) + 2);
        let with_room = starts.filter(|start| start + LEAST_REASON <= width);
        let tried = with_room.map(|start| self.with_reasons_at(start, width));
        match tried.min_by_key(|text| text.lines().count()) {
            Some(best) => narrow.push_str(&best),
            None => return false,
        }
        true
    }

    fn with_reasons_at(&self, reasons_at: usize, width: usize) -> String {
        let mut shown = String::new();
        let (indent, values) = (self.indent, reasons_at - self.values_at - 2);
        let names = self.values_at - indent;
        let (below_value, below_reason) = (" ".repeat(self.values_at), " ".repeat(reasons_at));
        for Row {
            name,
            value,
            reason,
        } in &self.rows
        {
            let head = format!("{:indent$}{name:names$}", "");
            if columns(value) <= values && !reason.is_empty() {
                let head = format!("{head}{value:values$}  ");
                wrap_within(width, &mut shown, &head, &below_reason, reason);
                continue;
            }
            wrap_within(width, &mut shown, &head, &below_value, value);
            if !reason.is_empty() {
                wrap_within(width, &mut shown, &below_reason, &below_reason, reason);
            }
        }
        shown
    }
}

impl<'t> Row<'t> {
    fn of(name: &'t str, value: &'t str, reason: &'t str) -> Row<'t> {
        Row {
            name: name.trim_end(),
            value: value.trim_end(),
            reason: reason.trim_end(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::narrow::narrowed;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(text: &str, width: usize, want: Expect) {
        want.assert_eq(&narrowed(text, width, false));
    }

    const PLAN: &str = "\
lab · ibex · 1 rank
  launcher        none                          one process needs no launcher
  command         python3 train.py --write-checkpoints-to {checkpoints} --resume {resume} --steps 9
                                                from yard.toml:2
  memory          180 GiB                       ibex: 64G-90G a v100 (policy), the upper end
  checkpoints     all are kept                  default: no checkpoint is deleted
  comes back on   timeout, preemption           default: a run continues until it is done

  note: nothing
";

    #[test]
    fn reasons_stay_in_one_column() {
        check(
            PLAN,
            80,
            expect![[r#"
                lab · ibex · 1 rank
                  launcher        none          one process needs no launcher
                  command         python3 train.py --write-checkpoints-to {checkpoints} --resume
                                  {resume} --steps 9 from yard.toml:2
                  memory          180 GiB       ibex: 64G-90G a v100 (policy), the upper end
                  checkpoints     all are kept  default: no checkpoint is deleted
                  comes back on   timeout, preemption
                                                default: a run continues until it is done

                  note: nothing
            "#]],
        );
    }

    #[test]
    fn reasons_without_room_go_below() {
        check(
            PLAN,
            40,
            expect![[r#"
                lab · ibex · 1 rank
                  launcher        none
                                  one process needs no
                                  launcher
                  command         python3 train.py
                                  --write-checkpoints-to
                                  {checkpoints} --resume
                                  {resume} --steps 9
                                  from yard.toml:2
                  memory          180 GiB
                                  ibex: 64G-90G a v100
                                  (policy), the upper
                                  end
                  checkpoints     all are kept
                                  default: no checkpoint
                                  is deleted
                  comes back on   timeout, preemption
                                  default: a run
                                  continues until it is
                                  done

                  note: nothing
            "#]],
        );
    }
}
