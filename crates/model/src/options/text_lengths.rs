//! How long the texts of a job may be (`_job_create_request`'s `_test_strlen`, slurmctld's
//! job_mgr.c, the same from 22.05 on).

use crate::options::given::Given;
use crate::options::option_table::{Command, Key};
use crate::options::reading::Reading;

/// What every controller says of a longer one.
pub(crate) const TOO_LONG: &str = "Pathname of a file, directory or other parameter too long";

/// The longest name of a job, in bytes.
pub(crate) const LONGEST_NAME: usize = 1024;
/// `MAXPATHLEN`
const LONGEST_PATH: usize = 4096;

/// The longest text of an option, in bytes.
const LONGEST: &[(Key, usize)] = &[
    (Key::Account, 1024),
    (Key::Array, 4 * 1024),
    (Key::BurstBuffer, 8 * 1024),
    (Key::Comment, 1024),
    (Key::Constraint, 1024),
    (Key::Dependency, 128 * 1024),
    (Key::Licenses, 1024),
    (Key::MailUser, 1024),
    (Key::JobName, LONGEST_NAME),
    (Key::Network, 1024),
    (Key::Partition, 1024),
    (Key::Prefer, 1024),
    (Key::Qos, 1024),
    (Key::Reservation, 1024),
    (Key::Wckey, 1024),
    (Key::Chdir, LONGEST_PATH),
];

/// Files of a batch job; `srun` opens those of its tasks itself.
const FILES: &[(Key, usize)] = &[
    (Key::Error, LONGEST_PATH),
    (Key::Input, LONGEST_PATH),
    (Key::Output, LONGEST_PATH),
];

/// Refuses a job of which a text is too long, at the first one.
pub(crate) fn check(reading: &mut Reading<'_>) {
    let files = match reading.command {
        Command::Sbatch => FILES,
        Command::Salloc | Command::Srun => &[],
    };
    let is_long = |(key, longest): &(Key, usize)| {
        let is_it = |given: &&Given| given.option.key == Some(*key);
        // The last that was given counts.
        let last = reading.given.iter().rev().find(is_it)?;
        let text = last.value.as_deref()?;
        (text.len() > *longest).then(|| last.clone())
    };
    if let Some(given) = LONGEST.iter().chain(files).find_map(is_long) {
        reading.refuse_as_any_controller(&given, TOO_LONG);
    }
}
