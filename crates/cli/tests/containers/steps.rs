//! Steps and scripts that ask for a container by Pyxis' options.

use super::*;

/// As Pyxis has them, by whichever runtime is there.
#[test]
fn steps_and_scripts_with_an_image() {
    let Some(mut env) = with_image("steps in Charliecloud") else {
        return;
    };
    env.write("shared/note", "mounted\n");
    env.write("image/ch/environment", "OF_IMAGE=image\nKEPT=image\n");
    env.set_var("OF_IMAGE", "outside");
    env.set_var("KEPT", "outside");
    env.set_var("OWN", "outside");
    let image = "--container-image=./image";
    let line = "cat /etc/mark /m/note; echo $SLURM_PROCID of $SLURM_NTASKS in $PWD: \
                $OF_IMAGE $KEPT $OWN.";
    let step = [
        "-N2",
        image,
        "--container-mounts=./shared:/m",
        "--container-workdir=/etc",
    ];
    let command = ["--container-env=KEPT,OWN", "sh", "-c", line];
    let before = names_in_image(&env);
    let shown = env.slurm("srun", &[&step[..], &command].concat()).success();
    assert_eq!(names_in_image(&env), before);
    for task in 0..2 {
        let said = format!("{task} of 2 in /etc: image outside outside.");
        assert!(shown.contains(&said), "{shown}");
    }
    // Lines of two tasks come in any order.
    for line in ["made of busybox\n", "mounted\n"] {
        assert_eq!(shown.matches(line).count(), 2, "{shown}");
    }

    // The image itself stays as it is, unless a name keeps the container.
    let write = "echo changed > /etc/mark && cat /etc/mark";
    let written = env.slurm("srun", &[image, "--container-writable", "sh", "-c", write]);
    assert_eq!(written.success(), "changed\n");
    let named = "--container-name=mine";
    let written = env.slurm("srun", &[image, named, "sh", "-c", write]);
    assert_eq!(written.success(), "changed\n");
    let again = env.slurm("srun", &["--container-name=mine:exec", "cat", "/etc/mark"]);
    assert_eq!(again.success(), "changed\n");
    let kept = env.slurm("srun", &[image, "cat", "/etc/mark"]);
    assert_eq!(kept.success(), "made of busybox\n");
    let saved = env.slurm(
        "srun",
        &[image, "--container-save=./new", "sh", "-c", write],
    );
    assert_eq!(saved.success(), "changed\n");
    let new = fs::read_to_string(env.work().join("new/etc/mark")).unwrap();
    assert_eq!(new, "changed\n");

    // A script is in the container as a whole; the commands of an allocation are not.
    let script = "#!/bin/sh\n#SBATCH --container-image=./image\n#SBATCH -o out\n\
                  cat /etc/mark; echo \"with $1 and $OWN\"\n";
    env.write("job.sh", script);
    env.slurm("sbatch", &["--wait", "job.sh", "an argument"])
        .success();
    let out = fs::read_to_string(env.work().join("out")).unwrap();
    assert_eq!(out, "made of busybox\nwith an argument and outside\n");
    env.write(
        "bash.sh",
        "#!/bin/bash\n#SBATCH --container-image=./image\n#SBATCH -o out\ntrue\n",
    );
    let _failed = env.slurm("sbatch", &["--wait", "bash.sh"]).code(1);
    let out = fs::read_to_string(env.work().join("out")).unwrap();
    assert!(out.contains("/bin/bash: No such file"), "{out}");
    let inner = "cat /etc/mark 2>/dev/null; srun cat /etc/mark";
    let shown = env.slurm("salloc", &["-Q", image, "sh", "-c", inner]);
    assert_eq!(shown.success(), "made of busybox\n");
}

#[test]
fn steps_without_what_they_need_are_refused() {
    let Some(env) = with_image("refused steps in Charliecloud") else {
        return;
    };
    let check = |options: &[&str], words: &str| {
        let shown = env.slurm("srun", &[options, &["true"]].concat());
        let shown = shown.code(1).snapshot();
        assert!(shown.contains(words), "{shown}");
    };
    let image = "--container-image=./image";
    check(&["--container-image=./imagee"], "imagee is not there");
    check(&["--container-image=./image.sif"], "charliecloud can't run");
    check(&[image, "--container-entrypoint"], "knows no entry points");
    check(
        &[image, "--container-mounts=a:/b"],
        "pyxis: mount source must be",
    );
    check(
        &["--container-name=no:exec"],
        "there is no container \"no\"",
    );
    check(&[image, "--container-save=image"], "is there already");
    check(
        &["--container-image=docker://127.0.0.1:1/a"],
        "its registry does not answer",
    );
    let shown = env
        .slurm("srun", &["--container-mounts=/a", "true"])
        .snapshot();
    let words = "ignoring --container-mounts because neither --container-image nor";
    assert!(shown.contains(words), "{shown}");
}
