//! `scontrol show` of nodes, partitions, switches, licences and the configuration.

use super::cluster_view::cluster;
use super::connection::{CommandError, connect};
use super::scontrol_show::{licence_text, node_text, partition_text, switch_text};
use crate::printer::Printer;
use api::{NodeReport, SwitchReport};
use model::{ShowStyle, Timestamp, config_text, node_list};

/// The nodes that are named, or all; names of no node follow the others.
pub fn show_nodes(
    names: Option<&str>,
    style: ShowStyle,
    quiet: bool,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let cluster = cluster()?;
    let moments = super::moment_style();
    let is_shown = |node: &&NodeReport| style.future || !node.state.is_future;
    let shown = || cluster.nodes.iter().filter(is_shown);
    let wanted = match names.map(node_list::expand) {
        None => shown().map(|node| node.name.clone()).collect(),
        Some(names) => names.unwrap_or_default(),
    };
    let mut status = 0;
    for name in &wanted {
        match shown().find(|node| node.name == *name) {
            Some(node) => printer.data(&node_text(node, &cluster, style, &moments)),
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
    let wanted = all.filter(|partition| {
        name.is_none_or(|name| name == partition.name) && (style.all || !partition.is_hidden)
    });
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
    let facts = connect()?.facts()?;
    let moments = super::moment_style();
    let mut settings = facts.config;
    let host = sys::host_name();
    let me = sys::process::user();
    let user = sys::users::user_by_id(me)
        .ok()
        .flatten()
        .map_or_else(|| me.to_string(), |user| user.name);
    for (name, value) in [
        ("BOOT_TIME", moments.text(facts.since)),
        ("SlurmctldHost[0]", host.clone()),
        ("SlurmUser", format!("{user}({me})")),
        ("SlurmdUser", format!("{user}({me})")),
        (
            "SLURM_CONF",
            super::variable("SLURM_CONF").unwrap_or_else(|| "(null)".to_owned()),
        ),
        ("SLURM_VERSION", model::SPOKEN_VERSION.to_owned()),
    ] {
        settings.insert(name.to_owned(), value);
    }
    let now = moments.text(Timestamp(sys::now()));
    printer.data(&config_text(&now, &settings, &host));
    Ok(0)
}
