//! How a conductor starts the ranks.

use super::state::{Hello, Known};
use super::{Conductor, ConductorError};
use folder::{Event, LaunchFile};
use model::Timestamp;
use std::sync::atomic::Ordering;
use sys::disk_errors::patiently;
use train::{EnvChange, JobShape, Launch, Notify, Rendezvous, Values};

impl Conductor {
    pub(super) fn start_ranks(
        &mut self,
        hellos: &[Hello],
        resume: Option<&Known>,
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
            gpus: vec![allocation.gpus; allocation.nodes.len()],
            addresses: hellos.iter().map(|hello| hello.address.clone()).collect(),
        };
        let values = Values {
            data: local.data(),
            checkpoints: local.checkpoints(),
            resume: local.resume(),
            resume_file: resume.map(|known| local.resume().join(&known.name)),
            logs: self.run.tensorboard(),
            run: self.run.id().to_owned(),
        };
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
        let made = self
            .json
            .environment
            .as_ref()
            .map(|made| made.path.as_path());
        let count = u32::try_from(ranks.len()).unwrap_or(u32::MAX);
        let launch = LaunchFile {
            attempt: allocation.attempt,
            count,
            cwd: self.run.code().join(&self.json.code.subfolder),
            preludes: plan.environment.preludes(made),
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
        self.ranks = self.steps.ranks(plan, &launch.cwd, &local.path());
        let rendezvous = format!("{}:{}", rendezvous.address, rendezvous.port);
        self.record(
            Event::Launched {
                ranks: count,
                rendezvous,
            },
            now,
        )
    }
}
