//! `yard engine fail-node` and `restore-node`.

use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome, not_done, unreachable};
use crate::printer::Printer;
use api::{Client, NodeChange};
use clap::Args as ClapArgs;
use model::node_list;

/// Which nodes.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A node, or a list of them such as node[1-2]
    nodes: String,
    /// The engine whose nodes they are
    #[arg(long, value_name = "ENGINE")]
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
    let mut client = Client::connect(&super::dir_of(args.on.as_deref())?).map_err(unreachable)?;
    let reason = match change {
        NodeChange::Down => "yard engine fail-node",
        _ => "",
    };
    client.mark_nodes(nodes, change, reason).map_err(not_done)?;
    printer.show_line(&match change {
        NodeChange::Down => format!("{} failed: what ran there is killed", args.nodes),
        _ => format!("{} takes jobs again", args.nodes),
    });
    Ok(exit_code::DONE)
}
