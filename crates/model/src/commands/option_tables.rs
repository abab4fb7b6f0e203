//! The options of the commands that look at jobs and manage them, one table for each command: what the
//! command line is read by, what `--help` lists, and what the page of compatibility says.

use super::{
    sacct, sacctmgr, sattach, sbcast, scancel, scontrol, sdiag, sinfo_args, sprio, squeue_args,
    sshare, sstat,
};
use crate::options::long_options::{CommandOption, OptionVerdict};
use crate::options::option_table::Takes;

/// A command with its table.
type Table = (&'static str, fn() -> Vec<CommandOption>);

const TABLES: &[Table] = &[
    ("squeue", squeue_args::options),
    ("scancel", scancel::options),
    ("sacct", sacct::options),
    ("sattach", sattach::options),
    ("sbcast", sbcast::options),
    ("scontrol", scontrol::options),
    ("sinfo", sinfo_args::options),
    ("sacctmgr", sacctmgr::options),
    ("sprio", sprio::options),
    ("sshare", sshare::options),
    ("sstat", sstat::options),
    ("sdiag", sdiag::options),
];

/// The commands that have such a table.
pub fn commands_with_options() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|(name, _)| *name)
}

/// A command's options, in the order of its table; none of a command without one.
#[must_use]
pub fn options_of_command(command: &str) -> Vec<CommandOption> {
    let table = TABLES.iter().find(|(name, _)| *name == command);
    table.map_or(Vec::new(), |(_, options)| options())
}

/// The options of a command as `--help` lists them: a line for each that works, then those that do
/// nothing, and those that are refused.
#[must_use]
pub fn option_lines(command: &str) -> String {
    let options = options_of_command(command);
    let works = options.iter().filter_map(|option| match option.verdict {
        OptionVerdict::Works(help) => Some((option.usage(), help)),
        _ => None,
    });
    let works: Vec<_> = works.collect();
    let width = works.iter().map(|(usage, _)| usage.len()).max();
    let width = width.unwrap_or(0);
    let mut text = String::new();
    for (usage, help) in works {
        text.push_str(&format!("  {usage:<width$}  {help}\n"));
    }
    let mut named = |title: &str, is_of: fn(&OptionVerdict) -> bool| {
        let rows = options.iter().filter(|option| is_of(&option.verdict));
        let names: Vec<String> = rows.map(|option| format!("--{}", option.long)).collect();
        if !names.is_empty() {
            text.push_str(&format!("\n{title}: {}.\n", names.join(", ")));
        }
    };
    named("Taken and without effect", |it| {
        matches!(it, OptionVerdict::Accepted(_))
    });
    named("Refused", |it| matches!(it, OptionVerdict::Refused(_)));
    text
}

impl CommandOption {
    /// How it is typed: `-j, --jobs[=LIST]`.
    fn usage(&self) -> String {
        let letter = match self.short {
            Some(letter) => format!("-{letter},"),
            None => "   ".to_owned(),
        };
        let value = match self.takes {
            Takes::No => String::new(),
            Takes::Required => format!("={}", self.value),
            Takes::Optional => format!("[={}]", self.value),
        };
        format!("{letter} --{}{value}", self.long)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::{
        SacctArgs, SacctmgrArgs, SdiagArgs, SinfoArgs, SprioArgs, SqueueArgs, SshareArgs, SstatArgs,
    };
    use crate::values::{MomentStyle, Timestamp};
    use jiff::tz::TimeZone;
    use std::collections::BTreeSet;

    /// What the real commands of 22.05.8 know.
    const OF_SLURM: &str = include_str!("slurm_options-22.05.8.tsv");

    /// Options that came with later versions of Slurm.
    const LATER: &[(&str, &str)] = &[
        ("sdiag", "json"),
        ("sdiag", "yaml"),
        ("sshare", "federation"),
        ("sshare", "local"),
    ];

    /// A value that each option takes that does not take `1`.
    const VALUES: &[(&str, &str, &str)] = &[
        ("squeue", "sort", "P"),
        ("squeue", "states", "all"),
        ("squeue", "steps", "1.0"),
        ("scancel", "signal", "USR1"),
        ("scancel", "state", "RUNNING"),
        ("sacct", "endtime", "now"),
        ("sacct", "fields", "jobid"),
        ("sacct", "flags", "SchedMain"),
        ("sacct", "format", "jobid"),
        ("sacct", "reason", "Priority"),
        ("sacct", "starttime", "now"),
        ("sacct", "state", "RUNNING"),
        ("sacct", "units", "K"),
        ("sbcast", "compress", "lz4"),
        ("sinfo", "states", "idle"),
        ("sshare", "format", "Account"),
        ("sstat", "fields", "JobID"),
        ("sstat", "format", "JobID"),
    ];

    /// What a command needs, and what an option needs before it to make a difference.
    const BESIDE: &[(&str, &str, &str)] = &[
        ("squeue", "hide", "--all"),
        ("sinfo", "hide", "--all"),
        ("scontrol", "hide", "--all"),
        ("sacct", "truncate", "--starttime=now"),
        ("sacct", "timelimit-max", "--timelimit-min=1"),
        ("sacct", "state", "--endtime=now"),
        ("sacct", "batch-script", "--jobs=1"),
        ("sacct", "env-vars", "--jobs=1"),
        ("scancel", "batch", "--signal=USR1"),
    ];

    fn operands(command: &str) -> &'static [&'static str] {
        match command {
            "scancel" => &["1"],
            "sattach" => &["1.0"],
            "sbcast" => &["a", "b"],
            "scontrol" => &["show", "job"],
            "sacctmgr" => &["show", "qos"],
            "sstat" => &["--jobs=7"],
            _ => &[],
        }
    }

    /// What a command makes of a line, or how it refuses it.
    fn parsed(command: &str, words: &[&str]) -> Result<String, String> {
        let before = words.iter().chain(operands(command));
        let args: Vec<String> = before.map(|word| (*word).to_owned()).collect();
        let none = |name: &str| (name == "SLURM_JOB_ID").then(|| "7".to_owned());
        fn shown<A: std::fmt::Debug, E: ToString>(read: Result<A, E>) -> Result<String, String> {
            read.map(|asked| format!("{asked:?}"))
                .map_err(|error| error.to_string())
        }
        match command {
            "squeue" => shown(SqueueArgs::parse(command, &args, &none)),
            "scancel" => shown(scancel::parse(command, &args, &none)),
            "sacct" => {
                let now = Timestamp(1_000_000_000_000);
                shown(SacctArgs::parse(
                    &args,
                    &none,
                    now,
                    &MomentStyle::standard(TimeZone::UTC),
                ))
            }
            "sattach" => shown(sattach::parse(&args).map_err(|error| error.text)),
            "sbcast" => shown(sbcast::parse(&args, &none)),
            "scontrol" => shown(scontrol::parse(command, &args)),
            "sinfo" => shown(SinfoArgs::parse(command, &args, &none)),
            "sacctmgr" => shown(SacctmgrArgs::parse(&args)),
            "sprio" => shown(SprioArgs::parse(command, &args, &none)),
            "sshare" => shown(SshareArgs::parse(command, &args)),
            "sstat" => shown(SstatArgs::parse(command, &args)),
            "sdiag" => shown(SdiagArgs::parse(command, &args)),
            other => panic!("{other} is read here too"),
        }
    }

    /// What is wrong with a row; `None` where the command line is read as the row says.
    fn complaint(command: &str, option: &CommandOption) -> Option<String> {
        let value = VALUES
            .iter()
            .find(|(of, name, _)| *of == command && *name == option.long);
        let value = value.map_or("1", |(_, _, value)| value);
        let word = match (option.short, option.takes) {
            (Some(letter), Takes::No) if option.long.is_empty() => format!("-{letter}"),
            (Some(letter), _) if option.long.is_empty() => format!("-{letter}{value}"),
            (_, Takes::No) => format!("--{}", option.long),
            (_, Takes::Required | Takes::Optional) => format!("--{}={value}", option.long),
        };
        let beside = BESIDE.iter();
        let beside = beside.filter(|(of, long, _)| *of == command && *long == option.long);
        let words: Vec<&str> = beside.map(|(_, _, word)| *word).collect();
        let plain = parsed(command, &words);
        let got = parsed(command, &[&words[..], &[&word]].concat());
        let is_so = match option.verdict {
            OptionVerdict::Works(help) => !help.ends_with('.') && got.is_ok() && got != plain,
            OptionVerdict::SameAs(name) => !name.is_empty() && got.is_ok() && got != plain,
            OptionVerdict::Accepted(_) => got.is_ok() && got == plain,
            OptionVerdict::Refused(why) => got.as_ref().is_err_and(|said| said.contains(why)),
        };
        (!is_so).then(|| format!("{command} {word}: {:?}, {got:?}", option.verdict))
    }

    #[test]
    fn every_option_is_read_as_its_row_says() {
        let complaints = commands_with_options().flat_map(|command| {
            let options = options_of_command(command).into_iter();
            options.filter_map(move |option| complaint(command, &option))
        });
        let complaints: Vec<String> = complaints.collect();
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    }

    #[test]
    fn an_unknown_option_is_refused_in_slurms_words() {
        for command in commands_with_options() {
            let said = parsed(command, &["--nosuch"]).expect_err("it is no option");
            let want = format!("{command}: unrecognized option '--nosuch'");
            assert_eq!(said.lines().next(), Some(want.as_str()));
        }
    }

    /// In Slurm's order too: it shows in what is said of an ambiguous abbreviation. Of several names of
    /// an option one has its letter here.
    #[test]
    fn no_option_of_a_real_slurm_is_missing() {
        for command in commands_with_options() {
            let own = options_of_command(command);
            let own = own.iter().filter(|it| !LATER.contains(&(command, it.long)));
            let own: Vec<_> = own
                .map(|it| (it.long, it.short, format!("{:?}", it.takes).to_lowercase()))
                .collect();
            let rows = OF_SLURM.lines().filter_map(|line| {
                let mut cells = line.split('\t');
                let [of, long, letter, takes] = [(); 4].map(|()| cells.next().unwrap_or_default());
                (of == command).then(|| (long, letter.chars().next(), takes.to_owned()))
            });
            let real: Vec<_> = rows.collect();
            let names = |rows: &[(&'static str, Option<char>, String)]| -> Vec<_> {
                let named = rows.iter().filter(|(long, ..)| !long.is_empty());
                named
                    .map(|(long, _, takes)| (*long, takes.clone()))
                    .collect()
            };
            let letters = |rows: &[(&'static str, Option<char>, String)]| -> BTreeSet<_> {
                let with_letter = |(_, short, takes): &(_, Option<char>, String)| {
                    short.map(|letter| (letter, takes.clone()))
                };
                rows.iter().filter_map(with_letter).collect()
            };
            assert!(!real.is_empty(), "{command}");
            assert_eq!(names(&own), names(&real), "{command}");
            assert_eq!(letters(&own), letters(&real), "{command}");
        }
    }
}
