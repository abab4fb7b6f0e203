//! `sshare`: what accounts and users are due, and what they used.

use crate::commands::padding::{asked_width, padded};
use crate::options::long_options::{
    CommandOption, LongOption, command_options, parse_long_options,
};
use crate::options::option_table::Takes;
use crate::records::ShareRow;
use crate::values::one_line;

/// What a `sshare` asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SshareArgs {
    /// What is printed in place of shares.
    pub show: Option<SshareShow>,
    /// `--accounts`
    pub accounts: Option<Vec<String>>,
    /// `--all`
    pub all: bool,
    /// `--users`
    pub users: Option<Vec<String>>,
    /// `--Users`: users alone.
    pub users_only: bool,
    /// `--noheader`
    pub no_header: bool,
    /// `--long`
    pub long: bool,
    /// `--partition`
    pub partition: bool,
    /// `--parsable` ends lines with a delimiter, `--parsable2` doesn't.
    pub parsable: Option<bool>,
    /// `--format`
    pub format: Option<String>,
    /// `--clusters`
    pub clusters: Option<String>,
}

/// What a `sshare` prints in place of shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SshareShow {
    /// `--help`
    Help,
    /// `--usage`
    Usage,
    /// `--version`
    Version,
    /// `--helpformat`
    Fields,
}

/// A command line that `sshare` refuses with exit status 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SshareUsageError {
    /// As `getopt_long` says it.
    #[error("{program}: {message}\nTry \"sshare --help\" for more information")]
    Option {
        /// `argv[0]`
        program: String,
        /// What is wrong.
        message: String,
    },
    /// `--users` with a number
    #[error("Invalid user id: {0}")]
    User(String),
    /// `--format`
    #[error("sshare: error: Invalid field requested: \"{0}\"")]
    Field(String),
    /// A column that nothing is counted for here.
    #[error("sshare: error: GrpTRESRaw is not counted here: RawUsage is the billed usage in all")]
    NotCounted,
}

/// `sshare --usage`; the blanks at the ends of lines are Slurm's.
pub const SSHARE_USAGE: &str = "\
Usage:  sshare [OPTION]                                                    
  Valid OPTIONs are:                                                       
    -a or --all            list all users                                  
    -A or --accounts=      display specific accounts (comma separated list)
    -e or --helpformat     Print a list of fields that can be specified    
                           with the '--format' option                      
    -l or --long           include normalized usage in output              
    -m or --partition      print the partition part of the association     
    -M or --cluster=names  clusters to issue commands to.                  
                           NOTE: SlurmDBD must be up.                      
    -n or --noheader       omit header from output                         
    -o or --format=        Comma separated list of fields (use             
                           \"--helpformat\" for a list of available fields).
    -p or --parsable       '|' delimited output with a trailing '|'        
    -P or --parsable2      '|' delimited output without a trailing '|'     
    -u or --users=         display specific users (comma separated list)   
    -U or --Users          display only user information                   
    -v or --verbose        display more information                        
    -V or --version        display tool version number                     
          --help           display this usage description                  
          --usage          display this usage description                  
                                                                           

";

#[derive(Clone, Copy, PartialEq)]
enum Key {
    Accounts,
    All,
    Clusters,
    Fields,
    Format,
    Help,
    Long,
    NoHeader,
    Parsable,
    Parsable2,
    Partition,
    Usage,
    Users,
    UsersOnly,
    Version,
}

#[rustfmt::skip]
const OPTIONS: &[LongOption<Key>] = {
    use Takes::{No as Bare, Required};
    &[
        LongOption::new("accounts", Some('A'), Required, Key::Accounts).of("LIST", "these accounts"),
        LongOption::new("all", Some('a'), Bare, Key::All).does("all users"),
        LongOption::new("helpformat", Some('e'), Bare, Key::Fields).does("the columns that there are"),
        LongOption::accepted("local", None, Bare, "there is one cluster"),
        LongOption::new("long", Some('l'), Bare, Key::Long).does("more columns"),
        LongOption::new("partition", Some('m'), Bare, Key::Partition).does("the partition of an association too"),
        LongOption::new("cluster", None, Required, Key::Clusters),
        LongOption::new("clusters", Some('M'), Required, Key::Clusters).of("NAME", "the name of this cluster, or all"),
        LongOption::accepted("federation", None, Bare, "there is one cluster"),
        LongOption::new("noheader", Some('n'), Bare, Key::NoHeader).does("no headers"),
        LongOption::new("", Some('h'), Bare, Key::NoHeader),
        LongOption::new("format", Some('o'), Required, Key::Format).of("LIST", "columns: Account%20,User,FairShare"),
        LongOption::new("parsable", Some('p'), Bare, Key::Parsable).does("cells between |, and one at the end"),
        LongOption::new("parsable2", Some('P'), Bare, Key::Parsable2).does("cells between |"),
        LongOption::new("users", Some('u'), Required, Key::Users).of("LIST", "these users"),
        LongOption::new("Users", Some('U'), Bare, Key::UsersOnly).does("users alone"),
        LongOption::accepted("verbose", Some('v'), Bare, "there is no more to say"),
        LongOption::new("version", Some('V'), Bare, Key::Version).does("what this is"),
        LongOption::new("help", None, Bare, Key::Help).does("this text"),
        LongOption::new("usage", None, Bare, Key::Usage).does("the options in short"),
    ]
};

/// The options of `sshare`.
pub(crate) fn options() -> Vec<CommandOption> {
    command_options(OPTIONS)
}

/// A column: its name, which is its header, and how wide it is; a negative width is aligned to the
/// left.
type Column = (&'static str, isize, fn(&ShareRow) -> String);

#[rustfmt::skip]
const COLUMNS: &[Column] = &[
    ("Account", -20, |row| row.account.clone()),
    ("Cluster", 10, |_| String::new()),
    ("EffectvUsage", 13, |row| format!("{:.6}", row.effective_usage)),
    ("FairShare", 10, |row| row.fair_share.map_or_else(String::new, |it| format!("{it:.6}"))),
    ("GrpTRESMins", 30, |row| row.group_minutes.clone()),
    ("GrpTRESRaw", 30, |_| String::new()),
    ("ID", 6, |row| row.id.to_string()),
    ("LevelFS", 10, level),
    ("NormShares", 11, |row| format!("{:.6}", row.norm_shares)),
    ("NormUsage", 11, norm_usage),
    ("Partition", 12, |row| row.partition.clone().unwrap_or_default()),
    ("RawShares", 10, |row| if row.is_root() { String::new() } else { row.shares.clone() }),
    ("RawUsage", 11, |row| format!("{}", row.usage as u64)),
    ("TRESRunMins", 30, run_minutes),
    ("User", 10, |row| row.user.clone().unwrap_or_default()),
];

const SHORT: &str = "Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare";
const LONG: &str = "Account,User,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,\
     LevelFS,GrpTRESMins,TRESRunMins";

impl ShareRow {
    /// The account over all.
    fn is_root(&self) -> bool {
        self.account == "root" && self.user.is_none()
    }
}

fn level(row: &ShareRow) -> String {
    match row.level {
        // One that shares what its account is due has none of its own.
        _ if row.is_root() || row.shares == "parent" => String::new(),
        None => "inf".to_owned(),
        Some(level) => format!("{level:.6}"),
    }
}

/// None of the account over all.
fn norm_usage(row: &ShareRow) -> String {
    if row.is_root() {
        return String::new();
    }
    format!("{:.6}", row.norm_usage)
}

fn run_minutes(row: &ShareRow) -> String {
    let each = row.run_minutes.iter();
    let each: Vec<String> = each
        .map(|(name, count)| format!("{name}={count}"))
        .collect();
    each.join(",")
}

/// A column as it was asked for.
struct Chosen {
    column: &'static Column,
    width: isize,
}

impl SshareArgs {
    /// Reads a command line. `program` is `argv[0]`.
    ///
    /// # Errors
    /// What Slurm refuses, in its words.
    pub fn parse(program: &str, args: &[String]) -> Result<SshareArgs, SshareUsageError> {
        let parsed = parse_long_options(OPTIONS, args);
        let mut asked = SshareArgs::default();
        for (key, value) in parsed.options {
            let text = value.unwrap_or_default();
            match key {
                Key::Accounts => asked.accounts = Some(words(&text)),
                Key::All => asked.all = true,
                Key::Clusters => asked.clusters = Some(text),
                Key::Fields | Key::Help | Key::Usage | Key::Version => {
                    asked.show = Some(match key {
                        Key::Fields => SshareShow::Fields,
                        Key::Help => SshareShow::Help,
                        Key::Usage => SshareShow::Usage,
                        _ => SshareShow::Version,
                    });
                    return Ok(asked);
                }
                // Those of several follow each other.
                Key::Format => asked.format.get_or_insert_default().push_str(&(text + ",")),
                Key::Long => asked.long = true,
                Key::NoHeader => asked.no_header = true,
                Key::Parsable => asked.parsable = Some(true),
                Key::Parsable2 => asked.parsable = Some(false),
                Key::Partition => asked.partition = true,
                Key::Users => asked.users = Some(words(&text)),
                Key::UsersOnly => asked.users_only = true,
            }
        }
        if let Some(message) = parsed.wrong {
            return Err(SshareUsageError::Option {
                program: program.to_owned(),
                message,
            });
        }
        asked.columns().map(|_| asked)
    }

    /// The table. `me` is the caller's name, whose rows are shown where no others are asked for;
    /// rows stand in the order of the tree.
    #[must_use]
    pub fn print(&self, rows: &[ShareRow], me: &str, cluster: &str) -> String {
        let columns = self.columns().unwrap_or_default();
        let mut lines: Vec<String> = Vec::new();
        if !self.no_header {
            let names = columns.iter().map(|chosen| chosen.column.0.to_owned());
            lines.push(self.line(&columns, names.collect(), true));
            if self.parsable.is_none() {
                let rules = columns.iter();
                let rules =
                    rules.map(|chosen| format!("{} ", "-".repeat(chosen.width.unsigned_abs())));
                lines.push(rules.collect());
            }
        }
        let is_mine = |user: &str| match &self.users {
            _ if self.all => true,
            Some(users) => users.iter().any(|name| name == user),
            None => user == me,
        };
        let is_account = |row: &ShareRow| {
            self.accounts
                .as_ref()
                .is_none_or(|all| all.contains(&row.account))
        };
        let shown = rows.iter().filter(|row| match &row.user {
            Some(user) => is_mine(user) && is_account(row),
            None => !self.users_only && is_account(row),
        });
        for row in shown {
            let cells = columns.iter().map(|chosen| match chosen.column.0 {
                "Account" if !self.users_only => {
                    format!("{}{}", " ".repeat(self.depth(row)), row.account)
                }
                "Cluster" => cluster.to_owned(),
                _ => (chosen.column.2)(row),
            });
            lines.push(self.line(&columns, cells.collect(), false));
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// How far an account is indented; one that was asked for has none above it.
    fn depth(&self, row: &ShareRow) -> usize {
        match &self.accounts {
            None => row.depth,
            Some(_) => usize::from(row.user.is_some()),
        }
    }

    /// Whether the numbers of associations are asked for.
    #[must_use]
    pub fn wants_ids(&self) -> bool {
        let columns = self.columns().unwrap_or_default();
        columns.iter().any(|chosen| chosen.column.0 == "ID")
    }

    fn columns(&self) -> Result<Vec<Chosen>, SshareUsageError> {
        let format = match (&self.format, self.long) {
            (Some(format), _) => format.clone(),
            (None, true) => LONG.to_owned(),
            (None, false) => SHORT.to_owned(),
        };
        let format = match (self.partition, &self.format) {
            (true, None) => format.replacen("User,", "User,Partition,", 1),
            _ => format,
        };
        let named = format.split(',').filter(|word| !word.is_empty());
        let mut columns: Vec<Chosen> = Vec::new();
        for (index, word) in named.clone().enumerate() {
            // A word that was there before counts once.
            if named.clone().take(index).any(|before| before == word) {
                continue;
            }
            let (name, width) = word.split_once('%').unwrap_or((word, ""));
            let lower = name.to_ascii_lowercase();
            let column = COLUMNS.iter().find(|column| {
                let own = column.0.to_ascii_lowercase();
                own.starts_with(&lower) && !lower.is_empty()
            });
            let column = column.ok_or_else(|| SshareUsageError::Field(name.to_owned()))?;
            if column.0 == "GrpTRESRaw" {
                return Err(SshareUsageError::NotCounted);
            }
            let width = asked_width(width).filter(|width| *width != 0);
            columns.push(Chosen {
                column,
                width: width.unwrap_or(column.1),
            });
        }
        Ok(columns)
    }

    fn line(&self, columns: &[Chosen], cells: Vec<String>, is_header: bool) -> String {
        // Names are somebody's own words: none may end a line or move a cursor.
        let cells: Vec<String> = cells
            .iter()
            .map(|cell| one_line(cell).into_owned())
            .collect();
        if let Some(is_ended) = self.parsable {
            return cells.join("|") + if is_ended { "|" } else { "" };
        }
        let mut line = String::new();
        for (chosen, cell) in columns.iter().zip(cells) {
            let width = chosen.width.unsigned_abs();
            let cell = if cell.chars().count() <= width {
                cell
            } else if is_header {
                cell.chars().take(width).collect()
            } else {
                let kept: String = cell.chars().take(width.saturating_sub(1)).collect();
                format!("{kept}+")
            };
            line.push_str(&padded(&cell, width, chosen.width < 0));
            line.push(' ');
        }
        line
    }
}

/// What `--helpformat` prints: the names of all columns, four in a line.
#[must_use]
pub fn sshare_fields_text() -> String {
    let mut text = String::new();
    for (index, (name, ..)) in COLUMNS.iter().enumerate() {
        text.push_str(&format!("{name:<17}"));
        let is_last = index % 4 == 3 || index + 1 == COLUMNS.len();
        text.push(if is_last { '\n' } else { ' ' });
    }
    text
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(',').filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}
