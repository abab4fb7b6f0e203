//! Values of `sacct`'s options.

use super::row::START_RECEIVED;
use super::{SacctColumn, SacctError, SacctJob, SacctUnits};
use crate::commands::padding::asked_width;
use crate::commands::squeue_args::job_name;
use crate::fields::{SACCT_FIELDS, SacctField};
use crate::records::{JobStateName, StartedBy};
use crate::values::TimeLimitRequest;

/// Steps that have a name in place of a number.
const NAMED_STEPS: [&str; 3] = ["batch", "extern", "interactive"];

/// `jobid,state%-20,jobname%30`; `all`, or its beginning, is each field.
///
/// # Errors
/// There is no such field, or no longer.
pub(super) fn columns(format: &str) -> Result<Vec<SacctColumn>, SacctError> {
    let column = |field: &'static SacctField, width: &str| SacctColumn {
        field,
        width: asked_width(width).map_or(field.width, isize::unsigned_abs),
        left: width.starts_with('-') || width.is_empty() && field.left,
    };
    let words = format.split(',').map(str::trim);
    let mut columns = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        let (name, width) = word.split_once('%').unwrap_or((word, ""));
        if !name.is_empty() && "all".starts_with(&name.to_ascii_lowercase()) {
            columns.extend(SACCT_FIELDS.iter().map(|field| column(field, width)));
            continue;
        }
        let field = SacctField::by_name(name).ok_or_else(|| no_field(name))?;
        columns.push(column(field, width));
    }
    Ok(columns)
}

fn no_field(name: &str) -> SacctError {
    for (former, now) in [("AllocGRES", "AllocTRES"), ("ReqGRES", "ReqTRES")] {
        if name.eq_ignore_ascii_case(former) {
            return SacctError::Fatal(format!("{former} has been removed, please use {now}"));
        }
    }
    SacctError::Value(format!("Invalid field requested: \"{name}\""))
}

pub(super) fn states(list: &str) -> Result<Vec<JobStateName>, SacctError> {
    let state = |name: &str| {
        let wrong = || SacctError::Fatal(format!("unrecognized job state value '{name}'"));
        let state = JobStateName::parse(name).ok_or_else(wrong)?;
        if !is_recorded(state) {
            let wrong = format!("job state {name} is not supported / accounted");
            return Err(SacctError::Fatal(wrong));
        }
        Ok(state)
    };
    list.split(',').map(state).collect()
}

/// Whether the accounting knows a state (`_supported_state` of sacct's options.c).
fn is_recorded(state: JobStateName) -> bool {
    use JobStateName as Name;
    !matches!(
        state,
        Name::Completing
            | Name::Configuring
            | Name::ResvDelHold
            | Name::RequeueFed
            | Name::RequeueHold
            | Name::Signaling
            | Name::SpecialExit
            | Name::StageOut
            | Name::Stopped
    )
}

/// `12,12_3,12.batch`
pub(crate) fn jobs(list: &str) -> Result<Vec<SacctJob>, SacctError> {
    let words = list.split(',').filter(|word| !word.is_empty());
    words.map(job).collect()
}

/// As Slurm's `slurm_addto_step_list` reads it: a number is read as far as it goes.
fn job(word: &str) -> Result<SacctJob, SacctError> {
    let wrong =
        |what: &str, named: &str| SacctError::Fatal(format!("Bad {what} specified: {named}"));
    let begins_with_digit = |text: &str| text.starts_with(|letter: char| letter.is_ascii_digit());
    if !begins_with_digit(word) {
        return Err(wrong("job/step", word));
    }
    let (name, step) = match word.split_once('.') {
        Some((name, step)) => (name, Some(step)),
        None => (word, None),
    };
    let is_step = |step: &str| begins_with_digit(step) || NAMED_STEPS.contains(&step);
    if !step.is_none_or(is_step) {
        return Err(wrong("step", name));
    }
    for (mark, what) in [('_', "job array element"), ('+', "hetjob offset")] {
        if let Some((job, number)) = name.split_once(mark)
            && !begins_with_digit(number)
        {
            return Err(wrong(what, job));
        }
    }
    let job = job_name(name).ok_or_else(|| wrong("job/step", word))?;
    let step = step.map(str::to_owned);
    Ok(SacctJob { job, step })
}

/// `2`, `1-4`
pub(super) fn range(text: &str, of: &str) -> Result<(u32, u32), SacctError> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    match (least.parse(), most.parse()) {
        (Ok(least), Ok(most)) => Ok((least, most)),
        _ => Err(SacctError::Value(format!(
            "Invalid numeric value \"{text}\" for requested {of} range."
        ))),
    }
}

pub(super) fn minutes(text: &str) -> Result<u64, SacctError> {
    match TimeLimitRequest::parse(text) {
        Some(TimeLimitRequest::Limit(limit)) => Ok(limit.0.div_ceil(60)),
        _ => Err(SacctError::Fatal(
            "Invalid time limit specification".to_owned(),
        )),
    }
}

pub(super) fn units(text: &str) -> Result<SacctUnits, SacctError> {
    match text
        .chars()
        .next()
        .map(|letter| letter.to_ascii_uppercase())
    {
        Some(unit @ ('K' | 'M' | 'G' | 'T' | 'P')) => Ok(SacctUnits::In(unit)),
        _ => Err(SacctError::Unit(text.to_owned())),
    }
}

/// The flags that `--flags` names, one a word, wherever in the word it stands (`_str_2_job_flags` of
/// slurmdb_defs.c); `None` is none of them.
pub(super) fn flags(value: &str) -> Result<Vec<&'static str>, SacctError> {
    let started_by = StartedBy::ALL.map(StartedBy::flag);
    let known = ["None"].into_iter().chain(started_by);
    let known: Vec<&str> = known.chain([START_RECEIVED]).collect();
    let words = value.split(',').filter(|word| !word.is_empty());
    let flags = words.map(|word| {
        let lower = word.to_ascii_lowercase();
        let is_named = |flag: &&&str| lower.contains(&flag.to_ascii_lowercase());
        let flag = known.iter().find(is_named).copied();
        flag.ok_or_else(|| SacctError::Value(format!("str_2_job_flags: Invalid job flag {word}")))
    });
    flags.filter(|flag| !matches!(flag, Ok("None"))).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;

    #[test]
    fn columns_have_widths() {
        let of = |format| {
            columns(format).map(|all| {
                let one = |column: SacctColumn| (column.field.name, column.width, column.left);
                all.into_iter().map(one).collect::<Vec<_>>()
            })
        };
        let want = vec![
            ("JobID", 12, true),
            ("State", 20, true),
            ("MaxRSS", 3, false),
        ];
        assert_eq!(of("jobid,state%-20,maxrss%3"), Ok(want));
        assert_eq!(
            of("jobid,nonsense").unwrap_err().to_string(),
            "sacct: error: Invalid field requested: \"nonsense\""
        );
        assert_eq!(
            of("jobid,allocgres").unwrap_err().to_string(),
            "sacct: fatal: AllocGRES has been removed, please use AllocTRES"
        );
        let all = columns("jobid,ALL%20").unwrap();
        assert_eq!(all.len(), SACCT_FIELDS.len() + 1);
        assert!(all[1..].iter().all(|column| column.width == 20));
        assert_eq!(columns("maxrss%3").unwrap()[0].fit("12345K"), "12+");
        let start = columns("start%10").unwrap()[0];
        assert_eq!(start.fit("2026-11-27T14:29:18"), "2026-11-27");
    }

    #[test]
    fn states_that_the_accounting_has() {
        assert_eq!(states("R,CD").unwrap().len(), 2);
        let check = |list: &str, want: &str| {
            assert_eq!(
                states(list).unwrap_err().to_string(),
                format!("sacct: fatal: {want}")
            );
        };
        check("RD", "job state RD is not supported / accounted");
        check("nosuch", "unrecognized job state value 'nosuch'");
    }

    #[test]
    fn jobs_are_named_as_slurm_reads_them() {
        /// Job, element, step.
        type Named<'a> = (u32, Option<u32>, Option<&'a str>);
        #[track_caller]
        fn check(list: &str, want: Result<&[Named<'_>], &str>) {
            let read = jobs(list).map(|jobs| {
                let one = |it: SacctJob| (it.job.job, it.job.task, it.step);
                jobs.into_iter().map(one).collect::<Vec<_>>()
            });
            let want = want.map(|jobs| {
                let one = |(job, task, step): &Named<'_>| (*job, *task, step.map(str::to_owned));
                jobs.iter().map(one).collect::<Vec<_>>()
            });
            let want = want.map_err(|text| SacctError::Fatal(text.to_owned()));
            assert_eq!(read, want, "{list}");
        }
        check("12", Ok(&[(12, None, None)]));
        check("12,,13 14", Ok(&[(12, None, None), (13, None, None)]));
        check("12_3.batch", Ok(&[(12, Some(3), Some("batch"))]));
        check("12.0", Ok(&[(12, None, Some("0"))]));
        check("12.extern", Ok(&[(12, None, Some("extern"))]));
        check("", Ok(&[]));
        check("12, 13", Err("Bad job/step specified:  13"));
        check("abc", Err("Bad job/step specified: abc"));
        check("12_[1-2]", Err("Bad job array element specified: 12"));
        check("12_[1,3].0", Err("Bad job array element specified: 12"));
        check("12_", Err("Bad job array element specified: 12"));
        check("12+", Err("Bad hetjob offset specified: 12"));
        check("12+x.batch", Err("Bad hetjob offset specified: 12"));
        check("12.", Err("Bad step specified: 12"));
        check("12_1.x", Err("Bad step specified: 12_1"));
    }
}
