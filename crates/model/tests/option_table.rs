//! The option table against lists taken from Slurm's own source, version by version. The data's
//! README tells how they were made.

use yard_model::SlurmVersion;
use yard_model::option_table::{Command, Dialect, Takes, options_in};

const OPTIONS: &str = include_str!("data/options.tsv");
const VARIABLES: &str = include_str!("data/variables.tsv");
const COMMANDS: [Command; 3] = [Command::Sbatch, Command::Salloc, Command::Srun];

fn slurm(version: SlurmVersion) -> Dialect {
    Dialect::Slurm {
        version,
        pyxis: false,
    }
}

/// The rows of a list that hold for a command and a version, its name and versions left out.
fn recorded(list: &str, command: Command, version: SlurmVersion) -> Vec<Vec<&str>> {
    let rows = list.lines().filter(|row| !row.starts_with('#'));
    let rows = rows.map(|row| row.split('\t').collect::<Vec<&str>>());
    rows.filter_map(|columns| {
        let [name, middle @ .., first, last] = &columns[..] else {
            panic!("a row of too few columns: {columns:?}");
        };
        let read = |text: &str| text.parse::<SlurmVersion>().ok();
        let holds = read(first) <= Some(version) && Some(version) <= read(last);
        (*name == command.name() && holds).then(|| middle.to_vec())
    })
    .collect()
}

#[test]
fn every_version_has_its_options_in_its_order() {
    for version in SlurmVersion::KNOWN {
        for command in COMMANDS {
            let got: Vec<String> = options_in(command, slurm(version))
                .map(|option| {
                    let takes = match option.takes {
                        Takes::No => "no",
                        Takes::Required => "required",
                        Takes::Optional => "optional",
                    };
                    format!("{} {} {takes}", option.long, option.short.unwrap_or('-'))
                })
                .collect();
            let want: Vec<String> = recorded(OPTIONS, command, version)
                .iter()
                .map(|columns| columns.join(" "))
                .collect();
            assert_eq!(got, want, "{} of {version}", command.name());
        }
    }
}

#[test]
fn every_version_has_its_input_variables() {
    for version in SlurmVersion::KNOWN {
        for command in COMMANDS {
            let mut got: Vec<String> = options_in(command, slurm(version))
                .flat_map(|option| {
                    let variables = option.variables_in(command, slurm(version));
                    variables.map(|variable| format!("{variable} {}", option.long))
                })
                .collect();
            let mut want: Vec<String> = recorded(VARIABLES, command, version)
                .iter()
                .filter(|columns| columns[1] != "-")
                .map(|columns| columns.join(" "))
                .collect();
            got.retain(|row| !row.contains("_REQ_SWITCH "));
            got.sort_unstable();
            want.sort_unstable();
            assert_eq!(got, want, "{} of {version}", command.name());
        }
    }
}

#[test]
fn pyxis_brings_options_where_it_is_loaded() {
    let count = |pyxis| {
        let version = SlurmVersion::V23_11;
        options_in(Command::Srun, Dialect::Slurm { version, pyxis }).count()
    };
    assert_eq!(count(true) - count(false), 16);
}
