//! Processes that belong to a test: those that carry its folder's path in their environment or
//! their command line.

use crate::{TestEnv, wait_until};
use std::fs;
use std::path::Path;
use sys::signals::SIGKILL;

/// Numbers and command lines of living processes whose environment or command line names the
/// folder; this process is left out.
#[must_use]
pub fn that_mention(folder: &Path) -> Vec<(u32, String)> {
    let needle = folder.as_os_str().as_encoded_bytes();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // Both are empty for a zombie, and unreadable for a process that has just gone.
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let command = read("cmdline");
        let mentions = |bytes: &[u8]| bytes.windows(needle.len()).any(|part| part == needle);
        if pid != std::process::id() && (mentions(&command) || mentions(&read("environ"))) {
            let words = String::from_utf8_lossy(&command).replace('\0', " ");
            found.push((pid, words.trim_end().to_owned()));
        }
    }
    found
}

impl TestEnv {
    /// Sends a signal to all processes of the environment whose command line `is` one that is meant.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn signal(&self, number: i32, is: impl Fn(&str) -> bool) {
        let all = that_mention(self.root());
        let meant = all.iter().filter(|(_, command)| is(command));
        let meant: Vec<u32> = meant.map(|(process, _)| *process).collect();
        assert!(!meant.is_empty(), "nobody to signal among {all:#?}");
        for process in meant {
            // One that ended with another is as good.
            let _ = sys::process::signal(process, number);
        }
    }
}

/// Kills such processes until none is left: one may start another while we look.
pub fn end_all_that_mention(folder: &Path) {
    wait_until("every process of the test has ended", || {
        let left = that_mention(folder);
        for (pid, _) in &left {
            // It may have ended since.
            let _ = sys::process::signal(*pid, SIGKILL);
        }
        left.is_empty()
    });
}
