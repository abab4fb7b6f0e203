//! What five sites' guides tell to type, on the virtual twins of those sites.
//!
//! Lines that only jobs run are not here: jobs of the sites are compared in `train/tests/seeds.rs`.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use testkit::{TestEnv, wait_until};

const LINES: &str = include_str!("guides/lines.txt");

/// The command lines that stand in the guides, and the SHA-256 of each guide.
const FOUND: &str = include_str!("guides/found.txt");

/// A command line of a guide.
struct Line {
    site: &'static str,
    /// Where it stands in the guide.
    number: u32,
    what: &'static str,
    command: &'static str,
    /// Of one that runs: what it prints.
    prints: Option<&'static str>,
}

fn lines() -> Vec<Line> {
    let rows = LINES.lines().filter(|row| !row.starts_with('#'));
    let lines = rows.map(|row| {
        let parts: Vec<&str> = row.split('\t').collect();
        let (site, number, what, command, prints) = match parts[..] {
            [site, number, what @ "run", command, prints] => {
                (site, number, what, command, Some(prints))
            }
            [site, number, what, command] if what != "run" => (site, number, what, command, None),
            _ => panic!("four columns, or five of a line that runs: {row}"),
        };
        let number = number.parse().expect("a line of the guide");
        Line {
            site,
            number,
            what,
            command,
            prints,
        }
    });
    lines.collect()
}

/// What is wrong with what a line printed. `want` has pieces between ` .. ` that follow each other in it,
/// where any white space counts as one space; `-` alone is nothing at all.
fn complaint(want: &str, printed: &str) -> Option<String> {
    let words: Vec<&str> = printed.split_whitespace().collect();
    let printed = words.join(" ");
    let mut rest = printed.as_str();
    if want == "-" {
        return (!rest.is_empty()).then(|| format!("prints {rest:?}"));
    }
    for piece in want.split(" .. ") {
        let Some((_, behind)) = rest.split_once(piece) else {
            return Some(format!("no {piece:?} in {rest:?} of {printed:?}"));
        };
        rest = behind;
    }
    None
}

#[test]
fn what_is_not_printed_is_noticed() {
    assert_eq!(complaint("job 1 .. R", "job  1\nx R\n"), None);
    assert_eq!(complaint("-", "\n"), None);
    assert!(complaint("-", "x").is_some());
    assert!(complaint("R .. job 1", "job 1 R").is_some());
}

/// What a reader puts in the place of a guide's own words.
const READERS: &[(&str, &str)] = &[
    ("<jobnumber>", "1"),
    ("<job id>", "1"),
    ("<path to example.sub>", "example.sub"),
    ("/bin/bash", "hostname"),
];

/// What a site's own people have set up for a reader.
const OF_READERS: &[(&str, &str)] = &[(
    "wilson",
    "sacctmgr -i add user $USER account=wc_test qos=opp,regular,test defaultqos=opp",
)];

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

/// What a part of a guide is.
#[derive(Clone, Copy, PartialEq)]
enum Block {
    /// Prose.
    Text,
    /// Fenced, of no language: commands and what they print.
    Terminal,
    /// Commands alone, so much indented.
    Shell(Option<usize>),
}

/// The command lines of a guide: what stands behind a prompt, all of a block of shell but its comments,
/// and of other blocks what begins with one of Slurm's commands. What goes on in another line is one.
fn commands_of(guide: &str) -> Vec<(u32, &str)> {
    let mut found = Vec::new();
    let mut block = Block::Text;
    let (mut is_fenced, mut goes_on) = (false, false);
    for (number, row) in (1..).zip(guide.lines()) {
        let line = row.trim();
        let indent = row.len() - row.trim_start().len();
        if let Some(language) = line.strip_prefix("```") {
            is_fenced = !is_fenced;
            block = match (is_fenced, language.trim()) {
                (false, _) => Block::Text,
                (true, "bash" | "sh" | "shell") => Block::Shell(None),
                (true, _) => Block::Terminal,
            };
            goes_on = false;
            continue;
        }
        if line.starts_with(".. code:: bash") {
            block = Block::Shell(None);
            continue;
        }
        let is_over = matches!(block, Block::Shell(_)) && !is_fenced && indent == 0;
        if is_over && !line.is_empty() {
            block = Block::Text;
        }
        if line.is_empty() {
            continue;
        }
        let (was_going_on, prompted) = (goes_on, line.strip_prefix("$ "));
        let code = line.split(" #").next().unwrap_or_default().trim_end();
        goes_on = code.ends_with('\\');
        let is_command = match &mut block {
            _ if prompted.is_some() => true,
            Block::Text => false,
            Block::Terminal => SLURM.contains(&line.split(' ').next().unwrap_or_default()),
            Block::Shell(base) => {
                let base = *base.get_or_insert(indent);
                indent <= base && !line.starts_with('#') && line != "..."
            }
        };
        if is_command && !was_going_on {
            found.push((number, prompted.unwrap_or(line)));
        }
    }
    found
}

/// The lines that were found in a guide: its site and SHA-256, and each line with its number.
struct Found {
    site: &'static str,
    hash: &'static str,
    lines: Vec<(u32, &'static str)>,
}

fn found() -> Vec<Found> {
    let mut all: Vec<Found> = Vec::new();
    for row in FOUND.lines().filter(|row| !row.starts_with('#')) {
        match row.split('\t').collect::<Vec<_>>()[..] {
            ["guide", site, hash] => all.push(Found {
                site,
                hash,
                lines: Vec::new(),
            }),
            [number, command] => {
                let number = number.parse().expect("a number");
                let guide = all.last_mut().expect("its guide before it");
                guide.lines.push((number, command));
            }
            _ => panic!("a guide or a line of one: {row}"),
        }
    }
    all
}

#[test]
fn no_command_line_of_a_guide_is_missing() {
    let known: Vec<Line> = lines();
    let all = found();
    assert_eq!(all.len(), 5);
    for guide in all {
        assert!(!guide.lines.is_empty(), "{}", guide.site);
        let own = |line: &&Line| line.site == guide.site;
        let known: Vec<&Line> = known.iter().filter(own).collect();
        for (number, command) in guide.lines {
            // One that goes on in the next line is listed as a whole.
            let start = command.split(" \\").next().unwrap_or_default();
            let same = |line: &Line| {
                command.contains(line.command) || line.command.starts_with(start.trim_end())
            };
            let mut known = known.iter();
            let is_listed = known.any(|line| line.number == number && same(line));
            assert!(is_listed, "{}: not listed: {number}: {command}", guide.site);
        }
    }
}

/// The guides are others' texts and stand beside this repository, where they are there at all.
#[test]
fn lines_were_found_in_the_guides_as_they_are() {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/seeds");
    let folder = std::env::var_os("GUIDES").unwrap_or_else(|| beside.into());
    let Ok(files) = std::fs::read_dir(&folder) else {
        let reason = format!("no guides in {}", folder.display());
        testkit::skip("lines_were_found_in_the_guides_as_they_are", &reason);
        return;
    };
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let all = found();
    let mut seen = 0;
    for file in files {
        let path = file.expect("a file").path();
        let summed = env.program("sha256sum", &[&path]).output();
        let summed = String::from_utf8(summed.expect("it runs").stdout).expect("a text");
        let hash = summed.split(' ').next().unwrap_or_default();
        let guide = all.iter().find(|guide| guide.hash == hash);
        let guide =
            guide.unwrap_or_else(|| panic!("{hash} is no recorded guide: {}", path.display()));
        let text = std::fs::read_to_string(&path).expect("a text");
        let there = commands_of(&text);
        assert_eq!(there, guide.lines, "{}", guide.site);
        seen += 1;
    }
    assert_eq!(seen, all.len());
}

#[test]
fn command_lines_are_found_in_a_guide() {
    let guide = "Type\n```\n$ module load cuda\nsqueue -u me\nJOBID USER\n```\nsqueue shows it.\n\
                 ``` bash\n# first\nsbatch \\\n  -n1 x\ntorchrun\n  --nodes=2\n...\n```\n\
                 .. code:: bash\n\n   date # now\n\nsqueue again.\n";
    let want = [
        (3, "module load cuda"),
        (4, "squeue -u me"),
        (10, "sbatch \\"),
        (12, "torchrun"),
        (18, "date # now"),
    ];
    assert_eq!(commands_of(guide), want);
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
            for (_, command) in OF_READERS.iter().filter(|(of, _)| *of == site) {
                let added = env.program("bash", &["-c", command]).output();
                let added = added.expect("bash runs");
                assert!(added.status.success(), "{command}: {added:?}");
            }
        }
        let mut command = line.command.to_owned();
        for (guides, readers) in READERS {
            command = command.replace(guides, readers);
        }
        let output = env.program("bash", &["-c", &command]).output();
        let output = output.expect("bash runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let printed = text(&output.stdout) + &text(&output.stderr);
        let place = format!("{site}:{} {command}\n{printed}", line.number);
        assert!(output.status.success(), "{place}");
        let wrong = complaint(line.prints.expect("it says what"), &printed);
        assert_eq!(wrong, None, "{place}");
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
