//! Makes commands named like Slurm's ones found inside a job: `sbatch`, `srun`, ….
//!
//! PATH alone is not enough: a login shell (`#!/bin/bash -l`) lets `/etc/profile` set PATH anew.
//! So there are three layers, each for what the one before can't reach:
//!
//! | shell | what helps |
//! |---|---|
//! | anything that keeps PATH (`sh`, `bash`, `module purge`, `conda activate`) | PATH |
//! | `bash -l` scripts, `bash -lc`, non-interactive | `BASH_ENV`: bash reads it after the profile |
//! | `bash -l` at a terminal | exported functions, which the first call replaces by PATH |
//!
//! Each bash of a job reads the `BASH_ENV` file and every exported function when it starts, which
//! a short script feels: the file is one line where nothing more is needed, and functions are for
//! steps with a terminal alone.
//!
//! The functions are forgotten where `BASH_ENV` could do its work: `$!` of a function in the
//! background is a subshell, and signals to it would not reach `srun`. `sh -l` where `sh` is dash,
//! `bash -il` without a terminal, and login shells of other families find the commands only where
//! their profile keeps PATH.

use std::path::{Path, PathBuf};
use sys::env_vars::TRAINYARD_BASH_ENV;

/// Commands of which there are links.
pub(crate) const NAMES: &[&str] = &[
    "sbatch", "squeue", "scancel", "srun", "scontrol", "sacct", "salloc", "sattach", "sbcast",
    "sinfo", "sacctmgr", "sprio", "sshare", "sstat", "sdiag",
];
/// The file that bash reads, beside the pinned program.
const BASH_ENV_FILE: &str = "trainyard-bash-env";
/// The same for jobs with a `BASH_ENV` of their own, or with our functions.
const FULL_BASH_ENV_FILE: &str = "trainyard-bash-env-full";

/// The folder with the links that belong to a pinned program.
pub(crate) fn links_of(program: &Path) -> PathBuf {
    program.with_file_name("slurm")
}

/// Writes what [`add_to`] points to, beside the pinned program, where it is missing.
///
/// # Errors
/// What the system says.
pub(crate) fn prepare(program: &Path) -> std::io::Result<()> {
    let links = links_of(program);
    let short = keeps_path(&links);
    let full = full_bash_env(&short);
    for (name, text) in [(BASH_ENV_FILE, short), (FULL_BASH_ENV_FILE, full)] {
        let path = program.with_file_name(name);
        if !path.exists() {
            sys::atomic::write_relaxed(&path, text.as_bytes())?;
        }
    }
    Ok(())
}

/// Changes a job's environment so that the links are found; `terminal`: by a login shell, too, that
/// someone types into.
pub(crate) fn add_to(environment: &mut Vec<(String, String)>, program: &Path, terminal: bool) {
    let links = links_of(program);
    let (Some(links), Some(folder)) = (links.to_str(), program.parent().and_then(Path::to_str))
    else {
        return;
    };
    let path = get(environment, "PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin");
    let without: Vec<&str> = path.split(':').filter(|entry| *entry != links).collect();
    let path = format!("{links}:{}", without.join(":"));
    set(environment, "PATH", path);
    match get(environment, "BASH_ENV").map(str::to_owned) {
        // A job that was submitted from a job: ours is there, the user's beside it.
        Some(theirs) if is_ours(Path::new(&theirs)) => {}
        Some(theirs) if !theirs.is_empty() => set(environment, TRAINYARD_BASH_ENV, theirs),
        _ => {}
    }
    if terminal {
        for name in NAMES {
            set(environment, &variable(name), function(links, name));
        }
    } else {
        // One that a terminal's shell handed on; others are the user's.
        environment.retain(|(variable, value)| {
            let name = exported_function(variable).filter(|name| NAMES.contains(name));
            name.is_none_or(|name| *value != function(links, name))
        });
    }
    let file = if terminal || get(environment, TRAINYARD_BASH_ENV).is_some() {
        FULL_BASH_ENV_FILE
    } else {
        BASH_ENV_FILE
    };
    set(environment, "BASH_ENV", format!("{folder}/{file}"));
}

/// The variable in which bash exports a function since 4.3 (Shellshock).
fn variable(function: &str) -> String {
    format!("BASH_FUNC_{function}%%")
}

/// The function that bash exports in a variable, if it is one of those.
fn exported_function(variable: &str) -> Option<&str> {
    variable.strip_prefix("BASH_FUNC_")?.strip_suffix("%%")
}

fn is_ours(file: &Path) -> bool {
    file.ends_with(BASH_ENV_FILE) || file.ends_with(FULL_BASH_ENV_FILE)
}

/// Read by every non-interactive bash of the job, after the profile of a login shell.
fn keeps_path(links: &Path) -> String {
    let links = quoted(&links.to_string_lossy());
    format!("[[ :$PATH: == *:{links}:* ]] || PATH={links}:$PATH\n")
}

fn full_bash_env(keeps_path: &str) -> String {
    let names = NAMES.join(" ");
    // The user's own file first, expanded as bash would have: it may set PATH anew too.
    format!(
        "if [[ -n \"${{{TRAINYARD_BASH_ENV}-}}\" ]]; then eval \". \\\"${TRAINYARD_BASH_ENV}\\\"\"; fi\n\
         {keeps_path}\
         unset -f {names}\n"
    )
}

fn function(links: &str, name: &str) -> String {
    let links = quoted(links);
    let names = NAMES.join(" ");
    format!("() {{ unset -f {names}; PATH={links}:$PATH; {name} \"$@\"\n}}")
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn get<'a>(environment: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let (_, value) = environment.iter().find(|(known, _)| known == name)?;
    Some(value)
}

fn set(environment: &mut Vec<(String, String)>, name: &str, value: String) {
    match environment.iter_mut().find(|(known, _)| known == name) {
        Some((_, old)) => *old = value,
        None => environment.push((name.to_owned(), value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    struct Job {
        folder: tempfile::TempDir,
        environment: Vec<(String, String)>,
    }

    /// A job whose `srun` says `ours` and its arguments.
    fn job(own: &[(&str, &str)], terminal: bool) -> Job {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("it's trainyard/yard");
        let links = links_of(&program);
        std::fs::create_dir_all(&links).unwrap();
        write_program(&links.join("srun"), "#!/bin/sh\necho ours \"$@\"\n");
        prepare(&program).unwrap();
        let mut environment = vec![
            ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
            (
                "HOME".to_owned(),
                folder.path().to_str().unwrap().to_owned(),
            ),
        ];
        for (name, value) in own {
            set(&mut environment, name, (*value).to_owned());
        }
        add_to(&mut environment, &program, terminal);
        Job {
            folder,
            environment,
        }
    }

    fn write_program(path: &Path, text: &str) {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    impl Job {
        #[track_caller]
        fn check(&self, command: &[&str], want: &str) {
            let output = Command::new(command[0])
                .args(&command[1..])
                .env_clear()
                .envs(self.environment.clone())
                .current_dir(self.folder.path())
                .output()
                .unwrap();
            // An interactive shell complains on stderr that it has no terminal.
            let text = String::from_utf8_lossy(&output.stdout);
            assert_eq!(text, want);
        }
    }

    #[test]
    fn found_by_every_shell_that_can() {
        for terminal in [false, true] {
            let job = job(&[], terminal);
            job.check(&["sh", "-c", "srun 'a b'"], "ours a b\n");
            job.check(&["bash", "-c", "srun x"], "ours x\n");
            job.check(&["bash", "-lc", "exec srun x"], "ours x\n");
            job.check(&["bash", "-lc", "bash -lc 'command srun x'"], "ours x\n");
            if terminal {
                job.check(
                    &["bash", "-lic", "srun x; command srun y"],
                    "ours x\nours y\n",
                );
            }
            let script = job.folder.path().join("script");
            write_program(&script, "#!/bin/bash -l\nset -eu\nenv srun x\n");
            job.check(&[script.to_str().unwrap()], "ours x\n");
        }
    }

    #[test]
    fn a_users_own_function_stays() {
        let job = job(&[("BASH_FUNC_srun%%", "() { echo mine $1\n}")], false);
        job.check(&["bash", "-c", "srun x"], "mine x\n");
    }

    #[test]
    fn in_the_background_it_is_the_command_itself() {
        let job = job(&[], true);
        let program = links_of(&job.folder.path().join("it's trainyard/yard")).join("srun");
        write_program(&program, "#!/bin/sh\necho $$ > pid\n");
        let script = "srun & pid=$!; wait; [ \"$(cat pid)\" = $pid ] && echo same";
        job.check(&["bash", "-lc", script], "same\n");
    }

    #[test]
    fn the_users_own_bash_env_works() {
        let job = job(&[("BASH_ENV", "$HOME/own env")], false);
        let own = job.folder.path().join("own env");
        std::fs::write(own, "PATH=/usr/bin:/bin; mine=yes\n").unwrap();
        job.check(&["bash", "-c", "srun $mine"], "ours yes\n");
        job.check(&["bash", "-c", "bash -c 'srun $mine'"], "ours yes\n");
    }

    #[test]
    fn a_job_in_a_job_changes_nothing() {
        let program = |job: &Job| job.folder.path().join("it's trainyard/yard");
        for own in [vec![("BASH_ENV", "/x")], Vec::new()] {
            let job = job(&own, false);
            let mut again = job.environment.clone();
            add_to(&mut again, &program(&job), false);
            assert_eq!(again, job.environment);
            // Through a terminal's shell, which hands its functions on.
            add_to(&mut again, &program(&job), true);
            add_to(&mut again, &program(&job), false);
            assert_eq!(again, job.environment);
        }
    }
}
