#![expect(clippy::unwrap_used, reason = "a test fails loudly")]
use crate::{Event, Job, State};
use cluster_file::ClusterFile;
use model::{
    GpuCount, JobId, JobState, Request, Seconds, Submitter, TimeLimitRequest, Timestamp,
    reason_text,
};
use resources::{Cluster, Trust};
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
        let submitter = Submitter {
            uid: user.bytes().map(u32::from).sum(),
            user: user.to_owned(),
            ..Submitter::default()
        };
        let record = Job::submitted(id, request, Arc::new(submitter), self.now);
        if let Some(limit) = self.state.in_queue.over(&self.state.cluster, &record) {
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
            state => reason_text(state).into_owned(),
        }
    }

    /// The nodes of a running job.
    fn nodes(&self, job: JobId) -> Vec<String> {
        let record = self.state.job(job).unwrap();
        let JobState::Running { allocation, .. } = &record.state else {
            panic!("{job} is not running");
        };
        let nodes = allocation.nodes.iter();
        nodes.map(|share| share.node.to_string()).collect()
    }

    /// A running job is done.
    fn end(&mut self, job: JobId) {
        self.state.apply(Event::Gone {
            job,
            outcome: model::Outcome::Completed,
            at: self.now,
        });
        self.state.schedule(self.now);
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

/// All limits of the first QOS come before those of the second, and a user's own before those of accounts.
#[test]
fn the_first_qos_gives_the_reason() {
    let mut lab = World::text(
        "[nodes.g]\nnames = \"g[1-4]\"\ncpus = 8\n\
         [partition.brief]\nnodes = \"ALL\"\nqos = \"brief\"\n[partition.all]\nnodes = \"ALL\"\n\
         [qos.brief]\nmax_wall = \"00:20:00\"\n[qos.one]\nmax_jobs_per_user = 1\n\
         [qos.over]\nmax_jobs_per_user = 1\nflags = [\"OverPartQOS\"]\n\
         [account.lab]\ngroup_jobs = 1\n[user.eve]\naccounts = [\"lab\"]\n\
         [user.eve.account.lab]\nmax_jobs = 1\nmax_wall = \"00:30:00\"\n",
    );
    let inside = |partition: &str, request: Request| Request {
        partition: Some(partition.to_owned()),
        ..request
    };
    let brief = |qos: &str, time: u64| inside("brief", in_qos(qos, minutes(1, time)));
    lab.check("ann", brief("one", 10), "R");
    lab.check("ann", brief("one", 30), "QOSMaxWallDurationPerJobLimit");
    lab.check("ann", brief("one", 10), "QOSMaxJobsPerUserLimit");
    lab.check("bob", brief("over", 10), "R");
    lab.check("bob", brief("over", 30), "QOSMaxJobsPerUserLimit");
    lab.check("eve", inside("all", minutes(1, 10)), "R");
    lab.check("eve", inside("all", minutes(1, 10)), "AssocMaxJobsLimit");
}

const LEVELS: &str = "[nodes.g]\nnames = \"g[1-4]\"\ncpus = 8\nmemory = \"16000M\"\n\
    gpu = { type = \"v100\", count = 4 }\n\
    [partition.all]\ndefault = true\nnodes = \"ALL\"\nqos = \"part\"\n\
    [qos.part]\nmax_tres_per_user = \"cpu=8\"\ngroup_tres_minutes = \"gres/gpu=60\"\n\
    [qos.card]\nmax_tres_per_user = \"gres/gpu=1,cpu=1\"\n\
    [qos.run]\ngroup_tres_run_minutes = \"cpu=60\"\nmax_tres_per_node = \"cpu=2\"\n\
    [qos.least]\nmin_tres_per_job = \"node=2,cpu=4,gres/gpu=1,mem=2000M\"\n\
    [account.above]\nmax_tres_per_job = \"gres/gpu=1,cpu=1\"\n\
    [account.lab]\nparent = \"above\"\nmax_tres_per_job = \"node=2\"\nmax_tres_minutes_per_job = \"cpu=300\"\n\
    [user.ann]\naccounts = [\"lab\"]\n[user.ann.account.lab]\nmax_tres_per_job = \"cpu=4\"\n";

/// Each resource is limited by the first level that limits it, whatever other resources a level before it
/// limits.
#[test]
fn each_resource_has_its_own_first_level() {
    let mut lab = World::text(LEVELS);
    let cpus = |cpus: u32, request: Request| Request {
        cpus_per_task: Some(cpus),
        ..request
    };
    lab.check("zoe", in_qos("card", cpus(4, job(1, 1))), "R");
    // CPUs are the partition's to limit, GPUs are left to the job's QOS.
    lab.check("zoe", in_qos("card", job(1, 1)), "QOSMaxGRESPerUser");
    lab.check(
        "zoe",
        in_qos("card", cpus(5, job(0, 1))),
        "QOSMaxCpuPerUserLimit",
    );
    // The user in the account, the account and the one above it.
    lab.check("ann", job(2, 1), "AssocMaxGRESPerJob");
    lab.check("ann", cpus(5, job(0, 1)), "AssocMaxCpuPerJobLimit");
    let nodes = Request {
        min_nodes: Some(3),
        ..job(0, 1)
    };
    lab.check("ann", nodes, "AssocMaxNodePerJobLimit");
    lab.check("ann", cpus(2, job(0, 3)), "AssocMaxCpuMinutesPerJobLimit");
    lab.check("ann", cpus(4, job(1, 1)), "R");
}

/// A node that several jobs have counts once under limits on jobs together, and goes before others.
#[test]
fn nodes_are_counted_once() {
    let mut lab = World::text(
        "[nodes.g]\nnames = \"g[1-4]\"\ncpus = 8\nmemory = \"16000M\"\n[partition.all]\ndefault = true\nnodes = \"ALL\"\n\
         [qos.two]\ngroup_tres = \"node=2\"\n[qos.user]\nmax_tres_per_user = \"node=1\"\n",
    );
    let on = |node: &str, cpus: u32| {
        in_qos("two", minutes(cpus, 1)).with_rare(|rare| {
            rare.nodelist = Arc::new(vec![model::NodeName::new(node)]);
        })
    };
    let first = lab.check("ann", on("g3", 4), "R").unwrap();
    lab.check("bob", on("g3", 1), "R");
    // It would fit on g1 as well.
    let third = lab.check("eve", in_qos("two", minutes(1, 1)), "R").unwrap();
    assert_eq!(lab.nodes(third), ["g3"]);
    lab.check("ann", on("g2", 4), "R");
    let waits = lab.check("ann", on("g1", 1), "QOSGrpNodeLimit").unwrap();
    lab.end(first);
    // Others are on its node.
    assert_eq!(lab.stands(waits), "QOSGrpNodeLimit");
    let user = |node: &str| Request {
        qos: Some("user".to_owned()),
        ..on(node, 4)
    };
    lab.check("eve", user("g4"), "R");
    lab.check("eve", user("g4"), "R");
    lab.check("eve", user("g1"), "QOSMaxNodePerUserLimit");
    lab.check("ann", user("g1"), "R");
}

/// What a job has none of it may have, however much others used or hold.
#[test]
fn a_limit_on_what_a_job_has_none_of() {
    let mut lab = World::text(LEVELS);
    let used = lab.check("zoe", job(4, 1), "R").unwrap();
    lab.now = lab.now + Seconds(1800);
    lab.state.schedule(lab.now);
    lab.state.apply(Event::Gone {
        job: used,
        outcome: model::Outcome::Completed,
        at: lab.now,
    });
    lab.check("zoe", job(1, 1), "QOSGrpGRESMinutes");
    lab.check("zoe", job(0, 1), "R");
}

/// On two nodes five CPUs are two on each, and one that is left over.
#[test]
fn what_is_left_over_on_nodes_is_passed_by() {
    let mut lab = World::text(LEVELS);
    let tasks = |tasks: u32| Request {
        tasks: Some(tasks),
        min_nodes: Some(2),
        time: Some(TimeLimitRequest::Limit(Seconds(60))),
        ..job(0, 1)
    };
    lab.check("zoe", in_qos("run", tasks(6)), "QOSMaxCpuPerNode");
    lab.check("zoe", in_qos("run", tasks(5)), "R");
}

#[test]
fn less_than_a_job_must_have() {
    let mut lab = World::text(LEVELS);
    let least = |tasks: u32, nodes: u32, gpus: u32, mib: u64| {
        let request = Request {
            tasks: Some(tasks),
            min_nodes: Some(nodes),
            memory: Some(model::MemoryRequest::PerNode(mib)),
            ..job(gpus, 1)
        };
        in_qos("least", request)
    };
    lab.check("zoe", least(3, 2, 1, 1000), "QOSMinCpuNotSatisfied");
    lab.check("zoe", least(4, 2, 1, 900), "QOSMinMemory");
    lab.check("zoe", least(4, 1, 1, 2000), "QOSMinNode");
    lab.check("zoe", least(4, 2, 0, 1000), "QOSMinGRES");
    lab.check("zoe", least(4, 2, 1, 1000), "R");
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

fn minutes(cpus: u32, minutes: u64) -> Request {
    Request {
        cpus_per_task: Some(cpus),
        time: Some(TimeLimitRequest::Limit(Seconds(minutes * 60))),
        memory: Some(model::MemoryRequest::PerNode(1000)),
        ..Request::default()
    }
}

const MINUTES: &str = "[nodes.g]\nnames = \"g[1-4]\"\ncpus = 8\nmemory = \"16000M\"\n\
    gpu = { type = \"v100\", count = 4 }\n\
    [partition.all]\ndefault = true\nnodes = \"ALL\"\nbilling_weights = \"CPU=2\"\n\
    [license.x]\ncount = 3\n\
    [qos.job]\nmax_tres_minutes_per_job = \"cpu=60\"\n\
    [qos.runs]\ngroup_tres_run_minutes = \"cpu=100\"\n\
    [qos.node]\nmax_tres_per_node = \"cpu=4\"\n\
    [qos.bill]\ngroup_tres = \"billing=8\"\n\
    [qos.kind]\nmax_tres_per_user = \"gres/gpu:v100=2\"\n\
    [qos.licence]\nmax_tres_per_user = \"license/x=1\"\n";

#[test]
fn resources_times_minutes() {
    let mut lab = World::text(MINUTES);
    lab.check("ann", in_qos("job", minutes(2, 30)), "R");
    lab.check(
        "ann",
        in_qos("job", minutes(2, 31)),
        "QOSMaxCpuMinutesPerJobLimit",
    );
    let first = lab
        .check("ann", in_qos("runs", minutes(4, 20)), "R")
        .unwrap();
    lab.check("bob", in_qos("runs", minutes(2, 10)), "R");
    let waits = lab.check(
        "bob",
        in_qos("runs", minutes(1, 1)),
        "QOSGrpCPURunMinutesLimit",
    );
    let waits = waits.unwrap();
    // What is left of those that run becomes less.
    lab.now = lab.now + Seconds(60);
    lab.state.schedule(lab.now);
    assert_eq!(lab.stands(waits), "R");
    lab.state.apply(Event::Gone {
        job: first,
        outcome: model::Outcome::Completed,
        at: lab.now,
    });
    lab.check("eve", in_qos("runs", minutes(4, 20)), "R");
}

#[test]
fn other_resources() {
    let mut lab = World::text(MINUTES);
    lab.check("ann", in_qos("node", minutes(4, 1)), "R");
    lab.check("ann", in_qos("node", minutes(5, 1)), "QOSMaxCpuPerNode");
    lab.check("ann", in_qos("bill", minutes(3, 1)), "R");
    lab.check("bob", in_qos("bill", minutes(2, 1)), "QOSGrpBilling");
    lab.check("ann", in_qos("kind", job(2, 1)), "R");
    lab.check("ann", in_qos("kind", job(1, 1)), "QOSMaxGRESPerUser");
    let licence = |qos: &str| {
        in_qos(qos, minutes(1, 1)).with_rare(|rare| {
            rare.licenses = Some("x".to_owned());
        })
    };
    lab.check("ann", licence("licence"), "R");
    lab.check("ann", licence("licence"), "QOSMaxLicensePerUser");
    lab.check("bob", licence("licence"), "R");
    lab.check("eve", licence("none"), "R");
    lab.check("eve", licence("none"), "Licenses");
}

/// A partition without nodes starts nothing, and refuses what it could never start.
#[test]
fn a_partition_without_nodes() {
    let text = "[nodes.g]\nnames = \"g1\"\ncpus = 8\n[partition.all]\ndefault = true\n\
        nodes = \"ALL\"\n[partition.none]\n";
    let mut lab = World::text(text);
    let request = Request {
        partition: Some("none".to_owned()),
        ..minutes(1, 1)
    };
    assert!(lab.state.admit(&request).is_err());
    lab.check("ann", minutes(1, 1), "R");
}

/// Each of 100,000 jobs waits for the one before it: all end one after the other, without recursion.
#[test]
fn a_hundred_thousand_dependencies_in_a_chain() {
    let mut lab = World::text(MINUTES);
    let mut former: Option<JobId> = None;
    for _ in 0..100_000 {
        let request = minutes(1, 1).with_rare(|rare| {
            rare.dependency = former.map(|former| format!("afterok:{former}"));
        });
        let id = lab.state.new_id();
        let mut record = Job::submitted(id, request, Arc::default(), lab.now);
        record.partition = Some("all".into());
        lab.state.apply(Event::Submitted {
            record: Box::new(record),
            array: None,
            history: Vec::new(),
            at: lab.now,
        });
        former = Some(id);
    }
    for job in 1..=20 {
        lab.state.schedule(lab.now);
        assert_eq!(lab.stands(JobId(job)), "R");
        assert_eq!(lab.stands(JobId(job + 1)), "Dependency");
        lab.state.apply(Event::Gone {
            job: JobId(job),
            outcome: model::Outcome::Completed,
            at: lab.now,
        });
    }
    // One that fails ends none of the others: they wait, and say so.
    lab.state.schedule(lab.now);
    lab.state.apply(Event::Gone {
        job: JobId(21),
        outcome: model::Outcome::NodeFail,
        at: lab.now,
    });
    lab.state.schedule(lab.now);
    assert_eq!(lab.stands(JobId(22)), "DependencyNeverSatisfied");
    assert_eq!(lab.stands(JobId(100_000)), "Dependency");
}

const FEW: &str = r#"
[nodes.all]
names = "n1"
cpus = 2

[partition.all]
default = true
nodes = "ALL"

[qos.small]
max_submit_per_user = 5

[qos.other]
max_submit_per_user = 50
"#;

/// Jobs are counted as they come and go, and not all anew at each submission.
#[test]
fn submitted_jobs_are_counted_as_they_come_and_go() {
    let mut lab = World::text(FEW);
    #[track_caller]
    fn check(lab: &World, of_small: usize) {
        let counted = super::InQueue::count(&lab.state.cluster, lab.state.jobs.values());
        assert_eq!(lab.state.in_queue, counted);
        let small = lab.state.cluster.find_qos("small").unwrap();
        let uid = "ann".bytes().map(u32::from).sum();
        assert_eq!(counted.of(&super::Counter::QosUser(small, uid)), of_small);
    }
    let array = in_qos("small", job(0, 1)).with_rare(|rare| {
        rare.array = model::ArraySpec::parse("1-4");
    });
    let four = lab.submit("ann", array.clone()).unwrap();
    check(&lab, 4);
    assert_eq!(
        lab.submit("ann", array).unwrap_err(),
        "QOSMaxSubmitJobPerUserLimit"
    );
    let fifth = lab.check("ann", in_qos("small", job(0, 1)), "Priority");
    check(&lab, 5);
    lab.check(
        "ann",
        in_qos("small", job(0, 1)),
        "refused: QOSMaxSubmitJobPerUserLimit",
    );
    lab.state.apply(Event::CancelledElements {
        job: four,
        tasks: vec![3, 4],
        by: 0,
        at: lab.now,
    });
    check(&lab, 3);
    let fifth = fifth.unwrap();
    let mut update = crate::JobUpdate::of(lab.state.job(fifth).unwrap());
    update.request.qos = Some("other".to_owned());
    lab.state.apply(Event::Updated {
        job: fifth,
        update: Box::new(update),
        history: Vec::new(),
        at: lab.now,
    });
    check(&lab, 2);
    let running: Vec<JobId> = lab.state.running().map(|job| job.id).collect();
    for job in running {
        lab.state.apply(Event::Gone {
            job,
            outcome: model::Outcome::Completed,
            at: lab.now,
        });
    }
    check(&lab, 0);
}

/// Components of one job count together.
#[test]
fn components_pass_no_limit_together() {
    let lab = World::text(FEW);
    let one = |id: u32| {
        Job::submitted(
            JobId(id),
            in_qos("small", job(0, 1)),
            Arc::default(),
            lab.now,
        )
    };
    let five: Vec<Job> = (1..=5).map(one).collect();
    assert!(lab.state.has_room_for(&five).is_ok());
    let six: Vec<Job> = (1..=6).map(one).collect();
    let refused = lab.state.has_room_for(&six).unwrap_err();
    assert!(
        refused.to_string().contains("QOSMaxSubmitJobPerUserLimit"),
        "{refused}"
    );
}

/// Jobs of one CPU or two that ran for 36 s, in an account that limits time for 72 s, and what a Slurm
/// 22.05.8 said of the next ones: the factor of a QOS counts for what was used, and for nothing else.
#[test]
fn what_was_used() {
    let text = "[nodes.g]\nnames = \"g[1-4]\"\ncpus = 8\nmemory = \"16000M\"\n\
        [partition.all]\ndefault = true\nnodes = \"ALL\"\n\
        [qos.min]\ngroup_tres_minutes = \"cpu=1\"\n\
        [qos.factor]\ngroup_tres_minutes = \"cpu=1\"\nusage_factor = 2.0\n\
        [qos.wall]\ngroup_wall = \"00:01:00\"\nusage_factor = 2.0\n\
        [qos.zero]\ngroup_tres_minutes = \"cpu=1\"\nusage_factor = 0.0\n\
        [qos.job]\nmax_tres_minutes_per_job = \"cpu=10\"\nusage_factor = 4.0\n\
        [qos.run]\ngroup_tres_run_minutes = \"cpu=10\"\nusage_factor = 4.0\n\
        [account.small]\ngroup_tres_minutes = \"cpu=1\"\n\
        [account.wall]\ngroup_wall = \"00:01:00\"\n\
        [user.ann]\naccounts = [\"small\"]\n[user.bob]\naccounts = [\"wall\"]\n";
    let mut lab = World::text(text);
    let mut first = Vec::new();
    for (user, qos, cpus) in [
        ("zoe", "min", 2),
        ("zoe", "factor", 1),
        ("zoe", "wall", 1),
        ("zoe", "zero", 2),
        ("ann", "", 2),
    ] {
        let request = minutes(cpus, 5);
        let request = if qos.is_empty() {
            request
        } else {
            in_qos(qos, request)
        };
        first.extend(lab.check(user, request, "R"));
    }
    let longer = lab.check("bob", minutes(1, 5), "R");
    lab.check("zoe", in_qos("job", minutes(1, 10)), "R");
    lab.check(
        "zoe",
        in_qos("job", minutes(1, 11)),
        "QOSMaxCpuMinutesPerJobLimit",
    );
    lab.check("zoe", in_qos("run", minutes(1, 10)), "R");
    lab.check(
        "zoe",
        in_qos("run", minutes(1, 1)),
        "QOSGrpCPURunMinutesLimit",
    );
    let end = |lab: &mut World, jobs: Vec<JobId>| {
        for job in jobs {
            lab.state.apply(Event::Gone {
                job,
                outcome: model::Outcome::Completed,
                at: lab.now,
            });
        }
    };
    lab.now = lab.now + Seconds(36);
    end(&mut lab, first);
    lab.check("zoe", in_qos("min", minutes(1, 5)), "QOSGrpCPUMinutesLimit");
    lab.check(
        "zoe",
        in_qos("factor", minutes(1, 5)),
        "QOSGrpCPUMinutesLimit",
    );
    lab.check("zoe", in_qos("wall", minutes(1, 5)), "QOSGrpWallLimit");
    lab.check("zoe", in_qos("zero", minutes(1, 5)), "R");
    let waits = lab.check("ann", minutes(1, 5), "AssocGrpCPUMinutesLimit");
    lab.now = lab.now + Seconds(36);
    end(&mut lab, longer.into_iter().collect());
    lab.check("bob", minutes(1, 5), "AssocGrpWallLimit");
    // Half is forgotten in a week.
    lab.now = lab.now + Seconds(7 * 24 * 3600);
    lab.state.schedule(lab.now);
    assert_eq!(lab.stands(waits.unwrap()), "R");
}

/// A second of a job counts as its QOS says, and a CPU is billed as its partition says.
#[test]
fn what_may_still_be_used() {
    let text = "[nodes.g]\nnames = \"g[1-4]\"\ncpus = 8\nmemory = \"16000M\"\n\
        [partition.all]\ndefault = true\nnodes = \"ALL\"\nbilling_weights = \"CPU=1.5\"\n\
        [qos.normal]\n[qos.double]\nusage_factor = 2.0\n[qos.free]\nusage_factor = 0.0\n";
    let mut lab = World::text(text);
    lab.check("ann", in_qos("double", minutes(3, 10)), "R");
    lab.check("ann", minutes(1, 10), "R");
    lab.check("bob", in_qos("free", minutes(1, 10)), "R");
    let names = ["cpu", "node", "billing"].map(str::to_owned);
    let used = lab.state.run_seconds(&names, lab.now + Seconds(30));
    let sums: Vec<&[f64]> = used.values().map(Vec::as_slice).collect();
    assert_eq!(sums, [[3990.0, 1710.0, 5130.0], [0.0; 3]]);
}

/// At midnight what was used counts no more, of what runs on only what it uses since; what is written then
/// makes the same state.
#[test]
fn usage_begins_anew() {
    const DAY: i64 = 24 * 3600 * 1000;
    const HOUR: i64 = 3600 * 1000;
    let text = "[nodes.n]\nnames = \"n1\"\ncpus = 4\n[partition.all]\ndefault = true\nnodes = \"ALL\"\n\
        [qos.minutes]\ngroup_tres_minutes = \"cpu=90\"\n\
        [priority]\nfair_share = 1000\nhalf_life = \"00:00:00\"\nusage_reset = \"daily\"\n";
    let mut lab = World::text(text);
    lab.now = Timestamp(100 * DAY - HOUR);
    lab.state.set_zone(jiff::tz::TimeZone::UTC, lab.now);
    let long = lab
        .check("ann", in_qos("minutes", minutes(1, 600)), "R")
        .unwrap();
    lab.now = Timestamp(100 * DAY - HOUR / 2);
    assert_eq!(lab.state.next_usage_reset(), Some(Timestamp(100 * DAY)));
    let used = |lab: &World| {
        let (tree, _) = lab.state.shares(lab.now);
        tree.nodes()[0].usage
    };
    assert_eq!(used(&lab), 1800.0);
    lab.state.schedule(lab.now);
    lab.state.take_changes();
    lab.now = Timestamp(100 * DAY + HOUR);
    lab.state.schedule(lab.now);
    assert_eq!(lab.state.next_usage_reset(), Some(Timestamp(101 * DAY)));
    assert_eq!(used(&lab), 3600.0);
    // By then 60 of the 90 minutes are used, not 120.
    assert_eq!(lab.stands(long), "R");
    lab.check("ann", in_qos("minutes", minutes(1, 1)), "R");
    lab.state.apply(Event::Gone {
        job: long,
        outcome: model::Outcome::Completed,
        at: lab.now,
    });
    let changes = lab.state.take_changes();
    assert_eq!(changes.usage[0].1.kept(), (3600.0, lab.now));
    lab.now = Timestamp(101 * DAY);
    lab.state.schedule(lab.now);
    let changes = lab.state.take_changes();
    assert_eq!(changes.usage[0].1.kept(), (0.0, lab.now));
    let of_minutes = changes.spent.iter().filter(|(one, _)| one.tres == "cpu");
    assert!(of_minutes.count() > 0, "it is written too");
}

/// `RawUsage=0` takes off what one used, of jobs that run too, and of the accounts over it; a job that ends later
/// brings nothing of it back.
#[test]
fn usage_of_one_begins_anew() {
    let text = "[nodes.n]\nnames = \"n1\"\ncpus = 8\n[partition.all]\ndefault = true\nnodes = \"ALL\"\n\
        [qos.normal]\n[qos.min]\ngroup_tres_minutes = \"cpu=1\"\n\
        [account.top]\ngroup_tres_minutes = \"cpu=10\"\n\
        [account.low]\nparent = \"top\"\ngroup_tres_minutes = \"cpu=10\"\n\
        [user.ann]\naccounts = [\"low\"]\n[user.eve]\naccounts = [\"top\"]\n\
        [priority]\nfair_share = 1000\nhalf_life = \"00:00:00\"\n";
    let mut lab = World::text(text);
    let used = |lab: &World| {
        let (tree, _) = lab.state.shares(lab.now);
        tree.nodes()[0].usage
    };
    let anew = |lab: &mut World, spender| {
        let of = vec![spender];
        let at = lab.now;
        lab.state.apply(Event::UsageBeginsAnew { of, at });
    };
    let ann = || crate::Member {
        account: "low".to_owned(),
        user: "ann".to_owned(),
        partition: None,
    };
    let long = lab.check("ann", minutes(1, 60), "R").unwrap();
    lab.now = lab.now + Seconds(300);
    anew(&mut lab, crate::Spender::Member(ann()));
    assert_eq!(used(&lab), 0.0);
    // No limit counts time, and none is added at the job's end.
    let spent = lab.state.take_changes().spent;
    assert!(!spent.is_empty() && spent.iter().all(|(of, _)| of.tres == "cpu"));
    lab.now = lab.now + Seconds(599);
    assert_eq!(used(&lab), 599.0);
    let second = lab.check("ann", minutes(1, 60), "R").unwrap();
    lab.check("eve", minutes(1, 60), "R");
    lab.now = lab.now + Seconds(1);
    lab.check("ann", minutes(1, 60), "AssocGrpCPUMinutesLimit");
    lab.check("eve", minutes(1, 60), "AssocGrpCPUMinutesLimit");
    anew(&mut lab, crate::Spender::Account("low".to_owned()));
    assert_eq!(used(&lab), 1.0, "that of the account over it stays");
    for job in [long, second] {
        lab.state.apply(Event::Gone {
            job,
            outcome: model::Outcome::Completed,
            at: lab.now,
        });
    }
    assert_eq!(used(&lab), 1.0);
    let changes = lab.state.take_changes();
    let of_ann = changes.usage.iter().filter(|(member, _)| *member == ann());
    let kept: Vec<f64> = of_ann.map(|(_, usage)| usage.kept().0).collect();
    assert_eq!(kept, [0.0]);
    lab.check("zoe", in_qos("min", minutes(1, 60)), "R");
    lab.now = lab.now + Seconds(50);
    anew(&mut lab, crate::Spender::Qos("min".to_owned()));
    lab.now = lab.now + Seconds(50);
    lab.check("zoe", in_qos("min", minutes(1, 60)), "R");
    lab.now = lab.now + Seconds(10);
    lab.check(
        "zoe",
        in_qos("min", minutes(1, 60)),
        "QOSGrpCPUMinutesLimit",
    );
    lab.now = lab.now + Seconds(60);
    assert!(used(&lab) > 0.0);
    anew(&mut lab, crate::Spender::Account("root".to_owned()));
    assert_eq!(used(&lab), 0.0, "all are below the root account");
}

/// What nothing counts is not taken off, or it would be a credit once something does; what was counted before is.
#[test]
fn usage_that_nothing_counts_begins_anew() {
    let with_limit = |limit: &str| {
        let text = format!(
            "[nodes.n]\nnames = \"n1\"\ncpus = 8\n[partition.all]\ndefault = true\nnodes = \"ALL\"\n\
             [account.top]\n{limit}[user.ann]\naccounts = [\"top\"]\n"
        );
        ClusterFile::parse("test", &text).unwrap()
    };
    let (limited, free) = (with_limit("group_wall = \"00:01:00\"\n"), with_limit(""));
    let mut lab = World::of(&limited);
    let take = |lab: &mut World, file: &ClusterFile| {
        let cluster = Arc::new(Cluster::build(file, Trust::All));
        let at = lab.now;
        lab.state.apply(Event::Reconfigured { cluster, at });
        lab.state.schedule(at);
    };
    let end = |lab: &mut World, job| {
        lab.state.apply(Event::Gone {
            job,
            outcome: model::Outcome::Completed,
            at: lab.now,
        });
    };
    let first = lab.check("ann", minutes(1, 60), "R").unwrap();
    lab.now = lab.now + Seconds(61);
    end(&mut lab, first);
    let second = lab.check("ann", minutes(1, 60), "AssocGrpWallLimit");
    let second = second.unwrap();
    take(&mut lab, &free);
    assert_eq!(lab.stands(second), "R");
    lab.now = lab.now + Seconds(30);
    lab.state.apply(Event::UsageBeginsAnew {
        of: vec![crate::Spender::Account("top".to_owned())],
        at: lab.now,
    });
    end(&mut lab, second);
    let changes = lab.state.take_changes();
    assert_eq!(changes.usage, [], "no priority goes by it");
    take(&mut lab, &limited);
    lab.check("ann", minutes(1, 60), "R");
    lab.now = lab.now + Seconds(59);
    lab.check("ann", minutes(1, 60), "R");
    lab.now = lab.now + Seconds(2);
    lab.check("ann", minutes(1, 60), "AssocGrpWallLimit");
}

/// The first for which nothing is free may be over a limit as well: it says the limit, and keeps no other up
/// (`select_nodes` of 22.05).
#[test]
fn over_a_limit_where_nothing_is_free() {
    let text = "[nodes.n]\nnames = \"n[1-2]\"\ncpus = 4\n[partition.all]\ndefault = true\nnodes = \"ALL\"\n\
        [qos.normal]\n[qos.grp]\ngroup_tres = \"cpu=2\"\n";
    let mut lab = World::text(text);
    lab.state
        .set_backfill(Some(crate::BackfillParameters::default()));
    lab.check("ann", in_qos("grp", minutes(2, 5)), "R");
    let limited = lab
        .check("ann", in_qos("grp", minutes(1, 5)), "QOSGrpCpuLimit")
        .unwrap();
    lab.check("ann", minutes(2, 60), "R");
    let both = Request {
        min_nodes: Some(2),
        exclusive: true,
        ..minutes(1, 60)
    };
    let both = lab.check("ann", both, "Resources").unwrap();
    lab.state.apply(Event::NodeMarked {
        node: model::NodeName::new("n2"),
        mark: model::NodeMark {
            is_drained: true,
            ..model::NodeMark::default()
        },
    });
    lab.state.schedule(lab.now);
    assert_eq!(lab.stands(limited), "QOSGrpCpuLimit");
    let named = minutes(1, 5).with_rare(|rare| {
        rare.nodelist = Arc::new(vec![model::NodeName::new("n2")]);
    });
    let unavailable = "ReqNodeNotAvail, UnavailableNodes:n2";
    lab.check("ann", named, unavailable);
    assert_eq!(lab.stands(limited), "QOSGrpCpuLimit");
    let too_few = JobState::Pending {
        reason: model::PendingReason::NodesDownOrReserved,
    };
    assert_eq!(lab.stands(both), reason_text(&too_few));
}

/// The last job that the cluster counts up to is not taken; an array counts with all its elements.
#[test]
fn a_cluster_has_fewer_jobs_than_it_counts() {
    let text = format!("{FEW}\n[limits]\nmax_jobs = 5\n");
    let mut lab = World::text(&text);
    let full = |lab: &World, request: Request| {
        let record = Job::submitted(JobId(99), request, Arc::default(), lab.now);
        let refused = lab.state.has_room_for([&record]).err();
        refused.map(|refused| refused.denial.words())
    };
    let three = job(0, 1).with_rare(|rare| rare.array = model::ArraySpec::parse("1-3"));
    assert_eq!(full(&lab, three.clone()), None);
    let array = lab.submit("ann", three.clone()).unwrap();
    let words = Some("Resource temporarily unavailable");
    assert_eq!(full(&lab, three.clone()), words);
    assert_eq!(full(&lab, job(0, 1)), None);
    lab.submit("ann", job(0, 1)).unwrap();
    assert_eq!(full(&lab, job(0, 1)), words);
    lab.state.apply(Event::CancelledElements {
        job: array,
        tasks: vec![3],
        by: 0,
        at: lab.now,
    });
    assert_eq!(full(&lab, job(0, 1)), None);
    let running: Vec<JobId> = lab.state.running().map(|job| job.id).collect();
    for job in running {
        lab.state.apply(Event::Gone {
            job,
            outcome: model::Outcome::Completed,
            at: lab.now,
        });
    }
    lab.state.schedule(lab.now);
    let counted = super::InQueue::count(&lab.state.cluster, lab.state.jobs.values());
    assert_eq!(lab.state.in_queue, counted);
}

/// `NoDecay`: what was used is not forgotten.
#[test]
fn usage_of_a_qos_that_is_kept() {
    let text = "[nodes.g]\nnames = \"g[1-4]\"\ncpus = 8\nmemory = \"16000M\"\n\
        [partition.all]\ndefault = true\nnodes = \"ALL\"\n\
        [qos.less]\ngroup_tres_minutes = \"cpu=1\"\n\
        [qos.kept]\ngroup_tres_minutes = \"cpu=1\"\nflags = [\"NoDecay\"]\n";
    let mut lab = World::text(text);
    let mut first = Vec::new();
    for qos in ["less", "kept"] {
        first.extend(lab.check("zoe", in_qos(qos, minutes(2, 5)), "R"));
    }
    lab.now = lab.now + Seconds(36);
    for job in first {
        lab.state.apply(Event::Gone {
            job,
            outcome: model::Outcome::Completed,
            at: lab.now,
        });
    }
    lab.check(
        "zoe",
        in_qos("less", minutes(1, 5)),
        "QOSGrpCPUMinutesLimit",
    );
    lab.check(
        "zoe",
        in_qos("kept", minutes(1, 5)),
        "QOSGrpCPUMinutesLimit",
    );
    lab.now = lab.now + Seconds(7 * 24 * 3600);
    lab.check("zoe", in_qos("less", minutes(1, 5)), "R");
    lab.check(
        "zoe",
        in_qos("kept", minutes(1, 5)),
        "QOSGrpCPUMinutesLimit",
    );
}

/// `NoReserve`: a job that waits keeps no place from those behind it.
#[test]
fn no_place_is_kept_for_a_job_whose_qos_says_so() {
    let text = "[nodes.n]\nnames = \"n[1-2]\"\ncpus = 4\n[partition.all]\ndefault = true\nnodes = \"ALL\"\n\
        [qos.kept]\n[qos.free]\nflags = [\"NoReserve\"]\n";
    for (qos, want) in [("kept", "Priority"), ("free", "R")] {
        let mut lab = World::text(text);
        lab.state
            .set_backfill(Some(crate::BackfillParameters::default()));
        let both = Request {
            min_nodes: Some(2),
            exclusive: true,
            ..minutes(1, 60)
        };
        lab.check("ann", minutes(4, 60), "R");
        lab.check("ann", in_qos(qos, both), "Resources");
        lab.check("ann", minutes(1, 120), want);
    }
}
