//! Which ended jobs a question is about, decided by SQLite, so that no others are read.

use super::rows::id_list;
use super::{Store, StoreError};
use api::{EndedFilter, JobFilter};
use model::{JobId, JobStateName, Timestamp};
use rusqlite::params_from_iter;
use rusqlite::types::Value;
use std::ops::RangeInclusive;

/// Ended jobs of a filter, or a portion of them.
#[derive(Clone, Debug)]
pub(crate) struct EndedQuery<'a> {
    /// What is asked for; its ids are not looked at.
    pub(crate) filter: &'a JobFilter,
    /// Of these ids alone; an array's stands for its elements.
    pub(crate) ids: Option<&'a [JobId]>,
    /// In this range alone.
    pub(crate) range: RangeInclusive<u32>,
    /// At most so many, those of the lowest ids.
    pub(crate) most: Option<u32>,
}

impl Store {
    /// Ended jobs of a query, in ascending id; none where its filter asks for those that live.
    pub(crate) fn ended(&self, query: &EndedQuery<'_>) -> Result<Vec<sched::Job>, StoreError> {
        let Some(since) = query.filter.ended_since else {
            return Ok(Vec::new());
        };
        let mut terms = Terms::default();
        terms.moments(query, since);
        if let Some(ids) = query.ids {
            terms.add(
                "jobs.id IN (SELECT value FROM json_each(?1) UNION ALL SELECT element.id FROM jobs AS element
                 WHERE element.submission IN (SELECT value FROM json_each(?1)) AND element.task IS NOT NULL)",
                Value::Text(id_list(ids)),
            );
        }
        if let Some(comment) = &query.filter.comment {
            terms.add("jobs.comment = ?1", Value::Text(comment.clone()));
        }
        if let Some(users) = &query.filter.users {
            let numbers = users.iter().filter_map(|user| user.parse::<u32>().ok());
            let numbers: Vec<JobId> = numbers.map(JobId).collect();
            let numbers = terms.value(Value::Text(id_list(&numbers)));
            let names = terms.list(users);
            terms.all.push(format!(
                "(jobs.uid IN (SELECT value FROM json_each({numbers}))
                  OR submissions.user_name IN (SELECT value FROM json_each({names})))"
            ));
        }
        terms.columns(&query.filter.ended);
        let limit = query.most.map_or(-1, i64::from);
        let limit = terms.value(Value::Integer(limit));
        let condition = terms.all.join(" AND ");
        self.jobs(
            &condition,
            &format!("LIMIT {limit}"),
            params_from_iter(terms.values),
        )
    }

    /// The lowest id above one of jobs that ended at or after a moment.
    pub(crate) fn first_ended(
        &self,
        above: JobId,
        since: Timestamp,
    ) -> Result<Option<JobId>, StoreError> {
        let sql = "SELECT min(id) FROM jobs INDEXED BY jobs_ended
                   WHERE live = 0 AND ended_at >= ?1 AND id > ?2";
        let found = self
            .db
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row((since.0, above.0), |row| row.get(0)));
        let id: Option<u32> = found.map_err(|error| self.failed(&error))?;
        Ok(id.map(JobId))
    }
}

/// Terms of a condition, and the values of its parameters.
#[derive(Debug, Default)]
struct Terms {
    all: Vec<String>,
    values: Vec<Value>,
}

impl Terms {
    /// The name of a parameter with this value.
    fn value(&mut self, value: Value) -> String {
        self.values.push(value);
        format!("?{}", self.values.len())
    }

    /// A parameter with these names, as JSON.
    fn list(&mut self, names: &[String]) -> String {
        self.value(Value::Text(serde_json::json!(names).to_string()))
    }

    /// A term in which `?1` is the value.
    fn add(&mut self, term: &str, value: Value) {
        let name = self.value(value);
        self.all.push(term.replace("?1", &name));
    }

    /// A term in which `?1` is one of these names, where they are given.
    fn one_of(&mut self, term: &str, names: Option<&[String]>) {
        if let Some(names) = names {
            let name = self.list(names);
            let one = format!("(SELECT value FROM json_each({name}))");
            self.all.push(term.replace("?1", &one));
        }
    }

    fn moments(&mut self, query: &EndedQuery<'_>, since: Timestamp) {
        self.all.push("jobs.live = 0".to_owned());
        // A sign before a column keeps its index out of use: a portion goes by ids, what is named by its names.
        let is_named = query.ids.is_some() || query.filter.comment.is_some();
        let is_portion = query.most.is_some();
        let sign = |free: bool| if free { "" } else { "+" };
        let ended = sign(!is_named && !is_portion);
        self.add(
            &format!("{ended}jobs.ended_at >= ?1"),
            Value::Integer(since.0),
        );
        let id = sign(!is_named && is_portion);
        let (least, most) = (*query.range.start(), *query.range.end());
        self.add(&format!("{id}jobs.id >= ?1"), Value::Integer(least.into()));
        self.add(&format!("{id}jobs.id <= ?1"), Value::Integer(most.into()));
    }

    fn columns(&mut self, filter: &EndedFilter) {
        if let Some(until) = filter.submitted_until {
            // One that was queued again was submitted before, too: who asks looks at its starts.
            let submitted = "(jobs.submitted_at <= ?1 OR jobs.restarts > 0)";
            self.add(submitted, Value::Integer(until.0));
        }
        self.one_of(
            &of_a_start("jobs.name IN ?1", "name IN ?1"),
            filter.names.as_deref(),
        );
        self.one_of(
            "coalesce(jobs.account, '') IN ?1",
            filter.accounts.as_deref(),
        );
        self.one_of(
            &of_a_start(
                "coalesce(job_starts.partition, jobs.partition) IN ?1",
                "partition IN ?1",
            ),
            filter.partitions.as_deref(),
        );
        self.one_of(
            &of_a_start(
                "jobs.qos IS NULL OR jobs.qos IN ?1",
                "qos IS NULL OR qos IN ?1",
            ),
            filter.qos.as_deref(),
        );
        if let Some(nodes) = &filter.nodes {
            let names = serde_json::json!(nodes).to_string();
            // One that gave back nodes had others before, of which who asks is told too.
            let now = "has_node(jobs.node_list, ?1)
                       OR EXISTS (SELECT 1 FROM former_sizes WHERE job = jobs.id)";
            let on_node = of_a_start(now, "has_node(node_list, ?1)");
            self.add(&on_node, Value::Text(names));
        }
        let states = filter.states.as_ref().map(|states| {
            let names = states.iter().copied().map(JobStateName::long);
            names.map(str::to_owned).collect::<Vec<String>>()
        });
        let in_state = of_a_start("jobs.state IN ?1", "state IN ?1");
        self.one_of(&in_state, states.as_deref());
    }
}

/// A term that holds of a job, or of one of the starts that it had before it was queued again: who asks looks
/// at each of them.
fn of_a_start(job: &str, start: &str) -> String {
    format!(
        "({job} OR jobs.restarts > 0 AND EXISTS (SELECT 1 FROM job_starts WHERE job = jobs.id AND ({start})))"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::NewSubmission;
    use crate::store::write_one::write_one;
    use model::{Allocation, JobState, NodeName, NodeShare, Outcome, Ran, Request};
    use model::{Submitter, WaitStatus};
    use sched::Job;
    use std::sync::Arc;

    const SAID: [Option<&str>; 3] = [None, Some("a"), Some("b")];

    /// Another value of so many for each call with the same number, in all combinations.
    fn draw<T: Clone>(number: &mut u32, values: &[T]) -> T {
        let count = u32::try_from(values.len()).unwrap();
        let value = values[(*number % count) as usize].clone();
        *number /= count;
        value
    }

    fn job(id: u32, mut number: u32) -> Job {
        let (uid, user) = draw(&mut number, &[(1000, "ann"), (1001, "7")]);
        let request = Request {
            name: draw(&mut number, &["a", "b"]).to_owned(),
            account: draw(&mut number, &SAID).map(str::to_owned),
            qos: draw(&mut number, &SAID).map(str::to_owned),
            partition: Some(draw(&mut number, &["a", "a,b"]).to_owned()),
            ..Request::default()
        };
        let submitter = Arc::new(Submitter {
            uid,
            user: user.to_owned(),
            ..Submitter::default()
        });
        let submitted = draw(&mut number, &[10, 20]);
        let mut job = Job::submitted(JobId(id), request, submitter, Timestamp(submitted));
        let status = WaitStatus(256);
        let outcomes = [
            Outcome::Completed,
            Outcome::Failed { status },
            Outcome::ScriptLost,
            Outcome::Timeout { status },
            Outcome::Deadline,
        ];
        let at = Timestamp(draw(&mut number, &[30, 40]));
        let share = |name: NodeName| NodeShare {
            node: name,
            cpus: vec![0],
            memory: 1,
            gpus: Vec::new(),
            tasks: 1,
        };
        let nodes = draw(&mut number, &["n1", "n[9-12],m1"]);
        let nodes = model::node_list::expand(nodes).unwrap();
        let allocation = Allocation {
            nodes: nodes.into_iter().map(share).collect(),
        };
        let outcome = draw(&mut number, &outcomes);
        let ran = (outcome != Outcome::Deadline).then_some(Ran {
            since: Timestamp(25),
            allocation,
            limit: None,
            suspended_ms: 0,
        });
        job.partition = ran.is_some().then(|| draw(&mut number, &["a", "b"]).into());
        job.state = JobState::Ended { outcome, at, ran };
        job
    }

    fn write(store: &mut Store, job: &Job) {
        let submission = NewSubmission {
            job: job.id,
            token: job.id.to_string(),
            submitter: Arc::clone(&job.submitter),
            umask: 0o022,
            arguments: Vec::new(),
            request: serde_json::to_string(&*job.request).unwrap(),
            script: None,
            environment: "[]".to_owned(),
            own_environment: "[]".to_owned(),
        };
        let mut before = job.clone();
        if let JobState::Ended { ran: Some(ran), .. } = &job.state {
            before.state = JobState::Running {
                since: ran.since,
                allocation: ran.allocation.clone(),
                limit: None,
                ending: None,
                suspension: None,
                held: None,
                end_moved_ms: 0,
            };
        }
        write_one(store, Some(&submission), &before);
        write_one(store, None, job);
    }

    /// What a filter means, said of a job that was read.
    fn is_wanted(filter: &JobFilter, job: &Job) -> bool {
        let JobState::Ended { outcome, at, ran } = &job.state else {
            return false;
        };
        let one_of = |names: &Option<Vec<String>>, name: Option<&str>| {
            let name = name.unwrap_or_default();
            names
                .as_ref()
                .is_none_or(|names| names.iter().any(|it| it == name))
        };
        let request = &job.request;
        let partition = job.partition.as_deref().or(request.partition.as_deref());
        let state = JobStateName::of_outcome(outcome);
        let EndedFilter {
            submitted_until,
            names,
            accounts,
            partitions,
            qos,
            nodes,
            states,
        } = &filter.ended;
        let held = ran.as_ref().map(|ran| ran.allocation.nodes.as_slice());
        filter.ended_since.is_some_and(|since| *at >= since)
            && filter.wants(&job.submitter, request.rare.comment.as_deref())
            && submitted_until.is_none_or(|until| job.submitted <= until || job.restarts > 0)
            && one_of(names, Some(&request.name))
            && one_of(accounts, request.account.as_deref())
            && one_of(partitions, partition)
            && (request.qos.is_none() || one_of(qos, request.qos.as_deref()))
            && nodes.as_ref().is_none_or(|nodes| {
                let mut held = held.unwrap_or_default().iter();
                held.any(|share| nodes.contains(&share.node))
            })
            && states.as_ref().is_none_or(|states| states.contains(&state))
    }

    #[test]
    fn a_query_finds_what_its_filter_says_of_each_job() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("store.sqlite"), None).unwrap();
        // Of 5760 combinations some, spread over all.
        let jobs: Vec<Job> = (1..=360).map(|id| job(id, id * 7919 % 5760)).collect();
        for job in &jobs {
            write(&mut store, job);
        }
        let some = |texts: &[&str]| Some(texts.iter().map(|it| (*it).to_owned()).collect());
        let lists: [Option<Vec<String>>; 4] = [None, some(&["a"]), some(&["", "b"]), some(&[])];
        let users = [None, some(&["ann"]), some(&["1001"]), some(&["7", "ann"])];
        let states = [
            None,
            Some(vec![JobStateName::Failed]),
            Some(vec![JobStateName::Deadline, JobStateName::Completed]),
            Some(vec![JobStateName::Running]),
        ];
        let named = |list: &str| Some(model::node_list::expand(list).unwrap());
        let nodes = [None, named("n[1,11]"), named("n[10-11]"), named("n2,m10")];
        let (mut found_some, mut left_some_out) = (0, 0);
        for case in 0..400_u32 {
            let mut number = case * 104_729 % (4_u32.pow(7) * 6);
            let filter = JobFilter {
                ended_since: Some(Timestamp(draw(&mut number, &[0, 35]))),
                users: draw(&mut number, &users),
                ended: EndedFilter {
                    names: draw(&mut number, &lists),
                    accounts: draw(&mut number, &lists),
                    partitions: draw(&mut number, &lists),
                    qos: draw(&mut number, &lists),
                    nodes: draw(&mut number, &nodes),
                    states: draw(&mut number, &states),
                    submitted_until: draw(
                        &mut number,
                        &[None, Some(Timestamp(10)), Some(Timestamp(0))],
                    ),
                },
                ..JobFilter::default()
            };
            let want = jobs.iter().filter(|job| is_wanted(&filter, job));
            let want: Vec<JobId> = want.map(|job| job.id).collect();
            let ids = |range: RangeInclusive<u32>, most: Option<u32>| -> Vec<JobId> {
                let query = EndedQuery {
                    filter: &filter,
                    ids: None,
                    range,
                    most,
                };
                store
                    .ended(&query)
                    .unwrap()
                    .iter()
                    .map(|job| job.id)
                    .collect()
            };
            assert_eq!(ids(0..=u32::MAX, None), want, "{filter:?}");
            let portion: Vec<JobId> = want
                .iter()
                .copied()
                .filter(|id| id.0 > 50)
                .take(3)
                .collect();
            assert_eq!(ids(51..=u32::MAX, Some(3)), portion, "{filter:?}");
            found_some += usize::from(!want.is_empty());
            left_some_out += usize::from(want.len() < jobs.len());
        }
        assert!(
            found_some > 20 && left_some_out > 300,
            "{found_some} {left_some_out}"
        );
    }

    #[test]
    fn a_job_that_was_queued_again_is_found_by_each_of_its_starts() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("store.sqlite"), None).unwrap();
        let ended = job(1, 0);
        write(&mut store, &ended);
        // Its first start, in another partition, on another node, with another end.
        let requeued = "UPDATE jobs SET restarts = 1;
            UPDATE job_starts SET restart = 1;
            INSERT INTO job_starts (job, restart, partition, qos, state, submitted_at, started_at, node_list, shares)
            VALUES (1, 0, 'first', 'high', 'REQUEUED', 1, 2, 'old[1-2]', '[]');";
        store.db.execute_batch(requeued).unwrap();
        let finds = |ended: EndedFilter| {
            let filter = JobFilter {
                ended,
                ..JobFilter::of(&[])
            };
            let query = EndedQuery {
                filter: &filter,
                ids: None,
                range: 0..=9,
                most: None,
            };
            !store.ended(&query).unwrap().is_empty()
        };
        let by_partition = |name: &str| {
            finds(EndedFilter {
                partitions: Some(vec![name.to_owned()]),
                ..EndedFilter::default()
            })
        };
        let by_node = |names: &str| {
            finds(EndedFilter {
                nodes: Some(model::node_list::expand(names).unwrap()),
                ..EndedFilter::default()
            })
        };
        let by_state = |state: JobStateName| {
            finds(EndedFilter {
                states: Some(vec![state]),
                ..EndedFilter::default()
            })
        };
        let now = ended.partition.as_deref().unwrap();
        assert!(by_partition("first") && by_partition(now) && !by_partition("none"));
        assert!(by_node("old2") && by_node("n1") && !by_node("old3"));
        assert!(by_state(JobStateName::Requeued) && by_state(JobStateName::Completed));
        assert!(!by_state(JobStateName::Failed));
    }

    #[test]
    fn an_id_stands_for_a_job_and_the_first_one_ended_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("store.sqlite"), None).unwrap();
        for id in 1..=9 {
            write(&mut store, &job(id, 0));
        }
        let filter = JobFilter::of(&[]);
        let query = EndedQuery {
            filter: &filter,
            ids: Some(&[JobId(3), JobId(7), JobId(11)]),
            range: 4..=9,
            most: None,
        };
        let found = store.ended(&query).unwrap();
        assert_eq!(found.iter().map(|job| job.id.0).collect::<Vec<u32>>(), [7]);
        let first = |above, since| store.first_ended(JobId(above), Timestamp(since)).unwrap();
        assert_eq!(first(0, 30), Some(JobId(1)));
        assert_eq!(first(4, 30), Some(JobId(5)));
        assert_eq!(first(0, 31), None);
    }
}
