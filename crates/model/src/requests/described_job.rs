//! From settled options to what is sent (`slurm_opt_create_job_desc` of 22.05.8), and to a job's
//! [`Request`].

use crate::options::given_options::{Exclusive, GivenOptions};
use crate::options::reading::Reading;
use crate::requests::job_description::{GresTotal, JobDescription};
use crate::requests::{
    AskedSwitches, AskedTres, NodeOptions, RareOptions, Request, Sharing, ShownOptions, handed_on,
};
use crate::values::{GpuCount, GresList, MemoryRequest, TimeLimitRequest};

/// Describes the job that settled options ask for; resources are not yet checked.
pub(crate) fn describe(o: &GivenOptions) -> JobDescription {
    let list = |list: &Option<GresList>| list.clone().unwrap_or_default();
    let mut per_node = list(&o.gpus_per_node);
    per_node.extend(&o.gres.clone().flatten().unwrap_or_default());
    let tasks_or_1 = o.tasks.unwrap_or_else(|| implied_tasks(o));
    let none = o.nodes.is_some_and(|nodes| nodes.min == 0);
    JobDescription {
        tasks: o.tasks,
        min_nodes: o.nodes.map(|nodes| nodes.min),
        max_nodes: o.nodes.and_then(|nodes| nodes.max),
        min_cpus: match (o.overcommit, o.cpus_per_task) {
            (true, _) => o.nodes.map_or(1, |nodes| nodes.min.max(1)),
            (false, Some(cpus)) => tasks_or_1.saturating_mul(cpus),
            (false, None) if none => 0,
            (false, None) => tasks_or_1,
        },
        cpus_per_task: o.cpus_per_task,
        min_cpus_per_node: o.min_cpus.max(o.cpus_per_task),
        tasks_per_node: o.tasks_per_node,
        tasks_per_socket: o.tasks_per_socket,
        tasks_per_core: o.tasks_per_core,
        tasks_per_gpu: o.tasks_per_tres.or(o.tasks_per_gpu),
        sockets_per_node: o.sockets_per_node,
        cores_per_socket: o.cores_per_socket,
        threads_per_core: o.threads_per_core,
        memory: asked_memory(o),
        tmp_mib: o.tmp,
        gres_per_job: list(&o.gpus),
        gres_per_node: per_node,
        gres_per_socket: list(&o.gpus_per_socket),
        gres_per_task: list(&o.gpus_per_task),
        cpus_per_gpu: o.cpus_per_gpu,
        gres_totals: Vec::new(),
        features: o.constraint.clone(),
        prefer: o.prefer.clone(),
        nodelist: o.nodelist.clone(),
        exclude: o.exclude.clone(),
        distribution: o.distribution.clone(),
        dependency: o.dependency.clone(),
        licenses: o.licenses.clone(),
        handed_on: handed_on::of_job(o),
        hint: o.hint.clone(),
        overcommit: o.overcommit,
        contiguous: o.contiguous,
        spread: o.spread,
        fewest_nodes: o.use_min_nodes,
        sharing: o.exclusive.map(|exclusive| match exclusive {
            Exclusive::Yes => Sharing::Exclusive,
            Exclusive::User => Sharing::User,
            Exclusive::Mcs => Sharing::Mcs,
            Exclusive::No => Sharing::Anybody,
        }),
        core_spec: o.core_spec.or(o.thread_spec),
        reboot: o.reboot,
        deadline: o.deadline,
        time: o.time,
        time_min: o.time_min,
        switches: o.switches,
        network: o.network.clone(),
        wckey: o.wckey.clone(),
        reservation: o.reservation.clone(),
        no_kill: o.no_kill,
    }
}

/// Tasks where none were asked for: one a node, on a fixed number of nodes.
fn implied_tasks(o: &GivenOptions) -> u32 {
    let nodes = o
        .nodes
        .filter(|nodes| nodes.max.is_none_or(|max| max == nodes.min));
    nodes.map_or(1, |nodes| nodes.min.max(1))
}

/// The request that a described job makes; `name` is the job's where none was given.
pub(crate) fn request(reading: &Reading<'_>, job: &JobDescription, name: &str) -> Request {
    let o = &reading.options;
    let mut mail_types = Vec::new();
    for event in &o.mail_types {
        if !mail_types.contains(event) {
            mail_types.push(*event);
        }
    }
    Request {
        name: o.job_name.clone().unwrap_or_else(|| name.to_owned()),
        account: o.account.clone(),
        partition: o.partition.clone(),
        qos: o.qos.clone(),
        // Of none at most nothing is made: that is refused, as by the controller.
        min_nodes: job
            .min_nodes
            .map(|nodes| nodes.max(u32::from(job.max_nodes.is_some_and(|most| most > 0)))),
        max_nodes: job.max_nodes,
        tasks: job.tasks,
        tasks_per_node: o.tasks_per_node,
        cpus_per_task: job.cpus_per_task,
        memory: job.memory,
        gpus: job_gpus(job),
        gpus_per_node: gpus_of_each(job, |total| total.per_node).or_else(|| gpus_of_a_node(o)),
        exclusive: matches!(o.exclusive, Some(Exclusive::Yes | Exclusive::User)),
        time: o.time.map(whole_minutes),
        hold: o.hold,
        nice: o.nice,
        output: o.output.clone(),
        chdir: o
            .chdir
            .clone()
            .unwrap_or_else(|| reading.surroundings.cwd.to_owned()),
        rare: RareOptions {
            site_factor: 0,
            component: None,
            gpus_per_task: job.gres_per_task.gpus(),
            cpus_per_gpu: o.cpus_per_gpu,
            asked: asked_tres(o, job),
            begin: o.begin.filter(|begin| *begin > reading.surroundings.now),
            deadline: o.deadline,
            time_min: o.time_min.map(whole_minutes),
            // Slurm's commands leave one of 0 out, and what is no number is 0.
            priority: o.priority.filter(|priority| *priority > 0),
            dependency: o.dependency.as_ref().map(ToString::to_string),
            array: o.array.clone(),
            signal: o.signal,
            requeue: o.requeue,
            error: o.error.clone(),
            input: o.input.clone(),
            open_mode: o.open_mode,
            distribution: o.distribution.clone(),
            no_shell: false,
            no_kill: o.no_kill,
            comment: o.comment.clone(),
            constraint: o.constraint.clone(),
            nodelist: o.nodelist.clone(),
            task_nodes: o.task_nodes.clone(),
            exclude: o.exclude.clone(),
            reservation: o.reservation.clone(),
            licenses: o.licenses.clone().filter(|licences| !licences.is_empty()),
            mail_types,
            mail_user: o.mail_user.clone(),
            container: None,
            kill_on_invalid_dep: o.kill_on_invalid_dep,
            array_throttle: None,
            node_options: node_options(reading, job),
        }
        .into(),
        shown: shown_options(reading),
    }
}

/// What few jobs ask; one machine has most of it not, as the option table says.
fn node_options(reading: &Reading<'_>, job: &JobDescription) -> Option<Box<NodeOptions>> {
    let min_cpus = reading.options.min_cpus;
    let nodes_follow = reading.options.nodes.is_none() && job.min_nodes.is_some();
    let sharing = if job.reboot {
        // All of a node that boots is taken.
        Some(Sharing::Exclusive)
    } else {
        // The whole node is in the request itself.
        job.sharing.filter(|sharing| *sharing != Sharing::Exclusive)
    };
    let is_one_machine = reading.surroundings.embedded && !reading.surroundings.has_nodes;
    let options = if is_one_machine {
        NodeOptions {
            min_cpus,
            nodes_follow,
            fewest_nodes: job.fewest_nodes,
            sharing: sharing.filter(|sharing| *sharing == Sharing::User),
            ..NodeOptions::default()
        }
    } else {
        NodeOptions {
            min_cpus,
            cpus: None,
            nodes_follow,
            tmp_mib: job.tmp_mib,
            sockets_per_node: job.sockets_per_node,
            cores_per_socket: job.cores_per_socket,
            threads_per_core: job.threads_per_core,
            tasks_per_socket: job.tasks_per_socket,
            tasks_per_core: job.tasks_per_core,
            contiguous: job.contiguous,
            overcommit: job.overcommit,
            sharing,
            prefer: job.prefer.clone(),
            spread: job.spread,
            fewest_nodes: job.fewest_nodes,
            switches: job
                .switches
                .map(|(count, wait)| AskedSwitches { count, wait }),
        }
    };
    (options != NodeOptions::default()).then(|| Box::new(options))
}

/// What changes nothing, and is shown as it was asked.
fn shown_options(reading: &Reading<'_>) -> Option<Box<ShownOptions>> {
    let o = &reading.options;
    let last = |long: &str| {
        let mut given = reading.given.iter().rev();
        let given = given.find(|given| given.option.long == long)?;
        given.value.clone()
    };
    let delay = last("delay-boot").and_then(|text| TimeLimitRequest::parse(&text));
    let shown = ShownOptions {
        mcs_label: last("mcs-label"),
        levels_power: last("power").is_some_and(|flags| power_flags(&flags).levels),
        batch_features: last("batch"),
        disables_binding: last("gres-flags")
            .is_some_and(|flags| flags.to_ascii_lowercase().contains("disable-binding")),
        network: o.network.clone(),
        cpu_frequency: o.cpu_frequency.as_deref().map(handed_on::frequency),
        cluster_features: last("cluster-constraint"),
        wckey: o.wckey.clone(),
        delay_boot: match delay {
            Some(TimeLimitRequest::Limit(seconds)) => Some(seconds),
            Some(TimeLimitRequest::Unlimited) | None => None,
        },
        kills_on_invalid_dependency: last("kill-on-invalid-dep")
            .map(|text| text.eq_ignore_ascii_case("yes")),
        ..ShownOptions::default()
    };
    (shown != ShownOptions::default()).then(|| Box::new(shown))
}

/// What `--power` says.
pub(crate) struct PowerFlags<'t> {
    levels: bool,
    /// Other words, which Slurm leaves out.
    pub(crate) unknown: Vec<&'t str>,
}

/// Reads `--power`.
pub(crate) fn power_flags(text: &str) -> PowerFlags<'_> {
    let words = text.split(',').filter(|word| !word.is_empty());
    let (known, unknown): (Vec<_>, Vec<_>) =
        words.partition(|word| word.eq_ignore_ascii_case("level"));
    PowerFlags {
        levels: !known.is_empty(),
        unknown,
    }
}

fn asked_tres(o: &GivenOptions, job: &JobDescription) -> AskedTres {
    AskedTres {
        per_job: job.gres_per_job.clone(),
        per_node: job.gres_per_node.clone(),
        per_socket: job.gres_per_socket.clone(),
        per_task: job.gres_per_task.clone(),
        bind: o.gpu_bind.clone(),
        frequency: o.gpu_frequency.clone(),
        tasks_of_each: job.tasks_per_gpu,
        enforce_binding: o.enforce_binding,
        is_by_gres: o.gpus_per_node.is_none() && !job.gres_per_node.is_empty(),
    }
}

/// `--gpus`, or what `--ntasks-per-gpu` makes of tasks.
fn job_gpus(job: &JobDescription) -> Option<GpuCount> {
    let per_node = job.gres_per_node.is_empty();
    let from_tasks = job
        .gres_totals
        .iter()
        .find(|total| total.name == "gpu" && total.per_job > 0);
    let from_tasks = from_tasks.filter(|_| job.tasks_per_gpu.is_some() && per_node);
    job.gres_per_job.gpus().or(from_tasks.map(|total| GpuCount {
        kind: None,
        count: u32::try_from(total.per_job).unwrap_or(u32::MAX),
    }))
}

/// The GPUs that a job asks for in one way, all types together.
fn gpus_of_each(job: &JobDescription, count: fn(&GresTotal) -> u64) -> Option<GpuCount> {
    let asked = |total: &&GresTotal| total.name == "gpu" && count(total) > 0;
    let mut gpus = job.gres_totals.iter().filter(asked);
    let first = gpus.next()?;
    let others = gpus.clone().next().is_some();
    let sum = gpus.fold(count(first), |sum, total| sum.saturating_add(count(total)));
    Some(GpuCount {
        kind: first.kind.clone().filter(|_| !others),
        count: u32::try_from(sum).unwrap_or(u32::MAX),
    })
}

/// `--gpus-per-node` and `--gres`, of which the latter goes before for the same type.
pub(crate) fn gpus_of_a_node(o: &GivenOptions) -> Option<GpuCount> {
    let gres = o
        .gres
        .as_ref()
        .and_then(Option::as_ref)
        .and_then(GresList::gpus);
    gres.or(o.gpus_per_node.as_ref().and_then(GresList::gpus))
}

fn asked_memory(o: &GivenOptions) -> Option<MemoryRequest> {
    o.memory
        .map(MemoryRequest::PerNode)
        .or(o.memory_per_cpu.map(|size| match size {
            // All of each node.
            0 => MemoryRequest::PerNode(0),
            size => MemoryRequest::PerCpu(size),
        }))
        .or(o.memory_per_gpu.map(MemoryRequest::PerGpu))
}

/// Slurm's own syntax speaks of minutes and rounds up; only a run file can ask for seconds.
fn whole_minutes(time: TimeLimitRequest) -> TimeLimitRequest {
    match time {
        TimeLimitRequest::Limit(limit) => TimeLimitRequest::Limit(limit.whole_minutes()),
        TimeLimitRequest::Unlimited => TimeLimitRequest::Unlimited,
    }
}
