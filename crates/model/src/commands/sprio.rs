//! `sprio`: what the priorities of waiting jobs are made of.

use super::Printed;
use super::padding::{asked_width, padded};
use crate::options::long_options::{
    CommandOption, LongOption, command_options, parse_long_options,
};
use crate::options::option_table::Takes;
use crate::records::{JobPriorityInfo, PriorityParts, PriorityReport};
use std::cmp::Ordering;

/// What a `sprio` asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SprioArgs {
    /// What is printed in place of priorities.
    pub show: Option<SprioShow>,
    /// `--noheader`
    pub no_header: bool,
    /// `--jobs`
    pub jobs: Option<Vec<u32>>,
    /// `--user`: names or numbers.
    pub users: Option<Vec<String>>,
    /// `--partition`
    pub partitions: Option<Vec<String>>,
    /// `--long`
    pub long: bool,
    /// `--norm`: factors without their weights.
    pub norm: bool,
    /// `--weights`: the weights alone.
    pub weights: bool,
    /// `--format`
    pub format: Option<String>,
    /// `--sort`
    pub sort: Option<String>,
    /// `--clusters`
    pub clusters: Option<String>,
}

/// What a `sprio` prints in place of priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SprioShow {
    /// `--help`
    Help,
    /// `--usage`
    Usage,
    /// `--version`
    Version,
}

/// A command line that `sprio` refuses with exit status 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SprioUsageError {
    /// As `getopt_long` says it.
    #[error("{program}: {message}\nTry \"sprio --help\" for more information")]
    Option {
        /// `argv[0]`
        program: String,
        /// What is wrong.
        message: String,
    },
    /// `--jobs`
    #[error("sprio: error: Invalid job id: {0}")]
    JobId(String),
    /// What is no option; [`SPRIO_USAGE`] goes to standard output.
    #[error("sprio: error: Unrecognized option: {0}")]
    Operand(String),
}

/// `sprio --usage`
pub const SPRIO_USAGE: &str = "\
Usage: sprio [-j jid[s]] [-u user_name[s]] [-o format] [-p partitions]
   [--federation] [--local] [--sibling] [--usage] [-hlnvVw]
";

#[derive(Clone, Copy, PartialEq)]
enum Key {
    Clusters,
    Format,
    Help,
    Jobs,
    Long,
    NoHeader,
    Norm,
    Partitions,
    Sort,
    Usage,
    Users,
    Version,
    Weights,
}

#[rustfmt::skip]
const OPTIONS: &[LongOption<Key>] = {
    use Takes::{No as Bare, Optional, Required};
    &[
        LongOption::new("noheader", Some('h'), Bare, Key::NoHeader).does("no headers"),
        LongOption::new("jobs", Some('j'), Optional, Key::Jobs).of("LIST", "these jobs"),
        LongOption::new("long", Some('l'), Bare, Key::Long).does("all columns"),
        LongOption::new("cluster", None, Required, Key::Clusters),
        LongOption::new("clusters", Some('M'), Required, Key::Clusters).of("NAME", "the name of this cluster, or all"),
        LongOption::new("norm", Some('n'), Bare, Key::Norm).does("each factor from 0 to 1, without its weight"),
        LongOption::new("format", Some('o'), Required, Key::Format).of("FORMAT", "columns by letter: '%.15i %9r %.10Y'"),
        LongOption::new("sort", Some('S'), Required, Key::Sort).of("LETTERS", "by columns: '-Y,i'"),
        LongOption::new("partition", Some('p'), Required, Key::Partitions).of("LIST", "these partitions"),
        LongOption::new("user", Some('u'), Required, Key::Users).of("LIST", "these users"),
        LongOption::new("users", None, Required, Key::Users),
        LongOption::accepted("verbose", Some('v'), Bare, "there is no more to say"),
        LongOption::new("version", Some('V'), Bare, Key::Version).does("what this is"),
        LongOption::new("weights", Some('w'), Bare, Key::Weights).does("the weights alone"),
        LongOption::accepted("federation", None, Bare, "there is one cluster"),
        LongOption::new("help", None, Bare, Key::Help).does("this text"),
        LongOption::accepted("local", None, Bare, "there is one cluster"),
        LongOption::accepted("sib", None, Bare, "there is one cluster"),
        LongOption::accepted("sibling", None, Bare, "there is one cluster"),
        LongOption::new("usage", None, Bare, Key::Usage).does("the options in short"),
    ]
};

/// The options of `sprio`.
pub(crate) fn options() -> Vec<CommandOption> {
    command_options(OPTIONS)
}

/// A column: letter, header, and what is beneath.
type Column = (char, &'static str, fn(&Cells<'_>) -> String);

/// What a row is printed from.
struct Cells<'a> {
    weights: &'a PriorityParts,
    /// None: the row of weights.
    job: Option<&'a JobPriorityInfo>,
    cluster: &'a str,
}

#[rustfmt::skip]
const COLUMNS: &[Column] = &[
    ('a', "AGE", |row| row.norm(|it| it.age)),
    ('A', "AGE", |row| row.weighted(|it| it.age)),
    ('b', "ASSOC", |row| row.norm(|it| it.association)),
    ('B', "ASSOC", |row| row.weighted(|it| it.association)),
    ('c', "CLUSTER", |row| row.cluster.to_owned()),
    ('f', "FAIRSHARE", |row| row.norm(|it| it.fair_share)),
    ('F', "FAIRSHARE", |row| row.weighted(|it| it.fair_share)),
    ('i', "JOBID", |row| row.job.map_or_else(|| "Weights".to_owned(), |job| job.job.to_string())),
    ('j', "JOBSIZE", |row| row.norm(|it| it.job_size)),
    ('J', "JOBSIZE", |row| row.weighted(|it| it.job_size)),
    ('N', "NICE", |row| row.of_job(|job| job.nice.to_string())),
    ('o', "ACCOUNT", |row| row.of_job(|job| job.account.clone())),
    ('p', "PARTITION", |row| row.norm(|it| it.partition)),
    ('P', "PARTITION", |row| row.weighted(|it| it.partition)),
    ('q', "QOS", |row| row.norm(|it| it.qos)),
    ('Q', "QOS", |row| row.weighted(|it| it.qos)),
    ('r', "PARTITION", |row| row.of_job(|job| job.partition.clone())),
    // Nothing here adds to a priority from outside.
    ('S', "SITE", |row| row.job.map_or_else(|| "1".to_owned(), |job| job.site.to_string())),
    ('t', "TRES", |row| row.tres(true)),
    ('T', "TRES", |row| row.tres(false)),
    ('u', "USER", |row| row.of_job(|job| job.user.clone())),
    ('y', "PRIORITY", |row| row.of_job(|job| format!("{:.14}", norm_priority(job)))),
    ('Y', "PRIORITY", |row| row.of_job(|job| job.priority.to_string())),
];

impl Cells<'_> {
    fn of_job(&self, text: impl Fn(&JobPriorityInfo) -> String) -> String {
        self.job.map_or_else(String::new, text)
    }

    fn weighted(&self, part: fn(&PriorityParts) -> f64) -> String {
        let parts = self.job.map_or(self.weights, |job| &job.parts);
        format!("{:.0}", part(parts))
    }

    fn norm(&self, part: fn(&PriorityParts) -> f64) -> String {
        let weight = part(self.weights);
        match self.job {
            None => format!("{weight:.0}"),
            Some(job) => format!("{:.7}", unweighted(part(&job.parts), weight)),
        }
    }

    fn tres(&self, is_norm: bool) -> String {
        let one = |(name, weight): &(String, f64)| {
            let own = |job: &JobPriorityInfo| {
                let mut all = job.parts.tres.iter();
                all.find(|(own, _)| own == name).map_or(0.0, |(_, of)| *of)
            };
            match (self.job, is_norm) {
                (None, _) => Some(format!("{name}={weight:.0}")),
                (Some(job), _) if own(job) <= 0.0 => None,
                (Some(job), true) => Some(format!("{name}={:.2}", unweighted(own(job), *weight))),
                (Some(job), false) => Some(format!("{name}={:.0}", own(job))),
            }
        };
        let all: Vec<String> = self.weights.tres.iter().filter_map(one).collect();
        match self.job {
            None if all.is_empty() && !is_norm => "(null)".to_owned(),
            _ => all.join(","),
        }
    }
}

/// Beside the highest that there is; one that was set by hand stays what it is.
fn norm_priority(job: &JobPriorityInfo) -> f64 {
    let is_set = job.parts == PriorityParts::default() && job.priority > 0;
    let most = if is_set { 1.0 } else { f64::from(u32::MAX) };
    f64::from(job.priority) / most
}

fn unweighted(part: f64, weight: f64) -> f64 {
    if weight == 0.0 { 0.0 } else { part / weight }
}

/// A column as a format asks for it.
struct Chosen {
    column: &'static Column,
    width: usize,
    right: bool,
    suffix: String,
    /// What stands before the first column.
    prefix: String,
}

impl SprioArgs {
    /// Reads a command line. `program` is `argv[0]`; `variable` tells of the environment.
    ///
    /// # Errors
    /// What Slurm refuses, in its words.
    pub fn parse(
        program: &str,
        args: &[String],
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<SprioArgs, SprioUsageError> {
        let parsed = parse_long_options(OPTIONS, args);
        let mut asked = SprioArgs::default();
        let mut operands = parsed.operands.into_iter();
        for (key, value) in parsed.options {
            // Jobs may be named by the next word, and no word names all.
            let value = match key {
                Key::Jobs => value.or_else(|| operands.next()),
                _ => value,
            };
            let is_there = value.is_some();
            let text = value.unwrap_or_default();
            match key {
                Key::Clusters => asked.clusters = Some(text),
                Key::Format => asked.format = Some(text),
                Key::Help | Key::Usage | Key::Version => {
                    asked.show = Some(match key {
                        Key::Help => SprioShow::Help,
                        Key::Usage => SprioShow::Usage,
                        _ => SprioShow::Version,
                    });
                    return Ok(asked);
                }
                Key::Jobs => asked.jobs = is_there.then(|| job_ids(&text)).transpose()?,
                Key::Long => asked.long = true,
                Key::NoHeader => asked.no_header = true,
                Key::Norm => asked.norm = true,
                Key::Partitions => asked.partitions = Some(words(&text)),
                Key::Sort => asked.sort = Some(text),
                Key::Users => asked.users = Some(words(&text)),
                Key::Weights => asked.weights = true,
            }
        }
        if !asked.long && asked.format.is_none() {
            asked.format = variable("SPRIO_FORMAT");
        }
        match parsed.wrong {
            None => match operands.next() {
                None => Ok(asked),
                Some(operand) => Err(SprioUsageError::Operand(operand)),
            },
            Some(message) => Err(SprioUsageError::Option {
                program: program.to_owned(),
                message,
            }),
        }
    }

    /// What is printed. `is_user` says whether there is a user of that name or number.
    #[must_use]
    pub fn print(
        &self,
        report: &PriorityReport,
        cluster: &str,
        is_user: &dyn Fn(&str) -> bool,
    ) -> Printed {
        let mut stderr = Vec::new();
        if !report.is_multifactor {
            return Printed {
                stdout: String::new(),
                stderr: vec![
                    "You are not running a supported priority plugin".to_owned(),
                    "(priority/basic).".to_owned(),
                    "Only 'priority/multifactor' is supported.".to_owned(),
                ],
                status: 0,
            };
        }
        for unknown in self.users.iter().flatten().filter(|name| !is_user(name)) {
            stderr.push(format!("sprio: error: Invalid user: {unknown}"));
            stderr.push(String::new());
        }
        let columns = self.columns(&report.weights, &mut stderr);
        let mut lines = Vec::new();
        if !self.no_header {
            lines.push(line(&columns, |column| column.1.to_owned()));
        }
        let mut rows = Vec::new();
        if self.weights {
            rows.push(None);
        } else {
            let mut jobs: Vec<&JobPriorityInfo> = report.jobs.iter().collect();
            jobs.retain(|job| self.takes(job));
            if self.jobs.is_some() && jobs.is_empty() {
                let none = "Unable to find jobs matching user/id(s) specified\n";
                return Printed {
                    stdout: none.to_owned(),
                    stderr,
                    status: 0,
                };
            }
            if let Some(letter) = self.unknown_sort().filter(|_| !jobs.is_empty()) {
                stderr.push(format!(
                    "sprio: error: Invalid sort specification: {letter}"
                ));
                return Printed {
                    stdout: lines.iter().map(|line| format!("{line}\n")).collect(),
                    stderr,
                    status: 1,
                };
            }
            self.order(&mut jobs);
            rows.extend(jobs.into_iter().map(Some));
        }
        for job in rows {
            let cells = Cells {
                weights: &report.weights,
                job,
                cluster,
            };
            lines.push(line(&columns, |column| (column.2)(&cells)));
        }
        // A format without columns is the line itself.
        if let Some(format) = self.format.as_ref().filter(|format| !format.contains('%')) {
            lines.iter_mut().for_each(|line| line.clone_from(format));
        }
        Printed {
            stdout: lines.iter().map(|line| format!("{line}\n")).collect(),
            stderr,
            status: 0,
        }
    }

    fn takes(&self, job: &JobPriorityInfo) -> bool {
        let jobs = self.jobs.as_ref();
        let users = self.users.as_ref();
        let partitions = self.partitions.as_ref();
        let is_users = |name: &String| *name == job.user || *name == job.uid.to_string();
        jobs.is_none_or(|jobs| jobs.contains(&job.job.0))
            && users.is_none_or(|users| users.iter().any(is_users))
            && partitions.is_none_or(|names| names.contains(&job.partition))
    }

    /// The last letter of `--sort` that sorts nothing.
    fn unknown_sort(&self) -> Option<char> {
        let sort = self.sort.as_deref().unwrap_or_default();
        sort.chars().rev().find(|letter| !SORTS.contains(*letter))
    }

    /// By the letters of `--sort`, the first of which decides first; a minus turns one around.
    fn order(&self, jobs: &mut [&JobPriorityInfo]) {
        let sort = self.sort.as_deref().unwrap_or("i").replace(',', "");
        let mut keys: Vec<(char, bool)> = Vec::new();
        let mut is_down = false;
        for letter in sort.chars() {
            match letter {
                '-' => is_down = true,
                '+' => is_down = false,
                letter => {
                    keys.push((letter, is_down));
                    is_down = false;
                }
            }
        }
        jobs.sort_by(|one, other| {
            let by = |(letter, is_down): &(char, bool)| {
                let order = compare(*letter, one, other);
                if *is_down { order.reverse() } else { order }
            };
            let first = keys.iter().map(by).find(|order| order.is_ne());
            first.unwrap_or(Ordering::Equal)
        });
    }

    fn columns(&self, weights: &PriorityParts, complaints: &mut Vec<String>) -> Vec<Chosen> {
        let text = match &self.format {
            Some(format) => format.clone(),
            None => self.default_format(weights),
        };
        let mut columns = Vec::new();
        let before = text.split('%').next().unwrap_or_default();
        let mut before = before.to_owned();
        for token in text.split('%').skip(1).filter(|token| !token.is_empty()) {
            let right = token.starts_with('.');
            let rest = &token[usize::from(right)..];
            let end = rest.find(|letter: char| !letter.is_ascii_digit());
            let (width, rest) = rest.split_at(end.unwrap_or(rest.len()));
            let letter = rest.chars().next();
            let column = COLUMNS.iter().find(|column| Some(column.0) == letter);
            match column {
                Some(column) => columns.push(Chosen {
                    column,
                    width: asked_width(width).map_or(0, isize::unsigned_abs),
                    right,
                    suffix: rest[1..].to_owned(),
                    prefix: std::mem::take(&mut before),
                }),
                None => complaints.push(format!(
                    "sprio: error: Invalid job format specification: {}",
                    letter.map(String::from).unwrap_or_default()
                )),
            }
        }
        columns
    }

    /// Columns of what has a weight; all with `--long`.
    fn default_format(&self, weights: &PriorityParts) -> String {
        let (all, is_norm) = (self.long, self.norm);
        let mut columns = vec!["%.15i", "%9r"];
        let mut add = |is_there: bool, norm: &'static str, weighted: &'static str| {
            let column = if is_norm { norm } else { weighted };
            if is_there && !column.is_empty() {
                columns.push(column);
            }
        };
        add(all || self.users.is_some(), "%.8u", "%.8u");
        add(true, "%10y", "%.10Y");
        add(true, "", "%.10S");
        add(all || weights.age > 0.0, "%10a", "%.10A");
        add(all || weights.association > 0.0, "%10b", "%.10B");
        add(all || weights.fair_share > 0.0, "%10f", "%.10F");
        add(all || weights.job_size > 0.0, "%10j", "%.10J");
        add(all || weights.partition > 0.0, "%10p", "%.10P");
        add(all || weights.qos > 0.0, "%10q", "%.10Q");
        add(all, "", "%.11N");
        add(all || !weights.tres.is_empty(), "%20t", "%.20T");
        columns.join(" ")
    }
}

/// Letters of `--sort`, and what may stand beside them.
const SORTS: &str = ",-+icNruAaBbFfJjoPpQqTtYy";

fn compare(letter: char, one: &JobPriorityInfo, other: &JobPriorityInfo) -> Ordering {
    let part = |of: fn(&PriorityParts) -> f64| of(&one.parts).total_cmp(&of(&other.parts));
    match letter {
        'i' => one.job.cmp(&other.job),
        'u' => one.user.cmp(&other.user),
        'r' => one.partition.cmp(&other.partition),
        'o' => one.account.cmp(&other.account),
        'y' | 'Y' => one.priority.cmp(&other.priority),
        'N' => one.nice.cmp(&other.nice),
        'a' | 'A' => part(|it| it.age),
        'b' | 'B' => part(|it| it.association),
        'f' | 'F' => part(|it| it.fair_share),
        'j' | 'J' => part(|it| it.job_size),
        'p' | 'P' => part(|it| it.partition),
        'q' | 'Q' => part(|it| it.qos),
        _ => Ordering::Equal,
    }
}

/// A line; a text that is wider than its column is cut.
fn line(columns: &[Chosen], cell: impl Fn(&Column) -> String) -> String {
    let mut line = String::new();
    for chosen in columns {
        let (text, width) = (cell(chosen.column), chosen.width);
        let text: String = match width {
            0 => text,
            width => text.chars().take(width).collect(),
        };
        line.push_str(&chosen.prefix);
        line.push_str(&padded(&text, width, !chosen.right));
        line.push_str(&chosen.suffix);
    }
    line
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(',').filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

fn job_ids(text: &str) -> Result<Vec<u32>, SprioUsageError> {
    let ids = text.split(',').filter(|word| !word.is_empty());
    ids.map(|word| match word.parse() {
        Ok(id) if id > 0 => Ok(id),
        _ => Err(SprioUsageError::JobId(word.to_owned())),
    })
    .collect()
}
