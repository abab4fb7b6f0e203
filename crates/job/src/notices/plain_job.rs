//! What is said of a job that is no run.

use super::text::shortened;
use super::{LINES, Notice};
use folder::last_lines;
use model::{JobInfo, JobStateName, MailEvent};
use std::path::Path;

impl Notice {
    /// A message about a job of a batch script.
    #[must_use]
    pub fn of_job(job: &JobInfo, about: MailEvent) -> Notice {
        let id = job.id.to_string();
        let output = job.stdout_path();
        let lines = match about {
            MailEvent::Begin => Vec::new(),
            // A file that is not there has no lines.
            _ => last_lines(Path::new(&output), LINES).unwrap_or_default(),
        };
        let state = job.state.long().to_owned();
        let (event, verb) = match about {
            MailEvent::Begin => ("begin", "has started".to_owned()),
            MailEvent::Requeue => ("requeue", "was requeued".to_owned()),
            MailEvent::TimeLimit => ("timeout", "reached its time limit".to_owned()),
            _ if job.state == JobStateName::Completed => ("done", "is done".to_owned()),
            _ if job.state == JobStateName::Cancelled => ("cancelled", "was cancelled".to_owned()),
            _ => ("failed", format!("failed ({state})")),
        };
        let code = job.exit_code;
        let cause = (event == "failed").then(|| match code.signal_number() {
            0 => format!("{state}, exit code {}", code.code()),
            signal => format!("{state}, signal {signal}"),
        });
        let next = match about {
            MailEvent::Begin => vec![format!("yard logs -f {id}"), format!("scancel {id}")],
            _ => vec![format!("yard logs {id}"), format!("sacct -j {id}")],
        };
        Notice {
            event,
            title: format!("job {id} ({}) {verb} on {}", job.name(), job.cluster),
            name: job.name().to_owned(),
            run: id,
            cluster: job.cluster.to_string(),
            job: job.id,
            restart: job.restarts,
            cause,
            lasted_ms: job.run_time.saturating_mul(1000),
            checkpoint: None,
            rank: 0,
            output: (!lines.is_empty()).then_some(output),
            last_lines: lines.iter().map(|line| shortened(line)).collect(),
            next,
            folder: job.work_dir().into_owned(),
            at_ms: job.now.0,
        }
    }
}
