//! Options for Slurm's sbatch that would undo what a run's job asks for itself.

use std::path::Path;

use jiff::tz::TimeZone;
use model::option_table::Key;
use model::sbatch::{self, Sbatch};
use model::{Given, SlurmVersion, Surroundings, Timestamp};

use crate::refusal::{Refusal, RefusalKind};
use crate::resolved::Resolved;
use crate::slurms_words::slurms_word;

/// Of two options Slurm keeps the last, and a site's own stand behind the run's: another comment, output
/// or time limit there, and the run no longer finds its job, or believes in a limit that it doesn't have.
pub(crate) fn check_sbatch_options(options: &Resolved<Vec<String>>) -> Result<(), Refusal> {
    for option in &options.value {
        let read = read(option);
        let taken = read.given.iter().find_map(|given| {
            let key = given.option.key?;
            own(key, given).map(|what| (given.option.long, what))
        });
        let Some((name, what)) = taken else { continue };
        let todo = match what {
            Own::Key(key) => {
                let key = key.trim_end_matches(',');
                format!("leave it out, and say it with {key}")
            }
            Own::Bookkeeping => "leave it out".to_owned(),
        };
        return Err(Refusal {
            kind: RefusalKind::Usage,
            message: format!("the run sets sbatch's --{name} itself"),
            asked: format!("sbatch = [{option:?}] ({})", options.source),
            there: "Slurm keeps the last of two, and the run would not know of it".to_owned(),
            todo,
        });
    }
    Ok(())
}

/// An option as sbatch reads it, abbreviated names and letters too.
fn read(option: &str) -> Sbatch {
    let zone = TimeZone::UTC;
    let surroundings =
        Surroundings::slurm(SlurmVersion::V22_05, Timestamp(0), &zone, Path::new("/"));
    let words = option.split_whitespace().map(str::to_owned);
    let args: Vec<String> = words.chain(["job".to_owned()]).collect();
    let (read, _) = sbatch::resolve(&args, &|_| None, Some("#!/bin/sh\n"), &surroundings);
    read
}

/// What of a run stands for an option.
enum Own {
    /// A key of the run file.
    Key(&'static str),
    /// How the run finds its job again, and comes back.
    Bookkeeping,
}

fn own(key: Key, given: &Given) -> Option<Own> {
    Some(Own::Key(match key {
        Key::Comment
        | Key::OpenMode
        | Key::Wrap
        | Key::TestOnly
        | Key::WaitForEnd
        | Key::Output
        | Key::Error
        | Key::Chdir => return Some(Own::Bookkeeping),
        Key::Gres
            if given
                .value
                .as_deref()
                .is_some_and(|gres| gres.contains("gpu")) =>
        {
            "[resources] gpus_per_node"
        }
        Key::Account => "[resources] account",
        Key::Partition => "[resources] partition",
        Key::Qos => "[resources] qos",
        Key::Nodes => "[resources] nodes",
        Key::Time => "[resources] time",
        Key::Constraint => "[resources] constraint",
        // By user and the like: no key says that.
        Key::Exclusive if given.value.is_none() => "[resources] exclusive",
        Key::Tasks
        | Key::TasksPerNode
        | Key::CpusPerTask
        | Key::Mem
        | Key::MemPerCpu
        | Key::MemPerGpu
        | Key::Gpus
        | Key::GpusPerNode
        | Key::GpusPerTask
        | Key::Array
        | Key::JobName
        | Key::MailUser
        | Key::MailType
        | Key::Requeue
        | Key::NoRequeue
        | Key::Signal => slurms_word(given.option.long)
            .or_else(|| (key == Key::Gpus).then_some("[resources] gpus_per_node and nodes"))?,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use crate::resolved::{Resolved, Source};

    #[track_caller]
    fn check(option: &str, want: &str) {
        let options = Resolved::new(vec![option.to_owned()], Source::default("a test"));
        let said = super::check_sbatch_options(&options)
            .map_or_else(|refusal| refusal.todo, |()| "taken".to_owned());
        assert_eq!(said, want, "{option}");
    }

    #[test]
    fn what_a_run_says_itself_is_refused_and_its_key_is_named() {
        check(
            "--signal=USR1@90",
            "leave it out, and say it with [resume] notify",
        );
        check(
            "--time=10",
            "leave it out, and say it with [resources] time",
        );
        check("-t 10", "leave it out, and say it with [resources] time");
        check("-t10", "leave it out, and say it with [resources] time");
        check(
            "--partit=gpu",
            "leave it out, and say it with [resources] partition",
        );
        check(
            "--gpus=4",
            "leave it out, and say it with [resources] gpus_per_node and nodes",
        );
        check("--array=1-4", "leave it out, and say it with repeat");
        check("--no-requeue", "leave it out, and say it with [resume] on");
        check("--comment=x", "leave it out");
        check("--open-mode=truncate", "leave it out");
        check("--output=x", "leave it out");
        check("--wait", "leave it out");
        check(
            "--gres=gpu:8",
            "leave it out, and say it with [resources] gpus_per_node",
        );
    }

    #[test]
    fn what_no_key_says_is_taken() {
        for option in [
            "--reservation=x",
            "--gres=nic:1",
            "--exclusive=user",
            "--dependency=afterok:7",
            "--export=NONE",
            "--nice=100",
            "--an-option-of-a-plugin=3",
        ] {
            check(option, "taken");
        }
    }
}
