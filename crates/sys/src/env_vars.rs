//! Names of the environment variables that are ours: the one place for them, but for those that the
//! ranks of a run get (`YARD_…`, in `train`).

/// Makes a constant of each name, and one table of all with what is written above them.
macro_rules! variables {
    (
        $(#[doc = $table_doc:literal])+ $table:ident:
        $( $(#[doc = $doc:literal])+ $name:ident; )*
    ) => {
        $( $(#[doc = $doc])+ pub const $name: &str = stringify!($name); )*

        $(#[doc = $table_doc])+
        pub const $table: &[(&str, &str)] = &[
            $( (stringify!($name), concat!($($doc),+).trim_ascii_start()), )*
        ];
    };
}

variables! {
    /// What a user can set.
    FOR_USERS:

    /// An absolute path: state, cache, config, scratch and the index of runs stand below it, in
    /// folders of those names, instead of in the home folder.
    TRAINYARD_HOME;
    /// For how many days after their ends the embedded engine remembers jobs: 365 unless it is set
    /// where the engine is started.
    TRAINYARD_KEEP_DAYS;
    /// How many jobs, the newest, the embedded engine remembers: 1000000 unless it is set where the
    /// engine is started.
    TRAINYARD_KEEP_JOBS;
    /// 0, where an engine is started: the nodes of a pretended cluster get no namespaces, and see this
    /// machine's host name, `/tmp` and processes, and their names lead to no address; `no-pid`: they see this
    /// machine's processes.
    TRAINYARD_NAMESPACES;
    /// An absolute path: the folder by whose locks the engines and jobs of all users of this machine
    /// tell each other which CPUs and ports they have taken, instead of `/var/tmp`. Engines with other folders
    /// give the same CPUs again. It is read where the engine is started.
    TRAINYARD_CPU_LOCKS;
    /// How much the embedded engine writes to its log: `error`, `warn`, `info`, `debug` or `trace`;
    /// `info` unless it is set where the engine is started.
    TRAINYARD_LOG;
}

variables! {
    /// What a user can set that other programs read, too.
    OF_OTHERS:

    /// Holds `trainyard/config.toml` and cluster files, instead of `~/.config`.
    XDG_CONFIG_HOME;
    /// Holds environments that were made, below `trainyard`, instead of the cluster's scratch or `~/.cache`.
    XDG_CACHE_HOME;
    /// Holds run folders and the index of runs, below `trainyard`, instead of `~/.local/share`.
    XDG_DATA_HOME;
    /// Holds the embedded engine's state, below `trainyard`, instead of `~/.local/state`; on a network
    /// file system a local folder is used.
    XDG_STATE_HOME;
    /// The folder for a node's own files on this machine, instead of `/tmp`; isolated nodes of a pretended cluster use their own `/tmp`.
    TMPDIR;
    /// The configuration of the Slurm that this machine is set up for; `/dev/null` for none.
    SLURM_CONF;
    /// The shell that `yard attach` opens.
    SHELL;
    /// Columns of what is printed where that is no terminal.
    COLUMNS;
    /// No colours, where it is set to anything.
    NO_COLOR;
    /// Colours also where there is no terminal, where it is set to anything but 0.
    CLICOLOR_FORCE;
}

variables! {
    /// What a job gets from the embedded engine.
    IN_JOBS:

    /// The embedded engine's folder, so that commands inside a job find the engine that runs it. By
    /// hand also an engine's name: `TRAINYARD_ENGINE=rig squeue`.
    TRAINYARD_ENGINE;
    /// The name of the machine on which the engine is, in jobs on nodes with names of their own.
    TRAINYARD_HOST;
    /// Where the supervisor of a step answers whose tasks see their job's processes alone: it starts an
    /// engine for their commands.
    TRAINYARD_SUPERVISOR;
    /// 1 in jobs on nodes with networks of their own, `closed` where those lead nowhere outside.
    TRAINYARD_NODE_NETWORKS;
    /// The user's own `BASH_ENV`, which bash still reads inside a job: `BASH_ENV` itself names a file
    /// that keeps Slurm's commands on `PATH`.
    TRAINYARD_BASH_ENV;
}

variables! {
    /// What only tests set.
    FOR_TESTS:

    /// Pretends a kind of file system below a folder: `<kind>:<path prefix>`, such as `nfs:/tmp/x`.
    TRAINYARD_TEST_FS;
    /// Milliseconds from SIGTERM to SIGKILL where an engine ends a job, instead of Slurm's 30 s.
    TRAINYARD_KILL_WAIT_MS;
    /// A folder in which GPUs have their devices, instead of `/dev`.
    TRAINYARD_TEST_DEV;
    /// A file with the milliseconds by which the machine's clock seems to have been set.
    TRAINYARD_TEST_CLOCK;
}
