//! Limits of QOS, accounts and users on what runs: what is held under each, and which of them keeps
//! a job from starting.
//!
//! A pass counts anew what runs, so that nothing can come apart. Slurm's order decides which value
//! of a limit counts: the partition's QOS, the job's, the user, the accounts upwards; the flag
//! `OverPartQOS` swaps the first two. Limits on groups hold at every level of the accounts, where no
//! QOS sets them. Not counted are
//! resources times minutes, and resources other than CPUs, memory, nodes and GPUs of any type.

use crate::{State, member};
use cluster_file::Tres;
use model::{ArrayTask, JobRecord, JobState, PendingReason, Seconds};
use resources::{AccountId, Association, Cluster, Limits, PartId, QosId, Share};
use std::collections::HashMap;

/// What is held under one limit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Counter {
    Qos(QosId),
    QosUser(QosId, u32),
    QosAccount(QosId, String),
    Account(AccountId),
    /// One user in one account.
    Association(String, u32),
    /// One user in the whole cluster.
    User(u32),
}

/// Jobs, and what they hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    jobs: u32,
    cpus: u64,
    mem_mib: u64,
    nodes: u64,
    gpus: u64,
}

impl Used {
    /// A job with these shares.
    pub(crate) fn of_shares(shares: &[Share]) -> Used {
        let sum = |of: fn(&Share) -> u32| shares.iter().map(|share| u64::from(of(share))).sum();
        let mut nodes: Vec<_> = shares.iter().map(|share| share.node).collect();
        nodes.dedup();
        Used {
            jobs: 1,
            cpus: sum(Share::cpus),
            mem_mib: sum(Share::mem_mib),
            nodes: nodes.len() as u64,
            gpus: sum(Share::gpu_count),
        }
    }

    fn of_record(record: &JobRecord) -> Option<Used> {
        let JobState::Running { allocation, .. } = &record.state else {
            return None;
        };
        Some(Used {
            jobs: 1,
            cpus: allocation.cpus() as u64,
            mem_mib: allocation.nodes.iter().map(|share| share.memory).sum(),
            nodes: allocation.nodes.len() as u64,
            gpus: allocation.gpus() as u64,
        })
    }

    fn plus(self, other: Used) -> Used {
        Used {
            jobs: self.jobs.saturating_add(other.jobs),
            cpus: self.cpus.saturating_add(other.cpus),
            mem_mib: self.mem_mib.saturating_add(other.mem_mib),
            nodes: self.nodes.saturating_add(other.nodes),
            gpus: self.gpus.saturating_add(other.gpus),
        }
    }

    /// The amount of a TRES by Slurm's name; none for what is not counted.
    fn get(&self, name: &str) -> Option<u64> {
        match name {
            "cpu" => Some(self.cpus),
            "mem" => Some(self.mem_mib),
            "node" => Some(self.nodes),
            "gres/gpu" => Some(self.gpus),
            _ => None,
        }
    }
}

/// Whose limits a job meets in a partition.
pub(crate) struct Chain<'a> {
    cluster: &'a Cluster,
    /// The partition's and the job's, the first of which counts first.
    qos: Vec<QosId>,
    association: Option<&'a Association>,
    /// The account and those above it.
    accounts: Vec<AccountId>,
    account: String,
    uid: u32,
}

impl<'a> Chain<'a> {
    pub(crate) fn of(
        cluster: &'a Cluster,
        record: &JobRecord,
        partition: Option<PartId>,
    ) -> Chain<'a> {
        let association = member::association_of(cluster, record);
        let account = member::account_of(cluster, record).unwrap_or_default();
        let of_job = member::qos_of(cluster, record);
        let of_partition = partition.and_then(|partition| cluster.partition(partition).qos);
        let goes_first =
            of_job.is_some_and(|qos| cluster.qos()[usize::from(qos.0)].has_flag("OverPartQOS"));
        let mut qos: Vec<QosId> = [of_partition, of_job].into_iter().flatten().collect();
        qos.dedup();
        if goes_first {
            qos.reverse();
        }
        let mut accounts: Vec<AccountId> = Vec::new();
        let mut next = cluster.find_account(&account);
        // An account below itself is met once.
        while let Some(id) = next.filter(|id| !accounts.contains(id)) {
            accounts.push(id);
            next = cluster.accounts()[usize::from(id.0)].parent;
        }
        Chain {
            cluster,
            qos,
            association,
            accounts,
            account,
            uid: record.uid,
        }
    }

    /// Where the job counts when it runs.
    fn counters(&self) -> Vec<Counter> {
        let mut counters = vec![Counter::User(self.uid)];
        for qos in &self.qos {
            counters.push(Counter::Qos(*qos));
            counters.push(Counter::QosUser(*qos, self.uid));
            counters.push(Counter::QosAccount(*qos, self.account.clone()));
        }
        counters.extend(
            self.accounts
                .iter()
                .map(|account| Counter::Account(*account)),
        );
        counters.push(Counter::Association(self.account.clone(), self.uid));
        counters
    }

    fn qos_limits(&self) -> impl Iterator<Item = (QosId, &'a Limits)> {
        let all = self.cluster.qos();
        let qos = self.qos.iter();
        qos.map(move |qos| (*qos, &all[usize::from(qos.0)].limits))
    }

    /// Of the user in the account, then of the accounts upwards.
    fn association_limits(&self) -> impl Iterator<Item = (Counter, &'a Limits)> {
        let own = Counter::Association(self.account.clone(), self.uid);
        let own = self
            .association
            .map(|association| (own, &association.limits));
        let all = self.cluster.accounts();
        let accounts = self.accounts.iter();
        let accounts = accounts.map(move |account| {
            let limits = &all[usize::from(account.0)].limits;
            (Counter::Account(*account), limits)
        });
        own.into_iter().chain(accounts)
    }
}

/// What runs, by limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ledger {
    held: HashMap<Counter, Used>,
    /// Whether the cluster has limits at all.
    counts: bool,
}

impl Ledger {
    /// Counts what runs; nothing where the cluster has no limits.
    pub(crate) fn count<'a>(
        cluster: &Cluster,
        running: impl Iterator<Item = &'a JobRecord>,
    ) -> Ledger {
        let mut ledger = Ledger {
            held: HashMap::new(),
            counts: cluster.has_limits(),
        };
        if !ledger.counts {
            return ledger;
        }
        for record in running {
            if let Some(used) = Used::of_record(record) {
                let partition = record.partitions();
                let partition = partition.and_then(|name| cluster.find_partition(name));
                ledger.add(&Chain::of(cluster, record, partition), used);
            }
        }
        ledger
    }

    /// Whether any limit can keep a job from starting.
    pub(crate) fn counts(&self) -> bool {
        self.counts
    }

    /// A job starts.
    pub(crate) fn add(&mut self, chain: &Chain<'_>, used: Used) {
        for counter in chain.counters() {
            let held = self.held.entry(counter).or_default();
            *held = held.plus(used);
        }
    }

    fn held(&self, counter: &Counter) -> Used {
        self.held.get(counter).copied().unwrap_or_default()
    }

    /// Before nodes are chosen: numbers of jobs, and time.
    pub(crate) fn before(
        &self,
        chain: &Chain<'_>,
        limit: Option<Seconds>,
    ) -> Result<(), PendingReason> {
        let full = |counter: &Counter, most: Option<u32>| {
            most.is_some_and(|most| self.held(counter).jobs >= most)
        };
        let too_long = |wall: Seconds| limit.is_none_or(|limit| limit > wall);
        let of_group = chain.qos_limits().find(|(_, it)| it.group.jobs.is_some());
        if let Some((qos, limits)) = of_group
            && full(&Counter::Qos(qos), limits.group.jobs)
        {
            return over("QOSGrpJobsLimit");
        }
        let first = chain.qos_limits().find(|(_, it)| it.account.jobs.is_some());
        if let Some((qos, limits)) = first {
            let counter = Counter::QosAccount(qos, chain.account.clone());
            if full(&counter, limits.account.jobs) {
                return over("MaxJobsPerAccount");
            }
        }
        let of_qos = chain.qos_limits().find(|(_, it)| it.user.jobs.is_some());
        if let Some((qos, limits)) = of_qos
            && full(&Counter::QosUser(qos, chain.uid), limits.user.jobs)
        {
            return over("QOSMaxJobsPerUserLimit");
        }
        let wall = chain.qos_limits().find_map(|(_, it)| it.wall);
        if wall.is_some_and(too_long) {
            return over("QOSMaxWallDurationPerJobLimit");
        }
        for (counter, limits) in chain.association_limits() {
            if of_group.is_none() && full(&counter, limits.group.jobs) {
                return over("AssocGrpJobsLimit");
            }
        }
        if of_qos.is_none() {
            let most = chain.association_limits().find_map(|(_, it)| it.user.jobs);
            let own = Counter::Association(chain.account.clone(), chain.uid);
            if full(&own, most) {
                return over("AssocMaxJobsLimit");
            }
            // The cluster's own key is there for sites without accounts.
            let of_cluster = chain.cluster.limits_of_users().jobs;
            if most.is_none() && full(&Counter::User(chain.uid), of_cluster) {
                return over("AssocMaxJobsLimit");
            }
        }
        let of_user = chain.association_limits().find_map(|(_, it)| it.wall);
        if wall.is_none() && of_user.is_some_and(too_long) {
            return over("AssocMaxWallDurationPerJobLimit");
        }
        Ok(())
    }

    /// Once nodes are chosen: what the job would hold.
    pub(crate) fn after(&self, chain: &Chain<'_>, used: Used) -> Result<(), PendingReason> {
        let check = |of: &dyn Fn(&'_ Limits) -> Tres, with: Option<&Counter>, limits: &Limits| {
            let held = with.map_or_else(Used::default, |counter| self.held(counter));
            first_over(&of(limits), &held.plus(used))
        };
        // The first QOS that sets one decides, name by name as good as always: a site sets them
        // together.
        let set = |of: fn(&Limits) -> &Tres| {
            let mut qos = chain.qos_limits();
            qos.find(|(_, limits)| !of(limits).0.is_empty())
        };
        if let Some((qos, limits)) = set(|it| &it.group.tres) {
            let counter = Counter::Qos(qos);
            if let Some(name) = check(&|it| it.group.tres.clone(), Some(&counter), limits) {
                return over(match name {
                    "cpu" => "QOSGrpCpuLimit",
                    "node" => "QOSGrpNodeLimit",
                    "mem" => "QOSGrpMemLimit",
                    _ => "QOSGrpGRES",
                });
            }
        }
        if let Some((_, limits)) = set(|it| &it.job)
            && let Some(name) = check(&|it| it.job.clone(), None, limits)
        {
            return over(match name {
                "cpu" => "QOSMaxCpuPerJobLimit",
                "node" => "QOSMaxNodePerJobLimit",
                "mem" => "QOSMaxMemoryPerJob",
                _ => "QOSMaxGRESPerJob",
            });
        }
        if let Some((_, limits)) = set(|it| &it.least)
            && let Some(name) = first_under(&limits.least, &used)
        {
            return over(match name {
                "cpu" => "QOSMinCpuNotSatisfied",
                "mem" => "QOSMinMemory",
                _ => "QOSMinGRES",
            });
        }
        if let Some((qos, limits)) = set(|it| &it.account.tres) {
            let counter = Counter::QosAccount(qos, chain.account.clone());
            if let Some(name) = check(&|it| it.account.tres.clone(), Some(&counter), limits) {
                return over(match name {
                    "cpu" => "MaxCpuPerAccount",
                    "node" => "MaxNodePerAccount",
                    "mem" => "MaxMemoryPerAccount",
                    _ => "MaxGRESPerAccount",
                });
            }
        }
        if let Some((qos, limits)) = set(|it| &it.user.tres) {
            let counter = Counter::QosUser(qos, chain.uid);
            if let Some(name) = check(&|it| it.user.tres.clone(), Some(&counter), limits) {
                return over(match name {
                    "cpu" => "QOSMaxCpuPerUserLimit",
                    "node" => "QOSMaxNodePerUserLimit",
                    "mem" => "QOSMaxMemoryPerUser",
                    _ => "QOSMaxGRESPerUser",
                });
            }
        }
        let of_group = set(|it| &it.group.tres).into_iter();
        let of_group = of_group.flat_map(|(_, limits)| limits.group.tres.0.iter());
        let of_group: Vec<&String> = of_group.map(|(name, _)| name).collect();
        let of_qos = set(|it| &it.job).is_some();
        let mut of_job = chain.association_limits();
        let of_job = of_job.find(|(_, limits)| !of_qos && !limits.job.0.is_empty());
        if let Some((_, limits)) = of_job
            && let Some(name) = check(&|it| it.job.clone(), None, limits)
        {
            return over(match name {
                "cpu" => "AssocMaxCpuPerJobLimit",
                "node" => "AssocMaxNodePerJobLimit",
                "mem" => "AssocMaxMemPerJob",
                _ => "AssocMaxGRESPerJob",
            });
        }
        for (counter, limits) in chain.association_limits() {
            // What a QOS limits as well is up to the QOS.
            let left = |it: &Limits| {
                let mut left = it.group.tres.clone();
                left.0.retain(|(name, _)| !of_group.contains(&name));
                left
            };
            if let Some(name) = check(&left, Some(&counter), limits) {
                return over(match name {
                    "cpu" => "AssocGrpCpuLimit",
                    "node" => "AssocGrpNodeLimit",
                    "mem" => "AssocGrpMemLimit",
                    _ => "AssocGrpGRES",
                });
            }
        }
        Ok(())
    }
}

impl State {
    /// The limit on submitted jobs that a new one would pass, by Slurm's name; those that run and
    /// wait count, and each element of an array.
    #[must_use]
    pub fn over_submit_limit(&self, record: &JobRecord) -> Option<&'static str> {
        let cluster = &self.cluster;
        if !cluster.has_limits() {
            return None;
        }
        let elements = |record: &JobRecord| match record.array.as_ref().map(|it| &it.task) {
            Some(ArrayTask::Waiting(spec)) => spec.indices.len(),
            Some(ArrayTask::One(_)) | None => 1,
        };
        let chain_of = |record: &JobRecord| {
            let names = record.partitions();
            let partition = names.and_then(|names| names.split(',').next());
            let partition = partition.and_then(|name| cluster.find_partition(name));
            Chain::of(cluster, record, partition).counters()
        };
        let mut there: HashMap<Counter, usize> = HashMap::new();
        for record in self.live() {
            for counter in chain_of(record) {
                *there.entry(counter).or_default() += elements(record);
            }
        }
        let full = |counter: &Counter, most: Option<u32>| {
            let there = there.get(counter).copied().unwrap_or(0);
            most.is_some_and(|most| there + elements(record) > most as usize)
        };
        let partition = record.partitions();
        let partition = partition.and_then(|names| names.split(',').next());
        let partition = partition.and_then(|name| cluster.find_partition(name));
        let chain = Chain::of(cluster, record, partition);
        for (qos, limits) in chain.qos_limits() {
            if full(&Counter::Qos(qos), limits.group.submitted) {
                return Some("QOSGrpSubmitJobsLimit");
            }
        }
        let first = chain
            .qos_limits()
            .find(|(_, it)| it.account.submitted.is_some());
        if let Some((qos, limits)) = first {
            let counter = Counter::QosAccount(qos, chain.account.clone());
            if full(&counter, limits.account.submitted) {
                return Some("MaxSubmitJobsPerAccount");
            }
        }
        let of_qos = chain
            .qos_limits()
            .find(|(_, it)| it.user.submitted.is_some());
        if let Some((qos, limits)) = of_qos {
            let counter = Counter::QosUser(qos, chain.uid);
            let is_full = full(&counter, limits.user.submitted);
            return is_full.then_some("QOSMaxSubmitJobPerUserLimit");
        }
        for (counter, limits) in chain.association_limits() {
            if full(&counter, limits.group.submitted) {
                return Some("AssocGrpSubmitJobsLimit");
            }
        }
        let most = chain
            .association_limits()
            .find_map(|(_, it)| it.user.submitted);
        let own = Counter::Association(chain.account.clone(), chain.uid);
        let of_cluster = cluster.limits_of_users().submitted;
        let is_full =
            full(&own, most) || (most.is_none() && full(&Counter::User(chain.uid), of_cluster));
        is_full.then_some("AssocMaxSubmitJobLimit")
    }
}

fn over(name: &str) -> Result<(), PendingReason> {
    Err(PendingReason::OverLimit(name.to_owned()))
}

/// The first of the limits that is passed.
fn first_over<'a>(limits: &Tres, used: &Used) -> Option<&'a str> {
    let over = |(name, most): &&(String, u64)| used.get(name).is_some_and(|held| held > *most);
    limits.0.iter().find(over).map(|(name, _)| word(name))
}

/// The first that is not reached.
fn first_under<'a>(limits: &Tres, used: &Used) -> Option<&'a str> {
    let under = |(name, least): &&(String, u64)| used.get(name).is_some_and(|held| held < *least);
    limits.0.iter().find(under).map(|(name, _)| word(name))
}

fn word<'a>(name: &str) -> &'a str {
    match name {
        "cpu" => "cpu",
        "node" => "node",
        "mem" => "mem",
        _ => "gres",
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use crate::{Event, priority_of};
    use cluster_file::ClusterFile;
    use model::{GpuCount, JobId, Request, TimeLimitRequest, Timestamp, reason_text};
    use resources::Trust;
    use std::sync::Arc;

    struct World {
        state: State,
        now: Timestamp,
    }

    impl World {
        fn of(file: &ClusterFile) -> World {
            let cluster = Cluster::build(file, Trust::All);
            World {
                state: State::new(Arc::new(cluster), Arc::new([])),
                now: Timestamp(1_000_000),
            }
        }

        fn shipped(name: &str) -> World {
            World::of(&cluster_file::find(name).unwrap().unwrap())
        }

        fn text(text: &str) -> World {
            World::of(&ClusterFile::parse("test", text).unwrap())
        }

        /// Submits a job of a user; the limit on submissions that refuses it.
        fn submit(&mut self, user: &str, request: Request) -> Result<JobId, &'static str> {
            let id = self.state.new_id();
            let partition = self.state.cluster().default_partition();
            let partition = partition.map(|id| self.state.cluster().partition(id).name.clone());
            let request = Request {
                partition: request.partition.clone().or(partition),
                ..request
            };
            let record = JobRecord {
                uid: user.bytes().map(u32::from).sum(),
                gid: 1,
                user: user.to_owned(),
                group: user.to_owned(),
                priority: priority_of(&request),
                submit_host: "login".to_owned(),
                ..JobRecord::submitted(id, request, self.now)
            };
            if let Some(limit) = self.state.over_submit_limit(&record) {
                return Err(limit);
            }
            self.state.apply(Event::Submitted {
                record: Box::new(record),
                array: None,
                history: Vec::new(),
                at: self.now,
            });
            self.state.schedule(self.now);
            Ok(id)
        }

        /// `R`, or why it waits.
        fn stands(&self, job: JobId) -> String {
            let record = self.state.job(job).unwrap();
            match &record.state {
                JobState::Running { .. } => "R".to_owned(),
                state => reason_text(state),
            }
        }

        #[track_caller]
        fn check(&mut self, user: &str, request: Request, want: &str) -> Option<JobId> {
            match self.submit(user, request) {
                Ok(job) => {
                    assert_eq!(self.stands(job), want);
                    Some(job)
                }
                Err(limit) => {
                    assert_eq!(format!("refused: {limit}"), want);
                    None
                }
            }
        }
    }

    fn job(gpus: u32, hours: u64) -> Request {
        Request {
            gpus_per_node: (gpus > 0).then_some(GpuCount {
                kind: None,
                count: gpus,
            }),
            min_nodes: Some(1),
            memory: Some(model::MemoryRequest::PerNode(1000)),
            time: Some(TimeLimitRequest::Limit(Seconds(hours * 3600))),
            ..Request::default()
        }
    }

    fn in_qos(qos: &str, request: Request) -> Request {
        Request {
            qos: Some(qos.to_owned()),
            ..request
        }
    }

    /// Satori: one running job a user, and 12 hours, in the default queue.
    #[test]
    fn satori() {
        let mut satori = World::shipped("satori");
        let first = satori.check("ann", job(1, 12), "R").unwrap();
        let second = satori
            .check("ann", job(1, 1), "QOSMaxJobsPerUserLimit")
            .unwrap();
        satori.check("bob", job(4, 12), "R");
        satori.state.apply(Event::Gone {
            job: first,
            outcome: model::Outcome::Completed,
            at: satori.now,
        });
        satori.state.schedule(satori.now);
        assert_eq!(satori.stands(second), "R");
    }

    /// Wilson: opp takes 50 jobs of a user, test runs one of three, regular has no such limit.
    #[test]
    fn wilson() {
        let mut wilson = World::shipped("wilson");
        let name = |wilson: &World, request: Request| {
            let partition = wilson.state.cluster().partitions().iter();
            let gpu = partition
                .filter(|one| one.name.contains("gpu"))
                .map(|one| one.name.clone());
            Request {
                partition: gpu.clone().next(),
                ..request
            }
        };
        let test = name(&wilson, in_qos("test", job(1, 1)));
        wilson.check("ann", test.clone(), "R");
        wilson.check("ann", test.clone(), "QOSMaxJobsPerUserLimit");
        wilson.check("ann", test.clone(), "QOSMaxJobsPerUserLimit");
        wilson.check("ann", test.clone(), "refused: QOSMaxSubmitJobPerUserLimit");
        wilson.check("bob", test, "R");
        let regular = name(&wilson, in_qos("regular", job(1, 1)));
        wilson.check("ann", regular.clone(), "R");
        wilson.check("ann", regular, "R");
        let opp = name(&wilson, job(0, 1));
        for _ in 0..50 {
            wilson.submit("eve", opp.clone()).unwrap();
        }
        wilson.check("eve", opp, "refused: QOSMaxSubmitJobPerUserLimit");
    }

    const LAB: &str = "[nodes.g]\nnames = \"g[1-4]\"\ncpus = 8\n\
        gpu = { type = \"v100\", count = 4 }\n\
        [partition.all]\ndefault = true\nnodes = \"ALL\"\nqos = \"part\"\n\
        [qos.part]\nmax_tres_per_user = \"gres/gpu=6\"\ngroup_tres = \"gres/gpu=12\"\n\
        [qos.wide]\nmax_tres_per_user = \"gres/gpu=16\"\nflags = [\"OverPartQOS\"]\n\
        [qos.narrow]\nmax_wall = \"01:00:00\"\nmax_tres_per_job = \"cpu=2\"\n\
        [account.lab]\ngroup_tres = \"cpu=10\"\nmax_jobs = 3\n[account.sub]\nparent = \"lab\"\n\
        [user.ann]\naccounts = [\"sub\"]\n[user.bob]\naccounts = [\"sub\"]\n\
        [user.eve]\naccounts = [\"lab\"]\n[user.eve.account.lab]\nmax_jobs = 1\n";

    #[test]
    fn the_partition_goes_before_the_job_unless_a_flag_says_otherwise() {
        let mut lab = World::text(LAB);
        lab.check("zoe", job(4, 1), "R");
        lab.check("zoe", job(3, 1), "QOSMaxGRESPerUser");
        lab.check("zoe", in_qos("wide", job(4, 1)), "R");
        // All groups count, whatever goes first.
        lab.check("yan", in_qos("wide", job(4, 1)), "R");
        lab.check("yan", in_qos("wide", job(1, 1)), "QOSGrpGRES");
    }

    #[test]
    fn a_job_by_itself() {
        let mut lab = World::text(LAB);
        lab.check(
            "zoe",
            in_qos("narrow", job(0, 2)),
            "QOSMaxWallDurationPerJobLimit",
        );
        let wide = Request {
            tasks: Some(3),
            ..job(0, 1)
        };
        lab.check("zoe", in_qos("narrow", wide), "QOSMaxCpuPerJobLimit");
        lab.check("zoe", in_qos("narrow", job(0, 1)), "R");
    }

    #[test]
    fn accounts_upwards() {
        let mut lab = World::text(LAB);
        let four = Request {
            cpus_per_task: Some(4),
            ..job(0, 1)
        };
        lab.check("ann", four.clone(), "R");
        lab.check("bob", four.clone(), "R");
        // Both are below lab, which has ten CPUs.
        lab.check("ann", four, "AssocGrpCpuLimit");
        lab.check("ann", job(0, 1), "R");
        lab.check("ann", job(0, 1), "R");
        lab.check("ann", job(0, 1), "AssocMaxJobsLimit");
    }

    /// A user's own limit goes before that of the account.
    #[test]
    fn a_users_own() {
        let mut lab = World::text(LAB);
        lab.check("eve", job(0, 1), "R");
        lab.check("eve", job(0, 1), "AssocMaxJobsLimit");
    }
}
