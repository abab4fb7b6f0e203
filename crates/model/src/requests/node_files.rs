//! Nodes that a file names, and the node of each task under `--distribution=arbitrary`.

use super::asked_job::is_arbitrary;
use crate::options::diagnostic::{Diagnostic, Span};
use crate::options::option_table::{Command, Key};
use crate::options::reading::Reading;
use crate::values::{Distribution, Levels, NodeName, node_file, node_list};
use std::sync::Arc;

/// Where the names of nodes come from.
enum Source {
    /// `--nodefile`
    NodeFile(String),
    /// `--nodelist` with a slash.
    ListFile(String),
    /// `SLURM_HOSTFILE`, which sets `--distribution=arbitrary` too.
    HostFile(String),
    /// `--nodelist`, or `SLURM_ARBITRARY_NODELIST` in a job that was dealt out so.
    Names(String),
}

/// Reads the files that name nodes, and finds the node of each task.
pub(crate) fn settle(reading: &mut Reading<'_>) {
    let Some(source) = source(reading) else {
        return;
    };
    if let Source::HostFile(_) = source {
        let pack = reading.options.distribution.as_ref();
        reading.options.distribution = Some(Distribution {
            levels: Levels::Arbitrary,
            pack: pack.and_then(|asked| asked.pack),
        });
    }
    let arbitrary = is_arbitrary(&reading.options);
    let (file, follows, exit) = match &source {
        Source::Names(_) if !arbitrary => return,
        Source::Names(text) => {
            // What is wrong with a list is said where lists are looked at.
            if let Ok(names) = node_list::expand(text) {
                take(reading, names, arbitrary);
            }
            return;
        }
        Source::NodeFile(file) => (file.clone(), "\nInvalid --nodefile node file", 255),
        Source::ListFile(file) => (file.clone(), "", 1),
        Source::HostFile(file) if file.contains('/') => {
            (file.clone(), "\nFailure getting NodeNames from hostfile", 1)
        }
        Source::HostFile(file) => (
            format!("./{file}"),
            "\nFailure getting NodeNames from hostfile",
            1,
        ),
    };
    let Some(read) = reading.surroundings.read_node_file else {
        return cannot_read(reading);
    };
    let o = &reading.options;
    let nodes = || o.nodes.map(|nodes| nodes.max.unwrap_or(nodes.min));
    let count = o.tasks.or_else(nodes).filter(|_| arbitrary);
    let named = read(&reading.surroundings.cwd.join(&file))
        .map_err(|error| format!("slurm_allocate_resources error opening file {file}, {error}"))
        .and_then(|text| node_file::parse(&text, &file, count.map(|count| count as usize)));
    match named {
        Ok(names) => take(reading, names, arbitrary),
        Err(message) => {
            let message = format!("{message}{follows}");
            let error = Diagnostic::error("invalid-value", Span::Whole, message, exit);
            reading.diagnostics.push(error);
        }
    }
}

fn source(reading: &Reading<'_>) -> Option<Source> {
    let o = &reading.options;
    if let Some(file) = &o.node_file {
        return Some(Source::NodeFile(file.clone()));
    }
    if let Some(text) = &o.nodelist_written {
        let text = text.clone();
        let is_file = text.contains('/');
        return Some(if is_file {
            Source::ListFile(text)
        } else {
            Source::Names(text)
        });
    }
    if let Some(file) = &o.host_file {
        return Some(Source::HostFile(file.clone()));
    }
    o.dealt_nodes
        .clone()
        .filter(|_| is_arbitrary(o))
        .map(Source::Names)
}

fn take(reading: &mut Reading<'_>, mut names: Vec<NodeName>, arbitrary: bool) {
    if arbitrary {
        reading.options.task_nodes = Arc::new(names.clone());
    }
    node_list::drop_repeated(&mut names);
    reading.options.nodelist = Arc::new(names);
    let o = &reading.options;
    let (listed, asked) = (o.task_nodes.len(), o.tasks);
    let differs = asked.filter(|asked| *asked as usize != listed);
    if let (Command::Srun, true, Some(asked)) = (reading.command, arbitrary, differs) {
        let message = format!("You asked for {asked} tasks but hostlist specified {listed} nodes");
        let error = Diagnostic::error("conflict", Span::Whole, message, 1);
        reading.diagnostics.push(error);
    }
}

/// Where no file can be read, as in a plan for another machine.
fn cannot_read(reading: &mut Reading<'_>) {
    let span = reading.last_of(&[Key::NodeFile, Key::NodeList]);
    if reading.surroundings.embedded {
        let message = "a file of nodes is not read here: name them with --nodelist";
        let error = Diagnostic::error("not-here", span, message, 1);
        reading.refusals.push(error);
    }
}
