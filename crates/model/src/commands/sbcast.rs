//! The command line and the environment of `sbcast`.

use crate::options::long_options::{
    CommandOption, LongOption, command_options, parse_long_options,
};
use crate::options::option_table::Takes;
use crate::values::JobId;

/// What an `sbcast` asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SbcastArgs {
    /// Something to print instead.
    pub show: Option<SbcastShow>,
    /// The file to copy.
    pub source: String,
    /// Where to.
    pub destination: String,
    /// `--jobid`, or the job that it was called in.
    pub job: Option<JobId>,
    /// `--force`: in place of a file that is there.
    pub force: bool,
    /// `--preserve`: with the times of the source.
    pub preserve: bool,
    /// `--verbose`
    pub verbose: bool,
    /// What is said of values that do nothing here, a line each.
    pub said: Vec<String>,
}

/// What is printed instead of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SbcastShow {
    /// `--help`
    Help,
    /// `--usage`
    Usage,
    /// `--version`
    Version,
}

#[derive(Clone, Copy, PartialEq)]
enum Key {
    Compress,
    Force,
    Help,
    Job,
    Preserve,
    Size,
    Usage,
    Verbose,
    Version,
}

#[rustfmt::skip]
const OPTIONS: &[LongOption<Key>] = {
    use Takes::{No as Bare, Optional, Required};
    &[
        LongOption::judged("compress", Some('C'), Optional, Key::Compress, "all nodes are on this machine"),
        LongOption::accepted("exclude", None, Required, "no libraries are sent"),
        LongOption::accepted("fanout", Some('F'), Required, "all nodes are on this machine"),
        LongOption::new("force", Some('f'), Bare, Key::Force).does("replace a file that is there"),
        LongOption::new("jobid", Some('j'), Required, Key::Job).of("JOB", "the job, where it is not the one around it"),
        LongOption::accepted("send-libs", None, Optional, "all nodes see the same libraries"),
        LongOption::new("preserve", Some('p'), Bare, Key::Preserve).does("keep the times of the source"),
        LongOption::judged("size", Some('s'), Required, Key::Size, "all nodes are on this machine"),
        LongOption::accepted("timeout", Some('t'), Required, "all nodes are on this machine"),
        LongOption::new("verbose", Some('v'), Bare, Key::Verbose).does("say what is done"),
        LongOption::new("version", Some('V'), Bare, Key::Version).does("what this is"),
        LongOption::new("help", None, Bare, Key::Help).does("this text"),
        LongOption::new("usage", None, Bare, Key::Usage).does("one line of help"),
    ]
};

/// The options of `sbcast`.
pub(crate) fn options() -> Vec<CommandOption> {
    command_options(OPTIONS)
}

/// Reads a command line; `variable` tells of the environment.
///
/// # Errors
/// What Slurm prints, with exit status 1.
pub fn parse(
    args: &[String],
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<SbcastArgs, String> {
    let mut asked = SbcastArgs::default();
    match read(&mut asked, args, variable) {
        Ok(()) => Ok(asked),
        Err(refusal) => {
            asked.said.push(refusal);
            Err(asked.said.join("\n"))
        }
    }
}

/// Reads into `asked`, which keeps what was said before a refusal.
fn read(
    asked: &mut SbcastArgs,
    args: &[String],
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<(), String> {
    const MORE: &str = "Try \"sbcast --help\" for more information";
    let is_set = |name: &str| variable(name).is_some();
    let number = |text: &str| {
        let digits = text.split(['.', '+']).next().unwrap_or_default();
        digits.parse().ok().filter(|number| *number > 0).map(JobId)
    };
    asked.job = variable("SLURM_JOB_ID").as_deref().and_then(number);
    asked.force = is_set("SBCAST_FORCE");
    asked.preserve = is_set("SBCAST_PRESERVE");
    asked
        .said
        .extend(variable("SBCAST_COMPRESS").and_then(|text| wrong_compression(&text)));
    asked
        .said
        .extend(variable("SBCAST_SIZE").and_then(|text| wrong_size(&text)));
    let parsed = parse_long_options(OPTIONS, args);
    for (key, value) in parsed.options {
        match key {
            Key::Force => asked.force = true,
            Key::Job => {
                let text = value.unwrap_or_default();
                let (job, step) = text.split_once('.').unwrap_or((&text, "0"));
                if !step.starts_with(|first: char| first.is_ascii_digit()) {
                    return Err(format!("sbcast: fatal: Bad step specified: {job}"));
                }
                // What is no number is job 0, which there is not: that is said once the file is there.
                asked.job = Some(number(&text).unwrap_or(JobId(0)));
            }
            Key::Preserve => asked.preserve = true,
            Key::Compress => asked
                .said
                .extend(value.and_then(|text| wrong_compression(&text))),
            Key::Size => asked.said.extend(value.and_then(|text| wrong_size(&text))),
            Key::Verbose => asked.verbose = true,
            Key::Help => asked.show = Some(SbcastShow::Help),
            Key::Usage => asked.show = Some(SbcastShow::Usage),
            Key::Version => asked.show = Some(SbcastShow::Version),
        }
    }
    if let Some(message) = parsed.wrong {
        return Err(format!("sbcast: {message}\n{MORE}"));
    }
    if asked.show.is_some() {
        return Ok(());
    }
    let [source, destination] = parsed.operands.as_slice() else {
        let count = parsed.operands.len();
        return Err(format!("Need two file names, have {count} names\n{MORE}"));
    };
    if destination.ends_with('/') {
        return Err("sbcast: error: Target filename cannot be a directory.".to_owned());
    }
    if asked.job.is_none() {
        return Err(
            "sbcast: error: Need a job id to run this command.  Run from within a Slurm job or use the --jobid option."
                .to_owned(),
        );
    }
    (asked.source, asked.destination) = (source.clone(), destination.clone());
    Ok(())
}

/// What is said of a compression that there is not.
fn wrong_compression(text: &str) -> Option<String> {
    let is_known = ["lz4", "none"]
        .iter()
        .any(|known| text.eq_ignore_ascii_case(known));
    (!is_known).then(|| {
        format!("sbcast: error: Compression type '{text}' unknown, disabling compression support.")
    })
}

/// What is said of a size of blocks that can not be one: one has digits, and behind them nothing, or what begins with `k` or `m`.
fn wrong_size(text: &str) -> Option<String> {
    let text = text.trim_start();
    let text = text.strip_prefix('+').unwrap_or(text);
    let unit = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let digits = &text[..text.len() - unit.len()];
    let is_number = digits.is_empty() || digits.parse().is_ok_and(|size: i64| size < i64::MAX);
    let is_unit = unit.is_empty() || unit.starts_with(['k', 'K', 'm', 'M']);
    (!is_number || !is_unit).then(|| "size specification is invalid, ignored".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What 22.05.8 says of the same line, outside of a job unless `job` is given.
    #[track_caller]
    fn check(line: &str, job: Option<&str>, want: Result<(u64, bool, bool), &str>) {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let variable = |name: &str| {
            (name == "SLURM_JOB_ID")
                .then(|| job.map(str::to_owned))
                .flatten()
        };
        let got = parse(&args, &variable);
        let got = got.map(|asked| {
            (
                asked.job.map_or(0, |job| u64::from(job.0)),
                asked.force,
                asked.preserve,
            )
        });
        assert_eq!(got, want.map_err(str::to_owned), "{line}");
    }

    /// Tried one by one: `sbcast -s SIZE -j 99 a b`.
    #[test]
    fn sizes_are_read_as_slurm_reads_them() {
        for good in [
            "8kb",
            "+5",
            "k",
            "5M",
            "8K",
            " 7",
            "5mb",
            "0",
            "",
            "100000000000",
        ] {
            assert_eq!(wrong_size(good), None, "{good}");
        }
        for bad in [
            "8 k",
            "5t",
            "5B",
            "0x10",
            "5G",
            "1.5k",
            "x5",
            "-5",
            "99999999999999999999",
        ] {
            assert!(wrong_size(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn command_lines() {
        const MORE: &str = "\nTry \"sbcast --help\" for more information";
        check("a /tmp/b", Some("7"), Ok((7, false, false)));
        check(
            "-fp -C -s 8 --send-libs=no a /tmp/b -j9.0",
            Some("7"),
            Ok((9, true, true)),
        );
        check("-j x a /tmp/b", None, Ok((0, false, false)));
        check(
            "-j 9.x a /tmp/b",
            None,
            Err("sbcast: fatal: Bad step specified: 9"),
        );
        check(
            "",
            None,
            Err(&format!("Need two file names, have 0 names{MORE}")),
        );
        check(
            "a b c",
            Some("7"),
            Err(&format!("Need two file names, have 3 names{MORE}")),
        );
        check(
            "-z a b",
            Some("7"),
            Err(&format!("sbcast: invalid option -- 'z'{MORE}")),
        );
        check(
            "a b/",
            Some("7"),
            Err("sbcast: error: Target filename cannot be a directory."),
        );
        check(
            "a /tmp/b",
            None,
            Err(
                "sbcast: error: Need a job id to run this command.  Run from within a Slurm job or use the --jobid option.",
            ),
        );
    }
}
