//! Traces that are tables of comma-separated values: a plain one, and two public ones of GPU
//! clusters. Which one it is, its columns say.

use super::swf::millis;
use super::trace::{LeftOut, Moments, NoJob, NoTrace, Trace, TraceJob};
use csv::{ReaderBuilder, StringRecord};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use model::Timestamp;

/// The kinds of tables, by the columns that tell them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `submit`, `run` and what was asked for; the others may be missing.
    Plain,
    /// Microsoft's Philly: `timestamp`, `duration`, `num_gpus`, `cluster`.
    Philly,
    /// Alibaba's pods of 2023: `cpu_milli`, `creation_time`, `deletion_time`, …
    Pods,
}

/// Reads a table whose first line names its columns.
///
/// A plain one has `submit` and `run` in seconds, and of `cpus`, `gpus`, `gpu_type`, `memory`
/// (MiB), `estimate` (seconds), `user`, `queue` and `job` what there is.
///
/// # Errors
/// A column that is needed is missing, or no line is a job.
pub fn read_table(text: &str) -> Result<Trace, NoTrace> {
    let mut reader = ReaderBuilder::new()
        .flexible(true)
        .from_reader(text.as_bytes());
    let columns = reader.headers().cloned().unwrap_or_default();
    let columns = Columns(columns.iter().map(|name| name.trim().to_owned()).collect());
    let kind = if columns.place("num_gpus").is_some() {
        Kind::Philly
    } else if columns.place("cpu_milli").is_some() {
        Kind::Pods
    } else {
        Kind::Plain
    };
    for needed in needed(kind) {
        if columns.place(needed).is_none() {
            return Err(NoTrace::NoColumn {
                missing: needed,
                there: columns.0,
            });
        }
    }
    if kind == Kind::Plain && columns.place("cpus").is_none() && columns.place("gpus").is_none() {
        let unknown = columns.0.into_iter();
        let unknown = unknown.filter(|name| !PLAIN.contains(&&name[..])).collect();
        return Err(NoTrace::NoSize { unknown });
    }
    let moments = match kind {
        Kind::Philly => Moments::DateTime,
        Kind::Plain | Kind::Pods => Moments::Seconds,
    };
    let mut jobs = Vec::new();
    let mut left_out = LeftOut::default();
    for (index, record) in reader.into_records().enumerate() {
        let line = index + 2;
        let row = record.as_ref().map_err(|_unreadable| NoJob::Unreadable);
        let job = row.and_then(|record| {
            let row = Row {
                columns: &columns,
                record,
            };
            match kind {
                Kind::Plain => plain(&row, line),
                Kind::Philly => philly(&row, line),
                Kind::Pods => pod(&row, line),
            }
        });
        match job {
            Ok(job) if job.cpus == 0 && job.gpus == 0 => left_out.add(line, NoJob::NoResources),
            Ok(job) if job.run <= 0 => left_out.add(line, NoJob::NoRunTime),
            Ok(job) => jobs.push(job),
            Err(why) => left_out.add(line, why),
        }
    }
    Trace::new(jobs, None, moments, left_out)
}

/// The columns of a plain table.
const PLAIN: &[&str] = &[
    "job", "submit", "run", "cpus", "gpus", "gpu_type", "memory", "estimate", "user", "queue",
];

fn needed(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Plain => &["submit", "run"],
        Kind::Philly => &["timestamp", "duration", "num_gpus"],
        Kind::Pods => &[
            "cpu_milli",
            "num_gpu",
            "creation_time",
            "deletion_time",
            "scheduled_time",
        ],
    }
}

struct Columns(Vec<String>);

impl Columns {
    fn place(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|column| column == name)
    }
}

struct Row<'a> {
    columns: &'a Columns,
    record: &'a StringRecord,
}

impl Row<'_> {
    /// A cell; empty where the column or the cell is missing.
    fn text(&self, column: &str) -> &str {
        let place = self.columns.place(column);
        place
            .and_then(|it| self.record.get(it))
            .unwrap_or_default()
            .trim()
    }

    /// A number; `None` where the cell is empty or negative.
    fn number(&self, column: &'static str) -> Result<Option<f64>, NoJob> {
        let text = self.text(column);
        if text.is_empty() {
            return Ok(None);
        }
        let value: f64 = text.parse().map_err(|_no_number| NoJob::NoNumber(column))?;
        Ok((value.is_finite() && value >= 0.0).then_some(value))
    }

    fn millis(&self, column: &'static str) -> Result<Option<i64>, NoJob> {
        Ok(self.number(column)?.and_then(millis))
    }

    fn count(&self, column: &'static str) -> Result<u32, NoJob> {
        Ok(self.number(column)?.map_or(0, |value| value.ceil() as u32))
    }

    fn word(&self, column: &str) -> Option<Box<str>> {
        let text = self.text(column);
        (!text.is_empty()).then(|| text.into())
    }
}

fn plain(row: &Row<'_>, line: usize) -> Result<TraceJob, NoJob> {
    let id: Option<u64> = row.text("job").parse().ok();
    Ok(TraceJob {
        id: id.unwrap_or(line as u64),
        name: row.word("job").filter(|_| id.is_none()),
        submit: Timestamp(row.millis("submit")?.ok_or(NoJob::Submit)?),
        run: row.millis("run")?.ok_or(NoJob::NoRunTime)?,
        estimate: row.millis("estimate")?.filter(|time| *time > 0),
        cpus: row.count("cpus")?,
        gpus: row.count("gpus")?,
        gpu_type: row.word("gpu_type"),
        memory: u64::from(row.count("memory")?),
        user: row.text("user").into(),
        queue: row.text("queue").into(),
    })
}

fn philly(row: &Row<'_>, line: usize) -> Result<TraceJob, NoJob> {
    let text = row.text("timestamp");
    let moment: DateTime = text.parse().map_err(|_no_moment| NoJob::Submit)?;
    let moment = moment
        .to_zoned(TimeZone::UTC)
        .map_err(|_no_moment| NoJob::Submit)?;
    Ok(TraceJob {
        id: line as u64,
        name: None,
        submit: Timestamp(moment.timestamp().as_millisecond()),
        run: row.millis("duration")?.ok_or(NoJob::NoRunTime)?,
        estimate: None,
        cpus: 0,
        gpus: row.count("num_gpus")?,
        gpu_type: None,
        memory: 0,
        user: "".into(),
        queue: row.text("cluster").into(),
    })
}

/// A pod that was never placed has no run time. A part of a GPU counts as a whole one: it is not
/// shared between jobs.
fn pod(row: &Row<'_>, line: usize) -> Result<TraceJob, NoJob> {
    let began = row.millis("scheduled_time")?.ok_or(NoJob::NoRunTime)?;
    let ended = row.millis("deletion_time")?.ok_or(NoJob::NoRunTime)?;
    let milli = row.number("cpu_milli")?.unwrap_or_default();
    Ok(TraceJob {
        id: line as u64,
        name: row.word("name"),
        submit: Timestamp(row.millis("creation_time")?.ok_or(NoJob::Submit)?),
        run: ended - began,
        estimate: None,
        cpus: (milli / 1000.0).ceil() as u32,
        gpus: row.count("num_gpu")?,
        // `V100M16|V100M32`: any of them.
        gpu_type: row.word("gpu_spec").filter(|types| !types.contains('|')),
        memory: row.number("memory_mib")?.unwrap_or_default() as u64,
        user: "".into(),
        queue: row.text("qos").into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, want: Expect) {
        let shown = match read_table(text) {
            Err(error) => error.to_string(),
            Ok(trace) => {
                let mut shown = format!("{:?} | {}\n", trace.moments, trace.left_out);
                for job in &trace.jobs {
                    shown += &format!(
                        "{} {:?}: at {} for {} of {:?}, {} CPUs, {} GPUs {:?}, {} MiB, {} {}\n",
                        job.id,
                        job.name,
                        job.submit.0,
                        job.run,
                        job.estimate,
                        job.cpus,
                        job.gpus,
                        job.gpu_type,
                        job.memory,
                        job.user,
                        job.queue
                    );
                }
                shown
            }
        };
        want.assert_eq(&shown);
    }

    #[test]
    fn a_plain_table() {
        check(
            "job, submit,run,gpus,gpu_type,user\n5,10,2.5,4,v100,ann\nnightly,3,1,1,,\n6,x,1,1,,\n7,1,1,0,,\n8,1\n",
            expect![[r#"
                Seconds | 1 no number in `submit` (line 4), 1 did not run (line 6), 1 asked for nothing (line 5)
                3 Some("nightly"): at 3000 for 1000 of None, 0 CPUs, 1 GPUs None, 0 MiB,  
                5 None: at 10000 for 2500 of None, 0 CPUs, 4 GPUs Some("v100"), 0 MiB, ann 
            "#]],
        );
    }

    #[test]
    fn a_column_that_is_not_known_or_no_number_is_named() {
        check(
            "submit,run,cpu\n0,10,1\n",
            expect!["its table has no column `cpus` or `gpus`; not known: cpu"],
        );
        check(
            "submit,run,cpus\n0,abc,1\n",
            expect!["no line of it is a job: 1 no number in `run` (line 2)"],
        );
    }

    #[test]
    fn negative_times() {
        check(
            "submit,run,cpus,estimate\n-5,10,1,20\n0,-10,1,20\n0,10,1,-20\n",
            expect![[r#"
                Seconds | 1 no moment of submission (line 2), 1 did not run (line 3)
                4 None: at 0 for 10000 of None, 1 CPUs, 0 GPUs None, 0 MiB,  
            "#]],
        );
    }

    #[test]
    fn the_public_ones() {
        check(
            "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,11cb48\nsoon,1,1,1,a\n",
            expect![[r"
                DateTime | 1 no moment of submission (line 3)
                2 None: at 1507532515000 for 66000 of None, 0 CPUs, 1 GPUs None, 0 MiB,  11cb48
            "]],
        );
        check(
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n\
             p0,11400,12288,1,460,,LS,Running,427061,12902960,427071\n\
             p1,1000,1,2,1000,T4,BE,Pending,427061,12902960,\n",
            expect![[r#"
                Seconds | 1 did not run (line 3)
                2 Some("p0"): at 427061000 for 12475889000 of None, 12 CPUs, 1 GPUs None, 12288 MiB,  LS
            "#]],
        );
    }

    #[test]
    fn a_table_that_lacks_a_column_says_which() {
        check(
            "job,start,end\n1,2,3\n",
            expect!["its table has no column `submit`; its columns are job, start, end"],
        );
        check(
            "",
            expect!["its table has no column `submit`; its columns are "],
        );
    }
}
