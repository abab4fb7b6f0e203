//! What `sinfo --json` tells of nodes: names and meanings are those of Slurm's data parser v0.0.38.

use super::cluster_view::{billing_of_node, gres, gres_used, said_or_name};
use super::scontrol_show::{gpus_text, held_text};
use api::{ClusterReport, NodeReport};
use serde_json::{Value, json};

/// The whole answer.
pub fn nodes_json(cluster: &ClusterReport) -> Value {
    let machine = Machine::now();
    let nodes: Vec<Value> = cluster
        .nodes
        .iter()
        .filter(|node| !node.state.is_future)
        .map(|node| of(node, cluster, &machine))
        .collect();
    json!({ "meta": meta(), "errors": [], "nodes": nodes })
}

/// What is said of each node, since all are on this machine; 0 where the system does not say it.
struct Machine {
    /// In hundredths.
    load: u32,
    free_mib: u64,
    /// In seconds.
    booted_at: i64,
    system: String,
}

impl Machine {
    fn now() -> Machine {
        Machine {
            load: sys::machine_state::load().unwrap_or(0),
            free_mib: sys::machine_state::free_mib().unwrap_or(0),
            booted_at: sys::machine_state::booted_at().map_or(0, |at| at / 1000),
            system: sys::machine_state::system(),
        }
    }
}

/// Who answers: a plugin's name where Slurm has one, and the version of Slurm whose language it speaks.
pub fn meta() -> Value {
    let mut numbers = model::SPOKEN_VERSION.split('.');
    let mut number = || {
        let next: Option<u32> = numbers.next().and_then(|text| text.parse().ok());
        next.unwrap_or(0)
    };
    let (major, minor, micro) = (number(), number(), number());
    json!({
        "plugin": { "type": "trainyard", "name": "Trainyard's embedded engine" },
        "Slurm": {
            "version": { "major": major, "micro": micro, "minor": minor },
            "release": model::SPOKEN_VERSION,
        },
    })
}

fn of(node: &NodeReport, cluster: &ClusterReport, machine: &Machine) -> Value {
    let [sockets, cores, threads] = node.sockets.unwrap_or([1, node.cpus, 1]);
    let gpus = gpus_text(&node.gpus, |gpu| gpu.count);
    let billing = billing_of_node(node, cluster);
    let tres = format!(
        "cpu={},mem={}M,billing={billing}{gpus}",
        node.cpus, node.memory
    );
    let used = Some(held_text(node)).filter(|text| !text.is_empty());
    let partitions = cluster.partitions.iter();
    let partitions = partitions.filter(|partition| partition.nodes.contains(&node.name));
    let partitions: Vec<&String> = partitions.map(|partition| &partition.name).collect();
    let state = node.state;
    let flags = [
        (state.is_drained, "DRAIN"),
        (state.is_failing, "FAIL"),
        (state.is_reserved, "RESERVED"),
        (state.is_maintained, "MAINTENANCE"),
        (state.is_planned, "PLANNED"),
        (state.is_cloud, "CLOUD"),
        (state.is_powered_down(), "POWERED_DOWN"),
        (state.is_lost, "NOT_RESPONDING"),
    ];
    let flags: Vec<&str> = flags
        .iter()
        .filter_map(|(is_set, flag)| is_set.then_some(*flag))
        .collect();
    let reason = node.reason.as_ref();
    let features = node.features.join(",");
    let said = |key: &str| node.said.get(key).map_or("", String::as_str);
    let values = [
        ("architecture", json!(std::env::consts::ARCH)),
        ("burstbuffer_network_address", json!("")),
        ("boards", json!(1)),
        ("boot_time", json!(machine.booted_at)),
        ("comment", json!(said("comment"))),
        ("cores", json!(cores)),
        ("cpu_binding", json!(0)),
        ("cpu_load", json!(machine.load)),
        ("extra", json!(said("extra"))),
        ("free_memory", json!(machine.free_mib)),
        ("cpus", json!(node.cpus)),
        ("last_busy", json!(node.last_busy.seconds())),
        ("features", json!(features)),
        ("active_features", json!(node.active_features.join(","))),
        ("gres", json!(gres(node))),
        ("gres_drained", json!("N/A")),
        ("gres_used", json!(gres_used(node))),
        ("mcs_label", json!("")),
        ("name", json!(node.name.as_str())),
        ("next_state_after_reboot", json!("invalid")),
        ("address", json!(said_or_name(node, "nodeaddr"))),
        ("hostname", json!(said_or_name(node, "nodehostname"))),
        ("state", json!(node.state.base().to_lowercase())),
        ("state_flags", json!(flags)),
        ("next_state_after_reboot_flags", json!([])),
        ("operating_system", json!(machine.system)),
        ("owner", json!(null)),
        ("partitions", json!(partitions)),
        ("port", json!(0)),
        ("real_memory", json!(node.memory)),
        ("reason", json!(reason.map_or("", |reason| &reason.text))),
        (
            "reason_changed_at",
            json!(reason.map_or(0, |reason| reason.at.seconds())),
        ),
        (
            "reason_set_by_user",
            json!(reason.map(|reason| &reason.user)),
        ),
        ("slurmd_start_time", json!(cluster.since.seconds())),
        ("sockets", json!(sockets)),
        ("threads", json!(threads)),
        ("temporary_disk", json!(node.tmp_disk.unwrap_or(0))),
        ("weight", json!(node.weight)),
        ("tres", json!(tres)),
        ("slurmd_version", json!(model::SPOKEN_VERSION)),
        ("alloc_memory", json!(node.memory_used)),
        ("alloc_cpus", json!(node.cpus_used)),
        ("idle_cpus", json!(node.cpus.saturating_sub(node.cpus_used))),
        ("tres_used", json!(used)),
        ("tres_weighted", json!(f64::from(node.cpus_used))),
    ];
    let named = values.map(|(name, value)| (name.to_owned(), value));
    Value::Object(named.into_iter().collect())
}
