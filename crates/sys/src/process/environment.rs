//! `/proc/<pid>/environ`.

/// A variable of the environment with which a process was started; `None` where it had none, or
/// where this process may not look.
#[must_use]
pub fn first_variable(pid: u32, name: &str) -> Option<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut entries = bytes.split(|byte| *byte == 0);
    let value = entries.find_map(|entry| {
        let entry = entry.strip_prefix(name.as_bytes())?;
        entry.strip_prefix(b"=")
    })?;
    String::from_utf8(value.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    #[test]
    fn a_variable_is_found_by_its_whole_name() {
        let mut child = Command::new("cat")
            .env("SLURM_PROCID", "3")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // What it says shows that it is more than a fork.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        let mut said = [0];
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut said)
            .unwrap();
        let pid = child.id();
        let found =
            ["SLURM_PROCID", "SLURM_PROC", "SLURM_LOCALID"].map(|name| first_variable(pid, name));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, [Some("3".to_owned()), None, None]);
    }
}
