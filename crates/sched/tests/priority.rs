//! Priorities and fair shares as a real Slurm has them: `data/priority/record.sh` made the
//! recording.

use cluster_file::ClusterFile;
use model::{Seconds, Timestamp};
use resources::{Cluster, PriorityPolicy, Shares, Trust};
use std::collections::HashMap;
use yard_sched::Member;
use yard_sched::priority::{Decay, Factors, JobFacts, Scale, ShareTree, Usage};

const RECORDED: &str = include_str!("data/priority/slurm-22.05.8.txt");

/// What was recorded under one configuration.
#[derive(Default)]
struct Section<'a> {
    name: &'a str,
    conf: Vec<&'a str>,
    time: i64,
    /// Of `sshare`: account, user, shares, normalised, usage, effective usage, fair share, level.
    shares: Vec<Vec<&'a str>>,
    /// Of `sprio -n`: job, partition, user, age, association, fair share, size, partition, QOS.
    normal: Vec<Vec<&'a str>>,
    /// Of `sprio`: job, partition, user, priority, site, age, association, fair share, size,
    /// partition, QOS, nice, TRES.
    weighted: Vec<Vec<&'a str>>,
    jobs: Vec<HashMap<&'a str, &'a str>>,
}

fn sections() -> Vec<Section<'static>> {
    sections_of(RECORDED)
}

fn sections_of(recorded: &'static str) -> Vec<Section<'static>> {
    let mut sections: Vec<Section<'static>> = Vec::new();
    for line in recorded.lines() {
        if let Some(name) = line.strip_prefix("== ") {
            sections.push(Section {
                name,
                ..Section::default()
            });
            continue;
        }
        let (Some(section), Some((kind, rest))) = (sections.last_mut(), line.split_once(' '))
        else {
            continue;
        };
        let cells = || rest.split('|').skip(1).collect::<Vec<_>>();
        match kind {
            "conf" => section.conf.push(rest),
            "time" => section.time = rest.parse().expect("a moment"),
            "share" => section.shares.push(cells()),
            "norm" => section.normal.push(cells()),
            "weighted" => section.weighted.push(cells()),
            "job" => {
                let fields = rest.split(' ').filter_map(|field| field.split_once('='));
                section.jobs.push(fields.collect());
            }
            _ => {}
        }
    }
    sections
}

/// The policy of a section, by way of the import of a `slurm.conf`.
fn policy(section: &Section<'_>) -> PriorityPolicy {
    let value = |key: &str| {
        let line = section.conf.iter().find_map(|line| line.strip_prefix(key));
        line.and_then(|line| line.strip_prefix('='))
    };
    let mut text = String::from("[priority]\nmax_age = \"16:40:00\"\nhalf_life = \"00:30:00\"\n");
    for (key, own) in [
        ("age", "PriorityWeightAge"),
        ("fair_share", "PriorityWeightFairshare"),
        ("job_size", "PriorityWeightJobSize"),
        ("partition", "PriorityWeightPartition"),
        ("qos", "PriorityWeightQOS"),
        ("association", "PriorityWeightAssoc"),
    ] {
        text += &format!("{key} = {}\n", value(own).expect("it is said"));
    }
    text += &format!(
        "tres = \"{}\"\n",
        value("PriorityWeightTRES").expect("it is said")
    );
    text += &format!("favor_small = {}\n", value("PriorityFavorSmall").is_some());
    if let Some(flags) = value("PriorityFlags") {
        let flags: Vec<String> = flags.split(',').map(|flag| format!("{flag:?}")).collect();
        text += &format!("flags = [{}]\n", flags.join(", "));
    }
    let file = ClusterFile::parse("recorded", &text).expect("a cluster file");
    Cluster::build(&file, Trust::All).priority().clone()
}

#[track_caller]
fn close(what: &str, ours: f64, theirs: &str, tolerance: f64) {
    let theirs: f64 = if theirs.is_empty() {
        0.0
    } else {
        theirs.parse().expect("a number")
    };
    let is_close = ours == theirs || (ours - theirs).abs() <= tolerance * theirs.abs().max(1.0);
    assert!(is_close, "{what}: {ours}, and Slurm has {theirs}");
}

/// The tree of `sshare`, whose accounts are indented below their parents.
fn tree(section: &Section<'_>) -> (ShareTree, Vec<f64>, Vec<usize>) {
    let mut tree = ShareTree::default();
    let mut above = vec![0];
    let mut usage = vec![0.0];
    let mut rows = vec![0];
    for row in &section.shares[1..] {
        let depth = row[0].len() - row[0].trim_start().len();
        let shares = Shares::parse(row[2]);
        let user = (!row[1].is_empty()).then(|| row[1].to_owned());
        let is_user = user.is_some();
        above.truncate(depth);
        let parent = *above.last().expect("the root is above all");
        let place = tree.add(row[0].trim().to_owned(), user, parent, shares);
        usage.push(if is_user {
            row[4].parse().expect("a number")
        } else {
            0.0
        });
        if !is_user {
            above.push(place);
        }
        rows.push(place);
    }
    (tree, usage, rows)
}

#[test]
fn shares_and_fair_tree() {
    for section in sections() {
        let (mut tree, usage, rows) = tree(&section);
        tree.set_usage(|place| usage[place]);
        let standings = tree.standings();
        for (row, place) in section.shares.iter().zip(rows).skip(1) {
            let what = format!("{}, {} {}", section.name, row[0], row[1]);
            let standing = &standings[place];
            close(&what, standing.norm_shares, row[3], 1e-5);
            // Slurm prints usage as whole numbers, and counts fractions.
            close(&what, standing.effective_usage, row[5], 1e-3);
            close(&what, tree.nodes()[place].usage, row[4], 1e-3);
            if !row[1].is_empty() {
                let fair_share = standing.fair_share.expect("a user has one");
                close(&what, fair_share, row[6], 1e-5);
            }
            if !row[7].is_empty() {
                close(&what, standing.level, row[7], 1e-3);
            }
        }
    }
}

/// `PriorityFlags=NO_FAIR_TREE`.
#[test]
fn the_classic_fair_share() {
    let recorded = include_str!("data/priority/classic-22.05.8.txt");
    let policy = PriorityPolicy {
        flags: vec!["NO_FAIR_TREE".to_owned()],
        ..PriorityPolicy::default()
    };
    let sections = sections_of(recorded);
    let section = &sections[0];
    let (mut tree, _, rows) = tree(section);
    // Beside the usage as a whole number there is the part of all that it is.
    let parts: HashMap<usize, f64> = rows
        .iter()
        .zip(&section.shares)
        .map(|(place, row)| (*place, row[8].parse().unwrap_or(0.0)))
        .collect();
    tree.set_usage(|place| parts[&place] * 1e6);
    let standings = tree.standings_by(&policy);
    assert_eq!(section.shares.len(), 20);
    for (row, place) in section.shares.iter().zip(rows) {
        let what = format!("{} {}", row[0], row[1]);
        let standing = &standings[place];
        close(&what, standing.norm_shares, row[3], 1e-5);
        close(&what, standing.effective_usage, row[5], 1e-5);
        let fair_share = standing.fair_share.expect("each has one");
        close(&what, fair_share, row[6], 1e-4);
        close(&what, standing.level, row[7], 1e-9);
    }
}

/// Users with an association of one partition beside that of all.
#[test]
fn associations_of_partitions_have_shares_of_their_own() {
    let recorded = include_str!("data/priority/partitions-22.05.8.txt");
    let own = |user: &str, account: &str, partition: &str, shares: u32| {
        let partition = match partition {
            "" => String::new(),
            name => format!("partition = \"{name}\"\n"),
        };
        format!("[[user.{user}.account.{account}]]\n{partition}shares = \"{shares}\"\n")
    };
    let text = [
        "[account.optics]\nshares = \"10\"\n[account.solid]\nshares = \"10\"\n".to_owned(),
        own("lp", "optics", "main", 3),
        own("lp", "optics", "small", 1),
        own("mail", "optics", "", 2),
        own("mail", "optics", "main", 5),
        own("news", "solid", "small", 4),
        own("news", "solid", "", 4),
        own("games", "solid", "", 4),
    ];
    let file = ClusterFile::parse("shares", &text.concat()).expect("a cluster file");
    let mut tree = ShareTree::of(&Cluster::build(&file, Trust::All));
    let sections = sections_of(recorded);
    let rows = sections[0].shares.iter().filter(|row| !row[1].is_empty());
    let rows: Vec<(usize, &Vec<&str>)> = rows
        .map(|row| {
            let member = Member {
                account: row[0].trim().to_owned(),
                user: row[1].to_owned(),
                partition: Some(row[2].to_owned()).filter(|name| !name.is_empty()),
            };
            let place = tree.find_member(&member);
            (place.unwrap_or_else(|| panic!("no {member:?}")), row)
        })
        .collect();
    let usage: HashMap<usize, f64> = rows
        .iter()
        .map(|(place, row)| (*place, row[5].parse().expect("a number")))
        .collect();
    tree.set_usage(|place| usage[&place]);
    let standings = tree.standings();
    assert_eq!(rows.len(), 8);
    for (place, row) in rows {
        let what = row.join(" ");
        close(&what, standings[place].norm_shares, row[4], 1e-5);
        // Slurm prints usage as whole numbers, and counts fractions.
        close(&what, standings[place].effective_usage, row[6], 2e-2);
        let fair_share = standings[place].fair_share.expect("a user has one");
        close(&what, fair_share, row[7], 1e-5);
    }
}

/// What nobody adds to is forgotten at the same rate, whenever it is looked at.
#[test]
fn decay() {
    let sections = sections();
    let decay = Decay::of_half_life(Seconds(30 * 60));
    let first = &sections[0];
    for section in &sections[1..] {
        for (before, after) in first.shares.iter().zip(&section.shares) {
            let is_idle = before[1].is_empty() || before[1] == "root";
            if is_idle || before[4] == "0" {
                continue;
            }
            let usage: f64 = before[4].parse().expect("a number");
            let usage = Usage::new(usage, Timestamp(first.time * 1000));
            let left = usage.at(Timestamp(section.time * 1000), decay);
            // Slurm's last pass was within some seconds of the recording.
            close(
                &format!("{}, {}", section.name, before[1]),
                left,
                after[4],
                5e-3,
            );
        }
    }
}

#[test]
fn factors_and_priorities() {
    let qos = HashMap::from([("normal", 10), ("high", 40), ("none", 0)]);
    // Nodes, CPUs, memory in MiB, PriorityJobFactor.
    let partitions = HashMap::from([
        ("main", (4.0, 32.0, 64_000.0, 10)),
        ("small", (2.0, 16.0, 32_000.0, 40)),
    ]);
    let scale = Scale {
        nodes: 4,
        cpus: 32,
        partition: 40,
        qos: 40,
        association: 7,
    };
    let mut compared = 0;
    for section in sections() {
        let policy = policy(&section);
        let (mut tree, usage, _) = tree(&section);
        tree.set_usage(|place| usage[place]);
        let standings = tree.standings();
        for (weighted, normal) in section.weighted.iter().zip(&section.normal) {
            let job = section.jobs.iter().find(|job| job["JobId"] == weighted[0]);
            let job = job.expect("it waits");
            let what = format!("{}, job {} in {}", section.name, weighted[0], weighted[1]);
            let user = weighted[2];
            let place = tree.nodes().iter().position(|node| {
                node.user.as_deref() == Some(user) && node.account == job["Account"]
            });
            let place = place.expect("it is in the tree");
            let amount = |name: &str| {
                let amounts = job["TRES"].split(',');
                let found = amounts.filter_map(|part| part.split_once('='));
                let text = found
                    .filter(|(own, _)| *own == name)
                    .map(|(_, text)| text)
                    .next();
                let text = text.expect("it asks for some");
                match text.strip_suffix('M') {
                    Some(mib) => mib.parse().expect("MiB"),
                    None => text.parse::<f64>().expect("a number"),
                }
            };
            let (_, cpus, memory, partition) = partitions[weighted[1]];
            let limit = model::TimeLimitRequest::parse(job["TimeLimit"]);
            let limit = limit.and_then(|limit| match limit {
                model::TimeLimitRequest::Limit(limit) => Some(limit),
                model::TimeLimitRequest::Unlimited => None,
            });
            // The moment of Slurm's pass is known by the age alone.
            let waited = normal[3].parse::<f64>().expect("a number") * 60_000.0;
            let facts = JobFacts {
                waited,
                since_submission: waited,
                fair_share: standings[place].fair_share,
                association: if user == "man" { 7 } else { 0 },
                partition,
                qos: qos[job["QOS"]],
                nodes: job["NumNodes"]
                    .split('-')
                    .next()
                    .unwrap_or("1")
                    .parse()
                    .expect("nodes"),
                cpus: job["NumCPUs"].parse().expect("CPUs"),
                limit,
                tres: &[("cpu", amount("cpu"), cpus), ("mem", amount("mem"), memory)],
                nice: job["Nice"].parse().expect("a number"),
                site: 0,
            };
            let factors = Factors::of(&policy, &scale, &facts);
            let priority = factors.priority();
            close(&what, priority.into(), weighted[3], 1e-4);
            let parts = factors.parts;
            // Printed as whole numbers.
            for (ours, theirs) in [
                (parts.age, weighted[5]),
                (parts.association, weighted[6]),
                (parts.fair_share, weighted[7]),
                (parts.job_size, weighted[8]),
                (parts.partition, weighted[9]),
                (parts.qos, weighted[10]),
            ] {
                assert_eq!(format!("{ours:.0}"), theirs, "{what}");
            }
            let tres: Vec<String> = parts
                .tres
                .iter()
                .map(|(name, weight)| format!("{name}={weight:.0}"))
                .collect();
            assert_eq!(tres.join(","), weighted[12], "{what}");
            compared += 1;
        }
    }
    assert!(compared > 50, "{compared}");
}
