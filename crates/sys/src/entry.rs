//! The program's entry, in place of the one of Rust's library.
//!
//! That one also finds out where the main thread's stack ends, by reading the list of all that is mapped,
//! so that an overflow is named before it ends the process: a tenth of a millisecond at each start, as much
//! as all that `sbatch` calculates. What else it does is done here: descriptors 0 to 2 are never anything
//! else's, a closed pipe is an error and no signal, and a panic ends with its code.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;
use std::ffi::c_int;
use std::io::Write;
use std::os::fd::BorrowedFd;
use std::panic::catch_unwind;

/// What a process that panicked ends with.
const PANICKED: c_int = 101;

/// Makes a function of the type `fn() -> u8`, whose answer is the exit code, the program's entry.
#[macro_export]
macro_rules! entry {
    ($main:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn main(
            _count: ::std::ffi::c_int,
            _words: *const *const ::std::ffi::c_char,
        ) -> ::std::ffi::c_int {
            $crate::entry::run($main)
        }
    };
}

/// Runs the program.
pub fn run(main: fn() -> u8) -> c_int {
    keep_standard_descriptors();
    // SAFETY: ignoring a signal runs no handler.
    unsafe { libc::signal(Signal::PIPE.as_raw(), libc::SIG_IGN) };
    let code = catch_unwind(main).map_or(PANICKED, c_int::from);
    let _gone = std::io::stdout().flush();
    code
}

/// Opens `/dev/null` in place of those of the first three descriptors that are closed: a file that is opened
/// later would be taken for the standard output.
fn keep_standard_descriptors() {
    // SAFETY: only looked at, and one that is closed is answered as such.
    let standard = [0, 1, 2].map(|number| unsafe { BorrowedFd::borrow_raw(number) });
    let mut asked = standard
        .each_ref()
        .map(|fd| PollFd::new(fd, PollFlags::empty()));
    if poll(&mut asked, Some(&rustix::time::Timespec::default())).is_err() {
        return;
    }
    for fd in &asked {
        if fd.revents().contains(PollFlags::NVAL) {
            // The lowest number that is free: in this order each takes its place.
            let null = rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty());
            std::mem::forget(null);
        }
    }
}
