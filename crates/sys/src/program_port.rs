//! A port chosen for a program that will listen at it.
//!
//! Not from the range that outgoing connections get theirs from (`ip_local_port_range`): between the choice and
//! the program's start any of them could take it. Nor one that another job of this machine has chosen, whose
//! program may not listen yet: a lock on its number says so.

use crate::number_locks::NumberLocks;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;

/// Below it are those that services are known by.
const FIRST: u16 = 10_000;
/// So many are enough to choose from.
const ENOUGH: usize = 100;
/// As Linux has it.
const DEFAULT_RANGE: RangeInclusive<u16> = 32_768..=60_999;

/// One that no other program has, and that stays reserved for as long as this value lives.
#[derive(Debug)]
pub struct ProgramPort {
    number: u16,
    listener: Option<TcpListener>,
    _lock: Option<NumberLocks>,
}

impl ProgramPort {
    /// Chooses one that is free at an address.
    ///
    /// # Errors
    /// None is; what the system says.
    pub fn choose(address: Ipv4Addr) -> io::Result<ProgramPort> {
        // Without locks it is free all the same.
        ProgramPort::choose_by(NumberLocks::of_ports().ok(), address)
    }

    fn choose_by(mut locks: Option<NumberLocks>, address: Ipv4Addr) -> io::Result<ProgramPort> {
        let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
        let range = range.ok().and_then(|text| parse(&text));
        let start = u32::from_ne_bytes(crate::random().unwrap_or_default());
        for number in candidates(&range.unwrap_or(DEFAULT_RANGE), start) {
            if let Some(locks) = &mut locks {
                locks.keep(&BTreeSet::new())?;
                if !locks.take([u32::from(number)])?.is_empty() {
                    continue;
                }
            }
            if let Ok(listener) = TcpListener::bind((address, number)) {
                return Ok(ProgramPort {
                    number,
                    listener: Some(listener),
                    _lock: locks,
                });
            }
        }
        let listener = TcpListener::bind((address, 0))?;
        Ok(ProgramPort {
            number: listener.local_addr()?.port(),
            listener: Some(listener),
            _lock: None,
        })
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// What kept others away, once: to be dropped as the program starts, or used.
    pub fn take_listener(&mut self) -> Option<TcpListener> {
        self.listener.take()
    }
}

/// The ports to try: those outside of a range, each once, from a random one on.
fn candidates(range: &RangeInclusive<u16>, start: u32) -> impl Iterator<Item = u16> {
    let outside = |from: RangeInclusive<u16>| from.filter(|port| !range.contains(port));
    let mut ports: Vec<u16> = outside(FIRST..=u16::MAX).collect();
    if ports.len() < ENOUGH {
        ports.extend(outside(1024..=FIRST - 1));
    }
    let first = usize::try_from(start).unwrap_or_default() % ports.len().max(1);
    ports.rotate_left(first);
    ports.into_iter()
}

/// Two numbers with white space between them.
fn parse(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.trim().split_once(char::is_whitespace)?;
    Some(first.parse().ok()?..=last.trim().parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_of_the_range_of_outgoing_connections() {
        let check = |text: &str, start: u32, want: (usize, Option<u16>)| {
            let found: Vec<u16> = candidates(&parse(text).unwrap(), start).collect();
            let first = found.first().copied();
            assert_eq!((found.len(), first), want, "{text:?} {start}");
        };
        check("32768\t60999\n", 0, (27_304, Some(10_000)));
        check("32768\t60999\n", 22_768, (27_304, Some(61_000)));
        check("32768\t60999\n", 27_305, (27_304, Some(10_001)));
        check("9000 65000", 0, (535, Some(65_001)));
        check("2000 65500", 35, (35 + 976, Some(1024)));
        check("1024 65535", 7, (0, None));
    }

    #[test]
    fn one_that_is_chosen_is_not_chosen_again_before_its_program_listens() {
        let folder = tempfile::tempdir().unwrap();
        let locks = || NumberLocks::of_ports_in(folder.path());
        let mut own = ProgramPort::choose_by(Some(locks()), Ipv4Addr::LOCALHOST).unwrap();
        drop(own.take_listener());
        let mut others = locks();
        let number = u32::from(own.number());
        assert_eq!(others.take([number]).unwrap(), BTreeSet::from([number]));
        drop(own);
        assert_eq!(others.take([number]).unwrap(), BTreeSet::new());
    }
}
