//! What surrounds a job: machine, internet, submitting from a job.

use super::porter::Porter;
use cluster_file::{Nodes, Sourced};
use model::Internet;

/// Programs that need the outside world.
const FETCHERS: [(&str, &str); 9] = [
    ("pip", "install"),
    ("pip3", "install"),
    ("conda", "install"),
    ("conda", "create"),
    ("git", "clone"),
    ("wget", ""),
    ("curl", ""),
    ("wandb", ""),
    ("huggingface-cli", "download"),
];

impl Porter<'_> {
    pub fn surroundings(&mut self) {
        self.other_machine();
        self.internet();
        self.submitting();
    }

    fn other_machine(&mut self) {
        let Some(machine) = self.machine.clone() else {
            return;
        };
        let partitions = match self.partition_there() {
            Some(partition) => vec![partition],
            None => self.candidates(),
        };
        let sets = partitions.iter().flat_map(|one| self.to.nodes_of(one));
        let mut nodes: Vec<&Nodes> = sets.map(|set| &set.nodes.body).collect();
        if nodes.is_empty() {
            nodes.extend(self.to.nodes.iter().map(|nodes| &nodes.body));
        }
        let machines = nodes.iter().map(|nodes| nodes.architecture.clone());
        let there: Vec<Sourced<String>> = machines.flatten().collect();
        let other = there.iter().find(|other| other.value != machine);
        if let Some(other) = other.filter(|_| there.iter().all(|there| there.value != machine)) {
            let about = format!(
                "{} is {machine}, {} is {}",
                self.from.name, self.to.name, other.value
            );
            let ask = format!(
                "are programs, environments and images there for {}? those for {machine} don't run",
                other.value
            );
            self.ask(None, about, ask);
        }
    }

    fn internet(&mut self) {
        let reaches = |internet: &Option<Sourced<Internet>>| {
            internet
                .as_ref()
                .map(|internet| internet.value == Internet::Compute)
        };
        if reaches(&self.to.internet) != Some(false) || reaches(&self.from.internet) == Some(false)
        {
            return;
        }
        let script = self.script;
        for command in &script.shell.commands {
            let words = command.program();
            let Some(first) = words.first() else { continue };
            let second = words.get(1).map_or("", |word| &*word.text);
            let is = |(name, verb): &(&str, &str)| {
                first.text == *name && (verb.is_empty() || second == *verb)
            };
            // `pip install --no-index` takes what the site has.
            if words.iter().any(|word| word.text == "--no-index") {
                continue;
            }
            let docker = words.iter().any(|word| word.text.contains("docker://"));
            if FETCHERS.iter().any(is) || docker {
                let line = script.lines.number(first.range.start);
                let about = format!(
                    "{} {second} fetches from outside, and jobs of {} can't",
                    first.text, self.to.name
                );
                return self.ask(Some(line), about, "do it on the login node before the job?");
            }
        }
    }

    fn submitting(&mut self) {
        let script = self.script;
        for command in &script.shell.commands {
            let words = command.program();
            let Some(first) = words.first() else { continue };
            let line = Some(script.lines.number(first.range.start));
            let hosts = self.from.submit_hosts.as_ref();
            let host = words.get(1).filter(|host| {
                hosts.is_some_and(|hosts| hosts.iter().any(|own| *own == host.text))
            });
            if let ("ssh", Some(host)) = (&*first.text, host) {
                let about = format!("ssh {}: a host of {}", host.text, self.from.name);
                let ask = match self.to.submit_from_nodes.as_ref().map(|works| works.value) {
                    Some(true) => format!(
                        "jobs of {} can call sbatch themselves: is ssh needed?",
                        self.to.name
                    ),
                    _ => format!("on which host of {} can jobs be submitted?", self.to.name),
                };
                self.ask(line, about, ask);
            }
            let works = self
                .to
                .submit_from_nodes
                .as_ref()
                .is_some_and(|works| !works.value);
            if first.text == "sbatch" && works {
                let hosts = self
                    .to
                    .submit_hosts
                    .as_ref()
                    .map_or(String::new(), |hosts| {
                        format!(" through {}", hosts.join(", "))
                    });
                let about = format!(
                    "sbatch in a job: {} doesn't let jobs submit jobs",
                    self.to.name
                );
                self.ask(
                    line,
                    about,
                    format!("submit{hosts}, or wait from the start with --dependency"),
                );
            }
        }
    }
}
