//! `scontrol create|update|delete` of nodes and partitions.

use super::connection::{CommandError, connect};
use super::scontrol::{complain, say_changed};
use crate::printer::Printer;
use api::{ClusterChange, NodeChange, NodeUpdate};
use model::scontrol::ClusterCommand;
use model::{NodeStateWord, NodeWords, node_list, node_words, partition_words};

/// Carries one out; returns its exit status.
pub fn change(command: &ClusterCommand, printer: &Printer) -> Result<u8, CommandError> {
    match command {
        ClusterCommand::UpdateNodes(words) => match node_words(words) {
            Ok(asked) => update_nodes(asked, printer),
            Err(said) => Ok(refused(&said.lines, printer)),
        },
        ClusterCommand::Partition { words, is_new } => partition(words, *is_new, printer),
        ClusterCommand::MakeNodes { nodes, line } => {
            let nodes = node_list::expand(nodes).unwrap_or_default();
            let line = line.clone();
            let done = connect()?.change_cluster(ClusterChange::MakeNodes { nodes, line });
            Ok(say_changed(done, "Error creating the node(s)", printer))
        }
        ClusterCommand::RemoveNodes { nodes, written } => remove_nodes(nodes, written, printer),
        ClusterCommand::RemovePartition { name, written } => {
            let name = name.clone();
            let done = connect()?.change_cluster(ClusterChange::RemovePartition { name });
            Ok(say_changed(
                done,
                &format!("delete_partition {written}"),
                printer,
            ))
        }
    }
}

fn refused(lines: &[String], printer: &Printer) -> u8 {
    lines.iter().for_each(|line| printer.say(line));
    1
}

fn update_nodes(asked: NodeWords, printer: &Printer) -> Result<u8, CommandError> {
    let no_state = "slurm_update error: Invalid node state specified";
    let state = match asked.state {
        None => None,
        Some(NodeStateWord::Drain) => Some(NodeChange::Drain),
        Some(NodeStateWord::Down) => Some(NodeChange::Down),
        Some(NodeStateWord::Fail) => Some(NodeChange::Fail),
        Some(NodeStateWord::Resume) => Some(NodeChange::Resume),
        Some(NodeStateWord::Undrain) => Some(NodeChange::Undrain),
        Some(NodeStateWord::Idle) => Some(NodeChange::Idle),
        Some(NodeStateWord::Future) => Some(NodeChange::Future),
        Some(NodeStateWord::NotForNodes) => return Ok(refused(&[no_state.to_owned()], printer)),
    };
    let Ok(nodes) = node_list::expand(&asked.nodes) else {
        let words = "slurm_update error: Invalid node name specified";
        return Ok(refused(&[words.to_owned()], printer));
    };
    let update = NodeUpdate {
        state,
        reason: asked.reason,
        settings: asked.settings,
    };
    let done = connect()?.change_cluster(ClusterChange::Nodes { nodes, update });
    Ok(say_changed(done, "slurm_update error", printer))
}

fn partition(words: &[String], is_new: bool, printer: &Printer) -> Result<u8, CommandError> {
    let asked = match partition_words(words, is_new) {
        Ok(asked) => asked,
        Err(said) => return Ok(refused(&said.lines, printer)),
    };
    let (name, settings) = (asked.name, asked.settings);
    let (change, failed) = if is_new {
        let change = ClusterChange::MakePartition { name, settings };
        (change, "Error creating the partition")
    } else {
        let change = ClusterChange::Partition { name, settings };
        (change, "slurm_update error")
    };
    Ok(say_changed(
        connect()?.change_cluster(change),
        failed,
        printer,
    ))
}

fn remove_nodes(list: &str, written: &str, printer: &Printer) -> Result<u8, CommandError> {
    let nodes = match node_list::expand(list) {
        Ok(nodes) => nodes,
        Err(error) => {
            complain(&error, printer);
            return Ok(1);
        }
    };
    let done = connect()?.change_cluster(ClusterChange::RemoveNodes { nodes });
    if done.is_err() && !list.is_empty() {
        printer.say(&format!("scontrol: error: failed to delete nodes {list}"));
    }
    Ok(say_changed(
        done,
        &format!("delete_node {written}"),
        printer,
    ))
}
