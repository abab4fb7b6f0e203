use std::io;
use std::path::Path;

/// Bytes that an ordinary user may still write to the file system at `path`.
///
/// # Errors
/// What the system says.
pub fn disk_free(path: &Path) -> io::Result<u64> {
    let facts = rustix::fs::statvfs(path)?;
    Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
}
