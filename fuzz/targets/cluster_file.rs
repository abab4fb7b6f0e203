#![no_main]
//! Cluster files: what was read and printed is read as the same.

use cluster_file::ClusterFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match ClusterFile::parse("x", text) {
        Ok(file) => {
            let _ = file.check();
            let _ = file.facts(None);
            let printed = file.to_string();
            let again = ClusterFile::parse("x", &printed).expect("what was printed can be read");
            assert_eq!(again.to_string(), printed);
        }
        Err(problems) => {
            for problem in &problems {
                let _ = model::render(problem, text, "x.toml");
            }
        }
    }
});
