//! What the embedded engine says of a job of no run, or of an array's rows.

use crate::failure::{Failure, FailureKind, not_done};
use crate::slurm::connection;
use api::JobFilter;
use model::{JobId, JobInfo, JobRecord, batch_files};
use std::path::PathBuf;

/// One row.
pub struct JobRow {
    /// As Slurm tells of it.
    pub info: JobInfo,
    /// The array's element that it is; none of several that wait together.
    pub element: Option<u32>,
    /// Its output and, where that is another file, its errors: those that it writes, or of one that
    /// has not begun what is known of their names.
    pub files: Vec<PathBuf>,
}

/// The rows in the order of their elements.
pub fn job_rows(cluster: &str, job: JobId, element: Option<u32>) -> Result<Vec<JobRow>, Failure> {
    let failure = |failure: connection::CommandError| {
        Failure::new(FailureKind::Unreachable, failure.to_string())
    };
    let mut client = connection::connect_to(cluster).map_err(failure)?;
    let facts =
        connection::view_facts_of(cluster.to_owned(), Some(&mut client)).map_err(failure)?;
    let mut records = client.jobs(JobFilter::of(&[job])).map_err(not_done)?;
    records.retain(|record| record.is_element(element));
    records.sort_by_key(|record| (record.first_element(), record.id));
    let row = |record: &JobRecord| {
        let info = JobInfo::of(record, &facts);
        let place = record.array.as_ref();
        JobRow {
            element: place
                .filter(|place| place.task.count() == 1)
                .and_then(|place| place.task.first()),
            files: files(record, &info),
            info,
        }
    };
    Ok(records.iter().map(row).collect())
}

fn files(record: &JobRecord, info: &JobInfo) -> Vec<PathBuf> {
    let written = batch_files(record);
    if !written.is_empty() {
        let path = |name: &str| record.request.chdir.join(sys::odd_text::bytes(name));
        return written.iter().map(|file| path(&file.name)).collect();
    }
    let mut paths = vec![info.stdout_path(), info.stderr_path()];
    paths.dedup();
    paths.retain(|path| !path.is_empty());
    paths.into_iter().map(PathBuf::from).collect()
}

/// Whether it ever ran: one that was cancelled before has no output.
pub fn has_begun(info: &JobInfo) -> bool {
    !info.is_pending() && info.allocation.is_some()
}
