//! `sacctmgr`: accounts, users, associations and QOS, kept by the engine.

use super::command_loop::{CommandLoop, agrees};
use super::connection::{CommandError, connect};
use super::named_input::{self, FIFO};
use super::sacctmgr_facts::sacctmgr_facts;
use super::sacctmgr_job::modify_jobs;
use crate::printer::Printer;
use api::{Client, Refusal};
use model::{SacctmgrAnswer, SacctmgrArgs, SacctmgrFile, SacctmgrShow, Timestamp, UsageReset};
use runs::input_file;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// Its commands, where none is on the command line.
const COMMANDS: CommandLoop<'_> = CommandLoop {
    name: "sacctmgr",
    settings: &[
        ("oneliner", 1, "--oneliner"),
        ("quiet", 4, "--quiet"),
        ("readonly", 4, "--readonly"),
        ("verbose", 4, "--verbose"),
    ],
    ends: &[("exit", 4), ("\\q", 2), ("quit", 4)],
};

/// How often a change is tried again that another one came before.
pub(super) const TRIES: usize = 5;

/// Runs it; returns its exit status.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    let asked = match SacctmgrArgs::parse(args) {
        Ok(asked) => asked,
        Err(error) => {
            printer.say(&error);
            return 1;
        }
    };
    match asked.show {
        Some(SacctmgrShow::Help) => printer.data(&help()),
        Some(SacctmgrShow::Version) => printer.line(&super::version_line()),
        // Its options have no values.
        None if args.iter().all(|word| word.starts_with('-')) => {
            return COMMANDS.read(args, printer, &mut |words| run(words, printer));
        }
        None => {
            return carry_out(&asked, printer).unwrap_or_else(|failure| {
                failure.say("sacctmgr", printer);
                1
            });
        }
    }
    0
}

fn carry_out(asked: &SacctmgrArgs, printer: &Printer) -> Result<u8, CommandError> {
    let text = match asked.file() {
        Some(SacctmgrFile::Read(path)) => match text_of(&path) {
            Ok(text) => Some(text),
            Err(why) => {
                printer.say(&format!(" Unable to read \"{path}\": {why}"));
                return Ok(1);
            }
        },
        _ => None,
    };
    let mut client = connect()?;
    match asked.modifies_jobs(Timestamp(sys::now()), &sys::local_zone()) {
        Ok(None) => {}
        Ok(Some(change)) => return modify_jobs(asked, &change, &mut client, printer),
        Err(answer) => return Ok(print(asked, &answer, printer)),
    }
    for attempt in 1.. {
        let mut accounting = client.accounting()?;
        match asked.resets_usage(&accounting) {
            Ok(None) => {}
            Ok(Some(reset)) => return reset_usage(asked, reset, &mut client, printer),
            Err(answer) => return Ok(print(asked, &answer, printer)),
        }
        let mut facts = sacctmgr_facts(asked, &mut client, &accounting)?;
        facts.text.clone_from(&text);
        let answer = asked.answer(&mut accounting, &facts);
        if !answer.changes {
            return Ok(print(asked, &answer, printer));
        }
        if !asked.immediate {
            printer.data(&answer.stdout);
            if !has_agreed(COMMIT, printer) {
                printer.line(" Changes Discarded");
                return Ok(1);
            }
        }
        accounting.version += 1;
        match client.set_accounting(accounting) {
            Ok(()) => {
                if asked.immediate {
                    return Ok(print(asked, &answer, printer));
                }
                return Ok(answer.status);
            }
            Err(error) => match error.refusal() {
                Some(Refusal::Invalid { .. }) if asked.immediate && attempt < TRIES => {}
                Some(Refusal::Invalid { message }) => {
                    printer.say(&format!(" Error with request: {message}"));
                    return Ok(1);
                }
                _ => return Err(error.into()),
            },
        }
    }
    Ok(1)
}

/// Has usage begin anew at 0, once a person has agreed; returns the exit status.
fn reset_usage(
    asked: &SacctmgrArgs,
    reset: UsageReset,
    client: &mut Client,
    printer: &Printer,
) -> Result<u8, CommandError> {
    printer.data(&reset.remark.unwrap_or_default());
    if !asked.immediate && !has_agreed("Would you like to reset usage?", printer) {
        printer.line(" Changes Discarded");
        return Ok(0);
    }
    match reset.of {
        Ok(of) => client.reset_usage(of)?,
        Err(text) => {
            printer.say(text.trim_end());
            return Ok(1);
        }
    }
    Ok(0)
}

fn print(asked: &SacctmgrArgs, answer: &SacctmgrAnswer, printer: &Printer) -> u8 {
    let said = answer.stderr.lines();
    if let (Some(SacctmgrFile::Write(path)), 0) = (asked.file(), answer.status) {
        let written = if input_file::is_named_pipe(Path::new(&path)) {
            Err(FIFO.to_owned())
        } else {
            std::fs::write(&path, &answer.stdout).map_err(|error| super::system_words(&error))
        };
        if let Err(why) = written {
            printer.say(&format!("Can't open file {path}, {why}"));
            return 1;
        }
        said.for_each(|line| printer.say(line));
        return 0;
    }
    if !(asked.quiet && answer.changes) {
        printer.data(&answer.stdout);
    }
    said.for_each(|line| printer.say(line));
    answer.status
}

/// What a file to load holds.
fn text_of(path: &str) -> Result<String, String> {
    let bytes = named_input::read(Path::new(path))?;
    String::from_utf8(bytes).map_err(|_| "it is no UTF-8".to_owned())
}

pub(super) const COMMIT: &str = "Would you like to commit changes?";

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Asks a person; no answer is no.
pub(super) fn has_agreed(question: &str, printer: &Printer) -> bool {
    printer.data(&format!(
        "{question} (You have 30 seconds to decide)\n(N/y): "
    ));
    // What can't be flushed can't be read either.
    let _ = io::stdout().flush();
    let agreed = agrees(io::stdin(), PATIENCE);
    printer.line(if agreed.is_some() { "" } else { "timeout" });
    agreed == Some(true)
}

/// What `--help` says above the options.
const ABOUT: &str = "\
Usage: sacctmgr [OPTIONS] COMMAND
Shows and changes accounts, users, associations and QOS of Trainyard's embedded engine, as Slurm's
sacctmgr does those of a cluster. It starts with those of the engine's cluster file. What is changed
holds at once, for jobs that wait too; on this machine's own engine limits hold, and no job is
refused for its account or QOS.

  show|list ENTITY [NAME=VALUE ...]            account, association, cluster, configuration,
                                               event, federation, problem, qos, reservation,
                                               resource, runawayjobs, transaction, tres, user,
                                               wckey
  add|create ENTITY NAME [NAME=VALUE ...]      account, coordinator, federation, qos, resource,
                                               user
  modify ENTITY NAME [where ...] set NAME=VALUE ...
                                               account, cluster, qos, resource, user; without a
                                               name all accounts, users or QOS
  modify job [where] NAME=VALUE ... set NAME=VALUE ...
                                               what accounting records of jobs: comments and the
                                               derived exit code; jobs by JobID, Users, Accounts,
                                               WCKeys, StartTime, EndTime
  delete|remove ENTITY NAME [NAME=VALUE ...]   account, coordinator, federation, qos, resource,
                                               user
  dump CLUSTER [file=FILE]                     all of it as a file
  load FILE                                    what such a file has
  help, version                                as --help and --version

  Format=LIST, WithAssoc, WithCoord, Tree and OnlyDefaults belong to show.
";

/// What `--help` says below the options.
const NOTES: &str = "\
An event is a time in which a node took no jobs. Jobs ask for a resource as licences, NAME@SERVER, of
which the cluster has its percentage. Workload keys are kept with their users; no job is counted by
them.
";

/// `sacctmgr --help`
pub(super) fn help() -> String {
    super::command_help("sacctmgr", ABOUT, NOTES)
}
