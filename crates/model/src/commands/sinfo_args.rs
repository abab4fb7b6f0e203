//! The command line of `sinfo`.

use crate::commands::sinfo_states::NodeStateFilter;
use crate::options::long_options::{LongOption, parse_long_options};
use crate::options::option_table::Takes;
use crate::values::{NodeName, node_list};

/// What a `sinfo` asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinfoArgs {
    /// What it does.
    pub action: SinfoAction,
    /// `--partition`
    pub partitions: Option<Vec<String>>,
    /// `--nodes`
    pub nodes: Option<Vec<NodeName>>,
    /// `--states`
    pub states: Option<NodeStateFilter>,
    /// `--all`: partitions that are hidden from the user too.
    pub all: bool,
    /// `--clusters`
    pub clusters: Option<Vec<String>>,
    /// `--Node`: a line for each node of each partition.
    pub by_node: bool,
    /// `--list-reasons`
    pub reasons: bool,
    /// `--summarize`
    pub summary: bool,
    /// `--long`
    pub long: bool,
    /// `--exact`: nodes that differ in any column stand apart.
    pub exact: bool,
    /// `--noheader`
    pub no_header: bool,
    /// `--dead`
    pub dead: bool,
    /// `--responding`
    pub responding: bool,
    /// `--format`
    pub format: Option<String>,
    /// `--Format`
    pub long_format: Option<String>,
    /// `--sort`
    pub sort: Option<String>,
    /// `--iterate`, in seconds.
    pub every: Option<u32>,
}

/// What a `sinfo` does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SinfoAction {
    /// Lists.
    #[default]
    List,
    /// `--json`
    Json,
    /// `--yaml`
    Yaml,
    /// `--reservation`
    Reservations,
    /// `--help`
    Help,
    /// `--usage`
    Usage,
    /// `--version`
    Version,
}

/// `sinfo --usage`
pub const SINFO_USAGE: &str = "\
Usage: sinfo [-abdelNRrsTv] [-i seconds] [-t states] [-p partition] [-n nodes]
             [-S fields] [-o format] [-O Format] [--federation] [--local]
";

/// A command line that `sinfo` refuses with exit status 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SinfoUsageError {
    /// As `getopt_long` says it.
    #[error("{program}: {message}\nTry \"sinfo --help\" for more information")]
    Option {
        /// `argv[0]`
        program: String,
        /// What is wrong.
        message: String,
    },
    /// `--iterate`
    #[error("sinfo: error: Error: invalid entry for --iterate={0}")]
    Iterate(String),
    /// `--states`. The list is Slurm's own, with its slips.
    #[error(
        "sinfo: error: Bad state string: \"{0}\"\nsinfo: error: valid states: unknown,down,idle,allocated,?,mixed,future,drain,drained,draining,no_respond,reserved,perfctrs,cloud,completing,powering_down,powered_down,power_down,powering_up,fail,maint,reboot,reboot^,unknown"
    )]
    State(String),
    /// `-a` beside `-p`.
    #[error(
        "sinfo: error: Conflicting options, -a and -p, specified. Please choose one or the other."
    )]
    AllAndSome,
    /// `-o` beside `-O`.
    #[error("sinfo: {0}")]
    Conflict(&'static str),
}

#[derive(Clone, Copy, PartialEq)]
enum Key {
    All,
    ByNode,
    Clusters,
    Dead,
    Exact,
    Format,
    Help,
    Iterate,
    Json,
    Long,
    LongFormat,
    NoEffect,
    NoHeader,
    Nodes,
    Partition,
    Reasons,
    Reservations,
    Responding,
    Sort,
    States,
    Summary,
    Usage,
    Version,
    Yaml,
}

#[rustfmt::skip]
const OPTIONS: &[LongOption<Key>] = {
    use Takes::{No as Bare, Required};
    &[
        LongOption::new("all", Some('a'), Bare, Key::All),
        LongOption::new("dead", Some('d'), Bare, Key::Dead),
        LongOption::new("exact", Some('e'), Bare, Key::Exact),
        LongOption::new("federation", None, Bare, Key::NoEffect),
        LongOption::new("help", None, Bare, Key::Help),
        LongOption::new("hide", None, Bare, Key::NoEffect),
        LongOption::new("iterate", Some('i'), Required, Key::Iterate),
        LongOption::new("local", None, Bare, Key::NoEffect),
        LongOption::new("long", Some('l'), Bare, Key::Long),
        LongOption::new("cluster", Some('M'), Required, Key::Clusters),
        LongOption::new("clusters", None, Required, Key::Clusters),
        LongOption::new("nodes", Some('n'), Required, Key::Nodes),
        LongOption::new("noconvert", None, Bare, Key::NoEffect),
        LongOption::new("noheader", Some('h'), Bare, Key::NoHeader),
        LongOption::new("Node", Some('N'), Bare, Key::ByNode),
        LongOption::new("format", Some('o'), Required, Key::Format),
        LongOption::new("Format", Some('O'), Required, Key::LongFormat),
        LongOption::new("partition", Some('p'), Required, Key::Partition),
        LongOption::new("responding", Some('r'), Bare, Key::Responding),
        LongOption::new("list-reasons", Some('R'), Bare, Key::Reasons),
        LongOption::new("summarize", Some('s'), Bare, Key::Summary),
        LongOption::new("sort", Some('S'), Required, Key::Sort),
        LongOption::new("states", Some('t'), Required, Key::States),
        LongOption::new("reservation", Some('T'), Bare, Key::Reservations),
        LongOption::new("usage", None, Bare, Key::Usage),
        LongOption::new("verbose", Some('v'), Bare, Key::NoEffect),
        LongOption::new("version", Some('V'), Bare, Key::Version),
        LongOption::new("json", None, Bare, Key::Json),
        LongOption::new("yaml", None, Bare, Key::Yaml),
    ]
};

impl SinfoArgs {
    /// Reads a command line. `program` is `argv[0]`; `variable` tells of the environment.
    ///
    /// # Errors
    /// What Slurm refuses, in its words.
    pub fn parse(
        program: &str,
        args: &[String],
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<SinfoArgs, SinfoUsageError> {
        let parsed = parse_long_options(OPTIONS, args);
        let list = |text: &str| -> Vec<String> {
            let words = text.split(',').filter(|word| !word.is_empty());
            words.map(str::to_owned).collect()
        };
        let mut asked = SinfoArgs {
            sort: variable("SINFO_SORT"),
            ..SinfoArgs::default()
        };
        for (key, value) in parsed.options {
            let text = value.unwrap_or_default();
            match key {
                Key::All => asked.all = true,
                Key::ByNode => asked.by_node = true,
                Key::Clusters => asked.clusters = Some(list(&text)),
                Key::Dead => asked.dead = true,
                Key::Exact => asked.exact = true,
                Key::Format if asked.long_format.is_some() => {
                    return Err(SinfoUsageError::Conflict(
                        "error: -o (--format) is incompatible with -O (--Format)",
                    ));
                }
                Key::Format => asked.format = Some(text),
                Key::Help | Key::Usage | Key::Version => {
                    asked.action = match key {
                        Key::Help => SinfoAction::Help,
                        Key::Usage => SinfoAction::Usage,
                        _ => SinfoAction::Version,
                    };
                    return Ok(asked);
                }
                Key::Iterate => match text.parse() {
                    Ok(seconds) if seconds > 0 => asked.every = Some(seconds),
                    _ => return Err(SinfoUsageError::Iterate(text)),
                },
                Key::Json => asked.action = SinfoAction::Json,
                Key::Yaml => asked.action = SinfoAction::Yaml,
                Key::Reservations => asked.action = SinfoAction::Reservations,
                Key::Long => asked.long = true,
                Key::LongFormat if asked.format.is_some() => {
                    return Err(SinfoUsageError::Conflict(
                        "error: -O (--Format) is incompatible with -o (--format)",
                    ));
                }
                Key::LongFormat => asked.long_format = Some(text),
                Key::NoEffect => {}
                Key::NoHeader => asked.no_header = true,
                // Slurm ends a list that it can't read where it is wrong.
                Key::Nodes => asked.nodes = Some(node_list::expand(&text).unwrap_or_default()),
                Key::Partition => asked.partitions = Some(list(&text)),
                Key::Reasons => asked.reasons = true,
                Key::Responding => asked.responding = true,
                Key::Sort => asked.sort = Some(text),
                Key::States => {
                    asked.states = NodeStateFilter::parse(&text).map_err(SinfoUsageError::State)?;
                }
                Key::Summary => asked.summary = true,
            }
        }
        if let Some(message) = parsed.wrong {
            let program = program.to_owned();
            return Err(SinfoUsageError::Option { program, message });
        }
        if asked.all && asked.partitions.is_some() {
            return Err(SinfoUsageError::AllAndSome);
        }
        // What is asked by options goes before the environment.
        if !asked.all && asked.partitions.is_none() {
            asked.all = variable("SINFO_ALL").is_some();
            asked.partitions = variable("SINFO_PARTITION").map(|text| list(&text));
            if asked.all && asked.partitions.is_some() {
                return Err(SinfoUsageError::Conflict(
                    "error: Conflicting options, SINFO_ALL and SINFO_PARTITION, specified. \
                     Please choose one or the other.",
                ));
            }
        }
        let own = asked.long || asked.summary || asked.by_node || asked.reasons;
        if !own && asked.format.is_none() && asked.long_format.is_none() {
            asked.format = variable("SINFO_FORMAT");
        }
        Ok(asked)
    }
}
