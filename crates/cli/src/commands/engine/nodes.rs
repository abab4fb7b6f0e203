//! `yard engine fail-node` and `restore-node`.

use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome, not_done, unreachable};
use crate::printer::Printer;
use api::{Client, NodeChange};
use clap::Args as ClapArgs;
use model::{NodeName, node_list};

/// Which nodes.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A node, or a list of them such as node[1-2]
    nodes: String,
    /// The name of their engine; without one this machine's own
    name: Option<String>,
    /// As NAME
    #[arg(long, value_name = "NAME", hide = true, conflicts_with = "name")]
    on: Option<String>,
}

/// Runs them.
pub fn run(args: &Args, change: NodeChange, printer: &Printer) -> Outcome {
    let nodes = node_list::expand(&args.nodes).map_err(|error| {
        Failure::new(
            FailureKind::Usage,
            format!("{} is no node list: {error}", args.nodes),
        )
        .todo("write node1, node1,node2 or node[1-4]")
    })?;
    let name = args.name.as_deref().or(args.on.as_deref());
    let mut client = Client::connect(&super::dir_of(name)?).map_err(unreachable)?;
    let there: Vec<NodeName> = client
        .cluster()
        .map_err(not_done)?
        .nodes
        .into_iter()
        .map(|node| node.name)
        .collect();
    if let Some(unknown) = nodes.iter().find(|node| !there.contains(node)) {
        return Err(Failure::new(
            FailureKind::Usage,
            format!("this engine has no node {unknown}"),
        )
        .there(format!("its nodes: {}", node_list::fold(&there)))
        .todo("name one of them, and the engine behind it where it is another"));
    }
    client
        .mark_nodes(nodes.clone(), change, "")
        .map_err(not_done)?;
    if change == NodeChange::Lost {
        printer.show_line(&format!("{} failed: what ran there is killed", args.nodes));
        return Ok(exit_code::DONE);
    }
    let report = client.cluster().map_err(not_done)?;
    let (mut back, mut out) = (Vec::new(), Vec::new());
    for node in report.nodes.iter().filter(|it| nodes.contains(&it.name)) {
        let state = node.state;
        if state.is_down || state.is_drained || state.is_failing || state.is_future {
            out.push((node.name.clone(), state.long()));
        } else {
            back.push(node.name.clone());
        }
    }
    if !back.is_empty() {
        printer.show_line(&format!("{} takes jobs again", node_list::fold(&back)));
    }
    for (name, state) in out {
        printer.show_line(&format!(
            "{name} answers again and takes no jobs: it is {state}; scontrol update nodename={name} \
             state=resume, or return_to_service of the cluster's file"
        ));
    }
    Ok(exit_code::DONE)
}
