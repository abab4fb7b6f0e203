//! From what a run file says of a container to the plan's.

use super::plan::from_where_it_lies;
use super::{ContainerPlan, Image, Row};
use crate::{ContainerSection, Refusal, RefusalKind, Resolved, Source};
use model::ContainerRuntime;
use std::path::{Path, PathBuf};

/// The container of a plan; `None` where no image is named. `modules` are those that a job loads,
/// `runtimes` those of the cluster.
///
/// # Errors
/// There is nothing that runs it, or that can't do what is asked.
pub(crate) fn resolve(
    asked: ContainerSection,
    modules: &[String],
    cluster: &str,
    runtimes: &[ContainerRuntime],
    absolute: impl Fn(&str) -> PathBuf,
) -> Result<Option<ContainerPlan>, Refusal> {
    let Some(image) = asked.image else {
        return match asked.first_source() {
            Some(source) => Err(no_image(&source)),
            None => Ok(None),
        };
    };
    let image = image.map(|text| Image::named(&text, &absolute));
    let runtime = runtime(asked.runtime, &image, modules, cluster, runtimes)?;
    let or = |why: &str| Source::default(why);
    let whole = |path: Resolved<String>| path.map(|path| absolute(&path));
    let plan = ContainerPlan {
        image,
        runtime,
        mounts: match asked.mounts {
            Some(mounts) => mounts.map(|mounts| {
                let place = |mut mount: super::Mount| {
                    let same = mount.target == mount.source;
                    if !mount.source.starts_with('{') {
                        mount.source = absolute(&mount.source).display().to_string();
                    }
                    if same {
                        mount.target = mount.source.clone();
                    }
                    mount
                };
                mounts.into_iter().map(place).collect()
            }),
            None => Resolved::new(Vec::new(), or("none")),
        },
        // Inside the container: against nothing of the run file's folder.
        workdir: asked
            .workdir
            .map(|path| path.map(|path| Path::new("/").join(path))),
        home: asked.home.map(whole),
        entrypoint: asked
            .entrypoint
            .unwrap_or_else(|| Resolved::new(false, or("the command starts by itself"))),
        writable: asked
            .writable
            .unwrap_or_else(|| Resolved::new(false, or("the image stays as it is"))),
        copy_to_node: asked.copy_to_node.unwrap_or_else(from_where_it_lies),
        options: asked
            .options
            .unwrap_or_else(|| Resolved::new(Vec::new(), or("none"))),
        kept_in: None,
        fetched_to: None,
    };
    check(&plan)?;
    Ok(Some(plan))
}

/// What was asked for, else what a module brings that the job loads, else what the cluster has and
/// can run the image.
fn runtime(
    asked: Option<Resolved<ContainerRuntime>>,
    image: &Resolved<Image>,
    modules: &[String],
    cluster: &str,
    there: &[ContainerRuntime],
) -> Result<Resolved<ContainerRuntime>, Refusal> {
    if let Some(asked) = asked {
        return Ok(asked);
    }
    let brings = |module: &String| {
        let name = module.split('/').next().unwrap_or_default();
        let all = ContainerRuntime::ALL.into_iter();
        let mut all = all.filter(|runtime| runtime.word().eq_ignore_ascii_case(name));
        Some((all.next()?, module.clone()))
    };
    let able = there
        .iter()
        .find(|runtime| (Row::of(**runtime).takes)(&image.value));
    if let Some(runtime) = able.or(there.first()) {
        let why = format!("{cluster} has it");
        return Ok(Resolved::new(*runtime, Source::cluster(why)));
    }
    if let Some((runtime, module)) = modules.iter().find_map(brings) {
        let why = format!("module {module} brings it");
        return Ok(Resolved::new(runtime, Source::default(why)));
    }
    let programs = ContainerRuntime::ALL
        .into_iter()
        .filter_map(ContainerRuntime::program);
    Err(Refusal {
        kind: RefusalKind::NeverFits,
        message: format!("nothing on {cluster} runs containers"),
        asked: format!("image = \"{}\" ({})", image.value, image.source),
        there: format!(
            "none of {} on PATH",
            programs.collect::<Vec<_>>().join(", ")
        ),
        todo:
            "install one of them, or name the one that the nodes have in [environment.container] \
               runtime; a module that brings it goes into [environment] modules"
                .to_owned(),
    })
}

fn no_image(source: &Source) -> Refusal {
    Refusal {
        kind: RefusalKind::Usage,
        message: "a container without an image".to_owned(),
        asked: format!("[environment.container] ({source})"),
        there: "no image in it".to_owned(),
        todo: "add image = \"docker://…\", or a .sif, .sqsh, folder or recipe".to_owned(),
    }
}

/// Refuses what the runtime can't do.
fn check(plan: &ContainerPlan) -> Result<(), Refusal> {
    let row = Row::of(plan.runtime.value);
    let runtime = row.runtime;
    let refuse = |asked: String, there: String, todo: &str| {
        Err(Refusal {
            kind: RefusalKind::Usage,
            message: format!("{runtime} can't run the container as it is asked for"),
            asked: format!("{asked}, runtime {runtime} ({})", plan.runtime.source),
            there,
            todo: todo.to_owned(),
        })
    };
    let image = &plan.image;
    if !(row.takes)(&image.value) {
        return refuse(
            format!("image = \"{}\" ({})", image.value, image.source),
            format!("{} · {runtime} runs {}", image.value.kind(), row.images),
            "name an image that it runs, in [cluster.NAME.environment.container] where clusters differ",
        );
    }
    if plan.entrypoint.value && !row.has_entrypoint {
        return refuse(
            format!("entrypoint = true ({})", plan.entrypoint.source),
            format!("{runtime} knows no entry points"),
            "leave it out, and write the entry point into command",
        );
    }
    if plan.writable.value && !row.is_writable {
        return refuse(
            format!("writable = true ({})", plan.writable.source),
            format!("{runtime} would write into the image itself, which runs share"),
            "writable = false, and mount a folder where the program writes",
        );
    }
    if plan.copy_to_node.value && runtime == ContainerRuntime::Pyxis {
        return refuse(
            format!("copy_to_node = true ({})", plan.copy_to_node.source),
            "srun unpacks the image on each node before anything of the run is there".to_owned(),
            "leave it out",
        );
    }
    let read_only = plan.mounts.value.iter().find(|mount| mount.read_only);
    if let Some(mount) = read_only.filter(|_| !row.mounts_read_only) {
        return refuse(
            format!(
                "a mount of {} for reading alone ({})",
                mount.source, plan.mounts.source
            ),
            format!("every mount of {runtime} can be written to, as far as the files' rights go"),
            "leave :ro out",
        );
    }
    Ok(())
}
