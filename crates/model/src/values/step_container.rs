//! The container of a step or script, as Pyxis' options ask for it.

/// What `--container-image` and its like ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepContainer {
    /// `--container-image`
    pub image: Option<String>,
    /// `--container-mounts`, in their order.
    pub mounts: Vec<StepMount>,
    /// `--container-workdir`
    pub workdir: Option<String>,
    /// `--container-name`, without what follows its colon.
    pub name: Option<String>,
    /// What follows that colon.
    pub use_of_name: UseOfName,
    /// `--container-save`
    pub save: Option<String>,
    /// `--container-mount-home`
    pub mount_home: bool,
    /// `--container-remap-root`
    pub root: bool,
    /// `--container-entrypoint`
    pub entrypoint: bool,
    /// `--container-writable`
    pub writable: bool,
    /// `--container-env`: variables that keep their value of outside.
    pub variables: Vec<String>,
}

/// Whether a container of a name is made or was made before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UseOfName {
    /// `auto`: made where it is not there.
    #[default]
    Auto,
    /// `create`: it must not be there.
    Create,
    /// `exec` or `no_exec`: it must be there.
    There,
}

/// A folder or file of the node inside a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepMount {
    /// On the node, as written.
    pub source: String,
    /// In the container, as written.
    pub target: String,
    /// `ro`
    pub read_only: bool,
}

impl StepContainer {
    /// Whether a container is asked for.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.image.is_some() || self.name.is_some()
    }

    /// Takes `SRC[:DST[:FLAGS]]`, several with commas between them; flags with `+` between them.
    /// The error is what Pyxis says.
    pub(crate) fn add_mounts(&mut self, text: &str) -> Result<(), String> {
        for entry in text.split(',') {
            let invalid = || format!("pyxis: --container-mounts: invalid format: {entry}");
            let mut parts = entry.splitn(3, ':');
            let source = parts.next().filter(|source| !source.is_empty());
            let source = source.ok_or_else(invalid)?;
            let target = parts.next().unwrap_or(source);
            if target.is_empty() {
                return Err(invalid());
            }
            if source == "tmpfs" || source == "umount" {
                return Err(format!(
                    "pyxis: {source} is not supported as a source of --container-mounts here"
                ));
            }
            if !source.starts_with(['/', '.']) {
                return Err(
                    "pyxis: mount source must be a relative path, an absolute path, \
                            \"tmpfs\" or \"umount\""
                        .to_owned(),
                );
            }
            if !target.starts_with(['/', '.']) {
                return Err(
                    "pyxis: mount target must be a relative path or an absolute path".to_owned(),
                );
            }
            let mut flags = parts.next().unwrap_or_default().split('+');
            let mount = StepMount {
                source: source.to_owned(),
                target: target.to_owned(),
                read_only: flags.any(|flag| flag == "ro"),
            };
            if !self.mounts.contains(&mount) {
                self.mounts.push(mount);
            }
        }
        Ok(())
    }

    /// Takes `NAME[:auto|create|exec|no_exec]`.
    pub(crate) fn set_name(&mut self, text: &str) -> Result<(), String> {
        let (name, how) = text.split_once(':').unwrap_or((text, ""));
        if name.is_empty() {
            return Err("pyxis: --container-name: empty name".to_owned());
        }
        self.use_of_name = match how {
            "" | "auto" => UseOfName::Auto,
            "create" => UseOfName::Create,
            "exec" | "no_exec" => UseOfName::There,
            _ => {
                return Err(
                    "pyxis: --container-name: flag must be \"auto\", \"create\", \
                            \"exec\" or \"no_exec\""
                        .to_owned(),
                );
            }
        };
        if name.contains('/') || name.starts_with('.') {
            return Err(format!(
                "pyxis: --container-name: {name:?} can't name a folder"
            ));
        }
        self.name = Some(name.to_owned());
        Ok(())
    }

    /// The variables by which Pyxis takes the same, for commands inside an allocation.
    #[must_use]
    pub fn as_variables(&self) -> Vec<(String, String)> {
        let mut variables = Vec::new();
        let mut add = |name: &str, value: Option<String>| {
            let value = value.filter(|value| !value.is_empty());
            variables.extend(value.map(|value| (format!("PYXIS_CONTAINER_{name}"), value)));
        };
        let mounts = self.mounts.iter().map(|mount| {
            let flags = if mount.read_only { ":ro" } else { "" };
            format!("{}:{}{flags}", mount.source, mount.target)
        });
        let name = self.name.as_ref().map(|name| match self.use_of_name {
            UseOfName::Auto => name.clone(),
            UseOfName::Create => format!("{name}:create"),
            UseOfName::There => format!("{name}:exec"),
        });
        let flag = |is_set: bool| is_set.then(|| "1".to_owned());
        add("IMAGE", self.image.clone());
        add("MOUNTS", Some(mounts.collect::<Vec<_>>().join(",")));
        add("WORKDIR", self.workdir.clone());
        add("NAME", name);
        add("SAVE", self.save.clone());
        add("MOUNT_HOME", flag(self.mount_home));
        add("REMAP_ROOT", flag(self.root));
        add("ENTRYPOINT", flag(self.entrypoint));
        add("WRITABLE", flag(self.writable));
        add("ENV", Some(self.variables.join(",")));
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_and_names_as_pyxis_reads_them() {
        let check = |text: &str, want: Result<&[(&str, &str, bool)], &str>| {
            let mut container = StepContainer::default();
            let read = container.add_mounts(text);
            let mounts = container.mounts.iter();
            let mounts: Vec<_> = mounts
                .map(|m| (m.source.as_str(), m.target.as_str(), m.read_only))
                .collect();
            let read = read.as_ref().map(|()| mounts.as_slice());
            assert_eq!(read.map_err(String::as_str), want);
        };
        check("/a", Ok(&[("/a", "/a", false)]));
        check(
            "/a:/b,./c:/d:ro+rprivate",
            Ok(&[("/a", "/b", false), ("./c", "/d", true)]),
        );
        check("", Err("pyxis: --container-mounts: invalid format: "));
        check(
            "/a:b",
            Err("pyxis: mount target must be a relative path or an absolute path"),
        );
        let mut container = StepContainer::default();
        assert_eq!(container.set_name("a:exec"), Ok(()));
        assert_eq!(container.use_of_name, UseOfName::There);
        assert!(container.set_name(":exec").is_err());
        assert!(container.set_name("a:b").is_err());
        assert!(container.set_name("../a").is_err());
    }

    #[test]
    fn variables_say_the_same() {
        let mut container = StepContainer {
            image: Some("ubuntu".to_owned()),
            root: true,
            variables: vec!["A".to_owned(), "B".to_owned()],
            ..StepContainer::default()
        };
        assert_eq!(container.add_mounts("/a:/b:ro"), Ok(()));
        let variables = container.as_variables();
        let shown: Vec<String> = variables.iter().map(|(n, v)| format!("{n}={v}")).collect();
        assert_eq!(
            shown,
            [
                "PYXIS_CONTAINER_IMAGE=ubuntu",
                "PYXIS_CONTAINER_MOUNTS=/a:/b:ro",
                "PYXIS_CONTAINER_REMAP_ROOT=1",
                "PYXIS_CONTAINER_ENV=A,B",
            ]
        );
    }
}
