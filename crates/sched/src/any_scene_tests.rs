//! Clusters and policies of random histories.

use crate::BackfillParameters;
use cluster_file::ClusterFile;
use proptest::prelude::*;
use resources::{Cluster, Trust};
use std::sync::Arc;

/// Three kinds of nodes in four partitions, one over all; on nodes of the last two jobs may have the same CPUs.
pub(super) fn cluster(
    first: u32,
    second: u32,
    gpus: u32,
    is_weighted: bool,
    preemption: &Preemption,
) -> Arc<Cluster> {
    let weights = "[priority]\nage = 1000\nfair_share = 2000\njob_size = 500\npartition = 100\n\
         tres = \"cpu=10,gres/gpu=70,billing=3\"\nhalf_life = \"00:05:00\"\n\
         max_age = \"00:10:00\"\ncalc_period = \"00:00:01\"\n\
         [qos.normal]\npriority = 3\nmax_tres_per_user = \"cpu=6\"\ngroup_tres_run_minutes = \"cpu=40\"\n\
         group_tres_minutes = \"cpu=90\"\ngroup_wall = \"01:00:00\"\n\
         max_jobs_per_user = 4\nmax_submit_per_user = 9\n\
         [account.lab]\ngroup_jobs = 3\n[account.sub]\nparent = \"lab\"\n\
         [user.u]\naccounts = [\"sub\"]\n[user.bob]\naccounts = [\"lab\"]\n\
         [license.x]\ncount = 2\n";
    let weights = if is_weighted {
        weights
    } else {
        "[qos.normal]\npriority = 3\n"
    };
    let preemption = preemption.tables(is_weighted);
    let text = format!(
        "[nodes.a]\nnames = \"a[1-{first}]\"\ncpus = 4\nmemory = \"4000M\"\nfeatures = [\"fast\"]\n\
         sockets = 2\ncores_per_socket = 2\nthreads_per_core = 1\n\
         gpu = [{{ type = \"v100\", count = {gpus} }}, {{ type = \"a100\", count = 2 }}]\n\
         [nodes.b]\nnames = \"b[1-{second}]\"\ncpus = 2\nmemory = \"8000M\"\n\
         [nodes.c]\nnames = \"c[1-2]\"\ncpus = 2\nmemory = \"8000M\"\n\
         [partition.all]\ndefault = true\nnodes = \"ALL\"\ndefault_memory_per_cpu = \"500M\"\n\
         [partition.gpu]\nnodes = [\"a\"]\npriority_tier = 3\nmax_time = \"10:00\"\n\
         [partition.shared]\nnodes = [\"c\"]\noversubscribe = \"YES:{LAYERS}\"\n\
         [partition.whole]\nnodes = [\"b\"]\nexclusive = true\n\
         billing_weights = \"CPU=2,Mem=1G,gres/gpu=5\"\n{weights}{preemption}"
    );
    let file = ClusterFile::parse("any", &text).unwrap();
    Arc::new(Cluster::build(&file, Trust::All))
}

/// So many jobs have the same CPUs.
pub(super) const LAYERS: u32 = 2;

/// Who takes whose place, and how.
#[derive(Clone, Debug)]
pub(super) struct Preemption {
    pub(super) by: &'static str,
    pub(super) modes: [&'static str; 3],
    pub(super) grace: u32,
    pub(super) exempt: u32,
    pub(super) youngest_first: bool,
    /// Other parameters of the scheduler.
    pub(super) words: &'static str,
}

const MODES: [&str; 4] = ["off", "cancel", "requeue", "suspend"];

impl Preemption {
    /// `low` and `high` lie around `normal`.
    fn tables(&self, is_weighted: bool) -> String {
        let Preemption {
            by,
            modes: [whole, low, normal],
            grace,
            exempt,
            youngest_first,
            words,
        } = self;
        let limit = if is_weighted {
            "max_tres_per_user = \"cpu=6\"\n"
        } else {
            ""
        };
        let youngest_first = if *youngest_first {
            "preempt_youngest_first,"
        } else {
            ""
        };
        let parameters = format!("[scheduling]\nparameters = \"{youngest_first}{words}\"\n");
        format!(
            "{parameters}[preemption]\ntype = \"{by}\"\nmode = \"{whole}\"\n\
             grace_time = \"00:00:{grace:02}\"\nexempt_time = \"00:00:{exempt:02}\"\n\
             [qos.low]\npriority = 1\npreempt_mode = \"{low}\"\n{limit}\
             [qos.high]\npriority = 5\npreempt = [\"low\", \"middle\"]\n{limit}\
             [qos.middle]\npriority = 2\npreempt = [\"low\"]\npreempt_mode = \"{normal}\"\n\
             usage_factor = 0.5\n{limit}"
        )
    }
}

pub(super) fn any_preemption() -> impl Strategy<Value = Preemption> {
    let by = prop_oneof![Just("none"), Just("partition"), Just("qos")];
    let modes = prop::array::uniform3((0_usize..4).prop_map(|at| MODES[at]));
    let times = (prop_oneof![Just(0_u32), Just(5)], 0_u32..20);
    let words = prop_oneof![
        4 => Just("bf_continue"),
        1 => Just("assoc_limit_stop"),
        1 => Just("partition_job_depth=2"),
    ];
    let words = (any::<bool>(), words);
    (by, modes, times, words).prop_map(|(by, modes, (grace, exempt), (youngest_first, words))| {
        Preemption {
            by,
            modes,
            grace,
            exempt,
            youngest_first,
            words,
        }
    })
}

/// None, EASY and Slurm's own, with whole nodes promised.
pub(super) fn any_backfill() -> impl Strategy<Value = Option<BackfillParameters>> {
    prop_oneof![
        Just(None),
        Just(Some(BackfillParameters {
            promises: 1,
            ..BackfillParameters::default()
        })),
        Just(Some(BackfillParameters::default())),
    ]
}
