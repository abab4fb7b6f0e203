//! What `scontrol update JobId=` makes of a job that waits or runs.

use crate::{Job, JobUpdate, State};
use cluster_file::ClusterFile;
use model::{
    Dependency, GresList, JobChange, JobId, JobState, LimitChange, NodeName, NodeOptions,
    NodeShare, Request, Seconds, ShownOptions, TimeLimitRequest, Timestamp,
};
use resources::{Denial, NodeClass, PartId, no_licence};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Why a job is not changed, in the words of Slurm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeDenial {
    /// It is over.
    #[error("Job has already finished")]
    Finished,
    /// There is no such partition.
    #[error("Invalid partition name specified")]
    Partition,
    /// There is no such QOS, or it is not for the user.
    #[error("Invalid qos specification")]
    Qos,
    /// There is no such account, or it is not for the user.
    #[error("Invalid account or account/partition combination specified")]
    Account,
    /// No job is on so many nodes.
    #[error("Node count specification invalid")]
    NodeCount,
    /// No node has such a feature.
    #[error("Invalid feature specification")]
    Feature,
    /// There is no such node.
    #[error("Invalid node name specified")]
    NodeName,
    /// A held job has no priority.
    #[error("Job is in held state, pending scheduler release")]
    Held,
    /// An operator may.
    #[error("Access/permission denied")]
    Permission,
    /// It can not be changed while the job runs.
    #[error("Requested operation not supported on this system")]
    NotSupported,
    /// It is changed before the job starts alone.
    #[error("Job is no longer pending execution")]
    NotPending,
    /// Nothing would be left.
    #[error("Requested time limit is invalid (missing or exceeds some limit)")]
    TimeLimit,
    /// It could not end before its deadline, or its limit is shorter.
    #[error("Invalid time-min specification (exceeds job's time or other limits)")]
    TimeMin,
    /// It has passed.
    #[error("Invalid time specified")]
    Passed,
    /// It is for others, or there is none.
    #[error("{}", .0.words())]
    Reservation(Denial),
    /// It is no list of resources that nodes count.
    #[error("Invalid generic resource (gres) specification")]
    Gres,
    /// No node has them of that type.
    #[error("Invalid GRES specification (with and without type identification)")]
    GresType,
    /// There are no such licences, or fewer.
    #[error("Invalid license specification")]
    Licence,
    /// Nothing is known yet of its end.
    #[error("Job is not running")]
    NotRunning,
    /// No job has no tasks.
    #[error("Task count specification invalid")]
    TaskCount,
    /// It is no dependency.
    #[error("Job dependency problem")]
    Dependency,
    /// There are fewer CPUs, of a node or in all.
    #[error("Requested partition configuration not available now")]
    TooManyCpus,
    /// No node has such a feature.
    #[error("Invalid preferred feature specification")]
    PreferredFeature,
    /// They are asked for at the submission alone.
    #[error("Invalid Trackable RESource (TRES) specification")]
    Tres,
    /// There is no other cluster: in these words Slurm says it.
    #[error("Unspecified error")]
    OtherClusters,
}

impl State {
    /// What becomes of a job by changes that are asked; nothing becomes of it yet. `rules` has accounts
    /// and QOS, where there are some.
    ///
    /// # Errors
    /// The first that can't be.
    pub fn changed(
        &self,
        record: &Job,
        changes: &[JobChange],
        is_operator: bool,
        rules: Option<&ClusterFile>,
        now: Timestamp,
    ) -> Result<JobUpdate, ChangeDenial> {
        let mut update = JobUpdate::of(record);
        for change in changes {
            let is_passed = match (&record.state, change) {
                (JobState::Pending { .. }, JobChange::Deadline(at))
                | (JobState::Running { .. }, JobChange::End(at)) => *at < now,
                _ => false,
            };
            if is_passed {
                return Err(ChangeDenial::Passed);
            }
            if let JobChange::ArrayThrottle(most) = change {
                change_throttle(record, &mut update, *most);
                continue;
            }
            match &record.state {
                JobState::Pending { .. } => {
                    self.change_waiting(record, &mut update, change, is_operator, rules)?;
                }
                JobState::Running { held: Some(_), .. }
                    if matches!(change, JobChange::Priority(1..)) =>
                {
                    return Err(ChangeDenial::Held);
                }
                JobState::Running {
                    limit,
                    since,
                    allocation,
                    ..
                } => {
                    let end = match change {
                        JobChange::End(end) => {
                            let limit = limit_until(*end, *since, *limit);
                            let to = LimitChange::To(TimeLimitRequest::Limit(limit));
                            Some(JobChange::TimeLimit(to))
                        }
                        _ => None,
                    };
                    let change = end.as_ref().unwrap_or(change);
                    let nodes = given_back(change, &allocation.nodes, record.batch)?;
                    if let Some(gives_back) = nodes {
                        update.gives_back = gives_back;
                        continue;
                    }
                    change_running(*limit, &mut update, change, is_operator)?;
                }
                JobState::Ended { .. } => return Err(ChangeDenial::Finished),
            }
        }
        let sets_time =
            |change: &JobChange| matches!(change, JobChange::TimeLimit(_) | JobChange::TimeMin(_));
        if changes.iter().any(sets_time) && self.is_least_over_limit(&update) {
            return Err(ChangeDenial::TimeMin);
        }
        Ok(update)
    }

    fn is_least_over_limit(&self, update: &JobUpdate) -> bool {
        let request = &update.request;
        let limit = match update.limit {
            Some(limit) => limit,
            None => self.limit_asked(request),
        };
        match request.rare.time_min {
            Some(TimeLimitRequest::Limit(least)) => limit.is_some_and(|limit| least > limit),
            Some(TimeLimitRequest::Unlimited) => limit.is_some(),
            None => false,
        }
    }

    fn change_waiting(
        &self,
        record: &Job,
        update: &mut JobUpdate,
        change: &JobChange,
        is_operator: bool,
        rules: Option<&ClusterFile>,
    ) -> Result<(), ChangeDenial> {
        let cluster = &self.cluster;
        let request = &mut update.request;
        match change {
            JobChange::TimeLimit(change) => {
                let limit = changed_limit(self.limit_asked(request), *change)?;
                request.time =
                    Some(limit.map_or(TimeLimitRequest::Unlimited, TimeLimitRequest::Limit));
            }
            JobChange::Partition(names) => {
                let is_known = |name: &str| cluster.find_partition(name).is_some();
                if names.is_empty() || !names.split(',').all(is_known) {
                    return Err(ChangeDenial::Partition);
                }
                request.partition = Some(names.clone());
            }
            JobChange::Qos(name) if name.is_empty() => request.qos = None,
            JobChange::Qos(name) => {
                request.qos = Some(name.clone());
                if cluster.find_qos(name).is_none() || may_not(rules, request, record) {
                    return Err(ChangeDenial::Qos);
                }
            }
            JobChange::Account(name) => {
                request.account = Some(name.clone());
                let is_known = rules.is_none_or(|rules| {
                    rules.accounts.is_empty() || cluster.find_account(name).is_some()
                });
                if !is_known || may_not(rules, request, record) {
                    return Err(ChangeDenial::Account);
                }
            }
            JobChange::Nodes(least, most) => {
                let bounds = [*most, request.max_nodes].into_iter().flatten();
                if *least == 0 || bounds.min().is_some_and(|most| most < *least) {
                    return Err(ChangeDenial::NodeCount);
                }
                (request.min_nodes, request.max_nodes) = (Some(*least), *most);
            }
            JobChange::Tasks(0) => return Err(ChangeDenial::TaskCount),
            JobChange::Tasks(tasks) => request.tasks = Some(*tasks),
            JobChange::Cpus(cpus) => {
                if u64::from(*cpus) > self.most_cpus(request) {
                    return Err(ChangeDenial::TooManyCpus);
                }
                let each = request.cpus_per_task.unwrap_or(1).max(1);
                request.tasks = Some(cpus.div_ceil(each));
            }
            JobChange::CpusPerTask(cpus) => request.cpus_per_task = Some(*cpus),
            JobChange::Memory(memory) => request.memory = Some(*memory),
            JobChange::Features(features) => {
                if !self.has_features(features.as_deref()) {
                    return Err(ChangeDenial::Feature);
                }
                request.rare.constraint.clone_from(features);
            }
            JobChange::NodeList(nodes) | JobChange::Exclude(nodes) => {
                if !nodes.iter().all(|node| cluster.node(node).is_some()) {
                    return Err(ChangeDenial::NodeName);
                }
                let nodes = Arc::new(nodes.clone());
                if matches!(change, JobChange::NodeList(_)) {
                    request.rare.nodelist = nodes;
                } else {
                    request.rare.exclude = nodes;
                }
            }
            JobChange::Dependency(dependency) => {
                let read = dependency
                    .as_deref()
                    .map(|text| Dependency::parse(text).ok_or(ChangeDenial::Dependency));
                let read = read.transpose()?;
                if read
                    .as_ref()
                    .is_some_and(|it| self.comes_back_to(record, it))
                {
                    return Err(ChangeDenial::Dependency);
                }
                update.dependency = Some(read);
            }
            JobChange::Begin(at) => update.begin = Some(*at),
            JobChange::Priority(0) => update.hold = true,
            JobChange::Priority(priority) => {
                if record.priority == 0 {
                    return Err(ChangeDenial::Held);
                }
                if *priority > record.priority && !is_operator {
                    return Err(ChangeDenial::Permission);
                }
                request.rare.priority = Some(*priority);
            }
            JobChange::Nice(nice) => {
                if *nice < 0 && *nice < request.nice && !is_operator {
                    return Err(ChangeDenial::Permission);
                }
                request.nice = *nice;
            }
            JobChange::MinCpus(cpus) => {
                let has = |class: &NodeClass| u64::from(class.total.cpus) >= u64::from(*cpus);
                if !cluster.classes().iter().any(has) {
                    return Err(ChangeDenial::TooManyCpus);
                }
                options_of(request).min_cpus = Some(*cpus);
            }
            JobChange::Sockets(count) => options_of(request).sockets_per_node = Some(*count),
            JobChange::Cores(count) => options_of(request).cores_per_socket = Some(*count),
            JobChange::Threads(count) => options_of(request).threads_per_core = Some(*count),
            JobChange::TasksPerNode(count) => {
                request.tasks_per_node = Some(*count).filter(|count| *count > 0);
            }
            JobChange::Prefer(features) => {
                if !self.has_features(features.as_deref()) {
                    return Err(ChangeDenial::PreferredFeature);
                }
                options_of(request).prefer.clone_from(features);
            }
            JobChange::Wckey(key) => shown_of(request).wckey.clone_from(key),
            // No cores are kept for the system; in these words Slurm refuses it then.
            JobChange::CoreSpec => return Err(ChangeDenial::Permission),
            JobChange::Reboot(false) => {}
            // No node is booted for a job.
            JobChange::Reboot(true) | JobChange::BurstBuffer => {
                return Err(ChangeDenial::NotSupported);
            }
            JobChange::OtherClusters => return Err(ChangeDenial::OtherClusters),
            JobChange::ResetAccrueTime => update.resets_age = true,
            JobChange::OtherTres(text) if text.is_empty() => {}
            JobChange::OtherTres(_) => return Err(ChangeDenial::Tres),
            JobChange::TmpDisk(mib) => {
                options_of(request).tmp_mib = Some(*mib).filter(|mib| *mib > 0);
            }
            JobChange::Contiguous(contiguous) => options_of(request).contiguous = *contiguous,
            JobChange::OverSubscribe(shares) => {
                request.exclusive = !shares;
                options_of(request).sharing = shares.then_some(model::Sharing::Anybody);
            }
            JobChange::Gres(text) => {
                let list = GresList::of_gres(text).unwrap_or_default();
                let items = list.items().map_err(|_| ChangeDenial::Gres)?;
                for item in &items {
                    let lanes = || {
                        let lanes = cluster.classes().iter().flat_map(|class| &class.lanes);
                        lanes.flatten().filter(|lane| lane.name == item.name)
                    };
                    if lanes().next().is_none() {
                        return Err(ChangeDenial::Gres);
                    }
                    if item.kind.is_some() && !lanes().any(|lane| lane.kind == item.kind) {
                        return Err(ChangeDenial::GresType);
                    }
                }
                request.gpus_per_node = list.gpus();
                request.rare.asked.is_by_gres = !list.is_empty();
                request.rare.asked.per_node = list;
            }
            JobChange::Licenses(licences) => {
                request.rare.licenses.clone_from(licences);
                if no_licence(cluster.licences(), request).is_some() {
                    return Err(ChangeDenial::Licence);
                }
            }
            JobChange::WorkDir(folder) => request.chdir = folder.into(),
            JobChange::End(_) => return Err(ChangeDenial::NotRunning),
            // Whether or not it waits.
            JobChange::ArrayThrottle(_) => {}
            JobChange::Reservation(name) => {
                request.rare.reservation.clone_from(name);
                let may =
                    self.may_be_reserved(request, &record.submitter.user, &record.submitter.group);
                may.map_err(|finding| ChangeDenial::Reservation(finding.denial))?;
            }
            JobChange::SiteFactor(factor) => set_site_factor(request, *factor, is_operator)?,
            JobChange::Deadline(_) if !is_operator => return Err(ChangeDenial::Permission),
            JobChange::Deadline(at) => request.rare.deadline = Some(*at),
            JobChange::TimeMin(least) => request.rare.time_min = *least,
            JobChange::Output(path) => request.output.clone_from(path),
            JobChange::AdminComment(_) if !is_operator => return Err(ChangeDenial::Permission),
            JobChange::Name(_)
            | JobChange::Comment(_)
            | JobChange::AdminComment(_)
            | JobChange::DelayBoot(_)
            | JobChange::Requeue(_)
            | JobChange::MailTypes(_)
            | JobChange::MailUser(_)
            | JobChange::SwitchWait(_)
            | JobChange::TresBind(_)
            | JobChange::TresFrequency(_)
            | JobChange::Switches(_) => change_any(request, change),
        }
        Ok(())
    }

    fn has_features(&self, features: Option<&str>) -> bool {
        let mut names = features.into_iter().flat_map(|text| {
            text.split(|letter: char| !letter.is_alphanumeric() && !"_-.".contains(letter))
        });
        names.all(|name| {
            name.is_empty()
                || name.bytes().all(|byte| byte.is_ascii_digit())
                || self.cluster.with_feature(name).is_some()
        })
    }

    /// CPUs of all the nodes that the job may have.
    fn most_cpus(&self, request: &Request) -> u64 {
        let cluster = &self.cluster;
        let named = request.partition.iter().flat_map(|names| names.split(','));
        let named: Vec<PartId> = named
            .filter_map(|name| cluster.find_partition(name))
            .collect();
        let partitions = if named.is_empty() {
            cluster.default_partition().into_iter().collect()
        } else {
            named
        };
        let nodes = partitions
            .iter()
            .flat_map(|id| cluster.partition(*id).nodes.iter());
        let mut nodes: Vec<u64> = nodes
            .map(|node| cluster.class(node).total.cpus.into())
            .collect();
        nodes.sort_unstable_by(|a, b| b.cmp(a));
        let most = request.max_nodes.map_or(usize::MAX, |most| most as usize);
        nodes.iter().take(most).sum()
    }
}

impl State {
    /// The limit of a job that waits: its own, or that of the first of its partitions.
    fn limit_asked(&self, request: &Request) -> Option<Seconds> {
        let cluster = &self.cluster;
        let named = request.partition.as_deref();
        let first = named.and_then(|names| names.split(',').next());
        let partition = first
            .and_then(|name| cluster.find_partition(name))
            .or(cluster.default_partition());
        match request.time {
            Some(TimeLimitRequest::Limit(limit)) => Some(limit),
            Some(TimeLimitRequest::Unlimited) => None,
            None => partition.and_then(|id| cluster.partition(id).default_time),
        }
    }

    /// Whether a job that waits so would wait for itself, by way of others or not.
    fn comes_back_to(&self, record: &Job, dependency: &Dependency) -> bool {
        let own = record.submitted_as();
        let mut next: Vec<JobId> = dependency.targets().collect();
        let mut seen = BTreeSet::new();
        while let Some(target) = next.pop() {
            if target == own || target == record.id {
                return true;
            }
            if seen.insert(target) {
                let waits_for = self.jobs.get(&target).map(|job| &job.record.dependency);
                next.extend(waits_for.into_iter().flatten().flat_map(|it| it.targets()));
            }
        }
        false
    }
}

/// Whether the cluster's rules keep a job's user from its account or QOS.
fn may_not(rules: Option<&ClusterFile>, request: &Request, record: &Job) -> bool {
    let Some(rules) = rules else {
        return false;
    };
    let all = resources::findings(rules, request, Some(&record.submitter.user));
    all.iter()
        .any(|refusal| matches!(refusal.denial, Denial::Account | Denial::Qos))
}

fn options_of(request: &mut Request) -> &mut NodeOptions {
    request.rare.node_options.get_or_insert_default()
}

fn shown_of(request: &mut Request) -> &mut ShownOptions {
    request.rare.shown.get_or_insert_default()
}

/// Of a job that is no array nothing is changed.
fn change_throttle(record: &Job, update: &mut JobUpdate, most: u32) {
    if record.array.is_some() {
        update.throttle = Some(most);
        update.request.rare.array_throttle = Some(most);
    }
}

/// The limit of a running job that is to end at a moment: Slurm keeps whole minutes. It adds as many as are
/// nearest, and takes off half a minute's less.
fn limit_until(end: Timestamp, since: Timestamp, limit: Option<Seconds>) -> Seconds {
    let length = end.since(since).max(0) / 1000;
    let former = limit.map_or(0, |limit| i64::try_from(limit.0).unwrap_or(i64::MAX));
    let moved = (length.saturating_sub(former) + 30) / 60;
    let next = former.saturating_add(moved.saturating_mul(60));
    Seconds(u64::try_from(next).unwrap_or(0))
}

/// The nodes that a running job gives back by a change of their number or their list; `None` where it is
/// another change. The first one stays where its script runs there.
fn given_back(
    change: &JobChange,
    held: &[NodeShare],
    has_script: bool,
) -> Result<Option<Vec<NodeName>>, ChangeDenial> {
    let names = || held.iter().map(|share| &share.node);
    match change {
        JobChange::Nodes(0, _) => Err(ChangeDenial::NodeCount),
        JobChange::Nodes(least, _) if *least as usize > held.len() => {
            Err(ChangeDenial::NotSupported)
        }
        JobChange::Nodes(least, Some(most)) if most != least => Err(ChangeDenial::NotPending),
        JobChange::Nodes(least, _) => Ok(Some(names().skip(*least as usize).cloned().collect())),
        JobChange::NodeList(kept) => {
            let host = names().next().filter(|_| has_script);
            let is_part = kept.iter().all(|node| names().any(|held| held == node));
            if kept.is_empty() || !is_part || host.is_some_and(|host| !kept.contains(host)) {
                return Err(ChangeDenial::NodeName);
            }
            let gone = names().filter(|node| !kept.contains(node));
            Ok(Some(gone.cloned().collect()))
        }
        _ => Ok(None),
    }
}

fn change_running(
    limit: Option<Seconds>,
    update: &mut JobUpdate,
    change: &JobChange,
    is_operator: bool,
) -> Result<(), ChangeDenial> {
    match change {
        JobChange::TimeLimit(change) => {
            let now = update.limit.unwrap_or(limit);
            let next = changed_limit(now, *change)?;
            let is_more = match (limit, next) {
                (None, _) => false,
                (Some(_), None) => true,
                (Some(limit), Some(next)) => next > limit,
            };
            if is_more && !is_operator {
                return Err(ChangeDenial::Permission);
            }
            update.request.time =
                Some(next.map_or(TimeLimitRequest::Unlimited, TimeLimitRequest::Limit));
            update.limit = Some(next);
        }
        JobChange::AdminComment(_) if !is_operator => return Err(ChangeDenial::Permission),
        JobChange::Name(_)
        | JobChange::Comment(_)
        | JobChange::AdminComment(_)
        | JobChange::DelayBoot(_)
        | JobChange::Requeue(_)
        | JobChange::MailTypes(_)
        | JobChange::MailUser(_)
        | JobChange::SwitchWait(_)
        | JobChange::TresBind(_)
        | JobChange::TresFrequency(_)
        | JobChange::Switches(_) => change_any(&mut update.request, change),
        JobChange::BurstBuffer => return Err(ChangeDenial::NotSupported),
        JobChange::OtherClusters => return Err(ChangeDenial::OtherClusters),
        JobChange::Priority(0) => update.hold = true,
        JobChange::Priority(priority) if is_operator => {
            update.request.rare.priority = Some(*priority);
        }
        // They decide when it starts and with which limit.
        JobChange::Deadline(_) | JobChange::TimeMin(_) => {}
        // It may leave its reservation, and enters none.
        JobChange::Reservation(None) => update.request.rare.reservation = None,
        JobChange::SiteFactor(factor) => {
            set_site_factor(&mut update.request, *factor, is_operator)?;
        }
        JobChange::Nice(nice) if is_operator || *nice >= 0 => update.request.nice = *nice,
        _ => return Err(ChangeDenial::NotPending),
    }
    Ok(())
}

fn set_site_factor(
    request: &mut Request,
    factor: i64,
    is_operator: bool,
) -> Result<(), ChangeDenial> {
    if !is_operator {
        return Err(ChangeDenial::Permission);
    }
    request.rare.site_factor = factor;
    Ok(())
}

/// What may change whether or not the job runs.
fn change_any(request: &mut Request, change: &JobChange) {
    match change {
        JobChange::Name(name) => request.name.clone_from(name),
        JobChange::Comment(comment) => {
            request.rare.comment = Some(comment.clone()).filter(|text| !text.is_empty());
        }
        JobChange::AdminComment(comment) => shown_of(request).admin_comment = Some(comment.clone()),
        JobChange::DelayBoot(delay) => {
            shown_of(request).delay_boot = Some(*delay).filter(|delay| *delay > Seconds(0));
        }
        JobChange::TresBind(bind) => request.rare.asked.bind.clone_from(bind),
        JobChange::TresFrequency(text) => request.rare.asked.frequency.clone_from(text),
        JobChange::SwitchWait(wait) => {
            let options = request.rare.node_options.as_mut();
            if let Some(switches) = options.and_then(|options| options.switches.as_mut()) {
                switches.wait = Some(*wait);
            }
        }
        JobChange::Requeue(requeue) => request.rare.requeue = Some(*requeue),
        JobChange::MailTypes(types) => request.rare.mail_types.clone_from(types),
        JobChange::MailUser(user) => request.rare.mail_user.clone_from(user),
        JobChange::Switches(switches)
            if switches.is_some() || request.rare.node_options.is_some() =>
        {
            options_of(request).switches = *switches;
        }
        _ => {}
    }
}

fn changed_limit(
    now: Option<Seconds>,
    change: LimitChange,
) -> Result<Option<Seconds>, ChangeDenial> {
    match (change, now) {
        (LimitChange::To(TimeLimitRequest::Limit(limit)), _) => Ok(Some(limit)),
        (LimitChange::To(TimeLimitRequest::Unlimited), _) => Ok(None),
        (LimitChange::More(_) | LimitChange::Less(_), None) => Ok(None),
        (LimitChange::More(more), Some(now)) => Ok(Some(Seconds(now.0.saturating_add(more.0)))),
        (LimitChange::Less(less), Some(now)) if less < now => Ok(Some(Seconds(now.0 - less.0))),
        (LimitChange::Less(_), Some(_)) => Err(ChangeDenial::TimeLimit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn gives(change: &JobChange, has_script: bool, want: Result<&[&str], ChangeDenial>) {
        let share = |name: &str| NodeShare {
            node: NodeName::new(name),
            cpus: vec![0],
            memory: 0,
            gpus: Vec::new(),
            tasks: 1,
        };
        let held = ["n1", "n2", "n3"].map(share);
        let given = given_back(change, &held, has_script);
        let given = given.map(|nodes| nodes.unwrap_or_default());
        let names = want.map(|names| names.iter().map(|name| NodeName::new(name)).collect());
        assert_eq!(given, names, "{change:?}");
    }

    /// `scontrol update JobId= NumNodes=` and `NodeList=`
    #[test]
    fn a_running_job_gives_back_nodes() {
        let list = |names: &[&str]| {
            JobChange::NodeList(names.iter().map(|name| NodeName::new(name)).collect())
        };
        gives(&JobChange::Nodes(3, Some(3)), true, Ok(&[]));
        gives(&JobChange::Nodes(2, Some(2)), true, Ok(&["n3"]));
        gives(&JobChange::Nodes(1, None), false, Ok(&["n2", "n3"]));
        gives(
            &JobChange::Nodes(0, None),
            true,
            Err(ChangeDenial::NodeCount),
        );
        gives(
            &JobChange::Nodes(4, None),
            true,
            Err(ChangeDenial::NotSupported),
        );
        gives(
            &JobChange::Nodes(1, Some(2)),
            true,
            Err(ChangeDenial::NotPending),
        );
        gives(&list(&["n1", "n3"]), true, Ok(&["n2"]));
        gives(&list(&["n3"]), false, Ok(&["n1", "n2"]));
        for list in [list(&["n2", "n3"]), list(&["n1", "n4"]), list(&[])] {
            gives(&list, true, Err(ChangeDenial::NodeName));
        }
    }

    #[track_caller]
    fn check(seconds: i64, limit: Option<u64>, want: u64) {
        let limit = limit_until(Timestamp(seconds * 1000), Timestamp(0), limit.map(Seconds));
        assert_eq!(limit, Seconds(want));
    }

    /// `scontrol update JobId= EndTime=`
    #[test]
    fn an_end_moves_the_limit_by_whole_minutes() {
        check(1207, Some(300), 1200);
        check(1237, Some(300), 1260);
        check(100, Some(300), 180);
        check(1207, None, 1200);
        check(-5, Some(300), 60);
    }
}
