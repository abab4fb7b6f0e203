//! Programs that `srun` itself runs around a step: `--prolog` and `--epilog`.

use super::call::StepCall;
use crate::printer::Printer;
use model::{StepPrograms, StepRecord, node_list};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

/// What runs around a step, where anything does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AroundStep {
    /// Before its tasks start.
    pub prolog: Option<String>,
    /// After their ends.
    pub epilog: Option<String>,
    /// The line says that there is none: prolog, epilog.
    none: [bool; 2],
}

impl AroundStep {
    /// What the line asked for; `none` stands for no program.
    pub fn asked(programs: &StepPrograms) -> AroundStep {
        let is_none = |path: &&String| path.eq_ignore_ascii_case("none");
        let named = |path: &Option<String>| {
            let path = path.as_ref();
            path.filter(|path| !is_none(path)).cloned()
        };
        AroundStep {
            prolog: named(&programs.prolog),
            epilog: named(&programs.epilog),
            none: [&programs.prolog, &programs.epilog]
                .map(|path| path.as_ref().is_some_and(|path| is_none(&path))),
        }
    }

    /// The cluster's, where the line says nothing.
    pub fn or(&mut self, prolog: Option<String>, epilog: Option<String>) {
        let [no_prolog, no_epilog] = self.none;
        let prolog = prolog.filter(|_| !no_prolog);
        let epilog = epilog.filter(|_| !no_epilog);
        self.prolog = self.prolog.take().or(prolog);
        self.epilog = self.epilog.take().or(epilog);
    }
}

/// The programs of one step.
pub struct Around<'a> {
    call: &'a StepCall,
    variables: Vec<(&'static str, String)>,
    printer: &'a Printer,
}

impl<'a> Around<'a> {
    /// Of a step that was just made.
    pub fn new(call: &'a StepCall, step: &StepRecord, printer: &'a Printer) -> Around<'a> {
        let names = node_list::fold(step.nodes.iter().map(|share| &share.node));
        let tasks: u32 = step.nodes.iter().map(|share| share.tasks).sum();
        let (job, number) = (step.job.to_string(), step.step.to_string());
        let variables = vec![
            ("SLURM_JOB_ID", job.clone()),
            ("SLURM_JOBID", job),
            ("SLURM_STEP_ID", number.clone()),
            ("SLURM_STEPID", number),
            ("SLURM_NODELIST", names),
            ("SLURM_NNODES", step.nodes.len().to_string()),
            ("SLURM_NTASKS", tasks.to_string()),
            ("SLURM_NPROCS", tasks.to_string()),
        ];
        Around {
            call,
            variables,
            printer,
        }
    }

    /// Runs the prolog; whether the tasks may start.
    pub fn before(&self) -> bool {
        let Some(prolog) = &self.call.programs.prolog else {
            return true;
        };
        let status = self.run(prolog, "prolog_srun");
        if status != 0 {
            self.printer.say(&format!(
                "srun: error: srun prolog failed rc = {status}. Aborting step."
            ));
        }
        status == 0
    }

    /// Runs the epilog.
    pub fn after(&self) {
        let Some(epilog) = &self.call.programs.epilog else {
            return;
        };
        let status = self.run(epilog, "epilog_srun");
        if status != 0 {
            self.printer
                .say(&format!("srun: error: srun epilog failed status={status}"));
        }
    }

    /// Its exit code. A program that is not there or is not executable is said and passed over, as
    /// Slurm does.
    fn run(&self, program: &str, context: &str) -> i32 {
        let launch = &self.call.launch;
        let environment = launch.environment.iter();
        let odd = |text: &String| sys::odd_text::bytes(text).into_owned();
        let mut command = Command::new(program);
        command
            .args(launch.command.iter().map(odd))
            .env_clear()
            .envs(environment.map(|(name, value)| (odd(name), odd(value))))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env("SLURM_SCRIPT_CONTEXT", context)
            .stdin(Stdio::null());
        match command.status() {
            Ok(status) => status.code().unwrap_or(128 + status.signal().unwrap_or(0)),
            Err(error) => {
                let text = error.to_string();
                let words = text
                    .split_once(" (os error")
                    .map_or(&*text, |(words, _)| words);
                let line = format!("srun: Access denied for {program}: {words}");
                self.printer.say(&line);
                0
            }
        }
    }
}
