//! Options that the script gives twice: the first counts for nothing, unseen.

use super::features::names;
use super::porter::Porter;
use crate::rules::given_twice::replaced;
use model::Given;
use model::option_table::{Effect, Key};

impl<'a> Porter<'a> {
    /// Asks which to keep where options replace others: they stay in the script, and come alive
    /// with whoever takes out the last.
    pub(super) fn replaced(&mut self) {
        let script = self.script;
        let differ = |(first, last): &(&Given, &Given)| first.value != last.value;
        for (first, last) in replaced(script).into_iter().filter(differ) {
            let about = match (self.line(first), self.line(last)) {
                (Some(one), Some(other)) if one != other => {
                    format!(
                        "{} does not count: line {other} replaces it",
                        self.written(first)
                    )
                }
                _ => format!("{} does not count: it comes again", self.written(first)),
            };
            let ask = match first.option.effect {
                Effect::Sets(Key::Constraint) => {
                    "are both meant? write them in one, joined with &, or take this line out"
                }
                _ => "which of them do you want? take the other out",
            };
            self.ask(self.line(first), about, ask);
        }
    }

    /// A feature of GPUs that a `--constraint` names which another one replaces, and their lines.
    pub(super) fn replaced_gpu(&self) -> Option<(String, usize, usize)> {
        let all = self.from.gpus(None);
        let of_gpus = |name: &String| {
            let mut own = all.iter().filter_map(|kind| kind.gpu.feature.as_ref());
            own.any(|own| own.value == *name)
        };
        let constraint =
            |(first, _): &(&Given, &Given)| first.option.effect == Effect::Sets(Key::Constraint);
        let pairs = replaced(self.script).into_iter().filter(constraint);
        let mut named = pairs.filter_map(|(first, last)| {
            let value = first.value.as_deref().unwrap_or_default();
            let name = names(value).into_iter().find(of_gpus)?;
            Some((name, self.line(first)?, self.line(last)?))
        });
        named.next()
    }
}
