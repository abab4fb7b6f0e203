use std::fs::File;
use std::io::{self, Read};

/// Bytes that can't be predicted and no other process has.
///
/// # Errors
/// The kernel's source can't be opened: `/dev` lacks it.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
