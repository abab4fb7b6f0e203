//! Where the batch script of a job writes on the embedded engine, by its `--output` and `--error`.
//! `scontrol show job` knows fewer codes of a pattern: see `job_files`.

use crate::records::{ArrayPlace, ArrayTask, JobRecord, JobState};
use crate::values::file_pattern::{PatternContext, file_name};
use crate::values::{JobId, StepId};

/// The pattern of the output of a job that names none.
#[must_use]
pub fn default_output(of_array: bool) -> &'static str {
    if of_array {
        "slurm-%A_%a.out"
    } else {
        "slurm-%j.out"
    }
}

/// One file of a batch script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchFile {
    /// Its name; a relative one lies in the job's working directory.
    pub name: String,
    /// The array's element that alone writes it.
    pub element: Option<u32>,
}

/// The output and, where that is another file, the errors of a job that has begun; none of one that
/// has not, and of one without a batch script.
#[must_use]
pub fn batch_files(record: &JobRecord) -> Vec<BatchFile> {
    let allocation = match &record.state {
        JobState::Running { allocation, .. } => Some(allocation),
        JobState::Ended { ran, .. } => ran.as_ref().map(|ran| &ran.allocation),
        JobState::Pending { .. } => None,
    };
    let Some(first) = allocation.and_then(|allocation| allocation.nodes.first()) else {
        return Vec::new();
    };
    if !record.batch {
        return Vec::new();
    }
    let element = record.array.as_ref().and_then(element);
    let name = |pattern: &str, job: JobId, array: Option<(JobId, u32)>| {
        let context = PatternContext {
            job,
            array,
            step: StepId::Batch,
            node: first.node.as_str(),
            node_index: 0,
            task: 0,
            user: &record.submitter.user,
            job_name: &record.request.name,
        };
        file_name(pattern, &context)
    };
    let file = |pattern: &str| {
        let own = name(pattern, record.id, element);
        // Another element of the array, to see whether its file is another one.
        let next = element.map(|(array, task)| (array, task.wrapping_add(1)));
        let is_own = name(pattern, JobId(record.id.0.wrapping_add(1)), next) != own;
        BatchFile {
            name: own,
            element: element.map(|(_, task)| task).filter(|_| is_own),
        }
    };
    let output = record.request.output.as_deref();
    let output = file(output.unwrap_or(default_output(element.is_some())));
    let errors = record.request.rare.error.as_deref().map(file);
    let errors = errors.filter(|errors| errors.name != output.name);
    [Some(output), errors].into_iter().flatten().collect()
}

fn element(place: &ArrayPlace) -> Option<(JobId, u32)> {
    match place.task {
        ArrayTask::One(task) => Some((place.array_job, task)),
        ArrayTask::Waiting(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{PendingReason, testing};
    use crate::requests::Request;
    use crate::values::{Allocation, ArraySpec, NodeName, NodeShare, Timestamp};

    fn record(output: Option<&str>, error: Option<&str>, task: Option<ArrayTask>) -> JobRecord {
        let mut request = Request {
            name: "train".to_owned(),
            output: output.map(str::to_owned),
            ..Request::default()
        };
        request.rare.error = error.map(str::to_owned);
        let mut record = testing::job(request, task);
        record.state = JobState::Running {
            since: Timestamp(0),
            allocation: Allocation {
                nodes: ["n3", "n4"].map(share).to_vec(),
            },
            limit: None,
            ending: None,
            suspension: None,
            held: None,
            end_moved_ms: 0,
        };
        record
    }

    fn share(node: &str) -> NodeShare {
        NodeShare {
            node: NodeName::new(node),
            cpus: vec![0],
            memory: 1,
            gpus: Vec::new(),
            tasks: 1,
        }
    }

    #[track_caller]
    fn check(record: &JobRecord, want: &[(&str, Option<u32>)]) {
        let found = batch_files(record);
        let found = found.iter().map(|file| (file.name.as_str(), file.element));
        assert_eq!(found.collect::<Vec<_>>(), want);
    }

    #[test]
    fn of_a_job() {
        check(&record(None, None, None), &[("slurm-45.out", None)]);
        check(
            &record(Some("%u/%x-%N-%n.log"), Some("%s-%t.%J"), None),
            &[("dave/train-n3-0.log", None), ("batch-0.45", None)],
        );
        check(&record(Some("/o"), Some("/o"), None), &[("/o", None)]);
    }

    #[test]
    fn of_an_element() {
        let one = Some(ArrayTask::One(4));
        check(
            &record(None, Some("all.err"), one.clone()),
            &[("slurm-42_4.out", Some(4)), ("all.err", None)],
        );
        check(&record(Some("%A"), None, one.clone()), &[("42", None)]);
        check(&record(Some("%j"), None, one), &[("45", Some(4))]);
    }

    #[test]
    fn what_has_not_begun_and_what_has_no_script_writes_none() {
        let mut waits = record(None, None, None);
        waits.state = JobState::Pending {
            reason: PendingReason::None,
        };
        check(&waits, &[]);
        let mut allocation = record(None, None, None);
        allocation.batch = false;
        check(&allocation, &[]);
        let spec = ArraySpec {
            indices: vec![1],
            step: 1,
            throttle: None,
        };
        let mut together = record(None, None, Some(ArrayTask::Waiting(spec)));
        together.state = waits.standing.state;
        check(&together, &[]);
    }
}
