//! Batch scripts through `yard`'s own commands: their output files, arrays, failures.

use crate::house::env;

/// An array of two elements, of which the second fails, with a file for errors of its own.
const ARRAY: &str = "#!/bin/sh\n#SBATCH --array=1-2 -e %A-%a.err\n\
    echo out $SLURM_ARRAY_TASK_ID\necho err $SLURM_ARRAY_TASK_ID >&2\n\
    exit $((SLURM_ARRAY_TASK_ID - 1))\n";

#[track_caller]
fn assert_lines(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|known| known == *line), "{line}: {text}");
    }
}

#[test]
fn an_array_shows_the_output_of_each_element() {
    let env = env();
    env.write("job.sbatch", ARRAY);
    let ran = env.yard(&["run", "job.sbatch"]).code(1);
    assert_lines(&ran.stdout, &["  [1] out 1", "  [2] out 2"]);
    assert_lines(&ran.stdout, &["  [1] err 1", "  [2] err 2"]);
    let logs = env.yard(&["logs", "1"]).success();
    assert_eq!(logs, "[1] out 1\n[1] err 1\n[2] out 2\n[2] err 2\n");
    for element in ["1", "2"] {
        let logs = env.yard(&["logs", &format!("1_{element}")]).success();
        assert_eq!(logs, format!("out {element}\nerr {element}\n"));
    }
}

#[test]
fn a_file_that_all_elements_write_is_shown_once() {
    let env = env();
    env.write(
        "job.sbatch",
        "#!/bin/sh\n#SBATCH --array=1-2%1 -o all.out --open-mode=append\necho a line\n",
    );
    let ran = env.yard(&["run", "job.sbatch"]).success();
    assert_eq!(ran.matches("  a line\n").count(), 2, "{ran}");
    assert_eq!(env.yard(&["logs", "1"]).success(), "a line\na line\n");
}

#[test]
fn errors_in_a_file_of_their_own_are_shown_too() {
    let env = env();
    env.write(
        "job.sbatch",
        "#!/bin/sh\n#SBATCH -o job.out -e job.err\necho to out\necho to err >&2\nexit 3\n",
    );
    let ran = env.yard(&["run", "job.sbatch"]).code(1);
    assert_lines(&ran.stdout, &["to out", "to err"]);
    assert_eq!(env.yard(&["logs", "1"]).success(), "to out\nto err\n");
}

#[test]
fn show_has_the_files_times_and_last_errors_of_a_job_and_of_an_element() {
    let env = env();
    env.write("job.sbatch", ARRAY);
    let _failed = env.yard(&["run", "job.sbatch"]).code(1);
    let array = env.yard(&["show", "1"]).success();
    assert!(array.contains("1 COMPLETED, 1 FAILED"), "{array}");
    assert!(array.contains("1_2          FAILED (exit 1:0)"), "{array}");
    let failed = env.yard(&["show", "1_2"]).success();
    for title in ["submitted", "started", "ended", "ran for", "output"] {
        assert!(failed.contains(&format!("  {title:<12} ")), "{failed}");
    }
    let errors = env.work().join("1-2.err").display().to_string();
    assert!(
        failed.contains(&format!("errors       {errors}")),
        "{failed}"
    );
    assert_lines(&failed, &["  | err 2"]);
    let completed = env.yard(&["show", "1_1"]).success();
    assert!(!completed.contains("| err"), "{completed}");
}
