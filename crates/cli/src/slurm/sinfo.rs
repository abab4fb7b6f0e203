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
            printer.data(HELP);
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
    loop {
        let status = match cluster() {
            Ok(cluster) => print(&asked, &cluster, printer),
            Err(failure) => {
                failure.say("sinfo", printer);
                1
            }
        };
        let Some(seconds) = asked.every.filter(|_| status == 0) else {
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
    let zone = sys::local_zone();
    let nodes = nodes(cluster, &zone);
    let now = Timestamp(sys::now());
    match asked.action {
        SinfoAction::Json => printer.data(&format!("{:#}\n", nodes_json(cluster))),
        SinfoAction::Yaml => printer.data(&yaml_text(&nodes_json(cluster))),
        SinfoAction::Reservations => {
            printer.data(&reservations_text(
                &cluster.reservations,
                asked.no_header,
                now,
                &zone,
            ));
        }
        _ => {
            if asked.clusters.is_some() {
                printer.line(&format!("CLUSTER: {}", cluster.name));
            }
            let partitions = partitions(cluster);
            let printed = asked.print(&partitions, &nodes, now, &zone);
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

pub(super) const HELP: &str = "\
Usage: sinfo [OPTIONS]
Lists partitions and nodes of Trainyard's embedded engine as Slurm's sinfo lists those of a cluster.

  -a, --all                partitions that are hidden too
  -d, --dead               nodes that do not answer
  -e, --exact              nodes that differ in any column apart
  -h, --noheader           no headers
  -i, --iterate=SECONDS    again and again
      --json               as JSON
  -l, --long               more columns
  -M, --clusters=NAME      the name of this cluster, or all
  -n, --nodes=LIST         these nodes
  -N, --Node               a line a node
  -o, --format=FORMAT      columns by letter: '%P %D %t'
  -O, --Format=LIST        columns by name: partition:12,nodes
  -p, --partition=LIST     these partitions
  -r, --responding         nodes that answer
  -R, --list-reasons       why nodes are down or drained
  -s, --summarize          a line a partition
  -S, --sort=LETTERS       by columns: 'P,-t'
  -t, --states=LIST        nodes in these states
  -T, --reservation        reservations
      --usage              the options in short
  -V, --version            what this is
      --yaml               as YAML

Taken and without effect: --federation, --hide, --local, --noconvert, --verbose.
";
