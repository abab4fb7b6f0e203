//! What `scontrol` refuses of its command line.

/// A command line that `scontrol` refuses with exit status 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScontrolUsageError {
    /// As `getopt_long` says it.
    #[error("{program}: {message}\nTry \"scontrol --help\" for more information")]
    Option {
        /// `argv[0]`
        program: String,
        /// What is wrong.
        message: String,
    },
    /// Nothing of Slurm's.
    #[error("invalid keyword: {0}")]
    Keyword(String),
    /// Nothing that `show` shows.
    #[error("invalid entity:{0} for keyword:show ")]
    Entity(String),
    /// Too few words.
    #[error("too few arguments for keyword:{0}")]
    TooFew(String),
    /// Too many words.
    #[error("too many arguments for keyword:{0}")]
    TooMany(String),
    /// No word at all after one that takes one.
    #[error("missing argument for keyword:{0}")]
    NoArgument(String),
    /// `wait_job` of what is no job's number.
    #[error("Invalid job_id {0}")]
    WaitedJob(String),
    /// More words after `verbose`.
    #[error("too many arguments for {0} keyword")]
    TooManyAfter(String),
    /// `write` of something else.
    #[error("invalid write argument:{0}")]
    WriteEntity(String),
    /// `update` of nothing that there is.
    #[error(
        "No valid entity in update command\nInput line must include \"NodeName\", \"PartitionName\", \"Reservation\", \"JobId\", or \"SlurmctldDebug\""
    )]
    NoEntity,
    /// A limit that is made longer or shorter before it is said whose.
    #[error("scontrol: error: JobId must precede TimeLimit increment or decrement")]
    JobIdFirst,
    /// `update`, `create` or `delete` alone.
    #[error("too few arguments for {0} keyword")]
    TooFewAfter(String),
    /// `create` of nothing of Slurm's.
    #[error("scontrol: error: Invalid creation entity: {0}")]
    CreationEntity(String),
    /// `create NodeName=`: what Slurm says of words of which it makes no node.
    #[error("scontrol: error: {0}")]
    NoNewNode(String),
    /// `delete` without a name.
    #[error("scontrol: error: Proper format is 'delete <ENTITY>=<ID>' or 'delete <ENTITY> <ID>'")]
    DeletionFormat,
    /// `delete` of nothing of Slurm's.
    #[error("Invalid deletion entity: {0}")]
    DeletionEntity(String),
    /// `show hostlist` without a list.
    #[error("invalid encode argument")]
    NoNames,
    /// Something of Slurm's that the embedded engine has not.
    #[error("scontrol: error: `{what}` is not built in: {todo}")]
    Missing {
        /// As written.
        what: String,
        /// What to do instead.
        todo: &'static str,
    },
}
