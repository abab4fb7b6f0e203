//! What holds of the schedule of any trace, under every policy.

use model::Timestamp;
use proptest::prelude::*;
use resources::{Cluster, Trust};
use std::fmt::Write as _;
use yard_sched::BackfillParameters;
use yard_sched::replay::{Policy, Rules, Start, Trace, flat_machine, read_trace, replay};

const CPUS: u32 = 10;

const POLICIES: [Policy; 5] = [
    Policy::Slurm,
    Policy::Fifo,
    Policy::Easy,
    Policy::EasySjbf,
    Policy::Conservative,
];

/// Jobs as (time since the one before, run time, slack of the estimate, processors).
fn trace(jobs: &[(u32, u32, u32, u32)]) -> Trace {
    let mut text = String::from("job,submit,run,estimate,cpus\n");
    let mut submit = 0;
    for (id, (gap, run, slack, cpus)) in jobs.iter().enumerate() {
        submit += gap;
        let _ = writeln!(text, "{id},{submit},{run},{},{cpus}", run + slack);
    }
    read_trace(&text).expect("a table of jobs")
}

fn any_jobs() -> impl Strategy<Value = Vec<(u32, u32, u32, u32)>> {
    prop::collection::vec((0_u32..6, 1_u32..20, 0_u32..8, 1..=CPUS), 1..40)
}

fn starts(trace: &Trace, cluster: &Cluster, policy: Policy) -> Vec<Start> {
    let played = replay(trace, cluster, Rules::new(policy), &mut |_| {});
    assert_eq!(played.never, Vec::<usize>::new());
    played.starts
}

/// Processors that are held at a moment.
fn held(trace: &Trace, starts: &[Start], at: Timestamp) -> u32 {
    let jobs = starts
        .iter()
        .map(|start| (&trace.jobs[start.job], start.at));
    let running = jobs.filter(|(job, start)| *start <= at && at.0 < start.0 + job.run);
    running.map(|(job, _)| job.cpus).sum()
}

/// One node of so many CPUs that is no flat machine.
fn one_node() -> Cluster {
    let text = format!(
        "[nodes.a]\ncount = 1\nnames = \"a1\"\ncpus = {CPUS}\n[partition.all]\nnodes = \"all\"\n"
    );
    let read = cluster_file::ClusterFile::parse("one", &text);
    let file = read.expect("a cluster file");
    Cluster::build(&file, Trust::All)
}

/// Two jobs of a partition that gives each CPU to two.
#[test]
fn jobs_that_share_cpus_run_beside_each_other_though_none_is_free() {
    let text = format!(
        "[nodes.a]\ncount = 1\nnames = \"a1\"\ncpus = {CPUS}\n\
         [partition.all]\nnodes = \"all\"\noversubscribe = \"FORCE:2\"\n"
    );
    let read = cluster_file::ClusterFile::parse("shared", &text);
    let cluster = Cluster::build(&read.expect("a cluster file"), Trust::All);
    let text = format!(
        "job,submit,run,estimate,cpus,queue\n1,0,9,9,{CPUS},all\n2,0,9,9,{CPUS},all\n3,0,9,9,{CPUS},all\n"
    );
    let trace = read_trace(&text).expect("a table of jobs");
    for policy in POLICIES {
        let starts = starts(&trace, &cluster, policy);
        let at: Vec<i64> = starts.iter().map(|start| start.at.0).collect();
        assert_eq!(at[..2], [0, 0], "{policy:?}");
        assert!(at[2] > 0, "{policy:?}");
    }
}

proptest! {
    #[test]
    fn every_job_runs_once_after_its_submission_and_nothing_is_held_twice(jobs in any_jobs()) {
        let trace = trace(&jobs);
        for policy in POLICIES {
            let starts = starts(&trace, &flat_machine(CPUS), policy);
            let mut ran: Vec<usize> = starts.iter().map(|start| start.job).collect();
            ran.sort_unstable();
            prop_assert_eq!(ran, (0..trace.jobs.len()).collect::<Vec<_>>());
            for start in &starts {
                prop_assert!(start.at >= trace.jobs[start.job].submit);
                prop_assert!(held(&trace, &starts, start.at) <= CPUS, "{policy:?}");
            }
        }
    }

    #[test]
    fn first_in_is_first_out(jobs in any_jobs()) {
        let trace = trace(&jobs);
        let starts = starts(&trace, &flat_machine(CPUS), Policy::Fifo);
        let in_order: Vec<usize> = starts.iter().map(|start| start.job).collect();
        prop_assert_eq!(in_order, (0..trace.jobs.len()).collect::<Vec<_>>());
        prop_assert!(starts.iter().all(|start| !start.backfilled));
    }

    /// With known run times a promise to all is kept: nobody starts later than in order.
    #[test]
    fn a_promise_to_all_delays_nobody(jobs in any_jobs()) {
        let jobs: Vec<_> = jobs.into_iter().map(|(gap, run, _, cpus)| (gap, run, 0, cpus)).collect();
        let trace = trace(&jobs);
        let by_job = |policy| {
            let mut starts = starts(&trace, &flat_machine(CPUS), policy);
            starts.sort_by_key(|start| start.job);
            starts
        };
        for (fifo, planned) in by_job(Policy::Fifo).iter().zip(by_job(Policy::Conservative)) {
            prop_assert!(planned.at <= fifo.at, "job {}", fifo.job);
        }
    }

    /// The nodes of a cluster and amounts of a flat machine are two ways to reckon the same; but
    /// Slurm's cycle promises whole nodes.
    #[test]
    fn one_node_is_a_flat_machine(jobs in any_jobs()) {
        let trace = trace(&jobs);
        for policy in POLICIES.into_iter().filter(|policy| *policy != Policy::Slurm) {
            let flat = starts(&trace, &flat_machine(CPUS), policy);
            prop_assert_eq!(flat, starts(&trace, &one_node(), policy), "{:?}", policy);
        }
    }
}

/// Of several kinds of nodes, a job's partition and its GPUs' type say which it is of.
#[test]
fn nodes_of_a_kind_with_fewer_gpus_take_what_fits_them() {
    let text = "[nodes.t]\ncount = 2\ncpus = 16\ngpu = { type = \"t4\", count = 8 }\n\
                [nodes.v]\ncount = 4\ncpus = 16\ngpu = { type = \"v100\", count = 2 }\n\
                [partition.all]\ndefault = true\nnodes = \"ALL\"\n[partition.few]\nnodes = [\"v\"]\n";
    let file = cluster_file::ClusterFile::parse("mixed", text).expect("a cluster file");
    let cluster = Cluster::build(&file, Trust::All);
    let jobs = "job,submit,run,cpus,gpus,gpu_type,queue\n\
                1,0,10,4,4,v100,all\n2,0,10,4,4,,few\n3,10,10,9,9,t4,all\n4,10,10,7,7,t4,all\n";
    let trace = read_trace(jobs).expect("a table of jobs");
    for policy in POLICIES {
        let starts = starts(&trace, &cluster, policy);
        let at = |job: usize| {
            starts
                .iter()
                .find(|start| start.job == job)
                .map(|start| start.at)
        };
        // Both are on the four nodes of two, and 9 and 7 are all GPUs of the other two.
        let want = [0, 0, 10_000, 10_000].map(|at| Some(Timestamp(at)));
        assert_eq!([0, 1, 2, 3].map(at), want, "{policy:?}");
    }
}

/// `bf_interval=-1`
#[test]
fn without_backfill_slurm_s_order_is_kept() {
    let jobs = [(0, 10, 0, 8), (0, 10, 0, 10), (0, 5, 0, 2)];
    let trace = trace(&jobs);
    let mut rules = Rules::new(Policy::Slurm);
    rules.backfill = BackfillParameters::parse("bf_interval=-1").expect("Slurm takes it");
    let played = replay(&trace, &flat_machine(CPUS), rules, &mut |_| {});
    let order: Vec<usize> = played.starts.iter().map(|start| start.job).collect();
    assert_eq!(order, [0, 1, 2]);
}
