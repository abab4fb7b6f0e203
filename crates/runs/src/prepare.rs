//! What a run's ranks need, made ready before it is submitted: what of it, where it is kept and whether a job of its
//! own makes it is decided here. How it is made the crate `job` knows, which this one may not.

use crate::failure::Failure;
use crate::image_cache::image_cache;
use crate::make::Ready;
use crate::run_request::Planned;
use crate::secrets::secrets;
use backend::LOCAL;
use folder::{MadeEnvironment, MakingPlace, ReadyImage};
use std::path::{Path, PathBuf};
use train::{ContainerPlan, EnvironmentPlan, Image, Python};

/// Who makes environments and images.
pub trait Preparer {
    /// The environment of a plan; none where it is not made of requirements. What the place leaves to a job of its own is
    /// named alone.
    ///
    /// # Errors
    /// What the plan names is not there, or can't be made.
    fn environment(
        &mut self,
        plan: &EnvironmentPlan,
        place: &MakingPlace,
    ) -> Result<Option<MadeEnvironment>, Failure>;

    /// The image of a container, likewise; `modules` are loaded before one is made.
    ///
    /// # Errors
    /// It is not there, or can't be made.
    fn image(
        &mut self,
        plan: &ContainerPlan,
        modules: &[String],
        place: &MakingPlace,
    ) -> Result<ReadyImage, Failure>;

    /// Copies below the scratch folder what a job of its own is to build an image of; none where it is built of
    /// nothing here.
    ///
    /// # Errors
    /// It can't be read or copied.
    fn image_source(&mut self, image: &Image, scratch: &Path) -> Result<Option<PathBuf>, Failure>;
}

impl Planned {
    /// Leaves a site's modules out where the embedded engine pretends its cluster and this machine has no
    /// modules at all, for which it is asked only then.
    pub fn leave_out_modules(&mut self, has_modules: impl FnOnce() -> bool) {
        let plan = &mut self.plan;
        let modules = &mut plan.environment.modules.value;
        let is_pretended = plan.embedded && plan.cluster != LOCAL;
        if is_pretended && !modules.is_empty() && !has_modules() {
            plan.notes.push(format!(
                "modules are left out, since this machine has no module command: {}",
                modules.join(", ")
            ));
            modules.clear();
        }
    }

    /// Notes what the plan names and what this machine has not: it would be refused when it is submitted.
    pub fn note_what_is_missing(&mut self, has_conda: impl FnOnce() -> bool) {
        let plan = &mut self.plan;
        if let Err(failure) = secrets(plan) {
            let there = failure.there.unwrap_or_default();
            plan.notes.push(format!("{}: {there}", failure.what));
        }
        let has_modules = !plan.environment.modules.value.is_empty();
        if let Python::CondaName(name) = &plan.environment.python.value
            && !has_modules
            && !has_conda()
        {
            let note = format!("[environment] conda = {name:?}: there is no conda on this machine");
            plan.notes.push(note);
        }
    }

    /// Has made or found what the ranks need before anything is submitted.
    ///
    /// # Errors
    /// A secret is nowhere, or something is not there or can't be made.
    pub fn prepare(&self, preparer: &mut dyn Preparer) -> Result<Ready, Failure> {
        self.make_places()?;
        let secrets = secrets(&self.plan)?;
        let place = MakingPlace {
            cache: self.places.cache.clone(),
            before: self.cache_before.clone(),
            internet: self.target.facts.internet,
            in_job: self.makes_environment_in_job,
        };
        let plan = &self.plan.environment;
        let environment = preparer.environment(plan, &place)?;
        let image = match &plan.container {
            Some(container) => {
                let cache = image_cache(&self.target.facts, &self.places);
                let place = MakingPlace { cache, ..place };
                let modules = &plan.modules.value;
                Some(preparer.image(container, modules, &place)?)
            }
            None => None,
        };
        Ok(Ready {
            environment,
            image,
            image_source: None,
            secrets,
        })
    }

    /// Has kept what a job of the run's own is to build its image of, where that is left to one.
    ///
    /// # Errors
    /// As [`Preparer::image_source`].
    pub fn keep_image_source(
        &self,
        ready: &mut Ready,
        preparer: &mut dyn Preparer,
    ) -> Result<(), Failure> {
        let is_left = ready.image.as_ref().is_some_and(|image| image.to_make);
        let container = self.plan.environment.container.as_ref();
        if let Some(container) = container.filter(|_| is_left) {
            ready.image_source =
                preparer.image_source(&container.image.value, &self.places.scratch)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sent::{places, planned};
    use model::Internet;
    use train::Resolved;

    /// Notes what it is asked for, and makes nothing.
    #[derive(Default)]
    struct Notes(Vec<String>);

    fn said(place: &MakingPlace) -> String {
        let before = place
            .before
            .as_ref()
            .map_or("–".into(), |it| it.to_string_lossy());
        let (cache, internet) = (place.cache.display(), place.internet);
        format!("{cache} or {before}, {internet:?} {}", place.in_job)
    }

    impl Preparer for Notes {
        fn environment(
            &mut self,
            plan: &EnvironmentPlan,
            place: &MakingPlace,
        ) -> Result<Option<MadeEnvironment>, Failure> {
            let python = &plan.python.value;
            self.0.push(format!("{python} in {}", said(place)));
            Ok(None)
        }

        fn image(
            &mut self,
            plan: &ContainerPlan,
            modules: &[String],
            place: &MakingPlace,
        ) -> Result<ReadyImage, Failure> {
            let (image, modules) = (&plan.image.value, modules.join(" "));
            let is_left = place.in_job;
            let place = said(place);
            self.0.push(format!("{image} with {modules} in {place}"));
            Ok(ReadyImage {
                path: None,
                has_environment: false,
                digest: None,
                to_make: is_left,
            })
        }

        fn image_source(
            &mut self,
            image: &Image,
            scratch: &Path,
        ) -> Result<Option<PathBuf>, Failure> {
            self.0
                .push(format!("source of {image} in {}", scratch.display()));
            Ok(Some(scratch.join("copy")))
        }
    }

    fn example(root: &Path) -> Planned {
        let places = places(root);
        let mut planned = planned(&places);
        planned.own_places = None;
        planned.cache_before = Some(PathBuf::from("/before"));
        planned.target.facts.internet = Internet::Compute;
        planned.plan.environment.modules.value = vec!["cuda".to_owned()];
        planned
    }

    #[test]
    fn a_job_of_its_own_makes_what_it_is_left_and_has_its_source() {
        let root = tempfile::tempdir().unwrap();
        let mut planned = example(root.path());
        let (facts, here) = (planned.target.facts.clone(), root.path().to_owned());
        let environment = &mut planned.plan.environment;
        let put = environment.put_in("docker://debian:12", &facts, &here);
        assert!(put.is_ok());
        let cache = planned.places.cache.display().to_string();
        let scratch = planned.places.scratch.display().to_string();
        let python = planned.plan.environment.python.value.to_string();
        for in_job in [true, false] {
            planned.makes_environment_in_job = in_job;
            let mut notes = Notes::default();
            let mut ready = planned.prepare(&mut notes).unwrap();
            planned.keep_image_source(&mut ready, &mut notes).unwrap();
            let mut want = vec![
                format!("{python} in {cache} or /before, Compute {in_job}"),
                format!("docker://debian:12 with cuda in {cache} or /before, Compute {in_job}"),
            ];
            if in_job {
                want.push(format!("source of docker://debian:12 in {scratch}"));
            }
            assert_eq!(notes.0, want);
            assert_eq!(ready.image_source.is_some(), in_job);
        }
    }

    #[test]
    fn modules_are_left_out_where_a_cluster_is_pretended_without_them() {
        let root = tempfile::tempdir().unwrap();
        for (embedded, cluster, has_modules, stay) in [
            (true, "wilson", false, false),
            (true, "wilson", true, true),
            (true, LOCAL, false, true),
            (false, "wilson", false, true),
        ] {
            let mut planned = example(root.path());
            planned.plan.embedded = embedded;
            planned.plan.cluster = cluster.to_owned();
            let notes = planned.plan.notes.len();
            planned.leave_out_modules(|| has_modules);
            let modules = &planned.plan.environment.modules.value;
            assert_eq!(!modules.is_empty(), stay, "{embedded} {cluster}");
            assert_eq!(planned.plan.notes.len(), notes + usize::from(!stay));
        }
    }

    #[test]
    fn a_conda_that_is_not_here_is_noted() {
        let root = tempfile::tempdir().unwrap();
        for (modules, has_conda, noted) in [
            (vec![], false, true),
            (vec![], true, false),
            (vec!["conda".to_owned()], false, false),
        ] {
            let mut planned = example(root.path());
            let environment = &mut planned.plan.environment;
            environment.modules.value = modules;
            let source = environment.python.source.clone();
            environment.python = Resolved::new(Python::CondaName("mine".to_owned()), source);
            planned.note_what_is_missing(|| has_conda);
            let has_note = planned
                .plan
                .notes
                .iter()
                .any(|note| note.contains("no conda"));
            assert_eq!(has_note, noted);
        }
    }
}
