//! `scontrol show node`, `show partition`, `show step`: as Slurm 22.05 prints them, line by line.

use super::cluster_view::{billed, billing_of_node, gres, gres_used, said_or_name};
use api::{ClusterReport, LicenceReport, NodeReport, PartitionReport, SwitchReport};
use model::{
    JobInfo, MomentStyle, NodeGpus, NodeName, Seconds, Settings, ShowStyle, StepRecord, Timestamp,
    mebibytes_text, node_list, one_line, over_subscribe_text, padded_elapsed_text,
};

/// Lines under each other, or in one; a blank line or an end of line after them.
fn block(lines: &[String], style: ShowStyle, indent: &str) -> String {
    // Reasons and names are somebody's own words: none may end a line or move a cursor.
    let lines: Vec<_> = lines.iter().map(|line| one_line(line)).collect();
    if style.one_line {
        return format!("{}\n", lines.join(" "));
    }
    format!("{}\n\n", lines.join(&format!("\n{indent}")))
}

/// A node.
pub fn node_text(
    node: &NodeReport,
    cluster: &ClusterReport,
    style: ShowStyle,
    moments: &MomentStyle,
) -> String {
    let [sockets, cores, threads] = node.sockets.unwrap_or([1, node.cpus, 1]);
    let features = or_null(node.features.join(","));
    let partitions = cluster.partitions.iter();
    let partitions = partitions.filter(|partition| partition.nodes.contains(&node.name));
    let partitions: Vec<&str> = partitions
        .map(|partition| partition.name.as_str())
        .collect();
    let free = sys::machine_state::free_mib().map_or("N/A".to_owned(), |mib| mib.to_string());
    let load = sys::machine_state::load();
    let load = load.map_or("N/A".to_owned(), |it| {
        format!("{}.{:02}", it / 100, it % 100)
    });
    let boot = sys::machine_state::booted_at();
    let boot = boot.map_or("None".to_owned(), |at| moments.text(Timestamp(at)));
    let mut lines = vec![
        format!(
            "NodeName={} Arch={}{} CoresPerSocket={cores} ",
            node.name,
            std::env::consts::ARCH,
            cpu_bind(&node.said)
        ),
        format!(
            "CPUAlloc={} CPUEfctv={cpus} CPUTot={cpus} CPULoad={load}",
            node.cpus_used,
            cpus = node.cpus
        ),
        format!("AvailableFeatures={features}"),
        format!("ActiveFeatures={}", or_null(node.active_features.join(","))),
        format!("Gres={}", or_null(gres(node))),
    ];
    if style.details {
        lines.push("GresDrain=N/A".to_owned());
        lines.push(format!("GresUsed={}", or_null(gres_used(node))));
    }
    lines.extend([
        format!(
            "NodeAddr={} NodeHostName={} Version={}",
            said_or_name(node, "nodeaddr"),
            said_or_name(node, "nodehostname"),
            model::SPOKEN_VERSION,
        ),
        format!("OS={} ", sys::machine_state::system()),
        format!(
            "RealMemory={} AllocMem={} FreeMem={free} Sockets={sockets} Boards=1",
            node.memory, node.memory_used
        ),
        format!(
            "State={} ThreadsPerCore={threads} TmpDisk={} Weight={} Owner=N/A MCS_label=N/A",
            node.state.with_flags(),
            node.tmp_disk.unwrap_or(0),
            node.weight
        ),
        format!("Partitions={} ", partitions.join(",")),
        format!(
            "BootTime={boot} SlurmdStartTime={}",
            moments.text(cluster.since)
        ),
        format!("LastBusyTime={}", moments.text(node.last_busy)),
        format!(
            "CfgTRES=cpu={},mem={},billing={}{}",
            node.cpus,
            mebibytes_text(node.memory),
            billing_of_node(node, cluster),
            gpus_text(&node.gpus, |gpu| gpu.count),
        ),
        format!("AllocTRES={}", held_text(node)),
        "CapWatts=n/a".to_owned(),
        "CurrentWatts=0 AveWatts=0".to_owned(),
        "ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s".to_owned(),
    ]);
    if let Some(reason) = &node.reason {
        let at = moments.text(reason.at);
        lines.push(format!("Reason={} [{}@{at}]", reason.text, reason.user));
    }
    for (key, name) in [("comment", "Comment"), ("extra", "Extra")] {
        if let Some(text) = node.said.get(key) {
            lines.push(format!("{name}={text}"));
        }
    }
    block(&lines, style, "   ")
}

/// ` CpuBind=cores`, where it is said.
fn cpu_bind(said: &Settings) -> String {
    let bind = said.get("cpubind").filter(|bind| !bind.is_empty());
    bind.map_or_else(String::new, |bind| format!(" CpuBind={bind}"))
}

/// What jobs hold of a node, such as `cpu=2,mem=1G,gres/gpu=1`; empty where none does.
pub fn held_text(node: &NodeReport) -> String {
    let used = |gpu: &NodeGpus| u32::try_from(gpu.used.len()).unwrap_or(u32::MAX);
    match (node.cpus_used, node.memory_used) {
        (0, 0) => String::new(),
        (cpus, 0) => format!("cpu={cpus}{}", gpus_text(&node.gpus, used)),
        (cpus, memory) => format!(
            "cpu={cpus},mem={}{}",
            mebibytes_text(memory),
            gpus_text(&node.gpus, used)
        ),
    }
}

/// `,gres/gpu=4,gres/gpu:v100=4`; nothing where there are none. Types stand in their own order.
pub fn gpus_text<'a>(
    gpus: impl IntoIterator<Item = &'a NodeGpus>,
    count: impl Fn(&NodeGpus) -> u32,
) -> String {
    let mut kinds: Vec<(String, u32)> = Vec::new();
    let mut all = 0;
    for gpu in gpus {
        all += count(gpu);
        let kind = gpu.kind_text();
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, known)) => *known += count(gpu),
            None => kinds.push((kind, count(gpu))),
        }
    }
    if all == 0 {
        return String::new();
    }
    kinds.sort();
    let kinds = kinds
        .iter()
        .filter(|(kind, count)| !kind.is_empty() && *count > 0);
    let kinds: String = kinds
        .map(|(kind, count)| format!(",gres/gpu{kind}={count}"))
        .collect();
    format!(",gres/gpu={all}{kinds}")
}

/// What nodes have together, as accounting lists it; with what is not counted here as 0.
pub fn tres_of(nodes: &[&NodeReport], cluster: &ClusterReport, with_all: bool) -> String {
    let cpus: u32 = nodes.iter().map(|node| node.cpus).sum();
    let mib: u64 = nodes.iter().map(|node| node.memory).sum();
    let billing: u64 = nodes
        .iter()
        .map(|node| billing_of_node(node, cluster))
        .sum();
    let gpus = nodes.iter().flat_map(|node| node.gpus.iter());
    let mut parts: Vec<String> = gpus_text(gpus, |gpu| gpu.count)
        .split(',')
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    parts.extend([
        format!("billing={billing}"),
        format!("cpu={cpus}"),
        format!("mem={}", mebibytes_text(mib)),
    ]);
    if with_all {
        let none = ["energy=0", "fs/disk=0", "pages=0", "vmem=0"];
        parts.extend(none.map(str::to_owned));
        parts.push(format!("node={}", nodes.len()));
    }
    parts.sort();
    parts.join(",")
}

/// A partition.
pub fn partition_text(
    partition: &PartitionReport,
    cluster: &ClusterReport,
    style: ShowStyle,
) -> String {
    let yes = |is: bool| if is { "YES" } else { "NO" };
    let count = |count: Option<u32>| count.map_or("UNLIMITED".to_owned(), |it| it.to_string());
    let memory = |per_cpu: Option<u64>, per_node: Option<u64>, name: &str| match (per_cpu, per_node)
    {
        (Some(0), _) => format!("{name}MemPerCPU=UNLIMITED"),
        (Some(mib), _) => format!("{name}MemPerCPU={mib}"),
        (None, Some(mib)) => format!("{name}MemPerNode={mib}"),
        (None, None) => format!("{name}MemPerNode=UNLIMITED"),
    };
    let limit = |time: Option<Seconds>, none: &str| match time {
        Some(Seconds(seconds)) => padded_elapsed_text(i64::try_from(seconds).unwrap_or(i64::MAX)),
        None => none.to_owned(),
    };
    let nodes: Vec<&NodeReport> = cluster
        .nodes
        .iter()
        .filter(|node| partition.nodes.contains(&node.name))
        .collect();
    let cpus: u32 = nodes.iter().map(|node| node.cpus).sum();
    let mib: u64 = nodes.iter().map(|node| node.memory).sum();
    let gpus = nodes.iter().flat_map(|node| node.gpus.iter());
    let mut names: Vec<NodeName> = partition.nodes.clone();
    node_list::sort(&mut names);
    let own = &partition.settings;
    let text = |key: &str| {
        own.get(key)
            .map(String::as_str)
            .filter(|text| !text.is_empty())
    };
    let is = |key: &str| yes(text(key) == Some("yes"));
    let who = |allow: &str, deny: &str, name: &str| match (text(deny), text(allow)) {
        (Some(names), None) => format!("Deny{name}={names}"),
        (_, names) => format!("Allow{name}={}", names.unwrap_or("ALL")),
    };
    // A limit a CPU that is none.
    let none_per_cpu = |key: &str| text(key).filter(|text| *text == "0").map(|_| 0);
    let mut lines = vec![
        format!("PartitionName={}", partition.name),
        format!(
            "AllowGroups={} {} {}",
            text("allowgroups").unwrap_or("ALL"),
            who("allowaccounts", "denyaccounts", "Accounts"),
            who("allowqos", "denyqos", "Qos")
        ),
        format!(
            "AllocNodes={}{} Default={}{} QoS={}",
            text("allocnodes").unwrap_or("ALL"),
            text("alternate").map_or_else(String::new, |other| format!(" Alternate={other}")),
            yes(partition.is_default),
            match cpu_bind(own) {
                none if none.is_empty() => none,
                bind => format!("{bind} "),
            },
            partition.qos.as_deref().unwrap_or("N/A")
        ),
        format!(
            "DefaultTime={} DisableRootJobs={} ExclusiveUser={} GraceTime={} Hidden={}",
            limit(partition.default_time, "NONE"),
            is("disablerootjobs"),
            yes(partition.one_user),
            partition.grace_time.0,
            is("hidden")
        ),
        format!(
            "MaxNodes={} MaxTime={} MinNodes={} LLN={} MaxCPUsPerNode={}",
            count(partition.max_nodes),
            limit(partition.max_time, "UNLIMITED"),
            partition.min_nodes,
            is("lln"),
            count(partition.max_cpus_per_node)
        ),
        format!("Nodes={}", or_null(node_list::fold(&names))),
        format!(
            "PriorityJobFactor={} PriorityTier={} RootOnly={} ReqResv={} OverSubscribe={}",
            partition.factor,
            partition.tier,
            is("rootonly"),
            is("reqresv"),
            over_subscribe_text(partition.whole_nodes, partition.layers)
        ),
        format!(
            "OverTimeLimit={} PreemptMode={}",
            match text("overtimelimit")
                .and_then(|text| text.parse().ok())
                .map(Seconds)
            {
                None => "NONE".to_owned(),
                Some(Seconds::YEAR) => "UNLIMITED".to_owned(),
                Some(length) => (length.0 / 60).to_string(),
            },
            partition.preempt_mode.to_uppercase()
        ),
        format!(
            "State={} TotalCPUs={cpus} TotalNodes={} SelectTypeParameters=NONE",
            partition.state.to_uppercase(),
            nodes.len()
        ),
        format!("JobDefaults={}", or_null(job_defaults(own))),
        format!(
            "{} {}",
            memory(
                none_per_cpu("defmempercpu").or(partition.default_memory_per_cpu),
                partition.default_memory_per_node,
                "Def"
            ),
            memory(
                none_per_cpu("maxmempercpu").or(partition.max_memory_per_cpu),
                text("maxmempernode").and_then(|mib| mib.parse().ok()),
                "Max"
            )
        ),
        if nodes.is_empty() {
            "TRES=(null)".to_owned()
        } else {
            format!(
                "TRES=cpu={cpus},mem={},node={},billing={}{}",
                mebibytes_text(mib),
                nodes.len(),
                billed(&partition.billing, &nodes),
                gpus_text(gpus, |gpu| gpu.count)
            )
        },
    ];
    if let Some(weights) = text("tresbillingweights") {
        lines.push(format!("TRESBillingWeights={weights}"));
    }
    block(&lines, style, "   ")
}

/// `DefCpuPerGPU=2,DefMemPerGPU=100`
fn job_defaults(own: &Settings) -> String {
    let names = [
        ("defcpupergpu", "DefCpuPerGPU"),
        ("defmempergpu", "DefMemPerGPU"),
    ];
    let said = names.into_iter().filter_map(|(key, name)| {
        let value = own.get(key).filter(|value| !value.is_empty())?;
        Some(format!("{name}={value}"))
    });
    said.collect::<Vec<_>>().join(",")
}

/// A step that runs.
pub fn step_text(step: &StepRecord, job: &JobInfo, style: ShowStyle) -> String {
    let names: Vec<NodeName> = step.nodes.iter().map(|share| share.node.clone()).collect();
    let cpus: usize = step.nodes.iter().map(|share| share.cpus.len()).sum();
    let tasks: u32 = step.nodes.iter().map(|share| share.tasks).sum();
    let mib: u64 = step.nodes.iter().map(|share| share.memory).sum();
    let gpus: usize = step.nodes.iter().map(|share| share.gpus.len()).sum();
    let is_batch = step.step == model::StepId::Batch;
    // In turns where there are not more tasks than nodes, as srun deals them out.
    let distribution = if tasks as usize <= names.len() {
        "Cyclic"
    } else {
        "Block"
    };
    let tres = if is_batch {
        "(null)".to_owned()
    } else {
        let gres = match gpus {
            0 => String::new(),
            _ => gpu_types(&job.tres(), gpus),
        };
        format!(
            "cpu={cpus}{gres},mem={},node={}",
            mebibytes_text(mib),
            names.len()
        )
    };
    let mut lines = vec![
        format!(
            "StepId={}.{} UserId={} StartTime={} TimeLimit=UNLIMITED",
            match job.component() {
                Some(_) => job.id.to_string(),
                None => job.id_text(false),
            },
            step.step,
            job.uid(),
            job.moments.text(step.since)
        ),
        format!(
            "State=RUNNING Partition={} NodeList={}",
            job.partition,
            node_list::fold(&names)
        ),
        format!(
            "Nodes={} CPUs={} Tasks={tasks} Name={} Network=(null)",
            names.len(),
            if is_batch { 0 } else { cpus },
            step.name
        ),
        format!("TRES={tres}"),
        "ResvPorts=(null)".to_owned(),
        format!(
            "CPUFreqReq=Default{}",
            if is_batch {
                String::new()
            } else {
                format!(" Dist={distribution}")
            }
        ),
        match &step.srun {
            Some(srun) => format!("SrunHost:Pid={}:{}", srun.host, srun.pid),
            None => "SrunHost:Pid=(null):0".to_owned(),
        },
    ];
    // What `srun` has from the job's own options.
    match (&job.tres_per_node(), &job.tres_per_job()) {
        _ if gpus == 0 || is_batch => {}
        (Some(tres), _) => lines.push(format!("TresPerNode={tres}")),
        (None, Some(tres)) => lines.push(format!("TresPerStep=cpu:{cpus},{tres}")),
        (None, None) => {}
    }
    block(&lines, style, "   ")
}

/// `,gres/gpu:v100=2,gres/gpu=2`: the type stands where the job has GPUs of one alone.
fn gpu_types(tres: &str, count: usize) -> String {
    let types = tres
        .split(',')
        .filter_map(|part| part.strip_prefix("gres/gpu:"));
    let types: Vec<&str> = types.filter_map(|part| part.split('=').next()).collect();
    match types[..] {
        [kind] => format!(",gres/gpu:{kind}={count},gres/gpu={count}"),
        _ => format!(",gres/gpu={count}"),
    }
}

fn or_null(text: String) -> String {
    if text.is_empty() {
        "(null)".to_owned()
    } else {
        text
    }
}

/// Licences of one name.
pub fn licence_text(licence: &LicenceReport, style: ShowStyle) -> String {
    let LicenceReport {
        name,
        total,
        used,
        reserved,
    } = licence;
    // Others are of a server that sacctmgr knows.
    let is_remote = name.contains('@');
    let lines = [
        format!("LicenseName={name}"),
        format!(
            "Total={total} Used={used} Free={} Reserved={reserved} Remote={}",
            total.saturating_sub(*used),
            if is_remote { "yes" } else { "no" },
        ),
    ];
    let lines = lines.each_ref().map(|line| one_line(line));
    if style.one_line {
        format!("{}\n", lines.join(" "))
    } else {
        format!("{}\n", lines.join("\n    "))
    }
}

/// A switch.
pub fn switch_text(switch: &SwitchReport) -> String {
    let mut text = format!(
        "SwitchName={} Level={} LinkSpeed={} Nodes={}",
        switch.name,
        switch.level,
        switch.link_speed,
        node_list::fold(&switch.nodes)
    );
    if !switch.below.is_empty() {
        let below: Vec<NodeName> = switch
            .below
            .iter()
            .map(|name| NodeName::new(name))
            .collect();
        text += &format!(" Switches={}", node_list::fold(&below));
    }
    text + "\n"
}
