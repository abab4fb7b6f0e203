//! `sinfo`: partitions and nodes as they stand.

use super::cluster_view::{cluster, nodes, partitions};
use super::node_json::nodes_json;
use super::yaml::yaml_text;
use crate::printer::Printer;
use api::ClusterReport;
use model::{SINFO_USAGE, SinfoAction, SinfoArgs, Timestamp, reservations_text};

/// Runs it; returns its exit status.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    let asked = match SinfoArgs::parse("sinfo", args, &super::variable) {
        Ok(asked) => asked,
        Err(error) => {
            printer.say(&error.to_string());
            return 1;
        }
    };
    match asked.action {
        SinfoAction::Help => {
            printer.data(&help());
            return 0;
        }
        SinfoAction::Usage => {
            printer.data(SINFO_USAGE);
            return 0;
        }
        SinfoAction::Version => {
            printer.line(&super::version_line());
            return 0;
        }
        SinfoAction::List | SinfoAction::Json | SinfoAction::Yaml | SinfoAction::Reservations => {}
    }
    // Data is printed once, and stands alone.
    let is_data = matches!(asked.action, SinfoAction::Json | SinfoAction::Yaml);
    if asked.is_verbose() && !is_data {
        printer.data(&asked.said());
    }
    let every = asked.every.filter(|_| !is_data);
    loop {
        let status = match cluster() {
            Ok(cluster) => print(&asked, &cluster, printer),
            Err(failure) => {
                failure.say("sinfo", printer);
                1
            }
        };
        let Some(seconds) = every.filter(|_| status == 0) else {
            return status;
        };
        printer.line("");
        std::thread::sleep(std::time::Duration::from_secs(u64::from(seconds)));
    }
}

fn print(asked: &SinfoArgs, cluster: &ClusterReport, printer: &Printer) -> u8 {
    if let Some(unknown) = unknown_cluster(asked, cluster) {
        printer.say(&super::unknown_cluster_text("sinfo", unknown));
        return 1;
    }
    let moments = super::moment_style();
    let nodes = nodes(cluster, &moments);
    let now = Timestamp(sys::now());
    match asked.action {
        SinfoAction::Json => printer.data(&format!("{:#}\n", nodes_json(cluster))),
        SinfoAction::Yaml => printer.data(&yaml_text(&nodes_json(cluster))),
        SinfoAction::Reservations => {
            printer.data(&reservations_text(
                &cluster.reservations,
                asked.no_header,
                now,
                &moments,
            ));
        }
        _ => {
            if !asked.no_header && super::is_cluster_named(asked.clusters.as_deref()) {
                printer.line(&format!("CLUSTER: {}", cluster.name));
            }
            let partitions = partitions(cluster);
            let printed = asked.print(&partitions, &nodes, now, &moments.zone);
            for line in &printed.stderr {
                printer.say(line);
            }
            printer.data(&printed.stdout);
        }
    }
    0
}

/// The first cluster of `--clusters` that is not this one.
fn unknown_cluster<'a>(asked: &'a SinfoArgs, cluster: &ClusterReport) -> Option<&'a str> {
    let names = asked.clusters.iter().flatten().map(String::as_str);
    let mut unknown = names.filter(|name| *name != cluster.name && *name != "all");
    unknown.next()
}

/// What `--help` says above the options.
const ABOUT: &str = "\
Usage: sinfo [OPTIONS]
Lists partitions and nodes of Trainyard's embedded engine as Slurm's sinfo lists those of a cluster.
";

/// `sinfo --help`
pub(super) fn help() -> String {
    super::command_help("sinfo", ABOUT, "")
}
