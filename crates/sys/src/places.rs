//! Where the project's files of one user lie.

use crate::env_vars::{
    TRAINYARD_HOME, TRAINYARD_HOST, XDG_CACHE_HOME, XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME,
};
use crate::fs_kind::{self, FsKind};
use crate::private_folder::{self, PrivateFolderError};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The socket of an engine, in its folder.
pub const ENGINE_SOCKET: &str = "engine.sock";

/// The folder's name of the user's own engine, whose cluster is this machine.
pub const OWN_ENGINE: &str = "main";

/// What that engine is called.
pub const OWN_ENGINE_NAME: &str = "local";

/// The user's folders. None of them has to be there yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Engines: stores, sockets, jobs. On a local file system, unless `TRAINYARD_HOME` says
    /// otherwise.
    pub state: PathBuf,
    /// What can be made again.
    pub cache: PathBuf,
    /// Whether a person chose that folder, by `TRAINYARD_HOME` or `XDG_CACHE_HOME`.
    pub is_cache_chosen: bool,
    /// What the user writes.
    pub config: PathBuf,
    /// Run folders of a machine without shared storage.
    pub scratch: PathBuf,
    /// Where runs are found again.
    pub index: PathBuf,
    /// This machine: its engines' folder in `state`.
    pub host: String,
}

/// What [`Places::resolve`] must know of the machine.
pub struct PlaceFacts<'a> {
    /// The folder for a user without a home: private, on the machine's own disk.
    pub fallback: PathBuf,
    /// The machine's short name.
    pub host: String,
    /// Whether a folder (or its nearest ancestor) is the user's to write and to search.
    pub usable: &'a dyn Fn(&Path) -> bool,
    /// Whether a folder is there.
    pub is_there: &'a dyn Fn(&Path) -> bool,
    /// Whether it lies on a network file system.
    pub on_network: &'a dyn Fn(&Path) -> bool,
}

/// Why there is no place.
#[derive(Debug, thiserror::Error)]
pub enum PlacesError {
    /// `TRAINYARD_HOME` or an XDG folder is relative.
    #[error("{variable} is `{}`, which is not an absolute path: give it one, or unset it", value.display())]
    Relative {
        /// Which variable.
        variable: &'static str,
        /// What it holds.
        value: PathBuf,
    },
    /// `TRAINYARD_HOME` or an XDG folder is no UTF-8 text, which paths in scripts and messages are.
    #[error("{variable} is {value:?}, which is not UTF-8 text: name a folder that is, or unset it")]
    NotText {
        /// Which variable.
        variable: &'static str,
        /// What it holds.
        value: PathBuf,
    },
    /// The fallback under `/var/tmp` can't be had.
    #[error("{0}: set TRAINYARD_HOME to a folder of your own")]
    Fallback(#[from] PrivateFolderError),
}

impl Places {
    /// Finds them by environment and machine. Makes nothing but the fallback folder
    /// `/var/tmp/trainyard-<uid>`, where it is needed; where another user took that name, one with
    /// a number after it.
    ///
    /// # Errors
    /// A path in the environment that is relative or no text, or a fallback folder that can't be
    /// made.
    pub fn from_env() -> Result<Places, PlacesError> {
        let facts = PlaceFacts {
            fallback: fallback(Path::new("/var/tmp"), rustix::process::getuid().as_raw()),
            host: std::env::var(TRAINYARD_HOST)
                .ok()
                .filter(|host| !host.is_empty())
                .unwrap_or_else(crate::host_name),
            usable: &is_usable,
            is_there: &Path::is_dir,
            on_network: &|path| matches!(fs_kind::of(path), Ok(FsKind::Network(_))),
        };
        let places = Places::resolve(&|name| std::env::var_os(name), &facts)?;
        let fallback = &facts.fallback;
        if places.all().iter().any(|path| path.starts_with(fallback)) {
            private_folder::make(fallback)?;
        }
        Ok(places)
    }

    /// The choice itself, of values alone.
    ///
    /// # Errors
    /// A path in a variable that is relative or no text.
    pub fn resolve(
        vars: &dyn Fn(&str) -> Option<OsString>,
        facts: &PlaceFacts<'_>,
    ) -> Result<Places, PlacesError> {
        if let Some(home) = absolute(vars, TRAINYARD_HOME)? {
            return Ok(Places::under(&home, facts));
        }
        let fallback = &facts.fallback;
        // A home is never made: users without one have `/nonexistent`, which root could make.
        let usable = |home: &PathBuf| (facts.is_there)(home) && (facts.usable)(home);
        let home = absolute(vars, "HOME")?.filter(usable);
        let place = |variable: &'static str, default: &str| -> Result<PathBuf, PlacesError> {
            let xdg = absolute(vars, variable)?.filter(|path| (facts.usable)(path));
            Ok(match (xdg, &home) {
                (Some(xdg), _) => xdg.join("trainyard"),
                (None, Some(home)) => home.join(default).join("trainyard"),
                (None, None) => fallback.join(default.trim_start_matches('.')),
            })
        };
        let mut state = place(XDG_STATE_HOME, ".local/state")?;
        if (facts.on_network)(&state) || (home.is_none() && state.starts_with(fallback)) {
            state = fallback.join("state");
        }
        let data = place(XDG_DATA_HOME, ".local/share")?;
        let chosen_cache = absolute(vars, XDG_CACHE_HOME)?.filter(|path| (facts.usable)(path));
        Ok(Places {
            state,
            cache: place(XDG_CACHE_HOME, ".cache")?,
            is_cache_chosen: chosen_cache.is_some(),
            config: place(XDG_CONFIG_HOME, ".config")?,
            scratch: data.join("scratch"),
            index: data.join("index"),
            host: facts.host.clone(),
        })
    }

    /// What stands below `TRAINYARD_HOME`.
    pub const FOLDERS: [&str; 5] = ["state", "cache", "config", "scratch", "index"];

    fn under(home: &Path, facts: &PlaceFacts<'_>) -> Places {
        let [state, cache, config, scratch, index] = Places::FOLDERS.map(|name| home.join(name));
        Places {
            state,
            cache,
            is_cache_chosen: true,
            config,
            scratch,
            index,
            host: facts.host.clone(),
        }
    }

    /// The folder of this machine's engine of that name: `<state>/<host>/<name>`, of the user's own
    /// engine `<state>/<host>/main`.
    #[must_use]
    pub fn engine_dir(&self, name: &str) -> PathBuf {
        let name = if name == OWN_ENGINE_NAME {
            OWN_ENGINE
        } else {
            name
        };
        self.engines().join(name)
    }

    /// The folder of all of this machine's engines.
    #[must_use]
    pub fn engines(&self) -> PathBuf {
        self.state.join(&self.host)
    }

    fn all(&self) -> [&PathBuf; 5] {
        [
            &self.state,
            &self.cache,
            &self.config,
            &self.scratch,
            &self.index,
        ]
    }
}

fn fallback(parent: &Path, uid: u32) -> PathBuf {
    private_folder::of_user(parent, &format!("trainyard-{uid}"))
}

/// A variable's folder; an empty variable counts as unset, as the XDG base directories demand.
fn absolute(
    vars: &dyn Fn(&str) -> Option<OsString>,
    variable: &'static str,
) -> Result<Option<PathBuf>, PlacesError> {
    let Some(value) = vars(variable).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let value = PathBuf::from(value);
    match (value.is_absolute(), value.to_str()) {
        (true, Some(_)) => Ok(Some(value)),
        (true, None) => Err(PlacesError::NotText { variable, value }),
        (false, _) => Err(PlacesError::Relative { variable, value }),
    }
}

/// Whether the folder, or the nearest ancestor that is there, can be written and searched.
#[must_use]
pub fn is_usable(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    let mut path = path;
    loop {
        match access(path, Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) => return true,
            Err(rustix::io::Errno::NOENT) => match path.parent() {
                Some(parent) => path = parent,
                None => return false,
            },
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(vars: &[(&str, &str)], broken: &[&str], network: &[&str], want: [&str; 5]) {
        let under = |list: &[&str], path: &Path| list.iter().any(|prefix| path.starts_with(prefix));
        let facts = PlaceFacts {
            fallback: "/var/tmp/trainyard-7".into(),
            host: "box".to_owned(),
            usable: &|path| !under(broken, path),
            is_there: &|path| path != Path::new("/nonexistent"),
            on_network: &|path| under(network, path),
        };
        let vars = |name: &str| {
            let (_, value) = vars.iter().find(|(known, _)| *known == name)?;
            Some(OsString::from(value))
        };
        let places = Places::resolve(&vars, &facts).unwrap();
        assert_eq!(places.all().map(|path| path.to_str().unwrap()), want);
        assert!(places.engine_dir("main").ends_with("box/main"));
        let chosen = places.cache.starts_with("/t") || places.cache.starts_with("/c");
        assert_eq!(places.is_cache_chosen, chosen);
    }

    #[test]
    fn one_home_for_all() {
        check(
            &[
                ("TRAINYARD_HOME", "/t"),
                ("HOME", "/h"),
                ("XDG_CACHE_HOME", "/c"),
            ],
            &[],
            &["/t"],
            [
                "/t/state",
                "/t/cache",
                "/t/config",
                "/t/scratch",
                "/t/index",
            ],
        );
    }

    #[test]
    fn xdg_and_its_defaults() {
        check(
            &[
                ("HOME", "/h"),
                ("XDG_CACHE_HOME", "/c"),
                ("XDG_DATA_HOME", ""),
            ],
            &[],
            &[],
            [
                "/h/.local/state/trainyard",
                "/c/trainyard",
                "/h/.config/trainyard",
                "/h/.local/share/trainyard/scratch",
                "/h/.local/share/trainyard/index",
            ],
        );
    }

    #[test]
    fn state_leaves_a_network_home() {
        check(
            &[("HOME", "/h")],
            &[],
            &["/h"],
            [
                "/var/tmp/trainyard-7/state",
                "/h/.cache/trainyard",
                "/h/.config/trainyard",
                "/h/.local/share/trainyard/scratch",
                "/h/.local/share/trainyard/index",
            ],
        );
    }

    #[test]
    fn no_home() {
        let want = [
            "/var/tmp/trainyard-7/state",
            "/var/tmp/trainyard-7/cache",
            "/var/tmp/trainyard-7/config",
            "/var/tmp/trainyard-7/local/share/scratch",
            "/var/tmp/trainyard-7/local/share/index",
        ];
        check(&[], &[], &[], want);
        check(&[("HOME", "/h")], &["/h"], &[], want);
        check(&[("HOME", "/nonexistent")], &[], &[], want);
    }

    #[test]
    fn relative_paths_are_refused() {
        let facts = PlaceFacts {
            fallback: "/var/tmp/trainyard-7".into(),
            host: "box".to_owned(),
            usable: &|_| true,
            is_there: &|_| true,
            on_network: &|_| false,
        };
        let error = Places::resolve(&|_| Some(OsString::from("x")), &facts).unwrap_err();
        assert_eq!(
            error.to_string(),
            "TRAINYARD_HOME is `x`, which is not an absolute path: give it one, or unset it"
        );
    }
}
