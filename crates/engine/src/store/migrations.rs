//! The store's schema, as the list of changes that led to it. A change is never edited once it
//! was released; `PRAGMA user_version` is the count of those applied.

/// One batch of SQL a version.
pub(super) const MIGRATIONS: &[&str] = &[
    "
CREATE TABLE facts (
    name TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- `record` is the row as JSON; the columns beside it are what is searched by.
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    uid INTEGER NOT NULL,
    gid INTEGER NOT NULL,
    array_job INTEGER,
    live INTEGER NOT NULL,
    ended_at INTEGER,
    version INTEGER NOT NULL,
    comment TEXT,
    record TEXT NOT NULL
) STRICT;
CREATE INDEX jobs_live ON jobs (id) WHERE live = 1;
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX jobs_version ON jobs (version);
CREATE INDEX jobs_array ON jobs (array_job) WHERE array_job IS NOT NULL;
CREATE INDEX jobs_comment ON jobs (comment) WHERE comment IS NOT NULL;

-- What a submission brought along, an array's once; emptied when its folder is removed.
CREATE TABLE submissions (
    job INTEGER PRIMARY KEY,
    token TEXT NOT NULL UNIQUE,
    uid INTEGER NOT NULL,
    gid INTEGER NOT NULL,
    umask INTEGER NOT NULL,
    arguments TEXT NOT NULL,
    script BLOB,
    environment BLOB,
    elements TEXT
) STRICT;

-- `step` is -1 for the batch script. `row` is JSON.
CREATE TABLE steps (
    job INTEGER NOT NULL,
    restart INTEGER NOT NULL,
    step INTEGER NOT NULL,
    uid INTEGER NOT NULL,
    gid INTEGER NOT NULL,
    live INTEGER NOT NULL,
    row TEXT NOT NULL,
    PRIMARY KEY (job, restart, step)
) STRICT, WITHOUT ROWID;
CREATE INDEX steps_live ON steps (job) WHERE live = 1;

-- Folders of jobs that ended and that are still on disk.
CREATE TABLE folders (
    job INTEGER PRIMARY KEY,
    ended_at INTEGER NOT NULL
) STRICT;
CREATE INDEX folders_ended ON folders (ended_at);
",
    "
-- Indexes that every start and every end paid for. Live rows are all in memory, so only ended ones
-- are looked for by version; what is in `folders` is young, and read whole.
DROP INDEX jobs_version;
CREATE INDEX jobs_ended_version ON jobs (version) WHERE live = 0;
DROP INDEX steps_live;
DROP INDEX folders_ended;
",
    "
-- Records of steps have a tag in their names; those of jobs that were submitted before have none.
-- A new store has no such jobs, and no row here.
INSERT INTO facts SELECT 'untagged_below', value FROM facts WHERE name = 'next_id';
",
    include_str!("migrate_4.sql"),
    "
-- What was said of nodes: one that is down or drained. Of all others there is no row.
CREATE TABLE nodes (
    name TEXT PRIMARY KEY,
    down INTEGER NOT NULL,
    drained INTEGER NOT NULL,
    reason TEXT NOT NULL,
    user_name TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
",
    "
-- What a user's ended jobs used in an account, as it was at a moment: it is forgotten by halves from
-- there. What running jobs used follows from their rows.
CREATE TABLE usage (
    account TEXT NOT NULL,
    user_name TEXT NOT NULL,
    amount REAL NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (account, user_name)
) STRICT, WITHOUT ROWID;
",
    "
-- What a job asks for, where it was changed since its submission; JSON.
ALTER TABLE jobs ADD COLUMN request TEXT;
",
    "
-- That a start is or was suspended; JSON.
ALTER TABLE job_starts ADD COLUMN suspension TEXT;
",
    "
-- Nodes that are kept for some users over a time; JSON.
CREATE TABLE reservations (
    name TEXT PRIMARY KEY,
    reservation TEXT NOT NULL
) STRICT, WITHOUT ROWID;
",
    "
-- That a node is about to fail.
ALTER TABLE nodes ADD COLUMN failing INTEGER NOT NULL DEFAULT 0;
",
    "
-- What ended jobs used as limits on that count it (GrpTRESMins, GrpWall), as it was at a moment: of a QOS,
-- of an account, or of a user in an account.
CREATE TABLE spent (
    kind TEXT NOT NULL CHECK (kind IN ('qos', 'account', 'user')),
    name TEXT NOT NULL,
    account TEXT NOT NULL,
    tres TEXT NOT NULL,
    amount REAL NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (kind, name, account, tres)
) STRICT, WITHOUT ROWID;
",
    "
-- When nodes took no jobs; an empty name is the cluster, which is there.
CREATE TABLE node_events (
    node TEXT NOT NULL,
    begun_at INTEGER NOT NULL,
    state INTEGER NOT NULL,
    ended_at INTEGER,
    reason TEXT NOT NULL,
    user_name TEXT NOT NULL,
    PRIMARY KEY (node, begun_at, state)
) STRICT, WITHOUT ROWID;

-- What was changed of accounts, users, associations and QOS.
CREATE TABLE transactions (
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    object TEXT NOT NULL,
    info TEXT NOT NULL
) STRICT;
CREATE INDEX transactions_at ON transactions (at);
",
    include_str!("migrate_13.sql"),
    "
-- Which user cancelled a step.
ALTER TABLE steps ADD COLUMN cancelled_by INTEGER;
",
    "
-- When a job last lost nodes or gave some back while it ran.
ALTER TABLE jobs ADD COLUMN resized_at INTEGER;

-- By how much the end of a start lies behind that of its limit, in milliseconds.
ALTER TABLE job_starts ADD COLUMN end_moved_ms INTEGER;

-- What a start held until then; for how long it was suspended before. `shares` is JSON.
CREATE TABLE former_sizes (
    job INTEGER NOT NULL,
    restart INTEGER NOT NULL,
    until_at INTEGER NOT NULL,
    suspended_ms INTEGER NOT NULL,
    shares TEXT NOT NULL,
    PRIMARY KEY (job, restart, until_at)
) STRICT, WITHOUT ROWID;
",
    "
-- What its tasks used one by one; JSON.
ALTER TABLE steps ADD COLUMN tasks_usage TEXT;
",
    "
-- Since when a job gains priority by its age, where a limit lets so many alone do so.
ALTER TABLE jobs ADD COLUMN accrues_at INTEGER;
",
    "
-- What was set of a job's record in accounting; JSON.
CREATE TABLE record_changes (
    job INTEGER PRIMARY KEY,
    change TEXT NOT NULL
) STRICT;

-- The command line that asked for a step.
ALTER TABLE steps ADD COLUMN submit_line TEXT;

-- Which part of the scheduler made a start, by its flag in sacct.
ALTER TABLE job_starts ADD COLUMN started_by TEXT;
",
    "
-- The reservations in which a job may run, and the priority that was set for it: until now what it asks for was
-- changed with them.
ALTER TABLE jobs ADD COLUMN reservation TEXT;
ALTER TABLE jobs ADD COLUMN priority_set INTEGER;
UPDATE jobs SET reservation = asked.request ->> '$.reservation',
    priority_set = nullif(asked.request ->> '$.priority', 0)
FROM (SELECT own.id, coalesce(own.request, submissions.request) AS request
      FROM jobs own JOIN submissions ON submissions.job = own.submission) AS asked
WHERE asked.id = jobs.id
    AND (instr(asked.request, '\"reservation\"') OR instr(asked.request, '\"priority\"'));
",
    "
-- What ended jobs used is counted by association; of a user in an account there may be one for a partition. An
-- empty name is all of them.
CREATE TABLE usage_of_associations (
    account TEXT NOT NULL,
    user_name TEXT NOT NULL,
    partition TEXT NOT NULL,
    amount REAL NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (account, user_name, partition)
) STRICT, WITHOUT ROWID;
INSERT INTO usage_of_associations SELECT account, user_name, '', amount, at FROM usage;
DROP TABLE usage;
ALTER TABLE usage_of_associations RENAME TO usage;

CREATE TABLE spent_by_associations (
    kind TEXT NOT NULL CHECK (kind IN ('qos', 'account', 'user')),
    name TEXT NOT NULL,
    account TEXT NOT NULL,
    partition TEXT NOT NULL,
    tres TEXT NOT NULL,
    amount REAL NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (kind, name, account, partition, tres)
) STRICT, WITHOUT ROWID;
INSERT INTO spent_by_associations SELECT kind, name, account, '', tres, amount, at FROM spent;
DROP TABLE spent;
ALTER TABLE spent_by_associations RENAME TO spent;

-- Jobs have as many nodes as their partition asks for at the least since their submission; those that were submitted
-- before have none. A new store has no such jobs, and no row here.
INSERT INTO facts SELECT 'nodes_open_below', value FROM facts WHERE name = 'next_id';
",
    "
-- What a job was called until it was given another name after this start.
ALTER TABLE job_starts ADD COLUMN name TEXT;

-- Most bytes of addresses that a task of it had.
ALTER TABLE job_starts ADD COLUMN addresses INTEGER;
",
];
