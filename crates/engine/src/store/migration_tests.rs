//! Stores of earlier versions, opened by this one. `tests/engine/old_stores/make` made the stores.

use super::{EndedQuery, StepRow, Store, StoreError};
use api::{EndedFilter, JobFilter};
use expect_test::expect;
use model::{ArrayTask, JobId, JobState, JobStateName, Timestamp};
use rusqlite::Connection;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

pub(super) const SCHEMA_3: &[u8] = include_bytes!("../../tests/engine/old_stores/schema3.sqlite");
pub(super) const SCHEMA_4: &[u8] = include_bytes!("../../tests/engine/old_stores/schema4.sqlite");
const SCHEMA_11: &[u8] = include_bytes!("../../tests/engine/old_stores/schema11.sqlite");
pub(super) const SCHEMA_12: &[u8] = include_bytes!("../../tests/engine/old_stores/schema12.sqlite");
const SCHEMA_14: &[u8] = include_bytes!("../../tests/engine/old_stores/schema14.sqlite");
pub(super) const SCHEMA_18: &[u8] = include_bytes!("../../tests/engine/old_stores/schema18.sqlite");
const SCHEMA_19: &[u8] = include_bytes!("../../tests/engine/old_stores/schema19.sqlite");
const SCHEMA_20: &[u8] = include_bytes!("../../tests/engine/old_stores/schema20.sqlite");
const SCHEMA_21: &[u8] = include_bytes!("../../tests/engine/old_stores/schema21.sqlite");

pub(super) fn copy(store: &[u8], folder: &Path) -> PathBuf {
    let path = folder.join("store.sqlite");
    std::fs::write(&path, store).unwrap();
    path
}

/// All that a store knows of its jobs, a line each.
fn all(store: &Store) -> String {
    let mut jobs = store.saved().unwrap().live;
    jobs.extend(store.ended_since(Timestamp(0)).unwrap());
    jobs.sort_by_key(|job| job.id);
    jobs.iter().for_each(|job| found_by_its_columns(store, job));
    let mut text = String::new();
    for job in &jobs {
        writeln!(text, "{}", line(job)).unwrap();
        for step in store.steps(job.id, job.restarts).unwrap() {
            let StepRow { record, holds, .. } = step;
            let nodes = &record.nodes[0].node;
            writeln!(
                text,
                "  {} {} {nodes} {:?} {}",
                record.step,
                record.name,
                record.state,
                holds.len()
            )
            .unwrap();
        }
    }
    text
}

/// What is searched by says of an ended job what is read of it.
fn found_by_its_columns(store: &Store, job: &sched::Job) {
    let JobState::Ended { ran, .. } = &job.state else {
        return;
    };
    let request = &job.request;
    let one = |text: Option<&str>| Some(vec![text.unwrap_or_default().to_owned()]);
    let partition = job.partition.as_deref().or(request.partition.as_deref());
    let filter = JobFilter {
        users: one(Some(&job.submitter.user)),
        ended: EndedFilter {
            submitted_until: Some(job.submitted),
            names: one(Some(&request.name)),
            accounts: one(request.account.as_deref()),
            partitions: partition.and_then(|partition| one(Some(partition))),
            qos: one(request.qos.as_deref()),
            nodes: ran
                .as_ref()
                .map(|ran| vec![ran.allocation.nodes[0].node.clone()]),
            states: Some(vec![JobStateName::of(&job.state)]),
        },
        ..JobFilter::of(&[])
    };
    let query = EndedQuery {
        filter: &filter,
        ids: None,
        range: job.id.0..=job.id.0,
        most: None,
    };
    let found = store.ended(&query).unwrap();
    assert_eq!(found.as_slice(), std::slice::from_ref(job));
}

fn line(job: &sched::Job) -> String {
    let request = &job.request;
    let task = job.array.as_ref().map(|place| match &place.task {
        ArrayTask::One(task) => format!("{}_{task}", place.array_job),
        ArrayTask::Waiting(spec) => {
            format!("{}_{:?}%{:?}", place.array_job, spec.indices, spec.throttle)
        }
    });
    let state = match &job.state {
        JobState::Pending { reason } => format!("{reason:?}"),
        JobState::Running {
            allocation,
            limit,
            ending,
            ..
        } => {
            format!(
                "runs on {:?} for {limit:?} {ending:?}",
                allocation.nodes[0].cpus
            )
        }
        JobState::Ended { outcome, ran, .. } => {
            format!(
                "{outcome:?} {:?}",
                ran.as_ref().map(|ran| &ran.allocation.nodes[0].cpus)
            )
        }
    };
    format!(
        "{} {} {task:?} {state}; {}; {:?} {:?} {:?} {:?} {:?} {:?} {}",
        job.id,
        request.name,
        job.priority,
        request.account,
        request.qos,
        request.rare.comment,
        job.dependency.as_ref().map(|it| it.to_string()),
        job.rare.not_before.is_some(),
        job.eligible.is_some(),
        job.restarts,
    )
}

/// What each of the stores has: the jobs and steps that `tests/engine/old_stores/make` leaves. They differ in when the
/// first job's batch step (which schema 3 does not have), its other step and the first step of job 8 ended, and up to
/// schema 17 the cancelled job does not say what it waited for.
fn kept(batch: Option<i64>, waited_for: &str, [first, last]: [i64; 2]) -> String {
    let batch = batch.map_or_else(String::new, |at| {
        format!("  batch batch box Ended {{ at: Timestamp({at}), status: WaitStatus(0), timed_out: false }} 0\n")
    });
    format!(
        r#"1 completed None Completed Some([0]); 2147483646; Some("proj") Some("fast") Some("run-one") None false true 0
{batch}  0 true box Ended {{ at: Timestamp({first}), status: WaitStatus(0), timed_out: false }} 1
2 failed None Failed {{ status: WaitStatus(768) }} Some([1]); 2147483639; None None None None false true 0
3 requeued None Completed Some([0]); 2147483646; None None None None true true 1
4 cancelled None Cancelled {{ by: 0, status: WaitStatus(0), waited_for: {waited_for} }} None; 0; None None None None false false 0
5 sweep Some("5_[2, 3]%Some(1)") None; 2147483646; None None None None false true 0
6 sweep Some("5_0") Completed Some([0]); 2147483646; None None None None false true 0
7 sweep Some("5_1") runs on [0] for Some(Seconds(3600)) None; 2147483646; None None None None false true 0
8 steps None runs on [1] for Some(Seconds(172800)) None; 2147483646; None None None None false true 0
  0 true box Ended {{ at: Timestamp({last}), status: WaitStatus(0), timed_out: false }} 0
  1 sleep box Running 0
9 held None None; 0; None None Some("run-two") None false false 0
10 depends None None; 2147483646; None None None Some("afterany:8") false false 0
11 later None None; 2147483646; None None None None true false 0
12 waits None None; 2147483646; None None None None false true 0
13 behind None None; 2147483646; None None None None false true 0
"#
    )
}

/// Opens a copy of a store, of which everything is there, and once more with what is live. Between the two
/// a test looks at what its schema was the first to have.
#[track_caller]
fn check(store: &[u8], want: &str, look: impl FnOnce(&Store)) {
    let folder = tempfile::tempdir().unwrap();
    let path = copy(store, folder.path());
    let store = Store::open(&path, None).unwrap();
    assert_eq!(all(&store), want);
    assert_eq!(store.saved().unwrap().next_id, 14);
    look(&store);
    drop(store);
    assert_eq!(live(&path), 8);
}

#[test]
fn a_store_of_schema_3_keeps_everything() {
    check(
        SCHEMA_3,
        &kept(None, "None", [1_795_353_971_013, 1_795_353_972_105]),
        |store| {
            assert_eq!(store.uuid(), "5bc1720903d1196f520f551ca4c2558c");
            let brought = store.brought(JobId(1)).unwrap().unwrap();
            assert_eq!(
                (brought.umask, brought.arguments),
                (0o022, vec!["one".to_owned(), "two words".to_owned()])
            );
            let files = store.files(JobId(5)).unwrap();
            assert!(files.script.unwrap().starts_with(b"#!/bin/sh\n[ "));
            assert!(files.environment.unwrap().starts_with(b"[[\"PATH\","));
            let elements = store.elements(JobId(5)).unwrap().unwrap();
            assert_eq!(
                (elements.indices, elements.throttle),
                (vec![0, 1, 2, 3], Some(1))
            );
            let token = "sbatch-box-12-1795353970993-400e7c893ff501e4";
            assert_eq!(store.by_token(token).unwrap(), Some((JobId(1), 0)));
            assert!(store.record_tag(JobId(1)).unwrap().is_some());
        },
    );
}

/// How many jobs of a store, opened anew, have not ended.
pub(super) fn live(path: &Path) -> usize {
    Store::open(path, None).unwrap().saved().unwrap().live.len()
}

/// What a migration that fails half way leaves: the store as it was.
#[test]
fn a_store_that_can_t_be_migrated_is_refused_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy(SCHEMA_3, folder.path());
    let db = Connection::open(&path).unwrap();
    // Read last: all other tables are made and filled by then.
    db.execute("UPDATE steps SET row = '{\"record\":' WHERE job = 8", [])
        .unwrap();
    drop(db);
    let error = Store::open(&path, None).unwrap_err();
    assert!(matches!(error, StoreError::Garbage { .. }), "{error}");
    let db = Connection::open(&path).unwrap();
    let version: u32 = db
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    let jobs: u32 = db
        .query_row("SELECT count(record) FROM jobs", [], |row| row.get(0))
        .unwrap();
    assert_eq!((version, jobs), (3, 13));
    db.execute("DELETE FROM steps WHERE job = 8", []).unwrap();
    drop(db);
    assert_eq!(live(&path), 8);
}

#[test]
fn a_store_of_schema_4_keeps_everything() {
    check(
        SCHEMA_4,
        &kept(
            Some(1_795_380_231_507),
            "None",
            [1_795_380_231_496, 1_795_380_232_973],
        ),
        |store| {
            assert_eq!(store.saved().unwrap().nodes, []);
            assert_eq!(store.saved().unwrap().reservations, []);
            let restarts = store.starts(&[JobId(3)]).unwrap();
            let states = restarts.iter().map(|(_, start)| start.state.long());
            assert_eq!(states.collect::<Vec<_>>(), ["REQUEUED", "COMPLETED"]);
            let files = store.files(JobId(5)).unwrap();
            assert!(files.script.unwrap().starts_with(b"#!/bin/sh\n[ "));
        },
    );
}

/// Later versions open it as this one does, what runs in it as running.
#[test]
fn a_store_of_schema_11_keeps_everything() {
    check(
        SCHEMA_11,
        &kept(
            Some(1_795_625_243_093),
            "None",
            [1_795_625_243_092, 1_795_625_244_602],
        ),
        |store| {
            let starts = store.starts(&[JobId(3), JobId(8)]).unwrap();
            let mut text = String::new();
            for (job, start) in &starts {
                let (state, priority, reason) = (start.state.long(), start.priority, &start.reason);
                writeln!(text, "{job} {state} {priority:?} {reason:?}").unwrap();
            }
            expect![[r#"
            3 REQUEUED Some(2147483646) Some("None")
            3 COMPLETED Some(2147483646) Some("None")
            8 RUNNING Some(2147483646) Some("None")
        "#]]
            .assert_eq(&text);
        },
    );
}

/// Scripts and environments that were kept for each submission are kept once, and read as they were.
#[test]
fn a_store_of_schema_12_keeps_everything() {
    check(
        SCHEMA_12,
        &kept(
            Some(1_795_632_403_959),
            "None",
            [1_795_632_403_958, 1_795_632_405_107],
        ),
        |store| {
            let before = tempfile::tempdir().unwrap();
            let before = Connection::open(copy(SCHEMA_12, before.path())).unwrap();
            let sql = "SELECT job, script, environment FROM submissions";
            let mut statement = before.prepare(sql).unwrap();
            let mut rows = statement.query([]).unwrap();
            let mut scripts = std::collections::BTreeSet::new();
            while let Some(row) = rows.next().unwrap() {
                let files = store.files(JobId(row.get(0).unwrap())).unwrap();
                assert_eq!(files.script, row.get(1).unwrap());
                assert_eq!(variables(files.environment), variables(row.get(2).unwrap()));
                scripts.insert(files.script);
            }
            let count = |sql| store.db.query_row(sql, [], |row| row.get::<_, u32>(0));
            let contents = count("SELECT count(*) FROM contents").unwrap() as usize;
            assert!(contents > scripts.len() && contents <= scripts.len() + 2);
            assert_eq!(
                count("SELECT sum(uses) FROM content_uses").unwrap(),
                count("SELECT count(script) + count(environment) FROM submissions").unwrap()
            );
        },
    );
}

/// An environment's variables by name.
fn variables(environment: Option<Vec<u8>>) -> Option<Vec<(String, String)>> {
    let mut variables: Vec<_> = serde_json::from_slice(&environment?).unwrap();
    variables.sort();
    Some(variables)
}

/// Nothing in it was resized: each start is one row.
#[test]
fn a_store_of_schema_14_keeps_everything() {
    check(
        SCHEMA_14,
        &kept(
            Some(1_795_650_193_332),
            "None",
            [1_795_650_193_331, 1_795_650_194_646],
        ),
        |store| {
            let starts = store.starts(&[JobId(1), JobId(3)]).unwrap();
            let starts = starts
                .iter()
                .map(|(job, start)| (job.0, start.state.long()));
            assert_eq!(
                starts.collect::<Vec<_>>(),
                [(1, "COMPLETED"), (3, "REQUEUED"), (3, "COMPLETED")]
            );
        },
    );
}

/// What was written into requests is the job's own: of one of these it was changed since its submission.
#[test]
fn reservations_and_set_priorities_of_schema_18_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy(SCHEMA_18, folder.path());
    let db = Connection::open(&path).unwrap();
    for change in [
        "UPDATE submissions SET request = json_set(request, '$.reservation', 'r,s', '$.priority', 77)
         WHERE job IN (12, 13)",
        "UPDATE jobs SET request = json_set(json_remove(submissions.request, '$.priority'),
             '$.reservation', 's')
         FROM submissions WHERE id = 13 AND job = 13",
        "UPDATE submissions SET request = json_set(request, '$.priority', 0) WHERE job = 9",
    ] {
        assert!(db.execute(change, []).unwrap() > 0, "{change}");
    }
    drop(db);
    let store = Store::open(&path, None).unwrap();
    let live = store.saved().unwrap().live;
    let own = |id: u32| {
        let job = live.iter().find(|job| job.id.0 == id).unwrap();
        (
            job.rare.reservation.as_deref(),
            job.rare.priority_set,
            job.priority,
        )
    };
    let ordinary = 2_147_483_646;
    assert_eq!(own(12), (Some("r,s"), Some(77), 77));
    assert_eq!(own(13), (Some("s"), None, ordinary));
    assert_eq!(own(9), (None, None, 0));
    assert_eq!(own(11), (None, None, ordinary));
}

#[test]
fn a_store_of_schema_18_keeps_everything() {
    check(
        SCHEMA_18,
        &kept(
            Some(1_795_701_441_247),
            "Some(JobHeldUser)",
            [1_795_701_441_246, 1_795_701_442_654],
        ),
        |_| {},
    );
}

#[test]
fn a_store_of_schema_19_keeps_everything_and_its_usage_is_of_all_partitions() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy(SCHEMA_19, folder.path());
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "INSERT INTO usage VALUES ('lab', 'ann', 7.5, 1000);
         INSERT INTO spent VALUES ('user', 'ann', 'lab', 'cpu', 9.5, 2000), ('qos', 'fast', '', 'cpu', 3.5, 3000);",
    )
    .unwrap();
    drop(db);
    let saved = Store::open(&path, None).unwrap().saved().unwrap();
    // No job of it was given nodes that it did not ask for.
    assert_eq!(saved.nodes_open_below, saved.next_id);
    let ann = sched::Member {
        account: "lab".to_owned(),
        user: "ann".to_owned(),
        partition: None,
    };
    let usage = |amount, at| sched::priority::Usage::new(amount, Timestamp(at));
    assert_eq!(saved.usage, [(ann.clone(), usage(7.5, 1000))]);
    let spent = |spender, amount, at| {
        let tres = "cpu".to_owned();
        (sched::Spending { spender, tres }, usage(amount, at))
    };
    let want = [
        spent(sched::Spender::Qos("fast".to_owned()), 3.5, 3000),
        spent(sched::Spender::Member(ann), 9.5, 2000),
    ];
    assert_eq!(saved.spent, want);
    check(
        SCHEMA_19,
        &kept(
            Some(1_795_740_415_212),
            "Some(JobHeldUser)",
            [1_795_740_415_211, 1_795_740_416_693],
        ),
        |_| {},
    );
}

/// All starts of a job have its name until it gets another one.
#[test]
fn a_store_of_schema_20_keeps_everything() {
    check(
        SCHEMA_20,
        &kept(
            Some(1_795_770_972_242),
            "Some(JobHeldUser)",
            [1_795_770_972_237, 1_795_770_973_846],
        ),
        |store| {
            let starts = store.starts(&[JobId(3)]).unwrap();
            assert!(starts.len() == 2 && starts.iter().all(|(_, start)| start.name.is_none()));
        },
    );
}

#[test]
fn a_store_of_the_present_schema_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy(SCHEMA_21, folder.path());
    let (schema, ..) = counts(&path);
    let newest = super::migrations::MIGRATIONS.len();
    assert_eq!(
        usize::try_from(schema).unwrap(),
        newest,
        "tests/engine/old_stores/make makes one"
    );
    check(
        SCHEMA_21,
        &kept(
            Some(1_795_788_493_889),
            "Some(JobHeldUser)",
            [1_795_788_493_885, 1_795_788_495_241],
        ),
        |_| {},
    );
}

/// Schema, jobs and steps of a store, which a journal beside it may complete.
pub(super) fn counts(path: &Path) -> (u32, u32, u32) {
    let db = Connection::open(path).unwrap();
    let count = |sql| db.query_row(sql, [], |row| row.get(0)).unwrap();
    (
        count("SELECT user_version FROM pragma_user_version"),
        count("SELECT count(*) FROM jobs"),
        count("SELECT count(*) FROM steps"),
    )
}
