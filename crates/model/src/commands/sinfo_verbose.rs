//! `sinfo --verbose`: what was asked for, name by name.

use super::sinfo_args::SinfoArgs;

/// What stands on a command line of `sinfo` beside what it means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// How often `--verbose`.
    pub(crate) verbose: u32,
    /// The list of `--nodes`.
    pub(crate) nodes: Option<String>,
    /// The list of `--states`.
    pub(crate) states: Option<String>,
}

/// What is said of columns: each name as Slurm writes it, and the columns that it is about.
#[rustfmt::skip]
const OF_COLUMNS: &[(&str, &[&str])] = &[
    ("alloc_mem_flag  = ", &["allocmem"]),
    ("avail_flag      = ", &["available"]),
    ("comment_flag    = ", &["comment"]),
    ("cpus_flag       = ", &["cpus", "cpusstate"]),
    ("default_time_flag =", &["defaulttime"]),
    ("disk_flag       = ", &["disk"]),
    ("extra_flag      = ", &["extra"]),
    ("features_flag   = ", &["features"]),
    ("features_flag_act = ", &["features_act"]),
    ("groups_flag     = ", &["groups"]),
    ("gres_flag       = ", &["gres"]),
    ("gres_used_flag  = ", &["gresused"]),
    ("job_size_flag   = ", &["size"]),
    ("max_time_flag   = ", &["time"]),
    ("memory_flag     = ", &["memory"]),
    ("partition_flag  = ", &["partition", "partitionname"]),
    ("port_flag       = ", &["port"]),
    ("priority_job_factor_flag   = ", &["priorityjobfactor"]),
    ("priority_tier_flag   = ", &["prioritytier"]),
    ("reason_flag     = ", &["reason"]),
    ("reason_timestamp_flag = ", &["timestamp"]),
    ("reason_user_flag = ", &["user", "userlong"]),
    RESERVATIONS,
    ("root_flag       = ", &["root"]),
    ("oversubscribe_flag      = ", &["oversubscribe"]),
    ("state_flag      = ", &["statecompact", "statelong"]),
    ("statecomplete_flag = ", &["statecomplete"]),
    ("weight_flag     = ", &["weight"]),
];

/// The one among those names that is about no column, but `--reservation`.
const RESERVATIONS: (&str, &[&str]) = ("reservation_flag = ", &[]);

impl SinfoArgs {
    /// Whether the options are said before the list.
    #[must_use]
    pub fn is_verbose(&self) -> bool {
        self.written.verbose > 0
    }

    /// What was asked for, as Slurm says it.
    #[must_use]
    pub fn said(&self) -> String {
        let written = &self.written;
        let flag = |is_set: bool| is_set.to_string();
        let or = |text: Option<String>, none: &str| text.unwrap_or_else(|| none.to_owned());
        let own = self.own_columns();
        // Slurm works the width of nodes out after this.
        let own_format = own.map(|names| names.replacen("nodelist:9", "nodelist:0", 1));
        let format = own_format.as_deref().or(self.long_format.as_deref());
        let format = format.or(self.format.as_deref()).unwrap_or_default();
        let partitions = self.partitions.as_ref().map(|names| names.join(","));
        let is_of_partitions = own.is_some_and(|names| names.contains("partition:"));
        let filters = self.dead
            || self.responding
            || self.reasons
            || written.nodes.is_some()
            || written.states.is_some()
            || partitions.is_some();
        // Of its own list for reasons Slurm keeps the first word alone.
        let states = written.states.clone();
        let states = states.or(self.reasons.then(|| "down".to_owned()));
        let rows: [(&str, String); 17] = [
            ("dead       ", flag(self.dead)),
            ("exact      ", u8::from(self.exact).to_string()),
            ("filtering  ", flag(filters)),
            ("format     ", format.to_owned()),
            ("iterate    ", self.every.unwrap_or(0).to_string()),
            ("long       ", flag(self.long)),
            ("no_header  ", flag(self.no_header)),
            (
                "node_field ",
                flag(own.is_some() && self.by_node && !self.summary),
            ),
            ("node_format", flag(self.by_node)),
            ("nodes      ", or(written.nodes.clone(), "n/a")),
            ("part_field ", flag(is_of_partitions)),
            ("partition  ", or(partitions.clone(), "n/a")),
            ("responding ", flag(self.responding)),
            ("states     ", or(states, "(null)")),
            ("sort       ", or(self.sort.clone(), "(null)")),
            ("summarize  ", flag(self.summary)),
            ("verbose    ", written.verbose.to_string()),
        ];
        let rule = "-----------------------------\n";
        let mut text = rule.to_owned();
        for (name, value) in rows {
            text.push_str(&format!("{name} = {value}\n"));
        }
        text.push_str(rule);
        let all = flag(self.all || partitions.is_some());
        text.push_str(&format!("all_flag        = {all}\n"));
        let shown = self.column_names();
        for (name, columns) in OF_COLUMNS {
            let is_set = if *name == RESERVATIONS.0 {
                self.action == super::SinfoAction::Reservations
            } else {
                columns.iter().any(|column| shown.contains(column))
            };
            text.push_str(&format!("{name}{is_set}\n"));
        }
        format!("{text}{rule}\n")
    }
}
