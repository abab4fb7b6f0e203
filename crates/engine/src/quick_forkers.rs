//! Processes that fork and end over and over: each is gone before a look at all processes comes to its end, and another
//! one is there.

use std::collections::BTreeSet;
use sys::process;
use sys::signals::SIGKILL;

/// So many are killed before they are reaped.
const MOST: usize = 200;
/// So often no other one came: it seems that none will.
const QUIET: u32 = 3;

/// Kills at once what a short look shows, over and over, until it shows none any more. `look`: what there is now, without
/// those that are known, which stay until they are reaped. Returns those that were killed.
pub(crate) fn kill_at_once(look: impl Fn(&BTreeSet<u32>) -> Vec<u32>) -> BTreeSet<u32> {
    let mut killed = BTreeSet::new();
    let mut quiet = 0;
    while quiet < QUIET && killed.len() < MOST {
        let new = look(&killed);
        quiet = if new.is_empty() { quiet + 1 } else { 0 };
        for pid in new {
            // Gone in between is as good.
            let _gone = process::signal(pid, SIGKILL);
            killed.insert(pid);
        }
    }
    killed
}
