//! `salloc`'s command line and environment, put together.

use crate::options::defined_options::defined_options;
use crate::options::diagnostic::Diagnostic;
use crate::options::getopt::{Taken, Word};
use crate::options::option_table::Command;
use crate::options::reading::Reading;
use crate::options::{Show, Surroundings};
use crate::requests::submission_environment::option_variables;
use crate::requests::{Request, asked_job, component, described_job};
use crate::values::{StepContainer, Variables};
use std::path::PathBuf;

/// What `salloc` was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Salloc {
    /// The allocation.
    pub request: Request,
    /// Its other components, where it is heterogeneous.
    pub later: Vec<Request>,
    /// The command beside it; empty for the user's shell.
    pub command: Vec<String>,
    /// `--chdir`, absolute: `salloc` itself goes there.
    pub chdir: Option<PathBuf>,
    /// `--container-image` and its like: of the steps in it.
    pub container: StepContainer,
    /// `--clusters`
    pub clusters: Option<String>,
    /// `--get-user-env`
    pub get_user_env: bool,
    /// `--immediate`: seconds to wait for resources.
    pub immediate: Option<u32>,
    /// `--kill-command`: the signal that the command gets when the allocation is gone.
    pub kill_command: Option<i32>,
    /// `--quiet`: only errors are said.
    pub quiet: bool,
    /// `--quiet` twice: errors are not said either.
    pub silent: bool,
    /// What `--verbose` says of the options that were given.
    pub defined: Vec<String>,
    /// What the command finds of the options, so that an `srun` beside it takes them again.
    pub handed_on: Variables,
    /// Something to print instead.
    pub show: Option<Show>,
}

/// Puts together what was asked for: the command line goes before the environment.
///
/// `args` are the words after the command's name; `variables` looks up a name. Where an error is
/// among the diagnostics, Slurm would refuse, and stop at the first one.
#[must_use]
pub fn resolve(
    args: &[String],
    variables: &dyn Fn(&str) -> Option<String>,
    surroundings: &Surroundings<'_>,
) -> (Salloc, Vec<Diagnostic>) {
    let words = Word::of(args);
    let dialect = surroundings.dialect();
    let mut components = component::take(Command::Salloc, dialect, &words).into_iter();
    let mut carried = Vec::new();
    let mut used = 0;
    let mut read = |taken: Taken| {
        used = taken.used;
        let mut reading = Reading::new(Command::Salloc, surroundings);
        reading.environment(variables);
        // What is wrong with it was said of the component that has it.
        let said = reading.diagnostics.len();
        reading.read(carried.clone());
        reading.diagnostics.truncate(said);
        carried.extend(component::carried(&taken.read));
        reading.read(taken.read);
        let description = asked_job::settle(&mut reading);
        // 22.05 names them so, whatever the command is called.
        let name = if reading.options.no_shell {
            "no-shell"
        } else {
            "interactive"
        };
        let mut request = described_job::request(&reading, &description, name);
        request.rare.no_shell = reading.options.no_shell;
        // It asks before it goes to the folder of `--chdir`.
        request.chdir = surroundings.cwd.to_owned();
        let mut handed_on = option_variables(&request, &description);
        let network = description.network.iter().cloned();
        handed_on.extend(network.map(|network| ("SLURM_NETWORK".to_owned(), network)));
        (reading, request, handed_on)
    };
    let (mut reading, request, handed_on) = read(components.next().unwrap_or_default());
    let mut later = Vec::new();
    for taken in components {
        let (other, request, _) = read(taken);
        reading.diagnostics.extend(other.diagnostics);
        later.push(request);
    }
    let command = args[used..].to_vec();
    let o = &reading.options;
    let salloc = Salloc {
        request,
        later,
        command,
        chdir: o.chdir.clone(),
        container: o.container.clone(),
        clusters: o.clusters.clone(),
        get_user_env: o.get_user_env,
        immediate: o.immediate,
        kill_command: o.kill_command,
        quiet: o.quiet > 0,
        silent: o.quiet > 1,
        defined: defined_options(&reading.given, o.verbose),
        handed_on,
        show: o.show,
    };
    (salloc, reading.into_remarks().0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::read_line::read_line;
    use std::path::Path;

    fn read(line: &str, variables: &[(&str, &str)]) -> (Salloc, Vec<Diagnostic>) {
        read_line(line, variables, resolve)
    }

    #[test]
    fn a_command_and_its_allocation() {
        let (salloc, said) = read("-N2 -n4 -D sub -I5 -K srun -n2 hostname", &[]);
        assert_eq!(said, []);
        assert_eq!(salloc.command, ["srun", "-n2", "hostname"]);
        assert_eq!(
            (salloc.request.min_nodes, salloc.request.tasks),
            (Some(2), Some(4))
        );
        assert_eq!(salloc.request.name, "interactive");
        assert_eq!(salloc.chdir.as_deref(), Some(Path::new("/work/sub")));
        assert_eq!((salloc.immediate, salloc.kill_command), (Some(5), Some(15)));
        assert_eq!(read("-KINT sh", &[]).0.kill_command, Some(2));
    }

    #[test]
    fn variables_are_its_own() {
        let variables = [
            ("SALLOC_TIMELIMIT", "5"),
            ("SBATCH_TIMELIMIT", "6"),
            ("SALLOC_KILL_CMD", "9"),
        ];
        let (salloc, _) = read("", &variables);
        assert_eq!(
            salloc
                .request
                .time
                .map(|time| format!("{time:?}"))
                .as_deref(),
            Some("Limit(Seconds(300))")
        );
        assert_eq!(salloc.kill_command, Some(9));
        assert_eq!(salloc.command, [""; 0]);
    }

    #[test]
    fn an_allocation_that_stays() {
        let (salloc, _) = read("--no-shell", &[]);
        assert!(salloc.request.rare.no_shell);
        assert_eq!(salloc.request.name, "no-shell");
    }

    #[track_caller]
    fn check_refused(line: &str, want: &str) {
        let (_, diagnostics) = read(line, &[]);
        let error = crate::options::first_error(&diagnostics);
        let said = error.map(|error| error.printed(Command::Salloc));
        assert_eq!(said, Some(format!("{want}\n")));
    }

    #[test]
    fn slurms_words() {
        check_refused(
            "-n 0 true",
            "salloc: error: Invalid numeric value \"0\" for --ntasks.",
        );
        check_refused(
            "-K=NOSIG true",
            "salloc: error: Invalid --kill-command specification",
        );
        check_refused("-t x true", "salloc: error: Invalid --time specification");
    }
}
