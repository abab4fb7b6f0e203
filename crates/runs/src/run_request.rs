//! What a run is asked to be, read and resolved against a cluster.

use crate::awaited::NamedRuns;
use crate::described::Described;
use crate::failure::{Failure, FailureKind};
use crate::input_file;
use crate::known_cluster::KnownCluster;
use crate::make::check_code;
use crate::places_value::PlacesValue;
use crate::plan_by_cluster::{Layers, plan_of_known, plan_of_reported, site_plan};
use crate::run_places::{RunPlaces, unseen_note};
use crate::sweep::WandbSweep;
use crate::target::{Target, target_by};
use crate::user_config::user_config;
use crate::{container_runtime, plan_inputs, plan_notes};
use folder::{CodeSource, StartingPoint};
use model::Internet;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use sys::Places;
use train::site::{JobFate, Objection, SitePlan};
use train::{Overrides, Plan, Problem, Refusal, RefusalKind, RunFile, Variables};

/// The run file's name in a folder.
const RUN_FILE: &str = "yard.toml";

/// A run as it is asked for: a run file, or a command, and what is said beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRequest {
    /// A run file, a folder that holds one, or a batch script.
    pub file: Option<PathBuf>,
    /// The cluster: `local` for the embedded engine, or the name of a Slurm.
    pub on: Option<String>,
    /// The run's name.
    pub name: Option<String>,
    /// Who starts the ranks.
    pub launcher: Option<String>,
    /// How many runs are made of it.
    pub repeat: Option<String>,
    /// How many of these run at once.
    pub at_once: Option<String>,
    /// What is asked of `[resources]` instead of what the run file says.
    pub resources: Vec<GivenResource>,
    /// The command of a rank; instead of the run file's, where it is not empty.
    pub command: Vec<String>,
    /// The sweep whose trials the repeats are.
    #[serde(default)]
    pub sweep: Option<WandbSweep>,
    /// The command line that asks, for the run's record.
    pub command_line: Vec<String>,
}

/// A key of `[resources]` that was given by a flag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenResource {
    /// The flag's long name, without dashes.
    pub flag: String,
    /// The key.
    pub key: String,
    /// Its text as it was written.
    pub text: String,
}

/// What was asked, resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// Each value with its source.
    pub plan: Plan,
    /// The run file's text, where there is one.
    pub text: Option<String>,
    /// Where the run file stands, or the current folder.
    pub base: PathBuf,
    /// The code that it belongs to.
    pub(crate) source: CodeSource,
    /// The cluster that it goes to.
    pub target: Target,
    /// Where its folder, environment and image lie.
    #[serde(with = "PlacesValue")]
    pub places: Places,
    /// The user's folder on the cluster's scratch in which some of them lie, where they do.
    pub(crate) own_places: Option<PathBuf>,
    /// The user's own cache, where the cluster's scratch stands in for it: what is whole there is used.
    pub(crate) cache_before: Option<PathBuf>,
    /// The command line that asked for it.
    pub command_line: Vec<String>,
    /// The run after which it comes, as it was found when this was planned.
    pub(crate) before: Option<NamedRuns>,
    /// The checkpoint at which it starts.
    pub from: Option<StartingPoint>,
    /// Whether a job of its own makes the environment: the cluster's file says that its nodes reach the
    /// registries, and nothing that this machine does.
    pub(crate) makes_environment_in_job: bool,
    /// What the cluster would not take, by its cluster file: empty where it would, or where there is
    /// no file.
    pub refusals: Vec<Objection>,
}

impl Planned {
    /// Refuses what the cluster would not take: nothing may be submitted of it.
    ///
    /// # Errors
    /// It would not.
    pub fn check(&self) -> Result<(), Failure> {
        let Some(first) = self.refusals.first() else {
            return Ok(());
        };
        let name = &self.target.facts.name;
        let what = match &first.fate {
            JobFate::Refused => format!("{name} would refuse it: {}", first.denial.words()),
            JobFate::Waits(reason) => format!("it would wait for ever on {name}: {reason}"),
            JobFate::WaitsOnceReleased(reason) => {
                format!("it would not start on {name} once released: {reason}")
            }
            JobFate::Cut => format!("{name} would end it at its limit"),
        };
        let there = match &first.at {
            Some(at) => format!("{} ({at})", first.there),
            None => first.there.clone(),
        };
        let others = self.refusals.iter().skip(1);
        let others = others.map(|one| format!("error: {}: {}\n", one.asked, one.there));
        Err(Failure::new(FailureKind::Refused, what)
            .asked(&first.asked)
            .there(there)
            .todo(&first.todo)
            .mistakes(others.collect()))
    }

    /// Refuses a run after one that is not there, which a plan alone may name.
    ///
    /// # Errors
    /// No run has that name.
    pub fn check_before(&self) -> Result<(), Failure> {
        self.before.as_ref().map_or(Ok(()), NamedRuns::check)
    }
}

impl RunRequest {
    /// Reads the run file, opens the way to the target and makes the plan.
    ///
    /// # Errors
    /// What is wrong with what was asked, or the cluster can't be reached, or can never run it.
    pub fn plan(&self, places: &Places) -> Result<Planned, Failure> {
        let layers = self.layers(places)?;
        let config = layers.user_config.as_ref();
        let mut target = target_by(places, self.on.as_deref(), config)?;
        plan_inputs::check_clusters(layers.files(), places, &target.facts.name)?;
        let known = KnownCluster::of(&target, places)?;
        let is_known = known.is_some();
        let runtimes = match &known {
            _ if target.facts.embedded => container_runtime::Known::Here,
            Some(_) => container_runtime::Known::ByFile,
            None => container_runtime::Known::OfThisMachine,
        };
        let run_places = match &known {
            Some(known) => RunPlaces::on(&known.file, places)?,
            None => RunPlaces::usual(places),
        };
        let (mut plan, refusals) = match &known {
            Some(known) => plan_of_known(&layers, known, &mut target)?,
            None => plan_of_reported(&layers, &target)?,
        };
        plan_inputs::check(&mut plan)?;
        container_runtime::check(&mut plan, &target.facts.containers.runtimes, runtimes)?;
        if plan.embedded && !plan.sbatch.value.is_empty() {
            let note =
                "options for sbatch are left out: the embedded engine has none of a site's own";
            plan.notes.retain(|one| one != note);
            plan.notes
                .push(format!("{note}: {}", plan.sbatch.value.join(" ")));
        }
        plan_notes::add(&mut plan, &layers.base, &layers.source);
        let before = plan.after.as_ref().map(|name| NamedRuns::of(name, places));
        let before = before.transpose()?;
        plan.notes.extend(before.as_ref().and_then(NamedRuns::note));
        let left_out = plan_inputs::left_out_section(layers.files(), places, &target.facts.name);
        plan.notes.extend(left_out);
        plan.notes.extend(layers.note);
        run_places.say_kept_here(&mut plan, &target.facts);
        plan.notes.extend(run_places.note);
        let unseen = known.and_then(|known| unseen_note(&known.file, &plan));
        plan.notes.extend(unseen);
        let makes_environment_in_job = is_known && target.facts.internet == Internet::Compute;
        Ok(Planned {
            plan,
            makes_environment_in_job,
            text: layers.text,
            base: layers.base,
            source: layers.source,
            target,
            places: run_places.places,
            own_places: run_places.own,
            cache_before: run_places.cache_before,
            command_line: self.command_line.clone(),
            before,
            from: None,
            refusals,
        })
    }

    /// Reads the run file and plans for a cluster that is known by its file.
    ///
    /// # Errors
    /// What is wrong with what was asked, or the cluster can never run it.
    pub fn plan_for(&self, cluster: &Described, places: &Places) -> Result<SitePlan, Failure> {
        let file = &cluster.file()?;
        let layers = self.layers(places)?;
        plan_inputs::check_clusters(layers.files(), places, &file.name)?;
        let mut site = site_plan(&layers, file, None).map_err(refused)?;
        plan_inputs::check_requirements(&site.plan)?;
        let (there, by_file) = (
            &site.facts.containers.runtimes,
            container_runtime::Known::ByFile,
        );
        container_runtime::check(&mut site.plan, there, by_file)?;
        check_code(&layers.source, &site.plan, places)?;
        plan_notes::add(&mut site.plan, &layers.base, &layers.source);
        let run_places = RunPlaces::by_file(file, places);
        run_places.say_kept_there(&mut site.plan, &site.facts);
        site.plan.notes.extend(run_places.note);
        let unseen = unseen_note(file, &site.plan);
        site.plan.notes.extend(unseen);
        Ok(site)
    }

    /// Everything that a person said, layer by layer.
    fn layers(&self, places: &Places) -> Result<Layers, Failure> {
        let file = self.run_file()?;
        let overrides = self.overrides()?;
        let variables = variables()?;
        let user_config = user_config(places)?;
        let base = match &file {
            Some((path, _)) => folder_of(path),
            None => PathBuf::from("."),
        };
        let base = std::path::absolute(&base)
            .and_then(|base| base.canonicalize())
            .map_err(|error| {
                Failure::new(
                    FailureKind::Usage,
                    format!("{} can't be read: {error}", base.display()),
                )
                .todo("name a run file, or a folder that holds a yard.toml")
            })?;
        refuse_odd_folder(&base)?;
        let (mut run_file, text) = match file {
            Some((path, text)) => (Some(parse(&path, &text)?), Some(text)),
            None => (None, None),
        };
        let unread = self.unread_run_file();
        let sweep = self.sweep.as_ref().map(|sweep| {
            let file = run_file.get_or_insert_with(|| RunFile::parse("", RUN_FILE).0);
            sweep.apply(file)
        });
        let note = sweep.transpose()?.flatten().or(unread);
        let folder = base.file_name().unwrap_or_default().to_string_lossy();
        let program = program_name(&self.command);
        let default_name = match (&run_file, program) {
            (None, Some(program)) => program,
            _ => folder.into_owned(),
        };
        let source = folder::find_source(&base);
        Ok(Layers {
            user_config,
            run_file,
            text,
            variables,
            overrides,
            base,
            source,
            default_name,
            note,
        })
    }

    /// The run file's path as the person would name it, and its text. Without a file and without a
    /// command, the current folder's.
    fn run_file(&self) -> Result<Option<(PathBuf, String)>, Failure> {
        let path = match &self.file {
            Some(path) if path.is_dir() => path.join(RUN_FILE),
            Some(path) => path.clone(),
            None if self.sweep.is_some() && !Path::new(RUN_FILE).exists() => return Ok(None),
            None if self.command.is_empty() => PathBuf::from(RUN_FILE),
            None => return Ok(None),
        };
        let text = text_of(&path).map_err(|failure| match &self.file {
            None => Failure::new(FailureKind::Usage, "there is nothing to run")
                .there(format!("no {RUN_FILE} in this folder"))
                .todo("yard run FILE, or yard run -- COMMAND"),
            Some(folder) if folder.is_dir() => Failure::new(
                FailureKind::Usage,
                format!("{} holds no {RUN_FILE}", folder.display()),
            )
            .todo("name a run file, or a folder that holds one"),
            Some(_) => failure,
        })?;
        if path.extension().is_some_and(|extension| extension == "py") {
            return Err(Failure::new(
                FailureKind::Usage,
                format!("{} is a Python program, not a run file", path.display()),
            )
            .todo(format!("yard run -- python {}", path.display())));
        }
        if path.extension().is_none_or(|extension| extension != "toml") && !text.contains('=') {
            return Err(Failure::new(
                FailureKind::Usage,
                format!(
                    "{} is neither a run file nor a batch script",
                    path.display()
                ),
            )
            .there("a run file sets keys; a script's first line begins with #!")
            .todo("add #!/bin/bash as its first line, or name a yard.toml"));
        }
        if text.starts_with("#!") {
            return Err(Failure::new(
                FailureKind::Usage,
                format!("{} is a script, not a run file", path.display()),
            )
            .there("a script has no plan: it is submitted as it stands")
            .todo(format!("yard run {}", path.display())));
        }
        Ok(Some((path, text)))
    }

    /// A note of the current folder's run file where a command stands in its place.
    fn unread_run_file(&self) -> Option<String> {
        let is_unread = self.file.is_none() && !self.command.is_empty();
        (is_unread && Path::new(RUN_FILE).is_file()).then(|| {
            format!("{RUN_FILE} of this folder is not read; yard run {RUN_FILE} -- COMMAND takes what it sets")
        })
    }

    /// All flags; all that is wrong with them is said at once.
    pub(crate) fn overrides(&self) -> Result<Overrides, Failure> {
        let mut overrides = Overrides::default();
        let own = [
            ("name", "name", self.name.as_ref()),
            ("launcher", "launcher", self.launcher.as_ref()),
            ("repeat", "repeat", self.repeat.as_ref()),
            ("at-once", "at_once", self.at_once.as_ref()),
        ];
        let own = own
            .into_iter()
            .filter_map(|(flag, key, text)| Some((flag, key, text?)));
        let given = self
            .resources
            .iter()
            .map(|given| (given.flag.as_str(), given.key.as_str(), &given.text));
        let mut problems: Vec<String> = own
            .chain(given)
            .filter_map(|(flag, key, text)| overrides.set(&format!("--{flag}"), key, text).err())
            .map(|problem| problem.to_string())
            .collect();
        if !self.command.is_empty() {
            problems.extend(
                overrides
                    .set_command(self.command.clone())
                    .err()
                    .map(|problem| problem.to_string()),
            );
        }
        match last_of(problems) {
            Some(last) => Err(last),
            None => Ok(overrides),
        }
    }
}

/// What is set for sbatch; all that is wrong with it is said at once.
fn variables() -> Result<Variables, Failure> {
    let odd: Vec<&str> = train::INPUT_VARIABLES
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| std::env::var_os(name).is_some_and(|value| value.to_str().is_none()))
        .collect();
    if let Some(name) = odd.first() {
        let value = std::env::var_os(name).unwrap_or_default();
        return Err(Failure::new(
            FailureKind::Usage,
            format!("{name} is not UTF-8 text: {value:?}"),
        )
        .there("a run's plan is text, and sbatch would get these bytes as they are")
        .todo(format!("unset {name}, or set it to text")));
    }
    // One that a run leaves out is named whatever it holds.
    let value = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
    let (variables, problems) = Variables::read(&value);
    let problems = problems.iter().map(ToString::to_string).collect();
    match last_of(problems) {
        Some(last) => Err(last),
        None => Ok(variables),
    }
}

/// All problems: the last is the sentence of the failure.
fn last_of(mut problems: Vec<String>) -> Option<Failure> {
    let last = problems.pop()?;
    let others = problems.iter().map(|one| format!("error: {one}\n"));
    Some(Failure::new(FailureKind::Usage, last).mistakes(others.collect()))
}

/// Reads a run file; all that is wrong with it is said at once.
fn parse(path: &Path, text: &str) -> Result<RunFile, Failure> {
    let origin = path.display().to_string();
    let (run_file, problems) = RunFile::parse(text, &origin);
    refuse_problems(&problems, text, &origin)?;
    Ok(run_file)
}

/// Refuses a file with which anything is wrong, with all of it.
pub(crate) fn refuse_problems(
    problems: &[Problem],
    text: &str,
    origin: &str,
) -> Result<(), Failure> {
    if problems.is_empty() {
        return Ok(());
    }
    let say = |problem| train::render(problem, text, origin);
    let mistakes = problems.iter();
    let mistakes = mistakes.map(|one| format!("{}\n", say(one).trim_end()));
    let count = match problems.len() {
        1 => "1 mistake".to_owned(),
        n => format!("{n} mistakes"),
    };
    Err(Failure::new(
        FailureKind::Usage,
        format!("{origin} has {count}; nothing was started"),
    )
    .mistakes(mistakes.collect()))
}

/// A refusal of the plan, as a failure of what was asked.
pub(crate) fn refused(refusal: Refusal) -> Failure {
    let kind = match refusal.kind {
        RefusalKind::Usage => FailureKind::Usage,
        RefusalKind::NeverFits => FailureKind::Refused,
    };
    Failure::new(kind, refusal.message)
        .asked(refusal.asked)
        .there(refusal.there)
        .todo(refusal.todo)
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let read = input_file::read(path).map_err(|failure| {
        if path.exists() {
            failure
        } else {
            failure.todo("name a file that is there; yard init writes a yard.toml")
        }
    })?;
    String::from_utf8(read.bytes).map_err(|_| {
        Failure::new(
            FailureKind::Usage,
            format!("{} can't be read: it is not UTF-8", path.display()),
        )
        .todo("name a run file, or a folder that holds a yard.toml")
    })
}

/// Paths of a plan go into `run.json` and into scripts, which are text.
fn refuse_odd_folder(base: &Path) -> Result<(), Failure> {
    if base.to_str().is_some() {
        return Ok(());
    }
    Err(Failure::new(
        FailureKind::Usage,
        format!("no run can begin in {base:?}: its path is not UTF-8 text"),
    )
    .there("a run's record is text, and could not say where its code is from")
    .todo("rename the folder"))
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// What a run of a command is called: its program, or the file that Python runs.
fn program_name(command: &[String]) -> Option<String> {
    let program = stem(command.first()?);
    match command.get(1) {
        Some(file) if program.starts_with("python") && file.ends_with(".py") => Some(stem(file)),
        _ => Some(program),
    }
}

/// A program's name without its folder and ending.
fn stem(program: &str) -> String {
    Path::new(program).file_stem().map_or_else(
        || program.to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}
