//! `squeue --verbose`: what was asked for, name by name.

use super::squeue_args::SqueueArgs;

/// What stands on a command line of `squeue` beside what it means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// How often `--verbose`.
    pub(crate) verbose: u32,
    /// `--jobs`, with or without a list.
    pub(crate) has_jobs: bool,
    /// The list of `--jobs`.
    pub(crate) jobs: Option<String>,
    /// The list of `--steps`.
    pub(crate) steps: Option<String>,
    /// `--states`
    pub(crate) states: Option<String>,
    /// `--start`
    pub(crate) start: bool,
}

impl SqueueArgs {
    /// Whether the options are said before the list.
    #[must_use]
    pub fn is_verbose(&self) -> bool {
        self.written.verbose > 0
    }

    /// What was asked for, as Slurm says it; `me` is the caller's number.
    #[must_use]
    pub fn said(&self, me: u32) -> String {
        let written = &self.written;
        let own = self.me.then(|| me.to_string());
        let list = |list: &Option<Vec<String>>| list.as_ref().map(|list| list.join(","));
        let users = list(&self.users).or(own);
        let flag = |is_set: bool| Some(is_set.to_string());
        let number = |number: u32| Some(number.to_string());
        let nodes = self.nodes.clone().unwrap_or_default();
        let rows: [(&str, Option<String>); 22] = [
            ("all         ", flag(self.all)),
            ("array       ", flag(self.each_element)),
            ("federation  ", flag(false)),
            ("format      ", self.format.clone()),
            ("iterate     ", number(self.every.unwrap_or(0))),
            (
                "job_flag    ",
                number((written.has_jobs && !self.by_step).into()),
            ),
            ("jobs        ", written.jobs.clone()),
            ("licenses    ", list(&self.licenses)),
            ("local       ", flag(self.clusters.is_some())),
            ("names       ", list(&self.names)),
            ("nodes       ", Some(nodes)),
            ("partitions  ", list(&self.partitions)),
            ("priority    ", flag(self.each_partition)),
            ("reservation ", self.reservation.clone()),
            ("sibling      ", flag(false)),
            ("sort        ", self.sort.clone()),
            ("start_flag  ", number(written.start.into())),
            ("states      ", written.states.clone()),
            ("step_flag   ", number(self.by_step.into())),
            ("steps       ", written.steps.clone()),
            ("users       ", users),
            ("verbose     ", number(written.verbose)),
        ];
        let rule = "-----------------------------\n";
        let mut text = rule.to_owned();
        for (name, value) in rows {
            text.push_str(&format!(
                "{name}= {}\n",
                value.as_deref().unwrap_or("(null)")
            ));
        }
        format!("{text}{rule}\n\n")
    }
}
