//! What a cluster is planned for by: its file, or what its engine says of itself.

use crate::cluster_files::{self, ClusterText};
use crate::failure::Failure;
use crate::target::Target;
use cluster_file::ClusterFile;
use model::ClusterFacts;
use serde::{Deserialize, Serialize};
use sys::Places;

/// A cluster that need not be here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Described {
    /// By its file.
    File(ClusterText),
    /// By what it answered.
    Facts(Box<ClusterFacts>),
}

impl Described {
    /// What is known of the cluster that answers: an engine's own file, else what it reports.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn target(target: &Target, places: &Places) -> Result<Described, Failure> {
        let own = cluster_files::of_engine(places, &target.facts.name).transpose()?;
        Ok(match own {
            Some(own) => Described::File(own),
            None => Described::Facts(Box::new(target.facts.clone())),
        })
    }

    /// As a cluster file.
    ///
    /// # Errors
    /// All that is wrong with the file.
    pub fn file(&self) -> Result<ClusterFile, Failure> {
        match self {
            Described::File(text) => text.parse(),
            Described::Facts(facts) => Ok(train::site::file_of(facts)),
        }
    }
}
