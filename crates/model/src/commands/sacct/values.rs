//! Values of `sacct`'s options.

use super::{SacctColumn, SacctError, SacctJob, SacctUnits};
use crate::commands::padding::asked_width;
use crate::commands::squeue_args::job_names;
use crate::fields::{SACCT_FIELDS, SacctField};
use crate::records::JobStateName;
use crate::values::TimeLimitRequest;

/// `jobid,state%-20,jobname%30`; `all`, or its beginning, is each field.
pub(super) fn columns(format: &str) -> Result<Vec<SacctColumn>, String> {
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
        let field = SacctField::by_name(name)
            .ok_or_else(|| format!("Invalid field requested: \"{name}\""))?;
        columns.push(column(field, width));
    }
    Ok(columns)
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
pub(super) fn jobs(list: &str) -> Result<Vec<SacctJob>, SacctError> {
    let wrong = |word: &str| SacctError::Fatal(format!("Bad job/step specified: {word}"));
    let mut depth = 0;
    // A comma in `12_[1,3]` ends no word.
    let words = list.split(|letter| {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    });
    let mut jobs = Vec::new();
    for word in words.map(str::trim).filter(|word| !word.is_empty()) {
        let (job, step) = match word.split_once('.') {
            Some((job, step)) => (job, Some(step.to_owned())),
            None => (word, None),
        };
        for job in job_names(job).map_err(|_| wrong(word))? {
            let step = step.clone();
            jobs.push(SacctJob { job, step });
        }
    }
    Ok(jobs)
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
            of("jobid,nonsense").unwrap_err(),
            "Invalid field requested: \"nonsense\""
        );
        let all = columns("jobid,ALL%20").unwrap();
        assert_eq!(all.len(), SACCT_FIELDS.len() + 1);
        assert!(all[1..].iter().all(|column| column.width == 20));
        assert_eq!(columns("maxrss%3").unwrap()[0].fit("12345K"), "12+");
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
}
