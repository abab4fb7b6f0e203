//! That every call and event of the service can be sent: each public type is written and read back, and no public
//! function takes or returns an open connection.

use crate::cluster_files;
use crate::input_file;
use crate::*;
use backend::{JobView, TestedStart, ViewState};
use folder::{
    Attempt, Event, EventLine, IndexEntry, Link, LinkState, LogLine, Repeat, RunFolder, Standing,
};
use model::{ArrayTask, Denial, JobId, JobRefusal, Request, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use sys::Places;

/// What stays in the process of the service: it holds connections, threads or places in files, and takes and returns
/// values. A name only borrows, and who makes environments is this machine's.
const SESSIONS: &[&str] = &[
    "Follower",
    "JobFollower",
    "LastDeputy",
    "LiveClusters",
    "LiveList",
    "Pollers",
    "Preparer",
    "RunWatch",
    "ScriptPlace",
    "SpokenName",
    "Waiting",
];

/// Public modules, by the names of their files.
const MODULES: &[(&str, &str)] = &[
    ("cluster_files", include_str!("cluster_files.rs")),
    ("input_file", include_str!("input_file.rs")),
];

fn read_back<T: Serialize + DeserializeOwned + PartialEq>(examples: impl IntoIterator<Item = T>) {
    for example in examples {
        let text = serde_json::to_string(&example).unwrap();
        let back: T = serde_json::from_str(&text).unwrap();
        assert!(back == example, "{text}");
    }
}

/// Writes and reads examples of each type back, and returns the names of the types.
macro_rules! sent {
    ($($name:ty: [$($example:expr),+ $(,)?],)*) => {
        vec![$({
            read_back::<$name>([$($example),+]);
            stringify!($name).replace(' ', "")
        }),*]
    };
}

fn at(ms: i64) -> Timestamp {
    Timestamp(ms)
}

fn entry(of: Option<Repeat>) -> IndexEntry {
    IndexEntry {
        id: "digits-k3f9".to_owned(),
        name: "digits".to_owned(),
        cluster: "local".to_owned(),
        folder: PathBuf::from("/scratch/digits-k3f9"),
        created: at(5),
        repeats: of.is_none().then_some(3),
        of,
    }
}

fn run() -> Run {
    let finished = Event::Finished {
        status: 0,
        left: None,
    };
    let state = LinkState::Submitted { job: 7, at: at(6) };
    let attempt = Attempt { job: 7, restart: 1 };
    Run {
        entry: entry(Some(Repeat {
            id: "digits-k3f9".to_owned(),
            folder: PathBuf::from("/scratch/digits-k3f9"),
            number: 2,
            count: 3,
        })),
        folder: RunFolder::at(&PathBuf::from("/scratch/digits-k3f9")),
        links: vec![Link {
            number: 1,
            cluster: "local".to_owned(),
            token: "t".to_owned(),
            after: None,
            state,
        }],
        asked_again: true,
        cancelled: true,
        on_engine: true,
        starts: vec![Start {
            attempt,
            events: vec![EventLine {
                at: at(9),
                event: finished,
            }],
        }],
        element: Some(element()),
        environment_jobs: vec![JobId(6)],
    }
}

fn element() -> Element {
    Element {
        array: JobId(7),
        number: 2,
        job: Some(JobId(9)),
    }
}

fn view() -> JobView {
    JobView {
        id: JobId(7),
        name: "digits".to_owned(),
        array: Some(JobId(5)),
        task: Some(ArrayTask::One(2)),
        restarts: 1,
        submitted: Some(at(1)),
        state: ended(),
    }
}

fn ended() -> ViewState {
    ViewState::Ended {
        how: "FAILED".to_owned(),
        exit: "1:0".to_owned(),
        at: Some(at(8)),
    }
}

fn cluster() -> ClusterRef {
    ClusterRef {
        name: "local".to_owned(),
        is_embedded: true,
    }
}

fn listed(what: ListedKind) -> Listed {
    Listed {
        what,
        cluster: "local".to_owned(),
        state: RunState::Running { since: Some(at(3)) },
    }
}

fn states() -> [RunState; 9] {
    let text = || "a reason".to_owned();
    [
        RunState::NotSubmitted,
        RunState::Refused { why: text() },
        RunState::Waiting { reason: text() },
        RunState::Running { since: Some(at(1)) },
        RunState::Resuming { reason: text() },
        RunState::Done {
            at: at(1),
            left: Some(text()),
        },
        RunState::Failed { cause: text() },
        RunState::Cancelled,
        RunState::Unknown { what: text() },
    ]
}

pub(crate) fn places(root: &std::path::Path) -> Places {
    Places {
        state: root.join("state"),
        cache: root.join("cache"),
        is_cache_chosen: true,
        config: root.join("config"),
        scratch: root.join("scratch"),
        index: root.join("index"),
        host: "here".to_owned(),
    }
}

fn request() -> RunRequest {
    RunRequest {
        command: vec!["true".to_owned()],
        resources: vec![GivenResource {
            flag: "gpus-per-node".to_owned(),
            key: "gpus_per_node".to_owned(),
            text: "2".to_owned(),
        }],
        ..RunRequest::default()
    }
}

/// A plan by a cluster's file, which would take less time: with an objection.
pub(crate) fn planned(places: &Places) -> Planned {
    let shipped = Described::File(cluster_files::find(places, "wilson").unwrap());
    let mut request = request();
    request.resources.push(GivenResource {
        flag: "time".to_owned(),
        key: "time".to_owned(),
        text: "9999:00:00".to_owned(),
    });
    let site = request.plan_for(&shipped, places).unwrap();
    assert!(!site.refusals.is_empty());
    read_back([site.clone()]);
    Planned {
        text: Some("command = [\"true\"]".to_owned()),
        base: PathBuf::from("/home/me"),
        source: folder::find_source(&places.state),
        target: target_of(site.facts.clone()),
        places: places.clone(),
        own_places: Some(PathBuf::from("/scratch/me")),
        cache_before: Some(PathBuf::from("/home/me/cache")),
        command_line: vec!["yard".to_owned(), "run".to_owned()],
        before: None,
        from: None,
        makes_environment_in_job: true,
        refusals: site.refusals,
        plan: site.plan,
    }
}

fn target_of(facts: model::ClusterFacts) -> Target {
    Target {
        facts,
        scheduler: "slurm 22.05.8".to_owned(),
        why: Why::Config("config.toml:1".to_owned()),
        nodes: Vec::new(),
        site: backend::ReportedSite::default(),
    }
}

fn look() -> RunLook {
    let mut sample = watch::Sample::new(at(4), 7, 0, watch::Subject::Gpu(1));
    // All others are not measured: no number.
    sample.set(watch::Measure::Busy, 97.5);
    let latest = watch::Latest {
        sample,
        busy: [90.0, 97.5].into(),
    };
    RunLook {
        measured: vec![("n1".to_owned(), watch::Subject::Gpu(1), latest)],
        printed: BTreeMap::from([(3, at(2))]),
        rank: 3,
        lines: vec!["loss 0.1".to_owned()],
    }
}

fn cluster_now() -> ClusterNow {
    ClusterNow {
        problem: Some("it does not answer".to_owned()),
        at: Some(at(1)),
        states: vec![("idle".to_owned(), 2)],
        nodes: vec![node()],
        queue: vec![queued()],
        ..ClusterNow::unasked("local")
    }
}

fn node() -> NodeRow {
    NodeRow {
        name: "n1".to_owned(),
        state: "mixed".to_owned(),
        partitions: vec!["all".to_owned()],
        cpus: [1, 4],
        memory: [0, 100],
        gpus: [0, 2],
        gpu_types: vec!["v100".to_owned()],
        jobs: vec!["7_2".to_owned()],
        more_jobs: 1,
        reason: Some("no power".to_owned()),
    }
}

fn queued() -> QueueRow {
    QueueRow {
        job: 7,
        label: "7_2".to_owned(),
        name: "digits".to_owned(),
        user: "me".to_owned(),
        nodes: 1,
        cpus: 2,
        gpus: 0,
        runs: false,
        note: "Priority".to_owned(),
        at: Some(at(9)),
    }
}

fn failure() -> Failure {
    Failure::new(FailureKind::Refused, "it would be refused")
        .asked("a")
        .there("b")
        .todo("c")
        .mistakes(vec!["d".to_owned()])
}

fn job_line() -> JobLine {
    JobLine {
        element: Some(2),
        bytes: b"\xff a".to_vec(),
    }
}

fn job_end() -> JobEnd {
    JobEnd {
        jobs: vec![view()],
        is_array: true,
    }
}

fn log_line() -> LogLine {
    LogLine {
        rank: 1,
        bytes: b"loss".to_vec(),
    }
}

fn plain_job() -> PlainJob {
    PlainJob {
        id: JobId(4),
        name: "prepare".to_owned(),
        submitted: at(2),
        ended: Some(at(3)),
        state: RunState::Cancelled,
        rows: 3,
    }
}

fn outages() -> [Outage; 2] {
    let why = "no answer".to_owned();
    let lasted = Duration::from_millis(1500);
    [Outage::Began { why }, Outage::Over { lasted }]
}

fn refusal() -> JobRefusal {
    JobRefusal {
        denial: Denial::TimeLimit,
        asked: "--time=9".to_owned(),
        there: "less".to_owned(),
        todo: "ask less".to_owned(),
        limit: Some("partition.all.max_time".to_owned()),
        detail: None,
    }
}

fn repeats() -> Repeats {
    Repeats {
        entry: entry(None),
        runs: vec![run()],
    }
}

fn selected() -> Selected {
    Selected {
        run: Some(run()),
        job: Some(JobId(7)),
        element: Some(2),
        cluster: cluster(),
        notes: vec!["an engine does not answer".to_owned()],
    }
}

fn run_events() -> [RunEvent; 9] {
    let text = || "a reason".to_owned();
    let at = at(1);
    let lasted = Duration::from_secs(3);
    [
        RunEvent::Waiting {
            job: JobId(1),
            reason: text(),
        },
        RunEvent::Event {
            ordinal: 1,
            submitted: Some(at),
            at,
            event: Event::Note { text: text() },
        },
        RunEvent::RankFailed { rank: 3 },
        RunEvent::Output { line: log_line() },
        RunEvent::Redrawn { line: log_line() },
        RunEvent::Outage { why: text() },
        RunEvent::OutageOver { lasted },
        RunEvent::Over {
            state: RunState::Cancelled,
        },
        RunEvent::Over {
            state: RunState::Unknown { what: text() },
        },
    ]
}

/// Names of what `lib.rs` and its public modules give out, but for functions and constants.
fn public_types() -> BTreeSet<String> {
    let lib = include_str!("lib.rs");
    let is_type = |word: &&str| {
        word.starts_with(|letter: char| letter.is_ascii_uppercase())
            && word.chars().any(|letter| letter.is_ascii_lowercase())
    };
    let words = |text: &str| {
        let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        words.filter(is_type).map(str::to_owned).collect::<Vec<_>>()
    };
    let given = lib.split("pub use ").skip(1);
    let given = given.map(|rest| rest.split(';').next().unwrap());
    let mut all: BTreeSet<String> = given.flat_map(words).collect();
    let modules = lib.lines().filter_map(|line| line.strip_prefix("pub mod "));
    for module in modules.map(|line| line.trim_end_matches(';')) {
        let known = MODULES.iter().find(|(name, _)| *name == module);
        let (_, text) = known.unwrap_or_else(|| panic!("{module} is missing in MODULES"));
        let lines = text.lines();
        let declared = lines.filter_map(|line| {
            let rest = line.strip_prefix("pub struct ");
            rest.or_else(|| line.strip_prefix("pub enum "))
        });
        all.extend(
            declared
                .flat_map(words)
                .map(|name| format!("{module}::{name}")),
        );
    }
    all
}

#[test]
fn every_call_and_event_can_be_sent() {
    let root = tempfile::tempdir().unwrap();
    let places = places(root.path());
    let planned = planned(&places);
    let [began, over] = outages();
    let text = || "a reason".to_owned();
    let file = cluster_files::find(&places, "wilson").unwrap();
    let mut sent = sent! {
        AlikeNodes: [alike()],
        ClusterNow: [cluster_now()],
        ClusterRef: [cluster()],
        Comeback: [
            Comeback::Over(None),
            Comeback::Over(Some(failure())),
            Comeback::Brought(Requeued::Waits),
            Comeback::GoesOn,
        ],
        Described: [
            Described::File(file.clone()),
            Described::Facts(Box::new(planned.target.facts.clone())),
        ],
        Element: [element()],
        Failure: [failure(), Failure::interrupted()],
        FailureKind: [
            FailureKind::Failed,
            FailureKind::Usage,
            FailureKind::Refused,
            FailureKind::Unreachable,
            FailureKind::Io,
            FailureKind::Interrupted,
        ],
        GivenResource: [request().resources.remove(0)],
        JobEnd: [job_end()],
        JobEvent: [
            JobEvent::Waiting { reason: text() },
            JobEvent::Began,
            JobEvent::Elements { ended: 1, of: 2 },
            JobEvent::Output { line: job_line() },
            JobEvent::Redrawn { line: job_line() },
            JobEvent::Outage(began.clone()),
            JobEvent::Outage(over.clone()),
            JobEvent::Over { end: job_end() },
        ],
        JobLine: [job_line()],
        JobNumber: [JobNumber { job: JobId(4), element: Some(1) }],
        JobToTest: [JobToTest {
            request: Request { name: "a".to_owned(), ..Request::default() },
            script: "#!/bin/sh\n".to_owned(),
            flags: vec!["--hold".to_owned()],
        }],
        KnownRun: [KnownRun { folder: run().folder, standing: Standing::Unreachable }],
        Listed: [listed(ListedKind::Job { job: plain_job(), removed: Some(text()) })],
        ListedKind: [
            ListedKind::Run { run: Arc::new(run()), view: Some(view()) },
            ListedKind::Job { job: plain_job(), removed: None },
            ListedKind::Repeats {
                entry: entry(None),
                array: Some(JobId(7)),
                rows: vec![listed(ListedKind::Run { run: Arc::new(run()), view: None })],
            },
        ],
        Listing: [Listing {
            rows: vec![listed(ListedKind::Job { job: plain_job(), removed: None })],
            problems: vec![text()],
        }],
        NewCluster: [NewCluster::File("wilson".to_owned()), NewCluster::Nodes(alike())],
        NodeRow: [node()],
        Outage: [began, over.clone()],
        PlainJob: [plain_job()],
        Planned: [planned.clone()],
        QueueRow: [queued()],
        Ready: [Ready {
            secrets: BTreeMap::from([("KEY".to_owned(), "value".to_owned())]),
            ..Ready::default()
        }],
        Repeats: [repeats()],
        RepeatsEnd: [RepeatsEnd::Over { all_done: true }, RepeatsEnd::Left],
        RepeatsEvent: [
            RepeatsEvent::Outage { why: text() },
            RepeatsEvent::Ended { number: 1, state: RunState::Cancelled },
            RepeatsEvent::Stand { states: states().to_vec() },
        ],
        Requeued: [
            Requeued::SameJob(JobId(1)),
            Requeued::NextJob(JobId(2)),
            Requeued::Waits,
        ],
        Run: [run()],
        RunLook: [look()],
        RunRequest: [request()],
        SaidEngine: [SaidEngine::Folder("/a".into()), SaidEngine::Name(text())],
        ScriptCheck: [ScriptCheck { findings: vec![finding()], notes: vec![text()], refused: Some(failure()) }],
        ScriptFinding: [finding()],
        Selected: [selected()],
        Start: [run().starts.remove(0)],
        Submitted: [Submitted {
            id: "digits-k3f9".to_owned(),
            folder: run().folder,
            cluster: cluster(),
            job: JobId(7),
            at: at(1),
            environment_job: Some(JobId(6)),
            repeats: Some(entry(None)),
            note: Some(text()),
        }],
        Target: [planned.target.clone()],
        WaitEnd: [
            WaitEnd::Run(RunState::Cancelled),
            WaitEnd::Job(Some(ended())),
            WaitEnd::Job(None),
            WaitEnd::SomeFailed,
        ],
        WaitEvent: [
            WaitEvent::Outage(over),
            WaitEvent::Brought(Requeued::SameJob(JobId(1))),
            WaitEvent::StaysOver(text()),
        ],
        WandbSweep: [WandbSweep::new("me/digits/abc").unwrap()],
        Why: [
            Why::Flag,
            Why::Config(text()),
            Why::Variable,
            Why::SlurmHere,
            Why::NoSlurmHere,
        ],
        WouldTake: [
            WouldTake::Yes(None),
            WouldTake::Yes(Some(TestedStart {
                at: at(1),
                no_limit: Some(JobId(4)),
                waits: None,
            })),
            WouldTake::NodesAway(text()),
            WouldTake::No(refusal()),
        ],
        cluster_files::ClusterText: [file],
        cluster_files::Kind: [cluster_files::Kind::Own],
        input_file::InputFile: [input_file::InputFile { bytes: b"\xff".to_vec(), kind: input_file::Kind::Pipe }],
        input_file::Kind: [input_file::Kind::File, input_file::Kind::Stdin],
    };
    read_back::<RunEvent>(run_events());
    sent.push("RunEvent".to_owned());
    read_back::<RunState>(states());
    sent.push("RunState".to_owned());
    let known: BTreeSet<String> = sent
        .into_iter()
        .chain(SESSIONS.iter().map(|name| (*name).to_owned()))
        .collect();
    assert_eq!(known, public_types());
}

fn alike() -> AlikeNodes {
    AlikeNodes {
        nodes: 2,
        cpus: 4,
        memory: 1000,
        gpus: 1,
        gpu_type: Some("v100".to_owned()),
    }
}

fn finding() -> ScriptFinding {
    ScriptFinding {
        severity: "error".to_owned(),
        code: "Y012".to_owned(),
        line: 3,
        message: "wrong".to_owned(),
    }
}

/// A connection that a client held would be one that it had to be on this machine for.
#[test]
fn no_public_function_takes_or_returns_a_connection() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![source];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let (inner, own): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
        folders.extend(inner);
        files.extend(own);
    }
    let mut seen = 0;
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let free = text.split("\npub fn ").skip(1);
        let methods = text.split("\n    pub fn ").skip(1);
        for rest in free.chain(methods) {
            let signature = rest.split(" {\n").next().unwrap();
            let mut words = signature.split(|letter: char| !letter.is_alphanumeric());
            let connection = words.find(|word| ["Transport", "Poller"].contains(word));
            let path = path.display();
            assert_eq!(connection, None, "{path}: {signature}");
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}
