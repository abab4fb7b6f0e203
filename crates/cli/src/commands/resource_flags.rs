//! `yard run`'s and `yard plan`'s flags for `[resources]`: Slurm's own long names where it has them.

use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};
use train::{Flag, KeyRow};

/// The flags of the run file's table of keys, each with its key.
fn flags() -> impl Iterator<Item = (&'static Flag, &'static KeyRow)> {
    let keys = train::resource_keys().into_iter();
    keys.filter_map(|row| Some((row.flag.as_ref()?, row)))
}

/// What the flags gave: pairs of a `[resources]` key and the text as it was written.
#[derive(Clone, Debug, Default)]
pub struct ResourceFlags {
    /// In the table's order.
    pub given: Vec<(&'static str, &'static str, String)>,
}

impl ResourceFlags {
    /// For a [`runs::RunRequest`].
    pub fn into_given(self) -> Vec<runs::GivenResource> {
        let given = self.given.into_iter();
        let given = given.map(|(flag, key, text)| runs::GivenResource {
            flag: flag.to_owned(),
            key: key.to_owned(),
            text,
        });
        given.collect()
    }
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
        let given = flags().flat_map(|(flag, row)| {
            let texts = texts(flag).into_iter();
            texts.map(|text| (flag.long, row.name, text))
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
        flags().fold(command, |command, (flag, _)| {
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
        for (flag, _) in flags() {
            let slurms = model::option_table::find(flag.long);
            assert_eq!(slurms.is_some(), flag.of_slurm, "{}", flag.long);
            assert!(flag.help.or(slurms.map(|option| option.help)).is_some());
        }
    }

    #[test]
    fn every_key_of_resources_has_a_flag() {
        assert_eq!(flags().count(), train::resource_keys().len());
    }
}
