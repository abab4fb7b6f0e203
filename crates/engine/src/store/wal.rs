//! What SQLite would silently leave out of a write-ahead log: it reads as far as the frames
//! are whole, and takes the first that is not for the end.
//!
//! ```text
//! header: magic, version, page size, count, salt ×2, checksum ×2
//! frame:  page number, pages after a commit (else 0), salt ×2, checksum ×2; the page
//! ```
//! Each checksum goes on from the one before. So a frame after a damaged one still agrees with the
//! checksum that the damaged one carries; what a killed writer left behind does not.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// With the last bit set the checksums are over big-endian words.
const MAGIC: u32 = 0x377f_0682;

/// What is wrong with a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// Its first bytes: SQLite reads nothing of it.
    Header,
    /// A frame; counted from 1.
    Frame {
        /// The first that is damaged.
        first: u64,
        /// Transactions that were written from there on.
        transactions: u64,
    },
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Damage::Header => f.write_str("the header of its write-ahead log is damaged"),
            Damage::Frame {
                first,
                transactions,
            } => write!(
                f,
                "frame {first} of its write-ahead log is damaged, and {transactions} later \
                 transactions with it"
            ),
        }
    }
}

/// Looks through the log at `path`; `None` where SQLite will read all that was committed.
///
/// # Errors
/// It can't be read. That it is missing is no error.
pub(super) fn damage(path: &Path) -> io::Result<Option<Damage>> {
    match File::open(path) {
        Ok(file) => look_through(&mut BufReader::with_capacity(1 << 20, file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn look_through(log: &mut impl Read) -> io::Result<Option<Damage>> {
    let mut header = [0; HEADER];
    if !fill(log, &mut header)? {
        return Ok(None);
    }
    let magic = word(&header, 0);
    let big_endian = magic & 1 == 1;
    let page_size = word(&header, 8) as usize;
    let sum = checksum((0, 0), &header[..24], big_endian);
    let sizes = 512..=65536;
    if magic & !1 != MAGIC || sum != pair(&header, 24) || !sizes.contains(&page_size) {
        // A header is made before the first frame: alone it is a writer that was killed.
        let mut more = [0; FRAME_HEADER];
        let frames = fill(log, &mut more)?;
        return Ok(frames.then_some(Damage::Header));
    }
    let salts = pair(&header, 16);
    let mut frame = vec![0; FRAME_HEADER + page_size];
    let mut before = sum;
    let mut first = None;
    let mut transactions = 0;
    let mut number = 0;
    while fill(log, &mut frame)? {
        number += 1;
        let sum = checksum(before, &frame[..8], big_endian);
        let sum = checksum(sum, &frame[FRAME_HEADER..], big_endian);
        let carried = pair(&frame, 16);
        let whole = sum == carried && pair(&frame, 8) == salts;
        if !whole {
            first.get_or_insert(number);
        } else if first.is_some() && word(&frame, 4) != 0 {
            transactions += 1;
        }
        before = carried;
    }
    Ok(first
        .filter(|_| transactions > 0)
        .map(|first| Damage::Frame {
            first,
            transactions,
        }))
}

/// As SQLite counts: two sums over pairs of words.
fn checksum((mut a, mut b): (u32, u32), bytes: &[u8], big_endian: bool) -> (u32, u32) {
    let read = |bytes: [u8; 4]| {
        if big_endian {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        }
    };
    let (words, _) = bytes.as_chunks::<4>();
    for pair in words.chunks_exact(2) {
        a = a.wrapping_add(read(pair[0])).wrapping_add(b);
        b = b.wrapping_add(read(pair[1])).wrapping_add(a);
    }
    (a, b)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let (words, _) = bytes[at..].as_chunks::<4>();
    u32::from_be_bytes(words[0])
}

fn pair(bytes: &[u8], at: usize) -> (u32, u32) {
    (word(bytes, at), word(bytes, at + 4))
}

/// Whether there was enough to fill it.
fn fill(log: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match log.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    /// A log of five transactions, as SQLite wrote it, and the size of a frame.
    fn log() -> (Vec<u8>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let db = Connection::open(&path).unwrap();
        db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))
            .unwrap();
        db.execute_batch("CREATE TABLE t (x); PRAGMA wal_checkpoint(TRUNCATE)")
            .unwrap();
        for value in 0..5 {
            db.execute("INSERT INTO t VALUES (?1)", [value]).unwrap();
        }
        let bytes = std::fs::read(folder.path().join("db-wal")).unwrap();
        (bytes, FRAME_HEADER + 4096)
    }

    fn found(bytes: &[u8]) -> Option<Damage> {
        look_through(&mut &*bytes).unwrap()
    }

    #[test]
    fn a_flipped_bit_is_found() {
        let (whole, frame) = log();
        assert_eq!(whole.len(), HEADER + 5 * frame);
        assert_eq!(found(&whole), None);
        let flipped = |at: usize| {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            found(&bytes)
        };
        assert_eq!(flipped(17), Some(Damage::Header));
        let second = |transactions| {
            Some(Damage::Frame {
                first: 2,
                transactions,
            })
        };
        let start = HEADER + frame;
        assert_eq!(flipped(start + 1000), second(3), "in the page");
        assert_eq!(flipped(start + 2), second(3), "in the page's number");
        assert_eq!(flipped(start + 9), second(3), "in the salt");
        assert_eq!(flipped(start + 17), second(2), "in the checksum");
    }

    #[test]
    fn what_a_killed_writer_left_is_no_damage() {
        let (whole, frame) = log();
        assert_eq!(found(&whole[..HEADER + 3 * frame + 700]), None);
        assert_eq!(found(&whole[..20]), None);
        assert_eq!(found(&[]), None);
        let mut torn = whole.clone();
        torn[HEADER + 4 * frame + 2000..].fill(0);
        assert_eq!(found(&torn), None);
        // The log was begun anew: the rest is of the time before.
        let mut anew = whole.clone();
        anew[HEADER + 2 * frame..].rotate_left(frame);
        for number in 2..5 {
            let salt = HEADER + number * frame + 8;
            anew[salt..salt + 8].fill(7);
        }
        assert_eq!(found(&anew), None);
    }
}
