//! What a program sees as its machine: a host name and folders of its own, in namespaces.

mod kept_folders;
mod shared_namespaces;

use super::User;
use kept_folders::KeptFolders;
use shared_namespaces::{Handover, Namespaces};
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A host name, and folders in place of others, for [`Spawn`](super::Spawn): a program that is started
/// with it sees both alone. Root needs no user namespace for it; others get one in which they are who
/// they are.
#[derive(Clone, Debug)]
pub struct NodeView {
    host: CString,
    /// A file that stands for a network namespace; none is this machine's.
    network: Option<CString>,
    /// A file that stands for the user namespace to which that belongs; none for root.
    user: Option<CString>,
    /// Which processes it sees; none is this machine's.
    processes: Option<Processes>,
    /// Bind mounts, in this order.
    mounts: Vec<Mount>,
    /// What stays seen where they hide it.
    kept: KeptFolders,
    /// Entered again after the mounts, which may hide it.
    folder: Option<CString>,
    /// What goes into the maps of a user namespace; none for root.
    maps: Option<Maps>,
    /// How the next program hands its namespaces over.
    handover: Option<Arc<Handover>>,
    /// Those of an earlier program, which are entered.
    namespaces: Option<Arc<Namespaces>>,
}

/// A PID namespace.
#[derive(Clone, Debug)]
enum Processes {
    /// One that begins with the program.
    New,
    /// One that another process keeps, by the files that stand for it and for its user namespace.
    Kept { user: Option<CString>, pid: CString },
}

#[derive(Clone, Debug)]
struct Mount {
    source: CString,
    target: CString,
    /// With what is mounted below the source.
    with_submounts: bool,
}

#[derive(Clone, Debug)]
struct Maps {
    user: CString,
    group: CString,
}

impl NodeView {
    /// A view with a host name alone.
    ///
    /// # Errors
    /// A NUL byte in it.
    pub fn new(host: &str) -> io::Result<NodeView> {
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        let map = |id: u32| CString::new(format!("{id} {id} 1\n"));
        let maps = if user.is_root() {
            None
        } else {
            Some(Maps {
                user: map(user.as_raw())?,
                group: map(group.as_raw())?,
            })
        };
        Ok(NodeView {
            host: CString::new(host)?,
            network: None,
            user: None,
            processes: None,
            mounts: Vec::new(),
            kept: KeptFolders::default(),
            folder: None,
            maps,
            handover: None,
            namespaces: None,
        })
    }

    /// Has the network of the namespace for which this file stands. For others than root it belongs to the
    /// user namespace of the process `keeper` ([`UserNetworks`](super::UserNetworks)), which is entered too.
    ///
    /// # Errors
    /// A NUL byte in the path.
    pub fn enter_network(&mut self, namespace: &Path, keeper: Option<u32>) -> io::Result<()> {
        self.network = Some(CString::new(namespace.as_os_str().as_bytes())?);
        self.user = keeper
            .map(|keeper| CString::new(format!("/proc/{keeper}/ns/user")))
            .transpose()?;
        Ok(())
    }

    /// Sees no processes but its own.
    pub fn begin_processes(&mut self) {
        self.processes = Some(Processes::New);
    }

    /// Sees those of the namespaces that a process keeps
    /// ([`keep_pid_namespace`](super::keep_pid_namespace)).
    ///
    /// # Errors
    /// None; what makes a path may fail.
    pub fn enter_processes(&mut self, keeper: u32) -> io::Result<()> {
        let file = |kind: &str| CString::new(format!("/proc/{keeper}/ns/{kind}"));
        self.processes = Some(Processes::Kept {
            user: self.maps.as_ref().map(|_| file("user")).transpose()?,
            pid: file("pid")?,
        });
        Ok(())
    }

    /// Whether it sees other processes than this machine's.
    pub(super) fn has_processes(&self) -> bool {
        self.processes.is_some()
    }

    /// Shows `source`, a file or a folder, at `target`.
    ///
    /// # Errors
    /// A NUL byte in a path.
    pub fn bind(&mut self, source: &Path, target: &Path) -> io::Result<()> {
        self.add(source, target, false)
    }

    /// Shows a folder at `target` in which entries of `target` itself stay seen: `kept` are paths, and
    /// what stays is each one's first folder below `target`. Such folders are made in `source`.
    ///
    /// # Errors
    /// One can't be made.
    pub fn replace(&mut self, source: &Path, target: &Path, kept: &[PathBuf]) -> io::Result<()> {
        let names = first_below(target, kept).into_iter();
        for name in names.filter(|name| target.join(name).is_dir()) {
            std::fs::create_dir_all(source.join(name))?;
            // With what is mounted below, such as a working folder's own disk.
            self.add(&target.join(name), &source.join(name), true)?;
        }
        self.add(source, target, true)
    }

    /// Whether [`NodeView::replace_for_user`] works here.
    ///
    /// # Errors
    /// The kernel is older than Linux 5.2, or this user may not.
    pub fn try_for_user() -> io::Result<()> {
        kept_folders::try_to_detach()
    }

    /// What stays seen by [`NodeView::replace_for_user`] is opened with the rights of `user`, or this process's.
    pub fn open_kept_as(&mut self, user: Option<&User>) {
        self.kept = KeptFolders::opened_by(user);
    }

    /// As [`NodeView::replace`], where another user writes in `source` and names what is kept: no link of
    /// that user's is followed, and nothing is shown that the user can't reach.
    ///
    /// # Errors
    /// As there; a file has the name of what is kept.
    pub fn replace_for_user(
        &mut self,
        source: &Path,
        target: &Path,
        kept: &[PathBuf],
    ) -> io::Result<()> {
        for name in first_below(target, kept) {
            self.kept.add(name, target, source)?;
        }
        self.add(source, target, false)
    }

    /// Where the program starts; the current folder, unless this is said.
    ///
    /// # Errors
    /// A NUL byte in the path.
    pub fn start_in(&mut self, folder: &Path) -> io::Result<()> {
        self.folder = Some(CString::new(folder.as_os_str().as_bytes())?);
        Ok(())
    }

    /// Has the programs after the next one share its mounts and its host name, once they are
    /// [taken](NodeView::take_namespaces). Best effort, as sharing only saves time.
    pub fn share_namespaces(&mut self) {
        // They belong to a user namespace, which each has for itself otherwise.
        let has_one_user = match &self.processes {
            Some(Processes::Kept { .. }) => true,
            // Each program has processes of its own, which its /proc shows.
            Some(Processes::New) => false,
            None => self.user_namespace() == 0,
        };
        if has_one_user {
            self.handover = Handover::new().ok().map(Arc::new);
        }
    }

    /// Takes what the program has handed over that was started last.
    pub fn take_namespaces(&mut self) {
        if let Some(handover) = self.handover.take() {
            self.namespaces = handover.receive().map(Arc::new);
        }
    }

    fn add(&mut self, source: &Path, target: &Path, with_submounts: bool) -> io::Result<()> {
        self.mounts.push(Mount {
            source: CString::new(source.as_os_str().as_bytes())?,
            target: CString::new(target.as_os_str().as_bytes())?,
            with_submounts,
        });
        Ok(())
    }

    /// Has the calling process's children see the view's processes; false where the system refuses, with
    /// `errno` set.
    ///
    /// # Safety
    /// As for [`NodeView::enter`].
    pub(super) unsafe fn lead_into_processes(&self) -> bool {
        // SAFETY: as there.
        unsafe {
            match &self.processes {
                None => true,
                Some(Processes::New) => {
                    self.join_user()
                        && libc::unshare(self.user_namespace() | libc::CLONE_NEWPID) == 0
                        && self.write_maps()
                }
                Some(Processes::Kept { user, pid }) => {
                    let user = user.as_ref();
                    user.is_none_or(|user| join(user, libc::CLONE_NEWUSER))
                        && join(pid, libc::CLONE_NEWPID)
                }
            }
        }
    }

    /// Enters the user namespace that is there already, if there is one.
    ///
    /// # Safety
    /// As for [`NodeView::enter`].
    unsafe fn join_user(&self) -> bool {
        let user = self.user.as_ref();
        // SAFETY: as there.
        user.is_none_or(|user| unsafe { join(user, libc::CLONE_NEWUSER) })
    }

    /// The flag of one that is begun.
    fn user_namespace(&self) -> libc::c_int {
        if self.maps.is_some() && self.user.is_none() {
            libc::CLONE_NEWUSER
        } else {
            0
        }
    }

    /// Has a new user namespace know this user.
    ///
    /// # Safety
    /// As for [`NodeView::enter`].
    unsafe fn write_maps(&self) -> bool {
        let Some(maps) = self.maps.as_ref().filter(|_| self.user.is_none()) else {
            return true;
        };
        // SAFETY: as there.
        unsafe {
            write(c"/proc/self/setgroups", c"deny")
                && write(c"/proc/self/uid_map", &maps.user)
                && write(c"/proc/self/gid_map", &maps.group)
        }
    }

    /// Puts the calling process into the view; false where the system refuses, with `errno` set.
    ///
    /// # Safety
    /// Runs in a child that shares its parent's memory: it only makes system calls.
    pub(super) unsafe fn enter(&self) -> bool {
        // With other processes came the user namespace.
        let user = if self.has_processes() {
            0
        } else {
            self.user_namespace()
        };
        // SAFETY: system calls on texts that end with NUL and live while this is borrowed.
        unsafe {
            if !self.has_processes() && !self.join_user() {
                return false;
            }
            if let Some(network) = &self.network
                && !join(network, libc::CLONE_NEWNET)
            {
                return false;
            }
            if let Some(namespaces) = &self.namespaces {
                return namespaces.enter().map_err(refused).is_ok();
            }
            if libc::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWUTS | user) != 0 {
                return false;
            }
            if user != 0 && !self.write_maps() {
                return false;
            }
            if libc::sethostname(self.host.as_ptr(), self.host.count_bytes()) != 0 {
                return false;
            }
            let none = std::ptr::null::<libc::c_char>();
            let own = libc::MS_REC | libc::MS_SLAVE;
            if libc::mount(none, c"/".as_ptr(), none, own, none.cast()) != 0 {
                return false;
            }
            let kept = match self.kept.detach() {
                Ok(kept) => kept,
                Err(error) => return refused(error),
            };
            for mount in &self.mounts {
                let deep = if mount.with_submounts {
                    libc::MS_REC
                } else {
                    0
                };
                let (source, target) = (mount.source.as_ptr(), mount.target.as_ptr());
                if libc::mount(source, target, none, libc::MS_BIND | deep, none.cast()) != 0 {
                    return false;
                }
            }
            if let Err(error) = self.kept.attach(&kept) {
                return refused(error);
            }
            if self.has_processes() {
                let kind = c"proc".as_ptr();
                let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
                if libc::mount(kind, c"/proc".as_ptr(), kind, flags, none.cast()) != 0 {
                    return false;
                }
            }
            if let Some(handover) = &self.handover {
                let _unshared = handover.send();
            }
        }
        true
    }

    /// Has the calling process begin in its folder, which it reaches by its own rights.
    ///
    /// # Safety
    /// As for [`NodeView::enter`].
    pub(super) unsafe fn enter_folder(&self) {
        if let Some(folder) = &self.folder {
            // Where it is hidden now the first program stays in it; those that share its mounts begin in `/`.
            // SAFETY: the path ends with NUL.
            let _ = unsafe { libc::chdir(folder.as_ptr()) };
        }
    }
}

/// The first folders below `target` on the way to what is kept, each once.
fn first_below<'a>(target: &Path, kept: &'a [PathBuf]) -> Vec<&'a OsStr> {
    let mut names: Vec<&OsStr> = Vec::new();
    for path in kept {
        let below = path.strip_prefix(target).ok();
        // `..` is none of its folders.
        if let Some(Component::Normal(name)) = below.and_then(|below| below.components().next())
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// Says so as the system's own library does.
fn refused(error: rustix::io::Errno) -> bool {
    // SAFETY: the place is this thread's.
    unsafe { *libc::__errno_location() = error.raw_os_error() };
    false
}

/// Enters the namespace for which a file stands; for a PID namespace the children do.
///
/// # Safety
/// As for [`NodeView::enter`].
unsafe fn join(file: &CStr, kind: libc::c_int) -> bool {
    // SAFETY: the path ends with NUL.
    unsafe {
        let namespace = libc::open(file.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let joined = namespace >= 0 && libc::setns(namespace, kind) == 0;
        if namespace >= 0 {
            let error = *libc::__errno_location();
            libc::close(namespace);
            *libc::__errno_location() = error;
        }
        joined
    }
}

/// Writes a text into a file of the kernel's.
///
/// # Safety
/// As for [`NodeView::enter`].
unsafe fn write(path: &CStr, text: &CStr) -> bool {
    // SAFETY: both end with NUL.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file < 0 {
            return false;
        }
        let written = libc::write(file, text.as_ptr().cast(), text.count_bytes());
        libc::close(file);
        usize::try_from(written).is_ok_and(|written| written == text.count_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that is mounted below the home was hidden, and what was written there went beneath it.
    #[test]
    fn what_stays_seen_in_a_replaced_folder_does_so_with_what_is_mounted_below() {
        let (own, shared) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let kept = shared.path().join("home");
        std::fs::create_dir(&kept).unwrap();
        let mut view = NodeView::new("node1").unwrap();
        view.replace(own.path(), shared.path(), std::slice::from_ref(&kept))
            .unwrap();
        let targets = view
            .mounts
            .iter()
            .map(|mount| mount.target.to_str().unwrap());
        let here = own.path().join("home");
        let all = [here.as_path(), shared.path()].map(|path| path.to_str().unwrap());
        assert!(targets.eq(all));
        assert!(view.mounts.iter().all(|mount| mount.with_submounts));
    }
}
