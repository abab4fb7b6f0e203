/// The machine's short name: up to the first dot, as Slurm names nodes.
#[must_use]
pub fn host_name() -> String {
    let name = rustix::system::uname();
    let name = name.nodename().to_string_lossy();
    match name.split('.').next() {
        Some(short) if !short.is_empty() => short.to_owned(),
        _ => "localhost".to_owned(),
    }
}

/// The machine's architecture as `uname -m` prints it: `x86_64`, `ppc64le`, `aarch64`.
#[must_use]
pub fn machine() -> String {
    let name = rustix::system::uname();
    name.machine().to_string_lossy().into_owned()
}
