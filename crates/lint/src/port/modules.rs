//! `module load`.

use super::porter::{Porter, lines_words};

impl Porter<'_> {
    pub fn modules(&mut self) {
        let mut found = Vec::new();
        for command in &self.script.shell.commands {
            let words = command.program();
            let is_module = matches!(words.first().map(|word| &*word.text), Some("module" | "ml"));
            if !is_module {
                continue;
            }
            let verb = words.get(1).map_or("", |word| &*word.text);
            let skip = match (&*words[0].text, verb) {
                ("ml", "load" | "add") | (_, "load" | "add") => 2,
                ("ml", verb)
                    if !["purge", "list", "avail", "unload", "swap", "use"].contains(&verb) =>
                {
                    1
                }
                _ => continue,
            };
            for word in words
                .iter()
                .skip(skip)
                .filter(|word| !word.expands && !word.text.starts_with('-'))
            {
                found.push((word.range.clone(), word.text.clone().into_owned()));
            }
        }
        let mut unknown: Vec<(usize, String)> = Vec::new();
        for (range, module) in found {
            let line = self.script.lines.number(range.start);
            if !self.module(range, &module) && unknown.iter().all(|(_, known)| *known != module) {
                unknown.push((line, module));
            }
        }
        self.unknown_modules(&unknown);
    }

    /// Asks about the modules that the other cluster's file doesn't name, of all together.
    fn unknown_modules(&mut self, unknown: &[(usize, String)]) {
        let cluster = &self.to.name;
        let name = |module: &str| module.split('/').next().unwrap_or(module).to_owned();
        let Some((line, first)) = unknown.first() else {
            return;
        };
        let (about, ask) = match unknown.len() {
            1 => (
                format!("module {first}: {cluster}'s file doesn't name it"),
                format!("what is it called there? module avail {}", name(first)),
            ),
            _ => {
                let names: Vec<&str> = unknown.iter().map(|(_, module)| &**module).collect();
                let lines: Vec<usize> = unknown.iter().map(|(line, _)| *line).collect();
                (
                    format!(
                        "modules {} in {}: {cluster}'s file doesn't name them",
                        names.join(", "),
                        lines_words(&lines)
                    ),
                    format!("what are they called there? module avail {} …", name(first)),
                )
            }
        };
        self.ask(Some(*line), about, ask);
    }

    /// What becomes of a module; false where the other cluster's file says nothing of it.
    fn module(&mut self, range: std::ops::Range<usize>, module: &str) -> bool {
        let line = Some(self.script.lines.number(range.start));
        let cluster = self.to.name.clone();
        let known = self
            .to
            .modules
            .available
            .as_ref()
            .map(|known| known.value.clone())
            .unwrap_or_default();
        if known.iter().any(|one| one == module) {
            return true;
        }
        let name = module.split('/').next().unwrap_or(module);
        // The module of the container runtime goes with the runtime.
        let of_containers = |file: &cluster_file::ClusterFile| {
            let own = file
                .containers
                .module
                .as_ref()
                .map(|module| module.value.clone());
            own.filter(|own| own.split('/').next() == Some(name))
                .is_some()
        };
        if of_containers(self.to) {
            return true;
        }
        if of_containers(self.from) || matches!(name, "singularity" | "apptainer") {
            if let Some(own) = &self.to.containers.module {
                let why = format!("{cluster} runs containers with {}", own.value);
                self.replace(range, own.value.clone(), why);
                return true;
            }
            if let Some(runtime) = &self.to.containers.runtime {
                let about = format!(
                    "module {module}: {cluster} runs containers with {}, and names no module for it",
                    runtime.value.word()
                );
                self.ask(line, about, "is a module needed there?");
                return true;
            }
        }
        let same: Vec<&String> = known
            .iter()
            .filter(|one| one.split('/').next() == Some(name))
            .collect();
        match &same[..] {
            // Without a version the site's default is meant.
            [_] if !module.contains('/') => {}
            [one] => {
                // Which versions a program runs with only a person can tell.
                let about = format!("module {module}: {cluster} has {one}, another version");
                self.ask(line, about, "does the program run with it?");
            }
            [] => return false,
            several => {
                let names: Vec<&str> = several.iter().map(|one| one.as_str()).collect();
                let about = format!("module {module}: {cluster} has {}", names.join(", "));
                self.ask(line, about, "which one?");
            }
        }
        true
    }
}
