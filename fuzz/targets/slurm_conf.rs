#![no_main]
//! A Slurm's configuration: what it was imported to is printed and read as a cluster file.

use cluster_file::{ClusterFile, ConfText, ImportInput, import};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut parts = text.splitn(3, "\n\n\n");
    let imported = import(&ImportInput {
        name: Some("x"),
        slurm_conf: ConfText::new("slurm.conf", parts.next().unwrap_or_default()),
        include: &|_| Some("NodeName=included CPUs=2\n".to_owned()),
        gres_conf: parts.next().map(|text| ConfText::new("gres.conf", text)),
        topology_conf: None,
        dump: parts.next().map(|text| ConfText::new("dump", text)),
    });
    let printed = imported.file.to_string();
    let again = ClusterFile::parse("x", &printed).expect("what was imported can be read");
    assert_eq!(again.to_string(), printed);
});
