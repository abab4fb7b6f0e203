//! The command line of `sinfo`.

use crate::commands::sinfo_states::NodeStateFilter;
use crate::commands::sinfo_verbose::Written;
use crate::commands::squeue_args::cluster_names;
use crate::options::long_options::{
    CommandOption, LongOption, command_options, parse_long_options,
};
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
    /// `--noconvert`: counts are not put into units of 1024.
    pub no_convert: bool,
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
    /// The same as it was written, for `--verbose`.
    pub(crate) written: Written,
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
    Hide,
    Iterate,
    Json,
    Long,
    LongFormat,
    NoConvert,
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
    Verbose,
    Version,
    Yaml,
}

#[rustfmt::skip]
const OPTIONS: &[LongOption<Key>] = {
    use Takes::{No as Bare, Required};
    &[
        LongOption::new("all", Some('a'), Bare, Key::All).does("partitions that are hidden too"),
        LongOption::new("dead", Some('d'), Bare, Key::Dead).does("nodes that do not answer"),
        LongOption::new("exact", Some('e'), Bare, Key::Exact).does("nodes that differ in any column apart"),
        LongOption::accepted("federation", None, Bare, "there is one cluster"),
        LongOption::new("help", None, Bare, Key::Help).does("this text"),
        LongOption::new("hide", None, Bare, Key::Hide).does("no hidden partitions, whatever --all before it says"),
        LongOption::new("iterate", Some('i'), Required, Key::Iterate).of("SECONDS", "again and again"),
        LongOption::accepted("local", None, Bare, "there is one cluster"),
        LongOption::new("long", Some('l'), Bare, Key::Long).does("more columns"),
        LongOption::new("cluster", None, Required, Key::Clusters),
        LongOption::new("clusters", Some('M'), Required, Key::Clusters).of("NAME", "the name of this cluster, or all"),
        LongOption::new("nodes", Some('n'), Required, Key::Nodes).of("LIST", "these nodes"),
        LongOption::new("noconvert", None, Bare, Key::NoConvert).does("counts as they are, and not in units of 1024"),
        LongOption::new("noheader", Some('h'), Bare, Key::NoHeader).does("no headers"),
        LongOption::new("Node", Some('N'), Bare, Key::ByNode).does("a line a node"),
        LongOption::new("format", Some('o'), Required, Key::Format).of("FORMAT", "columns by letter: '%P %D %t'"),
        LongOption::new("Format", Some('O'), Required, Key::LongFormat).of("LIST", "columns by name: partition:12,nodes"),
        LongOption::new("partition", Some('p'), Required, Key::Partition).of("LIST", "these partitions"),
        LongOption::new("responding", Some('r'), Bare, Key::Responding).does("nodes that answer"),
        LongOption::new("list-reasons", Some('R'), Bare, Key::Reasons).does("why nodes are down or drained"),
        LongOption::new("summarize", Some('s'), Bare, Key::Summary).does("a line a partition"),
        LongOption::new("sort", Some('S'), Required, Key::Sort).of("LETTERS", "by columns: 'P,-t'"),
        LongOption::new("states", Some('t'), Required, Key::States).of("LIST", "nodes in these states"),
        LongOption::new("reservation", Some('T'), Bare, Key::Reservations).does("reservations"),
        LongOption::new("usage", None, Bare, Key::Usage).does("the options in short"),
        LongOption::new("verbose", Some('v'), Bare, Key::Verbose).does("what was asked for, before the list"),
        LongOption::new("version", Some('V'), Bare, Key::Version).does("what this is"),
        LongOption::new("json", None, Bare, Key::Json).does("as JSON"),
        LongOption::new("yaml", None, Bare, Key::Yaml).does("as YAML"),
    ]
};

/// The options of `sinfo`.
pub(crate) fn options() -> Vec<CommandOption> {
    command_options(OPTIONS)
}

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
                Key::Clusters => asked.clusters = Some(cluster_names(&text)),
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
                Key::Hide => asked.all = false,
                Key::Iterate => match text.parse() {
                    Ok(seconds) if seconds > 0 => asked.every = Some(seconds),
                    _ => return Err(SinfoUsageError::Iterate(text)),
                },
                Key::Json => asked.action = SinfoAction::Json,
                Key::Yaml => asked.action = SinfoAction::Yaml,
                // Data goes before them.
                Key::Reservations if asked.action != SinfoAction::List => {}
                Key::Reservations => asked.action = SinfoAction::Reservations,
                Key::Long => asked.long = true,
                Key::LongFormat if asked.format.is_some() => {
                    return Err(SinfoUsageError::Conflict(
                        "error: -O (--Format) is incompatible with -o (--format)",
                    ));
                }
                Key::LongFormat => asked.long_format = Some(text),
                Key::NoConvert => asked.no_convert = true,
                Key::NoHeader => asked.no_header = true,
                // Slurm ends a list that it can't read where it is wrong.
                Key::Nodes => {
                    asked.nodes = Some(node_list::expand(&text).unwrap_or_default());
                    asked.written.nodes = Some(text);
                }
                Key::Partition => asked.partitions = Some(list(&text)),
                Key::Reasons => asked.reasons = true,
                Key::Responding => asked.responding = true,
                Key::Sort => asked.sort = Some(text),
                Key::States => {
                    asked.states = NodeStateFilter::parse(&text).map_err(SinfoUsageError::State)?;
                    asked.written.states = Some(text);
                }
                Key::Summary => asked.summary = true,
                Key::Verbose => asked.written.verbose += 1,
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
