//! Jobs as `scontrol` names them.

use crate::values::node_list;

/// A job as `scontrol` takes it: `12`, an element `12_3`, a component `12+1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScontrolJob {
    /// The job's or the array's id.
    pub job: u32,
    /// The element.
    pub task: Option<u32>,
    /// One component, where it is heterogeneous.
    pub component: Option<u32>,
}

/// Jobs in `12`, `12_3`, `12_[1-4]`, `12,13`, `[12-14]`. `None`: these are no ids.
#[must_use]
pub fn job_ids(text: &str) -> Option<Vec<ScontrolJob>> {
    let mut depth = 0;
    let mut jobs = Vec::new();
    let parts = text.split(|letter| {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        matches!(letter, ',' | ' ') && depth == 0
    });
    for part in parts.filter(|part| !part.is_empty()) {
        if let Some((leader, component)) = part.split_once('+') {
            jobs.push(ScontrolJob {
                job: leader.parse().ok()?,
                task: None,
                component: Some(component.parse().ok()?),
            });
            continue;
        }
        let (ids, tasks) = match part.split_once('_') {
            None => (part, None),
            Some((ids, tasks)) => (ids, Some(tasks)),
        };
        for id in numbers(ids)? {
            match tasks {
                None => jobs.push(ScontrolJob {
                    job: id,
                    task: None,
                    component: None,
                }),
                Some(tasks) => jobs.extend(numbers(tasks)?.into_iter().map(|task| ScontrolJob {
                    job: id,
                    task: Some(task),
                    component: None,
                })),
            }
        }
    }
    (!jobs.is_empty()).then_some(jobs)
}

/// `7`, `[1-3,7]`
fn numbers(text: &str) -> Option<Vec<u32>> {
    node_list::expand(text)
        .ok()?
        .iter()
        .map(|number| number.as_str().parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_may_be_lists() {
        let text = |text: &str| {
            job_ids(text).map(|jobs| {
                jobs.iter()
                    .map(|job| match job.task {
                        None => job.job.to_string(),
                        Some(task) => format!("{}_{task}", job.job),
                    })
                    .collect::<Vec<_>>()
                    .join(" ")
            })
        };
        assert_eq!(text("12,13_[1-2,4]"), Some("12 13_1 13_2 13_4".to_owned()));
        assert_eq!(text("[3-4]"), Some("3 4".to_owned()));
        assert_eq!(text("abc"), None);
        assert_eq!(text(""), None);
    }
}
