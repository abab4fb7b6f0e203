//! The command line that each runtime becomes, word by word.

use super::*;
use crate::{EnvChange, Resolved, Source};
use expect_test::{Expect, expect};
use std::path::PathBuf;

fn asked<T>(value: T) -> Resolved<T> {
    Resolved::new(value, Source::default("asked"))
}

fn plan(runtime: ContainerRuntime, image: Image) -> ContainerPlan {
    let row = Row::of(runtime);
    ContainerPlan {
        image: asked(image),
        runtime: asked(runtime),
        mounts: asked(vec![Mount {
            source: "{data}".to_owned(),
            target: "/data".to_owned(),
            read_only: row.mounts_read_only,
        }]),
        workdir: None,
        home: None,
        entrypoint: asked(false),
        writable: asked(row.is_writable),
        copy_to_node: asked(false),
        options: asked(vec!["--further".to_owned()]),
        kept_in: None,
        fetched_to: None,
    }
}

fn values() -> crate::Values {
    let local = PathBuf::from("/scratch/t/x");
    crate::Values {
        data: local.join("data"),
        checkpoints: local.join("checkpoints"),
        resume: local.join("resume"),
        resume_file: None,
        logs: "/runs/x/tensorboard".into(),
        run: "x".to_owned(),
        code: PathBuf::from("/r/code"),
        project: "shop".to_owned(),
        scratch: PathBuf::from("/r/scratch"),
    }
}

fn start(plan: &ContainerPlan, image: Option<&str>) -> ContainerStart {
    let place = ContainerPlace {
        run: "/runs/x",
        local: "/scratch/t/x",
        yard: "/opt/yard",
        cwd: "/runs/x/code",
        image,
        has_environment: true,
    };
    ContainerStart::new(plan, true, &place, &values()).unwrap()
}

/// As PLAI's scripts mount them: what the image has stays on the node, and so do folders that are made.
#[test]
fn an_image_on_the_node_with_folders_of_the_node() {
    let mount = |source: &str, target: &str| Mount {
        source: source.to_owned(),
        target: target.to_owned(),
        read_only: false,
    };
    let mounts = vec![mount("{local}/db", "/db"), mount("{data}/one.csv", "/one")];
    let own = ContainerPlan {
        copy_to_node: asked(true),
        mounts: asked(mounts),
        ..plan(
            ContainerRuntime::Singularity,
            Image::Sif("/i/torch.sif".into()),
        )
    };
    let local = std::path::Path::new("/scratch/t/x");
    let folders: Vec<PathBuf> = own.own_folders(local).collect();
    assert_eq!(folders, [local.join("db")]);
    let start = start(&own, None);
    assert_eq!(
        start.made,
        ["/scratch/t/x/home", "/scratch/t/x/tmp", "/scratch/t/x/db"]
    );
    assert_eq!(start.image, "/i/torch.sif");
    let words = start.words(&[], &[]);
    assert_eq!(
        words.last().map(String::as_str),
        Some("/scratch/t/x/image/torch.sif")
    );
    assert!(words.contains(&"--bind=/scratch/t/x/db:/db".to_owned()));
}

#[track_caller]
fn check(runtime: ContainerRuntime, image: Image, made: Option<&str>, want: Expect) {
    let start = start(&plan(runtime, image), made);
    let inside = BTreeMap::from([("RANK".to_owned(), "3".to_owned())]);
    let names: Vec<String> = inside.keys().cloned().collect();
    let words = start.words(&names, &["python3".to_owned(), "train.py".to_owned()]);
    let mut shown = String::new();
    for (name, change) in start.environment(&inside) {
        shown.push_str(&format!("{name} {change:?}\n"));
    }
    for option in start.srun_options() {
        shown.push_str(&format!("srun {option}\n"));
    }
    shown.push_str(&words.join("\n"));
    shown.push('\n');
    want.assert_eq(&shown);
}

/// Apptainer's start script evaluates what it sets inside, as a shell does between double quotes.
#[test]
fn a_value_with_a_dollar_sign_reaches_a_rank_in_apptainer_as_it_is() {
    for runtime in [ContainerRuntime::Apptainer, ContainerRuntime::Singularity] {
        let image = Image::Sif("/images/torch.sif".into());
        let start = start(&plan(runtime, image), None);
        let value = r"pa$$word `id` \n ${rank}";
        let inside = BTreeMap::from([("TOKEN".to_owned(), value.to_owned())]);
        let set: Vec<EnvChange> = start.environment(&inside).into_values().collect();
        let want = r"pa\$\$word \`id\` \\n \${rank}";
        assert_eq!(set, [EnvChange::Set(want.to_owned())]);
    }
}

#[test]
fn every_runtime_has_a_row_in_order() {
    let rows: Vec<ContainerRuntime> = ROWS.iter().map(|row| row.runtime).collect();
    assert_eq!(rows, ContainerRuntime::ALL);
    assert_eq!(WORDS.map(|(_, runtime)| runtime), ContainerRuntime::ALL);
    assert!(WORDS.iter().all(|(word, runtime)| *word == runtime.word()));
}

#[test]
fn apptainer_and_singularity() {
    let image = || Image::Sif("/images/torch.sif".into());
    check(
        ContainerRuntime::Apptainer,
        image(),
        None,
        expect![[r#"
            APPTAINERENV_RANK Set("3")
            apptainer
            exec
            --cleanenv
            --contain
            --nv
            --writable-tmpfs
            --home=/scratch/t/x/home
            --bind=/dev/shm
            --bind=/scratch/t/x/tmp:/tmp
            --bind=/runs/x:/runs/x
            --bind=/scratch/t/x:/scratch/t/x
            --bind=/scratch/t/x/data:/data:ro
            --pwd=/runs/x/code
            --further
            /images/torch.sif
            python3
            train.py
        "#]],
    );
    check(
        ContainerRuntime::Singularity,
        image(),
        None,
        expect![[r#"
            SINGULARITYENV_RANK Set("3")
            singularity
            exec
            --cleanenv
            --contain
            --nv
            --writable-tmpfs
            --home=/scratch/t/x/home
            --bind=/dev/shm
            --bind=/scratch/t/x/tmp:/tmp
            --bind=/runs/x:/runs/x
            --bind=/scratch/t/x:/scratch/t/x
            --bind=/scratch/t/x/data:/data:ro
            --pwd=/runs/x/code
            --further
            /images/torch.sif
            python3
            train.py
        "#]],
    );
}

#[test]
fn pyxis_and_enroot() {
    let image = || Image::Registry("nvcr.io/nvidia/pytorch:24.01".to_owned());
    check(
        ContainerRuntime::Pyxis,
        image(),
        None,
        expect![[r#"
            HOME Set("/scratch/t/x/home")
            srun --container-image=nvcr.io#nvidia/pytorch:24.01
            srun --container-mounts=/tmp:/tmp,/runs/x:/runs/x,/scratch/t/x:/scratch/t/x,/opt/yard:/opt/yard,/scratch/t/x/data:/data:ro
            srun --container-workdir=/runs/x/code
            srun --no-container-mount-home
            srun --no-container-entrypoint
            srun --container-writable
            srun --further
            python3
            train.py
        "#]],
    );
    let made = Some("/cache/9f/image.sqsh");
    check(
        ContainerRuntime::Enroot,
        image(),
        made,
        expect![[r#"
        NVIDIA_DRIVER_CAPABILITIES Default("compute,utility")
        NVIDIA_VISIBLE_DEVICES Default("all")
        enroot
        start
        --rw
        --mount
        /scratch/t/x/tmp:/tmp:none:x-create=auto,rbind
        --mount
        /runs/x:/runs/x:none:x-create=auto,rbind
        --mount
        /scratch/t/x:/scratch/t/x:none:x-create=auto,rbind
        --mount
        /scratch/t/x/data:/data:none:x-create=auto,rbind,ro
        --env
        RANK
        --env
        HOME=/scratch/t/x/home
        --further
        /cache/9f/image.sqsh
        /bin/sh
        -c
        cd "$0" && exec "$@"
        /runs/x/code
        python3
        train.py
    "#]],
    );
}

#[test]
fn charliecloud_and_podman() {
    let image = || Image::Folder("/images/torch".into());
    check(
        ContainerRuntime::Charliecloud,
        image(),
        None,
        expect![[r#"
        USER Default("user")
        ch-run
        --unset-env=LD_LIBRARY_PATH
        --unset-env=LD_PRELOAD
        --unset-env=PYTHONPATH
        --unset-env=PYTHONHOME
        --unset-env=VIRTUAL_ENV
        --unset-env=CONDA_*
        --unset-env=PYENV_*
        --unset-env=BASH_ENV
        --unset-env=ENV
        --unset-env=TMPDIR
        --set-env=PATH=/usr/local/nvidia/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
        --set-env
        --set-env=HOME=/scratch/t/x/home
        --bind=/scratch/t/x/tmp:/tmp
        --bind=/runs/x:/runs/x
        --bind=/scratch/t/x:/scratch/t/x
        --bind=/scratch/t/x/data:/data
        --cd=/runs/x/code
        --further
        /images/torch
        --
        python3
        train.py
    "#]],
    );
    check(
        ContainerRuntime::Podman,
        image(),
        None,
        expect![[r#"
            podman
            run
            --rm
            --network=host
            --pid=host
            --ipc=host
            --device=nvidia.com/gpu=all
            --volume=/scratch/t/x/tmp:/tmp
            --volume=/runs/x:/runs/x
            --volume=/scratch/t/x:/scratch/t/x
            --volume=/scratch/t/x/data:/data:ro
            --env-file=/images/torch/ch/environment
            --env=RANK
            --env=HOME=/scratch/t/x/home
            --workdir=/runs/x/code
            --further
            --rootfs
            /images/torch:O
            python3
            train.py
        "#]],
    );
}

/// Others end with what started them.
#[test]
fn a_container_that_goes_on_by_itself_has_a_name_and_is_ended_by_it() {
    for runtime in ContainerRuntime::ALL {
        let mut start = start(&plan(runtime, Image::Folder("/images/torch".into())), None);
        assert!(start.end_commands().is_empty());
        start.name = Some("trainyard-x.7.0.3".to_owned());
        let ends: Vec<String> = start.end_commands().iter().map(|it| it.join(" ")).collect();
        let is_podman = runtime == ContainerRuntime::Podman;
        let named = "--name=trainyard-x.7.0.3".to_owned();
        assert_eq!(start.words(&[], &[]).contains(&named), is_podman);
        let want: &[&str] = if is_podman {
            &[
                "podman kill trainyard-x.7.0.3",
                "podman rm --force trainyard-x.7.0.3",
            ]
        } else {
            &[]
        };
        assert_eq!(ends, want);
    }
}

#[test]
fn home_workdir_and_the_nodes_own_tmp() {
    let image = Image::Sif("/images/torch.sif".into());
    let mut plan = plan(ContainerRuntime::Apptainer, image);
    plan.workdir = Some(asked("/workspace".into()));
    plan.home = Some(asked("/work1/me".into()));
    plan.entrypoint = asked(true);
    plan.mounts = asked(vec![]);
    let place = ContainerPlace {
        run: "/runs/x",
        local: "/tmp/trainyard-0/x",
        yard: "/opt/yard",
        cwd: "/runs/x/code",
        image: None,
        has_environment: false,
    };
    let start = ContainerStart::new(&plan, false, &place, &values()).unwrap();
    expect!["apptainer run --cleanenv --contain --writable-tmpfs --home=/work1/me --bind=/dev/shm --bind=/tmp:/tmp --bind=/runs/x:/runs/x --bind=/tmp/trainyard-0/x:/tmp/trainyard-0/x --bind=/work1/me:/work1/me --pwd=/workspace --further /images/torch.sif true"].assert_eq(&start.words(&[], &["true".to_owned()]).join(" "));
}

#[test]
fn what_a_rank_gets_inside() {
    let rank = crate::RankCommand {
        task: 0,
        node: 0,
        env: BTreeMap::from([("MY_OWN".to_owned(), EnvChange::Set("1".to_owned()))]),
        argv: vec![],
        binding: None,
    };
    for name in [
        "MY_OWN",
        "SLURM_JOB_ID",
        "CUDA_VISIBLE_DEVICES",
        "NCCL_DEBUG",
    ] {
        assert!(is_passed(name, &rank), "{name}");
    }
    for name in ["PATH", "HOME", "LD_LIBRARY_PATH", "SSH_AUTH_SOCK"] {
        assert!(!is_passed(name, &rank), "{name}");
    }
}
