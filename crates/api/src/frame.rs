//! Frames: a length (`u32`, big endian) and so many bytes of JSON.

use serde::{Serialize, de::DeserializeOwned};
use std::io::{self, Read, Write};

/// Longest call that an engine reads: a script has at most 4 MiB.
pub const LONGEST_CALL: usize = 16 << 20;

/// Longest answer that a client reads: some hundred thousand jobs.
pub const LONGEST_ANSWER: usize = 512 << 20;

/// What is reserved for a frame before any of it came: most fit.
const PORTION: usize = 64 << 10;

/// Writes one value as a frame, in one write.
///
/// # Errors
/// The stream's own.
pub fn write_frame(stream: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut frame = Vec::new();
    append_frame(&mut frame, value)?;
    stream.write_all(&frame)
}

/// Appends one value as a frame, so that several go in one write.
///
/// # Errors
/// The value has no JSON, or too much; what is appended by then is no frame.
pub fn append_frame(frames: &mut Vec<u8>, value: &impl Serialize) -> io::Result<()> {
    let start = frames.len();
    frames.extend_from_slice(&[0; 4]);
    serde_json::to_writer(&mut *frames, value)?;
    let length = u32::try_from(frames.len() - start - 4)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "message over 4 GiB"))?;
    frames[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// Reads one frame; `None` when the other side closed between two frames.
///
/// # Errors
/// The stream's own; `InvalidData` for a frame over `longest` or one that holds no `T`.
pub fn read_frame<T: DeserializeOwned>(
    stream: &mut impl Read,
    longest: usize,
) -> io::Result<Option<T>> {
    let mut body = Vec::new();
    if !read_bytes(stream, longest, &mut body)? {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&body)?))
}

/// Reads one frame's bytes in place of others; false when the other side closed between two frames.
///
/// # Errors
/// As [`read_frame`].
pub(crate) fn read_bytes(
    stream: &mut impl Read,
    longest: usize,
    body: &mut Vec<u8>,
) -> io::Result<bool> {
    let mut length = [0; 4];
    let mut got = 0;
    while got < length.len() {
        match stream.read(&mut length[got..]) {
            Ok(0) if got == 0 => return Ok(false),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => got += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > longest {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("message of {length} bytes, at most {longest} are read"),
        ));
    }
    // Grows with what really comes: a length alone reserves no more memory than this.
    body.clear();
    body.reserve(length.min(PORTION));
    stream.take(length as u64).read_to_end(body)?;
    if body.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut wire = Vec::new();
        append_frame(&mut wire, &vec!["a", "b"]).unwrap();
        write_frame(&mut wire, &vec!["c"]).unwrap();
        let mut wire = wire.as_slice();
        let mut read = || read_frame::<Vec<String>>(&mut wire, 100).unwrap();
        assert_eq!(read(), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(read(), Some(vec!["c".to_owned()]));
        assert_eq!(read(), None);
    }

    #[test]
    fn a_frame_that_is_cut_too_long_or_garbage_is_an_error() {
        let mut wire = Vec::new();
        write_frame(&mut wire, &"word").unwrap();
        let read = |bytes: &[u8], longest| {
            read_frame::<String>(&mut &*bytes, longest)
                .map(|_| ())
                .unwrap_err()
                .kind()
        };
        assert_eq!(read(&wire[..2], 100), io::ErrorKind::UnexpectedEof);
        assert_eq!(read(&wire[..7], 100), io::ErrorKind::UnexpectedEof);
        assert_eq!(read(&wire, 3), io::ErrorKind::InvalidData);
        assert_eq!(read(&[0, 0, 0, 1, b'x'], 3), io::ErrorKind::InvalidData);
    }
}
