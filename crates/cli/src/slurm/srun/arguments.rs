//! From `srun`'s words to what it was called for.

use super::StepCall;
use model::option_table::{Command, Effect, Key, Opt, Takes, find_of, options_of};
use model::{
    Export, GpuCount, JobId, MemoryRequest, NodeCount, OpenMode, TimeLimitRequest, node_list,
    parse_mebibytes,
};
use std::path::Path;
use std::time::Duration;

/// The caller's surroundings.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// Its environment.
    pub environment: &'a [(String, String)],
    /// Its working directory.
    pub cwd: &'a Path,
    /// Its umask.
    pub umask: u32,
}

/// Reads `srun`'s arguments and input variables; the error is a sentence, notes are others.
pub fn read(args: &[String], caller: &Caller<'_>) -> Result<(StepCall, Vec<String>), String> {
    let mut reading = Reading {
        call: StepCall::default(),
        export: Export::All,
        notes: Vec::new(),
    };
    reading.call.launch.chdir = caller.cwd.to_owned();
    reading.call.launch.umask = caller.umask;
    for option in options_of(Command::Srun) {
        for name in option.variables(Command::Srun) {
            let value = caller.environment.iter().find(|(known, _)| known == name);
            if let (Effect::Sets(key), Some((_, value))) = (option.effect, value) {
                reading.variable(key, value);
            }
        }
    }
    let command = reading.words(args)?;
    if command.is_empty() {
        return Err("No command given to execute.".to_owned());
    }
    let Reading {
        mut call,
        export,
        notes,
    } = reading;
    if call.request.name.is_empty() {
        let name = Path::new(&command[0]).file_name();
        call.request.name = name
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
    }
    call.allocation.name.clone_from(&call.request.name);
    call.allocation.chdir.clone_from(&call.launch.chdir);
    call.launch.command = command;
    call.launch.environment = export.filter(caller.environment);
    call.launch.pty = call.pty;
    call.request.kill_on_bad_exit = call.kill_on_bad_exit;
    for name in [&mut call.launch.output, &mut call.launch.error] {
        // Without a pattern of the task srun itself would open it: in its own folder.
        if let Some(text) = name
            && !is_word(text)
            && !model::file_pattern::differs_between_tasks(text)
        {
            *text = caller.cwd.join(&*text).to_string_lossy().into_owned();
        }
    }
    Ok((call, notes))
}

/// `none`, `all`, or a task's rank: no file name.
fn is_word(text: &str) -> bool {
    matches!(text, "none" | "all") || text.parse::<u32>().is_ok()
}

struct Reading {
    call: StepCall,
    export: Export,
    notes: Vec<String>,
}

impl Reading {
    /// Options up to the first word that is none; what is left is the command.
    fn words(&mut self, args: &[String]) -> Result<Vec<String>, String> {
        let mut rest = args.iter();
        while let Some(word) = rest.next() {
            if word == "--" {
                return Ok(rest.cloned().collect());
            }
            if let Some(long) = word.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (long, None),
                };
                let option = named(name)?;
                let value = match (option.takes, value) {
                    (Takes::Required, None) => Some(next(&mut rest, name)?),
                    (_, value) => value,
                };
                self.take(option, value.as_deref())?;
            } else if word.len() > 1
                && let Some(letters) = word.strip_prefix('-')
            {
                let mut letters = letters.chars();
                while let Some(letter) = letters.next() {
                    let option = options_of(Command::Srun)
                        .find(|option| option.short == Some(letter))
                        .ok_or_else(|| format!("invalid option -- '{letter}'"))?;
                    let glued = letters.as_str();
                    let value = match option.takes {
                        Takes::No => None,
                        _ if !glued.is_empty() => Some(glued.to_owned()),
                        Takes::Required => Some(next(&mut rest, &letter.to_string())?),
                        Takes::Optional => None,
                    };
                    if option.takes != Takes::No {
                        letters = "".chars();
                    }
                    self.take(option, value.as_deref())?;
                }
            } else {
                return Ok(std::iter::once(word.clone()).chain(rest.cloned()).collect());
            }
        }
        Ok(Vec::new())
    }

    fn take(&mut self, option: &Opt, value: Option<&str>) -> Result<(), String> {
        match option.effect {
            Effect::Sets(key) => self
                .set(key, value.unwrap_or(""))
                .map_err(|()| format!("Invalid --{} specification", option.long)),
            Effect::Nothing(why) => {
                self.notes
                    .push(format!("--{} has no effect: {why}", option.long));
                Ok(())
            }
            Effect::Refused(why) => Err(format!("--{}: {why}", option.long)),
        }
    }

    /// A value from the environment: what is malformed there is left out.
    fn variable(&mut self, key: Key, value: &str) {
        // The job's own shape is what the engine takes where nothing is asked for.
        if matches!(
            key,
            Key::Mem | Key::MemPerCpu | Key::MemPerGpu | Key::JobName | Key::Chdir
        ) {
            return;
        }
        let _ = self.set(key, value);
    }

    fn set(&mut self, key: Key, text: &str) -> Result<(), ()> {
        let number = || text.parse::<u32>().map_err(drop);
        let own = || Some(text.to_owned());
        let yes = !matches!(text, "0" | "no");
        let seconds = || text.parse().map(Duration::from_secs).map_err(drop);
        let call = &mut self.call;
        match key {
            Key::JobId => call.job = Some(JobId(number()?)),
            Key::Nodes => {
                let nodes = NodeCount::parse(text).map_err(drop)?;
                call.request.min_nodes = Some(nodes.min);
                call.request.max_nodes = nodes.max;
                call.allocation.min_nodes = Some(nodes.min);
                call.allocation.max_nodes = nodes.max;
            }
            Key::Tasks => {
                call.request.tasks = Some(number()?);
                call.allocation.tasks = call.request.tasks;
            }
            Key::TasksPerNode => {
                call.request.tasks_per_node = Some(number()?);
                call.allocation.tasks_per_node = call.request.tasks_per_node;
            }
            Key::CpusPerTask => {
                call.request.cpus_per_task = Some(number()?);
                call.allocation.cpus_per_task = call.request.cpus_per_task;
            }
            Key::Mem => {
                call.request.memory = Some(parse_mebibytes(text).ok_or(())?);
                call.allocation.memory = call.request.memory.map(MemoryRequest::PerNode);
            }
            Key::GpusPerNode | Key::Gpus => {
                call.request.gpus_per_node = GpuCount::parse(text);
                call.allocation.gpus_per_node = GpuCount::parse(text);
            }
            Key::Gres => {
                let gpus = GpuCount::parse_gres(text).map_err(drop)?;
                call.request.gpus_per_node.clone_from(&gpus);
                call.allocation.gpus_per_node = gpus;
            }
            Key::GpusPerTask => {
                call.request.gpus_per_task = GpuCount::parse(text);
                call.allocation.gpus_per_task = GpuCount::parse(text);
            }
            Key::NodeList => call.request.nodelist = node_list::expand(text).map_err(drop)?,
            Key::Exclude => call.request.exclude = node_list::expand(text).map_err(drop)?,
            Key::Relative => call.request.relative = Some(number()?),
            Key::Overlap => call.request.overlap = yes,
            Key::Exact => call.request.exact = yes,
            Key::JobName => call.request.name = text.to_owned(),
            Key::Partition => call.allocation.partition = own(),
            Key::Account => call.allocation.account = own(),
            Key::Qos => call.allocation.qos = own(),
            Key::Time => {
                let time = TimeLimitRequest::parse(text).ok_or(())?;
                call.allocation.time = Some(time);
                if let TimeLimitRequest::Limit(seconds) = time {
                    call.launch.time = Some(seconds.0);
                }
            }
            Key::Chdir => call.launch.chdir = call.launch.chdir.join(text),
            Key::Output => call.launch.output = own(),
            Key::Error => call.launch.error = own(),
            Key::Input => call.launch.input = own(),
            Key::OpenMode => {
                call.launch.open_mode = Some(match text.chars().next() {
                    Some('a') => OpenMode::Append,
                    Some('t') => OpenMode::Truncate,
                    _ => return Err(()),
                });
            }
            Key::Label => call.label = yes,
            Key::Unbuffered => call.unbuffered = yes,
            Key::Pty => call.pty = yes,
            Key::KillOnBadExit => call.kill_on_bad_exit = yes,
            Key::StepWait => call.wait = Some(seconds()?).filter(|wait| !wait.is_zero()),
            Key::QuitOnInterrupt => call.quit_on_interrupt = true,
            Key::DisableStatus => call.disable_status = true,
            Key::Quiet => call.quiet = true,
            Key::Immediate => {
                call.immediate = Some(if text.is_empty() {
                    Duration::ZERO
                } else {
                    seconds()?
                });
            }
            Key::Export => self.export = Export::parse(text),
            Key::MultiProg => return Err(()),
            _ => {}
        }
        Ok(())
    }
}

fn named(name: &str) -> Result<&'static Opt, String> {
    find_of(Command::Srun, name).ok_or_else(|| format!("unrecognized option '--{name}'"))
}

fn next<'a>(words: &mut impl Iterator<Item = &'a String>, name: &str) -> Result<String, String> {
    let word = words.next().cloned();
    word.ok_or_else(|| format!("option '--{name}' requires an argument"))
}
