//! One layer of a run file over another.

use crate::{ResourceSection, RunFile, Sections, Source};

/// Puts the upper layer's value in place of the lower one's, where it has one.
macro_rules! overlay {
    ($lower:expr, $upper:expr, $($field:ident).+) => {
        if let Some(value) = $upper.$($field).+ {
            $lower.$($field).+ = Some(value);
        }
    };
}

impl Sections {
    /// Puts `upper` over `self`, key by key.
    pub(crate) fn overlay(&mut self, upper: Sections) {
        self.resources.overlay(upper.resources);
        overlay!(self, upper, name);
        overlay!(self, upper, launcher);
        overlay!(self, upper, launcher_options);
        overlay!(self, upper, command);
        overlay!(self, upper, repeat);
        overlay!(self, upper, at_once);
        overlay!(self, upper, after.run);
        overlay!(self, upper, environment.python);
        overlay!(self, upper, environment.modules);
        overlay!(self, upper, environment.variables);
        overlay!(self, upper, environment.secrets);
        overlay!(self, upper, environment.container.image);
        overlay!(self, upper, environment.container.runtime);
        overlay!(self, upper, environment.container.mounts);
        overlay!(self, upper, environment.container.workdir);
        overlay!(self, upper, environment.container.home);
        overlay!(self, upper, environment.container.entrypoint);
        overlay!(self, upper, environment.container.writable);
        overlay!(self, upper, environment.container.copy_to_node);
        overlay!(self, upper, environment.container.options);
        overlay!(self, upper, data.stage);
        overlay!(self, upper, data.collect);
        overlay!(self, upper, data.local_logs);
        overlay!(self, upper, checkpoints.keep);
        overlay!(self, upper, checkpoints.complete);
        overlay!(self, upper, checkpoints.marker);
        overlay!(self, upper, checkpoints.settle);
        overlay!(self, upper, resume.on);
        overlay!(self, upper, resume.by);
        overlay!(self, upper, resume.grace);
        overlay!(self, upper, resume.notify);
        overlay!(self, upper, resume.args);
        overlay!(self, upper, resume.own_checkpoints);
        overlay!(self, upper, watch.hang);
        overlay!(self, upper, watch.on_hang);
        overlay!(self, upper, notify.mail);
        overlay!(self, upper, notify.on);
        overlay!(self, upper, notify.server);
        overlay!(self, upper, notify.password_file);
        overlay!(self, upper, notify.from);
        overlay!(self, upper, notify.hook_file);
        overlay!(self, upper, notify.hook_form);
        overlay!(self, upper, services.tensorboard);
        overlay!(self, upper, services.jupyter);
        for (name, service) in upper.services.named {
            let own = self.services.named.entry(name).or_default();
            overlay!(own, service, command);
            overlay!(own, service, port);
        }
    }
}

impl ResourceSection {
    fn overlay(&mut self, upper: ResourceSection) {
        // Of several ways to say one thing the upper layer's replaces the lower one's.
        if upper.cpus_per_rank.is_some() || upper.cpus_per_gpu.is_some() {
            self.cpus_per_rank = None;
            self.cpus_per_gpu = None;
        }
        if upper.memory.is_some()
            || upper.memory_per_gpu.is_some()
            || upper.memory_per_cpu.is_some()
        {
            self.memory = None;
            self.memory_per_gpu = None;
            self.memory_per_cpu = None;
        }
        overlay!(self, upper, nodes);
        overlay!(self, upper, ranks_per_node);
        overlay!(self, upper, gpus_per_node);
        overlay!(self, upper, gpus);
        overlay!(self, upper, gpu_type);
        overlay!(self, upper, gpu_memory);
        overlay!(self, upper, cpus_per_rank);
        overlay!(self, upper, cpus_per_gpu);
        overlay!(self, upper, memory);
        overlay!(self, upper, memory_per_gpu);
        overlay!(self, upper, memory_per_cpu);
        overlay!(self, upper, time);
        overlay!(self, upper, account);
        overlay!(self, upper, qos);
        overlay!(self, upper, partition);
        overlay!(self, upper, exclusive);
        overlay!(self, upper, constraint);
        overlay!(self, upper, sbatch);
    }
}

impl RunFile {
    /// A key that the file sets, with its place: `launcher (yard.toml:2)`.
    pub(crate) fn first_place(&self) -> Option<String> {
        let body = &self.body;
        let named = |key: &str, source: Option<&Source>| Some(format!("{key} ({})", source?));
        named("name", body.name.as_ref().map(|value| &value.source))
            .or_else(|| {
                named(
                    "launcher",
                    body.launcher.as_ref().map(|value| &value.source),
                )
            })
            .or_else(|| {
                named(
                    "nodes",
                    body.resources.nodes.as_ref().map(|value| &value.source),
                )
            })
            .or_else(|| {
                named(
                    "time",
                    body.resources.time.as_ref().map(|value| &value.source),
                )
            })
    }
}
