//! What a task prolog says to its task, in lines of its standard output.

/// One thing that it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskPrologLine<'a> {
    /// `export NAME=VALUE`: the task has this variable.
    Export(&'a str, &'a str),
    /// `unset NAME`: the task has no such variable.
    Unset(&'a str),
    /// `print TEXT`: a line of the task's standard output.
    Print(&'a str),
}

/// Reads its output; lines of another form say nothing. A value goes to the end of its line.
pub fn task_prolog_lines(output: &str) -> impl Iterator<Item = TaskPrologLine<'_>> {
    output.lines().filter_map(|line| {
        let (word, rest) = line.split_once(' ')?;
        match word {
            "export" => {
                let (name, value) = rest.trim_start().split_once('=')?;
                (!name.is_empty()).then_some(TaskPrologLine::Export(name, value))
            }
            "unset" => {
                let name = rest.trim();
                (!name.is_empty()).then_some(TaskPrologLine::Unset(name))
            }
            "print" => Some(TaskPrologLine::Print(rest)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::TaskPrologLine::{Export, Print, Unset};
    use super::*;

    #[test]
    fn lines_of_other_forms_say_nothing() {
        let check = |output: &str, want: &[TaskPrologLine<'_>]| {
            let lines: Vec<_> = task_prolog_lines(output).collect();
            assert_eq!(lines, want, "{output}");
        };
        check(
            "export A=yes there\nprint hello  you \nunset B\n",
            &[Export("A", "yes there"), Print("hello  you "), Unset("B")],
        );
        check(
            "export A=b=c\nexport A=\n",
            &[Export("A", "b=c"), Export("A", "")],
        );
        check(
            "export A\nexport =b\nunset \nprint\nother line\nEXPORT A=b\n export A=b",
            &[],
        );
        check("", &[]);
    }
}
