//! The Standard Workload Format of the Parallel Workloads Archive: a job a line, 18 numbers,
//! comments behind `;` (<https://www.cs.huji.ac.il/labs/parallel/workload/swf.html>).

use super::trace::{LeftOut, Moments, NoJob, NoTrace, Trace, TraceJob};
use model::Timestamp;

/// Reads a log in that format. What is not said is -1 in it.
///
/// # Errors
/// No line is a job.
pub fn read_swf(text: &str) -> Result<Trace, NoTrace> {
    let mut jobs = Vec::new();
    let mut left_out = LeftOut::default();
    let (mut processors, mut nodes) = (None, None);
    for (index, line) in text.lines().enumerate() {
        if let Some(comment) = line.trim_start().strip_prefix(';') {
            processors = stated(comment, "MaxProcs").or(processors);
            nodes = stated(comment, "MaxNodes").or(nodes);
            continue;
        }
        if line.trim().is_empty() {
            continue;
        }
        match job(line) {
            Ok(job) => jobs.push(job),
            Err(why) => left_out.add(index + 1, why),
        }
    }
    // Where a node is a processor some logs say the nodes alone.
    let processors = processors.or(nodes);
    Trace::new(jobs, processors, Moments::Seconds, left_out)
}

/// What a comment says under a name, whatever follows it: `MaxProcs: 128 (4 of them interactive)`.
fn stated(comment: &str, name: &str) -> Option<u32> {
    let (key, value) = comment.split_once(':')?;
    let digits = value.trim_start();
    let end = digits.find(|letter: char| !letter.is_ascii_digit());
    let count = digits[..end.unwrap_or(digits.len())].parse().ok()?;
    (key.trim().eq_ignore_ascii_case(name) && count > 0).then_some(count)
}

/// Fields that are read, by their place: id, submission, run time, processors that it got and
/// asked for, time asked for, user, queue.
fn job(line: &str) -> Result<TraceJob, NoJob> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let number = |place: usize| -> Result<Option<f64>, NoJob> {
        let Some(text) = fields.get(place - 1) else {
            return Ok(None);
        };
        let value: f64 = text.parse().map_err(|_no_number| NoJob::Unreadable)?;
        Ok((value.is_finite() && value >= 0.0).then_some(value))
    };
    if fields.len() < 5 {
        return Err(NoJob::Unreadable);
    }
    let count =
        |place: usize| -> Result<u32, NoJob> { Ok(number(place)?.map_or(0, |value| value as u32)) };
    let id = number(1)?.ok_or(NoJob::Unreadable)? as u64;
    let submit = number(2)?.and_then(millis).ok_or(NoJob::Submit)?;
    let run = number(4)?.and_then(millis).filter(|run| *run > 0);
    let estimate = number(9)?.and_then(millis).filter(|time| *time > 0);
    let cpus = match count(8)? {
        0 => count(5)?,
        asked => asked,
    };
    let word = |place: usize| fields.get(place - 1).filter(|it| **it != "-1");
    Ok(TraceJob {
        id,
        name: None,
        submit: Timestamp(submit),
        run: run.ok_or(NoJob::NoRunTime)?,
        estimate,
        cpus: (cpus > 0).then_some(cpus).ok_or(NoJob::NoResources)?,
        gpus: 0,
        gpu_type: None,
        memory: 0,
        user: word(12).copied().unwrap_or_default().into(),
        queue: word(15).copied().unwrap_or_default().into(),
    })
}

/// Milliseconds of some seconds; `None` beyond what a clock can hold.
pub(crate) fn millis(seconds: f64) -> Option<i64> {
    let millis = (seconds * 1000.0).round();
    (millis.abs() < 9e15).then_some(millis as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, want: Expect) {
        let shown = match read_swf(text) {
            Err(error) => error.to_string(),
            Ok(trace) => {
                let mut shown = format!("{:?} | {}\n", trace.processors, trace.left_out);
                for job in &trace.jobs {
                    let TraceJob {
                        id,
                        submit,
                        run,
                        estimate,
                        cpus,
                        ..
                    } = job;
                    let (user, queue) = (&job.user, &job.queue);
                    shown += &format!(
                        "{id}: at {} for {run} of {estimate:?}, {cpus} CPUs, {user} {queue}\n",
                        submit.0
                    );
                }
                shown
            }
        };
        want.assert_eq(&shown);
    }

    #[test]
    fn jobs_stand_in_order_of_submission() {
        check(
            "; MaxProcs: 100\n\n\
             7 20 -1 30 4 -1 -1 8 60 -1 1 3 -1 -1 2 -1 -1 -1\n\
             2 20 -1 30.5 4 -1 -1 -1 -1 -1 1 3 -1 -1 2 -1 -1 -1\n\
             9 10 -1 30 4\n",
            expect![[r"
                Some(100) | 
                9: at 10000 for 30000 of None, 4 CPUs,  
                2: at 20000 for 30500 of None, 4 CPUs, 3 2
                7: at 20000 for 30000 of Some(60000), 8 CPUs, 3 2
            "]],
        );
    }

    #[test]
    fn how_large_the_machine_was() {
        #[track_caller]
        fn check(header: &str, want: Option<u32>) {
            let trace = read_swf(&format!("{header}\n1 0 -1 30 4\n")).expect("a job");
            assert_eq!(trace.processors, want, "{header}");
        }
        check("; MaxProcs: 100", Some(100));
        check(";MaxProcs:100", Some(100));
        check("; maxprocs : 128 (4 of them interactive)", Some(128));
        check("; MaxNodes: 64\n; MaxProcs: 256", Some(256));
        check("; MaxProcs: 256\n; MaxNodes: 64", Some(256));
        check("; MaxNodes: 64", Some(64));
        check("; MaxProcs: -1", None);
        check("; MaxProcs: many", None);
        check("; Note: MaxProcs: 5", None);
    }

    #[test]
    fn what_is_no_job_is_counted() {
        check(
            "1 0 -1 30 4\n1 0\n1 -5 -1 30 4\n1 0 -1 -1 4\n1 0 -1 0 4\n1 0 -1 5 0\n1 0 -1 5 x\n\
             1 1e300 -1 5 4\n1 nan -1 5 4\n",
            expect![[r"
                None | 2 not a job (the first in line 2), 3 no moment of submission (the first in line 3), 2 did not run (the first in line 4), 1 asked for nothing (line 6)
                1: at 0 for 30000 of None, 4 CPUs,  
            "]],
        );
    }

    /// A moment before the first of a log is none; a wait or an end that is not known is -1, as any number
    /// below 0 is.
    #[test]
    fn negative_times() {
        check(
            "1 -10 -1 30 4\n2 0 -7 30 4 -1 -1 4 -60\n3 0 -1 -30 4\n4 5 -1 30 4\n",
            expect![[r"
                None | 1 no moment of submission (line 1), 1 did not run (line 3)
                2: at 0 for 30000 of None, 4 CPUs,  
                4: at 5000 for 30000 of None, 4 CPUs,  
            "]],
        );
    }

    #[test]
    fn a_million_lines_of_garbage() {
        let text = "x1 # \u{fffd} -- 7\n".repeat(1_000_000);
        let error = read_swf(&text).expect_err("no line of it is a job");
        assert_eq!(
            error.to_string(),
            "no line of it is a job: 1000000 not a job (the first in line 1)"
        );
    }

    #[test]
    fn a_file_without_jobs_is_no_trace() {
        check("", expect!["no line of it is a job"]);
        check(
            "#!/bin/bash\necho hello\n",
            expect!["no line of it is a job: 2 not a job (the first in line 1)"],
        );
    }
}
