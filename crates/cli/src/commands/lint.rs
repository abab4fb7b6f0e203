//! `yard lint`

use super::cluster::files;
use super::place::places;
use crate::exit_code;
use crate::failure::{Failure, Outcome};
use crate::printer::Printer;
use ::lint::render::{self, Counts};
use ::lint::{Finding, Fixed, FolderFact, Lines, LintInput, RULES, Rule, Severity};
use clap::{Args as ClapArgs, ValueEnum};
use jiff::tz::TimeZone;
use model::cluster::ClusterFile;
use model::{SlurmVersion, Timestamp, nearest};
use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};
use train::RunFile;

/// Longer files are none of ours: sbatch takes 4 MiB.
const LONGEST: u64 = 64 << 20;
/// So much is printed at once.
const CHUNK: usize = 64 << 10;

/// Find the mistakes of batch scripts and run files before the queue does
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Batch scripts, run files, folders of them; - for standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["explain", "list"])]
    files: Vec<String>,
    /// The cluster that they are for
    #[arg(long, value_name = "CLUSTER")]
    on: Option<String>,
    /// The Slurm that they are for, such as 23.11
    #[arg(long, value_name = "VERSION")]
    slurm: Option<String>,
    /// How findings are printed
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Put right what can be put right safely, in the files
    #[arg(long)]
    fix: bool,
    /// Show what --fix would change, and change nothing
    #[arg(long, conflicts_with = "fix")]
    diff: bool,
    /// End with 1 for these too, not for errors alone
    #[arg(long, value_enum, value_name = "WHAT")]
    deny: Option<Deny>,
    /// Explain a rule
    #[arg(long, value_name = "CODE", conflicts_with_all = ["files", "list"])]
    explain: Option<String>,
    /// List all rules
    #[arg(long, conflicts_with = "files")]
    list: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One document
    Json,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
    /// Workflow commands of GitHub's runners
    Github,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Deny {
    Warnings,
    Notes,
}

/// Runs `yard lint`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    if let Some(code) = &args.explain {
        return explain(code, printer);
    }
    if args.list {
        for rule in RULES {
            printer.line(&format!(
                "{} {:<8} {:<24} {}",
                rule.code,
                rule.severity.name(),
                rule.name,
                rule.summary
            ));
        }
        return Ok(exit_code::DONE);
    }
    let around = Around::find(args, printer)?;
    let mut report = Report::new(args, printer);
    for name in &args.files {
        let path = Path::new(name);
        if name != "-" && path.is_dir() {
            for file in scripts_below(path)? {
                report.file(&file.display().to_string(), &around)?;
            }
        } else {
            report.file(name, &around)?;
        }
    }
    Ok(report.end())
}

fn explain(code: &str, printer: &Printer) -> Outcome {
    let by_name = |rule: &&Rule| rule.name.eq_ignore_ascii_case(code);
    let rule = Rule::find(code).or_else(|| RULES.iter().find(by_name));
    let Some(rule) = rule else {
        let near = nearest(
            &code.to_ascii_uppercase(),
            RULES.iter().map(|rule| rule.code),
        );
        let failure = Failure::new(exit_code::USAGE, format!("there is no rule {code}"))
            .asked(format!("--explain {code}"));
        return Err(match near {
            Some(near) => failure.todo(format!("did you mean {near}? yard lint --list shows all")),
            None => failure.todo("yard lint --list shows all"),
        });
    };
    printer.data(&rule.explanation());
    Ok(exit_code::DONE)
}

/// What is known of where scripts shall run.
struct Around {
    cluster: Option<ClusterFile>,
    version: Option<SlurmVersion>,
    user: Option<String>,
    cwd: PathBuf,
    zone: TimeZone,
    now: Timestamp,
}

impl Around {
    fn find(args: &Args, printer: &Printer) -> Result<Around, Failure> {
        let version = match &args.slurm {
            None => None,
            Some(text) => Some(text.parse::<SlurmVersion>().map_err(|error| {
                Failure::new(exit_code::USAGE, error.to_string()).asked(format!("--slurm {text}"))
            })?),
        };
        let cluster = match &args.on {
            Some(name) => Some(files::read(&places()?, name, printer)?),
            None => None,
        };
        Around::of(cluster, version)
    }

    fn of(cluster: Option<ClusterFile>, version: Option<SlurmVersion>) -> Result<Around, Failure> {
        let cwd = std::env::current_dir().map_err(|error| {
            Failure::new(exit_code::IO, format!("this folder can't be read: {error}"))
                .todo("go to a folder that is there")
        })?;
        Ok(Around {
            cluster,
            version,
            user: std::env::var("USER").ok().filter(|user| !user.is_empty()),
            cwd,
            zone: TimeZone::system(),
            now: Timestamp(sys::now()),
        })
    }

    fn check(&self, name: &str, text: &str, args: &[String]) -> Vec<Finding> {
        let folders = |path: &Path| self.folder(path);
        lint::check(&LintInput {
            name,
            text,
            args,
            cluster: self.cluster.as_ref(),
            version: self.version,
            user: self.user.as_deref(),
            cwd: &self.cwd,
            zone: &self.zone,
            now: self.now,
            folders: &folders,
        })
    }

    /// A folder below this one is known; of one elsewhere this machine can speak only where its
    /// parent is here too.
    fn folder(&self, path: &Path) -> FolderFact {
        let below = path.starts_with(&self.cwd);
        if path.is_dir() {
            return FolderFact::There;
        }
        match below || path.parent().is_some_and(Path::is_dir) {
            true if self.cluster.is_none() || below => FolderFact::Missing,
            _ => FolderFact::Unknown,
        }
    }
}

/// What is printed, and what it came to.
struct Report<'a> {
    args: &'a Args,
    printer: &'a Printer,
    waiting: String,
    counts: Counts,
    files: usize,
    results: usize,
    first_code: Option<&'static str>,
}

impl<'a> Report<'a> {
    fn new(args: &'a Args, printer: &'a Printer) -> Report<'a> {
        let waiting = match args.format {
            Format::Json => render::json_head(),
            Format::Sarif => render::sarif_head(env!("CARGO_PKG_VERSION")),
            Format::Text | Format::Github => String::new(),
        };
        Report {
            args,
            printer,
            waiting,
            counts: Counts::default(),
            files: 0,
            results: 0,
            first_code: None,
        }
    }

    fn file(&mut self, name: &str, around: &Around) -> Result<(), Failure> {
        let bytes = read(name)?;
        let text = String::from_utf8_lossy(&bytes);
        if is_run_file(name, &text) {
            let (_, problems) = RunFile::parse(&text, name);
            self.findings(&lint::run_file_findings(&problems), &text, name);
            return Ok(());
        }
        let check = |text: &str| around.check(name, text, &[]);
        if !self.args.fix && !self.args.diff {
            self.findings(&check(&text), &text, name);
            return Ok(());
        }
        let fixed = match &text {
            Cow::Borrowed(text) => lint::fix(text, check),
            // What stands in for broken bytes must not be written.
            Cow::Owned(text) => Fixed {
                text: text.clone(),
                made: 0,
                findings: check(text),
            },
        };
        if matches!(text, Cow::Owned(_)) {
            self.printer
                .say(&format!("note: {name} is not UTF-8 and is not changed"));
        }
        if self.args.diff {
            self.waiting
                .push_str(&render::diff(&text, &fixed.text, name));
            self.count(&fixed.findings);
            self.flush(CHUNK);
            return Ok(());
        }
        if name == "-" {
            self.printer.data(&fixed.text);
        } else if fixed.made > 0 {
            write(Path::new(name), fixed.text.as_bytes())?;
        }
        if fixed.made > 0 {
            let fixes = if fixed.made == 1 {
                "1 fix".to_owned()
            } else {
                format!("{} fixes", fixed.made)
            };
            self.printer.say(&format!("{name}: {fixes}"));
        }
        self.findings(&fixed.findings, &fixed.text, name);
        Ok(())
    }

    fn findings(&mut self, findings: &[Finding], text: &str, name: &str) {
        let lines = Lines::new(text);
        let first = self.files == 0;
        match self.args.format {
            Format::Text => {
                for finding in findings {
                    self.waiting.push_str(&render::text(finding, &lines, name));
                }
            }
            Format::Json => {
                self.waiting
                    .push_str(&render::json_file(findings, &lines, name, first));
            }
            Format::Sarif => {
                let first = self.results == 0;
                self.waiting
                    .push_str(&render::sarif_results(findings, &lines, name, first));
            }
            Format::Github => {
                for finding in findings {
                    self.waiting
                        .push_str(&render::github(finding, &lines, name));
                }
            }
        }
        self.count(findings);
        self.flush(CHUNK);
    }

    fn count(&mut self, findings: &[Finding]) {
        self.files += 1;
        self.results += findings.len();
        self.counts.add(findings);
        let worst = findings.iter().max_by_key(|finding| finding.severity);
        if self.first_code.is_none() {
            self.first_code = worst.map(|finding| finding.code);
        }
    }

    /// Prints what waits, once it is longer than `least`. With `--fix -` the text alone is data.
    fn flush(&mut self, least: usize) {
        if self.waiting.len() < least || self.waiting.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.waiting);
        match self.args.fix && self.args.files.iter().any(|name| name == "-") {
            true => self.printer.say(text.trim_end()),
            false => self.printer.data(&text),
        }
    }

    fn end(mut self) -> u8 {
        match self.args.format {
            _ if self.args.diff => {}
            Format::Json => self.waiting.push_str(&render::json_tail()),
            Format::Sarif => self.waiting.push_str(&render::sarif_tail()),
            Format::Text => {
                self.waiting
                    .push_str(&render::summary(self.counts, self.first_code));
            }
            Format::Github => {}
        }
        self.flush(0);
        let denied = match self.args.deny {
            None => 0,
            Some(Deny::Warnings) => self.counts.warnings,
            Some(Deny::Notes) => self.counts.warnings + self.counts.notes,
        };
        match self.counts.errors + denied {
            0 => exit_code::DONE,
            _ => exit_code::FOUND,
        }
    }
}

/// Reads a file or standard input.
fn read(name: &str) -> Result<Vec<u8>, Failure> {
    let trouble = |error: std::io::Error| {
        Failure::new(exit_code::IO, format!("{name} can't be read: {error}"))
    };
    let mut bytes = Vec::new();
    let size = if name == "-" {
        std::io::stdin()
            .lock()
            .take(LONGEST + 1)
            .read_to_end(&mut bytes)
    } else {
        let file = std::fs::File::open(name).map_err(trouble)?;
        if !file.metadata().map_err(trouble)?.is_file() {
            return Err(Failure::new(exit_code::IO, format!("{name} is no file")));
        }
        file.take(LONGEST + 1).read_to_end(&mut bytes)
    };
    if size.map_err(trouble)? as u64 > LONGEST {
        return Err(Failure::new(
            exit_code::IO,
            format!("{name} is no script: it is too long"),
        )
        .there("sbatch takes 4 MiB"));
    }
    Ok(bytes)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    sys::atomic::write_named(path, bytes).map_err(|error| {
        Failure::new(
            exit_code::IO,
            format!("{} can't be written: {error}", path.display()),
        )
        .there("it is as it was")
    })
}

/// By its name, or for what comes from a pipe by what a script never begins with.
fn is_run_file(name: &str, text: &str) -> bool {
    name.ends_with(".toml") && !text.starts_with("#!")
}

/// The batch scripts and run files below a folder, hidden folders left out, in the order of their
/// names.
fn scripts_below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let trouble = |error: std::io::Error| {
            Failure::new(
                exit_code::IO,
                format!("{} can't be read: {error}", folder.display()),
            )
        };
        for entry in std::fs::read_dir(&folder).map_err(trouble)? {
            let entry = entry.map_err(trouble)?;
            let kind = entry.file_type().map_err(trouble)?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            // Links are not followed: they may go in circles.
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() && is_one_of_ours(&entry.path()) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A `yard.toml`, or a file that begins with `#!` and has a directive near its beginning.
fn is_one_of_ours(path: &Path) -> bool {
    if path.file_name().is_some_and(|name| name == "yard.toml") {
        return true;
    }
    let mut start = Vec::new();
    let Ok(file) = std::fs::File::open(path) else {
        return false;
    };
    if file.take(64 << 10).read_to_end(&mut start).is_err() || !start.starts_with(b"#!") {
        return false;
    }
    start
        .split(|byte| *byte == b'\n')
        .any(|line| line.starts_with(b"#SBATCH"))
}

/// Looks at a script before it is submitted: what is wrong is said briefly, and an error refuses it.
pub fn before_submission(script: &Path, args: &[String], printer: &Printer) -> Result<(), Failure> {
    let name = script.display().to_string();
    // A script that can't be read is sbatch's to complain of.
    let Ok(bytes) = read(&name) else {
        return Ok(());
    };
    let text = String::from_utf8_lossy(&bytes);
    let findings = Around::of(None, None)?.check(&name, &text, args);
    let lines = Lines::new(&text);
    for finding in findings
        .iter()
        .filter(|finding| finding.severity != Severity::Note)
    {
        let line = finding
            .labels
            .first()
            .map_or(1, |_| lines.number(finding.start()));
        printer.say(&format!(
            "{}[{}]: {name}:{line}: {}",
            finding.severity.name(),
            finding.code,
            finding.message
        ));
    }
    // What sbatch refuses it refuses in its own words.
    let dropped = |finding: &&Finding| finding.severity == Severity::Error && !finding.refused;
    match findings.iter().filter(dropped).count() {
        0 => Ok(()),
        count => Err(Failure::new(
            exit_code::REFUSED,
            format!("{name} would not run as it is written"),
        )
        .there(if count == 1 {
            "1 error".to_owned()
        } else {
            format!("{count} errors")
        })
        .todo(format!(
            "yard lint {name}, or --no-lint to submit it all the same"
        ))),
    }
}
