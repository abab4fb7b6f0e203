//! The ways in by which a script is judged.

use serde_json::Value;
use testkit::{Outcome, TestEnv};

/// Two nodes, and a partition beside the default one, whose keys go on.
pub const NODES: &str = r#"
[nodes.all]
names = "n[1-2]"
cpus = 4
memory = "16G"
[partition.main]
default = true
nodes = "ALL"
max_time = "8:00:00"
[partition.others]
nodes = "ALL"
"#;

/// What was printed, without ends of lines where it was folded.
pub fn said(outcome: &Outcome) -> String {
    let all = format!("{} {}", outcome.stdout, outcome.stderr);
    all.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a script needs no change for another cluster, and `port`'s whole answer.
pub fn ported(env: &TestEnv, script: &str, from: &str, to: &str) -> (bool, Value) {
    let args = ["port", script, "--from", from, "--to", to, "--json"];
    let answer: Value = serde_json::from_str(&env.yard(&args).code(0).stdout).unwrap();
    let parts = ["changes", "questions"].map(|part| answer[part].as_array().unwrap());
    (parts.iter().all(|part| part.is_empty()), answer)
}

/// A cluster that is known by its file alone, and an engine that pretends it.
pub struct Doors {
    pub env: TestEnv,
    pub file: String,
    /// A cluster of the same names that refuses nothing, from which scripts are ported.
    from: String,
}

impl Doors {
    /// The engine `twin` of that file.
    pub fn of(file: &str, from: &str) -> Doors {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        let write = |name: &str, text: &str| env.write(name, text).display().to_string();
        let (file, from) = (write("lab.toml", file), write("from.toml", from));
        env.yard(&["engine", "start", "twin", "--cluster", &file])
            .success();
        Doors { env, file, from }
    }

    /// Asks all doors about a script with these options; `refused` is a word of what stands against it.
    #[track_caller]
    pub fn check(&self, options: &str, refused: Option<&str>) {
        let text = format!("#!/bin/sh\n#SBATCH {options}\ntrue\n");
        let script = self.env.write("job.sh", &text).display().to_string();
        let (script, file) = (script.as_str(), self.file.as_str());
        for (args, refusal) in [
            (&["plan", script, "--on", file][..], 3),
            (&["plan", script, "--on", "twin"], 3),
            (&["lint", script, "--on", file], 1),
            (&["lint", script, "--on", "twin"], 1),
            (&["run", "--detach", script, "--on", "twin"], 3),
        ] {
            let outcome = self.env.yard(args);
            let said = said(&outcome);
            let code = refused.map_or(0, |_| refusal);
            assert_eq!(outcome.status, code, "{args:?} {options}: {said}");
            if let Some(refused) = refused {
                assert!(said.contains(refused), "{args:?} {options}: {said}");
            }
        }
        for to in [file, "twin"] {
            let (is_free, answer) = ported(&self.env, script, &self.from, to);
            assert_eq!(is_free, refused.is_none(), "port {to} {options}: {answer}");
        }
    }
}

impl Drop for Doors {
    fn drop(&mut self) {
        let _ = self.env.yard(&["engine", "stop", "twin"]);
    }
}
