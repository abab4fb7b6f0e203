//! Whether a checkpoint that is a single file is whole, by its own bytes: a zip archive, or safetensors.

use super::recognise::{Format, Recognised, verdict};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use sys::named_file::open_regular;

/// What a file's bytes say.
///
/// # Errors
/// What the system says.
pub(super) fn file(path: &Path) -> io::Result<Recognised> {
    let mut file = open_regular(File::options().read(true), path)?;
    let length = file.metadata()?.len();
    let mut head = [0; 8];
    let read = read_up_to(&mut file, &mut head)?;
    if head.starts_with(b"PK\x03\x04") {
        return Ok(verdict(
            Format::Zip,
            zip_directory_is_last(&mut file, length)?,
        ));
    }
    if path.extension().is_some_and(|end| end == "safetensors") {
        let whole = read == 8 && safetensors_is_whole(&mut file, u64::from_le_bytes(head), length)?;
        return Ok(verdict(Format::Safetensors, whole));
    }
    let zip_name = path.extension().is_some_and(|end| end == "npz");
    Ok(if zip_name {
        Recognised::Partial(Format::Zip)
    } else {
        Recognised::Unknown
    })
}

fn read_up_to(file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < bytes.len() {
        match file.read(&mut bytes[read..])? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

/// A zip's directory stands at its end, behind all data: `PK 05 06`, 16 bytes, and the length of a
/// comment that reaches exactly to the end of the file. It names where the directory starts and
/// how long it is, which must lie before it.
fn zip_directory_is_last(file: &mut File, length: u64) -> io::Result<bool> {
    const RECORD: u64 = 22;
    const LONGEST_COMMENT: u64 = 0xffff;
    let tail_length = length.min(RECORD + LONGEST_COMMENT);
    file.seek(SeekFrom::Start(length - tail_length))?;
    let mut tail = Vec::new();
    file.take(tail_length).read_to_end(&mut tail)?;
    let record = usize::try_from(RECORD).expect("invariant: 22 fits");
    let number = |at: usize, bytes: usize| {
        tail[at..at + bytes]
            .iter()
            .rev()
            .fold(0u64, |sum, byte| sum << 8 | u64::from(*byte))
    };
    let Some(last) = tail.len().checked_sub(record) else {
        return Ok(false);
    };
    Ok((0..=last).rev().any(|at| {
        let in_tail = u64::try_from(at).expect("invariant: under 64 KiB");
        tail[at..].starts_with(b"PK\x05\x06")
            && in_tail + RECORD + number(at + 20, 2) == tail_length
            // A zip64 archive has all ones here and the true place in a record before this one.
            && (number(at + 16, 4) == 0xffff_ffff
                || number(at + 12, 4) + number(at + 16, 4) <= length - tail_length + in_tail)
    }))
}

/// safetensors: 8 bytes with the header's length, a JSON header whose `data_offsets` say how far
/// the data reach, the data.
fn safetensors_is_whole(file: &mut File, header: u64, length: u64) -> io::Result<bool> {
    const LONGEST_HEADER: u64 = 100 << 20; // the format's own limit
    if header > LONGEST_HEADER || header + 8 > length {
        return Ok(false);
    }
    let mut bytes = Vec::new();
    file.take(header).read_to_end(&mut bytes)?;
    let Ok(tensors) = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&bytes)
    else {
        return Ok(false);
    };
    let end = tensors
        .values()
        .filter_map(|tensor| tensor["data_offsets"][1].as_u64())
        .max();
    Ok(8 + header + end.unwrap_or(0) == length)
}
