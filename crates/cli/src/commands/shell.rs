//! `yard shell`

use super::interrupt::Interrupt;
use super::making::Maker;
use super::resource_flags::ResourceFlags;
use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use clap::Args as ClapArgs;
use folder::{Attempt, LaunchFile};
use job::shell::{ShellData, ShellFile};
use model::{ContainerRuntime, NodeName};
use runs::{GivenResource, Planned, Ready, RunRequest, pin_program, places};
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::IsTerminal;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use sys::lock::FileLock;
use train::{
    ContainerPlace, ContainerStart, JobShape, Launcher, Plan, Rendezvous, Resolved, Source, Values,
    launch,
};

/// Folders of a shell, as placeholders name those of a run.
const PARTS: [&str; 5] = ["data", "checkpoints", "resume", "logs", "scratch"];

/// Open a shell with a run's resources, environment and container, on one node
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run file, or a folder that holds a yard.toml; this folder's if left out, and none with --image and --save
    file: Option<PathBuf>,
    /// The cluster: local for the embedded engine, or the name of the Slurm that answers here
    #[arg(long, value_name = "CLUSTER")]
    on: Option<String>,
    #[command(flatten)]
    resources: ResourceFlags,
    /// Open it in a container of this image: docker://…, a .sif or .sqsh file, a folder, a recipe
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Be root in a copy of the image, and save it as this new .sif or .sqsh file or folder when the
    /// shell ends
    #[arg(long, value_name = "NEW")]
    save: Option<PathBuf>,
    /// Run this instead of a shell
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs `yard shell`: an `srun` of one task, which becomes the shell.
pub fn run(args: Args, printer: &Printer) -> Outcome {
    let places = places()?;
    // Who names the image to change wants that alone, whatever the run file asks of nodes.
    let is_alone = args.image.is_some() && args.save.is_some();
    let here = !is_alone && Path::new("yard.toml").is_file();
    let here = here.then(|| PathBuf::from("."));
    let given = args.resources.given.into_iter();
    let given = given.map(|(flag, key, text)| GivenResource {
        flag: flag.to_owned(),
        key: key.to_owned(),
        text,
    });
    let request = RunRequest {
        file: args.file.or(here),
        on: args.on,
        resources: given.collect(),
        // The shell stands in the place of what a rank runs.
        command: vec!["sh".to_owned()],
        ..RunRequest::default()
    };
    let mut planned = request.plan(&places)?;
    if let Some(image) = &args.image {
        let facts = &planned.target.facts;
        let here = std::env::current_dir().unwrap_or_default();
        let put = planned.plan.environment.put_in(image, facts, &here);
        put.map_err(|refusal| {
            Failure::new(FailureKind::Usage, refusal.message.clone())
                .asked(refusal.asked)
                .there(refusal.there)
                .todo(refusal.todo)
        })?;
    }
    planned.leave_out_modules(job::environment::has_modules);
    planned.check()?;
    check_data(&planned.plan)?;
    let interrupt = Interrupt::watch()?;
    let ready = planned.prepare(&mut Maker {
        interrupt: &interrupt,
        printer,
    })?;
    check_made(&planned, &ready)?;
    drop(interrupt);
    one_task(&mut planned.plan, args.command);
    let (folder, held) = own_folder(&planned.places.scratch)?;
    // A node may have another /tmp than this program is in.
    let ended = pin_program(&planned.places.scratch).and_then(|yard| {
        let save = args.save.as_deref();
        open(&planned, &ready, (&folder, &yard), save, held, printer)
    });
    // Its home and what else was in it were the shell's.
    let _ = fs::remove_dir_all(&folder);
    ended
}

/// One task with what a node of the run has.
fn one_task(plan: &mut Plan, command: Vec<String>) {
    let one = |value| Resolved::new(value, Source::default("a shell"));
    plan.cpus_per_rank.value *= plan.ranks_per_node.value;
    plan.launcher = Resolved::new(Launcher::None, Source::default("a shell"));
    plan.nodes = one(1);
    plan.uneven = None;
    plan.ranks_per_node = one(1);
    plan.tasks_per_node = one(1);
    plan.repeats = one(1);
    plan.at_once = None;
    plan.command.value = match (command.is_empty(), &plan.environment.container) {
        (false, _) => command,
        // The one that every image with a shell has.
        (true, Some(_)) => vec!["/bin/sh".to_owned()],
        (true, None) => {
            let own = std::env::var(sys::env_vars::SHELL);
            vec![own.unwrap_or_else(|_| "/bin/bash".to_owned())]
        }
    };
}

/// Refuses what a job of its own has to make on a node, for which no shell waits.
fn check_made(planned: &Planned, ready: &Ready) -> Result<(), Failure> {
    let environment = ready.environment.as_ref();
    let image = ready.image.as_ref();
    let (what, asked) = if environment.is_some_and(|made| made.to_make.is_some()) {
        (
            "environment",
            planned.plan.environment.python.value.to_string(),
        )
    } else if image.is_some_and(|image| image.to_make) {
        let container = planned.plan.environment.container.as_ref();
        let image = container.map(|container| container.image.value.to_string());
        ("image", format!("image = {:?}", image.unwrap_or_default()))
    } else {
        return Ok(());
    };
    let cluster = &planned.target.facts.name;
    let what = format!("the {what} of the shell is not made yet");
    Err(Failure::new(FailureKind::Refused, what)
        .asked(asked)
        .there(format!(
            "nodes of {cluster} alone reach what it is made of (internet = \"compute\")"
        ))
        .todo("start a run that names it with yard run: a job of its own makes it, and it is kept"))
}

/// Refuses data that nothing could stage: a run's agents do before `srun` starts the ranks' containers, and of a shell
/// there is none outside of its container.
fn check_data(plan: &Plan) -> Result<(), Failure> {
    let stage = &plan.data.stage;
    if !runs_in_pyxis(plan) || stage.value.is_empty() {
        return Ok(());
    }
    let what = "a shell in a container of Pyxis has no data staged";
    Err(Failure::new(FailureKind::Refused, what)
        .asked(format!("[data] stage (from {})", stage.source))
        .there("srun starts the container before anything of the shell runs on the node")
        .todo(
            "leave out [data] stage and mount where the data lies with [environment.container] mounts, or choose \
             another runtime",
        ))
}

fn runs_in_pyxis(plan: &Plan) -> bool {
    let container = plan.environment.container.as_ref();
    container.is_some_and(|container| container.runtime.value == ContainerRuntime::Pyxis)
}

/// The shell's own folder, and the lock that tells that the shell is not over.
fn own_folder(scratch: &Path) -> Result<(PathBuf, FileLock), Failure> {
    let made = sys::random::<8>().and_then(|bytes| {
        let name: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let folder = job::shell::folder_in(scratch).join(name);
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        // What a run's node-local folder has, and a shell's variables and mounts name.
        for part in PARTS {
            builder.create(folder.join(part))?;
        }
        let held = FileLock::share(&job::shell::lock_of(&folder))?;
        Ok((folder, held))
    });
    made.map_err(|error| {
        let what = format!("{} can't be written: {error}", scratch.display());
        Failure::new(FailureKind::Io, what).todo("give yourself the right, or set TRAINYARD_HOME")
    })
}

fn open(
    planned: &Planned,
    ready: &Ready,
    (folder, yard): (&Path, &Path),
    save: Option<&Path>,
    held: FileLock,
    printer: &Printer,
) -> Outcome {
    let plan = &planned.plan;
    let data = staged(plan, folder);
    let local = data.as_ref().map_or(folder, |data| &data.folder);
    if let Some(container) = plan
        .environment
        .container
        .as_ref()
        .filter(|_| data.is_none())
    {
        // Pyxis mounts them before any process of the shell could make them.
        for own in container.own_folders(folder) {
            fs::create_dir_all(&own).map_err(|error| {
                let what = format!("{} can't be made: {error}", own.display());
                Failure::new(FailureKind::Io, what)
                    .todo("give yourself the right, or set TRAINYARD_HOME")
            })?;
        }
    }
    let mut launch = launch_file(planned, ready, (local, yard))?;
    if let Some(save) = save {
        keep_changes(launch.container.as_mut(), save)?;
    }
    let container = launch.container.as_ref();
    let mut options: Vec<OsString> = Vec::new();
    options.extend(plan.shell_options(&planned.base).iter().map(OsString::from));
    let of_container = container.map(ContainerStart::srun_options);
    options.extend(of_container.into_iter().flatten().map(OsString::from));
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        options.push("--pty".into());
    }
    let file = folder.join(job::shell::FILE);
    options.extend([yard.into(), "job".into(), "shell".into()]);
    options.push(file.clone().into_os_string());
    let shell = ShellFile {
        launch,
        secrets: ready.secrets.clone(),
        data,
    };
    shell.write(&file).map_err(|error| {
        let what = format!("{} can't be written: {error}", file.display());
        Failure::new(FailureKind::Io, what).todo("free space there")
    })?;
    if plan.embedded {
        let cluster = &planned.target.facts.name;
        return Ok(crate::slurm::srun::run_code(cluster, &options, printer));
    }
    // Its srun goes on where this process is killed. What no lock tells of is removed by yard clean alone.
    let _ = held.hand_on();
    let status = Command::new("srun").args(&options).status();
    let status = status.map_err(|error| {
        Failure::new(
            FailureKind::Unreachable,
            format!("srun can't be started: {error}"),
        )
    })?;
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(exit_code::FAILED))
}

/// What the node stages before the shell, on its own disk; its folder there stands in the place of the shell's.
fn staged(plan: &Plan, folder: &Path) -> Option<ShellData> {
    let name = folder.file_name()?.to_string_lossy().into_owned();
    let data = (!plan.data.stage.value.is_empty()).then(|| plan.data.clone())?;
    Some(ShellData::new(data, plan.node_local.value.clone(), name))
}

/// Has the container run in a copy of its image, which is saved when the shell has ended.
fn keep_changes(container: Option<&mut ContainerStart>, save: &Path) -> Result<(), Failure> {
    let failed = |what: String, there: &str, todo: &str| {
        Failure::new(FailureKind::Usage, what)
            .asked(format!("--save {}", save.display()))
            .there(there)
            .todo(todo)
    };
    let Some(container) = container else {
        let what = "there is no container to save".to_owned();
        let there = "the shell runs in no container";
        return Err(failed(what, there, "name the image with --image"));
    };
    let here = std::env::current_dir().unwrap_or_default();
    let save = here.join(save);
    if save.exists() {
        let what = format!("{} is there already", save.display());
        return Err(failed(
            what,
            "nothing is replaced",
            "save under another name",
        ));
    }
    container.keep_changes(&save).map_err(|saves| {
        let what = format!("{} can't save the image so", container.runtime.word());
        failed(what, saves, "save under another name")
    })
}

/// The launch of the shell, as a rank's: its files are in `folder` instead of a run's node-local one.
fn launch_file(
    planned: &Planned,
    ready: &Ready,
    (folder, yard): (&Path, &Path),
) -> Result<LaunchFile, Failure> {
    let plan = &planned.plan;
    let shape = JobShape {
        job: 0,
        restart: 0,
        nodes: vec![NodeName::new("localhost")],
        gpus: vec![plan.gpus_per_node.value],
        addresses: vec!["127.0.0.1".to_owned()],
    };
    let rendezvous = Rendezvous {
        address: "127.0.0.1".to_owned(),
        port: 0,
    };
    let values = Values {
        data: folder.join("data"),
        checkpoints: folder.join("checkpoints"),
        resume: folder.join("resume"),
        resume_file: None,
        logs: folder.join("logs"),
        run: "shell".to_owned(),
        code: planned.base.clone(),
        project: planned
            .base
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        scratch: folder.join("scratch"),
    };
    let unknown = |error: train::UnknownPlaceholder| {
        Failure::new(FailureKind::Usage, error.to_string()).todo("correct the run file")
    };
    let ranks = launch(plan, &shape, &rendezvous, &values)
        .map_err(unknown)?
        .ranks;
    let text = |path: &Path| path.display().to_string();
    let image = ready.image.as_ref();
    let path = image.and_then(|image| Some(text(image.path.as_deref()?)));
    let container = plan.environment.container.as_ref().map(|container| {
        let place = ContainerPlace {
            run: &text(&planned.base),
            local: &text(folder),
            yard: &text(yard),
            cwd: &text(&planned.base),
            image: path.as_deref(),
            has_environment: image.is_some_and(|image| image.has_environment),
        };
        // Those of a pretended cluster are numbers, which no runtime can make visible.
        let gpus = plan.gpus_per_node.value > 0 && (!plan.embedded || sys::gpus::are_there());
        ContainerStart::new(container, gpus, &place, &values)
    });
    let mut container = container.transpose().map_err(unknown)?;
    if let Some(container) = &mut container {
        container.in_use = job::cache::lock_of(Path::new(&container.image));
    }
    let made = ready.environment.as_ref().map(|made| made.path.as_path());
    Ok(LaunchFile {
        attempt: Attempt { job: 0, restart: 0 },
        cwd: planned.base.clone(),
        preludes: if runs_in_pyxis(plan) {
            Vec::new()
        } else {
            plan.environment.preludes(made)
        },
        container,
        count: 1,
        secrets: Vec::new(),
        head: None,
        ranks,
    })
}
