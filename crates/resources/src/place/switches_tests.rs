//! Which nodes are taken where the network is described.

use super::tests::request;
use crate::{Cluster, Compiled, Demand, Free, Pick, Share, Trust, place};
use cluster_file::ClusterFile;

const FILE: &str = "\
[nodes.n]\nnames = \"n[1-6]\"\ncpus = 4\nmemory = \"4000M\"\nfeatures = [\"slow\"]\n\
[nodes.m]\nnames = \"m[1-2]\"\ncpus = 4\nmemory = \"4000M\"\nfeatures = [\"fast\"]\n\
[partition.all]\ndefault = true\nnodes = \"ALL\"\n\
[switch.s1]\nnodes = \"n[1,3,5]\"\n[switch.s2]\nnodes = \"n[2,4]\"\n\
[switch.s3]\nnodes = \"n6,m[1-2]\"\n\
[switch.top]\nswitches = \"s[1-2]\"\n[switch.all]\nswitches = \"top,s3\"\n\
[switch.loop]\nswitches = \"loop\"\n";

/// Each line is a job; those before the last are placed and stay. `few` is whether the number of
/// switches counts.
#[track_caller]
fn check(lines: &str, few: bool, want: &str) {
    let file = ClusterFile::parse("test", FILE).unwrap_or_else(|problems| panic!("{problems:?}"));
    let cluster = Cluster::build(&file, Trust::All);
    let partition = cluster.find_partition("all");
    let mut free = Free::idle(&cluster);
    let mut last: Option<Vec<Share>> = None;
    for line in lines.lines() {
        let demand = Demand::of(&request(line), cluster.defaults(partition));
        let compiled = Compiled::new(&cluster, partition, demand);
        let pick = Pick {
            few_switches: few,
            ..Pick::default()
        };
        last = place(&cluster, &compiled, &free, pick);
        if let Some(shares) = &last {
            free.take(&cluster, shares, compiled.demand.sharing, 0);
        }
    }
    let names = last.map_or("no place".to_owned(), |shares| {
        let each = shares.iter().map(|share| {
            let name = cluster.node_name(share.node);
            format!("{name}*{}", share.tasks)
        });
        each.collect::<Vec<_>>().join(" ")
    });
    assert_eq!(names, want, "{lines}");
}

#[test]
fn the_switch_with_the_least_room_that_is_enough() {
    check("-N2 --exclusive", false, "n2*1 n4*1");
    check("-N3 --exclusive", false, "n1*1 n3*1 n5*1");
    check("-N2 --exclusive\n-N2 --exclusive", false, "n1*1 n3*1");
    check("-N4 --exclusive", false, "n1*1 n2*1 n3*1 n5*1");
}

#[test]
fn few_switches_are_waited_for() {
    let taken = "-N1 --exclusive -w n1\n-N1 --exclusive -w n2\n-N1 --exclusive -w m1\n";
    check(
        &format!("{taken}-N3 --exclusive --switches=1"),
        true,
        "no place",
    );
    check(
        &format!("{taken}-N3 --exclusive --switches=1"),
        false,
        "n3*1 n4*1 n5*1",
    );
    check(
        &format!("{taken}-N3 --exclusive --switches=2"),
        true,
        "n3*1 n4*1 n5*1",
    );
    check(
        &format!("{taken}-N2 --exclusive --switches=1"),
        true,
        "n3*1 n5*1",
    );
}

#[test]
fn nodes_that_are_preferred_are_taken_first() {
    check("-n1 --prefer=fast", false, "m1*1");
    check("-n8 -N2 --prefer=fast\n-n1 --prefer=fast", false, "n6*1");
    check("-n1 -C slow --prefer=fast", false, "m1*1");
    check("-n1 --prefer=none", false, "n2*1");
}

#[test]
fn a_job_that_spreads_is_on_as_many_nodes_as_it_has_tasks() {
    check("-n4 --spread-job", false, "n1*1 n2*1 n3*1 n4*1");
    check("-n6 -N1-4 --spread-job", false, "n1*2 n2*2 n3*1 n4*1");
    check("-n4", false, "n2*4");
}
