//! `yard lint` from outside: what it prints, what it changes, how it ends.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use expect_test::{Expect, expect};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::process::Stdio;
use testkit::{FakeSlurm, Outcome, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_yard"))
}

const SCRIPT: &str = "#!/bin/bash --login\n#SBATCH --time=24:00:00\n#SBATCH --gpus=8\n\
    #SBATCH --constraint=v100\n#SBATCH --cpus-per-gpus=6\n\
    #SBATCH --constraint=cpu_intel_platinum_8260\nsrun python train.py\n";

#[test]
fn findings_for_people() {
    let env = env();
    env.write("job.sh", SCRIPT);
    expect![[r#"
        status 1
        -- stdout
        error[Y012]: the first --constraint is dropped
          --> job.sh:4:9
           4 │ #SBATCH --constraint=v100
             │         ^^^^^^^^^^^^^^^^^ replaced by line 6
           6 │ #SBATCH --constraint=cpu_intel_platinum_8260
             │         ------------------------------------ this one counts
             │ Slurm keeps the last of two: nodes need not have the first
          help: write both in one: --constraint=v100&cpu_intel_platinum_8260

        error[Y001]: sbatch has no option --cpus-per-gpus
          --> job.sh:5:9
           5 │ #SBATCH --cpus-per-gpus=6
             │         ^^^^^^^^^^^^^^^ did you mean --cpus-per-gpu?
          help: --fix puts it right

        note[Y063]: 8 GPUs and 1 process: plain code uses one GPU a process
          --> job.sh:7:1
           3 │ #SBATCH --gpus=8
             │         --------
           7 │ srun python train.py
             │ ^^^^ starts 1 process
          help: a task for each GPU, or fewer GPUs; a program that spreads its work over GPUs is fine

        2 errors, 1 note · --fix puts 1 right · yard lint --explain Y001
        -- stderr
    "#]]
    .assert_eq(&env.yard(&["lint", "job.sh"]).snapshot());
    env.write("good.sh", "#!/bin/sh\n#SBATCH --time=5\ntrue\n");
    expect![[r#"
        status 0
        -- stdout
        nothing found
        -- stderr
    "#]]
    .assert_eq(&env.yard(&["lint", "good.sh"]).snapshot());
}

#[test]
fn what_decides_the_exit_code() {
    let env = env();
    env.write("note.sh", "#!/bin/sh\n#SBATCH --time=5:00\n");
    env.write("warning.sh", "#!/bin/sh\n#SBATCH --mail-user=a@b.c\n");
    env.write("error.sh", "#!/bin/sh\n#SBATCH --nosuch\n");
    for (args, code) in [
        (vec!["note.sh"], 0),
        (vec!["warning.sh"], 0),
        (vec!["error.sh"], 1),
        (vec!["--deny", "warnings", "note.sh"], 0),
        (vec!["--deny", "warnings", "warning.sh"], 1),
        (vec!["--deny", "notes", "note.sh"], 1),
        (vec!["nosuch.sh"], 5),
        (vec!["--slurm", "abc", "note.sh"], 2),
        (vec!["--on", "nosuch", "note.sh"], 2),
        (vec![], 2),
    ] {
        let all: Vec<&str> = std::iter::once("lint").chain(args).collect();
        let _ = env.yard(&all).code(code);
    }
}

#[test]
fn fixes_are_shown_and_made() {
    let env = env();
    let path = env.write("job.sh", SCRIPT);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    expect![[r#"
        status 0
        -- stdout
        --- job.sh
        +++ job.sh
        @@ -1,7 +1,6 @@
         #!/bin/bash --login
         #SBATCH --time=24:00:00
         #SBATCH --gpus=8
        -#SBATCH --constraint=v100
        -#SBATCH --cpus-per-gpus=6
        -#SBATCH --constraint=cpu_intel_platinum_8260
        +#SBATCH --cpus-per-gpu=6
        +#SBATCH --constraint=v100&cpu_intel_platinum_8260
         srun python train.py
        -- stderr
    "#]]
    .assert_eq(
        &env.yard(&["lint", "--on", "ibex", "--diff", "job.sh"])
            .snapshot(),
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), SCRIPT);
    let _ = env
        .yard(&["lint", "--on", "ibex", "--fix", "job.sh"])
        .code(0);
    expect![[r#"
        #!/bin/bash --login
        #SBATCH --time=24:00:00
        #SBATCH --gpus=8
        #SBATCH --cpus-per-gpu=6
        #SBATCH --constraint=v100&cpu_intel_platinum_8260
        srun python train.py
    "#]]
    .assert_eq(&fs::read_to_string(&path).unwrap());
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o750
    );
    let once = fs::read(&path).unwrap();
    let _ = env
        .yard(&["lint", "--on", "ibex", "--fix", "job.sh"])
        .code(0);
    assert_eq!(fs::read(&path).unwrap(), once);
}

#[test]
fn what_is_no_utf_8_is_fixed_byte_by_byte() {
    let env = env();
    let path = env.write("job.sh", "");
    let bytes = b"#!/bin/sh\n#SBATCH --out=x\n# caf\xe9\n";
    fs::write(&path, bytes).unwrap();
    let fixed = b"#!/bin/sh\n#SBATCH --output=x\n# caf\xe9\n";
    let _ = bash(&env, "\"$YARD\" lint --fix - < job.sh > fixed.sh").code(0);
    assert_eq!(fs::read(env.work().join("fixed.sh")).unwrap(), fixed);
    let _ = env.yard(&["lint", "--fix", "job.sh"]).code(0);
    assert_eq!(fs::read(&path).unwrap(), fixed);
}

#[test]
fn standard_input_and_formats_for_programs() {
    let env = env();
    let lint = |args: &[&str], text: &str| {
        let mut child = env
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let json = lint(&["lint", "--format", "json", "-"], SCRIPT);
    assert!(json.contains("\"refused\":true") && json.contains("\"code\":\"Y001\""));
    let sarif = lint(&["lint", "--format", "sarif", "-"], SCRIPT);
    assert!(sarif.contains("\"version\":\"2.1.0\"") && sarif.trim_end().ends_with("]}]}"));
    let github = lint(&["lint", "--format", "github", "-"], SCRIPT);
    assert!(github.starts_with("::error file=-,line="), "{github}");
    // The text is the answer to --fix, and what is left to say goes beside it.
    assert_eq!(
        lint(
            &["lint", "--fix", "-"],
            "#!/bin/sh\n#SBATCH --out=x --time=5:00\n"
        ),
        "#!/bin/sh\n#SBATCH --output=x --time=5:00\n"
    );
}

#[test]
fn sarif_names_files_of_any_bytes() {
    let env = env();
    env.write("job.sh", "#!/bin/sh\n#SBATCH --nosuch\n");
    let script = "mv job.sh $'a b%\\xff.sh' && \"$YARD\" lint --format sarif $'a b%\\xff.sh'";
    let sarif = bash(&env, script).code(1).stdout;
    assert!(sarif.contains("\"uri\":\"a%20b%25%FF.sh\""), "{sarif}");
}

#[test]
fn folders_and_run_files() {
    let env = env();
    env.write("jobs/a.sh", "#!/bin/sh\n#SBATCH --nosuch\n");
    env.write("jobs/deep/b.sh", "#!/bin/sh\n#SBATCH --time=5\n");
    env.write("jobs/plain.sh", "#!/bin/sh\nexit 0\n");
    env.write("jobs/.hidden/c.sh", "#!/bin/sh\n#SBATCH --nosuch\n");
    env.write("jobs/yard.toml", "name = \"x\"\ncomand = [\"true\"]\n");
    expect![[r#"
        status 1
        -- stdout
        error[Y001]: Slurm's own sbatch has no option --nosuch
          --> jobs/a.sh:2:9
           2 │ #SBATCH --nosuch
             │         ^^^^^^^^
          help: a plugin of the site may bring it: only there it is taken

        error[Y800]: unknown key comand
          --> jobs/yard.toml:2:1
           2 │ comand = ["true"]
             │ ^^^^^^ did you mean command?
          help: a run file takes name, launcher, launcher_options, command, repeat, at_once, resources,
                environment, after, data, checkpoints, resume, watch, notify, services, cluster

        2 errors · yard lint --explain Y001
        -- stderr
    "#]]
    .assert_eq(&env.yard(&["lint", "jobs"]).snapshot());
}

#[test]
fn rules_are_listed_and_explained() {
    let env = env();
    let list = env.yard(&["lint", "--list"]).success();
    assert!(list.lines().count() > 50);
    let page = env.yard(&["lint", "--explain", "y012"]).success();
    assert!(page.starts_with("Y012 given-twice (error)\n"), "{page}");
    expect![[r#"
        status 2
        -- stdout
        -- stderr
        error: there is no rule Y0122
          asked   --explain Y0122
          do      did you mean Y012? yard lint --list shows all
    "#]]
    .assert_eq(&env.yard(&["lint", "--explain", "Y0122"]).snapshot());
}

#[test]
fn a_cluster_of_the_users_own() {
    let env = env();
    let folder = env.trainyard_home().join("config/clusters");
    fs::create_dir_all(&folder).unwrap();
    fs::write(
        folder.join("lab.toml"),
        "slurm = \"22.05\"\n[nodes.n]\ncpus = 8\n[partition.short]\nnodes = [\"n\"]\nmax_time = \"1:00:00\"\n",
    )
    .unwrap();
    env.write(
        "job.sh",
        "#!/bin/sh\n#SBATCH -p short\n#SBATCH -t 2:00:00\ntrue\n",
    );
    expect![[r#"
        status 1
        -- stdout
        error[Y101]: partition short allows 01:00:00
          --> job.sh:3:9
           3 │ #SBATCH -t 2:00:00
             │         ^^^^^^^^^^ more time than that
             │ the job is refused, or waits for ever

        1 error · yard lint --explain Y101
        -- stderr
    "#]]
    .assert_eq(&env.yard(&["lint", "--on", "lab", "job.sh"]).snapshot());
}

/// A command line of bash, in which `$YARD` is the program.
fn bash(env: &TestEnv, line: &str) -> Outcome {
    let mut command = env.program("bash", &["-c", line]);
    command.env("YARD", env!("CARGO_BIN_EXE_yard"));
    let output = command.output().unwrap();
    Outcome {
        status: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_file_that_cannot_be_read_hides_no_other() {
    let env = env();
    env.write("a.sh", "#!/bin/sh\n#SBATCH --nosuch\n");
    env.write("b.sh", "#!/bin/sh\n#SBATCH --nosuch\n");
    for format in ["text", "json", "sarif", "github"] {
        let args = ["lint", "--format", format, "a.sh", "missing.sh", "b.sh"];
        let said = env.yard(&args).code(5);
        assert!(said.stderr.starts_with("error: missing.sh can't be read"));
        for name in ["a.sh", "b.sh"] {
            assert!(said.stdout.contains(name), "{format}: {}", said.stdout);
        }
    }
    let json = env.yard(&["lint", "--format", "json", "missing.sh", "a.sh"]);
    let json: serde_json::Value = serde_json::from_str(&json.code(5).stdout).unwrap();
    assert_eq!(json["files"][0]["name"], "a.sh");
}

#[test]
fn a_pipe_is_read_and_a_fifo_is_not_waited_for() {
    let env = env();
    env.write("job.sh", "#!/bin/sh\n#SBATCH --nosuch\n");
    let said = bash(&env, "mkfifo fifo && \"$YARD\" lint fifo job.sh").code(5);
    assert!(
        said.stderr.contains("which may never get a writer"),
        "{}",
        said.stderr
    );
    assert!(said.stdout.contains("--nosuch"));
    for line in [
        "\"$YARD\" lint <(cat job.sh)",
        "cat job.sh | \"$YARD\" lint /dev/stdin",
        "\"$YARD\" lint - < job.sh",
        "\"$YARD\" lint /dev/fd/7 7< job.sh",
    ] {
        let said = bash(&env, line).code(1);
        assert!(said.stdout.contains("--nosuch"), "{line}: {}", said.stderr);
    }
}

const TO_FIX: &str = "#!/bin/sh\n#SBATCH --out=x\n";
const FIXED: &str = "#!/bin/sh\n#SBATCH --output=x\n";

#[test]
fn a_fix_keeps_what_a_file_is() {
    let env = env();
    let path = env.write("job.sh", TO_FIX);
    // Neither of two names can get the text alone, and both together not at once.
    let other = env.work().join("other.sh");
    fs::hard_link(&path, &other).unwrap();
    let said = env.yard(&["lint", "--fix", "job.sh"]).code(5);
    assert!(said.stderr.contains("has another name"), "{}", said.stderr);
    assert_eq!(fs::read_to_string(&other).unwrap(), TO_FIX);
    assert_eq!(fs::metadata(&path).unwrap().nlink(), 2);
    // A link stays a link, and the file that is meant is written.
    let meant = env.write("deep/meant.sh", TO_FIX);
    let link = env.work().join("link.sh");
    std::os::unix::fs::symlink("deep/meant.sh", &link).unwrap();
    let _ = env.yard(&["lint", "--fix", "link.sh"]).code(0);
    assert_eq!(fs::read_to_string(&meant).unwrap(), FIXED);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    // Nobody may write this one, and the next is done all the same.
    let fixed = env.write("read-only.sh", TO_FIX);
    fs::set_permissions(&fixed, fs::Permissions::from_mode(0o444)).unwrap();
    let after = env.write("after.sh", TO_FIX);
    let said = env
        .yard(&["lint", "--fix", "read-only.sh", "after.sh"])
        .code(5);
    assert!(said.stderr.contains("is read-only"), "{}", said.stderr);
    assert_eq!(fs::read_to_string(&fixed).unwrap(), TO_FIX);
    assert_eq!(fs::read_to_string(&after).unwrap(), FIXED);
}

#[test]
fn a_fix_keeps_the_owner() {
    let env = env();
    let path = env.write("job.sh", TO_FIX);
    if chown(&path, Some(12_345), Some(54_321)).is_err() {
        return testkit::skip(
            "a_fix_keeps_the_owner",
            "giving a file away is root's alone",
        );
    }
    let _ = env.yard(&["lint", "--fix", "job.sh"]).code(0);
    let facts = fs::metadata(&path).unwrap();
    assert_eq!((facts.uid(), facts.gid()), (12_345, 54_321));
    assert_eq!(fs::read_to_string(&path).unwrap(), FIXED);
}

#[test]
fn a_name_that_is_no_utf_8_is_opened_as_it_is() {
    let env = env();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.sh");
    let path = env.work().join(name);
    fs::write(&path, TO_FIX).unwrap();
    let said = env.yard(&["lint".as_ref(), name]).code(0);
    assert!(said.stdout.contains("caf\u{fffd}.sh"), "{}", said.stdout);
    let _ = env.yard(&["lint".as_ref(), "--fix".as_ref(), name]).code(0);
    assert_eq!(fs::read_to_string(&path).unwrap(), FIXED);
}

#[test]
fn a_folder_beside_this_one_is_looked_at() {
    let env = env();
    env.write("jobs/job.sh", "");
    let script = "#!/bin/sh\n#SBATCH -J a -n 1\n#SBATCH -o ../results/%x/out\ntrue\n";
    env.write("jobs/job.sh", script);
    let said = bash(&env, "cd jobs && \"$YARD\" lint job.sh").code(0);
    assert!(
        said.stdout
            .contains("output folder ../results/a does not exist")
    );
    fs::create_dir_all(env.work().join("results/a")).unwrap();
    let said = bash(&env, "cd jobs && \"$YARD\" lint job.sh").code(0);
    assert_eq!(said.stdout, "nothing found\n");
}

/// What `yard plan` says of a run file on a cluster, lint says too.
#[test]
fn a_run_file_is_held_against_the_cluster() {
    let env = env();
    let file = |gpus: u32, partition: &str| {
        format!(
            "name = \"vit\"\ncommand = [\"x\"]\n[resources]\nnodes = 1\ngpus_per_node = {gpus}\n\
             gpu_type = \"v100\"\npartition = \"{partition}\"\ntime = \"48h\"\n\
             [cluster.wilson.resources]\naccount = \"nobody\"\n"
        )
    };
    // No node has so many: there is no plan.
    env.write("yard.toml", &file(8, "gpu"));
    let _ = env.yard(&["plan", "--on", "wilson", "yard.toml"]).code(3);
    let found = env.yard(&["lint", "--on", "wilson", "yard.toml"]).code(1);
    expect![[r#"
        status 1
        -- stdout
        error[Y110]: no job for wilson can be made of this: wilson has no node with 8 v100
          --> yard.toml:5:1
           5 │ gpus_per_node = 8
             │ ^^^^^^^^^^^^^^^^^
             │ asked gpus_per_node = 8, gpu_type = "v100"   (yard.toml:5); there 4 nodes with 2 v100
          help: nodes = 4 with gpus_per_node = 2

        1 error · yard lint --explain Y110
        -- stderr
    "#]]
    .assert_eq(&found.snapshot());
    // There is one, and wilson would not take it.
    env.write("yard.toml", &file(2, "gpu_gce"));
    let _ = env.yard(&["plan", "--on", "wilson", "yard.toml"]).code(3);
    let found = env.yard(&["lint", "--on", "wilson", "yard.toml"]).code(1);
    expect![[r#"
        status 1
        -- stdout
        note[Y110]: might be refused on wilson: Invalid account or account/partition combination specified
          --> yard.toml:10:1
          10 │ account = "nobody"
             │ ^^^^^^^^^^^^^^^^^^ --account=nobody
             │ wilson's file knows only some accounts: scd_devs, lqcd_bench, spack4hpc, deep_lgt, axial,
             │ wc_test
          help: leave --account out, or --account=scd_devs

        error[Y110]: would wait for ever on wilson: PartitionTimeLimit
          --> yard.toml:8:1
           8 │ time = "48h"
             │ ^^^^^^^^^^^^ --time=2-00:00:00
             │ partition gpu_gce allows 1-00:00:00
          help: --time=1-00:00:00, and come back from a checkpoint

        error[Y110]: would wait for ever on wilson: QOSMaxWallDurationPerJobLimit
          --> yard.toml:8:1
           8 │ time = "48h"
             │ ^^^^^^^^^^^^ --time=2-00:00:00
             │ QOS opp allows 08:00:00 (qos.opp.max_wall)
          help: --time=08:00:00

        2 errors, 1 note · yard lint --explain Y110
        -- stderr
    "#]].assert_eq(&found.snapshot());
    let _ = env.yard(&["lint", "yard.toml"]).code(0);
}

/// Where no cluster is named, what this machine has is one of several that may be meant.
#[test]
fn a_container_that_nothing_there_runs_is_found_as_plan_refuses_it() {
    let mut env = env();
    let program = env.write("bin/podman", "#!/bin/sh\n");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    env.set_var("PATH", env.work().join("bin"));
    env.write("x.sif", "");
    let check = |container: &str, (code, on_local): (i32, &str), want: Expect| {
        let text = format!("command = [\"x\"]\n[environment.container]\n{container}");
        env.write("yard.toml", text.as_str());
        let found = env.yard(&["lint"]).code(code);
        want.assert_eq(&env.normalise(&found.stdout));
        let found = env.yard(&["lint", "--on", "local"]).code(1);
        let found = found
            .stdout
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let planned = env.yard(&["plan", "--on", "local"]);
        assert!(
            planned.status != 0 && planned.stderr.contains(on_local),
            "{planned:?}"
        );
        let want = format!("no job for local can be made of this: {on_local}");
        assert!(found.contains(&want), "{found}");
    };
    check(
        "image = \"x.sif\"\n",
        (0, "podman can't run the container as it is asked for"),
        expect![[r#"
            warning[Y800]: podman can't run the container as it is asked for
              --> yard.toml:3:1
               3 │ image = "x.sif"
                 │ ^^^^^^^^^^^^^^^
                 │ a .sif file · podman runs an image in a registry, .sqsh, a folder or a Dockerfile
              help: name an image that it runs, in [cluster.NAME.environment.container] where clusters differ;
                    --on CLUSTER judges by another cluster

            1 warning · yard lint --explain Y800
        "#]],
    );
    check(
        "image = \"docker://python:3\"\nruntime = \"apptainer\"\n",
        (0, "local has no apptainer to run the container"),
        expect![[r#"
            warning[Y800]: this machine has no apptainer to run the container
              --> yard.toml:4:1
               4 │ runtime = "apptainer"
                 │ ^^^^^^^^^^^^^^^^^^^^^
                 │ no apptainer on PATH; there is podman
              help: leave runtime out, which takes podman, or install it; --on CLUSTER judges by another cluster

            1 warning · yard lint --explain Y800
        "#]],
    );
    // No cluster can.
    check(
        "image = \"docker://python:3\"\nruntime = \"charliecloud\"\nentrypoint = true\n",
        (1, "charliecloud can't run the container as it is asked for"),
        expect![[r#"
            error[Y800]: charliecloud can't run the container as it is asked for
              --> yard.toml:5:1
               5 │ entrypoint = true
                 │ ^^^^^^^^^^^^^^^^^
                 │ charliecloud knows no entry points
              help: leave it out, and write the entry point into command

            1 error · yard lint --explain Y800
        "#]],
    );
}

/// What `yard plan` refuses since it is not there, and a program that it notes.
#[test]
fn what_a_run_file_names_and_is_not_there_is_found() {
    let env = env();
    let check = |text: &str, code, want: Expect| {
        env.write("yard.toml", text);
        let found = env.yard(&["lint"]).code(code);
        want.assert_eq(&env.normalise(&found.stdout));
    };
    env.write("requirements.txt", "");
    check(
        "command = [\"python\", \"trian.py\"]\n[environment]\nrequirements = \"requirments.txt\"\n\
         [data]\nstage = [\"data/x\"]\n[cluster.ibxe]\nname = \"x\"\n",
        1,
        expect![[r#"
            error[Y800]: no cluster is called ibxe
              --> yard.toml:6:1
               6 │ [cluster.ibxe]
                 │ ^^^^^^^^^^^^^^
                 │ cedar, ibex, local, plai, satori, technion, wilson
              help: write [cluster.ibex], or describe ibxe in a cluster file (yard cluster import)

            error[Y800]: $TEST/work/requirments.txt is not there
              --> yard.toml:3:1
               3 │ requirements = "requirments.txt"
                 │ ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
                 │ $TEST/work has no requirments.txt
              help: did you mean $TEST/work/requirements.txt?

            error[Y800]: $TEST/work/data/x is not there
              --> yard.toml:5:1
               5 │ stage = ["data/x"]
                 │ ^^^^^^^^^^^^^^^^^^
                 │ $TEST/work has no data
              help: correct [data] stage, or put the file there

            warning[Y800]: trian.py, which the command starts, is not in $TEST/work
              --> yard.toml:1:1
               1 │ command = ["python", "trian.py"]
                 │ ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

            3 errors, 1 warning · yard lint --explain Y800
        "#]],
    );
    check(
        "command = [\"x\"]\n[environment]\nvenv = \"~/venv\"\n",
        1,
        expect![[r#"
            error[Y800]: $TEST/work/~/venv is not there
              --> yard.toml:3:1
               3 │ venv = "~/venv"
                 │ ^^^^^^^^^^^^^^^
                 │ $TEST/work has no ~
              help: write the whole path: nothing replaces ~ in [environment] venv

            1 error · yard lint --explain Y800
        "#]],
    );
    check(
        "command = [\"x\"]\n[environment.container]\nimage = \"torch.sif\"\n",
        1,
        expect![[r#"
            error[Y800]: $TEST/work/torch.sif is not there
              --> yard.toml:3:1
               3 │ image = "torch.sif"
                 │ ^^^^^^^^^^^^^^^^^^^
                 │ $TEST/work has no torch.sif
              help: correct [environment.container] image, or put the file there

            1 error · yard lint --explain Y800
        "#]],
    );
    check(
        "command = [\"x\"]\n",
        0,
        expect![[r#"
        nothing found
    "#]],
    );
    std::fs::remove_file(env.work().join("yard.toml")).unwrap();
    let nothing = env.yard(&["lint"]).code(2);
    expect![[r#"
        error: there is nothing to look at
          there   no yard.toml in this folder
          do      yard lint FILE
    "#]]
    .assert_eq(&nothing.stderr);
}

/// A script without an interpreter is one that `sbatch` refuses, and no reason to pass it over.
#[test]
fn a_folder_s_scripts_without_an_interpreter_are_looked_at() {
    let env = env();
    env.write("d/bare", "#SBATCH -n 1\nsrun x\n");
    env.write("d/late.sbatch", "srun x\n#SBATCH -n 1\n");
    env.write("d/README.md", "# How\nSuch as\n#SBATCH -n 1\n");
    let found = env.yard(&["lint", "d"]).code(1);
    let out = found.stdout;
    for name in ["d/bare", "d/late.sbatch"] {
        assert!(out.contains(name), "{out}");
    }
    assert!(!out.contains("README"), "{out}");
}

/// Places in documents are the file's bytes, whatever those are.
#[test]
fn places_in_a_script_that_is_no_text() {
    let env = env();
    let path = env.write("job.sh", "");
    fs::write(
        &path,
        b"#!/bin/bash\n#SBATCH -J \xff\xfe --cpus_per_task=4\n",
    )
    .unwrap();
    let found = env.yard(&["lint", "--format", "json", "job.sh"]).stdout;
    assert!(found.contains("\"start\":28"), "{found}");
    fs::write(env.work().join("yard.toml"), b"command = [\"\xff\"]\n").unwrap();
    let _ = env.yard(&["lint", "yard.toml"]).code(2);
}

/// Its report says nothing of containers: what this machine has is what a plan goes by.
#[test]
fn a_slurm_without_a_file_takes_the_containers_that_a_plan_takes() {
    let mut env = env();
    let _slurm = FakeSlurm::start(&mut env);
    let program = env.root().join("slurm/apptainer");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    env.write("image.sif", "");
    for runtime in ["", "runtime = \"enroot\"\n"] {
        let image = if runtime.is_empty() {
            "image.sif"
        } else {
            "docker://a"
        };
        env.write(
            "yard.toml",
            &format!(
                "command = [\"true\"]\n[resources]\ntime = \"10m\"\n\
                 [environment.container]\nimage = \"{image}\"\n{runtime}"
            ),
        );
        env.yard(&["plan", "--on", "fake"]).success();
        let found = env.yard(&["lint", "yard.toml", "--on", "fake"]).success();
        assert!(!found.contains("container"), "{found}");
    }
}

/// Files of which the kernel says that they are empty are passed over: reading may never end.
#[test]
fn empty_files_of_a_folder_are_no_scripts() {
    let env = env();
    env.write("d/empty.sh", "");
    env.write("d/job.sh", "#!/bin/sh\n#SBATCH -n 1\ntrue\n");
    let _ = env.yard(&["lint", "d"]).code(0);
}
