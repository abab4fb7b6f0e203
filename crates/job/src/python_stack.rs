//! Where a Python program stands, without `py-spy`: Python's own `faulthandler` writes it on a signal.
//!
//! A `sitecustomize` of ours, in the node-local folder, registers the handler before the program
//! begins; the program's own module of that name is imported after it. The signal goes only to
//! processes that say that they catch it and have made the file that they write into: to others it
//! would be their end.

use crate::rank_stack::main_of_faulthandler;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const MODULE: &str = include_str!("sitecustomize.py");
/// A real-time signal that neither glibc, Slurm nor Python's libraries use; the module names it, too.
const SIGNAL: i32 = 60;
/// How long Python may take to write.
const LIMIT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);

/// Makes the module in a node-local folder, for the ranks that start there.
///
/// # Errors
/// The disk can't be written.
pub fn install(local: &Path) -> io::Result<()> {
    let folder = folder(local);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("sitecustomize.py"), MODULE)
}

fn folder(local: &Path) -> PathBuf {
    local.join("python")
}

/// Has Python programs of a rank find the module, where there is one.
pub fn announce(local: &Path, variables: &mut BTreeMap<OsString, OsString>) {
    const NAME: &str = "PYTHONPATH";
    let folder = folder(local);
    if !folder.join("sitecustomize.py").exists() {
        return;
    }
    let mut path = folder.into_os_string();
    if let Some(own) = variables
        .get(OsStr::new(NAME))
        .filter(|own| !own.is_empty())
    {
        path.push(":");
        path.push(own);
    }
    variables.insert(NAME.into(), path);
}

/// What Python writes of a process's threads; `None` where it is no Python with the handler, or one
/// that does not write in time.
#[must_use]
pub fn ask(local: &Path, pid: u32) -> Option<String> {
    let file = folder(local).join(format!("stack-{pid}"));
    let before = usize::try_from(file.metadata().ok()?.len()).ok()?;
    if !catches(pid) {
        return None;
    }
    sys::process::signal(pid, SIGNAL).ok()?;
    let until = Instant::now() + LIMIT;
    let mut length = before;
    loop {
        std::thread::sleep(PAUSE);
        let text = fs::read(&file).ok()?;
        let new = String::from_utf8_lossy(text.get(before..)?).into_owned();
        // All of it: the main thread comes last, and what was written stays as it is for a moment.
        if text.len() == length && main_of_faulthandler(&new).is_some() {
            return Some(new);
        }
        length = text.len();
        if Instant::now() > until {
            return None;
        }
    }
}

/// Whether a process catches the signal.
fn catches(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigCgt:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (SIGNAL - 1)) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_python_that_waits_says_where_and_keeps_its_own_module() {
        let root = tempfile::tempdir().unwrap();
        let own = root.path().join("own");
        fs::create_dir(&own).unwrap();
        let mark = root.path().join("mark");
        fs::write(
            own.join("sitecustomize.py"),
            format!("open({mark:?}, 'w').close()\n"),
        )
        .unwrap();
        install(root.path()).unwrap();
        let mut variables = BTreeMap::from([("PYTHONPATH".into(), own.into_os_string())]);
        announce(root.path(), &mut variables);
        let program = "import time\ndef load():\n    time.sleep(60)\nload()\n";
        let mut child = Command::new("python3")
            .args(["-c", program])
            .envs(&variables)
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        let found = loop {
            let text = ask(root.path(), child.id());
            let frames = text.as_deref().and_then(main_of_faulthandler);
            // Not while Python still loads its modules.
            let waits = |frames: Vec<String>| frames[0].starts_with("load (");
            if frames.is_some_and(waits) || Instant::now() > until {
                break text;
            }
            std::thread::sleep(PAUSE);
        };
        let found = found.unwrap();
        assert!(found.contains("line 3 in load"), "{found}");
        assert!(mark.exists(), "its own sitecustomize was imported");
        assert_eq!(child.try_wait().unwrap(), None, "it goes on");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_does_not_catch_the_signal_gets_none() {
        let root = tempfile::tempdir().unwrap();
        install(root.path()).unwrap();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let file = folder(root.path()).join(format!("stack-{}", child.id()));
        fs::write(file, "").unwrap();
        assert_eq!(ask(root.path(), child.id()), None);
        assert_eq!(child.try_wait().unwrap(), None, "it lives");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
