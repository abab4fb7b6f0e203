//! CPUs, memory and time.

use super::porter::Porter;
use cluster_file::{Bounds, ClusterFile, Doubt, GpuKind, Mib, Nodes, Sourced};
use model::option_table::Key;
use model::{Given, MemoryRequest, Request, Seconds, TimeLimitRequest, mebibytes_option};
use resources::Denial;

impl<'a> Porter<'a> {
    /// CPUs and memory against the other cluster's policy and nodes.
    pub fn sizes(&mut self) {
        self.cpus_per_gpu();
        self.memory_per_gpu();
        self.cpus_per_task();
        let fits = self.memory();
        self.memory_per_cpu();
        self.shares(fits);
    }

    /// The nodes of the other cluster that the job would run on: those with its GPUs.
    fn target_nodes(&self) -> Vec<GpuKind<'a>> {
        let to: &'a ClusterFile = self.to;
        match &self.model {
            Some(model) => {
                let mut kinds = to.gpus_called(model);
                if let Some(partition) = self.partition_there() {
                    let sets = self.to.nodes_of(partition);
                    kinds.retain(|kind| sets.iter().any(|set| set.nodes.name == kind.nodes.name));
                }
                kinds
            }
            None => to.gpus(self.partition_there().map(|partition| &partition.body)),
        }
    }

    /// The largest amount that any of those nodes has.
    fn most(&self, amount: impl Fn(&Nodes) -> Option<u64>) -> Option<u64> {
        let kinds = self.target_nodes();
        let groups: Vec<&Nodes> = if self.asks_gpus && !kinds.is_empty() {
            kinds.iter().map(|kind| &kind.nodes.body).collect()
        } else {
            let there = self.partition_there();
            let partitions = there.map_or_else(|| self.candidates(), |one| vec![one]);
            let sets = partitions.iter().flat_map(|one| self.to.nodes_of(one));
            sets.map(|set| &set.nodes.body).collect()
        };
        // Where no partition is known to serve, any node may be meant.
        let groups = if groups.is_empty() {
            self.to.nodes.iter().map(|nodes| &nodes.body).collect()
        } else {
            groups
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
        let value = given.value.as_deref();
        let Some(asked) = value.and_then(|value| value.parse::<u32>().ok()) else {
            return;
        };
        let policy = self.policy_cpus().map(|(name, bounds)| Wanted {
            amount: u64::from(asked.clamp(bounds.least, bounds.most)),
            why: format!(
                "{} wants {} CPUs for each {name}{}",
                self.to.name,
                bounds.value,
                assumed(bounds)
            ),
            sure: !bounds.is_assumed(),
        });
        let share = self.share_of_gpu().and_then(|share| {
            let all = share.cpus?;
            Some(Wanted {
                amount: (u64::from(all.value) / share.gpus).max(1),
                why: format!(
                    "a node of {} has {} CPUs for {}{}",
                    self.to.name,
                    all.value,
                    share.gpus_words(),
                    assumed(all)
                ),
                sure: self.model.is_some() && !all.is_assumed(),
            })
        });
        self.set_for_gpu(given, u64::from(asked), [policy, share], |cpus| {
            cpus.to_string()
        });
    }

    fn memory_per_gpu(&mut self) {
        let Some(given) = self.last(Key::MemPerGpu) else {
            return;
        };
        let Some(asked) = given.value.as_deref().and_then(model::parse_mebibytes) else {
            return;
        };
        let policy = self.policy_memory().map(|(name, bounds)| Wanted {
            amount: asked.clamp(bounds.least.0, bounds.most.0),
            why: format!(
                "{} wants {} for each {name}{}",
                self.to.name,
                bounds.value,
                assumed(bounds)
            ),
            sure: !bounds.is_assumed(),
        });
        let share = self.share_of_gpu().and_then(|share| {
            let all = share.memory?;
            Some(Wanted {
                // Whole GiB below an even share.
                amount: (all.value.0 / share.gpus / 1024 * 1024).max(1024),
                why: format!(
                    "a node of {} has {} for {}{}",
                    self.to.name,
                    mebibytes_option(all.value.0),
                    share.gpus_words(),
                    assumed(all)
                ),
                sure: self.model.is_some() && !all.is_assumed(),
            })
        });
        self.set_for_gpu(given, asked, [policy, share], mebibytes_option);
    }

    /// Writes what a GPU gets there: what the policy wants, and no more than a node has. What is only
    /// assumed, or said of GPUs that may not be the ones, is asked.
    fn set_for_gpu(
        &mut self,
        given: &Given,
        asked: u64,
        [policy, share]: [Option<Wanted>; 2],
        say: impl Fn(u64) -> String,
    ) {
        let mut wanted = policy.filter(|policy| policy.amount != asked);
        let so_far = wanted.as_ref().map_or(asked, |wanted| wanted.amount);
        let too_little = share.filter(|share| share.amount < so_far);
        let covers = too_little.is_some().then_some(Denial::NodeConfig);
        wanted = too_little.or(wanted);
        let Some(wanted) = wanted.filter(|wanted| wanted.amount != asked) else {
            return;
        };
        let value = say(wanted.amount);
        if wanted.sure {
            return self.set_value(given, &value, wanted.why);
        }
        let about = format!("{}: {}", self.written(given), wanted.why);
        let ask = format!("--{}={value}?", given.option.long);
        self.ask_about(self.line(given), about, ask, covers);
    }

    /// What the GPUs of a node there share, of one kind of nodes: the one with most for each. None
    /// where a kind that may be meant doesn't say.
    fn share_of_gpu(&self) -> Option<Share<'_>> {
        let asked = self.gpus_of_node().filter(|gpus| *gpus > 0)?;
        let kinds = self.target_nodes();
        let share = |kind: GpuKind<'a>| {
            let most = kind.gpu.count.as_ref().map_or(asked, |count| count.value);
            Share {
                gpus: u64::from(asked.min(most).max(1)),
                cpus: kind.nodes.cpus.as_ref(),
                memory: kind.nodes.memory.as_ref(),
            }
        };
        let of_type = |kind: &GpuKind<'a>| {
            let own = kind.gpu.kind.as_ref().map(|own| &own.value);
            self.type_there.is_none() || own == self.type_there.as_ref()
        };
        let shares: Vec<Share<'_>> = kinds.into_iter().filter(of_type).map(share).collect();
        shares.into_iter().max_by_key(|share| {
            let cpus = share.cpus.map_or(u64::MAX, |cpus| u64::from(cpus.value));
            let memory = share.memory.map_or(u64::MAX, |memory| memory.value.0);
            (cpus / share.gpus, memory / share.gpus)
        })
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
        let tasks = self.tasks_of_node();
        let Some(all) = self.most(|nodes| nodes.cpus.as_ref().map(|cpus| u64::from(cpus.value)))
        else {
            return;
        };
        if asked * tasks > all && all >= tasks {
            let tasks = usize::try_from(tasks).unwrap_or(usize::MAX);
            let about = format!(
                "{}, with {} on a node: a node of {} has {all} CPUs",
                self.written(given),
                model::counted(tasks, "task"),
                self.to.name
            );
            let ask = "does it run with fewer CPUs, or on more nodes?";
            self.ask_about(self.line(given), about, ask, Some(Denial::NodeConfig));
        }
    }

    /// `--mem`; true where a node has so much, and nothing is to be said.
    fn memory(&mut self) -> bool {
        let (Some(given), Some(asked)) = (self.last(Key::Mem), self.memory_of_node()) else {
            return true;
        };
        let Some(all) = self.most(|nodes| nodes.memory.as_ref().map(|memory| memory.value.0))
        else {
            return true;
        };
        if asked <= all {
            return true;
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
        let share = |parts: u64| before.saturating_mul(parts) / 20;
        if (share(19)..=share(21)).contains(&asked) {
            let why = format!(
                "{text} is all of a node on {}; 0 is all of a node on {}, {}",
                self.from.name,
                self.to.name,
                mebibytes_option(all)
            );
            self.set_value(given, "0", why);
            return false;
        }
        self.ask_about(
            self.line(given),
            format!(
                "--mem={text}: a node of {} has {}",
                self.to.name,
                mebibytes_option(all)
            ),
            "does it run with less, or on more nodes?",
            Some(Denial::NodeConfig),
        );
        false
    }

    /// `--mem-per-cpu` times the CPUs of a node.
    fn memory_per_cpu(&mut self) {
        let (Some(given), Some(MemoryRequest::PerCpu(each))) =
            (self.last(Key::MemPerCpu), self.script.request().memory)
        else {
            return;
        };
        let cpus =
            self.tasks_of_node() * u64::from(self.script.request().cpus_per_task.unwrap_or(1));
        let all = self.most(|nodes| nodes.memory.as_ref().map(|memory| memory.value.0));
        let Some(all) = all.filter(|all| each.saturating_mul(cpus) > *all) else {
            return;
        };
        let about = format!(
            "{} for {} is {} of a node; {} has {}",
            self.written(given),
            model::counted(usize::try_from(cpus).unwrap_or(usize::MAX), "CPU"),
            mebibytes_option(each.saturating_mul(cpus)),
            self.to.name,
            mebibytes_option(all)
        );
        let ask = "does it run with less, or on more nodes?";
        self.ask_about(self.line(given), about, ask, Some(Denial::NodeConfig));
    }

    /// CPUs and memory that are asked of a node or a task, against what the site wants for a GPU.
    fn shares(&mut self, memory_fits: bool) {
        let Some(gpus) = self.gpus_of_node_there().filter(|gpus| *gpus > 0) else {
            return;
        };
        let there = self.to.name.clone();
        if let (Some(given), Some(asked), Some((name, bounds))) = (
            self.last(Key::Mem),
            self.memory_of_node(),
            self.policy_memory(),
        ) && memory_fits
            && asked > 0
            && !bounds.holds(&Mib(asked / u64::from(gpus)))
        {
            let about = format!(
                "{} is {} {}; {there} wants {} for each {name}{}",
                self.written(given),
                mebibytes_option((asked / u64::from(gpus)).max(1)),
                for_each(gpus),
                bounds.value,
                assumed(bounds)
            );
            let ask = format!(
                "--mem-per-gpu={}?",
                nearest_mib(bounds, asked / u64::from(gpus))
            );
            self.ask(self.line(given), about, ask);
        }
        let Some(given) = self.last(Key::CpusPerTask) else {
            return;
        };
        let cpus = u64::from(self.script.request().cpus_per_task.unwrap_or(1));
        let each = u32::try_from(cpus * self.tasks_of_node() / u64::from(gpus)).unwrap_or(u32::MAX);
        if let Some((name, bounds)) = self
            .policy_cpus()
            .filter(|(_, bounds)| !bounds.holds(&each))
        {
            let policy = format!(
                "{} {}; {there} wants {} for each {name}{}",
                model::counted(each as usize, "CPU"),
                for_each(gpus),
                bounds.value,
                assumed(bounds)
            );
            let (line, written) = (self.line(given), self.written(given));
            // More than a node has: the answer is one.
            let mut asked = self.questions.iter_mut();
            let asked = asked.find(|one| one.line == line && one.about.starts_with(written));
            match asked {
                Some(asked) => asked.about.push_str(&format!("; it is {policy}")),
                None => {
                    let about = format!("{written} is {policy}");
                    self.ask(line, about, "more or fewer CPUs of a task?");
                }
            }
        }
    }

    /// Tasks of a node, as far as they are said.
    fn tasks_of_node(&self) -> u64 {
        let request = self.script.request();
        let nodes = u64::from(request.min_nodes.unwrap_or(1).max(1));
        match (request.tasks_per_node, request.tasks) {
            (Some(each), _) => u64::from(each),
            (None, Some(all)) => u64::from(all).div_ceil(nodes),
            (None, None) => 1,
        }
        .max(1)
    }

    /// A time over what partition and QOS allow.
    pub fn time(&mut self) {
        let (Some(given), Some(asked)) = (self.last(Key::Time), self.script.request().time) else {
            return;
        };
        let there = Request {
            time: Some(asked),
            partition: self
                .partition_there()
                .map(|partition| partition.name.clone()),
            qos: self.qos_there().map(|qos| qos.name.clone()),
            ..self.script.request().clone()
        };
        let verdict = resources::verdict(self.to, &there, self.user);
        let Some(over) = verdict.time_limit(&there) else {
            return;
        };
        let (Some(most), path) = (over.most, &over.at) else {
            return;
        };
        let most = TimeLimitRequest::Limit(Seconds(most));
        if over.doubt == Some(Doubt::Assumed) {
            let about = format!(
                "{}: {} may allow {most} alone ({path}), which is assumed",
                self.written(given),
                self.to.name,
            );
            return self.ask(self.line(given), about, "how long may a job take there?");
        }
        let why = format!(
            "{} allows {most} ({path}): the rest needs another job, from a checkpoint",
            self.to.name
        );
        self.set_value(given, &most.to_string(), why);
    }
}

/// An amount for a GPU, and the reason.
struct Wanted {
    amount: u64,
    why: String,
    /// The file says it, and of the requested GPUs.
    sure: bool,
}

/// What some GPUs of a node share.
struct Share<'a> {
    gpus: u64,
    cpus: Option<&'a Sourced<u32>>,
    memory: Option<&'a Sourced<Mib>>,
}

impl Share<'_> {
    fn gpus_words(&self) -> String {
        model::counted(usize::try_from(self.gpus).unwrap_or(usize::MAX), "GPU")
    }
}

/// What a reason says of a value without a source.
fn assumed<T>(value: &Sourced<T>) -> &'static str {
    if value.is_assumed() {
        ", which is assumed"
    } else {
        ""
    }
}

fn for_each(gpus: u32) -> String {
    match gpus {
        1 => "for 1 GPU".to_owned(),
        _ => format!("for each of {gpus} GPUs"),
    }
}

fn nearest_mib(bounds: &Bounds<Mib>, asked: u64) -> Mib {
    Mib(asked.clamp(bounds.least.0, bounds.most.0))
}
