//! Contradictions of policy and paths.

use super::Checker;
use crate::{Bounds, Mib, Sourced};
use model::Severity;

impl Checker<'_> {
    pub(super) fn policy(&mut self) {
        let file = self.file;
        for policy in &file.policy.gpus {
            let kinds = file.gpus_called(&policy.name);
            if kinds.is_empty() {
                let gpus = file.gpus(None);
                let models: Vec<&str> = gpus
                    .iter()
                    .filter_map(|gpu| Some(gpu.gpu.model.as_ref()?.as_str()))
                    .collect();
                let message = format!("there is a policy for {}, and no such GPU", policy.name);
                let label = model::nearest(&policy.name, models.iter().copied())
                    .map_or(String::new(), |near| format!("did you mean {near}?"));
                let help = match &models[..] {
                    [] => "add the GPUs to [nodes.…]".to_owned(),
                    models => format!("models are {}", models.join(", ")),
                };
                let found = ("unknown-gpu", Severity::Error);
                self.say(found, &policy.body.span, message, label, help);
            }
            self.shares(
                Some(&policy.name),
                policy.cpus_per_gpu.as_ref(),
                policy.memory_per_gpu.as_ref(),
            );
        }
        self.shares(
            None,
            file.policy.cpus_per_gpu.as_ref(),
            file.policy.memory_per_gpu.as_ref(),
        );
        self.paths();
        if let Some(rule) = &file.scheduling.return_to_service
            && rule.value > 2
        {
            let message = format!("return_to_service is {}", rule.value);
            let label = "there are 0, 1 and 2";
            let help = "0: nodes that are down stay so; 1: those come back that did not answer; 2: all come back";
            let found = ("return-to-service", Severity::Error);
            self.say(found, &rule.span, message, label, help);
        }
    }

    /// What the policy wants for every GPU must fit when all GPUs of a node are taken.
    fn shares(
        &mut self,
        model: Option<&str>,
        cpus: Option<&Sourced<Bounds<u32>>>,
        memory: Option<&Sourced<Bounds<Mib>>>,
    ) {
        let file = self.file;
        for kind in file.gpus(None) {
            if model.is_some_and(|model| !kind.gpu.is_called(model)) {
                continue;
            }
            let Some(count) = &kind.gpu.count else {
                continue;
            };
            let name = &kind.nodes.name;
            if let (Some(cpus), Some(all)) = (cpus, &kind.nodes.cpus)
                && cpus.least.saturating_mul(count.value) > all.value
            {
                let message = format!(
                    "{} CPUs for each GPU are more than [nodes.{name}] has",
                    cpus.least
                );
                let label = format!("{} GPUs share {} CPUs", count.value, all.value);
                let assumed = cpus.is_assumed() || all.is_assumed() || count.is_assumed();
                let severity = if assumed {
                    Severity::Note
                } else {
                    Severity::Warning
                };
                let help = "lower it, or correct the node";
                self.say(("policy-cpus", severity), &cpus.span, message, label, help);
            }
            if let (Some(memory), Some(all)) = (memory, &kind.nodes.memory)
                && memory.least.0.saturating_mul(u64::from(count.value)) > all.value.0
            {
                let message = format!(
                    "{} for each GPU are more than [nodes.{name}] has",
                    memory.least
                );
                let label = format!("{} GPUs share {}", count.value, all.value);
                let assumed = memory.is_assumed() || all.is_assumed() || count.is_assumed();
                let severity = if assumed {
                    Severity::Note
                } else {
                    Severity::Warning
                };
                let help = "lower it, or correct the node";
                self.say(
                    ("policy-memory", severity),
                    &memory.span,
                    message,
                    label,
                    help,
                );
            }
        }
    }

    fn paths(&mut self) {
        let file = self.file;
        if let Some(closed) = &file.paths.no_jobs {
            let open = [
                ("scratch", &file.paths.scratch),
                ("project", &file.paths.project),
            ];
            for (key, path) in open
                .into_iter()
                .filter_map(|(key, path)| Some((key, path.as_ref()?)))
            {
                let inside =
                    |folder: &&String| std::path::Path::new(&path.value).starts_with(folder);
                if let Some(folder) = closed.iter().find(inside) {
                    let message = format!("{key} is in {folder}, where jobs can't run");
                    let help = "take another folder, or correct no_jobs";
                    self.say(
                        ("path-closed", Severity::Error),
                        &path.span,
                        message,
                        "",
                        help,
                    );
                }
            }
        }
        if let (Some(tmpfs), Some(survives)) =
            (&file.node_local.tmpfs, &file.node_local.survives_jobs)
            && tmpfs.value
            && survives.value
        {
            let message = "what is in memory counts against a job and ends with it".to_owned();
            let help = "tmpfs = false, or survives_jobs = false";
            self.say(
                ("tmpfs-survives", Severity::Warning),
                &survives.span,
                message,
                "",
                help,
            );
        }
    }
}
