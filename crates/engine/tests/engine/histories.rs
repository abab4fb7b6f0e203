//! Many histories: they are answered in portions.

use crate::Test;
use crate::house::House;
use api::{Answer, Call, CancelRequest, Client, JobFilter, Selector};
use model::{JobHistory, JobId, JobState, Timestamp};

pub const TESTS: &[Test] = &[
    (
        "histories::another_call_is_answered_between_two_portions",
        another_call_is_answered_between_two_portions,
    ),
    (
        "histories::an_old_job_that_lives_has_no_ids_behind_it_looked_at",
        an_old_job_that_lives_has_no_ids_behind_it_looked_at,
    ),
];

/// How many jobs the engine answers at once.
const PORTION: u32 = 2000;

fn held(house: &House, client: &mut Client) -> JobId {
    let mut submission = house.script("true");
    submission.request.hold = true;
    client.submit(submission).unwrap()
}

fn cancel(client: &mut Client, job: JobId) {
    let request = CancelRequest {
        selector: Selector::Job(job),
        signal: None,
        batch: false,
        full: false,
    };
    client.cancel(request).unwrap();
}

fn has_ended(history: &JobHistory) -> bool {
    matches!(history.job.state, JobState::Ended { .. })
}

fn another_call_is_answered_between_two_portions() {
    let house = House::new();
    let (mut asks, mut other) = (house.client(), house.client());
    let jobs: Vec<JobId> = (0..PORTION + 2).map(|_| held(&house, &mut other)).collect();
    cancel(&mut other, jobs[0]);
    let filter = JobFilter {
        ended_since: Some(Timestamp(0)),
        ..JobFilter::default()
    };
    let mut portion = |after| {
        let call = Call::Histories {
            filter: filter.clone(),
            after,
            most: u32::MAX,
            whole: false,
        };
        match asks.call(&call).unwrap() {
            Answer::Histories { jobs, rest_after } => (jobs.0, rest_after),
            answer => panic!("{answer:?}"),
        }
    };
    let (first, rest) = portion(JobId(0));
    assert_eq!(first.len(), PORTION as usize);
    assert!(has_ended(&first[0]) && !has_ended(&first[1]));
    // What is done in between is in the next portion: a job ends, and another one comes.
    cancel(&mut other, jobs[1]);
    cancel(&mut other, jobs[PORTION as usize]);
    let last = held(&house, &mut other);
    let (second, none) = portion(rest.expect("there are others"));
    assert_eq!(none, None);
    let ids = |histories: &[JobHistory]| -> Vec<JobId> {
        histories.iter().map(|history| history.job.id).collect()
    };
    let all = [jobs.clone(), vec![last]].concat();
    assert_eq!([ids(&first), ids(&second)].concat(), all);
    assert!(has_ended(&second[0]) && !has_ended(&second[1]));
    // A client puts them together.
    assert_eq!(ids(&other.histories(filter.clone()).unwrap()), all);
    let jobs_of = |client: &mut Client, filter: &JobFilter| -> Vec<JobId> {
        let jobs = client.jobs(filter.clone()).unwrap().into_iter();
        jobs.map(|job| job.id).collect()
    };
    assert_eq!(jobs_of(&mut other, &filter), all);
    let first = Call::Jobs {
        filter: filter.clone(),
        after: Some(JobId(0)),
        whole: false,
    };
    match other.call(&first).unwrap() {
        Answer::Jobs { jobs, rest_after } => {
            assert_eq!(jobs.0.len(), PORTION as usize);
            assert_eq!(rest_after, Some(jobs.0[PORTION as usize - 1].id));
        }
        answer => panic!("{answer:?}"),
    }
    let named = JobFilter {
        ids: Some(jobs.clone()),
        ..filter.clone()
    };
    assert_eq!(ids(&other.histories(named).unwrap()), jobs);
    let ended = JobFilter {
        users: Some(vec!["none of these".to_owned()]),
        ..filter
    };
    assert_eq!(ids(&other.histories(ended).unwrap()), []);
}

/// Portions are of 20,000 ids at most, between which others are answered.
fn an_old_job_that_lives_has_no_ids_behind_it_looked_at() {
    let house = House::new();
    let mut client = house.client();
    let old = held(&house, &mut client);
    house.kill_engine(&client);
    // Ids go on above those that a folder names.
    std::fs::create_dir_all(house.dir().join("jobs/1000000")).unwrap();
    let mut client = house.client();
    let young = held(&house, &mut client);
    assert!(young.0 > 1_000_000, "{young}");
    let (mut portions, mut after, mut found) = (0, Some(JobId(0)), Vec::new());
    while after.is_some() {
        let call = Call::Jobs {
            filter: JobFilter {
                ended_since: Some(Timestamp(0)),
                ..JobFilter::default()
            },
            after,
            whole: false,
        };
        match client.call(&call).unwrap() {
            Answer::Jobs { jobs, rest_after } => {
                found.extend(jobs.0.iter().map(|job| job.id));
                after = rest_after;
            }
            answer => panic!("{answer:?}"),
        }
        portions += 1;
    }
    assert_eq!(found, [old, young]);
    assert!(portions <= 3, "{portions} portions");
}
