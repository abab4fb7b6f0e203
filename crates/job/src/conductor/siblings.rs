//! Files that a program writes side by side for one step whose names do not tell that they are one checkpoint, such as
//! `model_140.pt` and `best_140.pt`: each is one of its own, and only one of them is resumed from. Pure.

use std::collections::BTreeMap;

/// What was saved in this start.
#[derive(Debug, Default)]
pub struct Siblings {
    /// A name of each step.
    names: BTreeMap<u64, String>,
    said: bool,
}

impl Siblings {
    /// Takes what was saved; what a person should know, once: that another one of its step has another name.
    pub fn saved(&mut self, name: &str) -> Option<String> {
        let step = folder::step_of(name)?;
        let before = self.names.insert(step, name.to_owned())?;
        let is_said = self.said || folder::series(&before) == folder::series(name);
        if is_said || folder::are_one_checkpoint(&before, name) {
            return None;
        }
        self.said = true;
        Some(format!(
            "{before} and {name} are saved as two checkpoints of one step, and {{resume}} will hold one of them: \
             where they belong together, have the program write them into one folder, {{checkpoints}}/step-{step}/"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], want: usize) {
        let mut siblings = Siblings::default();
        let said = names.iter().filter_map(|name| siblings.saved(name));
        assert_eq!(said.count(), want, "{names:?}");
    }

    /// Training went on with a new optimizer, without a message.
    #[test]
    fn two_files_of_one_step_are_named_once() {
        check(&["model_140.pt", "extra_140.pt"], 1);
        check(&["model_140.pt", "optim_140.pt"], 0);
        check(&["a_1.pt", "b_1.pt", "a_2.pt", "b_2.pt"], 1);
        check(&["step-1", "step-2", "best.pt", "last.pt"], 0);
        check(&["step-1", "step-1"], 0);
    }
}
