//! `[environment.container]`: the container that the ranks run in.

use super::choices::words;
use super::{Choice, Key, KeyDefault, KeyRow, Section, Value};
use crate::containers::{Mount, WORDS};
use crate::reader::{Raw, Reader, span};
use crate::{ContainerSection, Resolved, Source};
use model::ContainerRuntime;
use std::path::Path;

impl Choice for ContainerRuntime {
    const WORDS: &'static [(&'static str, ContainerRuntime)] = &WORDS;
}

impl Section for ContainerSection {
    const KEYS: &'static [Key<ContainerSection>] = &[
        Key {
            row: KeyRow {
                name: "image",
                value: Value::Text,
                default: KeyDefault::Described("no container"),
                flag: None,
                doc: "The image: `docker://ADDRESS`, a `.sif` or `.sqsh` file, a folder with a root \
                      file system, or a recipe, `.def` or `Dockerfile`. One in a registry and a \
                      recipe are made ready before the job, once, and kept in the cache.",
                example: "\"docker://python:3.12\"",
            },
            read: |row, own, reader, raw| own.image = image(row, reader, raw),
        },
        Key {
            row: KeyRow {
                name: "runtime",
                value: Value::OneOf(words::<ContainerRuntime>),
                default: KeyDefault::Described("what the cluster has"),
                flag: None,
                doc: "What runs the container.",
                example: "\"apptainer\"",
            },
            read: |row, own, reader, raw| own.runtime = reader.word(row, raw),
        },
        Key {
            row: KeyRow {
                name: "mounts",
                value: Value::Mounts,
                default: KeyDefault::Is("[]"),
                flag: None,
                doc: "Folders and files of the node that are seen inside, as `SOURCE:TARGET` or \
                      `SOURCE:TARGET:ro`; a SOURCE alone has the same path inside. `{data}`, \
                      `{checkpoints}`, `{logs}`, `{run}`, the run folder, and `{local}`, the run's \
                      folder on the node's disk, can stand in them; folders of `{local}` are made. \
                      The last two are always there.",
                example: "[\"{data}:/data\", \"{local}/db:/db\", \"/datasets:/datasets:ro\"]",
            },
            read: |row, own, reader, raw| {
                let Some(texts) = reader.texts(row, raw) else {
                    return;
                };
                let mut mounts = Vec::new();
                for text in &texts.value {
                    match Mount::read(text) {
                        Ok(mount) => mounts.push(mount),
                        Err(problem) => {
                            let message = format!("{text:?} is no mount");
                            reader.complain(span(raw), message, "", problem.0);
                            return;
                        }
                    }
                    if let Some(name) = unknown_placeholder(text) {
                        let message = format!("unknown placeholder {{{name}}} in a mount");
                        let help = "known are {data} {checkpoints} {resume} {logs} {run} {local}";
                        reader.complain(span(raw), message, "", help);
                        return;
                    }
                }
                own.mounts = Some(texts.map(|_| mounts));
            },
        },
        Key {
            row: KeyRow {
                name: "workdir",
                value: Value::Text,
                default: KeyDefault::Described("the copy of the code"),
                flag: None,
                doc: "Where the ranks start inside: an absolute path.",
                example: "\"/workspace\"",
            },
            read: |row, own, reader, raw| own.workdir = reader.text(row, raw),
        },
        Key {
            row: KeyRow {
                name: "home",
                value: Value::Path,
                default: KeyDefault::Described("an empty folder on the node's disk"),
                flag: None,
                doc: "The home folder inside.",
                example: "\"/work1/my-project\"",
            },
            read: |row, own, reader, raw| own.home = reader.text(row, raw),
        },
        Key {
            row: KeyRow {
                name: "entrypoint",
                value: Value::Switch,
                default: KeyDefault::Is("false"),
                flag: None,
                doc: "Whether the image's entry point starts the command.",
                example: "true",
            },
            read: |row, own, reader, raw| own.entrypoint = reader.switch(row, raw),
        },
        Key {
            row: KeyRow {
                name: "writable",
                value: Value::Switch,
                default: KeyDefault::Is("false"),
                flag: None,
                doc: "Whether the ranks can write to the root file system. What they write is lost \
                      with the container.",
                example: "true",
            },
            read: |row, own, reader, raw| own.writable = reader.switch(row, raw),
        },
        Key {
            row: KeyRow {
                name: "copy_to_node",
                value: Value::Switch,
                default: KeyDefault::Is("false"),
                flag: None,
                doc: "Whether the image is copied to each node's own disk, once for a start of the job, and \
                      the ranks start from there: many that read one file of a shared disk are slow.",
                example: "true",
            },
            read: |row, own, reader, raw| own.copy_to_node = reader.switch(row, raw),
        },
        Key {
            row: KeyRow {
                name: "options",
                value: Value::Texts,
                default: KeyDefault::Is("[]"),
                flag: None,
                doc: "Further options of the runtime's own command line; with Pyxis of `srun`.",
                example: "[\"--fakeroot\"]",
            },
            read: |row, own, reader, raw| own.options = reader.texts(row, raw),
        },
    ];
}

/// An image. What has a tag and is no path is in a registry: `python:3.12`.
fn image(row: &KeyRow, reader: &mut Reader<'_>, raw: Raw<'_>) -> Option<Resolved<String>> {
    let image = reader.text(row, raw)?;
    let name = image.value.as_str();
    let is_path = name.starts_with(['/', '.']) || name.contains("://");
    let has_tag = name
        .rsplit_once(':')
        .is_some_and(|(_, tag)| !tag.contains('/'));
    if !is_path && has_tag {
        let help = format!(
            "write \"docker://{name}\" for an image in a registry, \"./{name}\" for a file or folder"
        );
        let message = format!("{name:?} does not say where the image is");
        reader.complain(span(raw), message, "", help);
        return None;
    }
    Some(image)
}

/// A placeholder of a mount that isn't known there.
fn unknown_placeholder(text: &str) -> Option<&str> {
    let names = text.split('{').skip(1);
    let mut names = names.filter_map(|rest| Some(rest.split_once('}')?.0));
    let known = ["data", "checkpoints", "resume", "logs", "run", "local"];
    names.find(|name| !known.contains(name))
}

impl ContainerSection {
    /// Puts paths that are not absolute into a folder.
    pub(crate) fn place_in(&mut self, folder: &Path) {
        let place = |path: &mut String| {
            if !path.starts_with("docker://") && !path.starts_with('{') {
                *path = folder.join(&path).display().to_string();
            }
        };
        if let Some(image) = &mut self.image {
            place(&mut image.value);
        }
        if let Some(home) = &mut self.home {
            place(&mut home.value);
        }
        for mount in self.mounts.iter_mut().flat_map(|mounts| &mut mounts.value) {
            let same = mount.source == mount.target;
            place(&mut mount.source);
            if same {
                mount.target.clone_from(&mount.source);
            }
        }
    }

    /// Where the first of its values comes from that a person set, and that is no default.
    pub(crate) fn first_source(&self) -> Option<Source> {
        let texts = [&self.image, &self.workdir, &self.home].into_iter();
        let texts = texts.filter_map(|value| Some(value.as_ref()?.source.clone()));
        let switches = [&self.entrypoint, &self.writable, &self.copy_to_node];
        let switches = switches.into_iter().flatten();
        let switches = switches
            .filter(|switch| switch.value)
            .map(|switch| switch.source.clone());
        let runtime = self.runtime.as_ref().map(|value| value.source.clone());
        let mounts = self.mounts.iter().filter(|mounts| !mounts.value.is_empty());
        let options = self
            .options
            .iter()
            .filter(|options| !options.value.is_empty());
        texts
            .chain(switches)
            .chain(runtime)
            .chain(mounts.map(|mounts| mounts.source.clone()))
            .chain(options.map(|options| options.source.clone()))
            .find(|source| !source.is_habit())
    }
}
