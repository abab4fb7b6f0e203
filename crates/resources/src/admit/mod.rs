//! Whether a cluster would take a job: the checks of Slurm's controller against a cluster file.
//!
//! The order is that of `_job_create` and `_part_access_check` in `job_mgr.c` of 22.05: node names,
//! partition, account, QOS, the partition's limits, accounting limits, excluded nodes, features,
//! then whether nodes can serve. What the file doesn't say is not checked.

mod account;
mod advice;
mod array_size;
mod change;
mod counts;
mod describe;
mod finding;
mod given;
mod gpu_types;
mod idle;
mod job_time;
mod judged_again;
mod lack;
mod licences;
mod limit_path;
mod limits;
mod lost_nodes;
mod machine;
mod minutes;
mod names;
mod nodes;
mod one_node;
mod one_type;
mod partition;
mod partition_accounts;
mod requested;
mod requested_nodes;
mod sent;
mod there;

pub use account::charged;
pub use array_size::beyond_default_array;
pub use change::{Change, GpuTypeChange};
pub use counts::Counts;
pub use finding::{Detail, Fate, Finding, Subject};
pub use given::{Given, given};
pub use gpu_types::{GpuTypes, gpu_types};
pub use job_time::{JobTime, TimeFrom};
pub use lack::{GpuLack, Lack, lacks};
pub use licences::no_licence;
pub use limit_path::LimitPath;
pub use model::Denial;
pub use one_node::never_on_one;
pub use requested::Requested;
pub use requested_nodes::NodesRequested;
pub use sent::is_sent;
pub use there::There;

use crate::Trust;
use account::Who;
use cluster_file::{ClusterFile, EnforcePartLimits, Named, Partition, Qos, Sourced};
use finding::finding;
use idle::Idle;
use model::option_table::Key;
use model::{LicenceCount, Request, TimeLimitRequest};
use names::{Features, Reach};
use nodes::no_nodes;

/// Whether the cluster takes this job of a user; of anybody where none is named.
///
/// # Errors
/// The reason at which Slurm would stop; where it would take the job, the first reason why it
/// could never start.
pub fn admit(
    file: &ClusterFile,
    request: &Request,
    user: Option<&str>,
) -> Result<(), Box<Finding>> {
    let mut all = findings(file, request, user);
    // What is ended early is taken, and what is held.
    all.retain(|refusal| matches!(refusal.fate, Fate::Refused | Fate::Waits(_)));
    let first = all.iter().position(|refusal| refusal.fate == Fate::Refused);
    if all.is_empty() {
        return Ok(());
    }
    Err(Box::new(all.swap_remove(first.unwrap_or(0))))
}

/// Every reason why the cluster would not take or never start a job, in the order in which
/// Slurm looks.
#[must_use]
pub fn findings(file: &ClusterFile, request: &Request, user: Option<&str>) -> Vec<Finding> {
    verdict(file, request, user).findings
}

/// Where a job would be, and what stands against it.
#[must_use]
pub fn verdict<'a>(file: &'a ClusterFile, request: &Request, user: Option<&str>) -> Verdict<'a> {
    let idle = Idle::new(file);
    let mut verdict = judged(&idle, request, user);
    judged_again::judge_again(&mut verdict.findings, request, |changed| {
        judged(&idle, changed, user).findings
    });
    if request.hold {
        let findings = verdict.findings.into_iter();
        verdict.findings = findings.filter_map(Finding::of_held).collect();
    }
    verdict
}

/// The same, with changes that were not judged themselves.
fn judged<'a>(idle: &Idle<'a>, request: &Request, user: Option<&str>) -> Verdict<'a> {
    let file = idle.file;
    if let Some(host) = &file.machine {
        let partition = file.default_partition();
        return Verdict {
            partition,
            time: JobTime::said(request, partition),
            findings: machine::findings(file, host, request),
        };
    }
    let mut judge = Judge {
        file,
        idle,
        request,
        time: None,
        found: Vec::new(),
        seeks: false,
    };
    judge.node_names(&request.rare.nodelist, Key::NodeList);
    let choice = judge.partitions();
    if let (Reach::Nowhere, [] | [_]) = (choice.reach, &choice.known[..]) {
        return Verdict {
            partition: choice.known.first().copied(),
            time: JobTime::said(request, None),
            findings: judge.found,
        };
    }
    let of_partitions = judge.found.len();
    let who = Who::of(file, request, user, &mut judge);
    judge.time = judge.time_of(&choice.known, &who);
    // A file that names none does not say that there are none.
    if !file.licences.is_empty() {
        let there: Vec<LicenceCount> = idle.cluster(Trust::All).licences().to_vec();
        judge.found.extend(no_licence(&there, request));
    }
    let before = judge.found.len();
    let features = judge.features();
    let of_features = judge.found.split_off(before);
    // With a feature that nobody has it never is placed.
    let placed = (features != Features::Unknown).then(|| {
        request.with_rare(|rare| {
            let constraint = rare.constraint.take();
            rare.constraint = constraint.filter(|_| features == Features::Known);
        })
    });
    let known = choice.known.iter();
    let mut judged: Vec<Judged> = known
        .map(|partition| judge.judge(partition, &who, placed.as_ref()))
        .collect();
    // Where another may be the default, a job that names none may go there.
    let is_open = request.partition.is_none()
        && choice.known.iter().any(|partition| {
            let default = partition.default.as_ref();
            default.is_some_and(Sourced::is_disputed)
        });
    if is_open {
        judged.iter_mut().for_each(Judged::assume);
    }
    let chosen = best(&judged);
    let partition = chosen.and_then(|chosen| choice.known.get(chosen).copied());
    match choice.reach {
        Reach::Nowhere => judge.found.truncate(of_partitions),
        Reach::Somewhere => {
            let of_nodes = placed.and_then(|request| no_nodes(idle, None, &request));
            let of_limits = judge.accounting(None, &who);
            judge.rest(of_limits, of_features, of_nodes);
        }
        Reach::There => {
            let must_all = file.limits.enforce_partition_limits.as_ref();
            let must_all = must_all.is_some_and(|enforce| enforce.value == EnforcePartLimits::All);
            let (mut of_nodes, mut of_limits) = (None, Vec::new());
            if let [first, _, ..] = &judged[..] {
                let lost = judge.lost_nodes(&first.of_partition);
                judge.found.extend(lost.filter(|_| chosen != Some(0)));
            }
            // A job that names several partitions starts where it can, unless all must take it. What limits
            // refuse in one of them is refused.
            for (index, one) in judged.into_iter().enumerate() {
                let is_chosen = Some(index) == chosen;
                // Where all must take it, one in which it would wait keeps it from none of the others.
                let counts = |found: &Finding| is_chosen || must_all && found.fate == Fate::Refused;
                judge
                    .found
                    .extend(one.of_partition.into_iter().filter(counts));
                if is_chosen {
                    of_nodes = one.of_nodes;
                }
                let counts = |found: &Finding| is_chosen || found.fate == Fate::Refused;
                for found in one.of_limits.into_iter().filter(counts) {
                    if !of_limits.contains(&found) {
                        of_limits.push(found);
                    }
                }
            }
            let before = judge.found.len();
            judge.shortest_time(&choice.known, &who);
            if is_open {
                let of_time = judge.found.iter_mut().skip(before);
                of_time.for_each(|found| found.assumed = true);
            }
            judge.rest(of_limits, of_features, of_nodes);
        }
    }
    let longest = || {
        let partition = partition?;
        Some(JobTime {
            limit: partition.max_time.as_ref()?.value,
            from: TimeFrom::Longest(partition.name.clone()),
        })
    };
    Verdict {
        partition,
        time: judge.time.or_else(longest),
        findings: judge.found,
    }
}

/// Where a job would be, and what stands against it.
#[derive(Clone, Debug)]
pub struct Verdict<'a> {
    /// Of several partitions that it names the first that takes it, of none the default. None where
    /// the file doesn't know it.
    pub partition: Option<&'a Named<Partition>>,
    /// The time limit that it gets there; none where the file says of none.
    pub time: Option<JobTime>,
    /// Every reason why the cluster would not take or never start it, in the order in which Slurm
    /// looks.
    pub findings: Vec<Finding>,
}

impl Verdict<'_> {
    /// Of the limits that the asked time is over, of the partition and of the QOS that the job names, the
    /// shortest.
    #[must_use]
    pub fn time_limit(&self, request: &Request) -> Option<&Finding> {
        let is_limit = |found: &&Finding| match &found.at {
            LimitPath::Partition(..) => found.denial == Denial::TimeLimit,
            LimitPath::Qos(name, _) => {
                found.about == Subject::Option(Key::Time)
                    && request.qos.as_ref().is_some_and(|named| named == name)
            }
            _ => false,
        };
        let findings = self.findings.iter().filter(is_limit);
        findings.min_by_key(|found| found.most)
    }
}

/// What one partition has against a job.
struct Judged {
    of_partition: Vec<Finding>,
    of_nodes: Option<Finding>,
    /// Limits of accounts and QOS, its own among these.
    of_limits: Vec<Finding>,
}

impl Judged {
    /// None of it is sure.
    fn assume(&mut self) {
        let all = self.of_partition.iter_mut().chain(&mut self.of_nodes);
        let all = all.chain(&mut self.of_limits);
        all.for_each(|found| found.assumed = true);
    }
}

/// The partition that has least against it: nothing, else nothing that is sure.
fn best(judged: &[Judged]) -> Option<usize> {
    let weight = |judged: &Judged| {
        let all = judged.of_partition.iter().chain(&judged.of_nodes);
        let all = all.chain(&judged.of_limits);
        let sure = all.clone().filter(|refusal| !refusal.assumed).count();
        (sure, all.count())
    };
    (0..judged.len()).min_by_key(|index| weight(&judged[*index]))
}

/// What is found on the way in.
struct Judge<'a, 'r> {
    file: &'a ClusterFile,
    idle: &'r Idle<'a>,
    request: &'r Request,
    /// The time that the job is judged by; none where it gets the longest of the partition in which it starts.
    time: Option<JobTime>,
    found: Vec<Finding>,
    /// It is asked only whether there is anything against it.
    seeks: bool,
}

impl<'a> Judge<'a, '_> {
    /// What one partition has against the job; `placed` is what its nodes must hold, where that is
    /// looked at.
    fn judge(
        &mut self,
        partition: &'a Named<Partition>,
        who: &Who<'_>,
        placed: Option<&Request>,
    ) -> Judged {
        let before = self.found.len();
        self.partition(partition, who);
        let mut of_nodes = placed.and_then(|request| no_nodes(self.idle, Some(partition), request));
        if let Some(refusal) = &mut of_nodes
            && let Some(other) = self.other_partition(&partition.name, who)
        {
            if refusal.instead == [Change::WithGpus] {
                refusal.instead.clear();
            }
            refusal.instead.push(Change::partition(other));
        }
        Judged {
            of_partition: self.found.split_off(before),
            of_nodes,
            of_limits: self.accounting(Some(partition), who),
        }
    }

    /// What is looked at when the partition is known.
    fn rest(
        &mut self,
        of_limits: Vec<Finding>,
        of_features: Vec<Finding>,
        of_nodes: Option<Finding>,
    ) {
        self.array();
        self.found.extend(of_limits);
        self.node_names(&self.request.rare.exclude, Key::Exclude);
        self.found.extend(of_features);
        // Of GPUs of the whole job the site's own rule says more than that no node has several types.
        let before = self.found.len();
        if of_nodes.is_none() || self.request.rare.asked.per_job.has_several_kinds() {
            self.one_gpu_type();
        }
        if self.found.len() == before {
            self.found.extend(of_nodes);
        }
    }

    fn array(&mut self) {
        if let Some(most) = &self.file.limits.max_array_size {
            let beyond = array_size::beyond(self.request, most.value);
            let at = LimitPath::Cluster("max_array_size");
            self.found.extend(beyond.map(|found| found.at(at, most)));
        }
        let rules = self.idle.cluster(Trust::All).queue_rules();
        if let (Some(parameters), Some(most)) =
            (&self.file.scheduling.parameters, rules.most_elements)
        {
            let too_many = array_size::too_many(self.request, most);
            let at = LimitPath::Scheduling("parameters");
            let too_many = too_many.map(|found| found.at(at, parameters));
            self.found.extend(too_many);
        }
    }
}

fn has_flag(qos: &Qos, flag: &str) -> bool {
    qos.flags.as_ref().is_some_and(|flags| listed(flags, flag))
}

fn listed(list: &[String], name: &str) -> bool {
    list.iter()
        .any(|one| one.eq_ignore_ascii_case(name) || one == "ALL")
}

/// An option as it is given: `--nodes`.
fn option_name(key: Key) -> String {
    format!("--{}", model::option_table::long_name(key))
}

/// `1 node`, `4 nodes`.
fn say_nodes(count: u32) -> String {
    let noun = if count == 1 { "node" } else { "nodes" };
    format!("{count} {noun}")
}

fn seconds(time: TimeLimitRequest) -> u64 {
    match time {
        TimeLimitRequest::Limit(limit) => limit.0,
        TimeLimitRequest::Unlimited => u64::MAX,
    }
}
