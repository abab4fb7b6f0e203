//! Where things lie for this call, and the transport that it means.

use crate::exit_code;
use crate::failure::Failure;
use backend::{EmbeddedTransport, LOCAL, SlurmTransport, Transport};
use std::path::PathBuf;
use sys::Places;

/// The folders of this user.
pub fn places() -> Result<Places, Failure> {
    Places::from_env().map_err(|error| {
        Failure::new(exit_code::IO, error.to_string())
            .todo("set TRAINYARD_HOME to a folder on a local disk that you may write")
    })
}

/// The embedded engine's folder: inside one of its jobs, that engine's.
pub fn engine_dir(places: &Places) -> PathBuf {
    std::env::var_os(sys::env_vars::TRAINYARD_ENGINE)
        .map_or_else(|| places.engine_dir("main"), PathBuf::from)
}

/// The transport to the named cluster, or to the one that is meant here where none is named: the Slurm
/// that answers on this machine, else the embedded engine. Nobody trains on a login node by
/// accident.
pub fn open(places: &Places, cluster: Option<&str>) -> Result<Box<dyn Transport>, Failure> {
    if cluster == Some(LOCAL) {
        return Ok(Box::new(EmbeddedTransport::open(&engine_dir(places))?));
    }
    let found = backend::discover()?;
    match (cluster, found) {
        (None, None) => Ok(Box::new(EmbeddedTransport::open(&engine_dir(places))?)),
        (None, Some(found)) => Ok(Box::new(SlurmTransport::new(found))),
        (Some(name), Some(found)) if found.facts.name == name => {
            Ok(Box::new(SlurmTransport::new(found)))
        }
        (Some(name), found) => {
            let there = match found {
                Some(found) => format!("{LOCAL} and {}", found.facts.name),
                None => format!("{LOCAL}; no Slurm answers on this machine"),
            };
            Err(
                Failure::new(exit_code::USAGE, format!("no cluster is called {name}"))
                    .asked(format!("--on {name}"))
                    .there(there)
                    .todo(format!("--on {LOCAL}, or leave --on out")),
            )
        }
    }
}
