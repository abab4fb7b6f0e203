#![no_main]
//! Run files, and plans of those that can be read.

use libfuzzer_sys::fuzz_target;
use model::{ClusterFacts, GpuGroup, Internet, NodeGroup, Seconds};
use std::path::Path;
use train::{Overrides, PlanInput, RunFile, Variables};

fuzz_target!(|text: &str| {
    let (run_file, problems) = RunFile::parse(text, "yard.toml");
    for problem in &problems {
        let _ = train::render(problem, text, "yard.toml");
    }
    if !problems.is_empty() {
        return;
    }
    let facts = ClusterFacts {
        name: "local".to_owned(),
        embedded: true,
        nodes_share_disk: false,
        nodes: vec![NodeGroup {
            count: 1,
            cpus: 8,
            memory_mib: 65_536,
            gpus: vec![GpuGroup {
                kind: Some("v100".to_owned()),
                count: 4,
                memory_mib: Some(32_768),
            }],
        }],
        node_local: "/tmp".into(),
        internet: Internet::Compute,
        default_time: None,
        time_granularity: Seconds(1),
        comeback: Default::default(),
        containers: Default::default(),
    };
    let plan = train::plan(&PlanInput {
        user_config: None,
        run_file: Some(&run_file),
        variables: &Variables::default(),
        overrides: &Overrides::default(),
        facts: &facts,
        base: Path::new("/home/user/project"),
        default_name: "project",
    });
    match plan {
        Ok(plan) => {
            let _ = (plan.headline(&facts), plan.show(&facts));
        }
        Err(refusal) => {
            let _ = refusal.to_string();
        }
    }
});
