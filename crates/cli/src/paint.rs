//! Colours: they only repeat what the words say, so that nothing is lost without them.

use anstyle::{AnsiColor, Style};

const BOLD: Style = Style::new().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const ODD: Style = AnsiColor::Yellow.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const QUIET: Style = Style::new().dimmed();

/// Beginnings of lines that say how bad it is.
const HEADS: [(&str, Style); 6] = [
    ("error", BAD),
    ("warning", ODD),
    ("note", BOLD),
    ("  note", BOLD),
    ("  help", BOLD),
    ("  -->", QUIET),
];

/// States of runs and jobs.
const STATES: [(&str, Style); 9] = [
    ("running", GOOD),
    ("done", GOOD),
    ("waiting", ODD),
    ("resuming", ODD),
    ("failed", BAD),
    ("refused", BAD),
    ("unknown", BAD),
    ("cancelled", QUIET),
    ("not submitted", QUIET),
];

/// A text with colours: the first word of lines that judge, titles of steps, and states.
#[must_use]
pub fn painted(text: &str) -> String {
    text.split_inclusive('\n').map(line).collect()
}

fn line(line: &str) -> String {
    let head = HEADS.iter().find(|(head, _)| {
        let rest = line.strip_prefix(head);
        rest.is_some_and(|rest| {
            rest.starts_with([':', '[']) || head.starts_with(' ') && rest.starts_with(' ')
        })
    });
    if let Some((head, style)) = head {
        let end = match line[head.len()..].split_once(':') {
            Some((code, _)) if code.starts_with('[') || code.is_empty() => {
                head.len() + code.len() + 1
            }
            _ => head.len(),
        };
        return format!("{style}{}{style:#}{}", &line[..end], &line[end..]);
    }
    let of_state = |text: &str| {
        let known = STATES.iter().find(|(state, _)| *state == text);
        known.map(|(_, style)| style)
    };
    // `digits-vfjk · local · running`
    if let Some((before, state)) = line.trim_end().rsplit_once(" · ")
        && let Some(style) = of_state(state)
    {
        let end = &line[line.trim_end().len()..];
        return format!("{before} · {style}{state}{style:#}{end}");
    }
    // `digits-vfjk  1  local  running  12 s`
    let mut from = 0;
    for cell in line.trim_end().split("  ") {
        if let Some(style) = of_state(cell.trim())
            && from > 0
        {
            let end = from + cell.len();
            return format!("{}{style}{cell}{style:#}{}", &line[..from], &line[end..]);
        }
        from += cell.len() + 2;
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        let marked = painted(text).replace("\x1b[0m", ">");
        let mut plain = String::new();
        let mut rest = marked.as_str();
        while let Some((before, after)) = rest.split_once('\x1b') {
            plain.push_str(before);
            // Of several attributes one is enough here.
            if !plain.ends_with('<') {
                plain.push('<');
            }
            rest = after.split_once('m').map_or("", |(_, rest)| rest);
        }
        plain.push_str(rest);
        assert_eq!(plain, want);
        assert_eq!(
            anstream::adapter::strip_str(&painted(text)).to_string(),
            text
        );
    }

    #[test]
    fn the_words_that_judge_are_painted() {
        check("error: no\n  asked   x\n", "<error:> no\n  asked   x\n");
        check("error[Y012]: the first\n", "<error[Y012]:> the first\n");
        check("a · local · failed\n", "a · local · <failed>\n");
        check(
            "RUN  STATE\na    done   2 s\n",
            "RUN  STATE\na    <done>   2 s\n",
        );
        check("errors are none\n", "errors are none\n");
        check("done\n", "done\n");
    }
}
