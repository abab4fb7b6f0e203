//! What five sites' guides tell to type, on the virtual twins of those sites.
//!
//! Lines that only jobs run are not here: jobs of the sites are compared in `train/tests/seeds.rs`.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use testkit::{TestEnv, wait_until};

const LINES: &str = include_str!("guides/lines.txt");

/// A command line of a guide.
struct Line {
    site: &'static str,
    /// Where it stands in the guide.
    number: u32,
    what: &'static str,
    command: &'static str,
}

fn lines() -> Vec<Line> {
    let rows = LINES.lines().filter(|row| !row.starts_with('#'));
    let lines = rows.map(|row| {
        let parts: Vec<&str> = row.split('\t').collect();
        let [site, number, what, command] = parts[..] else {
            panic!("four columns: {row}");
        };
        let number = number.parse().expect("a line of the guide");
        Line {
            site,
            number,
            what,
            command,
        }
    });
    lines.collect()
}

/// What a reader puts in the place of a guide's own words.
const READERS: &[(&str, &str)] = &[
    ("<jobnumber>", "1"),
    ("<job id>", "1"),
    ("<path to example.sub>", "example.sub"),
    ("/bin/bash", "true"),
];

/// Scripts with the options of those that the guides name, which end at once or wait.
const SCRIPTS: &[(&str, &str)] = &[
    (
        "myjob.slurm",
        "#!/bin/bash\n#SBATCH -J myjob_4GPUs\n#SBATCH -o myjob_4GPUs_%j.out\n#SBATCH --gres=gpu:4\n\
         #SBATCH --gpus-per-node=4\n#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=4\n#SBATCH --mem=0\n\
         #SBATCH --time=24:00:00\n#SBATCH --exclusive\ntrue\n",
    ),
    ("foo.slurm", "#!/bin/bash\ntrue\n"),
    (
        "horovod-single-node-job.sbatch",
        "#!/bin/bash\n#SBATCH --time=24:00:00\n#SBATCH --gpus=8\n#SBATCH --tasks-per-node=8\ntrue\n",
    ),
    (
        "example.sub",
        "#!/bin/bash\n#SBATCH --job-name=horovod_example\n#SBATCH --output=horovod_example.out\n\
         #SBATCH --ntasks=16\n#SBATCH --gpus=16\nsleep 1000\n",
    ),
];

/// Slurm's commands that guides name.
const SLURM: &[&str] = &[
    "sbatch", "srun", "salloc", "squeue", "scancel", "sinfo", "sacct", "scontrol", "sacctmgr",
];

#[test]
fn every_line_of_the_guides_says_what_it_is() {
    let mut seen = BTreeMap::new();
    for line in lines() {
        let place = format!("{}:{} {}", line.site, line.number, line.command);
        let known = match line.what.split_once(": ") {
            None => line.what == "run",
            Some((kind, reason)) => ["stand-in", "outside"].contains(&kind) && !reason.is_empty(),
        };
        assert!(known, "{place}: {}", line.what);
        assert!(cluster_file::find(line.site).is_some(), "{place}");
        // What is a command of Slurm's is never outside.
        let first = line.command.split(' ').next().unwrap_or_default();
        assert!(
            !SLURM.contains(&first) || !line.what.starts_with("outside"),
            "{place}"
        );
        assert!(seen.insert(place.clone(), ()).is_none(), "twice: {place}");
    }
    let sites: std::collections::BTreeSet<&str> = lines().iter().map(|line| line.site).collect();
    assert_eq!(sites.len(), 5);
}

/// The command lines of a guide's fenced blocks: what stands behind a prompt, and what begins with one of
/// Slurm's commands.
fn commands_of(guide: &str) -> impl Iterator<Item = (u32, &str)> {
    let mut is_fenced = false;
    let numbered = (1..).zip(guide.lines());
    numbered.filter_map(move |(number, line)| {
        let line = line.trim();
        if line.starts_with("```") {
            is_fenced = !is_fenced;
            return None;
        }
        if let Some(command) = line.strip_prefix("$ ") {
            return Some((number, command));
        }
        let first = line.split(' ').next().unwrap_or_default();
        (is_fenced && SLURM.contains(&first)).then_some((number, line))
    })
}

#[test]
#[ignore = "the guides themselves are not here: GUIDES names a folder that has them"]
fn no_command_line_of_a_guide_is_missing() {
    let Some(folder) = std::env::var_os("GUIDES") else {
        testkit::skip(
            "no_command_line_of_a_guide_is_missing",
            "GUIDES names no folder",
        );
        return;
    };
    let known: Vec<Line> = lines();
    let mut count = 0;
    for file in std::fs::read_dir(folder).expect("a folder of guides") {
        let guide = std::fs::read_to_string(file.expect("a file").path()).expect("a text");
        for (number, command) in commands_of(&guide) {
            count += 1;
            // One that goes on in the next line is listed as a whole.
            let start = command.trim_end_matches('\\').trim_end();
            let same =
                |line: &Line| command.contains(line.command) || line.command.starts_with(start);
            let listed = |line: &Line| line.number == number && same(line);
            assert!(known.iter().any(listed), "not listed: {number}: {command}");
        }
    }
    assert!(count > 0, "no guide has a command line");
}

#[test]
fn command_lines_are_found_in_a_guide() {
    let guide = "Type\n```\n$ module load cuda\nsqueue -u me\nJOBID USER\n```\nsqueue shows it.\n";
    let found: Vec<_> = commands_of(guide).collect();
    assert_eq!(found, [(3, "module load cuda"), (4, "squeue -u me")]);
}

#[test]
fn what_runs_runs_on_the_twin_of_its_site() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let links = env.root().join("links");
    std::fs::create_dir(&links).expect("a folder");
    for name in [
        "sbatch", "srun", "squeue", "scancel", "scontrol", "sacctmgr",
    ] {
        symlink(env!("CARGO_BIN_EXE_yard"), links.join(name)).expect("a link");
    }
    let path = std::env::var("PATH").unwrap_or_default();
    env.set_var("PATH", format!("{}:{path}", links.display()));
    for (name, text) in SCRIPTS {
        env.write(name, text);
    }
    for (name, value) in [
        ("JOB_NAME", "benchmark"),
        ("USER_EMAIL", "me@example.org"),
        ("TRAINING_SCRIPT", "train.py"),
        ("DATA_DIR", "data"),
    ] {
        env.set_var(name, value);
    }
    let mut site = "";
    let all = lines();
    for line in all.iter().filter(|line| line.what == "run") {
        if line.site != site {
            finish(&env, site);
            site = line.site;
            env.yard(&["engine", "start", site, "--cluster", site])
                .success();
            env.set_var("TRAINYARD_ENGINE", site);
        }
        let mut command = line.command.to_owned();
        for (guides, readers) in READERS {
            command = command.replace(guides, readers);
        }
        let output = env.program("bash", &["-c", &command]).output();
        let output = output.expect("bash runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            output.status.success(),
            "{site}:{} {command}\n{}{}",
            line.number,
            text(&output.stdout),
            text(&output.stderr)
        );
    }
    finish(&env, site);
}

/// Ends what a site's guide has left, and its engine.
fn finish(env: &TestEnv, site: &str) {
    if site.is_empty() {
        return;
    }
    let _cancelled = env.slurm("scancel", &["--me"]);
    wait_until("no job is left", || {
        env.slurm("squeue", &["-h"]).stdout.is_empty()
    });
    env.yard(&["engine", "stop", site]).success();
}
