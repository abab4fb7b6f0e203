//! What a real Slurm with four nodes does in small situations, and what the scheduler makes of them:
//! `data/scenarios/scenarios.txt` says how it is written and recorded.

use cluster_file::{ClusterFile, ConfText, ImportInput, import};
use model::{
    ArrayTask, ClusterChanges, Dependency, Ending, HeldBy, JobId, JobState, JobStateName, NodeMark,
    NodeName, Outcome, Request, RequeueHold, ReservationDenial, Seconds, Severity, Submitter,
    Surroundings, TimeLimitRequest, Timestamp, WaitStatus, elapsed_text,
};
use resources::{Cluster, Denial, Fate, Trust};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use yard_sched::{Action, BackfillParameters, Event, Finished, Job, State};

const SCENARIOS: &str = include_str!("data/scenarios/scenarios.txt");

/// Between two steps that are looked at, as long as it takes there.
const SETTLES: i64 = 3000;

/// Users of the scenarios; root has none of their accounts.
const USERS: [(&str, u32); 6] = [
    ("root", 0),
    ("games", 5),
    ("man", 6),
    ("lp", 7),
    ("mail", 8),
    ("news", 9),
];

/// A cluster of the file.
#[derive(Clone, Debug, Default)]
struct Described<'a> {
    conf: Vec<&'a str>,
    gres: Vec<&'a str>,
    topology: Vec<&'a str>,
    toml: Vec<&'a str>,
}

#[derive(Debug, Default)]
struct Scenario<'a> {
    name: &'a str,
    cluster: Described<'a>,
    /// Why it ends otherwise here.
    meant: Option<&'a str>,
    steps: Vec<&'a str>,
}

fn scenarios() -> Vec<Scenario<'static>> {
    let mut all: Vec<Scenario<'_>> = Vec::new();
    let (mut common, mut cluster) = (Described::default(), None::<Described<'_>>);
    let mut is_in_scenario = false;
    for line in SCENARIOS.lines() {
        let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        match word {
            "" | "#" => {}
            "cluster" => {
                cluster = Some(common.clone());
                is_in_scenario = false;
            }
            "scenario" => {
                is_in_scenario = true;
                all.push(Scenario {
                    name: rest,
                    cluster: cluster.clone().expect("a cluster comes first"),
                    ..Scenario::default()
                });
            }
            "conf" => cluster.as_mut().unwrap_or(&mut common).conf.push(rest),
            "gres" => cluster.as_mut().unwrap_or(&mut common).gres.push(rest),
            "topology" => cluster.as_mut().unwrap_or(&mut common).topology.push(rest),
            "toml" => cluster.as_mut().unwrap_or(&mut common).toml.push(rest),
            "sacctmgr" => {}
            _ => {
                let scenario = all.last_mut().filter(|_| is_in_scenario);
                let scenario = scenario.unwrap_or_else(|| panic!("no scenario: {line}"));
                match word {
                    "meant" => scenario.meant = Some(rest),
                    _ => scenario.steps.push(line.trim()),
                }
            }
        }
    }
    all
}

/// The cluster file that the configuration of a Slurm makes.
fn file(cluster: &Described<'_>) -> ClusterFile {
    let (conf, gres) = (cluster.conf.join("\n"), cluster.gres.join("\n"));
    let topology = cluster.topology.join("\n");
    let input = ImportInput {
        name: Some("real"),
        slurm_conf: ConfText::new("slurm.conf", &conf),
        include: &|_| None,
        gres_conf: Some(ConfText::new("gres.conf", &gres)),
        topology_conf: Some(ConfText::new("topology.conf", &topology)),
        dump: None,
    };
    let text = format!(
        "{}\n{}\n",
        import(&input).file,
        cluster.toml.join("\n").replace("[qos", "\n[qos")
    );
    ClusterFile::parse("real", &text).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"))
}

/// The scheduler, and what the engine does around it.
struct World {
    file: ClusterFile,
    /// As it was written.
    written: ClusterFile,
    /// What was changed of its partitions.
    changes: ClusterChanges,
    state: State,
    rows: BTreeMap<JobId, Job>,
    ids: Vec<(String, JobId)>,
    now: Timestamp,
}

impl World {
    fn new(cluster: &Described<'_>) -> World {
        let file = file(cluster);
        let built = Arc::new(Cluster::build(&file, Trust::All));
        let mut state = State::new(built, Arc::default());
        let scheduler = file.scheduling.scheduler.as_ref();
        let parameters = file.scheduling.parameters.as_ref();
        let parameters = parameters.map_or("", |parameters| parameters.value.as_str());
        let parameters = BackfillParameters::parse(parameters).expect("Slurm took them");
        let backfills = scheduler.is_none_or(|it| it.value != "sched/builtin");
        state.set_backfill(parameters.filter(|_| backfills));
        World {
            written: file.clone(),
            file,
            changes: ClusterChanges::default(),
            state,
            rows: BTreeMap::new(),
            ids: Vec::new(),
            now: Timestamp(1_000_000_000),
        }
    }

    fn id(&self, name: &str) -> JobId {
        let known = self.ids.iter().find(|(known, _)| known == name);
        // None was given to one that was refused.
        known.map_or(JobId(0), |(_, id)| *id)
    }

    /// `@NAME` is a job's id.
    fn named(&self, text: &str) -> String {
        let mut out = String::new();
        let mut parts = text.split('@');
        out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_lowercase());
            let (name, rest) = part.split_at(end.unwrap_or(part.len()));
            let _ = if name.is_empty() {
                write!(out, "@{rest}")
            } else {
                write!(out, "{}{rest}", self.id(name))
            };
        }
        out
    }

    /// What `sbatch` makes of options; its refusal.
    fn request(&self, name: &str, options: &[&str]) -> Result<Request, String> {
        let mut args = vec!["-J".to_owned(), name.to_owned()];
        args.extend(options.iter().map(|option| self.named(option)));
        args.push("--wrap=true".to_owned());
        let zone = jiff::tz::TimeZone::UTC;
        let surroundings = Surroundings::embedded(self.now, &zone, Path::new("/")).with_nodes(true);
        let (sbatch, said) = model::sbatch::resolve(&args, &|_| None, None, &surroundings);
        let mut errors = said
            .iter()
            .rev()
            .filter(|one| one.severity == Severity::Error);
        match errors.next() {
            Some(error) => Err(error.message.clone()),
            None => Ok(sbatch.request),
        }
    }

    fn submit(&mut self, name: &str, user: &str, options: &[&str]) -> Result<(), String> {
        let mut request = self.request(name, options)?;
        let known = USERS.iter().find(|(known, _)| *known == user);
        let uid = known.unwrap_or_else(|| panic!("no user {user}")).1;
        if !self.file.users.is_empty() {
            (request.account, request.qos) = resources::charged(&self.file, &request, user);
        }
        let refusals = resources::findings(&self.file, &request, Some(user));
        // All is submitted by root.
        let is_final =
            |one: &resources::Finding| one.fate == Fate::Refused && one.stands_for_root();
        if let Some(refusal) = refusals.into_iter().find(is_final) {
            return Err(failed(refusal.denial));
        }
        let submitter = Submitter {
            uid,
            user: user.to_owned(),
            // Each has a group of the same name.
            group: user.to_owned(),
            ..Submitter::default()
        };
        self.state.give_least_nodes(&mut request);
        let entered = self.state.may_enter(&request, &submitter, true);
        entered.map_err(|refusal| failed(refusal.denial))?;
        let admitted = self.state.admit(&request);
        admitted.map_err(|refusal| failed(refusal.denial))?;
        let reserved = self.state.may_be_reserved(&request, user, user);
        reserved.map_err(|refusal| failed(refusal.denial))?;
        let dependency = request.rare.dependency.as_deref();
        let history = self.history(dependency.and_then(Dependency::parse).as_ref());
        if request.partition.is_none() {
            let cluster = self.state.cluster();
            let partition = cluster.default_partition().expect("there is a default");
            request.partition = Some(cluster.partition(partition).name.clone());
        }
        let id = self.state.new_id();
        let record = Job::submitted(id, request, Arc::new(submitter), self.now);
        if self.state.has_room_for([&record]).is_err() {
            return Err(failed(Denial::Policy));
        }
        self.state.apply(Event::Submitted {
            record: Box::new(record),
            array: None,
            history,
            at: self.now,
        });
        self.ids.push((name.to_owned(), id));
        Ok(())
    }

    /// What is known of ended jobs that a dependency names.
    fn history(&self, dependency: Option<&Dependency>) -> Vec<Finished> {
        let targets: BTreeSet<JobId> = dependency.iter().flat_map(|it| it.targets()).collect();
        let all = self.rows.values().flat_map(Finished::of);
        all.filter(|it| targets.contains(&it.target)).collect()
    }

    /// Live rows of a job, or of an element of one, which has a row of its own then.
    fn rows_of(&mut self, name: &str) -> Vec<Job> {
        let (base, task) = match name.split_once('_') {
            Some((base, task)) => (base, Some(task.parse::<u32>().expect("an element"))),
            None => (name, None),
        };
        let id = self.id(base);
        if let Some(task) = task {
            let rows = self.state.rows_of_elements(id, &[task], self.now);
            let rows = rows.iter().filter_map(|row| self.state.job(*row));
            return rows.cloned().collect();
        }
        let of_job = self.state.live().filter(|record| match &record.array {
            None => record.id == id,
            Some(place) => place.array_job == id,
        });
        of_job.cloned().collect()
    }

    fn step(&mut self, line: &str) -> Option<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (word, rest) = words.split_first().expect("a step");
        let at = self.now;
        match *word {
            "sbatch" => {
                let (name, user) = rest[0].split_once('@').unwrap_or((rest[0], "root"));
                if let Err(refusal) = self.submit(name, user, &rest[1..]) {
                    return Some(format!("refused {refusal}"));
                }
            }
            "finish" => {
                let status: u8 = rest
                    .get(1)
                    .map_or(0, |status| status.parse().expect("a status"));
                for record in self.rows_of(rest[0]) {
                    let outcome = if is_preempted(&record) {
                        let status = WaitStatus::exit(status);
                        Outcome::Preempted { status }
                    } else if status == 0 {
                        Outcome::Completed
                    } else {
                        let status = WaitStatus::exit(status);
                        Outcome::Failed { status }
                    };
                    let job = record.id;
                    self.state.apply(Event::Gone { job, outcome, at });
                }
            }
            "cancel" => {
                for record in self.rows_of(rest[0]) {
                    let job = record.id;
                    self.state.apply(match record.state {
                        JobState::Running { .. } => Event::Gone {
                            job,
                            outcome: Outcome::cancelled(0, WaitStatus::default()),
                            at,
                        },
                        _ => Event::CancelledWaiting { job, by: 0, at },
                    });
                }
            }
            "hold" | "release" => {
                let hold = (*word == "hold").then_some(HeldBy::User);
                for record in self.rows_of(rest[0]) {
                    let job = record.id;
                    self.state.apply(Event::Held { job, hold, at });
                }
            }
            "requeue" => {
                for record in self.rows_of(rest[0]) {
                    let job = record.id;
                    let ending = Ending::Requeue {
                        hold: RequeueHold::No,
                        node_failed: true,
                    };
                    self.state.apply(Event::Ending { job, ending });
                    let outcome = Outcome::NodeFail;
                    self.state.apply(Event::Gone { job, outcome, at });
                }
            }
            "suspend" | "resume" => {
                for record in self.rows_of(rest[0]) {
                    let job = record.id;
                    self.state.apply(if *word == "suspend" {
                        Event::Suspended { job, at }
                    } else {
                        Event::Resumed { job, at }
                    });
                }
            }
            "top" => {
                let rows = self.rows_of(rest[0]);
                if rows
                    .iter()
                    .any(|it| matches!(it.state, JobState::Running { .. }))
                {
                    let what = "refused Job is no longer pending execution for job";
                    return Some(format!("{what} {}", rest[0]));
                }
            }
            "update" => {
                for record in self.rows_of(rest[0]) {
                    if let Err(denial) = self.update(&record, &rest[1..]) {
                        return Some(format!("refused {denial} for job {}", rest[0]));
                    }
                }
            }
            "where" => return Some(self.place_of(rest[0])),
            "planned" => return Some(self.planned()),
            "priority" => {
                self.pass();
                let record = self.rows_of(rest[0]);
                return Some(record.first().map_or(0, |it| it.priority).to_string());
            }
            "state" => return Some(self.state_of(rest[0])),
            "node" => {
                let mark = NodeMark {
                    is_drained: rest[1] == "drain",
                    is_down: rest[1] == "down",
                    is_failing: rest[1] == "fail",
                    ..NodeMark::default()
                };
                let node = NodeName::new(rest[0]);
                let is_down = mark.is_down;
                self.state.apply(Event::NodeMarked {
                    node: node.clone(),
                    mark,
                });
                if is_down {
                    self.lose(&node);
                }
            }
            "partition" => {
                let named = format!("PartitionName={}", rest[0]);
                let words = std::iter::once(named.as_str()).chain(rest[1..].iter().copied());
                let words: Vec<String> = words.map(str::to_owned).collect();
                let words = model::partition_words(&words, false).expect("scontrol takes it");
                self.changes.change_partition(rest[0], &words.settings);
                self.file = self.written.with_changes(&self.changes);
                let cluster = Arc::new(Cluster::build(&self.file, Trust::All));
                self.state.apply(Event::Reconfigured { cluster, at });
            }
            "reserve" => {
                if let Err(denial) = self.reserve(rest[0], &rest[1..]) {
                    return Some(format!("refused Error creating the reservation: {denial}"));
                }
            }
            "unreserve" => {
                let name = rest[0].to_owned();
                if let Err(denial) = self.state.unreserve(&name) {
                    let what = "refused delete_reservation ReservationName";
                    return Some(format!("{what}={name}: {denial}"));
                }
                let reservation = None;
                self.state
                    .apply(Event::ReservationChanged { name, reservation });
            }
            "wait" => {
                let seconds: i64 = rest[0].parse().expect("seconds");
                self.now = Timestamp(at.0 + seconds * 1000);
            }
            other => return Some(format!("there is no {other} here")),
        }
        self.pass();
        None
    }

    /// All jobs on a node end, or wait again where they may.
    fn lose(&mut self, node: &NodeName) {
        let is_there = |record: &&Job| match &record.state {
            JobState::Running { allocation, .. } => {
                allocation.nodes.iter().any(|share| share.node == *node)
            }
            _ => false,
        };
        let lost: Vec<Job> = self.state.live().filter(is_there).cloned().collect();
        for record in lost {
            let (job, at) = (record.id, self.now);
            if record.request.rare.requeue != Some(false) {
                let ending = Ending::Requeue {
                    hold: RequeueHold::No,
                    node_failed: true,
                };
                self.state.apply(Event::Ending { job, ending });
            }
            let outcome = Outcome::NodeFail;
            self.state.apply(Event::Gone { job, outcome, at });
        }
    }

    /// As `scontrol update JobId=`.
    fn update(&mut self, record: &Job, settings: &[&str]) -> Result<(), String> {
        let pairs = settings.iter().map(|setting| {
            let (key, value) = setting.split_once('=').expect("KEY=VALUE");
            let word = format!("{key}={}", self.named(value));
            model::WrittenChange::read(&word, &mut || None)
        });
        let pairs: Vec<model::WrittenChange> = pairs.collect();
        let zone = jiff::tz::TimeZone::UTC;
        let changes =
            model::job_changes(&pairs, self.now, &zone).map_err(|it| it.lines[0].clone())?;
        let update = self
            .state
            .changed(record, &changes, true, Some(&self.file), self.now);
        let update = Box::new(update.map_err(|denial| denial.to_string())?);
        let history = self.history(update.dependency.as_ref().and_then(Option::as_ref));
        let (job, at) = (record.id, self.now);
        let (hold, nodes) = (update.hold, update.gives_back.clone());
        self.state.apply(Event::Updated {
            job,
            update,
            history,
            at,
        });
        if !nodes.is_empty() {
            self.state.apply(Event::Shrunk { job, nodes, at });
        }
        if hold {
            let hold = Some(HeldBy::User);
            self.state.apply(Event::Held { job, hold, at });
        }
        Ok(())
    }

    /// CPUs and GPUs of a running job, node by node, alike nodes in one.
    fn place_of(&mut self, name: &str) -> String {
        let ranges = |numbers: Vec<u32>| {
            let names: Vec<NodeName> = numbers
                .iter()
                .map(|one| NodeName::new(&one.to_string()))
                .collect();
            let text = model::node_list::fold(&names);
            text.trim_start_matches('[')
                .trim_end_matches(']')
                .to_owned()
        };
        let rows = self.rows_of(name);
        let Some(JobState::Running { allocation, .. }) = rows.first().map(|row| &row.state) else {
            return "nowhere".to_owned();
        };
        let mut groups: Vec<(Vec<&NodeName>, String)> = Vec::new();
        for share in &allocation.nodes {
            let mut text = format!("cpus {} mem {}", ranges(share.cpus.clone()), share.memory);
            if !share.gpus.is_empty() {
                let gpus: Vec<String> = share.gpus.iter().map(u32::to_string).collect();
                let _ = write!(text, " gpus {}", gpus.join(","));
            }
            match groups.last_mut().filter(|(_, last)| *last == text) {
                Some((nodes, _)) => nodes.push(&share.node),
                None => groups.push((vec![&share.node], text)),
            }
        }
        let groups = groups.iter().map(|(nodes, text)| {
            format!("{} {text}", model::node_list::fold(nodes.iter().copied()))
        });
        groups.collect::<Vec<_>>().join("; ")
    }

    /// The nodes that are planned for jobs that wait.
    fn planned(&self) -> String {
        let waits = |record: &&Job| matches!(record.state, JobState::Pending { .. });
        let rows = self.state.live().filter(waits).map(|record| {
            let target = record.array.as_ref().map_or(record.id, |it| it.array_job);
            let known = self.ids.iter().find(|(_, id)| *id == target);
            let name = &known.expect("each was submitted").0;
            let planned = self.state.planned_on(record.id);
            let nodes = planned.map(|planned| model::node_list::fold(&planned.nodes));
            let nodes = nodes.filter(|nodes| !nodes.is_empty());
            format!("{name} {}", nodes.as_deref().unwrap_or("(null)"))
        });
        let rows: Vec<String> = rows.collect();
        if rows.is_empty() {
            "nothing".to_owned()
        } else {
            rows.join("; ")
        }
    }

    /// The state of a job that waits, runs or ended, why, and its limit.
    fn state_of(&mut self, name: &str) -> String {
        self.pass();
        let id = self.id(name);
        let record = self.state.job(id).or_else(|| self.rows.get(&id));
        let Some(record) = record else {
            return "it was not submitted".to_owned();
        };
        let limit = match &record.state {
            JobState::Running { limit, .. } => *limit,
            JobState::Ended { ran: Some(ran), .. } => ran.limit,
            JobState::Ended { ran: None, .. } | JobState::Pending { .. } => {
                match record.request.time {
                    Some(TimeLimitRequest::Limit(limit)) => Some(limit),
                    Some(TimeLimitRequest::Unlimited) => None,
                    None => {
                        let cluster = self.state.cluster();
                        let names = record.request.partition.as_deref().unwrap_or_default();
                        let first = names.split(',').next().unwrap_or_default();
                        let first = cluster.find_partition(first).expect("there is one");
                        let by_rules = self.state.limit_by_rules(record);
                        by_rules.or_else(|| cluster.partition(first).limit_if_none())
                    }
                }
            }
        };
        let seconds = |limit: Seconds| i64::try_from(limit.0).expect("it is short");
        format!(
            "{} {} {}",
            JobStateName::of(&record.state).long(),
            model::reason_text(&record.state),
            limit.map_or("UNLIMITED".to_owned(), |limit| elapsed_text(seconds(limit))),
        )
    }

    fn reserve(&mut self, name: &str, settings: &[&str]) -> Result<(), ReservationDenial> {
        let named = format!("ReservationName={name}");
        let words = std::iter::once(named.as_str()).chain(settings.iter().copied());
        let words: Vec<String> = words.map(str::to_owned).collect();
        let zone = jiff::tz::TimeZone::UTC;
        let asked = model::reservation_request(&words, true, self.now, &zone);
        let asked = asked.expect("scontrol takes it");
        let reservation =
            self.state
                .reserve(&asked, true, &yard_sched::GroupMembers::default(), self.now)?;
        self.state.apply(Event::ReservationChanged {
            name: reservation.name.clone(),
            reservation: Some(Box::new(reservation)),
        });
        Ok(())
    }

    /// As the engine after each batch of events.
    fn pass(&mut self) {
        loop {
            let actions = self.state.schedule(self.now);
            for action in &actions {
                if let Action::Expire(job) = action {
                    let (job, at) = (*job, self.now);
                    let status = WaitStatus::default();
                    let outcome = Outcome::Timeout { status };
                    self.state.apply(Event::Gone { job, outcome, at });
                }
            }
            let gone = actions.iter().filter_map(|action| match action {
                Action::Preempt(job) => Some(*job),
                _ => None,
            });
            // Those that are asked to end in their grace time do not.
            let in_grace = |job: &JobId| {
                let state = self.state.job(*job).map(|record| &record.state);
                state.is_some_and(|state| !state.is_ending())
            };
            let gone: Vec<JobId> = gone.filter(|job| !in_grace(job)).collect();
            for job in &gone {
                let (job, at) = (*job, self.now);
                let status = WaitStatus::signal(15);
                let outcome = Outcome::Preempted { status };
                self.state.apply(Event::Gone { job, outcome, at });
            }
            let changes = self.state.take_changes();
            for record in changes.ended {
                self.rows.insert(record.id, record);
            }
            if gone.is_empty() {
                break;
            }
        }
    }

    /// All live jobs, as the recording has them.
    fn seen(&mut self) -> String {
        self.now = Timestamp(self.now.0 + SETTLES);
        self.pass();
        let mut rows: Vec<(usize, u32, String)> = Vec::new();
        for record in self.state.live() {
            let target = record.array.as_ref().map_or(record.id, |it| it.array_job);
            let known = self.ids.iter().position(|(_, id)| *id == target);
            let place = known.expect("each was submitted");
            let name = &self.ids[place].0;
            let state = match &record.state {
                JobState::Running { allocation, .. } => {
                    let names = allocation.nodes.iter().map(|share| &share.node);
                    let state = if record.state.is_suspended() {
                        "S"
                    } else {
                        "R"
                    };
                    format!("{state} {}", model::node_list::fold(names))
                }
                state => format!("PD {}", model::reason_text(state)),
            };
            match record.array.as_ref().map(|place| &place.task) {
                None => rows.push((place, 0, format!("{name} {state}"))),
                Some(ArrayTask::One(task)) => {
                    rows.push((place, *task, format!("{name}_{task} {state}")));
                }
                Some(ArrayTask::Waiting(spec)) => {
                    let each = spec.indices.iter();
                    rows.extend(each.map(|task| (place, *task, format!("{name}_{task} {state}"))));
                }
            }
        }
        rows.sort();
        let rows: Vec<String> = rows.into_iter().map(|(_, _, text)| text).collect();
        if rows.is_empty() {
            "nothing".to_owned()
        } else {
            rows.join("; ")
        }
    }
}

fn is_preempted(record: &Job) -> bool {
    let JobState::Running { ending, .. } = &record.state else {
        return false;
    };
    matches!(ending, Some(Ending::Preempted { .. }))
}

fn failed(denial: Denial) -> String {
    format!("Batch job submission failed: {}", denial.words())
}

/// The lines of a scenario, with what is seen here in place of what was recorded.
fn play(scenario: &Scenario<'_>) -> String {
    let mut world = World::new(&scenario.cluster);
    let mut text = String::new();
    for step in &scenario.steps {
        if step.starts_with('!') {
            continue;
        }
        if step.starts_with('=') {
            let _ = writeln!(text, "= {}", world.seen());
            continue;
        }
        let _ = writeln!(text, "{step}");
        if let Some(said) = world.step(step) {
            let _ = writeln!(text, "! {said}");
        }
    }
    text
}

/// What differs between a scenario as recorded and as it goes here; none where nothing does.
fn difference(scenario: &Scenario<'_>) -> Option<String> {
    let recorded = scenario.steps.join("\n") + "\n";
    let here = play(scenario);
    if here == recorded {
        return None;
    }
    let mut text = format!("{}\n", scenario.name);
    let (mut theirs, mut ours) = (recorded.lines(), here.lines().peekable());
    for line in theirs.by_ref() {
        match ours.next_if_eq(&line) {
            Some(line) => {
                let _ = writeln!(text, "    {line}");
            }
            None => {
                let _ = writeln!(text, "  - {line}");
                break;
            }
        }
    }
    let _ = writeln!(text, "  + {}", ours.next().unwrap_or_default());
    Some(text)
}

#[test]
fn the_scheduler_does_what_a_real_slurm_did() {
    let all = scenarios();
    assert!(all.len() >= 40, "{} scenarios", all.len());
    let (mut wrong, mut here) = (String::new(), String::new());
    for scenario in &all {
        match (difference(scenario), scenario.meant) {
            (None, None) => {}
            (Some(_), Some(_)) => {
                let _ = writeln!(here, "scenario {}\n{}", scenario.name, play(scenario));
            }
            (Some(difference), None) => wrong += &difference,
            (None, Some(reason)) => {
                wrong += &format!(
                    "{}: goes as recorded; it is said: {reason}\n",
                    scenario.name
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    // Those that are meant to go otherwise go as they went.
    expect_test::expect_file!["data/scenarios/otherwise.txt"].assert_eq(&here);
}
