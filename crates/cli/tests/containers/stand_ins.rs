//! The runtimes that are not run for real, and what is the same with all.

use super::*;

/// Stands in for a runtime.
const STAND_IN: &str = include_str!("../support/container_runtime.sh");

/// Puts it on the `PATH` by the name of a runtime's program.
fn stand_in_for(env: &mut TestEnv, program: &str) {
    let path = env.write(format!("bin/{program}"), STAND_IN);
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    let bin = env.work().join("bin");
    env.set_var("PATH", format!("{}:{PATH}", bin.display()));
}

/// The runtimes that are not run for real: that they get what they take, and what a rank finds inside.
#[test]
fn stand_ins_of_the_other_runtimes() {
    let runtimes = [
        ("apptainer", "image.sif"),
        ("singularity", "image.sif"),
        ("enroot", "image.sqsh"),
        ("podman", "folder"),
    ];
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let bin = env.work().join("bin");
    fs::create_dir_all(&bin).unwrap();
    for (name, image) in runtimes {
        let program = bin.join(name);
        fs::write(&program, STAND_IN).unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        if image.contains('.') {
            env.write(image, "");
        } else {
            fs::create_dir_all(env.work().join(image)).unwrap();
        }
    }
    env.set_var("PATH", format!("{}:{PATH}", bin.display()));
    env.set_var("HF_TOKEN", "two\nlines");
    env.set_var("OUTSIDE", "1");
    for (runtime, image) in runtimes {
        let text = format!(
            "launcher = \"srun\"\ncommand = [\"sh\", \"-c\", \"echo rank $RANK of $WORLD_SIZE job \
             $SLURM_JOB_ID own $OWN token ${{#HF_TOKEN}} outside $OUTSIDE.; pwd\"]\n\
             [resources]\nnodes = 2\n[environment]\nvariables = {{ OWN = \"1\" }}\n\
             secrets = [\"HF_TOKEN\"]\n[environment.container]\nimage = \"{image}\"\n\
             runtime = \"{runtime}\"\n"
        );
        env.write("yard.toml", text.as_str());
        let shown = env.yard(&["run"]).snapshot();
        for rank in 0..2 {
            assert!(
                shown.contains(&format!("rank {rank} of 2 job ")),
                "{runtime}: {shown}"
            );
        }
        assert!(
            shown.contains("own 1 token 9 outside ."),
            "{runtime}: {shown}"
        );
        assert!(!shown.contains(&format!("{runtime}:")), "{shown}");
    }
}

/// Starts a run in a container, whose only rank waits until `shared/go` is there.
fn start_in_container(env: &TestEnv, image: &str, runtime: &str) {
    let text = format!(
        "launcher = \"srun\"\n\
         command = [\"sh\", \"-c\", \"echo >$SHARED/begun; until [ -e $SHARED/go ]; do sleep 0.1; done\"]\n\
         [environment]\nvariables = {{ SHARED = \"{shared}\", OWN = \"1\" }}\n\
         secrets = [\"HF_TOKEN\"]\n[environment.container]\nimage = \"{image}\"\n\
         runtime = \"{runtime}\"\nmounts = [\"{shared}\"]\n",
        shared = env.work().join("shared").display()
    );
    fs::create_dir_all(env.work().join("shared")).unwrap();
    for name in ["begun", "go"] {
        let _ = fs::remove_file(env.work().join("shared").join(name));
    }
    env.write("yard.toml", text.as_str());
    env.yard(&["run", "-d"]).success();
    wait_until(&format!("the rank is started in {runtime}"), || {
        env.work().join("shared/begun").exists()
    });
}

/// Ends the run of [`start_in_container`].
fn end_in_container(env: &TestEnv) {
    env.write("shared/go", "");
    env.yard(&["wait", "@"]).success();
}

#[test]
fn attach_is_inside_the_ranks_container() {
    let Some(mut env) = with_image("yard attach in Charliecloud") else {
        return;
    };
    env.set_var("HF_TOKEN", "two\nlines");
    start_in_container(&env, "image", "charliecloud");
    let line = "cat /etc/mark; echo own $OWN token ${#HF_TOKEN} rank $RANK. of $YARD_RUN; pwd";
    let attached = env.yard(&["attach", "@", "--", "sh", "-c", line]).code(0);
    assert!(
        attached.stderr.contains("note: in a container of ")
            && attached.stderr.contains("/image by charliecloud"),
        "{attached:?}"
    );
    assert_eq!(
        attached.stdout,
        format!(
            "made of busybox\nown 1 token 9 rank . of {}\n{}\n",
            only_run(&env).file_name().unwrap().display(),
            only_run(&env).join("code").display()
        )
    );
    // The shell is one that the image has, whatever the person's own is.
    env.set_var("SHELL", "/no/such/shell");
    env.yard(&["attach", "@"]).success();
    end_in_container(&env);
}

/// Pyxis by our own `srun`, which runs its containers with the first runtime that is there: Enroot comes first.
#[test]
fn attach_with_stand_ins_of_the_other_runtimes() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.set_var("HF_TOKEN", "two\nlines");
    env.set_var("OUTSIDE", "1");
    env.write("image.sif", "");
    env.write("image.sqsh", "");
    fs::create_dir_all(env.work().join("folder")).unwrap();
    for (program, runtime, image) in [
        ("enroot", "enroot", "image.sqsh"),
        ("enroot", "pyxis", "image.sqsh"),
        ("apptainer", "apptainer", "image.sif"),
        ("podman", "podman", "folder"),
    ] {
        stand_in_for(&mut env, program);
        start_in_container(&env, image, runtime);
        let line = "echo home $HOME run $YARD_RUN rank $RANK.";
        let attached = env.yard(&["attach", "@", "--", "sh", "-c", line]).code(0);
        let said = format!("{image} by {runtime}");
        assert!(attached.stderr.contains(&said), "{attached:?}");
        let shown = env.yard(&["show", "--json"]).success();
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        let run = shown["run"].as_str().unwrap();
        let want = format!("/home run {run} rank .\n");
        assert!(attached.stdout.ends_with(&want), "{runtime}: {attached:?}");
        end_in_container(&env);
    }
}

#[test]
fn apptainer_makes_gpus_visible_where_there_are_some() {
    let what = "GPUs in Apptainer";
    if let Some(reason) = testkit::gpus_missing() {
        return skip(what, &reason);
    }
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    stand_in_for(&mut env, "apptainer");
    env.write("image.sif", "");
    env.pretend_gpus(&["Tesla V100-SXM2-32GB"]);
    for (gpus, seen) in [(1, "GPUs 1 of"), (0, "GPUs of")] {
        env.write(
            "yard.toml",
            &format!(
                "command = [\"sh\", \"-c\", \"echo GPUs $STAND_IN_GPUS of $CUDA_VISIBLE_DEVICES.\"]\n\
                 [resources]\ngpus_per_node = {gpus}\n\
                 [environment.container]\nimage = \"image.sif\"\nruntime = \"apptainer\"\n"
            ),
        );
        let shown = env.yard(&["run", "--on", "local"]).success();
        assert!(shown.contains(seen), "{shown}");
    }
}

/// As sites with Pyxis write it: `srun` mounts before any process of the ranks runs.
#[test]
fn a_folder_of_the_node_is_there_before_srun_starts_the_container() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    stand_in_for(&mut env, "enroot");
    env.write("image.sqsh", "");
    env.write(
        "yard.toml",
        "launcher = \"srun\"\n\
         command = [\"sh\", \"-c\", \"echo rank $RANK, there $(ls -d $YARD_DATA/../db)\"]\n\
         [resources]\nnodes = 2\n\
         [environment.container]\nimage = \"image.sqsh\"\nruntime = \"pyxis\"\n\
         mounts = [\"{local}/db:/db\"]\n",
    );
    let shown = env.yard(&["run"]).success();
    for rank in 0..2 {
        assert!(shown.contains(&format!("rank {rank}, there /")), "{shown}");
    }
    let line = "echo shell, there $(ls -d $YARD_DATA/../db)";
    let shown = env.yard(&["shell", "--", "sh", "-c", line]).success();
    assert!(shown.contains("shell, there /"), "{shown}");
    let run_file = fs::read_to_string(env.work().join("yard.toml")).unwrap();
    env.write("set/x", "");
    env.write(
        "yard.toml",
        format!("{run_file}[data]\nstage = [\"set\"]\n").as_str(),
    );
    let refused = env.yard(&["shell", "--", "true"]).code(3).snapshot();
    assert!(
        refused.contains("asked   [data] stage (from ./yard.toml:10)"),
        "{refused}"
    );
}

/// Its address is that of the node, and the program comes from the image.
#[test]
fn a_service_runs_in_the_runs_container() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    stand_in_for(&mut env, "apptainer");
    env.write("image.sif", "");
    env.set_var("OUTSIDE", "1");
    env.write(
        "yard.toml",
        "name = \"beside\"\ncommand = [\"sh\", \"-c\", \"until grep -q service-ended \
         $YARD_LOGS/../links/*.events; do sleep 0.1; done\"]\n\
         [environment]\nvariables = { OWN = \"1\" }\n\
         [environment.container]\nimage = \"image.sif\"\nruntime = \"apptainer\"\n\
         [services.look]\ncommand = [\"sh\", \"-c\", \"echo own $OWN outside $OUTSIDE. job \
         $SLURM_JOB_ID\"]\n",
    );
    env.yard(&["run", "--on", "local"]).success();
    let shown = env.yard(&["show", "--json"]).success();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let folder = shown["folder"].as_str().unwrap();
    let log = fs::read_to_string(format!("{folder}/logs/1.0.service-look")).unwrap();
    assert!(log.starts_with("own 1 outside . job 1"), "{log}");
}

#[test]
fn a_runtime_that_is_not_there_is_refused_before_anything_is_submitted() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    stand_in_for(&mut env, "singularity");
    let write = |runtime: &str, modules: &str| {
        env.write(
            "yard.toml",
            &format!(
                "command = [\"true\"]\n[environment]\nmodules = [{modules}]\n[environment.container]\n\
                 image = \"docker://python:3.12\"\nruntime = \"{runtime}\"\n"
            ),
        );
    };
    write("apptainer", "");
    for words in [&["plan"][..], &["run", "--on", "local"]] {
        let refused = env.yard(words);
        assert_eq!(refused.status, 3, "{refused:?}");
        for part in [
            "has no apptainer to run the container",
            "asked   runtime = \"apptainer\" (yard.toml:6)",
            "there   no apptainer on PATH; there is singularity",
            "do      leave runtime out, which takes singularity",
        ] {
            assert!(refused.stderr.contains(part), "{part}: {refused:?}");
        }
    }
    write("apptainer", "\"tools/3\"");
    let noted = env.yard(&["plan"]).success();
    assert!(
        noted.contains("whether the modules bring apptainer"),
        "{noted:?}"
    );
    write("apptainer", "\"apptainer/1.2\"");
    let silent = env.yard(&["plan"]).success();
    assert!(!silent.contains("whether"), "{silent:?}");
    // By the file of a cluster that has another one.
    write("charliecloud", "");
    let refused = env.yard(&["plan", "--on", "wilson"]);
    assert!(
        refused.stderr.contains("apptainer by the cluster file"),
        "{refused:?}"
    );
    write("singularity", "");
    let noted = env.yard(&["plan", "--on", "wilson"]).success();
    assert!(noted.contains("answer to singularity too"), "{noted:?}");
}
