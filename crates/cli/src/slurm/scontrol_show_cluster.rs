//! `scontrol show` of nodes, partitions, switches, licences and the configuration.

use super::cluster_view::cluster;
use super::connection::{CommandError, connect};
use super::scontrol_show::{licence_text, node_text, partition_text, switch_text};
use crate::printer::Printer;
use api::{EngineFacts, SwitchReport};
use model::{ShowStyle, node_list};

/// The nodes that are named, or all; names of no node follow the others.
pub fn show_nodes(
    names: Option<&str>,
    style: ShowStyle,
    quiet: bool,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let cluster = cluster()?;
    let zone = sys::local_zone();
    let wanted = match names.map(node_list::expand) {
        None => cluster.nodes.iter().map(|node| node.name.clone()).collect(),
        Some(names) => names.unwrap_or_default(),
    };
    let mut status = 0;
    for name in &wanted {
        match cluster.nodes.iter().find(|node| node.name == *name) {
            Some(node) => printer.data(&node_text(node, &cluster, style, &zone)),
            None => {
                status = 1;
                if !quiet {
                    printer.line(&format!("Node {name} not found"));
                }
            }
        }
    }
    Ok(status)
}

/// The partition that is named, or all.
pub fn show_partitions(
    name: Option<&str>,
    style: ShowStyle,
    quiet: bool,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let cluster = cluster()?;
    let all = cluster.partitions.iter();
    let wanted = all.filter(|partition| name.is_none_or(|name| name == partition.name));
    let text: String = wanted
        .map(|partition| partition_text(partition, &cluster, style))
        .collect();
    printer.data(&text);
    match (name, text.is_empty()) {
        (Some(name), true) => {
            if !quiet {
                printer.line(&format!("Partition {name} not found"));
            }
            Ok(1)
        }
        _ => Ok(0),
    }
}

/// The switch of a name, the switches above a node, or all.
pub fn show_topology(name: Option<&str>, printer: &Printer) -> Result<u8, CommandError> {
    let cluster = cluster()?;
    if cluster.switches.is_empty() && name.is_none() {
        printer.say("scontrol: error: No topology information available");
        return Ok(0);
    }
    let is_named = |switch: &SwitchReport, name: &str| {
        let mut nodes = switch.nodes.iter();
        switch.name == name || nodes.any(|node| node.as_str() == name)
    };
    let all = cluster.switches.iter();
    let wanted = all.filter(|switch| name.is_none_or(|name| is_named(switch, name)));
    let text: String = wanted.map(switch_text).collect();
    match name {
        Some(name) if text.is_empty() => {
            let none = "scontrol: error: Topology information contains no switch or node named";
            printer.say(&format!("{none} {name}"));
        }
        _ => printer.data(&text),
    }
    Ok(0)
}

/// The licences of a name, or all.
pub fn show_licences(
    name: Option<&str>,
    style: ShowStyle,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let cluster = cluster()?;
    let all = cluster.licences.iter();
    let wanted = all.filter(|licence| name.is_none_or(|name| name == licence.name));
    let text: String = wanted.map(|licence| licence_text(licence, style)).collect();
    if text.is_empty() {
        let name = name.filter(|_| !cluster.licences.is_empty());
        match name {
            Some(name) => printer.line(&format!("License {name} not found")),
            None => printer.line("No licenses configured in Slurm."),
        }
        return Ok(u8::from(name.is_some()));
    }
    printer.data(&text);
    Ok(0)
}

/// The configuration.
pub fn show_config(printer: &Printer) -> Result<u8, CommandError> {
    printer.data(&config_text(&connect()?.facts()?));
    Ok(0)
}

/// What programs read of a configuration, as far as the embedded engine has it.
fn config_text(facts: &EngineFacts) -> String {
    let rows = [
        ("AccountingStorageType", "(null)".to_owned()),
        ("ClusterName", facts.cluster.clone()),
        ("JobRequeue", "1".to_owned()),
        ("KillOnBadExit", "0".to_owned()),
        ("KillWait", "30 sec".to_owned()),
        ("MinJobAge", "300 sec".to_owned()),
        ("PreemptMode", "OFF".to_owned()),
        ("SLURM_VERSION", super::version_line()),
        ("SelectType", "select/cons_tres".to_owned()),
        ("StateSaveLocation", facts.state.display().to_string()),
    ];
    let mut text = String::from("Configuration data of Trainyard's embedded engine\n");
    for (name, value) in rows {
        text.push_str(&format!("{name:<23} = {value}\n"));
    }
    text
}
