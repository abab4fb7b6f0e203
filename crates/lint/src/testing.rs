//! How tests of rules are written: scripts in which `«…»` marks where a rule speaks.

use crate::{Finding, FolderFact, LintInput, Rule, check};
use cluster_file::ClusterFile;
use jiff::tz::TimeZone;
use model::Timestamp;
use std::path::Path;

/// A small cluster for the rules that need one.
pub(crate) const CLUSTER: &str = r#"
slurm = "22.05"
internet = "login"
mail_domain = "lab.example"
[nodes.v100]
names = "gpu[1-4]"
cpus = 32
memory = "380G"
features = ["v100", "cpu_intel_gold_6142"]
gpu = [{ type = "v100", model = "v100", count = 4, memory = "32G" }]
[nodes.cpu]
names = "cpu[1-8]"
cpus = 40
memory = "180G"
features = ["cpu_intel_platinum_8260"]
[nodes.plain]
names = "plain[1-2]"
features = ["any"]
gpu = { model = "any", feature = "any", count = 4 }
[partition.plain]
nodes = ["plain"]
[nodes.unnamed]
names = "unnamed[1-2]"
gpu = { count = 4 }
[partition.unnamed]
nodes = ["unnamed"]
[partition.batch]
default = true
nodes = ["cpu"]
max_time = "24:00:00"
[partition.gpu]
nodes = ["v100"]
max_time = "12:00:00"
[partition.long]
nodes = ["cpu"]
max_time = { value = "48:00:00", assumed = "no source says it" }
[partition.wide]
nodes = ["cpu"]
min_nodes = 4
max_nodes = 6
[qos.normal]
max_wall = "24:00:00"
[qos.short]
max_wall = "1:00:00"
[account.lab]
qos = ["normal", "short"]
[user."*"]
accounts = ["lab"]
qos = ["normal", "short"]
[policy]
cpus_per_gpu = "5-6"
memory_per_gpu = "64G-90G"
[paths]
home = "/home/$USER"
no_jobs = ["/nashome"]
"#;

/// What a test says beside the script.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) cluster: bool,
    pub(crate) version: Option<&'static str>,
    pub(crate) cwd: &'static str,
}

impl Setup {
    pub(crate) const PLAIN: Setup = Setup {
        cluster: false,
        version: None,
        cwd: "/work",
    };
}

/// Folders that exist in tests: those without `missing` in their name.
pub(crate) fn folders(path: &Path) -> FolderFact {
    if path.to_string_lossy().contains("missing") {
        FolderFact::Missing
    } else {
        FolderFact::There
    }
}

pub(crate) fn lint(setup: Setup, text: &str) -> Vec<Finding> {
    let cluster = match ClusterFile::parse("test", CLUSTER) {
        Ok(cluster) => cluster,
        Err(problems) => panic!("{problems:#?}"),
    };
    check(&LintInput {
        name: "job.sh",
        text,
        args: &[],
        cluster: setup.cluster.then_some(&cluster),
        version: setup.version.map(|version| version.parse().unwrap()),
        user: Some("ada"),
        cwd: Path::new(setup.cwd),
        zone: &TimeZone::UTC,
        now: Timestamp(0),
        folders: &folders,
    })
}

/// Looks at a script for a cluster that comes with the program.
#[track_caller]
pub(crate) fn lint_on(cluster: &str, text: &str) -> Vec<Finding> {
    let cluster = cluster_file::find(cluster).unwrap().unwrap();
    check(&input_on(&cluster, text))
}

static UTC: TimeZone = TimeZone::UTC;

/// A script for a cluster.
pub(crate) fn input_on<'a>(cluster: &'a ClusterFile, text: &'a str) -> LintInput<'a> {
    LintInput {
        name: "job.sh",
        text,
        args: &[],
        cluster: Some(cluster),
        version: None,
        user: Some("ada"),
        cwd: Path::new("/work"),
        zone: &UTC,
        now: Timestamp(0),
        folders: &folders,
    }
}

fn whole(text: &str) -> String {
    if text.starts_with("#!") || text.starts_with("raw:") {
        text.trim_start_matches("raw:").to_owned()
    } else {
        format!("#!/bin/bash\n{text}")
    }
}

fn setup_of(rule: &Rule) -> Setup {
    Setup {
        cluster: rule.needs_cluster,
        ..Setup::PLAIN
    }
}

/// The rule speaks, of exactly what is marked.
#[track_caller]
pub(crate) fn fires(rule: &Rule, marked: &str) -> Finding {
    fires_with(rule, setup_of(rule), marked)
}

/// The rule speaks in a certain Slurm.
#[track_caller]
pub(crate) fn fires_in(rule: &Rule, version: &'static str, marked: &str) -> Finding {
    let version = Some(version);
    fires_with(
        rule,
        Setup {
            version,
            ..setup_of(rule)
        },
        marked,
    )
}

#[track_caller]
pub(crate) fn fires_with(rule: &Rule, setup: Setup, marked: &str) -> Finding {
    let marked = whole(marked);
    let text = marked.replace(['«', '»'], "");
    let findings = lint(setup, &text);
    let found = findings.iter().find(|finding| finding.code == rule.code);
    let Some(found) = found else {
        panic!("{} is silent; found {findings:#?}", rule.code);
    };
    if let (Some(from), Some(to)) = (marked.find('«'), marked.find('»')) {
        let label = found.labels.first().expect("a place");
        let to = to - '«'.len_utf8();
        assert_eq!(
            &text[label.range.clone()],
            &text[from..to],
            "where {} speaks: {:?} instead of {:?}",
            rule.code,
            label.range,
            from..to
        );
        assert_eq!(label.range, from..to);
    }
    found.clone()
}

/// The rule says nothing.
#[track_caller]
pub(crate) fn silent(rule: &Rule, text: &str) {
    silent_with(rule, setup_of(rule), text);
}

/// The rule says nothing in a certain Slurm.
#[track_caller]
pub(crate) fn silent_in(rule: &Rule, version: &'static str, text: &str) {
    let version = Some(version);
    silent_with(
        rule,
        Setup {
            version,
            ..setup_of(rule)
        },
        text,
    );
}

#[track_caller]
pub(crate) fn silent_with(rule: &Rule, setup: Setup, text: &str) {
    let findings = lint(setup, &whole(text));
    let found = findings.iter().find(|finding| finding.code == rule.code);
    assert_eq!(found, None, "in {text}");
}

/// The fix of the rule's finding, made.
#[track_caller]
pub(crate) fn fixes(rule: &Rule, text: &str, want: &str) {
    fixes_with(rule, setup_of(rule), text, want);
}

/// The rule speaks, and leaves it to a person to put it right.
#[track_caller]
pub(crate) fn fixes_not(rule: &Rule, text: &str) -> Finding {
    let found = fires(rule, text);
    assert_eq!(found.fix, None, "in {text}");
    found
}

#[track_caller]
pub(crate) fn fixes_with(rule: &Rule, setup: Setup, text: &str, want: &str) {
    let (text, want) = (whole(text), whole(want));
    let findings = lint(setup, &text);
    let found = findings.iter().find(|finding| finding.code == rule.code);
    let edits = found.and_then(|finding| finding.fix.as_ref());
    let Some(edits) = edits else {
        panic!("no fix of {}; found {findings:#?}", rule.code);
    };
    assert_eq!(crate::apply(&text, edits), want);
}
