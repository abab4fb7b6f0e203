//! What is written is read again.

use super::{NewRunFile, ScriptStart, from_script, toml_texts, without_placeholders};
use crate::{Launcher, RunFile, key_sections, top_keys};
use expect_test::{Expect, expect};
use jiff::tz::TimeZone;
use model::option_table::{Command, Opt, options_of};
use model::{SlurmVersion, Surroundings, Timestamp, sbatch};
use proptest::prelude::*;
use std::path::Path;

fn start(launcher: Launcher, ranks_per_node: Option<u32>) -> ScriptStart {
    ScriptStart {
        line: 9,
        words: ["python", "train.py", "--x={y}"].map(str::to_owned).into(),
        shell: None,
        launcher,
        ranks_per_node,
    }
}

/// The lines of the file that are no comments, and its notes.
#[track_caller]
fn check(directives: &str, start: &ScriptStart, want: Expect) {
    let directives = directives
        .split(' ')
        .map(|option| format!("#SBATCH {option}\n"));
    let text = format!("#!/bin/bash\n{}", directives.collect::<String>());
    let zone = TimeZone::UTC;
    let surroundings =
        Surroundings::slurm(SlurmVersion::V25_11, Timestamp(0), &zone, Path::new("/w"));
    let (script, said) = sbatch::resolve(
        &["job.sh".to_owned()],
        &|_| None,
        Some(&text),
        &surroundings,
    );
    assert_eq!(model::first_error(&said), None);
    let file = from_script("job.sh", &script, Some(start));
    let text = file.text();
    assert_eq!(RunFile::parse(&text, "yard.toml").1, [], "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    let set = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with(['#', '[']));
    let notes = file.notes.iter().map(|note| format!("- {note}"));
    let shown: Vec<String> = set.map(str::to_owned).chain(notes).collect();
    want.assert_eq(&(shown.join("\n") + "\n"));
}

#[test]
fn a_script_with_srun() {
    check(
        "--job-name=resnet --nodes=2 --ntasks-per-node=4 --gres=gpu:v100:4 --cpus-per-task=6 \
         --mem=180G --time=1-00:00:00 --partition=batch --output=x.%j --reservation=r \
         --mail-user=me@x.org --mail-type=END",
        &start(Launcher::Srun, None),
        expect![[r#"
            name = "resnet"
            launcher = "srun"
            command = ["python", "train.py", "--x={{y}"]
            nodes = 2
            ranks_per_node = 4
            gpus_per_node = 4
            gpu_type = "v100"
            cpus_per_rank = 6
            memory = "180G"
            time = "24h"
            partition = "batch"
            sbatch = ["--reservation=r"]
            mail = "me@x.org"
            on = ["end"]
            - --output=x.%j is left out: what ranks print goes into the run's folder, a file a rank: yard logs.
        "#]],
    );
}

#[test]
fn a_script_with_torchrun() {
    check(
        "--nodes=2 --ntasks-per-node=1 --gpus-per-node=4 --cpus-per-task=24 --time=90 --no-requeue",
        &start(Launcher::Torchrun, Some(4)),
        expect![[r#"
            launcher = "torchrun"
            command = ["python", "train.py", "--x={{y}"]
            nodes = 2
            ranks_per_node = 4
            gpus_per_node = 4
            cpus_per_rank = 6
            time = "90m"
            on = []
        "#]],
    );
}

#[test]
fn a_script_with_one_process() {
    check(
        "--gpus=1 --mem-per-gpu=32G --array=1-4 --exclusive",
        &start(Launcher::None, None),
        expect![[r#"
            launcher = "none"
            command = ["python", "train.py", "--x={{y}"]
            repeat = 4
            gpus_per_node = 1
            memory = "32G"
            exclusive = true
        "#]],
    );
}

#[test]
fn gpus_of_all_nodes_stay_gpus_of_all_nodes() {
    check(
        "--ntasks=16 --gpus=v100:16 --cpus-per-task=4 --mem-per-gpu=20G",
        &start(Launcher::Srun, None),
        expect![[r#"
            launcher = "srun"
            command = ["python", "train.py", "--x={{y}"]
            gpus = 16
            gpu_type = "v100"
            cpus_per_rank = 4
            memory_per_gpu = "20G"
        "#]],
    );
    check(
        "--nodes=2 --gpus=3",
        &start(Launcher::Srun, None),
        expect![[r#"
            launcher = "srun"
            command = ["python", "train.py", "--x={{y}"]
            nodes = 2
            gpus = 3
        "#]],
    );
    check(
        "--nodes=2 --ntasks=8 --gpus=8",
        &start(Launcher::Srun, None),
        expect![[r#"
            launcher = "srun"
            command = ["python", "train.py", "--x={{y}"]
            nodes = 2
            ranks_per_node = 4
            gpus_per_node = 4
        "#]],
    );
    check(
        "--ntasks=8",
        &start(Launcher::None, None),
        expect![[r#"
            launcher = "none"
            command = ["python", "train.py", "--x={{y}"]
            ranks_per_node = 1
            - ranks_per_node is 1, which the script's command starts on a node; the script asks for 8 tasks there.
        "#]],
    );
}

/// In a run the elements count from 1.
#[test]
fn the_index_of_an_array_is_counted_from_the_number_of_the_repeat() {
    let indexed = |options: &str| {
        let mut start = start(Launcher::None, None);
        start.words = ["python", "t.py", "--fold=$SLURM_ARRAY_TASK_ID"]
            .map(str::to_owned)
            .into();
        start.shell = Some("python t.py --fold=${SLURM_ARRAY_TASK_ID}".to_owned());
        (options.to_owned(), start)
    };
    let check = |options, want| {
        let (options, start) = indexed(options);
        check(&options, &start, want);
    };
    check(
        "--array=1-4",
        expect![[r#"
        launcher = "none"
        command = ["python", "t.py", "--fold={repeat}"]
        repeat = 4
    "#]],
    );
    check(
        "--array=0-4%2",
        expect![[r#"
            launcher = "none"
            command = ["bash", "-c", "exec python t.py --fold=$(({repeat} - 1))"]
            repeat = 5
            at_once = 2
            - --array: SLURM_ARRAY_TASK_ID goes from 1 to 5 in a run. A program that reads it gets other numbers than in the script.
        "#]],
    );
    check(
        "--array=1,5,9",
        expect![[r#"
            launcher = "none"
            command = ["bash", "-c", "exec python t.py --fold=$(({repeat} * 4 - 3))"]
            repeat = 3
            - --array: SLURM_ARRAY_TASK_ID goes from 1 to 3 in a run. A program that reads it gets other numbers than in the script.
        "#]],
    );
    check(
        "--array=1,2,9",
        expect![[r#"
            launcher = "none"
            command = ["bash", "-c", "exec python t.py --fold=${SLURM_ARRAY_TASK_ID}"]
            repeat = 3
            - line 9: SLURM_ARRAY_TASK_ID is the number of the repeat, from 1 on, and no index of --array: choose by it what the index chose.
            - --array: SLURM_ARRAY_TASK_ID goes from 1 to 3 in a run. A program that reads it gets other numbers than in the script.
        "#]],
    );
}

#[test]
fn every_key_is_in_a_comment_that_can_be_made_a_value() {
    let mut file = NewRunFile::default();
    file.set("", "command", toml_texts(&["python"]));
    let text = file.text();
    let sections = key_sections().into_iter().flat_map(|section| section.keys);
    for row in top_keys().into_iter().chain(sections) {
        if !row.is_section() && row.name != "command" && row.name != "repeat" {
            let line = format!("\n# {} = {}\n", row.name, row.example);
            assert!(text.contains(&line), "{line}{text}");
        }
    }
    assert_eq!(RunFile::parse(&text, "yard.toml").1, []);
}

#[test]
fn braces_of_a_script_stay_what_they_are() {
    for (word, written) in [
        ("{lr}", Some("{{lr}")),
        ("${lr}", Some("${lr}")),
        ("{\"a\": 1}", Some("{\"a\": 1}")),
        ("plain", Some("plain")),
        ("a\0b", None),
    ] {
        assert_eq!(without_placeholders(word).as_deref(), written);
    }
}

fn directive() -> impl Strategy<Value = String> {
    let options: Vec<&'static Opt> = options_of(Command::Sbatch).collect();
    let values =
        "[a-z0-9:,=.-]{0,6}|[0-9]{1,9}[KMGT]?|gpu:[a-z]{0,3}:?[0-9]{1,2}|[ {}'\\x00\\x01]{0,3}";
    (proptest::sample::select(options), values)
        .prop_map(|(option, value)| format!("#SBATCH --{}={value}\n", option.long))
}

proptest! {
    #[test]
    fn what_a_script_asks_for_is_a_run_file(directives in proptest::collection::vec(directive(), 0..4)) {
        let text = format!("#!/bin/bash\n{}", directives.concat());
        let zone = TimeZone::UTC;
        let surroundings =
            Surroundings::slurm(SlurmVersion::V25_11, Timestamp(0), &zone, Path::new("/w"));
        let (script, said) =
            sbatch::resolve(&["job.sh".to_owned()], &|_| None, Some(&text), &surroundings);
        if model::first_error(&said).is_none() {
            let file = from_script("job.sh", &script, Some(&start(Launcher::Srun, None)));
            let written = file.text();
            prop_assert_eq!(RunFile::parse(&written, "yard.toml").1, [], "{}{}", text, written);
        }
    }
}
