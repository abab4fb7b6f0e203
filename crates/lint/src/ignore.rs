//! `# yard: ignore[Y012]`

use crate::cut_short::not_looked_at;
use crate::script::Script;
use crate::{Edit, Finding, Rule, Severity};
use model::script_lines::LineKind;
use std::collections::HashMap;
use std::ops::Range;

/// What the comment looks like.
const MARK: &str = "yard: ignore[";

/// What findings a script doesn't want to hear of.
pub(crate) struct Ignores {
    all: Vec<Ignore>,
    /// The first that there was no room for.
    more: Option<usize>,
}

/// So many codes to ignore are read.
const MOST: usize = 1000;

struct Ignore {
    code: String,
    range: Range<usize>,
    /// The line that it is for; none for the whole file.
    line: Option<usize>,
}

impl Ignores {
    /// Reads them. One that stands alone before the first directive and command is for the whole
    /// file, one that stands alone elsewhere is for the next line, one behind something for that.
    pub(crate) fn read(script: &Script<'_>) -> Ignores {
        let mut all = Vec::new();
        let mut from = 0;
        let mut more = None;
        let first = script.kinds.kinds.iter().position(|kind| {
            !matches!(
                kind,
                LineKind::Interpreter | LineKind::Comment | LineKind::Blank
            )
        });
        while let Some(found) = script.text[from..].find(MARK) {
            let at = from + found;
            if all.len() >= MOST {
                more = Some(at);
                break;
            }
            from = at + MARK.len();
            let number = script.lines.number(at);
            let line = script.lines.range(number);
            let before = script.text[line.start..at].trim_end();
            let Some(before) = before.strip_suffix('#') else {
                continue;
            };
            let Some(end) = script.text[from..line.end].find(']') else {
                continue;
            };
            let alone = before.trim_start().is_empty();
            let in_head = first.is_none_or(|first| first >= number);
            let of = match (alone, in_head) {
                (true, true) => None,
                (true, false) => Some(number + 1),
                (false, _) => Some(number),
            };
            let mut start = from;
            for code in script.text[from..from + end].split(',') {
                if all.len() >= MOST {
                    more = more.or(Some(start));
                    break;
                }
                let blanks = code.len() - code.trim_start().len();
                let range = start + blanks..start + blanks + code.trim().len();
                start += code.len() + 1;
                all.push(Ignore {
                    code: code_of(code.trim()),
                    range,
                    line: of,
                });
            }
        }
        Ignores { all, more }
    }

    /// Takes the findings away that are ignored, and adds what there is to say of those that
    /// ignore nothing.
    pub(crate) fn settle(self, script: &Script<'_>, findings: &mut Vec<Finding>) {
        if self.all.is_empty() {
            return;
        }
        findings.extend(self.more.map(|at| {
            not_looked_at(
                at..at + 1,
                "codes to ignore behind this place are not read: there are too many",
            )
        }));
        // Which have been used: those of one code and one line are used together.
        let mut wanted: HashMap<(&str, Option<usize>), bool> = HashMap::new();
        for ignore in &self.all {
            wanted.insert((&ignore.code, ignore.line), false);
        }
        findings.retain(|finding| {
            let places = finding.labels.iter();
            let places = places.map(|label| Some(script.lines.number(label.range.start)));
            let mut kept = true;
            for place in places.chain([None]) {
                if let Some(used) = wanted.get_mut(&(finding.code, place)) {
                    *used = true;
                    kept = false;
                }
            }
            kept
        });
        let used: Vec<bool> = self
            .all
            .iter()
            .map(|ignore| wanted[&(&*ignore.code, ignore.line)])
            .collect();
        let unused_ones = self.all.into_iter().zip(used).filter(|(_, used)| !used);
        for (ignore, _) in unused_ones {
            findings.push(match Rule::find(&ignore.code) {
                Some(rule) => unused(script, rule, ignore.range),
                None => unknown(&script.text[ignore.range.clone()], ignore.range),
            });
        }
    }
}

fn unused(script: &Script<'_>, rule: &Rule, range: Range<usize>) -> Finding {
    let line = script.lines.range(script.lines.number(range.start));
    let text = &script.text[line.clone()];
    // Of a comment with this code alone, the comment can go.
    let alone = script.text[line.start..range.start]
        .trim_end()
        .ends_with('[');
    let hash = text.rfind('#').filter(|_| alone);
    let comment = hash.filter(|hash| {
        let inner = text[*hash..].trim_start_matches('#').trim();
        inner
            .strip_prefix(MARK)
            .and_then(|rest| rest.strip_suffix(']'))
            .map(str::trim)
            == Some(&script.text[range.clone()])
    });
    let finding = Finding::new(
        crate::rules::unused_ignore::RULE.code,
        Severity::Note,
        format!("{} is ignored, but not found", rule.code),
    )
    .at(range, rule.name);
    match comment {
        Some(hash) => {
            let kept = text[..hash].trim_end().len();
            let edit = match kept {
                0 => script.without_line(script.lines.number(line.start)),
                _ => Edit::new(line.start + kept..line.end, ""),
            };
            finding.fix([edit])
        }
        None => finding,
    }
}

/// The code of a rule that is named by its code or its name.
fn code_of(written: &str) -> String {
    let mut rules = crate::RULES.iter();
    let named = rules.find(|rule| rule.name.eq_ignore_ascii_case(written));
    named.map_or_else(|| written.to_ascii_uppercase(), |rule| rule.code.to_owned())
}

/// No rule has that code or name.
fn unknown(written: &str, range: Range<usize>) -> Finding {
    let rules = crate::RULES.iter();
    let code = model::nearest(
        &written.to_ascii_uppercase(),
        rules.clone().map(|rule| rule.code),
    );
    let name = || model::nearest(&written.to_ascii_lowercase(), rules.map(|rule| rule.name));
    let finding = Finding::new(
        crate::rules::unknown_ignore::RULE.code,
        Severity::Note,
        format!("there is no rule {written:?} to ignore"),
    )
    .at(range, "");
    match code.or_else(name) {
        Some(near) => finding.help(format!("did you mean {near}? yard lint --list shows all")),
        None => finding.help("yard lint --list shows all"),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Setup, lint};
    use crate::{apply, choose};

    /// The codes that are found, with their lines.
    #[track_caller]
    fn check(script: &str, want: &[&str]) {
        let script = format!("#!/bin/bash\n{script}");
        let lines = crate::Lines::new(&script);
        let found = lint(Setup::PLAIN, &script);
        let found: Vec<String> = found
            .iter()
            .map(|finding| format!("{}:{}", finding.code, lines.number(finding.start())))
            .collect();
        assert_eq!(found, want, "in {script}");
    }

    #[test]
    fn where_an_ignore_stands_says_for_what_it_is() {
        check("#SBATCH -t 5:00\n", &["Y040:2"]);
        check("#SBATCH -t 5:00 # yard: ignore[Y040]\n", &[]);
        check("#SBATCH -n 1\n# yard: ignore[y040]\n#SBATCH -t 5:00\n", &[]);
        check(
            "# yard: ignore[Y040, Y015]\n#SBATCH --out=x\n#SBATCH -t 5:00\n",
            &[],
        );
        check(
            "#SBATCH -n 1\n# yard: ignore[Y040]\n#SBATCH --out=x\n#SBATCH -t 5:00\n",
            &["Y900:3", "Y015:4", "Y040:5"],
        );
    }

    #[test]
    fn what_ignores_nothing_is_said() {
        check("#SBATCH -n 1 # yard: ignore[Y040]\n", &["Y900:2"]);
        check("#SBATCH -n 1 # yard: ignore[Y999]\n", &["Y901:2"]);
        check("#SBATCH -J 'yard: ignore[Y040]'\n", &[]);
        check("echo x # see yard: ignore[Y040]\n", &[]);
    }

    #[test]
    fn rules_are_named_by_code_or_name() {
        check("#SBATCH -t 5:00 # yard: ignore[minutes-seconds]\n", &[]);
        check(
            "#SBATCH -n 1 # yard: ignore[minutes-seconds]\n",
            &["Y900:2"],
        );
        let found = lint(
            Setup::PLAIN,
            "#!/bin/sh\n#SBATCH -n 1 # yard: ignore[minute-seconds]\n",
        );
        assert_eq!(
            found[0].message,
            "there is no rule \"minute-seconds\" to ignore"
        );
        assert!(
            found[0]
                .help
                .as_deref()
                .unwrap()
                .contains("minutes-seconds")
        );
    }

    #[test]
    fn an_unused_ignore_can_be_taken_out() {
        let script = "#!/bin/sh\n#SBATCH -n 1 # yard: ignore[Y040]\n# yard: ignore[Y012]\ntrue\n";
        let fixed = apply(script, &choose(&lint(Setup::PLAIN, script)).0);
        assert_eq!(fixed, "#!/bin/sh\n#SBATCH -n 1\ntrue\n");
    }
}
