//! The container of a step, as Pyxis' options ask for it.

use super::{ContainerPlan, ContainerStart, Mount, PrivateCopy, Row, resolve};
use crate::{ContainerSection, Refusal, RefusalKind, Resolved, Source};
use model::{ContainerRuntime, StepContainer};
use std::path::Path;

/// Where the container of a step finds its image and the home folder.
#[derive(Clone, Copy, Debug)]
pub struct StepPlace<'a> {
    /// The image that was made ready.
    pub image: &'a str,
    /// Whether that has `/ch/environment`.
    pub has_environment: bool,
    /// Whether it is a container with a name, which changes stay in.
    pub is_named: bool,
    /// The home folder of the user.
    pub home: &'a str,
    /// The lock of the image or container in the cache.
    pub in_use: Option<&'a Path>,
    /// Whether there are GPUs.
    pub gpus: bool,
}

impl ContainerPlan {
    /// Of a step that is asked for in `cwd`, by whichever of these runtimes takes its image.
    ///
    /// # Errors
    /// There is none, or it can't do what is asked.
    pub fn of_step(
        asked: &StepContainer,
        runtimes: &[ContainerRuntime],
        cwd: &Path,
    ) -> Result<ContainerPlan, Refusal> {
        let absolute = |path: &str| cwd.join(path);
        let by = |flag: &str| Source::Flag {
            flag: flag.to_owned(),
        };
        let mounts = asked.mounts.iter().map(|mount| Mount {
            source: absolute(&mount.source).display().to_string(),
            target: Path::new("/").join(&mount.target).display().to_string(),
            read_only: mount.read_only,
        });
        let flag = |flag: &str, is_set: bool| is_set.then(|| Resolved::new(true, by(flag)));
        let image = asked.image.as_deref().unwrap_or_default();
        let mut section = ContainerSection {
            image: Some(Resolved::new(address(image), by("--container-image"))),
            mounts: Some(Resolved::new(mounts.collect(), by("--container-mounts"))),
            workdir: asked
                .workdir
                .clone()
                .map(|workdir| Resolved::new(workdir, by("--container-workdir"))),
            entrypoint: flag("--container-entrypoint", asked.entrypoint),
            ..ContainerSection::default()
        };
        let here = "this machine";
        let mut plan = resolve(section.clone(), &[], here, runtimes, absolute)?;
        // A copy of the image can be written to by every runtime.
        let is_copied = asked.save.is_some() || asked.name.is_some();
        let runtime = plan.as_ref().map(|plan| plan.runtime.value);
        if asked.writable && !is_copied && runtime.is_some_and(|one| Row::of(one).is_writable) {
            section.writable = flag("--container-writable", true);
            plan = resolve(section, &[], here, runtimes, absolute)?;
        }
        plan.ok_or_else(|| Refusal {
            kind: RefusalKind::Usage,
            message: "a container without an image".to_owned(),
            asked: "--container-…".to_owned(),
            there: "no --container-image".to_owned(),
            todo: "name an image with --container-image".to_owned(),
        })
    }
}

impl ContainerStart {
    /// Of a step: nothing is mounted but what was asked for, and what the runtime itself mounts.
    ///
    /// # Errors
    /// The container can't be kept as asked.
    pub fn of_step(
        asked: &StepContainer,
        plan: &ContainerPlan,
        place: &StepPlace<'_>,
        cwd: &Path,
    ) -> Result<ContainerStart, Refusal> {
        let runtime = plan.runtime.value;
        let save = asked.save.as_deref().map(|path| {
            let absolute = |text: &str| cwd.join(text);
            super::Image::named(path, absolute)
        });
        let is_written = asked.writable && !plan.writable.value;
        let copy = if (save.is_some() || is_written) && !place.is_named {
            let copy = PrivateCopy::of(runtime, place.image, save.as_ref());
            Some(copy.map_err(|saves| cannot_save(asked, runtime, saves))?)
        } else if save.is_some() {
            let saves = "a container with a name is kept under it";
            return Err(cannot_save(asked, runtime, saves));
        } else {
            None
        };
        let mut mounts = Vec::new();
        if asked.mount_home {
            mounts.push(Mount::same(place.home));
        }
        mounts.extend(plan.mounts.value.iter().cloned());
        Ok(ContainerStart {
            runtime,
            image: if copy.is_some() {
                PrivateCopy::PLACE.to_owned()
            } else {
                place.image.to_owned()
            },
            mounts,
            workdir: match &plan.workdir {
                Some(workdir) => workdir.value.display().to_string(),
                None => "/".to_owned(),
            },
            home: if asked.mount_home {
                place.home.to_owned()
            } else {
                String::new()
            },
            made: Vec::new(),
            on_node: None,
            entrypoint: plan.entrypoint.value,
            writable: plan.writable.value || place.is_named || copy.is_some(),
            gpus: place.gpus,
            has_environment: place.has_environment,
            image_variables: None,
            root: asked.root,
            is_own: place.is_named || copy.is_some(),
            copy,
            kept_variables: asked.variables.clone(),
            in_use: place.in_use.map(Path::to_owned),
            network_devices: Vec::new(),
            name: None,
            options: Vec::new(),
        })
    }
}

fn cannot_save(asked: &StepContainer, runtime: ContainerRuntime, saves: &str) -> Refusal {
    Refusal {
        kind: RefusalKind::Usage,
        message: format!("{runtime} can't save the container as it is asked for"),
        asked: format!(
            "--container-save={}",
            asked.save.as_deref().unwrap_or_default()
        ),
        there: saves.to_owned(),
        todo: "save it under another name".to_owned(),
    }
}

/// An image as a run file names it: Pyxis takes what is no path for an address, with a `#` after the
/// registry.
fn address(image: &str) -> String {
    if image.starts_with(['/', '.']) {
        return image.to_owned();
    }
    let address = image.strip_prefix("docker://").unwrap_or(image);
    if address.is_empty() {
        return String::new();
    }
    format!("docker://{}", address.replacen('#', "/", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_pyxis() {
        let check = |text: &str, want: &str| assert_eq!(address(text), want);
        check("ubuntu", "docker://ubuntu");
        check("nvcr.io#nvidia/a:1", "docker://nvcr.io/nvidia/a:1");
        check("docker://a/b", "docker://a/b");
        check("./image.sqsh", "./image.sqsh");
        check("/i/image", "/i/image");
    }
}
