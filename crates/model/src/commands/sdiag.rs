//! `sdiag`: what the scheduler and its callers did.

use crate::options::long_options::{
    CommandOption, LongOption, command_options, parse_long_options,
};
use crate::options::option_table::Takes;
use crate::records::{CallCount, SchedulerStatistics};
use crate::values::Timestamp;
use jiff::tz::TimeZone;

/// What a `sdiag` asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SdiagArgs {
    /// What is printed in place of statistics.
    pub show: Option<SdiagShow>,
    /// `--reset`
    pub reset: bool,
    /// In which order calls are listed.
    pub sort: SdiagSort,
    /// `--cluster`
    pub clusters: Option<String>,
    /// `--json`, `--yaml`: as data.
    pub data: Option<DataFormat>,
}

/// How data are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFormat {
    /// `--json`
    Json,
    /// `--yaml`
    Yaml,
}

/// In which order calls are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SdiagSort {
    /// The most frequent first.
    #[default]
    Count,
    /// `--sort-by-id`
    Number,
    /// `--sort-by-time`
    Time,
    /// `--sort-by-time2`
    AverageTime,
}

/// What a `sdiag` prints in place of statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SdiagShow {
    /// `--help`
    Help,
    /// `--usage`
    Usage,
    /// `--version`
    Version,
}

/// A command line that `sdiag` refuses with exit status 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{program}: {message}\nTry \"sdiag --help\" for more information")]
pub struct SdiagUsageError {
    /// `argv[0]`
    program: String,
    /// What is wrong, as `getopt_long` says it.
    message: String,
}

/// `sdiag --usage`
pub const SDIAG_USAGE: &str = "Usage: sdiag [-M cluster] [-aritT]";

/// `sdiag --help`: Slurm's, with what later versions have.
pub const SDIAG_HELP: &str = "\
Usage: sdiag [OPTIONS]
  -a, --all           all statistics
  -r, --reset         reset statistics
  -M, --cluster       direct the request to a specific cluster
  -i, --sort-by-id    sort RPCs by id
  -t, --sort-by-time  sort RPCs by total run time
  -T, --sort-by-time2 sort RPCs by average run time
  -V, --version       display current version number
      --json          as JSON: an object with `statistics`
      --yaml          as YAML

Help options:
  --help          show this help message
  --usage         display brief usage message
";

#[derive(Clone, Copy, PartialEq)]
enum Key {
    Clusters,
    Data(DataFormat),
    Reset,
    Show(SdiagShow),
    Sort(SdiagSort),
}

#[rustfmt::skip]
const OPTIONS: &[LongOption<Key>] = {
    use Takes::{No as Bare, Required};
    &[
        LongOption::accepted("all", Some('a'), Bare, "all statistics are printed anyway"),
        LongOption::new("help", Some('h'), Bare, Key::Show(SdiagShow::Help)).does("this text"),
        LongOption::new("json", None, Bare, Key::Data(DataFormat::Json)).does("as JSON: an object with `statistics`"),
        LongOption::new("reset", Some('r'), Bare, Key::Reset).does("begin to count anew"),
        LongOption::new("sort-by-id", Some('i'), Bare, Key::Sort(SdiagSort::Number)).does("calls by their number"),
        LongOption::new("cluster", Some('M'), Required, Key::Clusters).of("NAME", "the name of this cluster, or all"),
        LongOption::new("clusters", None, Required, Key::Clusters),
        LongOption::new("sort-by-time", Some('t'), Bare, Key::Sort(SdiagSort::Time)).does("calls by the time of all of a kind"),
        LongOption::new("sort-by-time2", Some('T'), Bare, Key::Sort(SdiagSort::AverageTime)).does("calls by the time of one"),
        LongOption::new("usage", None, Bare, Key::Show(SdiagShow::Usage)).does("the options in short"),
        LongOption::new("version", Some('V'), Bare, Key::Show(SdiagShow::Version)).does("what this is"),
        LongOption::new("yaml", None, Bare, Key::Data(DataFormat::Yaml)).does("as YAML"),
    ]
};

/// The options of `sdiag`.
pub(crate) fn options() -> Vec<CommandOption> {
    command_options(OPTIONS)
}

const STARS: &str = "*******************************************************";

impl SdiagArgs {
    /// Reads a command line. `program` is `argv[0]`.
    ///
    /// # Errors
    /// What Slurm refuses, in its words.
    pub fn parse(program: &str, args: &[String]) -> Result<SdiagArgs, SdiagUsageError> {
        let parsed = parse_long_options(OPTIONS, args);
        let mut asked = SdiagArgs::default();
        for (key, value) in parsed.options {
            match key {
                Key::Clusters => asked.clusters = value,
                Key::Data(format) => asked.data = Some(format),
                Key::Reset => asked.reset = true,
                Key::Show(show) => {
                    asked.show = Some(show);
                    return Ok(asked);
                }
                Key::Sort(sort) => asked.sort = sort,
            }
        }
        match parsed.wrong {
            None => Ok(asked),
            Some(message) => Err(SdiagUsageError {
                program: program.to_owned(),
                message,
            }),
        }
    }

    /// The statistics in Slurm's layout; `clock` is how many microseconds a thousand looks at the
    /// clock take. What an embedded engine has none of (agents, a database) counts 0.
    #[must_use]
    pub fn print(&self, all: &SchedulerStatistics, clock: u64, zone: &TimeZone) -> String {
        let moment = |at: Timestamp| moment(at, zone);
        let seconds = |at: Timestamp| at.seconds();
        let mut text = format!(
            "{STARS}\nsdiag output at {} ({})\nData since      {} ({})\n{STARS}\n\
             Server thread count:  {}\nAgent queue size:     0\nAgent count:          0\n\
             Agent thread count:   0\nDBD Agent queue size: 0\n\n\
             Jobs submitted: {}\nJobs started:   {}\nJobs completed: {}\nJobs canceled:  {}\n\
             Jobs failed:    {}\n\nJob states ts:  {} ({})\nJobs pending:   {}\nJobs running:   {}\n",
            moment(all.at),
            seconds(all.at),
            moment(all.since),
            seconds(all.since),
            all.threads,
            all.submitted,
            all.started,
            all.completed,
            all.canceled,
            all.failed,
            moment(all.at),
            seconds(all.at),
            all.pending,
            all.running,
        );
        text.push_str(&main_lines(all));
        text.push_str(&backfill_lines(all, zone));
        text.push_str(&format!(
            "\nLatency for 1000 calls to gettimeofday(): {clock} microseconds\n\n\
             Remote Procedure Call statistics by message type\n"
        ));
        for call in self.sorted(&all.by_kind) {
            text.push_str(&format!(
                "\t{:<40}({:>5}) {}\n",
                call.name,
                call.number,
                counts(call)
            ));
        }
        text.push_str("\nRemote Procedure Call statistics by user\n");
        for call in self.sorted(&all.by_user) {
            text.push_str(&format!(
                "\t{:<16}({:>8}) {}\n",
                call.name,
                call.number,
                counts(call)
            ));
        }
        text.push_str("\nPending RPC statistics\n\tNo pending RPCs\n");
        text
    }

    /// Calls in the order that was asked for.
    #[must_use]
    pub fn sorted<'a>(&self, calls: &'a [CallCount]) -> Vec<&'a CallCount> {
        let mut calls: Vec<&CallCount> = calls.iter().collect();
        match self.sort {
            SdiagSort::Count => calls.sort_by_key(|call| std::cmp::Reverse(call.count)),
            SdiagSort::Number => calls.sort_by_key(|call| call.number),
            SdiagSort::Time => calls.sort_by_key(|call| std::cmp::Reverse(call.time)),
            SdiagSort::AverageTime => {
                calls.sort_by_key(|call| std::cmp::Reverse(call.average()));
            }
        }
        calls
    }
}

fn main_lines(all: &SchedulerStatistics) -> String {
    let passes = &all.passes;
    let mut text = format!(
        "\nMain schedule statistics (microseconds):\n\
         \tLast cycle:   {}\n\tMax cycle:    {}\n\tTotal cycles: {}\n",
        passes.last, passes.longest, passes.count,
    );
    if passes.count > 0 {
        text.push_str(&format!(
            "\tMean cycle:   {}\n\tMean depth cycle:  {}\n",
            passes.mean(passes.sum),
            passes.mean(passes.depth),
        ));
    }
    if let Some(cycles) = all.passes_per_minute() {
        text.push_str(&format!("\tCycles per minute: {cycles}\n"));
    }
    text.push_str(&format!("\tLast queue length: {}\n", passes.last_queue));
    text
}

fn backfill_lines(all: &SchedulerStatistics, zone: &TimeZone) -> String {
    let passes = &all.backfill;
    let when = |at| format!("{} ({})", moment(at, zone), at.seconds());
    let mut text = format!(
        "\nBackfilling stats\n\
         \tTotal backfilled jobs (since last slurm start): {}\n\
         \tTotal backfilled jobs (since last stats cycle start): {}\n\
         \tTotal backfilled heterogeneous job components: 0\n\
         \tTotal cycles: {}\n\tLast cycle when: {}\n\tLast cycle: {}\n\tMax cycle:  {}\n",
        all.backfilled_in_all,
        all.backfilled,
        passes.count,
        all.last_backfill.map_or_else(|| "N/A".to_owned(), when),
        passes.last,
        passes.longest,
    );
    let mut line = |name: &str, value: u64, is_mean: bool| {
        if !is_mean || passes.count > 0 {
            text.push_str(&format!("\t{name}: {value}\n"));
        }
    };
    line("Mean cycle", passes.mean(passes.sum), true);
    line("Last depth cycle", passes.last_depth, false);
    line("Last depth cycle (try sched)", passes.last_depth, false);
    line("Depth Mean", passes.mean(passes.depth), true);
    line("Depth Mean (try depth)", passes.mean(passes.depth), true);
    line("Last queue length", passes.last_queue, false);
    line("Queue length mean", passes.mean(passes.queue), true);
    line("Last table size", passes.last_promised, false);
    line("Mean table size", passes.mean(passes.promised), true);
    text
}

fn counts(call: &CallCount) -> String {
    format!(
        "count:{:<6} ave_time:{:<6} total_time:{}",
        call.count,
        call.average(),
        call.time
    )
}

/// `Sun Nov 22 17:01:30 2026`
fn moment(at: Timestamp, zone: &TimeZone) -> String {
    let instant = jiff::Timestamp::from_second(at.seconds()).unwrap_or_default();
    let zoned = instant.to_zoned(zone.clone());
    zoned.strftime("%a %b %d %H:%M:%S %Y").to_string()
}
