//! `yard run`'s and `yard plan`'s flags for `[resources]`: Slurm's own long names where it has them.

use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};

/// One flag and the key of `[resources]` that it sets.
struct Flag {
    /// Slurm's long name, where Slurm has one.
    long: &'static str,
    /// The run file's key.
    key: &'static str,
    /// Takes a value.
    value: Option<&'static str>,
    /// Its help, where Slurm has none, or a run file takes the value more strictly than Slurm does.
    help: Option<&'static str>,
    /// Whether Slurm has it.
    of_slurm: bool,
    /// Can be given several times.
    several: bool,
}

/// One of Slurm's.
const fn flag(long: &'static str, key: &'static str, value: &'static str) -> Flag {
    Flag {
        long,
        key,
        value: Some(value),
        help: None,
        of_slurm: true,
        several: false,
    }
}

/// A flag with a help of its own.
const fn stricter(flag: Flag, help: &'static str) -> Flag {
    let help = Some(help);
    Flag { help, ..flag }
}

/// One that Slurm doesn't have.
const fn own(flag: Flag, help: &'static str) -> Flag {
    let of_slurm = false;
    Flag {
        of_slurm,
        ..stricter(flag, help)
    }
}

/// In the order of the run file's keys: one for each of them.
const FLAGS: &[Flag] = &[
    stricter(flag("nodes", "nodes", "N"), "Nodes"),
    flag("ntasks-per-node", "ranks_per_node", "N"),
    flag("gpus-per-node", "gpus_per_node", "[TYPE:]N"),
    own(
        flag("gpu-type", "gpu_type", "TYPE"),
        "Type of the GPUs, such as v100",
    ),
    own(
        flag("gpu-memory", "gpu_memory", "SIZE"),
        "Least memory of a GPU, such as 32G: chooses a type that has it",
    ),
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
        value: None,
        ..flag("exclusive", "exclusive", "")
    },
    flag("constraint", "constraint", "LIST"),
    Flag {
        several: true,
        ..own(
            flag("sbatch", "sbatch", "OPTION"),
            "A further option for sbatch, such as --sbatch=--reservation=x; can be repeated",
        )
    },
];

/// What the flags gave: pairs of a `[resources]` key and the text as it was written.
#[derive(Clone, Debug, Default)]
pub struct ResourceFlags {
    /// In the table's order.
    pub given: Vec<(&'static str, &'static str, String)>,
}

impl FromArgMatches for ResourceFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<ResourceFlags, Error> {
        let texts = |flag: &Flag| -> Vec<String> {
            match flag.value {
                Some(_) => matches
                    .get_many::<String>(flag.long)
                    .map_or_else(Vec::new, |texts| texts.cloned().collect()),
                None if matches.get_flag(flag.long) => vec!["true".to_owned()],
                None => Vec::new(),
            }
        };
        let given = FLAGS.iter().flat_map(|flag| {
            let texts = texts(flag).into_iter();
            texts.map(|text| (flag.long, flag.key, text))
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
            let slurms = model::option_table::find(flag.long).filter(|_| flag.of_slurm);
            let help = flag.help.or(slurms.map(|option| option.help));
            let mut arg = Arg::new(flag.long)
                .long(flag.long)
                .help(help.unwrap_or_default())
                .help_heading("Resources (Slurm's names where it has them)");
            if let Some(short) = slurms.and_then(|option| option.short) {
                arg = arg.short(short);
            }
            if flag.several {
                arg = arg.action(ArgAction::Append).allow_hyphen_values(true);
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
    fn every_flag_is_slurms_or_has_a_help() {
        for flag in FLAGS {
            let slurms = model::option_table::find(flag.long);
            assert_eq!(slurms.is_some(), flag.of_slurm, "{}", flag.long);
            assert!(flag.help.or(slurms.map(|option| option.help)).is_some());
        }
    }

    #[test]
    fn every_key_of_resources_has_a_flag() {
        let flags: Vec<&str> = FLAGS.iter().map(|flag| flag.key).collect();
        assert_eq!(flags, train::resource_keys());
    }
}
