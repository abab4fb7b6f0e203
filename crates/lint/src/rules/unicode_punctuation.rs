//! Y024: dashes, quotes and blanks that a word processor made.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Edit, Finding, Found, LintInput, Severity};
use model::script_lines::LineKind;

/// Y024.
pub const RULE: Rule = Rule {
    code: "Y024",
    name: "unicode-punctuation",
    severity: Severity::Error,
    summary: "a dash, quote or blank in a directive is not the one of the keyboard",
    page: "Word processors, web pages and chat programs turn -- into a long dash, quotes into curly ones
and blanks into unbreakable ones. They look alike and mean nothing to sbatch: an option with such a
dash is a stray word, an unbreakable blank becomes part of a value.

```
#!/bin/bash
#SBATCH \u{2013}-nodes=1
srun hostname
```

Source: seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

/// What is taken for what.
fn plain(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{2010}' | '\u{2011}' | '\u{2012}' | '\u{2212}' => "-",
        '\u{2013}' | '\u{2014}' => "-",
        '\u{2018}' | '\u{2019}' => "'",
        '\u{201c}' | '\u{201d}' => "\"",
        '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{3000}' => " ",
        '\u{200b}' | '\u{feff}' => "",
        _ => return None,
    })
}

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for (number, kind) in (1..).zip(&script.kinds.kinds) {
        let line = script.lines.line(number);
        if *kind != LineKind::Directive || line.is_ascii() {
            continue;
        }
        // A comment may hold what it likes.
        let end = line["#SBATCH".len()..]
            .find('#')
            .map_or(line.len(), |at| at + "#SBATCH".len());
        let from = script.lines.range(number).start;
        let found: Vec<(usize, char, &str)> = line[..end]
            .char_indices()
            .filter_map(|(at, c)| plain(c).map(|text| (at, c, text)))
            .collect();
        let Some((at, c, _)) = found.first() else {
            continue;
        };
        let name = match plain(*c) {
            Some("-") => "a long dash",
            Some(" ") => "an unbreakable blank",
            Some("") => "an invisible character",
            _ => "a curly quote",
        };
        let place = from + at..from + at + c.len_utf8();
        let refused = script.diagnostics.iter().any(|diagnostic| {
            diagnostic.severity == model::Severity::Error
                && matches!(diagnostic.span, model::Span::Script { line, .. } if line == number)
        });
        let severity = if refused {
            Severity::Error
        } else {
            Severity::Warning
        };
        let mut finding = Finding::new(
            RULE.code,
            severity,
            format!("{name} (U+{:04X}) stands in a directive", u32::from(*c)),
        )
        .at(place, "not what the keyboard makes");
        finding.refused = refused;
        // A plain quote in `Ada's` would open what nobody closes, and sbatch read no further.
        let is_open = |quote: char| {
            let own = line[..end].matches(quote).count();
            let new = found.iter().filter(|(_, _, text)| text.starts_with(quote));
            (own + new.count()) % 2 == 1
        };
        if is_open('\'') || is_open('"') {
            findings.push(finding);
            continue;
        }
        findings.push(finding.fix(found.iter().map(|(at, c, text)| {
            let behind_dash = *text == "-"
                && line[at + c.len_utf8()..].starts_with(|c: char| c.is_ascii_alphabetic());
            let before = line[..*at].ends_with([' ', '\t']) || *at == 0;
            // One long dash stands for two at the beginning of a long name.
            let text = if behind_dash && before && *c != '\u{2212}' && *c != '\u{2010}' {
                "--"
            } else {
                text
            };
            Edit::new(from + at..from + at + c.len_utf8(), text)
        })));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes, fixes_not, silent};

    #[test]
    fn speaks() {
        assert!(fires(&RULE, "#SBATCH «\u{2013}»-nodes=1\n").refused);
        assert!(!fires(&RULE, "#SBATCH -o%x«\u{a0}»\n").refused);
    }

    #[test]
    fn a_quote_without_its_end_stays() {
        fixes_not(&RULE, "#SBATCH -J Ada«\u{2019}»s\n");
        fixes(
            &RULE,
            "#SBATCH -J \u{2018}a b\u{2019}\n",
            "#SBATCH -J 'a b'\n",
        );
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "#SBATCH -J größe # für alle – immer\n# – a\necho –\n",
        );
    }

    #[test]
    fn fixes_them() {
        fixes(
            &RULE,
            "#SBATCH \u{2014}nodes=1 -J \u{201c}a b\u{201d}\n",
            "#SBATCH --nodes=1 -J \"a b\"\n",
        );
        fixes(&RULE, "#SBATCH \u{2013}-nodes=1\n", "#SBATCH --nodes=1\n");
        // Taken as they are: a quote that nothing closes and a stray word would not be.
        fixes_not(&RULE, "#SBATCH -n 1 -J Ada«\u{2019}»s\n");
        fixes_not(&RULE, "#SBATCH -n 1 -J my«\u{a0}»job\n");
    }
}
