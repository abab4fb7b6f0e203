//! The frame of an event file: records with a length and two checksums.

use super::crc::masked;
use std::io::{self, ErrorKind, Read, Seek};

/// Why a file is read no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A length with a wrong checksum: no event file, or damaged there.
    Length,
    /// The end came within a record: its writer goes on, or the file was cut.
    Cut,
    /// The system gave no more bytes.
    Unreadable,
}

/// Longer records are passed over: they hold pictures and graphs, and a damaged or foreign file may
/// claim any length.
const LONGEST: u64 = 1 << 20;

/// The records of an event file, one after the other.
#[derive(Debug)]
pub struct Records<R> {
    from: R,
    record: Vec<u8>,
    /// Records whose bytes are not those that were written.
    damaged: u64,
}

impl<R: Read + Seek> Records<R> {
    /// The records from where `from` stands; it should be buffered.
    pub fn new(from: R) -> Records<R> {
        Records {
            from,
            record: Vec::new(),
            damaged: 0,
        }
    }

    /// How many records did not fit their checksums, so far.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// The next record that is whole; `None` at the end.
    ///
    /// # Errors
    /// What comes can't be read.
    pub fn next_record(&mut self) -> Result<Option<&[u8]>, Broken> {
        loop {
            let mut head = [0; 12];
            match self.fill(&mut head)? {
                0 => return Ok(None),
                12 => {}
                _ => return Err(Broken::Cut),
            }
            let (length, sum) = head.split_at(8);
            if masked(length).to_le_bytes() != sum {
                return Err(Broken::Length);
            }
            let length = u64::from_le_bytes(length.try_into().expect("invariant: 8 bytes"));
            if length > LONGEST {
                self.skip(length)?;
                continue;
            }
            let whole = usize::try_from(length).map_err(|_| Broken::Length)? + 4;
            let mut record = std::mem::take(&mut self.record);
            record.resize(whole, 0);
            let got = self.fill(&mut record);
            self.record = record;
            if got? < whole {
                return Err(Broken::Cut);
            }
            let (data, sum) = self.record.split_at(whole - 4);
            if masked(data).to_le_bytes() == sum {
                return Ok(Some(&self.record[..whole - 4]));
            }
            self.damaged += 1;
        }
    }

    fn skip(&mut self, length: u64) -> Result<(), Broken> {
        let past = i64::try_from(length)
            .ok()
            .and_then(|past| past.checked_add(4));
        let past = past.ok_or(Broken::Length)?;
        self.from
            .seek_relative(past)
            .map_err(|_| Broken::Unreadable)
    }

    /// As many bytes as there are.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<usize, Broken> {
        let mut got = 0;
        while got < bytes.len() {
            match self.from.read(&mut bytes[got..]) {
                Ok(0) => break,
                Ok(more) => got += more,
                Err(error) if is_passing(&error) => {}
                Err(_) => return Err(Broken::Unreadable),
            }
        }
        Ok(got)
    }
}

fn is_passing(error: &io::Error) -> bool {
    error.kind() == ErrorKind::Interrupted
}

/// A record as it stands in a file.
#[cfg(test)]
pub(super) fn framed(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut bytes = length.to_vec();
    bytes.extend(masked(&length).to_le_bytes());
    bytes.extend(data);
    bytes.extend(masked(data).to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    #[track_caller]
    fn check(bytes: &[u8], want: (usize, u64, Option<Broken>)) {
        let mut records = Records::new(Cursor::new(bytes));
        let (mut count, mut broken) = (0, None);
        loop {
            match records.next_record() {
                Ok(Some(_)) => count += 1,
                Ok(None) => break,
                Err(why) => {
                    broken = Some(why);
                    break;
                }
            }
        }
        assert_eq!((count, records.damaged(), broken), want);
    }

    #[test]
    fn whole_cut_damaged_and_foreign() {
        let two = [framed(b"one"), framed(b"second")].concat();
        check(&two, (2, 0, None));
        check(&two[..two.len() - 1], (1, 0, Some(Broken::Cut)));
        check(&two[..22], (1, 0, Some(Broken::Cut)));
        check(b"", (0, 0, None));
        check(
            b"PK\x03\x04 a zip file, and no events",
            (0, 0, Some(Broken::Length)),
        );
        let mut damaged = two;
        damaged[12] ^= 1;
        check(&damaged, (1, 1, None));
    }

    #[test]
    fn what_is_too_long_is_passed_over_without_room_for_it() {
        let mut bytes = framed(&vec![0; 3 << 20]);
        bytes.extend(framed(b"after"));
        check(&bytes, (1, 0, None));
        // It claims 2^62 bytes and says so with a right checksum.
        let length = (1u64 << 62).to_le_bytes();
        let mut bytes = length.to_vec();
        bytes.extend(masked(&length).to_le_bytes());
        check(&bytes, (0, 0, None));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let mut records = Records::new(Cursor::new(bytes));
            while let Ok(Some(_)) = records.next_record() {}
        }
    }
}
