//! How a conductor starts the ranks.

use super::quiet::QuietWatch;
use super::state::Hello;
use super::steps::RanksPlace;
use super::{Conductor, ConductorError};
use crate::protocol::Order;
use crate::start_values::start_values;
use folder::{Event, KnownCheckpoint, LaunchFile, ReadyImage};
use model::{ContainerRuntime, Timestamp};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;
use sys::disk_errors::patiently;
use train::{
    ContainerPlace, ContainerStart, EnvChange, JobShape, Launch, Notify, Rendezvous, Values,
};

impl Conductor {
    pub(super) fn start_ranks(
        &mut self,
        hellos: &[Hello],
        resume: Option<&KnownCheckpoint>,
        now: Timestamp,
    ) -> Result<(), ConductorError> {
        let plan = &self.json.plan;
        let allocation = &self.steps.allocation;
        let local = &self.local;
        // The first node has index 0: the state sorts them.
        let rendezvous = hellos.first().map_or_else(
            || Rendezvous {
                address: "127.0.0.1".to_owned(),
                port: 0,
            },
            |first| Rendezvous {
                address: first.address.clone(),
                port: first.port,
            },
        );
        let shape = JobShape {
            job: allocation.attempt.job,
            restart: allocation.attempt.restart,
            nodes: allocation.nodes.clone(),
            gpus: allocation.gpus.clone(),
            addresses: hellos.iter().map(|hello| hello.address.clone()).collect(),
        };
        let resumed = resume.map(|known| known.name.as_str());
        let values = start_values(&self.run, &self.json, local, resumed);
        let Launch {
            mut head,
            mut ranks,
        } = train::launch(plan, &shape, &rendezvous, &values)?;
        if let Some(head) = &mut head {
            let own = self.steps.rank_wrapper("mpi-rank", &local.path());
            let own = own.iter().map(|word| word.to_string_lossy().into_owned());
            head.argv.extend(own);
        }
        if plan.resume.notify.value == Notify::File {
            let stop = EnvChange::Set(local.stop_file().display().to_string());
            for rank in &mut ranks {
                rank.env
                    .insert(train::env_vars::YARD_STOP_FILE.to_owned(), stop.clone());
            }
        }
        let cwd = self.run.code().join(&self.json.code.subfolder);
        let container = self.container(&cwd, &values)?;
        let made = self
            .json
            .environment
            .as_ref()
            .map(|made| made.path.as_path());
        let count = u32::try_from(ranks.len()).unwrap_or(u32::MAX);
        let launch = LaunchFile {
            attempt: allocation.attempt,
            count,
            cwd,
            preludes: match container.as_ref().map(|container| container.runtime) {
                // The wrappers run inside, where none of the node's modules are.
                Some(ContainerRuntime::Pyxis) => Vec::new(),
                _ => plan.environment.preludes(made),
            },
            container,
            secrets: plan.environment.secrets.value.clone(),
            head,
            ranks,
        };
        let folder = self.run.path().to_owned();
        let told_to_end = || self.steps.told_to_end.load(Ordering::Relaxed);
        patiently(self.patience, told_to_end, || {
            self.run.write_launch(&launch)
        })
        .map_err(|error| ConductorError::Folder {
            what: "writing the launch file",
            folder,
            source: error.into(),
        })?;
        let options = launch.container.as_ref().map(ContainerStart::srun_options);
        let place = RanksPlace {
            folder: &launch.cwd,
            local: &local.path(),
            options: &options.unwrap_or_default(),
        };
        self.ranks = self.steps.ranks(plan, &place);
        if let Some(agents) = self.agents.as_mut().filter(|_| !plan.services.is_empty()) {
            let resume = resumed.map(str::to_owned);
            agents.send(&Order::StartServices { resume });
        }
        if let Some(hang) = &plan.hang {
            let quiet = QuietWatch {
                run: self.run.clone(),
                trial: self.steps.trial,
                attempt: allocation.attempt,
                after: Duration::from_secs(hang.after.value.0),
                sender: self.sender.clone(),
            };
            std::thread::spawn(move || quiet.watch());
        }
        let rendezvous = format!("{}:{}", rendezvous.address, rendezvous.port);
        self.record(
            Event::Launched {
                ranks: count,
                rendezvous,
            },
            now,
        )
    }

    /// The container of the ranks, with all paths.
    fn container(
        &self,
        cwd: &Path,
        values: &Values,
    ) -> Result<Option<ContainerStart>, ConductorError> {
        let Some(plan) = &self.json.plan.environment.container else {
            return Ok(None);
        };
        let text = |path: &Path| path.display().to_string();
        let ready = self.json.image.as_ref();
        let image = ready.and_then(|ready| Some(text(ready.path.as_deref()?)));
        let place = ContainerPlace {
            run: &text(self.run.path()),
            local: &text(&self.local.path()),
            yard: &text(&self.steps.yard),
            cwd: &text(cwd),
            image: image.as_deref(),
            has_environment: ready.is_some_and(ReadyImage::has_environment_now),
        };
        // Those of a pretended cluster are numbers, which no runtime can make visible.
        let are_real = !self.json.plan.embedded || sys::gpus::are_there();
        let gpus = self.steps.allocation.has_gpus() && are_real;
        Ok(Some(ContainerStart::new(plan, gpus, &place, values)?))
    }
}
