//! Clusters and policies of random histories.

use crate::BackfillParameters;
use cluster_file::ClusterFile;
use proptest::prelude::*;
use resources::{Cluster, Trust};
use std::sync::Arc;

/// What there is, and with it what jobs ask for. Where more kinds of requests are drawn each of them comes less
/// often, so that some faults show among few kinds alone within as many histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scene {
    /// Two kinds of nodes, GPUs of one type, CPUs that no jobs share.
    Plain,
    /// GPUs of two types at nodes of several sockets, nodes whose CPUs jobs share, rules by which jobs
    /// hold others up.
    Rich,
}

/// Two kinds of nodes in three partitions, one over all; among rich ones two more whose CPUs jobs may have together.
pub(super) fn cluster(
    scene: Scene,
    (first, second, gpus): (u32, u32, u32),
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
    let preemption = preemption.tables(scene, is_weighted);
    let v100 = format!("{{ type = \"v100\", count = {gpus} }}");
    let (gpus, shared) = match scene {
        Scene::Plain => (format!("gpu = {v100}\n"), String::new()),
        Scene::Rich => (
            format!(
                "sockets = 2\ncores_per_socket = 2\nthreads_per_core = 1\n\
                 gpu = [{v100}, {{ type = \"a100\", count = 2 }}]\n"
            ),
            format!(
                "[nodes.c]\nnames = \"c[1-2]\"\ncpus = 2\nmemory = \"8000M\"\n\
                 [partition.shared]\nnodes = [\"c\"]\noversubscribe = \"YES:{LAYERS}\"\n"
            ),
        ),
    };
    let text = format!(
        "[nodes.a]\nnames = \"a[1-{first}]\"\ncpus = 4\nmemory = \"4000M\"\nfeatures = [\"fast\"]\n{gpus}\
         [nodes.b]\nnames = \"b[1-{second}]\"\ncpus = 2\nmemory = \"8000M\"\n{shared}\
         [partition.all]\ndefault = true\nnodes = \"ALL\"\ndefault_memory_per_cpu = \"500M\"\n\
         [partition.gpu]\nnodes = [\"a\"]\npriority_tier = 3\nmax_time = \"10:00\"\n\
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
    /// Another parameter of the scheduler.
    pub(super) words: Option<&'static str>,
}

const MODES: [&str; 4] = ["off", "cancel", "requeue", "suspend"];

impl Preemption {
    /// `low` and `high` lie around `normal`.
    fn tables(&self, scene: Scene, is_weighted: bool) -> String {
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
        let youngest_first = youngest_first.then_some("preempt_youngest_first");
        let words: Vec<&str> = youngest_first.into_iter().chain(*words).collect();
        let parameters = match &words[..] {
            [] => String::new(),
            words => format!("[scheduling]\nparameters = \"{}\"\n", words.join(",")),
        };
        let factor = match scene {
            Scene::Plain => "",
            Scene::Rich => "usage_factor = 0.5\n",
        };
        format!(
            "{parameters}[preemption]\ntype = \"{by}\"\nmode = \"{whole}\"\n\
             grace_time = \"00:00:{grace:02}\"\nexempt_time = \"00:00:{exempt:02}\"\n\
             [qos.low]\npriority = 1\npreempt_mode = \"{low}\"\n{limit}\
             [qos.high]\npriority = 5\npreempt = [\"low\", \"middle\"]\n{limit}\
             [qos.middle]\npriority = 2\npreempt = [\"low\"]\npreempt_mode = \"{normal}\"\n\
             {factor}{limit}"
        )
    }
}

pub(super) fn any_preemption(scene: Scene) -> impl Strategy<Value = Preemption> {
    let by = prop_oneof![Just("none"), Just("partition"), Just("qos")];
    let modes = prop::array::uniform3((0_usize..4).prop_map(|at| MODES[at]));
    let times = (prop_oneof![Just(0_u32), Just(5)], 0_u32..20);
    let words = match scene {
        Scene::Plain => Just(None).boxed(),
        Scene::Rich => prop_oneof![
            4 => Just(None),
            1 => Just(Some("assoc_limit_stop")),
            1 => Just(Some("partition_job_depth=2")),
        ]
        .boxed(),
    };
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
