//! Jobs that ask for sockets, beside others, as a Slurm 22.05.8 placed the same on a node with two
//! sockets of four cores (`sbatch -w node1 OPTIONS`; CPU_IDs of `scontrol -d show job`, `PD` where
//! one waited).

use cluster_file::ClusterFile;
use model::{JobState, NodeShare, Surroundings, Timestamp, sbatch};
use resources::{Cluster, Trust};
use std::path::Path;
use std::sync::Arc;
use yard_sched::{Event, Job, State};

const FILE: &str = r#"
[nodes.all]
names = "node1"
cpus = 8
sockets = 2
cores_per_socket = 4
memory = "16000M"

[partition.all]
default = true
nodes = "ALL"
"#;

/// Jobs with their options, and the CPUs that each got.
#[track_caller]
fn check(jobs: &[(&str, &str)]) {
    let file = ClusterFile::parse("test", FILE).unwrap_or_else(|it| panic!("{it:?}"));
    let cluster = Arc::new(Cluster::build(&file, Trust::All));
    let mut state = State::new(cluster, Arc::from([]));
    for (options, want) in jobs {
        let args = options.split_whitespace().chain(["--wrap", "true"]);
        let args: Vec<String> = args.map(str::to_owned).collect();
        let zone = jiff::tz::TimeZone::UTC;
        let mut surroundings = Surroundings::embedded(Timestamp(0), &zone, Path::new("/tmp"));
        surroundings.has_nodes = true;
        let (sbatch, diagnostics) = sbatch::resolve(&args, &|_| None, None, &surroundings);
        assert_eq!(model::first_error(&diagnostics), None, "{options}");
        let id = state.new_id();
        let record = Job::submitted(id, sbatch.request, Arc::default(), Timestamp(0));
        state.apply(Event::Submitted {
            record: Box::new(record),
            array: None,
            history: Vec::new(),
            at: Timestamp(0),
        });
        state.schedule(Timestamp(0));
        let got = match state.job(id).map(|job| &job.state) {
            Some(JobState::Running { allocation, .. }) => cpus(&allocation.nodes),
            Some(JobState::Pending { .. }) => "PD".to_owned(),
            Some(JobState::Ended { .. }) | None => "gone".to_owned(),
        };
        assert_eq!(&got, want, "{options} in {jobs:?}");
    }
}

fn cpus(nodes: &[NodeShare]) -> String {
    let cpus = nodes.iter().flat_map(|share| &share.cpus);
    let cpus: Vec<String> = cpus.map(u32::to_string).collect();
    cpus.join(",")
}

#[test]
fn sockets_as_a_real_one_gives_them() {
    check(&[
        ("-n1 -c3", "0,1,2"),
        ("-n1 --cores-per-socket=4", "4"),
        ("-n1 -c2 --cores-per-socket=4", "PD"),
    ]);
    check(&[
        ("-n1 -c3", "0,1,2"),
        ("-n1 -c2 --cores-per-socket=4", "4,5"),
        ("-n1 --sockets-per-node=2", "3"),
        ("-n1 --sockets-per-node=2 --cores-per-socket=2", "PD"),
    ]);
    check(&[("-n1 -c4", "0,1,2,3"), ("-n1 --sockets-per-node=2", "PD")]);
    check(&[("-n4 --ntasks-per-socket=2", "0,1,4,5")]);
    check(&[("-n2 -B 2:2", "0,1")]);
}
