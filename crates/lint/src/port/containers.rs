//! What runs containers: Singularity and Apptainer, Pyxis, Enroot.

use super::container_words::{
    Found, program_of_srun, pyxis, pyxis_image, starter_image, starter_options,
};
use super::porter::Porter;
use crate::rules::gap_in_command;
use crate::shell::{Command, Word};
use model::ContainerRuntime;
use std::ops::Range;

impl Porter<'_> {
    pub fn containers(&mut self) {
        let Some(to) = self
            .to
            .containers
            .runtime
            .as_ref()
            .map(|runtime| runtime.value)
        else {
            return self.no_runtime();
        };
        let script = self.script;
        for command in &script.shell.commands {
            let words = command.program();
            let Some(first) = words.first() else { continue };
            let line = script.lines.number(first.range.start);
            if let Some(gap) = gap_in_command(&script.text[command.range.clone()])
                && starts_container(words)
            {
                let about = format!("{gap} is a placeholder; this command was not ported");
                self.ask(Some(line), about, "fill it in, and port the script again");
                continue;
            }
            match &*first.text {
                "srun" => match (pyxis(words), to) {
                    (Some(_), ContainerRuntime::Pyxis) => {}
                    (Some(mut found), _) => {
                        let is_quoted =
                            |word: &&Range<usize>| script.text[(*word).clone()].contains('"');
                        found.run.quoted = found.words.iter().any(is_quoted);
                        self.write_without_pyxis(words, found, to, line);
                    }
                    (None, _) => self.inside_srun(words, to, line),
                },
                "singularity" | "apptainer" => self.starter(words, None, to, line),
                "enroot" if to != ContainerRuntime::Enroot && to != ContainerRuntime::Pyxis => {
                    let about = format!(
                        "enroot: {} runs containers with {}",
                        self.to.name,
                        to.word()
                    );
                    self.ask(
                        Some(line),
                        about,
                        "where is the image it was made from? build it again there",
                    );
                }
                _ => {}
            }
            self.variables(command, to);
        }
    }

    /// The other cluster's file doesn't say what runs containers.
    fn no_runtime(&mut self) {
        let script = self.script;
        let found = script.shell.commands.iter().find_map(|command| {
            let words = command.program();
            let name = &*words.first()?.text;
            let is = matches!(name, "singularity" | "apptainer" | "enroot")
                || (name == "srun" && pyxis(words).is_some());
            is.then(|| (script.lines.number(command.range.start), name.to_owned()))
        });
        if let Some((line, name)) = found {
            let about = format!(
                "{name} runs a container; {}'s file doesn't say what does there",
                self.to.name
            );
            self.ask(Some(line), about, "Singularity, Apptainer, Pyxis, or none?");
        }
    }

    /// `srun … singularity exec …`
    fn inside_srun(&mut self, words: &[Word<'_>], to: ContainerRuntime, line: usize) {
        let Some(program) = program_of_srun(words) else {
            return;
        };
        if matches!(&*words[program].text, "singularity" | "apptainer") {
            self.starter(&words[program..], Some(words[0].range.clone()), to, line);
        }
    }

    /// `singularity exec OPTIONS IMAGE PROGRAM …`, perhaps behind an `srun`.
    fn starter(
        &mut self,
        words: &[Word<'_>],
        srun: Option<Range<usize>>,
        to: ContainerRuntime,
        line: usize,
    ) {
        let name = words[0].text.clone().into_owned();
        match to {
            ContainerRuntime::Apptainer | ContainerRuntime::Singularity => {
                if name != to.word() {
                    let why = format!("{} runs containers with {}", self.to.name, to.word());
                    self.replace(words[0].range.clone(), to.word(), why);
                }
                self.module_of_runtime(words[0].range.start);
            }
            ContainerRuntime::Pyxis => self.write_for_pyxis(words, srun, line),
            ContainerRuntime::Enroot => {
                let about = format!("{name}: {} runs containers with enroot", self.to.name);
                self.ask(
                    Some(line),
                    about,
                    "import the image with enroot import, and start it by name",
                );
            }
            ContainerRuntime::Podman | ContainerRuntime::Charliecloud => {
                let about = format!("{name}: {} runs containers with {to}", self.to.name);
                self.ask(Some(line), about, "write it with that runtime");
            }
        }
    }

    fn write_for_pyxis(&mut self, words: &[Word<'_>], srun: Option<Range<usize>>, line: usize) {
        let verb = words.get(1).map_or("", |word| &*word.text);
        let about = format!(
            "{} {verb}: {} runs containers with Pyxis",
            words[0].text, self.to.name
        );
        if !matches!(verb, "exec" | "run") {
            // Pulling and building is done otherwise there.
            return self.ask(
                Some(line),
                about,
                "images are made with enroot import there: is this line needed?",
            );
        }
        let Some((run, program)) = starter_options(words) else {
            return self.ask(
                Some(line),
                about,
                "the command can't be taken apart: write it as srun --container-image=…",
            );
        };
        let image = run.image.unwrap_or_default();
        let mut options = vec![format!(
            "--container-image={}",
            self.translated(&pyxis_image(&image))
        )];
        if !run.mounts.is_empty() {
            options.push(format!(
                "--container-mounts={}",
                self.translated(&run.mounts.join(","))
            ));
        }
        options.extend(
            run.workdir
                .map(|folder| format!("--container-workdir={folder}")),
        );
        if run.writable {
            options.push("--container-writable".to_owned());
        }
        if verb == "exec" {
            options.push("--no-container-entrypoint".to_owned());
        }
        let options = options.join(" ");
        let end = words
            .get(program)
            .map_or(words[words.len() - 1].range.end, |word| word.range.start);
        let gap = if program < words.len() { " " } else { "" };
        let mut why = format!(
            "{} runs containers with Pyxis, by options of srun",
            self.to.name
        );
        if words.iter().any(|word| word.text == "--nv") {
            why.push_str(", which need no --nv for GPUs");
        }
        // Without srun it was one process, whatever the job's tasks are.
        let request = self.script.request();
        let several = [request.tasks, request.tasks_per_node, request.min_nodes];
        let one = if several.into_iter().flatten().any(|count| count > 1) {
            "srun --nodes=1 --ntasks=1"
        } else {
            "srun"
        };
        match srun {
            Some(_) => self.replace(words[0].range.start..end, format!("{options}{gap}"), why),
            None => self.replace(
                words[0].range.start..end,
                format!("{one} {options}{gap}"),
                why,
            ),
        }
        if image.ends_with(".sif") {
            let about = format!("{image} is an image of Singularity, which Enroot can't read");
            self.ask(
                Some(line),
                about,
                "make a .sqsh of what it was built from: enroot import docker://…",
            );
        }
        if !run.lost.is_empty() {
            let about = format!(
                "no option of Pyxis stands for {}: taken out",
                run.lost.join(" ")
            );
            self.ask(Some(line), about, "is it needed?");
        }
    }

    fn write_without_pyxis(
        &mut self,
        words: &[Word<'_>],
        found: Found<'_>,
        to: ContainerRuntime,
        line: usize,
    ) {
        let about = format!(
            "srun --container-image: {} runs containers with {}",
            self.to.name,
            to.word()
        );
        let program = program_of_srun(words);
        let (ContainerRuntime::Apptainer | ContainerRuntime::Singularity, Some(program)) =
            (to, program)
        else {
            return self.ask(Some(line), about, "write it with that runtime");
        };
        let Some(image) = &found.run.image else {
            return self.ask(
                Some(line),
                about,
                "it names no image, but a container that was made before: which image?",
            );
        };
        let mut starter = vec![to.word().to_owned(), "exec".to_owned(), "--nv".to_owned()];
        for mount in &found.run.mounts {
            let mount = quoted(self.translated(mount), found.run.quoted);
            starter.push(format!("--bind {mount}"));
        }
        starter.extend(
            found
                .run
                .workdir
                .as_ref()
                .map(|folder| format!("--pwd {}", quoted(folder.clone(), found.run.quoted))),
        );
        let (image, sqsh) = starter_image(image);
        starter.push(quoted(self.translated(&image), found.run.quoted));
        let starter = starter.join(" ");
        let why = format!("{} runs containers with {}", self.to.name, to.word());
        // The options go with the blanks before them, and a line's end that is continued.
        for word in &found.words {
            let before = &self.script.text[..word.start];
            let start = before.trim_end_matches([' ', '\t', '\n', '\\', '\r']).len();
            self.replace(
                start..word.end,
                "",
                format!("an option of Pyxis, which {} doesn't have", self.to.name),
            );
        }
        let at = words[program].range.start;
        self.replace(at..at, format!("{starter} "), why);
        self.module_of_runtime(words[0].range.start);
        if image.contains('$') && !sqsh {
            let about = format!(
                "{image} is an image as Pyxis takes it: of a registry, or a file of Enroot's"
            );
            let ask = format!("what is in it? {} takes IMAGE.sif or docker://…", to.word());
            self.ask(Some(line), about, ask);
        }
        if sqsh {
            let about = format!(
                "{image} is an image of Enroot, which {} can't read",
                to.word()
            );
            self.ask(
                Some(line),
                about,
                format!(
                    "build one of what it was made of: {} build IMAGE.sif docker://…",
                    to.word()
                ),
            );
        }
        if !found.run.lost.is_empty() {
            let about = format!("nothing stands for {}: taken out", found.run.lost.join(" "));
            self.ask(Some(line), about, "is it needed?");
        }
    }

    /// Loads the module of the other cluster's runtime where the script loads none of a runtime's.
    fn module_of_runtime(&mut self, container: usize) {
        let Some(module) = &self.to.containers.module else {
            return;
        };
        let script = self.script;
        let all = &script.shell.commands;
        let of_modules = |command: &&Command<'_>| matches!(command.name(), "module" | "ml");
        let names = |word: &Word<'_>| {
            let name = word.text.split('/').next().unwrap_or_default();
            matches!(name, "singularity" | "apptainer") || module.split('/').next() == Some(name)
        };
        let mut loads = all.iter().filter(of_modules);
        if loads.any(|command| command.words.iter().any(names)) {
            return;
        }
        let plain = |command: &&Command<'_>| {
            command.depth == 0 && !command.function && command.range.start < container
        };
        // Behind the others, one of which may be a purge.
        let last = all.iter().filter(of_modules).rfind(plain);
        let line = match (last, script.kinds.first_command) {
            (Some(last), _) => script.lines.number(last.range.end) + 1,
            (None, Some(first)) => first,
            (None, None) => return,
        };
        let at = script.lines.with_end(line).start;
        let note = if module.is_assumed() {
            ", which is assumed"
        } else {
            ""
        };
        let why = format!(
            "{} brings its containers by this module{note}",
            self.to.name
        );
        self.replace(at..at, format!("module load {}\n", module.value), why);
    }

    /// `SINGULARITY_*` and `APPTAINER_*`.
    fn variables(&mut self, command: &Command<'_>, to: ContainerRuntime) {
        let (old, new) = match to {
            ContainerRuntime::Apptainer => ("SINGULARITY", "APPTAINER"),
            ContainerRuntime::Singularity => ("APPTAINER", "SINGULARITY"),
            ContainerRuntime::Pyxis
            | ContainerRuntime::Enroot
            | ContainerRuntime::Podman
            | ContainerRuntime::Charliecloud => return,
        };
        for set in &command.sets {
            for prefix in ["_", "ENV_"] {
                if set.name.starts_with(&format!("{old}{prefix}")) {
                    let range = set.range.start..set.range.start + old.len();
                    if self.script.text.get(range.clone()) == Some(old) {
                        let why = format!("{} runs containers with {}", self.to.name, to.word());
                        self.replace(range, new, why);
                    }
                }
            }
        }
    }
}

/// Whether a command runs a container, by a program of its own or by options of srun.
fn starts_container(words: &[Word<'_>]) -> bool {
    let is_starter =
        |word: &Word<'_>| matches!(&*word.text, "singularity" | "apptainer" | "enroot");
    let Some(first) = words.first() else {
        return false;
    };
    if first.text != "srun" {
        return is_starter(first);
    }
    let program = program_of_srun(words).and_then(|program| words.get(program));
    pyxis(words).is_some() || program.is_some_and(is_starter)
}

/// What was expanded between quotes is so again.
fn quoted(text: String, was: bool) -> String {
    if was && text.contains('$') && !text.contains('"') {
        format!("\"{text}\"")
    } else {
        text
    }
}
