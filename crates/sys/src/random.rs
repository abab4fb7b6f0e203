use std::fs::File;
use std::io::{self, Read};

/// A part of a name that no other process uses: of another machine or in another PID namespace neither,
/// where process numbers repeat.
#[must_use]
pub fn unique() -> String {
    let random = random().unwrap_or_default();
    format!("{}-{:08x}", std::process::id(), u32::from_ne_bytes(random))
}

/// Bytes that can't be predicted and no other process has.
///
/// # Errors
/// The kernel's source can't be opened: `/dev` lacks it.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    // By its number: older C libraries have no name for it.
    // SAFETY: it writes at most as many bytes as there are.
    let filled = unsafe { libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), N, 0) };
    if usize::try_from(filled) == Ok(N) {
        return Ok(bytes);
    }
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
