//! What a cluster is planned for by: its file, with what the cluster itself reports over it, or what its
//! engine says of itself.

use crate::SLURM;
use crate::cluster_files::{self, ClusterText};
use crate::engines::{engine_dir, is_engine};
use crate::failure::Failure;
use crate::known_cluster::{KnownCluster, judged_by};
use crate::target::{Target, target};
use backend::EmbeddedTransport;
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
    /// The cluster of that name: as it answers where it is here, else as its file describes it. Beside it, in
    /// words, what it reports otherwise than its file.
    ///
    /// # Errors
    /// There is neither, or the file can't be read.
    pub fn named(name: &str, places: &Places) -> Result<(Described, Vec<String>), Failure> {
        if let Some(known) = KnownCluster::of_engine(name, places)? {
            return Ok(Described::known(name, &known));
        }
        if is_engine(places, name) {
            let facts = EmbeddedTransport::facts_without_start(&engine_dir(places, name))?;
            return Ok((Described::Facts(Box::new(facts)), Vec::new()));
        }
        if answers_here(name) {
            return Described::target(&target(places, Some(name))?, places);
        }
        Ok((
            Described::File(cluster_files::find(places, name)?),
            Vec::new(),
        ))
    }

    /// The file of the cluster of that name; none where it is an engine's or that of the Slurm that answers
    /// here, which plan for themselves.
    ///
    /// # Errors
    /// There is no such file, or it can't be read.
    pub fn elsewhere(name: &str, places: &Places) -> Result<Option<Described>, Failure> {
        if is_engine(places, name) || answers_here(name) {
            return Ok(None);
        }
        Ok(Some(Described::File(cluster_files::find(places, name)?)))
    }

    /// The same of the cluster that answers.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn target(target: &Target, places: &Places) -> Result<(Described, Vec<String>), Failure> {
        let name = &target.facts.name;
        Ok(match judged_by(target, places)? {
            Some(known) => Described::known(name, &known),
            None => (Described::Facts(Box::new(target.facts.clone())), Vec::new()),
        })
    }

    fn known(name: &str, known: &KnownCluster) -> (Described, Vec<String>) {
        let described = Described::File(ClusterText {
            name: name.to_owned(),
            text: known.file.to_string(),
            origin: format!("what {name} reports"),
            kind: cluster_files::Kind::Own,
        });
        (described, known.notes(name))
    }

    /// As a cluster file.
    ///
    /// # Errors
    /// All that is wrong with the file.
    pub fn file(&self) -> Result<ClusterFile, Failure> {
        match self {
            Described::File(text) => text.parse(),
            Described::Facts(facts) => Ok(train::site::file_of(facts, &sys::host_name())),
        }
    }
}

/// Whether the Slurm of that name is this machine's, and answers. A path is a file's, for which no Slurm is asked;
/// by its name alone one that is another isn't asked what it has.
fn answers_here(name: &str) -> bool {
    let is_it = |own: String| own == name || name == SLURM;
    !cluster_files::is_path(name)
        && backend::slurm_here().is_ok_and(|found| found.is_some_and(is_it))
        && backend::discover().is_ok_and(|found| found.is_some())
}
