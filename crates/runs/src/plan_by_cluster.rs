//! The plan of a run for its cluster: by what it answers, or by its file.

use crate::failure::Failure;
use crate::known_cluster::{KnownCluster, reported};
use crate::run_request::refused;
use crate::target::Target;
use cluster_file::ClusterFile;
use folder::CodeSource;
use model::ClusterFacts;
use std::path::{Path, PathBuf};
use sys::users::this_user;
use train::site::{JobFate, Objection, SitePlan};
use train::{JobPlace, Overrides, Plan, PlanInput, Refusal, RunFile, Variables};

/// Everything that a person said, before it meets a cluster.
pub(crate) struct Layers {
    pub(crate) user_config: Option<RunFile>,
    pub(crate) run_file: Option<RunFile>,
    pub(crate) text: Option<String>,
    pub(crate) variables: Variables,
    pub(crate) overrides: Overrides,
    pub(crate) base: PathBuf,
    pub(crate) source: CodeSource,
    pub(crate) default_name: String,
    /// What a person should know of them.
    pub(crate) note: Option<String>,
}

impl Layers {
    pub(crate) fn files(&self) -> impl Iterator<Item = &RunFile> {
        self.user_config.iter().chain(&self.run_file)
    }

    fn input<'a>(&'a self, facts: &'a ClusterFacts) -> PlanInput<'a> {
        PlanInput {
            user_config: self.user_config.as_ref(),
            run_file: self.run_file.as_ref(),
            variables: &self.variables,
            overrides: &self.overrides,
            facts,
            base: &self.base,
            default_name: &self.default_name,
        }
    }
}

/// The plan with nothing known of the cluster but what it answers.
fn plan_here(layers: &Layers, target: &Target) -> Result<Plan, Failure> {
    train::plan(&layers.input(&target.facts)).map_err(refused)
}

/// The plan for a cluster without a file, and what a Slurm's own report refuses for sure.
pub(crate) fn plan_of_reported(
    layers: &Layers,
    target: &Target,
) -> Result<(Plan, Vec<Objection>), Failure> {
    let plan = plan_here(layers, target)?;
    let Some(file) = reported(&target.facts.name, &target.nodes, &target.site) else {
        return Ok((plan, Vec::new()));
    };
    // Limits don't look at where the job lies.
    let place = JobPlace {
        yard: Path::new("yard"),
        run_folder: Path::new("/"),
        output: "",
        token: "",
    };
    let findings = resources::findings(&file, &plan.request(&place), Some(this_user()));
    let sure = findings.iter().map(Objection::from);
    let sure = sure.filter(|it| !it.assumed && it.fate != JobFate::Cut);
    let sure = sure.collect();
    Ok((plan, sure))
}

/// `engine` is what an engine says of itself that pretends the file's cluster.
pub(crate) fn site_plan(
    layers: &Layers,
    file: &ClusterFile,
    engine: Option<&ClusterFacts>,
) -> Result<SitePlan, Refusal> {
    let facts = file.facts(None);
    let (input, user, machine) = (layers.input(&facts), Some(this_user()), sys::machine());
    match engine {
        Some(engine) => train::site::plan_pretended(&input, file, user, &machine, engine),
        None => train::site::plan_for(&input, file, user, &machine),
    }
}

/// The plan by what is known of the cluster, and what is refused for sure. Where the cluster reports
/// otherwise than its file, that is noted.
pub(crate) fn plan_of_known(
    layers: &Layers,
    known: &KnownCluster,
    target: &mut Target,
) -> Result<(Plan, Vec<Objection>), Failure> {
    let notes = known.notes(&target.facts.name);
    let engine = target.facts.embedded.then_some(&target.facts);
    let site = site_plan(layers, &known.file, engine).map_err(refused)?;
    let mut plan = site.plan;
    plan.notes.extend(notes);
    target.facts.node_local = site.facts.node_local;
    target.facts.internet = site.facts.internet;
    target.facts.containers = site.facts.containers;
    plan.notes.extend(cut_note(&site.refusals));
    let sure = site.refusals.into_iter().filter(|it| !it.assumed);
    Ok((plan, sure.collect()))
}

/// That the cluster ends the job at a limit that is shorter than what was asked.
fn cut_note(objections: &[Objection]) -> Option<String> {
    let cut = objections.iter().filter(|it| it.fate == JobFate::Cut);
    let first = cut.min_by_key(|it| it.most)?;
    let Objection {
        there, asked, todo, ..
    } = first;
    Some(format!(
        "{there}: a job that asks {asked} is started, and ended at that limit; {todo}"
    ))
}
