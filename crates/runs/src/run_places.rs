//! Where a run's folder, environment and image lie: the run's folder in the user's places, unless the cluster's nodes
//! don't see those (`[paths] no_jobs`); what is made once for many runs on the cluster's scratch, where it has one.

use crate::cluster_files;
use crate::engines::engine_names;
use crate::failure::{Failure, FailureKind};
use crate::image_cache::{image_cache, image_folder};
use crate::run_request::Planned;
use cluster_file::ClusterFile;
use model::ClusterFacts;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use sys::users::this_user;
use sys::{Places, private_folder};
use train::{Plan, Python, Resolved, Source};

/// The places of a run on one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunPlaces {
    pub places: Places,
    /// The user's folder on the cluster's scratch in which some of them lie. Others may write beside it, so that it
    /// is made for this user alone before anything is.
    pub own: Option<PathBuf>,
    /// What a person should know of them, where they are not the usual ones.
    pub note: Option<String>,
    /// Why the cache is where it is; `None`: where it would be on that machine is not known here.
    pub why_cache: Option<Source>,
    /// The user's own cache, where another stands in for it though nodes see it.
    pub cache_before: Option<PathBuf>,
}

impl RunPlaces {
    /// The user's own.
    pub fn usual(places: &Places) -> RunPlaces {
        RunPlaces {
            places: places.clone(),
            own: None,
            note: None,
            why_cache: Some(Source::default(if places.is_cache_chosen {
                "the cache that TRAINYARD_HOME or XDG_CACHE_HOME names"
            } else {
                "the user's cache"
            })),
            cache_before: None,
        }
    }

    /// Those on the cluster of a file, on whose machines this program runs.
    ///
    /// # Errors
    /// Its nodes see no folder that the run could have.
    pub fn on(file: &ClusterFile, places: &Places) -> Result<RunPlaces, Failure> {
        let site = Site::here(file);
        match site.moved(places) {
            Moved::Nowhere(failure) => {
                let closed = file.paths.no_jobs.as_ref();
                let is_sure = closed.is_some_and(|one| !one.is_assumed() && !one.is_disputed());
                if is_sure {
                    return Err(failure);
                }
                Ok(RunPlaces::of(Moved::Nowhere(failure), places))
            }
            moved => Ok(RunPlaces::of(moved, places)),
        }
    }

    /// Those on the cluster of a file, as far as the file says it: this machine is another one.
    pub fn by_file(file: &ClusterFile, places: &Places) -> RunPlaces {
        let home = file.paths.home.as_ref().map(|home| home.value.clone());
        let site = Site {
            file,
            user: this_user(),
            real: &|path| path.to_owned(),
            of_user: &|folder, name| folder.join(name),
            is_there: &|_| true,
            is_usable: &|_| true,
        };
        // The home there, below which everything of a user's lies; what this machine's variables say counts here alone.
        let there = home.as_ref().map(|home| Places {
            scratch: site.path(home).join(".local/share/trainyard/scratch"),
            cache: site.path(home).join(".cache/trainyard"),
            ..places.clone()
        });
        let there = Places {
            is_cache_chosen: false,
            ..there.unwrap_or_else(|| places.clone())
        };
        match site.moved(&there) {
            Moved::To(mut moved) => {
                if moved.places.scratch == there.scratch {
                    moved.places.scratch.clone_from(&places.scratch);
                }
                moved
            }
            other => {
                let mut usual = RunPlaces::of(other, places);
                usual.places.cache = there.cache;
                usual.why_cache = home.map(|_| Source::default("the user's cache"));
                usual
            }
        }
    }

    /// Says in the plan where what is made for it is kept: by `images`, its image.
    fn say_kept(&self, plan: &mut Plan, images: Option<Resolved<PathBuf>>) {
        let environment = &mut plan.environment;
        let cache = self.why_cache.clone();
        let cache = cache.map(|why| Resolved::new(self.places.cache.clone(), why));
        if let Some(container) = environment.container.as_mut().filter(|it| it.is_made()) {
            container.kept_in = images.or_else(|| cache.clone());
        }
        if matches!(environment.python.value, Python::Requirements(_)) {
            environment.kept_in = cache;
        }
    }

    /// As [`RunPlaces::say_kept`], on this machine.
    pub fn say_kept_here(&self, plan: &mut Plan, facts: &ClusterFacts) {
        let images = image_cache(facts, &self.places);
        let is_named = images != self.places.cache;
        self.say_kept(plan, is_named.then(|| of_images(facts, images)));
    }

    /// As [`RunPlaces::say_kept`], on the machine of a cluster's file.
    pub fn say_kept_there(&self, plan: &mut Plan, facts: &ClusterFacts) {
        let named = facts.containers.images.as_deref();
        let images =
            named.map(|named| image_folder(named, this_user(), &|folder, name| folder.join(name)));
        self.say_kept(plan, images.map(|images| of_images(facts, images)));
    }

    fn of(moved: Moved, usual: &Places) -> RunPlaces {
        match moved {
            Moved::Not => RunPlaces::usual(usual),
            Moved::To(moved) => moved,
            Moved::Nowhere(failure) => RunPlaces {
                note: Some(failure.line()),
                ..RunPlaces::usual(usual)
            },
        }
    }
}

impl Planned {
    /// Makes the user's folder on the cluster's scratch, where the run has its places there.
    ///
    /// # Errors
    /// It can't be made, or belongs to another user.
    pub fn make_places(&self) -> Result<(), Failure> {
        let Some(own) = &self.own_places else {
            return Ok(());
        };
        private_folder::make(own).map_err(|error| {
            Failure::new(
                FailureKind::Io,
                "the run has no folder on the cluster's scratch",
            )
            .there(error.to_string())
            .todo("set TRAINYARD_HOME to a folder that its nodes see and may write in")
        })
    }
}

/// Why a run would have no folder that the nodes of a cluster see, where this machine's engine of that name is the
/// cluster: of another one this machine can't tell which folders there are.
#[must_use]
pub fn no_place_on(file: &ClusterFile, places: &Places) -> Option<Failure> {
    cluster_files::of_engine(places, &file.name)?.ok()?;
    RunPlaces::on(file, places).err()
}

fn of_images(facts: &ClusterFacts, folder: PathBuf) -> Resolved<PathBuf> {
    let why = format!("containers.images of {}", facts.name);
    Resolved::new(folder, Source::cluster(why))
}

/// All places in which runs, environments and images of this user may lie: the usual ones first.
#[must_use]
pub fn all_places(places: &Places) -> Vec<Places> {
    places_and_files(places).0
}

/// All caches in which environments and images of this user may lie.
#[must_use]
pub fn all_caches(places: &Places) -> BTreeSet<PathBuf> {
    let (all, files) = places_and_files(places);
    let images = files
        .iter()
        .map(|file| image_cache(&file.facts(None), places));
    let caches = all.into_iter().map(|places| places.cache);
    caches.chain(images).collect()
}

/// All places, and the files of clusters that name some.
fn places_and_files(places: &Places) -> (Vec<Places>, Vec<ClusterFile>) {
    let mut all = vec![places.clone()];
    let (texts, _) = cluster_files::all(places);
    let engines = engine_names(places);
    let of_engines = engines
        .iter()
        .filter_map(|name| cluster_files::of_engine(places, name)?.ok());
    let files = texts.into_iter().chain(of_engines).filter_map(|text| {
        let names_some = ["scratch", "no_jobs", "images"];
        let names_some = names_some.iter().any(|key| text.text.contains(key));
        names_some.then(|| text.parse().ok()).flatten()
    });
    let files: Vec<ClusterFile> = files.collect();
    for file in &files {
        if let Ok(run) = RunPlaces::on(file, places)
            && !all.contains(&run.places)
        {
            all.push(run.places);
        }
    }
    (all, files)
}

/// That what the run names and its nodes read lies where they don't see it.
pub(crate) fn unseen_note(file: &ClusterFile, plan: &Plan) -> Option<String> {
    let site = Site::here(file);
    let of_python = match &plan.environment.python.value {
        Python::Venv(path) | Python::CondaFolder(path) => Some(path.as_path()),
        Python::AsItIs | Python::Requirements(_) | Python::CondaName(_) => None,
    };
    let container = plan.environment.container.as_ref();
    // Of one that is made beforehand nodes see what it was made into.
    let image = container.filter(|container| !container.is_made());
    let image = image.and_then(|container| container.image.value.path());
    let mounts = container.into_iter().flat_map(|it| &it.mounts.value);
    let mounts = mounts.map(|mount| Path::new(&mount.source));
    let staged = plan.data.stage.value.iter().map(PathBuf::as_path);
    let named = of_python.into_iter().chain(image).chain(mounts);
    let mut unseen: Vec<String> = Vec::new();
    let mut closed = None;
    for path in named.chain(staged) {
        if let Some(folder) = site.closed(path) {
            closed = Some(folder);
            unseen.push(path.display().to_string());
        }
    }
    let closed = closed?;
    let name = &file.name;
    Some(format!(
        "the run reads {}: nodes of {name} don't see {closed}, or can't write there (paths.no_jobs)",
        unseen.join(", ")
    ))
}

/// The folder of runs on the cluster of a file, for a machine that is not there.
#[must_use]
pub fn scratch_on(file: &ClusterFile, places: &Places) -> PathBuf {
    let run = RunPlaces::by_file(file, places);
    if run.places.scratch != places.scratch {
        return run.places.scratch;
    }
    let scratch = file.paths.scratch.as_ref();
    let scratch = scratch.map_or("/scratch/$USER", |path| path.as_str());
    // No shell reads a directive.
    PathBuf::from(scratch.replace("$USER", this_user()))
}

/// A cluster's file, and who asks.
struct Site<'a> {
    file: &'a ClusterFile,
    user: &'a str,
    /// A path without links.
    real: &'a dyn Fn(&Path) -> PathBuf,
    /// The user's folder of about that name in one where every user may write.
    of_user: &'a dyn Fn(&Path, &str) -> PathBuf,
    /// Whether a folder is there.
    is_there: &'a dyn Fn(&Path) -> bool,
    /// Whether the user may write in one, or make it.
    is_usable: &'a dyn Fn(&Path) -> bool,
}

/// What becomes of the usual places.
enum Moved {
    /// Nodes see them.
    Not,
    /// Others stand in for them.
    To(RunPlaces),
    /// Nodes don't see them, and no other folder is known.
    Nowhere(Failure),
}

impl<'a> Site<'a> {
    /// Of the machine that this is.
    fn here(file: &'a ClusterFile) -> Site<'a> {
        Site {
            file,
            user: this_user(),
            real: &real,
            of_user: &private_folder::of_user,
            is_there: &Path::is_dir,
            is_usable: &sys::is_usable,
        }
    }
}

impl Site<'_> {
    fn path(&self, text: &str) -> PathBuf {
        PathBuf::from(text.replace("$USER", self.user))
    }

    /// The folder of `no_jobs` in which another one lies, by its name or where its links lead.
    fn closed(&self, folder: &Path) -> Option<&str> {
        let by_name = self.file.no_jobs_in(folder, Some(self.user));
        by_name.or_else(|| self.file.no_jobs_in(&(self.real)(folder), Some(self.user)))
    }

    fn moved(&self, places: &Places) -> Moved {
        let name = &self.file.name;
        let (runs, cache) = (self.closed(&places.scratch), self.closed(&places.cache));
        let root = match (runs.or(cache), self.own_folder()) {
            (_, Ok(root)) => root,
            (None, Err(_)) => return Moved::Not,
            (Some(closed), Err(why)) => {
                let what = format!("nodes of {name} would not see the run's folder");
                let usual = if runs.is_some() {
                    &places.scratch
                } else {
                    &places.cache
                };
                let failure = Failure::new(FailureKind::Refused, what)
                    .asked(format!("a folder in {}", usual.display()))
                    .there(format!(
                        "jobs can't run in {closed} (paths.no_jobs), and {why}"
                    ))
                    .todo("set TRAINYARD_HOME to a folder that its nodes see and may write in");
                return Moved::Nowhere(failure);
            }
        };
        let takes_cache = cache.is_some() || !places.is_cache_chosen && (self.is_usable)(&root);
        if runs.is_none() && !takes_cache {
            return Moved::Not;
        }
        let mut moved = RunPlaces {
            own: Some(root.clone()),
            ..RunPlaces::usual(places)
        };
        let mut said = Vec::new();
        if runs.is_some() {
            moved.places.scratch = root.join("scratch");
            said.push(format!("its folder in {}", moved.places.scratch.display()));
        }
        if takes_cache {
            moved.places.cache = root.join("cache");
            moved.why_cache = Some(self.why_on_scratch());
            moved.cache_before = cache.is_none().then(|| places.cache.clone());
        }
        if cache.is_some() {
            let folder = moved.places.cache.display();
            said.push(format!("environments and images in {folder}"));
        }
        moved.note = runs.or(cache).map(|closed| {
            format!(
                "the run has {}: jobs can't run in {closed} (paths.no_jobs of {name})",
                said.join(", and ")
            )
        });
        Moved::To(moved)
    }

    fn why_on_scratch(&self) -> Source {
        let purged = self.file.paths.scratch_purge_days.as_ref();
        let purged = purged.map(|days| {
            format!(
                ", where what no user touches goes after {} days",
                days.value
            )
        });
        let (name, purged) = (&self.file.name, purged.unwrap_or_default());
        Source::cluster(format!("paths.scratch of {name}{purged}"))
    }

    /// The user's folder below `paths.scratch`.
    ///
    /// # Errors
    /// Why there is none, in words.
    fn own_folder(&self) -> Result<PathBuf, String> {
        let Some(scratch) = &self.file.paths.scratch else {
            return Err("its file names no paths.scratch".to_owned());
        };
        let folder = self.path(&scratch.value);
        let shown = folder.display();
        if self.closed(&folder).is_some() {
            return Err(format!("neither in {shown} (paths.scratch)"));
        }
        if !(self.is_there)(&folder) {
            return Err(format!("{shown} (paths.scratch) is not there"));
        }
        // One that all users share holds a folder of each.
        Ok(if scratch.value.contains("$USER") {
            folder.join("trainyard")
        } else {
            let name = format!("trainyard-{}", self.user);
            (self.of_user)(&folder, &name)
        })
    }
}

/// Where a path leads; what of it is not there yet stands as it is.
fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            return real.join(rest);
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests;
