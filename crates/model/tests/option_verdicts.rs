//! Every option of `sbatch`, `salloc` and `srun` on the embedded engine: it changes what is asked for,
//! or says that it has no effect, or is refused, as its row in the table says. None is passed over in
//! silence.

use jiff::tz::TimeZone;
use std::path::Path;
use yard_model::option_table::{Command, Effect, Opt, Takes, options_of};
use yard_model::{Diagnostic, Severity, Surroundings, Timestamp, salloc, sbatch, srun};

/// A value that each option takes that does not take `1`.
const VALUES: &[(&str, &str)] = &[
    ("accel-bind", "g"),
    ("acctg-freq", "task=10"),
    ("begin", "now+1hour"),
    ("chdir", "/elsewhere"),
    ("container-mounts", "/a"),
    ("core-spec", "1"),
    ("cpu-bind", "rank"),
    ("cpu_bind", "rank"),
    ("cpu-freq", "high"),
    ("deadline", "now+1hour"),
    ("dependency", "afterok:1"),
    ("distribution", "cyclic"),
    ("export", "NONE"),
    ("get-user-env", "10L"),
    ("gpu-bind", "closest"),
    ("gpu-freq", "high"),
    ("gres", "gpu:1"),
    ("gres-flags", "enforce-binding"),
    ("hint", "compute_bound"),
    ("kill-on-invalid-dep", "yes"),
    ("mail-type", "END"),
    ("mem-bind", "local"),
    ("mpi", "pmi2"),
    ("network", "x"),
    ("nodelist", "n1"),
    ("nodes", "2"),
    ("ntasks", "2"),
    ("open-mode", "append"),
    ("profile", "task"),
    ("propagate", "ALL"),
    ("send-libs", "yes"),
    ("signal", "USR1@10"),
    ("switches", "1"),
    ("tres-bind", "gres/gpu:closest"),
    ("tres-per-task", "cpu=2"),
    ("oom-kill-step", "1"),
];

/// Options that are used without the value that they could have.
const BARE: &[&str] = &["exclusive", "requeue", "no-kill"];

/// What an option needs beside it.
const BESIDE: &[(&str, &str)] = &[
    ("gpus-per-task", "--ntasks=2"),
    // Outside of a job there are no components, as in Slurm.
    ("het-group", "--jobid=1"),
    ("pack-group", "--jobid=1"),
    ("mem-per-gpu", "--gpus=1"),
    ("ntasks-per-gpu", "--gpus=1"),
    ("ntasks-per-tres", "--gpus=1"),
    ("relative", "--jobid=1"),
    ("use-min-nodes", "--nodes=1-2"),
    ("whole", "--cpus-per-task=1"),
];

/// Options whose effect is not in what is asked for: the command itself reads them first.
const OF_THE_COMMAND: &[&str] = &["ignore-pbs", "interactive", "wrap"];

/// Options that say what holds without them, in place of others on the line.
const OF_THE_DEFAULT: &[&str] = &[
    "no-container-mount-home",
    "no-container-remap-root",
    "no-container-entrypoint",
    "container-entrypoint-log",
    "container-readonly",
];

/// What an option makes of the plainest line, as text, and what is said.
fn resolved(command: Command, words: &[&str]) -> (String, Vec<Diagnostic>) {
    let zone = TimeZone::UTC;
    let around = Surroundings::embedded(Timestamp(0), &zone, Path::new("/work"))
        .called_by_root(true)
        .reading_files(|_| Ok("node1".to_owned()));
    let mut args: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let none = |_: &str| None;
    match command {
        Command::Sbatch => {
            let (asked, said) = sbatch::resolve(&args, &none, Some("#!/bin/sh\n"), &around);
            // What is sent to a real controller beside it reaches none here.
            let of_command = (
                (
                    &asked.export,
                    &asked.export_file,
                    &asked.limits,
                    asked.get_user_env,
                ),
                (&asked.clusters, asked.parsable, asked.test_only),
                (asked.wait, asked.quiet, asked.show, &asked.container),
                (&asked.uid, &asked.gid, &asked.defined),
            );
            (format!("{:?} {of_command:?}", asked.request), said)
        }
        Command::Salloc => {
            let (asked, said) = salloc::resolve(&args, &none, &around);
            (format!("{asked:?}"), said)
        }
        Command::Srun => {
            args.push("true".to_owned());
            let names_component = words.iter().any(|word| word.contains("-group="));
            let of_job =
                |name: &str| (names_component && name == "SLURM_HET_SIZE").then(|| "2".to_owned());
            let (asked, said) = srun::resolve(&args, &of_job, &around);
            (format!("{asked:?}"), said)
        }
    }
}

/// What is wrong with an option's row; `None` where it does as its row says.
fn complaint(command: Command, option: &Opt) -> Option<String> {
    let value = VALUES.iter().find(|(name, _)| *name == option.long);
    let value = value.map_or("1", |(_, value)| value);
    let word = match option.takes {
        Takes::No => format!("--{}", option.long),
        Takes::Optional if BARE.contains(&option.long) => format!("--{}", option.long),
        Takes::Required | Takes::Optional => format!("--{}={value}", option.long),
    };
    let beside = BESIDE.iter().find(|(name, _)| *name == option.long);
    let beside = beside.map(|(_, word)| *word);
    let words: Vec<&str> = beside.into_iter().collect();
    let (plain, _) = resolved(command, &words);
    let (got, said) = resolved(command, &[&words[..], &[&word]].concat());
    let refused = said.iter().any(|it| it.severity == Severity::Error);
    let noted = said.iter().any(|it| it.severity == Severity::Note);
    let complain = |what: &str| Some(format!("{} {word}: {what}: {said:?}", command.name()));
    match (option.effect, option.but) {
        (Effect::Refused(_), _) if !refused => complain("is not refused"),
        (Effect::Nothing(_), _) if !noted && !refused => complain("says nothing"),
        (Effect::Sets(_), Some(_)) if !noted && !refused => complain("says nothing"),
        (Effect::Sets(_), None) if refused || noted => complain("is not as its row says"),
        (Effect::Sets(_), None)
            if got == plain
                && !OF_THE_COMMAND.contains(&option.long)
                && !OF_THE_DEFAULT.contains(&option.long) =>
        {
            complain("changes nothing")
        }
        _ => None,
    }
}

#[test]
fn no_option_is_passed_over_in_silence() {
    let commands = [Command::Sbatch, Command::Salloc, Command::Srun];
    let complaints = commands.into_iter().flat_map(|command| {
        options_of(command).filter_map(move |option| complaint(command, option))
    });
    let complaints: Vec<String> = complaints.collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
