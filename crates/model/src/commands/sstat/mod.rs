//! `sstat`: what running steps use.

mod columns;

use crate::commands::padding::{asked_width, padded};
use crate::options::long_options::{
    CommandOption, LongOption, command_options, parse_long_options,
};
use crate::options::option_table::Takes;
use crate::records::StepUse;
use crate::values::{JobId, StepId};
use columns::{COLUMNS, Column, View};

/// What a `sstat` asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SstatArgs {
    /// What is printed in place of figures.
    pub show: Option<SstatShow>,
    /// The jobs and steps, in the order in which they were named.
    pub steps: Vec<SstatStep>,
    /// `--allsteps`
    pub all_steps: bool,
    /// `--pidformat`: nodes and processes.
    pub pids: bool,
    no_header: bool,
    no_convert: bool,
    /// `--parsable` ends lines with a delimiter, `--parsable2` doesn't.
    parsable: Option<bool>,
    format: Option<String>,
}

/// A job, or one of its steps, as it was named: `12`, `12_3`, `12.0`, `12.batch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SstatStep {
    /// The job's or the array's id.
    pub job: JobId,
    /// The element.
    pub task: Option<u32>,
    /// The step.
    pub step: SstatChoice,
}

/// The steps of a job that were named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SstatChoice {
    /// None is named: the first that runs, or all of them.
    Any,
    /// That one.
    One(StepId),
    /// One by a name that no step has here.
    Absent(&'static str),
}

/// What a `sstat` prints in place of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SstatShow {
    /// `--help`
    Help,
    /// `--usage`
    Usage,
    /// `--version`
    Version,
    /// `--helpformat`
    Fields,
}

/// A command line that `sstat` refuses with exit status 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SstatUsageError {
    /// As `getopt_long` says it.
    #[error("{program}: {message}")]
    Option {
        /// `argv[0]`
        program: String,
        /// What is wrong.
        message: String,
    },
    /// No job is named.
    #[error("sstat: error: You didn't give me any jobs to stat.")]
    NoJobs,
    /// `--jobs`
    #[error("sstat: fatal: Bad job/step specified: {0}")]
    Step(String),
    /// `--jobs`
    #[error("sstat: fatal: Bad step specified: {0}")]
    StepNumber(String),
    /// `--jobs`
    #[error("sstat: fatal: Bad job array element specified: {0}")]
    Element(String),
    /// `--format`
    #[error("sstat: error: Invalid field requested: \"{0}\"")]
    Field(String),
}

/// `sstat --usage`
pub const SSTAT_USAGE: &str = "Usage: sstat [options] -j <job(.stepid)>\n\tUse --help for help\n";

#[derive(Clone, Copy, PartialEq)]
enum Key {
    AllSteps,
    Format,
    Jobs,
    NoConvert,
    NoHeader,
    Parsable(bool),
    Pids,
    Show(SstatShow),
}

#[rustfmt::skip]
const OPTIONS: &[LongOption<Key>] = {
    use Takes::{No as Bare, Required};
    &[
        LongOption::new("allsteps", Some('a'), Bare, Key::AllSteps).does("all steps of a job, the batch script first"),
        LongOption::new("helpformat", Some('e'), Bare, Key::Show(SstatShow::Fields)).does("the columns that there are"),
        LongOption::new("help", Some('h'), Bare, Key::Show(SstatShow::Help)).does("this text"),
        LongOption::new("jobs", Some('j'), Required, Key::Jobs).of("LIST", "jobs or steps: 12, 12.0, 12.batch, 12_3.0"),
        LongOption::new("noheader", Some('n'), Bare, Key::NoHeader).does("no headers"),
        LongOption::new("fields", None, Required, Key::Format),
        LongOption::new("format", Some('o'), Required, Key::Format).of("LIST", "columns: JobID%20,MaxRSS,AveCPU"),
        LongOption::new("noconvert", None, Bare, Key::NoConvert).does("amounts without units"),
        LongOption::new("pidformat", Some('i'), Bare, Key::Pids).does("nodes and processes"),
        LongOption::new("parsable", Some('p'), Bare, Key::Parsable(true)).does("cells between |, and one at the end"),
        LongOption::new("parsable2", Some('P'), Bare, Key::Parsable(false)).does("cells between |"),
        LongOption::new("usage", None, Bare, Key::Show(SstatShow::Usage)).does("the options in short"),
        LongOption::accepted("verbose", Some('v'), Bare, "there is no more to say"),
        LongOption::new("version", Some('V'), Bare, Key::Show(SstatShow::Version)).does("what this is"),
    ]
};

/// The options of `sstat`.
pub(crate) fn options() -> Vec<CommandOption> {
    command_options(OPTIONS)
}

const DEFAULT: &str = "JobID,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,AveVMSize,MaxRSS,MaxRSSNode,\
    MaxRSSTask,AveRSS,MaxPages,MaxPagesNode,MaxPagesTask,AvePages,MinCPU,MinCPUNode,MinCPUTask,\
    AveCPU,NTasks,AveCPUFreq,ReqCPUFreqMin,ReqCPUFreqMax,ReqCPUFreqGov,ConsumedEnergy,MaxDiskRead,\
    MaxDiskReadNode,MaxDiskReadTask,AveDiskRead,MaxDiskWrite,MaxDiskWriteNode,MaxDiskWriteTask,\
    AveDiskWrite,TRESUsageInAve,TRESUsageInMax,TRESUsageInMaxNode,TRESUsageInMaxTask,TRESUsageInMin,\
    TRESUsageInMinNode,TRESUsageInMinTask,TRESUsageInTot,TRESUsageOutAve,TRESUsageOutMax,\
    TRESUsageOutMaxNode,TRESUsageOutMaxTask,TRESUsageOutMin,TRESUsageOutMinNode,\
    TRESUsageOutMinTask,TRESUsageOutTot";
const PIDS: &str = "JobID,Nodelist,Pids";

/// A column as it was asked for; a negative width is aligned to the left.
struct Chosen {
    column: &'static Column,
    width: isize,
}

impl SstatArgs {
    /// Reads a command line. `program` is `argv[0]`.
    ///
    /// # Errors
    /// What Slurm refuses, in its words.
    pub fn parse(program: &str, args: &[String]) -> Result<SstatArgs, SstatUsageError> {
        let parsed = parse_long_options(OPTIONS, args);
        let mut asked = SstatArgs::default();
        let mut named = Vec::new();
        for (key, value) in parsed.options {
            let text = value.unwrap_or_default();
            match key {
                Key::AllSteps => asked.all_steps = true,
                // Those of several follow each other.
                Key::Format => asked.format.get_or_insert_default().push_str(&(text + ",")),
                Key::Jobs => named.push(text),
                Key::NoConvert => asked.no_convert = true,
                Key::NoHeader => asked.no_header = true,
                Key::Parsable(is_ended) => asked.parsable = Some(is_ended),
                Key::Pids => asked.pids = true,
                Key::Show(show) => {
                    asked.show = Some(show);
                    return Ok(asked);
                }
            }
        }
        if let Some(message) = parsed.wrong {
            return Err(SstatUsageError::Option {
                program: program.to_owned(),
                message,
            });
        }
        // Slurm looks at no further ones.
        named.extend(parsed.operands.into_iter().next());
        let names = named.iter().flat_map(|list| list.split(','));
        for name in names.filter(|name| !name.is_empty()) {
            asked.steps.push(SstatStep::parse(name)?);
        }
        asked.columns()?;
        if asked.steps.is_empty() {
            return Err(SstatUsageError::NoJobs);
        }
        Ok(asked)
    }

    /// The lines before the first step.
    #[must_use]
    pub fn header(&self) -> String {
        if self.no_header {
            return String::new();
        }
        let columns = self.columns().unwrap_or_default();
        let names = columns.iter().map(|chosen| chosen.column.name.to_owned());
        let mut text = self.line(&columns, names.collect(), true);
        if self.parsable.is_none() {
            for chosen in &columns {
                text.push_str(&"-".repeat(chosen.width.unsigned_abs()));
                text.push(' ');
            }
            text.push('\n');
        }
        text
    }

    /// The lines of a step; `mhz` is the speed of the CPUs now.
    #[must_use]
    pub fn rows(&self, step: &StepUse, mhz: f64) -> String {
        let columns = self.columns().unwrap_or_default();
        let row = |node: Option<usize>| {
            let view = View {
                step,
                node,
                mhz,
                is_converted: !self.no_convert,
            };
            let cells = columns.iter().map(|chosen| (chosen.column.text)(&view));
            self.line(&columns, cells.collect(), false)
        };
        if self.pids {
            (0..step.nodes.len()).map(|node| row(Some(node))).collect()
        } else {
            row(None)
        }
    }

    fn columns(&self) -> Result<Vec<Chosen>, SstatUsageError> {
        let format = match &self.format {
            Some(format) => format,
            None if self.pids => PIDS,
            None => DEFAULT,
        };
        // What stands behind an empty name is not read.
        let named = format.split(',').take_while(|word| !word.is_empty());
        named
            .map(|word| {
                let (name, width) = word.split_once('%').unwrap_or((word, ""));
                let lower = name.to_ascii_lowercase();
                let column = COLUMNS.iter().find(|column| {
                    let own = column.name.to_ascii_lowercase();
                    own.starts_with(&lower) && !lower.is_empty()
                });
                let column = column.ok_or_else(|| SstatUsageError::Field(name.to_owned()))?;
                Ok(Chosen {
                    column,
                    width: asked_width(width)
                        .filter(|width| *width != 0)
                        .unwrap_or(column.width),
                })
            })
            .collect()
    }

    fn line(&self, columns: &[Chosen], cells: Vec<String>, is_header: bool) -> String {
        if let Some(is_ended) = self.parsable {
            let end = if is_ended { "|" } else { "" };
            return format!("{}{end}\n", cells.join("|"));
        }
        let mut line = String::new();
        for (chosen, cell) in columns.iter().zip(cells) {
            let width = chosen.width.unsigned_abs();
            let cell = fitting(cell, width, is_header);
            line.push_str(&padded(&cell, width, chosen.width < 0));
            line.push(' ');
        }
        line.push('\n');
        line
    }
}

/// A cell cut to its width: a value shows that it was cut, a header doesn't.
fn fitting(cell: String, width: usize, is_header: bool) -> String {
    if cell.chars().count() <= width {
        return cell;
    }
    let kept = if is_header {
        width
    } else {
        width.saturating_sub(1)
    };
    let mark = if is_header { "" } else { "+" };
    format!("{}{mark}", cell.chars().take(kept).collect::<String>())
}

impl SstatStep {
    /// What is behind a second point is a part of a heterogeneous step, of which there are none.
    fn parse(name: &str) -> Result<SstatStep, SstatUsageError> {
        let (job, step) = match name.split_once('.') {
            Some((job, step)) => (job, step.split('.').next()),
            None => (name, None),
        };
        let step = match step {
            None => SstatChoice::Any,
            Some("batch") => SstatChoice::One(StepId::Batch),
            Some("extern") => SstatChoice::Absent("extern"),
            Some("interactive") => SstatChoice::Absent("interactive"),
            Some(number) => match number.parse() {
                Ok(number) => SstatChoice::One(StepId::Number(number)),
                Err(_) => return Err(SstatUsageError::StepNumber(job.to_owned())),
            },
        };
        let (job, task) = match job.split_once('_') {
            // Of a component of a heterogeneous job Slurm reads the first number alone.
            None => (job.split('+').next().unwrap_or(job), None),
            Some((job, task)) => {
                let element = task.parse().map(Some);
                let element = element.map_err(|_| SstatUsageError::Element(job.to_owned()));
                (job, element?)
            }
        };
        let id = job.parse().ok().filter(|id| *id > 0).map(JobId);
        let job = id.ok_or_else(|| SstatUsageError::Step(name.to_owned()))?;
        Ok(SstatStep { job, task, step })
    }
}

/// What `--helpformat` prints: the names of all columns, four in a line.
#[must_use]
pub fn sstat_fields_text() -> String {
    let mut text = String::new();
    for (index, column) in COLUMNS.iter().enumerate() {
        text.push_str(&format!("{:<19}", column.name));
        let is_last = index % 4 == 3 || index + 1 == COLUMNS.len();
        text.push(if is_last { '\n' } else { ' ' });
    }
    text
}
