//! Processes by number, safe against a number that is used again.

mod as_user;
mod descendants;
mod doing;
mod environment;
mod find_program;
mod fork;
mod node_view;
mod own;
mod pid_fd;
mod pid_namespace;
mod reap;
mod spawn;
mod stat;
mod this;
mod tree_usage;
pub(crate) mod user_namespace;
mod user_networks;

pub use as_user::as_user;
pub use descendants::{
    all, children, descendants, descendants_of_all, descendants_where, listed_children,
};
pub use doing::{Doing, doing};
pub use environment::first_variable;
pub use find_program::find_program;
pub use fork::{Fork, exit_now, fork};
pub use node_view::NodeView;
pub use own::OwnProcesses;
pub use pid_fd::PidFd;
pub use pid_namespace::{keep_pid_namespace, namespace_of, pid_namespace};
pub use reap::{Reaped, Used, reap, stopped_child, wait};
pub use spawn::{Spawn, Spawned, User};
pub use stat::{
    has_begun_to_end, is_ending, is_same, is_stopped, lives, parent, session, start_time,
};
pub use this::{
    become_subreaper, close_all_but, descriptor_limit, end_with_parent, group_of_this,
    leads_a_group, leave_stdio, new_session, oom_score_adj, parent_of_this, session_of_this,
    set_name, set_umask, start_in_own_session, umask, umask_of_one_thread, user, write_errors_to,
    write_output_to,
};
pub use tree_usage::{TreeUsage, addresses, memory_of, tree_usage};
pub use user_networks::UserNetworks;

use std::io;

/// Sends a signal to a process; 0 only asks whether it is there.
///
/// # Errors
/// `NotFound` where there is no such process; `PermissionDenied`.
pub fn signal(pid: u32, signal: i32) -> io::Result<()> {
    let pid = i32::try_from(pid).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    if pid == 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    kill(pid, signal)
}

/// Sends a signal to every process of a group.
///
/// # Errors
/// `NotFound` where the group is empty; `PermissionDenied`.
pub fn kill_group(pgid: u32, signal: i32) -> io::Result<()> {
    match i32::try_from(pgid) {
        // 0 and 1 would be this process's own group, and everything.
        Ok(pgid) if pgid > 1 => kill(-pgid, signal),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn kill(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: kill takes two integers and touches no memory.
    match unsafe { libc::kill(pid, signal) } {
        0 => Ok(()),
        _ => {
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::ESRCH) => Err(io::ErrorKind::NotFound.into()),
                _ => Err(error),
            }
        }
    }
}
