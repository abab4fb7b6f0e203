//! Programs around jobs, steps and tasks.

use super::Checker;
use crate::{Programs, Sourced};
use model::Severity;

impl Programs {
    /// Programs that are no absolute paths: from which folder they count is not known.
    pub fn relative(&self) -> impl Iterator<Item = (&'static str, &Sourced<String>)> {
        let all = [
            ("prolog", &self.prolog),
            ("epilog", &self.epilog),
            ("controller_prolog", &self.controller_prolog),
            ("controller_epilog", &self.controller_epilog),
            ("task_prolog", &self.task_prolog),
            ("task_epilog", &self.task_epilog),
            ("srun_prolog", &self.srun_prolog),
            ("srun_epilog", &self.srun_epilog),
        ];
        let named = all
            .into_iter()
            .filter_map(|(key, path)| Some((key, path.as_ref()?)));
        named.filter(|(_, path)| !path.value.starts_with('/'))
    }
}

impl Checker<'_> {
    pub(super) fn programs(&mut self) {
        let file = self.file;
        for (key, path) in file.programs.relative() {
            let message = format!("{key} = \"{}\" is no absolute path", path.value);
            let help = "begin it with /: programs run in folders of jobs";
            self.say(
                ("program-path", Severity::Error),
                &path.span,
                message,
                "",
                help,
            );
        }
    }
}
