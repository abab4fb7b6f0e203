//! `docs/containers.md`

use super::launchers::sample_of;
use super::table;
use model::ContainerRuntime;
use train::{about_runtime, command_line};

/// The page.
pub fn page() -> String {
    let mut page = INTRO.to_owned();
    let row = |runtime: &ContainerRuntime| {
        let (doc, images) = about_runtime(*runtime);
        let tested = match runtime {
            ContainerRuntime::Charliecloud => "run for real, with two nodes and a registry",
            ContainerRuntime::Podman => {
                "run for real with two nodes, where the machine lets Podman start containers, and by stand-ins that check its command lines"
            }
            ContainerRuntime::Pyxis => "the options are compared, none is run",
            _ => "run by a stand-in that checks the command line",
        };
        vec![
            format!("[`\"{runtime}\"`](#{runtime})"),
            images.to_owned(),
            doc.to_owned(),
            tested.to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = ContainerRuntime::ALL.iter().map(row).collect();
    let head = ["runtime", "images", "what it does", "in our tests"];
    page.push_str(&table(&head, &rows));
    page.push_str(COMMON);
    for runtime in ContainerRuntime::ALL {
        page.push_str(&section(runtime));
    }
    page
}

const INTRO: &str = r#"# Containers

<!-- Made of the runtimes' own table (crates/train/src/containers):
     UPDATE_EXPECT=1 cargo test --release -p yard-cli --bin yard reference -->

With `[environment.container]` in a [run file](run-file.md#environmentcontainer) the ranks run inside a
container. The same run file works with whatever runs containers on the cluster.

```toml
launcher = "srun"
command = ["train.py", "--data", "/data"]

[environment.container]
image = "docker://nvcr.io/nvidia/pytorch:24.01-py3"
mounts = ["{data}:/data"]
```

`runtime` is what the run file names, else `[containers] runtime` of the [cluster file](cluster-files.md),
else the first of the table whose program is on `PATH` and that runs such an image, else what a module of
`[environment] modules` brings, such as `apptainer/1.1.3`. `yard plan` shows it, with the command line.

"#;

const COMMON: &str = r#"With every runtime:

- The run folder, which holds the copy of the code, and the run's folder on the node's own disk, with
  `{data}`, `{checkpoints}` and the home folder inside, are mounted at the same paths; so checkpoints,
  staged data and `{logs}` work as without a container. `/tmp` is on the node's disk. Nothing else of the
  node is seen, but what `mounts` and `home` name.
- With `copy_to_node = true` the image is copied to each node's own disk before the ranks start from it, once
  for a start of the job. `{local}` in `mounts` is the run's folder on that disk, of which folders are made:
  `"{local}/db:/db"` is an empty `/db` there. An image that lies in the folder of the code is not copied with it.
- The ranks start in the copy of the code, or in `workdir`.
- A rank has the variables of its launcher, of `[environment] variables` and `secrets`, and those whose
  names begin with `SLURM_`, `PMI_`, `PMIX_`, `OMPI_`, `CUDA_`, `NVIDIA_`, `NCCL_`, `YARD_` and the like.
  Other variables of the node stay outside, but for Charliecloud and Pyxis, which hand on all: of
  Charliecloud's those are removed that lead an image's programs astray. What a rank has from outside holds where
  the image sets the same variable. Charliecloud and Podman, which start from folders, find the image's own in
  `/ch/environment` there. Values never stand in a command line.
- The rank wrapper, which hands on signals and writes down how a rank ended, stays outside of the
  container; with Pyxis, where `srun` itself starts the containers, it runs inside, and the image needs a C
  library as new as that of `yard`. No command of Slurm is needed in an image.
- `launcher = "mpi"`: `mpirun` runs outside and starts each rank in its container, so the image's MPI must
  fit the one outside.
- `venv`, `requirements` and `conda` are refused beside a container: the ranks run the image's Python.
- Ranks of a node share its `/dev/shm`, and where the node has `/dev/infiniband` they see that: Apptainer and Podman get an option
  for it (the latter with the node's own limits, as such a network locks memory), the others show it by themselves.
- Podman needs root, or a user with ids of its own below (`/etc/subuid`, `newuidmap`). On isolated nodes of a virtual cluster that
  a user other than root started it starts no container: Charliecloud does.
- GPUs are made visible by the runtime: `--nv`, Enroot's hook, Podman's `--device=nvidia.com/gpu=all`.
  Charliecloud has no such option: `ch-fromhost --nvidia` puts the driver's libraries into an image once. A plan for
  GPUs says so, unless `image` is a folder that has them.
- An image's folder stays as it is. What Charliecloud has to mount on and the folder lacks (what `mounts` names, and
  `/dev`, `/proc`, `/sys`, `/tmp` and files of `/etc`, which it mounts by itself), the ranks see beside it, by an overlay that nothing else sees; a system that has none for users says so: make such a
  folder in the image then, or use `copy_to_node = true`.
- A mount with `:ro` is refused with Charliecloud, whose `--bind` knows none.
- An image of `ch-image`'s storage is named as a folder that was made of it: `ch-convert NAME FOLDER`, then
  `image = "FOLDER"`.

Charliecloud and Podman start from folders: a `.sqsh` file is unpacked into one by `unsquashfs`. An image in a registry, a recipe, and such a
file, are made ready when the run is submitted, on the machine where the
command is given, once: a `.sif` file, a `.sqsh` file or a folder below `[containers] images` of the cluster file, else
in the cache on the cluster's scratch or at home ([cluster files](cluster-files.md#the-tables)). Two runs that need the same wait for each other, and one that was
half made is made anew. A recipe is built again when it or a file that it copies (`COPY`, `ADD`, `%files`, relative to
the recipe) has changed; of a file over 1 MiB its size and time count. What `.dockerignore` or `.containerignore` leaves out, beside the
recipe or with its name before (`Dockerfile.dockerignore`), is neither copied nor counted, whichever runtime builds. A tag is fetched once, and what another tag
has fetched already is taken from there. The digest that it named then is recorded with the run, where the
registry tells it, and `yard show` shows it; a later run says when the tag names another image by then: to have
that, remove the image from the cache or name its digest, `docker://python@sha256:…`. `curl` asks for it. Where the
cluster file says `internet = "compute"`, a job of its own makes the image ready on a node, for which the run waits,
of files as they were when the run was submitted: up to 200 MB of them are copied then;
`yard requeue` submits one that failed again. Where the cluster reaches no registry (`internet = "none"`), a run is
refused before anything is submitted.

## Steps, scripts and shells with an image

`srun`, `sbatch` and `salloc` of the embedded engine take Pyxis' options, also as `#SBATCH` lines and as
`PYXIS_CONTAINER_…` variables, and run what they start by the first runtime of the table above that is on
`PATH` and takes the image:

```
srun -N 2 --container-image=nvcr.io#nvidia/pytorch:24.01-py3 --container-mounts=$PWD:/code python -u /code/train.py
```

With `sbatch` the script itself is inside, with `salloc` its steps are. The whole environment goes along; where
the image sets a variable too, its value holds unless `--container-env` names it. What `--container-writable`
lets a task change is lost, what is changed under a `--container-name` stays in `containers` of the user's
cache until `yard cache prune --all`, and `--container-save` writes a new image.

`yard shell --image docker://ubuntu:24.04 --save mine` opens a shell in a copy of an image, as its root, and
saves it as a new folder, `.sqsh` or `.sif` file when the shell ends; without `--save` it opens one in the image.

## Command lines

Below, each on two nodes. `IMAGE` is the image that was made ready, `RUN_FOLDER`, `NODE_LOCAL` and `CODE`
are the run's own folders. Enroot and Podman also get `--env NAME` for each variable of a rank; Apptainer gets
them as `APPTAINERENV_NAME`, and Singularity as `SINGULARITYENV_NAME`. Podman's containers have names, `trainyard-RUN.JOB.RESTART.RANK`:
where `podman run` is killed they would go on, and are ended by `podman kill` and `podman rm`.

"#;

fn section(runtime: ContainerRuntime) -> String {
    let text = "launcher = \"srun\"\ncommand = [\"train.py\"]\n[resources]\nnodes = 2\n\
                [environment.container]\nimage = \"docker://nvcr.io/nvidia/pytorch:24.01-py3\"\n\
                mounts = [\"{data}:/data\"]\n";
    let line = command_line(&sample_of(text, &[runtime])).unwrap_or_default();
    format!("## `{runtime}`\n\n```\n{line}\n```\n\n")
}
