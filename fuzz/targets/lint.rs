#![no_main]
//! Lint and port: every finding lies in the script; what was fixed or rewritten can be read.

use cluster_file::ClusterFile;
use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;
use lint::port::{PortInput, port};
use lint::{FolderFact, LintInput};
use std::path::Path;
use std::sync::LazyLock;

static CLUSTER: LazyLock<ClusterFile> = LazyLock::new(|| shipped("wilson"));
static UTC: TimeZone = TimeZone::UTC;
static OTHER: LazyLock<ClusterFile> = LazyLock::new(|| shipped("technion"));

fn shipped(name: &str) -> ClusterFile {
    let found = cluster_file::find(name).expect("it is shipped");
    found.expect("it can be read")
}

fuzz_target!(|text: &str| {
    for cluster in [None, Some(&*CLUSTER)] {
        let check = |text: &str| lint::check(&input(text, cluster));
        for finding in check(text) {
            for label in &finding.labels {
                assert!(text.get(label.range.clone()).is_some(), "{finding:?}");
            }
        }
        lint::fix(text, check);
    }
    let _ = lint::Body::read(text);
    let ported = port(&PortInput {
        name: "job.sh",
        text,
        from: &CLUSTER,
        to: &OTHER,
        user: None,
    });
    let _ = lint::check(&input(&ported.text, Some(&OTHER)));
});

fn input<'a>(text: &'a str, cluster: Option<&'a ClusterFile>) -> LintInput<'a> {
    LintInput {
        name: "job.sh",
        text,
        args: &[],
        cluster,
        version: None,
        user: None,
        cwd: Path::new("/home/user"),
        zone: &UTC,
        now: yard_fuzz::NOW,
        folders: &|_| FolderFact::Missing,
    }
}
