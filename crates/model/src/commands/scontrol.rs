//! The command line of `scontrol`: what of it the embedded engine answers to.

use crate::commands::ShowStyle;
use crate::options::long_options::{LongOption, parse_long_options};
use crate::options::option_table::Takes;
use crate::values::node_list;

/// What a `scontrol` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScontrolArgs {
    /// What it does.
    pub command: ScontrolCommand,
    /// How jobs are shown.
    pub style: ShowStyle,
    /// `--quiet`: no word about what is wrong.
    pub quiet: bool,
}

/// What a `scontrol` does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScontrolCommand {
    /// `show job [ID]`
    ShowJob(Option<String>),
    /// `show node [NAME]`
    ShowNode(Option<String>),
    /// `show partition [NAME]`
    ShowPartition(Option<String>),
    /// `show step [ID]`
    ShowStep(Option<String>),
    /// `show topology [NAME]`: of a switch or a node.
    ShowTopology(Option<String>),
    /// `show licenses [NAME]`
    ShowLicences(Option<String>),
    /// `show reservation [NAME]`
    ShowReservation(Option<String>),
    /// `show frontend` and others of which the engine has none: what is said.
    None {
        /// On standard output.
        stdout: String,
        /// On standard error.
        stderr: String,
        /// Exit status.
        status: u8,
    },
    /// `show config`
    ShowConfig,
    /// `show hostnames [LIST]`; without a list `SLURM_NODELIST`, then `SLURM_JOB_NODELIST`.
    HostNames(Option<String>),
    /// `show hostlist`, `show hostlistsorted`
    HostList {
        /// Names between commas.
        names: String,
        /// Sorted first.
        sorted: bool,
    },
    /// `requeue ID …`, `requeuehold ID …`
    Requeue {
        /// As written: `12`, `12_3`, `12,13`.
        jobs: Vec<String>,
        /// Stays held.
        hold: bool,
    },
    /// `hold ID …`, `uhold ID …`, `release ID …`
    Hold {
        /// As written; `Name=…` too.
        jobs: Vec<String>,
        /// False releases.
        hold: bool,
    },
    /// `suspend ID …`, `resume ID …`
    Suspend {
        /// As written.
        jobs: Vec<String>,
        /// False resumes.
        suspend: bool,
    },
    /// `create`, `update` and `delete` of nodes and partitions
    Cluster(ClusterCommand),
    /// `update JobId=LIST KEY=VALUE …`
    UpdateJobs {
        /// As written; `JobName=…` stands for jobs by their name.
        jobs: String,
        /// Keys and values.
        changes: Vec<(String, String)>,
    },
    /// `create reservation KEY=VALUE …`, `update ReservationName=NAME KEY=VALUE …`
    Reserve {
        /// Keys and values.
        words: Vec<String>,
        /// There is none of the name.
        is_new: bool,
    },
    /// `delete reservation=NAME`
    Unreserve {
        /// Which.
        name: String,
        /// As it was written.
        written: String,
    },
    /// `top ID …`
    Top(Vec<String>),
    /// `notify ID TEXT …`
    Notify {
        /// As written.
        job: String,
        /// The words, with a space between them.
        text: String,
    },
    /// `write batch_script ID [FILE|-]`
    WriteScript {
        /// As written.
        job: String,
        /// Where to; `-` prints it.
        file: Option<String>,
    },
    /// `listpids [ID[.STEP] [NODE]]`
    ListPids {
        /// As written.
        job: Option<String>,
        /// The node.
        node: Option<String>,
    },
    /// `reconfigure`
    Reconfigure,
    /// `ping`
    Ping,
    /// `version`, `--version`
    Version,
    /// `help`, `--help`
    Help,
    /// Nothing was asked.
    Nothing,
}

/// What is changed of nodes and partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterCommand {
    /// `update NodeName=LIST KEY=VALUE …`
    UpdateNodes(Vec<String>),
    /// `create PartitionName=NAME KEY=VALUE …`, `update PartitionName=NAME KEY=VALUE …`
    Partition {
        /// Keys and values.
        words: Vec<String>,
        /// There is none of the name.
        is_new: bool,
    },
    /// `delete NodeName=LIST`
    RemoveNodes {
        /// Which.
        nodes: String,
        /// As it was written.
        written: String,
    },
    /// `delete PartitionName=NAME`
    RemovePartition {
        /// Which.
        name: String,
        /// As it was written.
        written: String,
    },
}

/// A command line that `scontrol` refuses with exit status 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScontrolUsageError {
    /// As `getopt_long` says it.
    #[error("{program}: {message}\nTry \"scontrol --help\" for more information")]
    Option {
        /// `argv[0]`
        program: String,
        /// What is wrong.
        message: String,
    },
    /// Nothing of Slurm's.
    #[error("invalid keyword: {0}")]
    Keyword(String),
    /// Nothing that `show` shows.
    #[error("invalid entity:{0} for keyword:show ")]
    Entity(String),
    /// Too few words.
    #[error("too few arguments for keyword:{0}")]
    TooFew(String),
    /// Too many words.
    #[error("too many arguments for keyword:{0}")]
    TooMany(String),
    /// `write` of something else.
    #[error("invalid write argument:{0}")]
    WriteEntity(String),
    /// `update` of nothing that there is.
    #[error(
        "No valid entity in update command\nInput line must include \"NodeName\", \"PartitionName\", \"Reservation\", \"JobId\", or \"SlurmctldDebug\""
    )]
    NoEntity,
    /// `update` alone.
    #[error("too few arguments for update keyword")]
    TooFewForUpdate,
    /// `create` alone.
    #[error("too few arguments for create keyword")]
    TooFewForCreate,
    /// `create` of nothing of Slurm's.
    #[error("scontrol: error: Invalid creation entity: {0}")]
    CreationEntity(String),
    /// `delete` alone.
    #[error("too few arguments for delete keyword")]
    TooFewForDelete,
    /// `create NodeName=`: what Slurm says of words of which it makes no node.
    #[error("scontrol: error: {0}")]
    NoNewNode(String),
    /// `delete` without a name.
    #[error("scontrol: error: Proper format is 'delete <ENTITY>=<ID>' or 'delete <ENTITY> <ID>'")]
    DeletionFormat,
    /// `delete` of nothing of Slurm's.
    #[error("Invalid deletion entity: {0}")]
    DeletionEntity(String),
    /// `show hostlist` without a list.
    #[error("invalid encode argument")]
    NoNames,
    /// Something of Slurm's that the embedded engine has not.
    #[error("scontrol: error: `{what}` is not built in: {todo}")]
    Missing {
        /// As written.
        what: String,
        /// What to do instead.
        todo: &'static str,
    },
}

#[derive(Clone, Copy, PartialEq)]
enum Key {
    Details,
    Help,
    Clusters,
    NoEffect,
    OneLine,
    Quiet,
    Version,
}

#[rustfmt::skip]
const OPTIONS: &[LongOption<Key>] = {
    use Takes::{No as Bare, Required};
    &[
        LongOption::new("all", Some('a'), Bare, Key::NoEffect),
        LongOption::new("cluster", Some('M'), Required, Key::Clusters),
        LongOption::new("clusters", None, Required, Key::Clusters),
        LongOption::new("details", Some('d'), Bare, Key::Details),
        LongOption::new("federation", None, Bare, Key::NoEffect),
        LongOption::new("future", Some('F'), Bare, Key::NoEffect),
        LongOption::new("help", Some('h'), Bare, Key::Help),
        LongOption::new("hide", None, Bare, Key::NoEffect),
        LongOption::new("local", None, Bare, Key::NoEffect),
        LongOption::new("oneliner", Some('o'), Bare, Key::OneLine),
        LongOption::new("quiet", Some('Q'), Bare, Key::Quiet),
        LongOption::new("sibling", None, Bare, Key::NoEffect),
        LongOption::new("usage", None, Bare, Key::Help),
        LongOption::new("verbose", Some('v'), Bare, Key::NoEffect),
        LongOption::new("version", Some('V'), Bare, Key::Version),
    ]
};

/// Keywords of Slurm's that the embedded engine has no use for or no answer to yet.
const NOT_BUILT_IN: &[&str] = &[
    "abort",
    "cancel_reboot",
    "completing",
    "pidinfo",
    "power",
    "reboot",
    "schedloglevel",
    "setdebug",
    "setdebugflags",
    "shutdown",
    "takeover",
    "token",
    "wait_job",
];

/// Reads a command line. `program` is `argv[0]`.
///
/// # Errors
/// What Slurm refuses, in its words; what of it this program lacks.
pub fn parse(program: &str, args: &[String]) -> Result<ScontrolArgs, ScontrolUsageError> {
    let parsed = parse_long_options(OPTIONS, args);
    let mut style = ShowStyle::default();
    let mut quiet = false;
    let with = |command, style, quiet| ScontrolArgs {
        command,
        style,
        quiet,
    };
    for (key, _) in &parsed.options {
        match key {
            Key::Details => style.details = true,
            Key::OneLine => style.one_line = true,
            Key::Quiet => quiet = true,
            Key::Help => return Ok(with(ScontrolCommand::Help, style, quiet)),
            Key::Version => return Ok(with(ScontrolCommand::Version, style, quiet)),
            Key::Clusters => {
                return Err(ScontrolUsageError::Missing {
                    what: "--clusters".to_owned(),
                    todo: "this scontrol knows the embedded engine alone",
                });
            }
            Key::NoEffect => {}
        }
    }
    if let Some(message) = parsed.wrong {
        return Err(ScontrolUsageError::Option {
            program: program.to_owned(),
            message,
        });
    }
    Ok(with(command(&parsed.operands)?, style, quiet))
}

/// `update`, by what it names.
fn update(words: &[String]) -> Result<ScontrolCommand, ScontrolUsageError> {
    if words.is_empty() {
        return Err(ScontrolUsageError::TooFewForUpdate);
    }
    let is_reservation = names(words, "ReservationName", 3);
    if let Some(update) = update_jobs(words).filter(|_| !is_reservation) {
        return Ok(update);
    }
    if is_reservation {
        let words = words.to_vec();
        return Ok(ScontrolCommand::Reserve {
            words,
            is_new: false,
        });
    }
    if names(words, "NodeName", 3) {
        let words = words.to_vec();
        return Ok(ScontrolCommand::Cluster(ClusterCommand::UpdateNodes(words)));
    }
    if names(words, "PartitionName", 3) {
        return Ok(ScontrolCommand::Cluster(ClusterCommand::Partition {
            words: words.to_vec(),
            is_new: false,
        }));
    }
    let others = ["step", "slurmctlddebug"];
    let named = words.iter().map(|word| word.to_ascii_lowercase());
    if named
        .clone()
        .any(|word| others.iter().any(|name| word.starts_with(name)))
    {
        return Err(ScontrolUsageError::Missing {
            what: "update".to_owned(),
            todo: "jobs, nodes, partitions and reservations are changed here; see scontrol --help",
        });
    }
    Err(ScontrolUsageError::NoEntity)
}

/// Whether any word sets a key that may be shortened to so many letters.
fn names(words: &[String], key: &str, least: usize) -> bool {
    let keys = words.iter().filter_map(|word| word.split('=').next());
    keys.into_iter().any(|word| abbreviates(word, key, least))
}

/// `create`, by the first word that says of what.
fn create(words: &[String]) -> Result<ScontrolCommand, ScontrolUsageError> {
    let Some(first) = words.first() else {
        return Err(ScontrolUsageError::TooFewForCreate);
    };
    let is = |word: &String, key| names(std::slice::from_ref(word), key, 3);
    let what = words.iter().find_map(|word| {
        let kinds = ["NodeName", "PartitionName", "ReservationName"];
        kinds.into_iter().find(|kind| is(word, kind))
    });
    match what {
        Some("ReservationName") => {
            let words = words.iter();
            let words = words.filter(|word| word.contains('=') || !is(word, "ReservationName"));
            Ok(ScontrolCommand::Reserve {
                words: words.cloned().collect(),
                is_new: true,
            })
        }
        Some("PartitionName") => Ok(ScontrolCommand::Cluster(ClusterCommand::Partition {
            words: words.to_vec(),
            is_new: true,
        })),
        Some(_) => Err(no_new_node(words)),
        None => Err(ScontrolUsageError::CreationEntity(first.clone())),
    }
}

/// Keys of a node in `slurm.conf` that are looked for before it is said that none is made.
const NODE_KEYS: &[&str] = &[
    "NodeName",
    "CPUs",
    "Boards",
    "CoresPerSocket",
    "Features",
    "Gres",
    "NodeAddr",
    "NodeHostName",
    "Port",
    "RealMemory",
    "Reason",
    "Sockets",
    "State",
    "ThreadsPerCore",
    "TmpDisk",
    "Weight",
];

/// Why `create NodeName=` makes none. Slurm says nothing where its configuration leaves no room for
/// nodes of that kind, and makes none either.
fn no_new_node(words: &[String]) -> ScontrolUsageError {
    let value = |name: &str| {
        let mut pairs = words.iter().filter_map(|word| word.split_once('='));
        let found = pairs.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    };
    let is_read = words.iter().all(|word| {
        let key = word.split_once('=').map(|(key, _)| key);
        key.is_some_and(|key| {
            NODE_KEYS
                .iter()
                .any(|known| known.eq_ignore_ascii_case(key))
        })
    });
    if !is_read || value("NodeName").is_none_or(str::is_empty) {
        return ScontrolUsageError::NoNewNode(format!(
            "Failed to parse nodeline '{}'\nError creating the node(s): Unspecified error",
            words.join(" ")
        ));
    }
    let state = value("State").unwrap_or_default();
    if !["FUTURE", "CLOUD"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(state))
    {
        return ScontrolUsageError::NoNewNode(
            "Only State=FUTURE and State=CLOUD allowed for nodes created by scontrol\n\
             Error creating the node(s): Invalid node state specified"
                .to_owned(),
        );
    }
    ScontrolUsageError::Missing {
        what: format!("create {}", words[0]),
        todo: "write it into the cluster's file; scontrol reconfigure reads it again",
    }
}

/// `delete ENTITY=NAME`, `delete ENTITY NAME`
fn delete(words: &[String]) -> Result<ScontrolCommand, ScontrolUsageError> {
    let Some(first) = words.first() else {
        return Err(ScontrolUsageError::TooFewForDelete);
    };
    let (key, name) = match (first.split_once('='), words.get(1)) {
        (Some((key, name)), _) => (key, Some(name)),
        (None, name) => (first.as_str(), name.map(String::as_str)),
    };
    match name {
        Some(name) if abbreviates(key, "ReservationName", 3) => Ok(ScontrolCommand::Unreserve {
            name: name.to_owned(),
            written: words.join(" "),
        }),
        Some(name) if abbreviates(key, "PartitionName", 3) => {
            Ok(ScontrolCommand::Cluster(ClusterCommand::RemovePartition {
                name: name.to_owned(),
                written: words.join(" "),
            }))
        }
        Some(name) if abbreviates(key, "NodeName", 3) => {
            Ok(ScontrolCommand::Cluster(ClusterCommand::RemoveNodes {
                nodes: name.to_owned(),
                written: words.join(" "),
            }))
        }
        None if ["ReservationName", "PartitionName", "NodeName"]
            .iter()
            .any(|name| abbreviates(key, name, 3)) =>
        {
            Err(ScontrolUsageError::DeletionFormat)
        }
        _ => Err(ScontrolUsageError::DeletionEntity(first.clone())),
    }
}

/// `update` of jobs: `JobId=12 …`, `job 12 …`, `JobName=x …`; none where it is of something else.
fn update_jobs(words: &[String]) -> Option<ScontrolCommand> {
    let (mut jobs, mut changes) = (None, Vec::new());
    let mut name = None;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (key, value) = match word.split_once('=') {
            Some((key, value)) => (key, value.to_owned()),
            None => (word.as_str(), words.next().cloned().unwrap_or_default()),
        };
        let lower = key.to_ascii_lowercase();
        if jobs.is_none() && lower.len() >= 3 && "jobid".starts_with(&lower) {
            jobs = Some(value);
        } else if lower.len() >= 4 && "jobname".starts_with(&lower) {
            name = Some((key.to_owned(), value));
        } else {
            changes.push((key.to_owned(), value));
        }
    }
    // Beside an id a name is a change, without one it says which jobs.
    let jobs = match (jobs, name) {
        (Some(jobs), name) => {
            changes.extend(name);
            jobs
        }
        (None, Some((_, name))) => format!("JobName={name}"),
        (None, None) => return None,
    };
    Some(ScontrolCommand::UpdateJobs { jobs, changes })
}

fn command(words: &[String]) -> Result<ScontrolCommand, ScontrolUsageError> {
    let Some((keyword, rest)) = words.split_first() else {
        return Ok(ScontrolCommand::Nothing);
    };
    let is = |name: &str, least: usize| abbreviates(keyword, name, least);
    if is("show", 2) {
        return show(rest);
    }
    if is("requeuehold", 8) {
        return Ok(ScontrolCommand::Requeue {
            jobs: some(keyword, requeue_jobs(rest))?,
            hold: true,
        });
    }
    if is("requeue", 3) {
        return Ok(ScontrolCommand::Requeue {
            jobs: some(keyword, requeue_jobs(rest))?,
            hold: false,
        });
    }
    if ["hold", "holdu", "uhold"]
        .iter()
        .any(|name| keyword.eq_ignore_ascii_case(name))
    {
        return Ok(ScontrolCommand::Hold {
            jobs: some(keyword, rest)?,
            hold: true,
        });
    }
    if is("release", 3) {
        return Ok(ScontrolCommand::Hold {
            jobs: some(keyword, rest)?,
            hold: false,
        });
    }
    if is("suspend", 2) {
        return Ok(ScontrolCommand::Suspend {
            jobs: some(keyword, rest)?,
            suspend: true,
        });
    }
    if is("resume", 3) {
        return Ok(ScontrolCommand::Suspend {
            jobs: some(keyword, rest)?,
            suspend: false,
        });
    }
    if is("update", 1) {
        return update(rest);
    }
    if is("create", 2) {
        return create(rest);
    }
    if is("delete", 1) {
        return delete(rest);
    }
    if is("write", 2) {
        return write(rest);
    }
    if is("listpids", 1) {
        return match rest {
            [_, _, _, ..] => Err(ScontrolUsageError::TooMany(keyword.clone())),
            _ => Ok(ScontrolCommand::ListPids {
                job: rest.first().cloned(),
                node: rest.get(1).cloned(),
            }),
        };
    }
    if is("notify", 1) {
        return match rest {
            [job, words @ ..] if !words.is_empty() => Ok(ScontrolCommand::Notify {
                job: job.clone(),
                text: words.join(" "),
            }),
            _ => Err(ScontrolUsageError::TooFew(keyword.clone())),
        };
    }
    if is("top", 3) {
        return Ok(ScontrolCommand::Top(some(keyword, rest)?));
    }
    let bare = [
        ("reconfigure", 3, ScontrolCommand::Reconfigure),
        ("ping", 3, ScontrolCommand::Ping),
        ("version", 4, ScontrolCommand::Version),
        ("help", 2, ScontrolCommand::Help),
    ];
    for (name, least, command) in bare {
        if is(name, least) {
            return match rest {
                [] => Ok(command),
                _ => Err(ScontrolUsageError::TooMany(keyword.clone())),
            };
        }
    }
    if NOT_BUILT_IN
        .iter()
        .any(|name| keyword.eq_ignore_ascii_case(name))
    {
        return Err(ScontrolUsageError::Missing {
            what: keyword.clone(),
            todo: "the embedded engine shows, holds, releases and requeues jobs; see scontrol --help",
        });
    }
    Err(ScontrolUsageError::Keyword(keyword.clone()))
}

/// `write batch_script`
fn write(words: &[String]) -> Result<ScontrolCommand, ScontrolUsageError> {
    match words {
        [] => Err(ScontrolUsageError::TooFew("write".to_owned())),
        [entity, ..] if !abbreviates(entity, "batch_script", 5) => {
            Err(ScontrolUsageError::WriteEntity(entity.clone()))
        }
        // Without a job the real one does nothing.
        [_] => Ok(ScontrolCommand::None {
            stdout: String::new(),
            stderr: String::new(),
            status: 0,
        }),
        [_, job] => Ok(ScontrolCommand::WriteScript {
            job: job.clone(),
            file: None,
        }),
        [_, job, file] => Ok(ScontrolCommand::WriteScript {
            job: job.clone(),
            // The real one takes options for no names.
            file: Some(file.clone()).filter(|name| name == "-" || !name.starts_with('-')),
        }),
        [_, _, _, _, ..] => Err(ScontrolUsageError::TooMany("write".to_owned())),
    }
}

fn show(words: &[String]) -> Result<ScontrolCommand, ScontrolUsageError> {
    let (entity, value) = match words {
        [] => return Err(ScontrolUsageError::TooFew("show".to_owned())),
        [word] => match word.split_once('=') {
            Some((entity, value)) => (entity, Some(value.to_owned())),
            None => (word.as_str(), None),
        },
        [entity, value] => (entity.as_str(), Some(value.clone())),
        [_, _, _, ..] => return Err(ScontrolUsageError::TooMany("show".to_owned())),
    };
    let is = |name: &str, least: usize| abbreviates(entity, name, least);
    if is("hostnames", 5) {
        return Ok(ScontrolCommand::HostNames(value));
    }
    for (name, least, sorted) in [("hostlist", 5, false), ("hostlistsorted", 9, true)] {
        if is(name, least) {
            let names = value.ok_or(ScontrolUsageError::NoNames)?;
            return Ok(ScontrolCommand::HostList { names, sorted });
        }
    }
    if is("config", 3) {
        return Ok(ScontrolCommand::ShowConfig);
    }
    if is("steps", 2) {
        return Ok(ScontrolCommand::ShowStep(value));
    }
    if is("reservations", 3) || is("reservationname", 3) {
        return Ok(ScontrolCommand::ShowReservation(value));
    }
    if let Some(said) = none_of(&is) {
        return Ok(said);
    }
    if is("topology", 1) {
        return Ok(ScontrolCommand::ShowTopology(value));
    }
    if is("licenses", 2) {
        return Ok(ScontrolCommand::ShowLicences(value));
    }
    if is("jobs", 1) || is("jobid", 1) {
        return Ok(ScontrolCommand::ShowJob(value));
    }
    if is("nodes", 1) {
        return Ok(ScontrolCommand::ShowNode(value));
    }
    if is("partitions", 2) || is("partitionname", 2) {
        return Ok(ScontrolCommand::ShowPartition(value));
    }
    Err(ScontrolUsageError::Entity(entity.to_owned()))
}

/// What is said of things of which an engine has none.
fn none_of(is: &dyn Fn(&str, usize) -> bool) -> Option<ScontrolCommand> {
    let said = |stdout: String, stderr: String, status| ScontrolCommand::None {
        stdout,
        stderr,
        status,
    };
    let quiet = ["aliases", "federation", "burstbuffer", "bbstat", "dwstat"];
    if quiet.iter().any(|name| is(name, 2)) {
        return Some(said(String::new(), String::new(), 0));
    }
    let shown = |text: &str| said(format!("{text}\n"), String::new(), 0);
    if is("frontend", 1) {
        return Some(shown("No nodes in the system"));
    }
    if is("daemons", 1) {
        return Some(shown("slurmctld slurmd"));
    }
    None
}

/// `text` is `name` or the beginning of it, at least so many letters long, in any case.
pub(super) fn abbreviates(text: &str, name: &str, least: usize) -> bool {
    text.len() >= least
        && name
            .get(..text.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(text))
}

/// What follows `requeue`'s own flags, such as `incomplete`.
fn requeue_jobs(words: &[String]) -> &[String] {
    match words {
        [flag, rest @ ..] if flag.eq_ignore_ascii_case("incomplete") => rest,
        words => words,
    }
}

fn some(keyword: &str, words: &[String]) -> Result<Vec<String>, ScontrolUsageError> {
    if words.is_empty() {
        return Err(ScontrolUsageError::TooFew(keyword.to_owned()));
    }
    Ok(words.to_vec())
}

/// A job as `scontrol` takes it: `12`, an element `12_3`, a component `12+1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScontrolJob {
    /// The job's or the array's id.
    pub job: u32,
    /// The element.
    pub task: Option<u32>,
    /// One component, where it is heterogeneous.
    pub component: Option<u32>,
}

/// Jobs in `12`, `12_3`, `12_[1-4]`, `12,13`, `[12-14]`. `None`: these are no ids.
#[must_use]
pub fn job_ids(text: &str) -> Option<Vec<ScontrolJob>> {
    let mut depth = 0;
    let mut jobs = Vec::new();
    let parts = text.split(|letter| {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        matches!(letter, ',' | ' ') && depth == 0
    });
    for part in parts.filter(|part| !part.is_empty()) {
        let (ids, tasks) = match part.split_once('_') {
            None => (part, None),
            Some((ids, tasks)) => (ids, Some(tasks)),
        };
        for id in numbers(ids)? {
            match tasks {
                None => jobs.push(ScontrolJob {
                    job: id,
                    task: None,
                    component: None,
                }),
                Some(tasks) => jobs.extend(numbers(tasks)?.into_iter().map(|task| ScontrolJob {
                    job: id,
                    task: Some(task),
                    component: None,
                })),
            }
        }
    }
    (!jobs.is_empty()).then_some(jobs)
}

/// `7`, `[1-3,7]`
fn numbers(text: &str) -> Option<Vec<u32>> {
    node_list::expand(text)
        .ok()?
        .iter()
        .map(|number| number.as_str().parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(line: &str, want: Expect) {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let text = match parse("scontrol", &args) {
            Ok(asked) => format!("{:?}", asked.command),
            Err(error) => error.to_string(),
        };
        want.assert_eq(&text);
    }

    #[test]
    fn commands_may_be_short() {
        check("show job 12", expect![[r#"ShowJob(Some("12"))"#]]);
        check("-o show jobid=12_3", expect![[r#"ShowJob(Some("12_3"))"#]]);
        check(
            "sho hostn a[1-2]",
            expect![[r#"HostNames(Some("a[1-2]"))"#]],
        );
        check(
            "show hostlistsorted b,a",
            expect![[r#"HostList { names: "b,a", sorted: true }"#]],
        );
        check(
            "requeue 12,13",
            expect![[r#"Requeue { jobs: ["12,13"], hold: false }"#]],
        );
        check(
            "requeuehold incomplete 12",
            expect![[r#"Requeue { jobs: ["12"], hold: true }"#]],
        );
        check("hold 12", expect![[r#"Hold { jobs: ["12"], hold: true }"#]]);
        check(
            "rel 12 13",
            expect![[r#"Hold { jobs: ["12", "13"], hold: false }"#]],
        );
        check("pin", expect!["Ping"]);
    }

    #[test]
    fn refusals_have_slurms_words() {
        check("bad", expect!["invalid keyword: bad"]);
        check(
            "show nosuch",
            expect!["invalid entity:nosuch for keyword:show "],
        );
        check("show", expect!["too few arguments for keyword:show"]);
        check("hold", expect!["too few arguments for keyword:hold"]);
        check("show hostlist", expect!["invalid encode argument"]);
        check(
            "update job 3 TimeLimit=5",
            expect![[r#"UpdateJobs { jobs: "3", changes: [("TimeLimit", "5")] }"#]],
        );
        check("update", expect!["too few arguments for update keyword"]);
        check(
            "update nosuch=1",
            expect![[r#"
                No valid entity in update command
                Input line must include "NodeName", "PartitionName", "Reservation", "JobId", or "SlurmctldDebug""#]],
        );
        check(
            "--nosuch",
            expect![[r#"
            scontrol: unrecognized option '--nosuch'
            Try "scontrol --help" for more information"#]],
        );
    }

    #[test]
    fn ids_may_be_lists() {
        let text = |text: &str| {
            job_ids(text).map(|jobs| {
                jobs.iter()
                    .map(|job| match job.task {
                        None => job.job.to_string(),
                        Some(task) => format!("{}_{task}", job.job),
                    })
                    .collect::<Vec<_>>()
                    .join(" ")
            })
        };
        assert_eq!(text("12,13_[1-2,4]"), Some("12 13_1 13_2 13_4".to_owned()));
        assert_eq!(text("[3-4]"), Some("3 4".to_owned()));
        assert_eq!(text("abc"), None);
        assert_eq!(text(""), None);
    }
}
