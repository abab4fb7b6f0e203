//! CPUs, memory and time.

use super::gpus::seconds;
use super::porter::Porter;
use model::cluster::{Bounds, GpuKind, Mib, Nodes, Sourced};
use model::option_table::Key;
use model::{TimeLimitRequest, mebibytes_option};

impl Porter<'_> {
    /// CPUs and memory against the other cluster's policy and nodes.
    pub fn sizes(&mut self) {
        self.cpus_per_gpu();
        self.memory_per_gpu();
        self.cpus_per_task();
        self.memory();
    }

    /// The nodes of the other cluster that the job would run on: those with its GPUs.
    fn target_nodes(&self) -> Vec<GpuKind<'_>> {
        match &self.model {
            Some(model) => {
                let mut kinds = self.to.gpus_called(model);
                if let Some(partition) = self.partition_there() {
                    let sets = self.to.nodes_of(partition);
                    kinds.retain(|kind| sets.iter().any(|set| set.nodes.name == kind.nodes.name));
                }
                kinds
            }
            None => self
                .to
                .gpus(self.partition_there().map(|partition| &partition.body)),
        }
    }

    /// The largest amount that any of those nodes has.
    fn most(&self, amount: impl Fn(&Nodes) -> Option<u64>) -> Option<u64> {
        let kinds = self.target_nodes();
        let groups: Vec<&Nodes> = match self.gpus_of_node() {
            Some(_) if !kinds.is_empty() => kinds.iter().map(|kind| &kind.nodes.body).collect(),
            _ => match self.partition_there() {
                Some(partition) => self
                    .to
                    .nodes_of(partition)
                    .into_iter()
                    .map(|set| &set.nodes.body)
                    .collect(),
                None => self.to.nodes.iter().map(|nodes| &nodes.body).collect(),
            },
        };
        // One group that doesn't say leaves it open.
        groups
            .into_iter()
            .map(amount)
            .collect::<Option<Vec<u64>>>()?
            .into_iter()
            .max()
    }

    fn policy_cpus(&self) -> Option<(String, &Sourced<Bounds<u32>>)> {
        let policy = &self.to.policy;
        let own = policy.gpus.iter().find(|own| {
            self.model
                .as_ref()
                .is_some_and(|model| own.name.eq_ignore_ascii_case(model))
        });
        let own = own.and_then(|own| Some((own.name.clone(), own.cpus_per_gpu.as_ref()?)));
        own.or_else(|| Some(("GPU".to_owned(), policy.cpus_per_gpu.as_ref()?)))
    }

    fn policy_memory(&self) -> Option<(String, &Sourced<Bounds<Mib>>)> {
        let policy = &self.to.policy;
        let own = policy.gpus.iter().find(|own| {
            self.model
                .as_ref()
                .is_some_and(|model| own.name.eq_ignore_ascii_case(model))
        });
        let own = own.and_then(|own| Some((own.name.clone(), own.memory_per_gpu.as_ref()?)));
        own.or_else(|| Some(("GPU".to_owned(), policy.memory_per_gpu.as_ref()?)))
    }

    fn cpus_per_gpu(&mut self) {
        let Some(given) = self.last(Key::CpusPerGpu) else {
            return;
        };
        let Some(asked) = given
            .value
            .as_deref()
            .and_then(|value| value.parse::<u32>().ok())
        else {
            return;
        };
        let mut wanted = asked;
        let mut why = String::new();
        if let Some((name, bounds)) = self.policy_cpus() {
            wanted = asked.clamp(bounds.least, bounds.most);
            why = format!(
                "{} wants {} CPUs for each {name}{}",
                self.to.name,
                bounds.value,
                assumed(bounds)
            );
        }
        let all = self.most(|nodes| nodes.cpus.as_ref().map(|cpus| u64::from(cpus.value)));
        if let (Some(all), Some(gpus)) = (all, self.gpus_of_node_there().filter(|gpus| *gpus > 0))
            && u64::from(wanted) * u64::from(gpus) > all
        {
            wanted = u32::try_from(all / u64::from(gpus)).unwrap_or(1).max(1);
            why = format!("a node of {} has {all} CPUs for {gpus} GPUs", self.to.name);
        }
        if wanted != asked {
            self.set_value(given, &wanted.to_string(), why);
        }
    }

    fn memory_per_gpu(&mut self) {
        let Some(given) = self.last(Key::MemPerGpu) else {
            return;
        };
        let Some(asked) = given.value.as_deref().and_then(model::parse_mebibytes) else {
            return;
        };
        let mut wanted = asked;
        let mut why = String::new();
        if let Some((name, bounds)) = self.policy_memory() {
            wanted = asked.clamp(bounds.least.0, bounds.most.0);
            why = format!(
                "{} wants {} for each {name}{}",
                self.to.name,
                bounds.value,
                assumed(bounds)
            );
        }
        let all = self.most(|nodes| nodes.memory.as_ref().map(|memory| memory.value.0));
        if let (Some(all), Some(gpus)) = (all, self.gpus_of_node_there().filter(|gpus| *gpus > 0))
            && wanted.saturating_mul(u64::from(gpus)) > all
        {
            // Whole GiB below an even share.
            wanted = (all / u64::from(gpus) / 1024 * 1024).max(1024);
            why = format!(
                "a node of {} has {} for {gpus} GPUs",
                self.to.name,
                mebibytes_option(all)
            );
        }
        if wanted != asked {
            self.set_value(given, &mebibytes_option(wanted), why);
        }
    }

    fn cpus_per_task(&mut self) {
        let Some(given) = self.last(Key::CpusPerTask) else {
            return;
        };
        let Some(asked) = given
            .value
            .as_deref()
            .and_then(|value| value.parse::<u64>().ok())
        else {
            return;
        };
        let request = self.script.request();
        let nodes = u64::from(request.min_nodes.unwrap_or(1).max(1));
        let tasks = match (request.tasks_per_node, request.tasks) {
            (Some(each), _) => u64::from(each),
            (None, Some(all)) => u64::from(all).div_ceil(nodes),
            (None, None) => 1,
        }
        .max(1);
        let Some(all) = self.most(|nodes| nodes.cpus.as_ref().map(|cpus| u64::from(cpus.value)))
        else {
            return;
        };
        if asked * tasks > all && all >= tasks {
            let why = format!(
                "a node of {} has {all} CPUs for {tasks} tasks",
                self.to.name
            );
            self.set_value(given, &(all / tasks).to_string(), why);
        }
    }

    fn memory(&mut self) {
        let (Some(given), Some(asked)) = (self.last(Key::Mem), self.memory_of_node()) else {
            return;
        };
        let Some(all) = self.most(|nodes| nodes.memory.as_ref().map(|memory| memory.value.0))
        else {
            return;
        };
        if asked <= all {
            return;
        }
        let before = self
            .from
            .nodes
            .iter()
            .filter_map(|nodes| nodes.memory.as_ref());
        let before = before
            .map(|memory| memory.value.0)
            .max()
            .unwrap_or(u64::MAX);
        let text = given.value.clone().unwrap_or_default();
        if asked.saturating_mul(20) >= before.saturating_mul(19) {
            let why = format!(
                "{text} is all of a node on {}; 0 is all of a node on {}, {}",
                self.from.name,
                self.to.name,
                mebibytes_option(all)
            );
            return self.set_value(given, "0", why);
        }
        self.ask_about(
            self.line(given),
            format!(
                "--mem={text}: a node of {} has {}",
                self.to.name,
                mebibytes_option(all)
            ),
            "does it run with less, or on more nodes?",
            Some(model::cluster::Denial::NodeConfig),
        );
    }

    /// A time over what partition and QOS allow.
    pub fn time(&mut self) {
        let (Some(given), Some(asked)) = (self.last(Key::Time), self.script.request().time) else {
            return;
        };
        let partition = self.partition_there();
        let qos = self.script.value(Key::Qos).and_then(|qos| self.to.qos(qos));
        let Some((path, most)) = self.to.longest(partition, qos) else {
            return;
        };
        let TimeLimitRequest::Limit(limit) = most.value else {
            return;
        };
        if seconds(asked) <= limit.0 {
            return;
        }
        let why = format!(
            "{} allows {} ({path}{}): the rest needs another job, from a checkpoint",
            self.to.name,
            most.value,
            assumed(&most)
        );
        self.set_value(given, &most.value.to_string(), why);
    }
}

/// What a reason says of a value that nobody said.
fn assumed<T>(value: &Sourced<T>) -> &'static str {
    if value.is_assumed() {
        ", which is assumed"
    } else {
        ""
    }
}
