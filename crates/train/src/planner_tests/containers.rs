//! Containers in a plan.

use super::*;
use model::{ContainerFacts, ContainerRuntime};

fn with(
    mut facts: ClusterFacts,
    runtimes: &[ContainerRuntime],
    module: Option<&str>,
) -> ClusterFacts {
    facts.containers = ContainerFacts {
        runtimes: runtimes.to_vec(),
        module: module.map(str::to_owned),
        images: None,
        cache: None,
    };
    facts
}

#[test]
fn a_container_of_what_the_cluster_has() {
    let facts = with(wilson(), &[ContainerRuntime::Apptainer], Some("apptainer"));
    let text = "command = [\"train.py\"]\n[resources]\nnodes = 2\ngpus_per_node = 2\n\
        [environment]\nvariables = { NCCL_DEBUG = \"INFO\" }\nsecrets = [\"HF_TOKEN\"]\n\
        [environment.container]\nimage = \"docker://nvcr.io/nvidia/pytorch:24.01-py3\"\n\
        mounts = [\"{data}:/data:ro\", \"sets\"]\nhome = \"/work1/me\"\n";
    check(
        text,
        &[],
        &facts,
        expect![[r#"
            digits · wilson · 2 nodes × 2 GPUs = 4 ranks × 4 CPUs · 1 h a job

              launcher        srun                          there is more than one rank
              command         train.py                      from yard.toml:1
              command line    srun -N 2 -n 4 apptainer exec --cleanenv --contain --nv --home=/work1/me
                              --bind=/dev/shm --bind=NODE_LOCAL/tmp:/tmp --bind=RUN_FOLDER:RUN_FOLDER
                              --bind=NODE_LOCAL:NODE_LOCAL --bind=/work1/me:/work1/me --bind={data}:/data:ro
                              --bind=/home/me/digits/sets:/home/me/digits/sets --pwd=CODE IMAGE python3 train.py
                                                            what srun becomes
              gives           LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=FIRST_NODE MASTER_PORT=PORT
                              NODE_RANK=0 RANK=0 WORLD_SIZE=4
                                                            what srun gives the first task
              nodes           2                             from yard.toml:3
              gpus per node   2                             from yard.toml:4
              ranks per node  2                             srun: one rank per GPU
              cpus per rank   4                             a node's 32 CPUs for its 8 GPUs: the least of what
                                                            could be given
              cpu binding     each rank at its GPU's socket  where the job has enough CPUs there
              memory          46.9 GiB                      this share of a node's 187.5 GiB: the least of what
                                                            could be given
              time a job      1 h                           default of wilson
              modules         apptainer                     brings apptainer on wilson
              container       docker://nvcr.io/nvidia/pytorch:24.01-py3  from yard.toml:9
              runtime         apptainer                     wilson has it
              variable        NCCL_DEBUG=INFO               from yard.toml:6
              secrets         HF_TOKEN                      from yard.toml:7
              python          from PATH                     of the container's image
              checkpoints     all are kept                  default: no checkpoint is deleted
              comes back on   timeout, preemption, node-failure  default: a run continues until it is done
              grace           2 min                         default: to save a last checkpoint before the limit
              cluster         wilson                        4 nodes with 2 v100, 1 with 4 a100, 1 with 8 p100
        "#]],
    );
}

#[test]
fn several_clusters_with_one_file() {
    let text = "launcher = \"srun\"\ncommand = [\"./train\"]\n[environment.container]\n\
        image = \"docker://python:3.12\"\n";
    let line = |facts: &ClusterFacts| command_line(&planned(text, &[], facts).unwrap()).unwrap();
    let lines = ContainerRuntime::ALL.map(|runtime| line(&with(wilson(), &[runtime], None)));
    expect![[r#"
        srun -N 1 -n 1 apptainer exec --cleanenv --contain --home=NODE_LOCAL/home --bind=/dev/shm --bind=NODE_LOCAL/tmp:/tmp --bind=RUN_FOLDER:RUN_FOLDER --bind=NODE_LOCAL:NODE_LOCAL --pwd=CODE IMAGE ./train
        srun -N 1 -n 1 singularity exec --cleanenv --contain --home=NODE_LOCAL/home --bind=/dev/shm --bind=NODE_LOCAL/tmp:/tmp --bind=RUN_FOLDER:RUN_FOLDER --bind=NODE_LOCAL:NODE_LOCAL --pwd=CODE IMAGE ./train
        srun -N 1 -n 1 --container-image=python:3.12 --container-mounts=/tmp:/tmp,RUN_FOLDER:RUN_FOLDER,NODE_LOCAL:NODE_LOCAL,YARD:YARD --container-workdir=CODE --no-container-mount-home --no-container-entrypoint ./train
        srun -N 1 -n 1 enroot start --mount NODE_LOCAL/tmp:/tmp:none:x-create=auto,rbind --mount RUN_FOLDER:RUN_FOLDER:none:x-create=auto,rbind --mount NODE_LOCAL:NODE_LOCAL:none:x-create=auto,rbind --env HOME=NODE_LOCAL/home IMAGE /bin/sh -c 'cd "$0" && exec "$@"' CODE ./train
        srun -N 1 -n 1 ch-run --unset-env=LD_LIBRARY_PATH --unset-env=LD_PRELOAD --unset-env=PYTHONPATH --unset-env=PYTHONHOME --unset-env=VIRTUAL_ENV '--unset-env=CONDA_*' '--unset-env=PYENV_*' --unset-env=BASH_ENV --unset-env=ENV --unset-env=TMPDIR --set-env=PATH=/usr/local/nvidia/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --set-env=HOME=NODE_LOCAL/home --bind=NODE_LOCAL/tmp:/tmp --bind=RUN_FOLDER:RUN_FOLDER --bind=NODE_LOCAL:NODE_LOCAL --cd=CODE IMAGE -- ./train
        srun -N 1 -n 1 podman run --rm --network=host --pid=host --ipc=host --read-only --volume=NODE_LOCAL/tmp:/tmp --volume=RUN_FOLDER:RUN_FOLDER --volume=NODE_LOCAL:NODE_LOCAL --env=HOME=NODE_LOCAL/home --workdir=CODE --rootfs IMAGE:O ./train"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn what_a_container_can_not_be() {
    let one = |runtime| with(laptop(2, vec![]), &[runtime], None);
    let container = |rest: &str| format!("command = [\"x\"]\n{rest}\n");
    let rows = [
        (
            container("[environment.container]\nimage = \"a\""),
            laptop(2, vec![]),
        ),
        (
            container("[environment.container]\nwritable = true"),
            one(ContainerRuntime::Podman),
        ),
        (
            container("[environment.container]\nimage = \"a.sif\""),
            one(ContainerRuntime::Charliecloud),
        ),
        (
            container("[environment.container]\nimage = \"a\"\nwritable = true"),
            one(ContainerRuntime::Charliecloud),
        ),
        (
            container("[environment.container]\nimage = \"a\"\nmounts = [\"/a:/b:ro\"]"),
            one(ContainerRuntime::Charliecloud),
        ),
        (
            container("[environment.container]\nimage = \"a\"\nentrypoint = true"),
            one(ContainerRuntime::Podman),
        ),
        (
            container("[environment]\nvenv = \"v\"\n[environment.container]\nimage = \"a\""),
            one(ContainerRuntime::Podman),
        ),
        (
            container("launcher = \"mpi\"\n[environment.container]\nimage = \"docker://a\""),
            one(ContainerRuntime::Pyxis),
        ),
    ];
    let shown = rows.map(|(text, facts)| planned(&text, &[], &facts).unwrap_err());
    expect![[r#"
        nothing on this machine runs containers
          asked   image = "/home/me/digits/a" (yard.toml:3)
          there   none of apptainer, singularity, enroot, ch-run, podman on PATH
          do      install one of them, or name the one that the nodes have in [environment.container] runtime; a module that brings it goes into [environment] modules
        a container without an image
          asked   [environment.container] (yard.toml:3)
          there   no image in it
          do      add image = "docker://…", or a .sif, .sqsh, folder or recipe
        charliecloud can't run the container as it is asked for
          asked   image = "/home/me/digits/a.sif" (yard.toml:3), runtime charliecloud (this machine has it)
          there   a .sif file · charliecloud runs an image in a registry, .sqsh, a folder or a Dockerfile
          do      name an image that it runs, in [cluster.NAME.environment.container] where clusters differ
        charliecloud can't run the container as it is asked for
          asked   writable = true (yard.toml:4), runtime charliecloud (this machine has it)
          there   charliecloud would write into the image itself, which runs share
          do      writable = false, and mount a folder where the program writes
        charliecloud can't run the container as it is asked for
          asked   a mount of /a for reading alone (yard.toml:4), runtime charliecloud (this machine has it)
          there   every mount of charliecloud can be written to, as far as the files' rights go
          do      leave :ro out
        podman can't run the container as it is asked for
          asked   entrypoint = true (yard.toml:4), runtime podman (this machine has it)
          there   podman knows no entry points
          do      leave it out, and write the entry point into command
        venv beside a container
          asked   image = "/home/me/digits/a" (yard.toml:5), venv (yard.toml:3)
          there   the ranks run the Python of the image
          do      leave venv out, and install what it has into the image
        launcher mpi with a container of Pyxis
          asked   image = "docker://a" (yard.toml:4), launcher = "mpi" (yard.toml:2)
          there   Pyxis starts tasks of srun, and here another program starts the ranks
          do      runtime = "enroot" in [environment.container], or another launcher"#]].assert_eq(&shown.join("\n"));
}

#[test]
fn a_module_can_bring_the_runtime() {
    let text = "command = [\"x\"]\n[environment]\nmodules = [\"singularity/3.8\"]\n\
        [environment.container]\nimage = \"a.sif\"\n";
    let plan = planned(text, &[], &wilson()).unwrap();
    let container = plan.environment.container.unwrap();
    assert_eq!(container.runtime.value, ContainerRuntime::Singularity);
    // A cluster's module is loaded, unless the run loads one of that name.
    let facts = with(
        wilson(),
        &[ContainerRuntime::Singularity],
        Some("singularity"),
    );
    let plan = planned(text, &[], &facts).unwrap();
    assert_eq!(plan.environment.modules.value, ["singularity/3.8"]);
    let text = "command = [\"x\"]\n[environment.container]\nimage = \"a.sif\"\n";
    let plan = planned(text, &[], &facts).unwrap();
    assert_eq!(plan.environment.modules.value, ["singularity"]);
}

#[test]
fn a_users_own_python_gives_way_to_a_container() {
    let (run_file, _) = RunFile::parse(
        "command = [\"x\"]\n[environment.container]\nimage = \"a.sif\"\n",
        "yard.toml",
    );
    let (config, problems) = RunFile::parse_user_config(
        "[environment]\nconda = \"mine\"\n[environment.container]\noptions = [\"--x\"]\n",
        "config.toml",
        Path::new("/home/me/.config/trainyard"),
    );
    assert_eq!(problems, []);
    let facts = with(wilson(), &[ContainerRuntime::Apptainer], None);
    let (variables, overrides) = (Variables::default(), Overrides::default());
    let input = |run_file| PlanInput {
        user_config: Some(&config),
        run_file: Some(run_file),
        variables: &variables,
        overrides: &overrides,
        facts: &facts,
        base: Path::new("/home/me/digits"),
        default_name: "digits",
    };
    let plan = crate::plan(&input(&run_file)).unwrap().environment;
    assert_eq!(plan.python.value, crate::Python::AsItIs);
    assert_eq!(plan.container.unwrap().options.value, ["--x"]);
    let (plain, _) = RunFile::parse("command = [\"x\"]\n", "yard.toml");
    let plan = crate::plan(&input(&plain)).unwrap().environment;
    assert_eq!(plan.container, None);
}

#[test]
fn own_variables_go_below_those_of_a_launcher() {
    let text = "launcher = \"srun\"\ncommand = [\"x\"]\n[environment.variables]\nRANK = \"7\"\n\
        OMP_NUM_THREADS = \"3\"\nWHERE = \"{data}/in\"\n";
    let ranks = launches::ranks(text, &laptop(2, vec![]), None);
    let env = &ranks[0].env;
    let set = |value: &str| crate::EnvChange::Set(value.to_owned());
    assert_eq!(env["RANK"], set("0"));
    assert_eq!(env["OMP_NUM_THREADS"], set("3"));
    assert!(matches!(&env["WHERE"], crate::EnvChange::Set(at) if at.ends_with("/in")));
}
