//! What a request is recognised by when it is sent again.

/// Names one request of `command`, and no other: sent twice to an engine, it is carried out once.
pub fn token(command: &str) -> String {
    // Host, process and time differ already; the random part is for clones of a machine.
    let random = sys::random().unwrap_or_default();
    format!(
        "{command}-{}-{}-{}-{:016x}",
        sys::host_name(),
        std::process::id(),
        sys::now(),
        u64::from_ne_bytes(random)
    )
}
