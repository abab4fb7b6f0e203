//! The files that the jobs of batch scripts write.

use model::{JobRecord, JobState, Timestamp, batch_files};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A file that a job writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFile {
    /// Which file.
    pub path: PathBuf,
    /// The array's element that alone writes it; `None` for a job of no array, and for a file that
    /// all elements write.
    pub element: Option<u32>,
    /// When the first job that writes it began, where that is known.
    pub since: Option<Timestamp>,
    /// All that write it have ended, and none comes; false where that is not known.
    pub is_final: bool,
}

/// What those of the embedded engine's jobs write that have begun: each output before its errors, in
/// the order of their elements.
pub fn output_files<'a>(jobs: impl IntoIterator<Item = &'a JobRecord>) -> Vec<OutputFile> {
    let mut jobs: Vec<&JobRecord> = jobs.into_iter().collect();
    jobs.sort_by_key(|job| (job.first_element(), job.id));
    let waits = |job: &&JobRecord| matches!(job.state, JobState::Pending { .. });
    let all_have_begun = !jobs.iter().any(waits);
    let mut places: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let mut files: Vec<OutputFile> = Vec::new();
    for job in jobs {
        for file in batch_files(job) {
            let path = job.request.chdir.join(sys::odd_text::bytes(&file.name));
            let is_over = !job.state.is_live();
            let place = *places.entry(path.clone()).or_insert(files.len());
            match files.get_mut(place) {
                Some(known) => {
                    known.since = known.since.min(since(job));
                    known.is_final &= is_over;
                }
                None => files.push(OutputFile {
                    path,
                    // Its own file has no other writer to come.
                    is_final: is_over && (file.element.is_some() || all_have_begun),
                    element: file.element,
                    since: since(job),
                }),
            }
        }
    }
    files
}

/// When it began.
fn since(job: &JobRecord) -> Option<Timestamp> {
    match &job.state {
        JobState::Running { since, .. } => Some(*since),
        JobState::Ended { ran, .. } => ran.as_ref().map(|ran| ran.since),
        JobState::Pending { .. } => None,
    }
}
