#![expect(clippy::unwrap_used, reason = "a test fails loudly")]
use crate::{Event, State, priority_of};
use cluster_file::ClusterFile;
use model::{
    GpuCount, JobId, JobRecord, JobState, Request, Seconds, TimeLimitRequest, Timestamp,
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
