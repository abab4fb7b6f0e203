//! `yard engine serve`: an engine's whole life.

use crate::connection::{Connections, Greeting};
use crate::connection_threads;
use crate::engine_cluster::{ClusterError, EngineCluster};
use crate::fork_server::{self, ForkServer, ForkServerEvents};
use crate::isolation::Isolation;
use crate::log::Process;
use crate::message::Message;
use crate::messenger::Messenger;
use crate::named_ids;
use crate::node_disks;
use crate::own_processes::OwnProcesses;
use crate::owner::{CpuLocks, GpuLocks, Keep, Leaving, NotACount, Owner, Unread, recover};
use crate::pinned;
use crate::private;
use crate::store::{Store, StoreError};
use crate::supervisor::is_of_job;
use api::{EngineFolder, Startup};
use model::Timestamp;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::collections::HashMap;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use sys::control_group;
use sys::lock::FileLock;

/// For the last answer to get through before the process ends.
const LAST_WORD: Duration = Duration::from_millis(50);

/// Heaps of all threads together: the owner's work and that of connections.
const HEAPS: u8 = 2;

/// Why an engine can't serve, in three parts.
#[derive(Debug)]
struct CantServe {
    asked: String,
    there: String,
    todo: String,
    /// It may be over in a while.
    may_pass: bool,
}

/// Serves the engine folder `dir` until it is ended. One line on standard output says how the
/// start went ([`Startup`]); all else goes to standard error. Returns the exit code.
///
/// Must be called while the process has one thread.
#[must_use]
pub fn serve(dir: &Path) -> u8 {
    // Of one's own, so that a closed terminal is none of the engine's business. An error says
    // that this process leads its group already, as when a shell started it.
    let _leads = sys::process::new_session();
    // `srun` blocks signals, SIGTERM among them, and may be what started this.
    sys::signals::unblock_all();
    crate::log::start(&EngineFolder::new(dir));
    sys::memory::share_heaps(HEAPS);
    match try_serve(dir) {
        Ok(()) => 0,
        Err(CantServe {
            asked,
            there,
            todo,
            may_pass,
        }) => {
            tracing::error!("{asked}: {there}; {todo}");
            say(&Startup::Failed {
                asked,
                there,
                todo,
                may_pass,
            });
            1
        }
    }
}

fn try_serve(dir: &Path) -> Result<(), CantServe> {
    let failed = |there: String, todo: &str| CantServe {
        asked: format!("engine in {}", dir.display()),
        there,
        todo: todo.to_owned(),
        may_pass: false,
    };
    let system = |error: &io::Error| {
        let todo = "make room or give the rights that are missing, or set TRAINYARD_HOME to another folder";
        CantServe {
            may_pass: is_of_room(error),
            ..failed(error.to_string(), todo)
        }
    };
    refuse_network(dir)?;
    let keep = Keep::from_env().map_err(|NotACount { name, value }| CantServe {
        asked: format!("{name}={value} for the engine in {}", dir.display()),
        there: format!("{value:?} is not a whole number from 0 to {}", u32::MAX),
        todo: format!("set {name} to a number, or unset it"),
        may_pass: false,
    })?;
    let dir = real(dir).map_err(|error| system(&error))?;
    let program = std::env::current_exe().map_err(|error| system(&error))?;
    // A pinned program lies in it: a folder that is gone was removed since, and is not made again.
    let is_pinned = program.starts_with(EngineFolder::new(&dir).bin());
    private::folder(&dir, !is_pinned).map_err(|error| {
        failed(
            error.to_string(),
            "run yard as that user, or set TRAINYARD_HOME to a folder of your own",
        )
    })?;
    let dir = dir.canonicalize().map_err(|error| system(&error))?;
    let folder = EngineFolder::new(&dir);
    if std::env::var_os(sys::env_vars::TRAINYARD_ENGINE).is_some() {
        // Started by a job's command: out of its bounds, which would be that of all further jobs too.
        let left = control_group::leave(is_of_job);
        if let Err(error) = left {
            tracing::warn!("the bounds of the job that started this stay: {error}");
        }
        // It has the job's CPUs alone: an engine has the machine's.
        sys::cpu::unbind().map_err(|error| system(&error))?;
    }
    // First of all: a job's command may have started this engine, and the job may be ending.
    let own = OwnProcesses::enter(&folder);
    let binary = run_pinned(&folder, &own).map_err(|error| system(&error))?;
    let lock = FileLock::try_acquire(&folder.lock()).map_err(|error| system(&error))?;
    let Some(lock) = lock else {
        say(&Startup::Locked);
        return Ok(());
    };
    private::files(&folder).map_err(|error| system(&error))?;
    if let Some(warning) = private::warning(&dir) {
        tracing::warn!("{warning}");
    }
    // Before it answers: an older program that it answers looks there.
    api::leave_serving_program(&folder, &binary).map_err(|error| system(&error))?;
    // Before the first thread, and before the store fills memory that each fork would copy.
    let (fork_server, events) = fork_server::fork(&dir).map_err(|error| system(&error))?;
    crate::log::write_as(Process::Engine);
    // Without GPUs everything else still works; the engine's facts say what is wrong.
    let (gpus, no_gpus) = match sys::gpus::ask() {
        Ok(gpus) => (gpus, "no NVIDIA driver answers".to_owned()),
        Err(error) => {
            tracing::warn!("{error}");
            (Vec::new(), error.to_string())
        }
    };
    let cluster = match EngineCluster::of(&folder, &gpus) {
        Ok(cluster) => cluster,
        Err(ClusterError { asked, there, todo }) => {
            fork_server.shutdown();
            return Err(CantServe {
                asked,
                there,
                todo,
                may_pass: false,
            });
        }
    };
    let gpus = if cluster.is_pretended() {
        GpuLocks::new(&[], "its nodes are pretended".to_owned())
    } else {
        GpuLocks::new(&gpus, no_gpus)
    };
    let leaving = match open(&folder, &binary, fork_server, own, cluster, gpus, keep) {
        Ok((owner, messages)) => live(owner, &messages, events).map_err(|error| system(&error))?,
        Err((error, fork_server)) => {
            fork_server.shutdown();
            return Err(CantServe {
                may_pass: error.may_pass(),
                ..failed(error.to_string(), &error.todo())
            });
        }
    };
    // What stands there after this one's own is gone is another engine's.
    if !matches!(leaving, Leaving::SocketGone) {
        let _gone = std::fs::remove_file(folder.socket());
    }
    drop(lock);
    match leaving {
        Leaving::Requested(reply, answer) => {
            let _gone = reply.send(*answer);
            // The connection's thread writes it; nothing is lost if it doesn't come so far: the
            // client sees the end of the connection.
            thread::sleep(LAST_WORD);
        }
        Leaving::Signal => {}
        Leaving::ForkServerLost => {
            tracing::warn!("the fork server was lost: another engine takes over");
            if let Err(error) = start_another(&binary, &dir) {
                tracing::error!("it can't be started: {error}");
            }
        }
        Leaving::SocketGone if folder.store().exists() => {
            tracing::warn!("the socket was removed: another engine takes over");
            if let Err(error) = start_another(&binary, &dir) {
                tracing::error!("it can't be started: {error}");
            }
        }
        Leaving::SocketGone => tracing::error!("the folder was removed: nothing is left to serve"),
    }
    tracing::info!("ended; running jobs keep running");
    Ok(())
}

/// The folder that a path names, which may not be there yet.
fn real(dir: &Path) -> io::Result<PathBuf> {
    match dir.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => std::path::absolute(dir),
        real => real,
    }
}

/// Before the folder is made or locked: a lock there would be no lock.
fn refuse_network(dir: &Path) -> Result<(), CantServe> {
    let there = dir.ancestors().find(|folder| folder.exists());
    let kind = sys::fs_kind::of(there.unwrap_or(dir));
    let Ok(sys::fs_kind::FsKind::Network(kind)) = kind else {
        return Ok(());
    };
    let error = StoreError::Network {
        folder: dir.to_owned(),
        kind: kind.to_string(),
    };
    Err(CantServe {
        asked: format!("engine in {}", dir.display()),
        there: error.to_string(),
        todo: error.todo(),
        may_pass: false,
    })
}

/// Whether a disk has no room, or a file may not grow.
fn is_of_room(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Goes on as the pinned program, unless this is it; returns its path.
fn run_pinned(folder: &EngineFolder, own: &OwnProcesses) -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    if program.starts_with(folder.bin()) {
        return Ok(program);
    }
    // By this name even after the file was replaced.
    let pinned = pinned::pin(folder, Path::new("/proc/self/exe"))?;
    own.keep();
    Err(Command::new(&pinned)
        .args(["engine", "serve", "--dir"])
        .arg(folder.root())
        .exec())
}

type Opened = (Owner, mpsc::Receiver<Message>);

fn open(
    folder: &EngineFolder,
    binary: &Path,
    fork_server: ForkServer,
    own: OwnProcesses,
    cluster: EngineCluster,
    gpus: GpuLocks,
    keep: Keep,
) -> Result<Opened, (StoreError, ForkServer)> {
    let now = Timestamp(sys::wall_clock());
    let named = named_ids::highest(folder);
    let opened = Store::open(&folder.store(), named).and_then(|store| {
        store.keep_cluster(&folder.cluster(), cluster.is_pretended())?;
        let changes = store.cluster_changes()?;
        let accounting = store.accounting()?;
        let cluster = match (changes, accounting) {
            (Some(changes), accounting) => cluster.with_changes(changes, accounting.as_ref()),
            (None, Some(accounting)) => cluster.with_accounting(&accounting),
            (None, None) => cluster,
        };
        // The cluster's file may be another one by now.
        if folder.changed_cluster().exists() {
            let taken_back = cluster.take_back(folder);
            taken_back.map_err(|error| StoreError::Failed {
                path: folder.changed_cluster(),
                what: error.to_string(),
            })?;
        }
        let is_handed_out = cluster.hand_out(folder);
        let (state, running, clock) = recover::read(&store, &cluster, now)?;
        let events = store.node_events(true)?;
        let hand_out_at = (!is_handed_out).then_some(now);
        let read = (state, running, clock, events);
        Ok((store, cluster, read, hand_out_at))
    });
    let (store, cluster, (state, running, clock, open_events), hand_out_at) = match opened {
        Ok(opened) => opened,
        Err(error) => return Err((error, fork_server)),
    };
    let messenger = match Messenger::start(folder.clone()) {
        Ok(messenger) => messenger,
        Err(error) => {
            let error = StoreError::Failed {
                path: folder.store(),
                what: error.to_string(),
            };
            return Err((error, fork_server));
        }
    };
    let (sender, messages) = mpsc::channel();
    let names = cluster.is_pretended().then(|| cluster.node_names());
    let isolation = Isolation::of(folder, names);
    if let Isolation::Missing(why) = &isolation {
        tracing::warn!("nodes are not isolated: {why}");
    }
    if let Some(place) = isolation.nodes() {
        node_disks::remove_leftovers(place);
    }
    // Of supervisors that were killed while no engine was there to end what they left.
    sys::control_group::remove_dead(crate::supervisor::is_left);
    let owner = Owner {
        isolation,
        // Above all numbers of engines before this one.
        emptied: u64::try_from(now.0).unwrap_or(0),
        folder: folder.clone(),
        binary: binary.to_owned(),
        since: now,
        clock,
        store,
        state,
        running,
        last_busy: HashMap::new(),
        open_events,
        fork_server,
        own: Arc::new(own),
        messenger,
        sender,
        users: Arc::default(),
        waiters: Vec::new(),
        gpus,
        cpus: CpuLocks::new(Arc::clone(&cluster.numbers)),
        cluster,
        allocations: std::collections::BTreeMap::new(),
        has_files: std::collections::BTreeSet::new(),
        sweep_at: None,
        ended_since_sweep: 0,
        failed_prologs: crate::owner::FailedPrologs::default(),
        keep,
        retry_at: None,
        unread: Unread::default(),
        adopted: crate::owner::Adopted::default(),
        retry_networks_at: None,
        hand_out_at,
        mail: crate::owner::MailQueue::default(),
        statistics: crate::owner::Statistics::since(now),
        parts: crate::shared_parts::SharedParts::default(),
        calls: Arc::default(),
        groups: crate::owner::LastLook::default(),
        set_kill_wait_ms: set_kill_wait_ms(),
    };
    Ok((owner, messages))
}

/// Tests can't wait half a minute.
fn set_kill_wait_ms() -> Option<u64> {
    let set = std::env::var(sys::env_vars::TRAINYARD_KILL_WAIT_MS).ok();
    set.and_then(|text| text.parse().ok())
}

fn live(
    mut owner: Owner,
    messages: &mpsc::Receiver<Message>,
    events: ForkServerEvents,
) -> io::Result<Leaving> {
    let listener = sys::socket::listen(&owner.folder.socket())?;
    let greeting = Greeting {
        folder: owner.folder.clone(),
        store: owner.store.uuid().to_owned(),
        notice: Mutex::new(owner.notice()),
        users: Arc::clone(&owner.users),
        calls: Arc::clone(&owner.calls),
    };
    let connections = Connections {
        greeting,
        owner: owner.sender.clone(),
    };
    connection_threads::start(listener, connections)?;
    let sender = owner.sender.clone();
    spawn("fork_server", move || {
        while let Ok(Some(event)) = events.next() {
            let _owner = sender.send(Message::ForkServer(event));
        }
        let _owner = sender.send(Message::ForkServerLost);
    })?;
    let sender = owner.sender.clone();
    let socket = owner.folder.socket();
    let watch = sys::FileWatch::new(&socket);
    spawn("socket", move || {
        match watch.and_then(sys::FileWatch::wait_until_gone) {
            Ok(()) => drop(sender.send(Message::SocketGone)),
            // Its folder was removed since it was made.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                drop(sender.send(Message::SocketGone));
            }
            Err(error) => tracing::warn!("{} can't be watched: {error}", socket.display()),
        }
    })?;
    let sender = owner.sender.clone();
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT])?;
    spawn("signals", move || {
        if signals.forever().next().is_some() {
            let _owner = sender.send(Message::Stop);
        }
    })?;
    say(&Startup::Ready);
    tracing::info!("{} serves", api::VERSION);
    remove_old_programs(&owner);
    Ok(owner.live(messages))
}

/// Pinned programs of earlier versions that no running step was started from. The shell of an allocation finds Slurm's
/// commands beside one of them and runs none of them meanwhile: as long as there is an allocation all stay.
fn remove_old_programs(owner: &Owner) {
    if owner.state.live().any(|job| !job.batch) {
        return;
    }
    let used = |program: &Path| {
        let links = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let mut programs =
            links.filter_map(|entry| std::fs::read_link(entry.path().join("exe")).ok());
        programs.any(|running| running == program)
    };
    pinned::remove_others(&owner.folder, &owner.binary, &used);
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new()
        .name(name.to_owned())
        .stack_size(128 << 10)
        .spawn(work)
        .map(drop)
}

/// Says how the start went. Who doesn't listen any more can't be told.
fn say(startup: &Startup) {
    if let Ok(line) = serde_json::to_string(startup) {
        let _unheard = writeln!(io::stdout(), "{line}");
    }
}

fn start_another(binary: &Path, dir: &Path) -> io::Result<()> {
    let mut command = Command::new(binary);
    command.args(["engine", "serve", "--dir"]).arg(dir);
    sys::daemon::spawn(command.stdin(std::process::Stdio::null()))
}
