//! The later components of a heterogeneous job: each is rewritten by the rules for the first.

use super::porter::Porter;
use super::{lint_input, read};
use crate::components;
use crate::script::Script;
use cluster_file::ClusterFile;
use model::script_lines::LineKind;

impl Porter<'_> {
    /// Rewrites the options that stand in the lines of each later component. What such a component
    /// would need of an option that it has from an earlier one is asked.
    pub fn later_components(&mut self, name: &str) {
        let script = self.script;
        let separators: Vec<usize> = separators(script).collect();
        let end = script.kinds.first_command;
        let end = end.map_or(script.text.len(), |line| script.lines.range(line).start);
        let mut text = script.text.to_owned();
        for (index, line) in separators.iter().enumerate() {
            text = without_first(&text, name, self.from, *line);
            let start = script.lines.with_end(*line).end;
            let next = separators.get(index + 1);
            let until = next.map_or(end, |next| script.lines.range(*next).start);
            let component = read(name, &text, self.from);
            let mut porter = Porter::new(&component, self.from, self.to, self.user);
            porter.options();
            let of = format!("component {}: ", index + 1);
            for (edit, change) in porter.edits {
                if self.edits.iter().any(|(other, _)| other.meets(&edit)) {
                    if !self.edits.iter().any(|(other, _)| *other == edit) {
                        let about = format!("{of}{}", change.why);
                        let ask = format!("{} there instead of {}?", change.to, change.from);
                        self.ask(Some(change.line), about, ask);
                    }
                } else if start <= edit.start && edit.end <= until {
                    self.edits.push((edit, change));
                } else {
                    let about = format!("{of}{}, which it has from an earlier one", change.from);
                    self.ask(
                        Some(change.line),
                        about,
                        format!("{}: {}?", change.to, change.why),
                    );
                }
            }
            for question in porter.questions {
                let same = |known: &super::Question| {
                    known.about == question.about && known.ask == question.ask
                };
                if !self.questions.iter().any(same) {
                    let about = format!("{of}{}", question.about);
                    self.ask_about(question.line, about, question.ask, question.covers);
                }
            }
        }
    }
}

/// The lines of `#SBATCH hetjob`.
pub(super) fn separators(script: &Script<'_>) -> impl Iterator<Item = usize> {
    let kinds = (1..).zip(&script.kinds.kinds);
    kinds.filter_map(|(number, kind)| (*kind == LineKind::Separator).then_some(number))
}

/// The text without what only the component before that line asks.
pub(super) fn without_first(text: &str, name: &str, on: &ClusterFile, line: usize) -> String {
    components::without_first(text, &lint_input(name, text, on), line)
}
