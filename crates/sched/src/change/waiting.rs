//! A change of a job that waits: of what it asks for, as its submission would be checked.

use super::{ChangeDenial, changed_limit, changes_any_job, options_of, set_site_factor, shown_of};
use crate::admit::partitions_of;
use crate::{Job, JobUpdate, State, member};
use cluster_file::ClusterFile;
use model::{
    CpuRange, Dependency, GresItem, GresList, JobChange, JobId, Request, TimeLimitRequest,
};
use resources::{Denial, Fate, NodeClass, PartId};
use std::collections::BTreeSet;
use std::sync::Arc;

impl State {
    pub(super) fn change_waiting(
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
                // The first of several has to take it, though another may.
                let first = partitions_of(cluster, Some(names)).into_iter().next();
                let who = &record.submitter;
                let is_out = first.is_some_and(|first| self.keeps_out(first, who).is_some());
                if is_out || self.may_enter(request, who, false).is_err() {
                    return Err(ChangeDenial::PartitionClosed);
                }
                match refused(rules, update, record).find(is_of_association) {
                    None => {}
                    Some(Denial::SeveralAssociations) => {
                        return Err(ChangeDenial::SeveralAssociations);
                    }
                    Some(_) => return Err(ChangeDenial::Account),
                }
            }
            JobChange::Qos(name) if name.is_empty() => request.qos = None,
            JobChange::Qos(name) => {
                request.qos = Some(name.clone());
                if cluster.find_qos(name).is_none() || may_not(rules, update, record) {
                    return Err(ChangeDenial::Qos);
                }
            }
            JobChange::Account(name) => {
                request.account = Some(name.clone());
                let is_known = rules.is_none_or(|rules| {
                    rules.accounts.is_empty() || cluster.find_account(name).is_some()
                });
                if !is_known || may_not(rules, update, record) {
                    return Err(ChangeDenial::Account);
                }
            }
            JobChange::Nodes(least, most) => {
                let bounds = [*most, request.max_nodes].into_iter().flatten();
                if *least == 0 || bounds.min().is_some_and(|most| most < *least) {
                    return Err(ChangeDenial::NodeCount);
                }
                let before = least_cpus(request, request.min_nodes.unwrap_or(1));
                (request.min_nodes, request.max_nodes) = (Some(*least), *most);
                let now = least_cpus(request, *least);
                // With fewer nodes a job keeps its CPUs.
                let kept = (now < before).then_some(CpuRange {
                    least: before,
                    most: None,
                });
                if let Some(range) = cpus_of(request).or(kept) {
                    let least = range.least.max(now);
                    set_cpus(request, CpuRange { least, ..range })?;
                }
            }
            JobChange::Tasks(0) => return Err(ChangeDenial::TaskCount),
            JobChange::Tasks(tasks) => {
                // Its CPUs in all stay what they were.
                if cpus_of(request).is_none() {
                    let least = least_cpus(request, request.min_nodes.unwrap_or(1));
                    set_cpus(request, CpuRange { least, most: None })?;
                }
                request.tasks = Some(*tasks);
            }
            JobChange::Cpus(cpus) => {
                let most = cpus
                    .most
                    .or(cpus_of(request).and_then(|former| former.most));
                set_cpus(request, CpuRange { most, ..*cpus })?;
                if u64::from(cpus.least) > self.most_cpus(request) {
                    return Err(ChangeDenial::TooManyCpus);
                }
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
                let denial = |text: &str| {
                    if Dependency::asks_to_expand(text) {
                        ChangeDenial::NotSupported
                    } else {
                        ChangeDenial::Dependency
                    }
                };
                let read = dependency
                    .as_deref()
                    .map(|text| Dependency::parse(text).ok_or_else(|| denial(text)));
                let read = read.transpose()?.map(|it| self.naming_arrays(it));
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
                update.set_priority(*priority);
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
                if let Some(range) = cpus_of(request).filter(|_| *cpus > 0) {
                    let least = cpus.saturating_mul(request.min_nodes.unwrap_or(1));
                    set_cpus(request, CpuRange { least, ..range })?;
                }
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
                // GPUs of tasks are not counted by node too.
                let has_gpus = items.iter().any(|item| item.name == "gpu");
                if has_gpus && request.rare.gpus_per_task.is_some() {
                    return Err(ChangeDenial::Gres);
                }
                let before = request.rare.asked.per_node.items().unwrap_or_default();
                for item in &items {
                    let lanes = || {
                        let lanes = cluster.classes().iter().flat_map(|class| &class.lanes);
                        lanes.flatten().filter(|lane| lane.name == item.name)
                    };
                    if lanes().next().is_none() {
                        return Err(ChangeDenial::Gres);
                    }
                    let is_typed = item.kind.is_some();
                    let differs =
                        |it: &GresItem| it.name == item.name && it.kind.is_some() != is_typed;
                    if is_typed && !lanes().any(|lane| lane.kind == item.kind)
                        || before.iter().any(differs)
                    {
                        return Err(ChangeDenial::GresType);
                    }
                }
                request.gpus_per_node = list.gpus();
                request.rare.asked.is_by_gres = !list.is_empty();
                request.rare.asked.per_node = list;
                if !resources::is_sent(request) {
                    return Err(ChangeDenial::Gres);
                }
            }
            JobChange::Licenses(licences) => self.change_licences(request, licences)?,
            JobChange::WorkDir(folder) => request.chdir = folder.into(),
            JobChange::End(_) => return Err(ChangeDenial::NotRunning),
            // Whether or not it waits.
            JobChange::ArrayThrottle(_) => {}
            JobChange::Reservation(name) => {
                update.set_reservation(name.as_deref());
                self.check_reservation(record, &update.request)?;
                let qos = member::qos_of(cluster, record);
                if name.is_none() && qos.is_some_and(|qos| self.is_for_reservations(qos)) {
                    return Err(ChangeDenial::Qos);
                }
            }
            JobChange::SiteFactor(factor) => set_site_factor(request, *factor, is_operator)?,
            JobChange::Deadline(_) if !is_operator => return Err(ChangeDenial::Permission),
            JobChange::Deadline(at) => request.rare.deadline = Some(*at),
            JobChange::TimeMin(least) => request.rare.time_min = *least,
            JobChange::Output(path) => request.output.clone_from(path),
            JobChange::AdminComment(_) if !is_operator => return Err(ChangeDenial::Permission),
            change => {
                changes_any_job(request, change);
            }
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
fn may_not(rules: Option<&ClusterFile>, update: &JobUpdate, record: &Job) -> bool {
    let is_of_user = |denial: &Denial| {
        matches!(denial, Denial::Account | Denial::Qos) || is_of_association(denial)
    };
    refused(rules, update, record).any(|denial| is_of_user(&denial))
}

/// Whether it is the account, where that is another one in each partition.
fn is_of_association(denial: &Denial) -> bool {
    matches!(
        denial,
        Denial::PartitionAccount | Denial::SeveralAssociations
    )
}

/// Why the cluster's rules would refuse a changed job.
fn refused(
    rules: Option<&ClusterFile>,
    update: &JobUpdate,
    record: &Job,
) -> impl Iterator<Item = Denial> {
    let all = rules.map(|rules| {
        // What it asked for may be over.
        let names = update.reservation.as_deref().map(str::to_owned);
        let request = update.request.with_rare(|rare| rare.reservation = names);
        resources::findings(rules, &request, Some(&record.submitter.user))
    });
    let all = all.into_iter().flatten();
    all.filter(|found| found.fate == Fate::Refused)
        .map(|found| found.denial)
}

/// CPUs in all that were asked for by an earlier change.
fn cpus_of(request: &Request) -> Option<CpuRange> {
    let options = request.rare.node_options.as_deref();
    options.and_then(|options| options.cpus)
}

fn set_cpus(request: &mut Request, cpus: CpuRange) -> Result<(), ChangeDenial> {
    if cpus.most.is_some_and(|most| most < cpus.least) {
        return Err(ChangeDenial::CpuCount);
    }
    options_of(request).cpus = Some(cpus);
    Ok(())
}

/// CPUs that a job has on so many nodes at the least: those of its tasks, and what each node must have.
fn least_cpus(request: &Request, nodes: u32) -> u32 {
    let tasks = request.tasks.unwrap_or(nodes).max(nodes);
    let of_tasks = tasks.saturating_mul(request.cpus_per_task.unwrap_or(1).max(1));
    let options = request.rare.node_options.as_deref();
    let of_node = options.and_then(|options| options.min_cpus).unwrap_or(0);
    of_tasks.max(of_node.saturating_mul(nodes))
}
