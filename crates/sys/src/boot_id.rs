use std::sync::OnceLock;

/// Identifies this boot of the machine: a pid and its start time mean something only with it. It is read once: a
/// process that may open no further file still knows it.
#[must_use]
pub fn boot_id() -> String {
    static BOOT_ID: OnceLock<String> = OnceLock::new();
    BOOT_ID.get_or_init(read).clone()
}

fn read() -> String {
    match std::fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        Ok(text) => text.trim().to_owned(),
        // Hidden in some containers: the boot's second says as much.
        Err(_) => std::fs::read_to_string("/proc/stat")
            .ok()
            .and_then(|text| {
                let line = text.lines().find(|line| line.starts_with("btime "))?;
                Some(line.replace(' ', "-"))
            })
            .unwrap_or_else(|| "unknown".to_owned()),
    }
}
