//! `yard run`'s and `yard plan`'s flags for `[resources]`: Slurm's own long names.

use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};

/// One flag of Slurm's and the key of `[resources]` that it sets.
struct Flag {
    /// Slurm's long name.
    long: &'static str,
    /// The run file's key.
    key: &'static str,
    /// Takes a value.
    value: Option<&'static str>,
    /// Its help, where a run file takes the value more strictly than Slurm does.
    help: Option<&'static str>,
}

const fn flag(long: &'static str, key: &'static str, value: &'static str) -> Flag {
    Flag {
        long,
        key,
        value: Some(value),
        help: None,
    }
}

/// A flag with a help of its own.
const fn stricter(flag: Flag, help: &'static str) -> Flag {
    Flag {
        help: Some(help),
        ..flag
    }
}

/// In the order of the run file's keys.
const FLAGS: &[Flag] = &[
    stricter(flag("nodes", "nodes", "N"), "Nodes"),
    flag("ntasks-per-node", "ranks_per_node", "N"),
    flag("gpus-per-node", "gpus_per_node", "[TYPE:]N"),
    flag("cpus-per-task", "cpus_per_rank", "N"),
    flag("mem", "memory", "SIZE"),
    stricter(
        flag("time", "time", "TIME"),
        "Longest time of one job, such as 25s, 10m, 24h, 24:00:00 or 2-12:00:00",
    ),
    flag("account", "account", "NAME"),
    flag("qos", "qos", "NAME"),
    flag("partition", "partition", "NAME"),
    Flag {
        long: "exclusive",
        key: "exclusive",
        value: None,
        help: None,
    },
    flag("constraint", "constraint", "LIST"),
];

/// What the flags gave: pairs of a `[resources]` key and the text as it was written.
#[derive(Clone, Debug, Default)]
pub struct ResourceFlags {
    /// In the table's order.
    pub given: Vec<(&'static str, &'static str, String)>,
}

impl FromArgMatches for ResourceFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<ResourceFlags, Error> {
        let given = FLAGS.iter().filter_map(|flag| {
            let text = match flag.value {
                Some(_) => matches.get_one::<String>(flag.long)?.clone(),
                None => matches.get_flag(flag.long).then(|| "true".to_owned())?,
            };
            Some((flag.long, flag.key, text))
        });
        Ok(ResourceFlags {
            given: given.collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = ResourceFlags::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for ResourceFlags {
    fn augment_args(command: Command) -> Command {
        FLAGS.iter().fold(command, |command, flag| {
            let option = model::option_table::find(flag.long)
                .expect("FLAGS holds names of the option table: a test walks it");
            let mut arg = Arg::new(flag.long)
                .long(flag.long)
                .help(flag.help.unwrap_or(option.help))
                .help_heading("Resources (Slurm's names)");
            if let Some(short) = option.short {
                arg = arg.short(short);
            }
            command.arg(match flag.value {
                Some(name) => arg.value_name(name).num_args(1),
                None => arg.action(ArgAction::SetTrue),
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_is_an_option_of_sbatch() {
        for flag in FLAGS {
            assert!(
                model::option_table::find(flag.long).is_some(),
                "{} is not in the option table",
                flag.long
            );
        }
    }
}
