//! What is found in a script, so much of it as one wants to read.

use crate::Finding;

/// So many findings of a code are listed one by one.
const MOST: usize = 1000;

/// What is found in a script. Findings of a code past the first thousand are counted together: a
/// generated script may have hundreds of thousands.
#[derive(Debug, Default)]
pub struct Found {
    all: Vec<Finding>,
    /// How many there are of each code.
    counts: Vec<(&'static str, usize)>,
    /// Of which codes there are more, and the finding that stands for those.
    more: Vec<(&'static str, usize)>,
}

impl Found {
    /// Adds a finding.
    pub fn push(&mut self, finding: Finding) {
        let known = self.counts.iter_mut();
        let count = match known.rev().find(|(code, _)| *code == finding.code) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                self.counts.push((finding.code, 1));
                1
            }
        };
        if count <= MOST {
            return self.all.push(finding);
        }
        let known = self.more.iter().find(|(code, _)| *code == finding.code);
        if let Some((_, index)) = known {
            let more = &mut self.all[*index];
            more.severity = more.severity.max(finding.severity);
            more.refused |= finding.refused;
            return;
        }
        self.more.push((finding.code, self.all.len()));
        let mut more = Finding::new(finding.code, finding.severity, "");
        more.refused = finding.refused;
        self.all.push(match finding.labels.into_iter().next() {
            Some(label) => more.at(label.range, "from here on"),
            None => more,
        });
    }

    /// What was found so far.
    #[must_use]
    pub fn so_far(&self) -> &[Finding] {
        &self.all
    }

    /// Findings behind the first `from`.
    pub(crate) fn since(&mut self, from: usize) -> &mut [Finding] {
        &mut self.all[from..]
    }

    /// All that is listed.
    #[must_use]
    pub fn told(mut self) -> Vec<Finding> {
        for (code, index) in self.more {
            let count = self.counts.iter().find(|(known, _)| *known == code);
            let count = count.map_or(0, |(_, count)| count - MOST);
            self.all[index].message = format!("{count} more like the first {MOST}");
        }
        self.all
    }
}

impl Extend<Finding> for Found {
    fn extend<T: IntoIterator<Item = Finding>>(&mut self, findings: T) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Setup, lint};
    use crate::{Lines, Severity};

    #[test]
    fn the_first_thousand_are_told_and_the_rest_counted() {
        for (separator, line) in [(" ", 2), ("\n#SBATCH ", 1002)] {
            let options = ["-n 1"; 1300].join(separator);
            let script = format!("#!/bin/sh\n#SBATCH {options}\n#SBATCH -t 1:00:00\nsrun a\n");
            let found = lint(Setup::PLAIN, &script);
            let twice: Vec<&Finding> = found.iter().filter(|one| one.code == "Y012").collect();
            assert_eq!(twice.len(), 1001);
            let last = twice[1000];
            assert_eq!(last.message, "299 more like the first 1000");
            assert_eq!(Lines::new(&script).number(last.start()), line);
        }
    }

    #[test]
    fn what_is_counted_is_as_bad_as_its_worst() {
        let mut found = Found::default();
        found.extend((0..MOST + 2).map(|_| Finding::new("Y001", Severity::Note, "")));
        found.push(Finding::new("Y001", Severity::Error, "").refused());
        let told = found.told();
        let last = &told[MOST];
        assert_eq!((told.len(), last.severity), (MOST + 1, Severity::Error));
        assert!(last.refused && last.message.starts_with("3 more"));
    }
}
