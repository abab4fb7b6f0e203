//! What starts a rank inside a container.

use super::{ContainerPlan, Image, Mount, PrivateCopy, Row};
use crate::placeholders::{UnknownPlaceholder, fill};
use crate::{EnvChange, Values};
use model::ContainerRuntime;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A container as the rank wrapper starts it: every path is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerStart {
    /// What runs it.
    pub runtime: ContainerRuntime,
    /// The image's file or folder, or with Pyxis its address.
    pub image: String,
    /// What of the node is seen inside.
    pub mounts: Vec<Mount>,
    /// Where the ranks start.
    pub workdir: String,
    /// The home folder, on the node and inside; empty for the image's own.
    pub home: String,
    /// Folders that are made on the node before.
    pub made: Vec<String>,
    /// Whether the image's entry point starts the ranks.
    pub entrypoint: bool,
    /// Whether the root file system can be written to.
    pub writable: bool,
    /// Whether the ranks use GPUs.
    pub gpus: bool,
    /// The image is a folder with variables of its own in `/ch/environment`, as `ch-image` leaves it.
    pub has_environment: bool,
    /// Those of them that are set inside, in a file of the node, where not all are.
    #[serde(skip)]
    pub image_variables: Option<PathBuf>,
    /// Whether its user is root inside, without a right more than outside.
    #[serde(default)]
    pub root: bool,
    /// Whether what is written goes into the image itself, which is the container's own.
    #[serde(default)]
    pub is_own: bool,
    /// How the image's copy is made and saved, where the container runs in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<PrivateCopy>,
    /// Where on the node's own disk the image is copied to before, and the container starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_node: Option<String>,
    /// A step's variables that keep their value of outside where the image has another; a rank's all do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept_variables: Vec<String>,
    /// A lock that is shared while the container runs: what it starts from stays as long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_use: Option<PathBuf>,
    /// Folders of devices that the node has for a faster network, and that a runtime which shows few devices gets
    /// by name: known on the node alone.
    #[serde(skip)]
    pub network_devices: Vec<String>,
    /// What the runtime calls it, where it keeps a list of its containers and another process may have to end it.
    #[serde(skip)]
    pub name: Option<String>,
    /// Further options of the runtime.
    pub options: Vec<String>,
}

/// Where a run's files lie on its nodes, and its image.
#[derive(Clone, Debug)]
pub struct ContainerPlace<'a> {
    /// The run folder, which holds the code.
    pub run: &'a str,
    /// The run's folder on the node's own disk.
    pub local: &'a str,
    /// Our own program.
    pub yard: &'a str,
    /// Where the ranks start outside.
    pub cwd: &'a str,
    /// The image that was made for the runtime; `None`: the plan's own file or folder.
    pub image: Option<&'a str>,
    /// Whether that has `/ch/environment`.
    pub has_environment: bool,
}

impl ContainerStart {
    /// Of a plan's container in one start of a job.
    ///
    /// # Errors
    /// A placeholder in a mount that isn't known: a plan that was made here has none.
    pub fn new(
        plan: &ContainerPlan,
        gpus: bool,
        place: &ContainerPlace<'_>,
        values: &Values,
    ) -> Result<ContainerStart, UnknownPlaceholder> {
        let local = place.local;
        let own_home = format!("{local}/home");
        let home = match &plan.home {
            Some(home) => home.value.display().to_string(),
            None => own_home.clone(),
        };
        let mut made = vec![own_home];
        // The node's own /tmp, where the run's folder lies in it, else one of the run: a container's
        // own is memory, and small.
        let is_pyxis = plan.runtime.value == ContainerRuntime::Pyxis;
        // Pyxis mounts before any process of ours could make a folder.
        let mut mounts = vec![if local.starts_with("/tmp/") || is_pyxis {
            Mount::same("/tmp")
        } else {
            let tmp = format!("{local}/tmp");
            made.push(tmp.clone());
            Mount {
                source: tmp,
                target: "/tmp".to_owned(),
                read_only: false,
            }
        }];
        mounts.extend([place.run, local].map(Mount::same));
        if is_pyxis {
            // The rank wrapper runs inside.
            mounts.push(Mount::same(place.yard));
        }
        if plan.home.is_some() {
            mounts.push(Mount::same(&home));
        }
        let known = known(values, place);
        for mount in &plan.mounts.value {
            let source = fill(&mount.source, &known)?;
            if mount.source.starts_with("{local}") {
                made.push(source.clone());
            }
            mounts.push(Mount {
                source,
                target: fill(&mount.target, &known)?,
                read_only: mount.read_only,
            });
        }
        let image = match (place.image, &plan.image.value) {
            (Some(made), _) => made.to_owned(),
            (None, Image::Registry(address)) => super::pyxis::address(address),
            (None, image) => image.to_string(),
        };
        Ok(ContainerStart {
            runtime: plan.runtime.value,
            mounts,
            workdir: match &plan.workdir {
                Some(workdir) => workdir.value.display().to_string(),
                None => place.cwd.to_owned(),
            },
            home,
            made,
            entrypoint: plan.entrypoint.value,
            writable: plan.writable.value,
            gpus,
            has_environment: place.has_environment,
            image_variables: None,
            root: false,
            is_own: false,
            copy: None,
            on_node: plan.copy_to_node.value.then(|| {
                let name = image.rsplit('/').next().unwrap_or("image");
                format!("{local}/image/{name}")
            }),
            image,
            kept_variables: Vec::new(),
            in_use: None,
            network_devices: Vec::new(),
            name: None,
            options: plan.options.value.clone(),
        })
    }

    /// The words that start a command inside; `variables` are the names of those that it gets.
    #[must_use]
    pub fn words(&self, variables: &[String], command: &[String]) -> Vec<String> {
        let on_node = self.on_node.clone().map(|image| ContainerStart {
            image,
            ..self.clone()
        });
        let container = on_node.as_ref().unwrap_or(self);
        let mut words = (Row::of(self.runtime).start)(container, variables);
        words.extend_from_slice(command);
        words
    }

    /// The commands that end it, one after the other, where killing what started it does not.
    #[must_use]
    pub fn end_commands(&self) -> Vec<Vec<String>> {
        let name = self.name.as_deref();
        name.map_or_else(Vec::new, Row::of(self.runtime).end)
    }

    /// What changes in the environment of the runtime itself, so that a variable is set inside.
    /// Values go this way and never by the command line, which every user of a node can read.
    #[must_use]
    pub fn environment(&self, variables: &BTreeMap<String, String>) -> BTreeMap<String, EnvChange> {
        (Row::of(self.runtime).environment)(self, variables)
    }

    /// Runs in a copy of its image as root, and saves it as `save` at the end; with Pyxis `srun` does.
    ///
    /// # Errors
    /// The runtime saves other kinds of images; in words which.
    pub fn keep_changes(&mut self, save: &Path) -> Result<(), &'static str> {
        self.root = true;
        if self.runtime == ContainerRuntime::Pyxis {
            let save = format!("--container-save={}", save.display());
            let root = "--container-remap-root".to_owned();
            self.options.extend([root, save]);
            self.writable = true;
            return Ok(());
        }
        let absolute = |text: &str| PathBuf::from(text);
        let save = Image::named(&save.display().to_string(), absolute);
        self.on_node = None;
        self.copy = Some(PrivateCopy::of(self.runtime, &self.image, Some(&save))?);
        self.image = PrivateCopy::PLACE.to_owned();
        self.is_own = true;
        self.writable = true;
        Ok(())
    }

    /// Whether what is mounted on has to be in the image before.
    #[must_use]
    pub fn needs_mount_points(&self) -> bool {
        self.runtime == ContainerRuntime::Charliecloud
    }

    /// Whether the image's variables would hold over those that a rank is started with.
    #[must_use]
    pub fn sets_image_variables(&self) -> bool {
        self.has_environment && self.runtime == ContainerRuntime::Charliecloud
    }

    /// Whether the variables that it gets by name hold over those of the image.
    #[must_use]
    pub fn puts_over_image(&self) -> bool {
        self.has_environment && self.runtime == ContainerRuntime::Podman
    }

    /// Options of `srun`, where that is what starts the container.
    #[must_use]
    pub fn srun_options(&self) -> Vec<String> {
        match self.runtime {
            ContainerRuntime::Pyxis => super::pyxis::options(self),
            _ => Vec::new(),
        }
    }
}

/// The placeholders of mounts.
fn known<'a>(values: &Values, place: &ContainerPlace<'_>) -> BTreeMap<&'a str, String> {
    let text = |path: &Path| path.display().to_string();
    BTreeMap::from([
        ("data", text(&values.data)),
        ("checkpoints", text(&values.checkpoints)),
        ("resume", text(&values.resume)),
        ("logs", text(&values.logs)),
        ("run", place.run.to_owned()),
        ("local", place.local.to_owned()),
    ])
}
