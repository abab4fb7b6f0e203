//! Where a job stands in its array, as views tell it.

use crate::records::{ArrayTask, JobRecord};

/// A job's place in an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayInfo {
    /// The array's id.
    pub job: u32,
    /// One element, or those that wait.
    pub task: ArrayTaskInfo,
    /// At most so many at once.
    pub throttle: Option<u32>,
}

/// One element, or those that wait together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrayTaskInfo {
    /// One.
    One(u32),
    /// Those that wait, ascending.
    Waiting(Vec<u32>),
}

impl ArrayInfo {
    /// That of a job; none where it is no element.
    pub(crate) fn of(record: &JobRecord) -> Option<ArrayInfo> {
        let place = record.array.as_ref()?;
        let task = match &place.task {
            ArrayTask::One(task) => ArrayTaskInfo::One(*task),
            ArrayTask::Waiting(spec) => ArrayTaskInfo::Waiting(spec.indices.clone()),
        };
        Some(ArrayInfo {
            job: place.array_job.0,
            task,
            throttle: place.throttle,
        })
    }
}
