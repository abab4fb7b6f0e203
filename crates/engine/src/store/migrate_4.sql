-- A column for everything that is filtered by; a row for each start of a job; what a submission
-- asked for once, whatever became of it. Priority, reason and estimates of a waiting job are
-- derived and in no row: only a hold is, with its cause.
--
-- States have Slurm's names. Moments are milliseconds since 1970, CPU times microseconds, memory
-- of a share MiB, memory used bytes. What is structured and not filtered by is JSON.
ALTER TABLE jobs RENAME TO former_jobs;
ALTER TABLE submissions RENAME TO former_submissions;
ALTER TABLE steps RENAME TO former_steps;
DROP INDEX jobs_live;
DROP INDEX jobs_ended;
DROP INDEX jobs_array;
DROP INDEX jobs_comment;
DROP INDEX jobs_ended_version;

-- What a submission brought along, an array's once. Script and environment go some time after the
-- end of the last job that came of it.
CREATE TABLE submissions (
    job INTEGER PRIMARY KEY,
    token TEXT NOT NULL UNIQUE,
    uid INTEGER NOT NULL,
    gid INTEGER NOT NULL,
    user_name TEXT NOT NULL,
    group_name TEXT NOT NULL,
    umask INTEGER NOT NULL,
    arguments TEXT NOT NULL,
    command TEXT,
    submit_host TEXT NOT NULL,
    batch INTEGER NOT NULL,
    request TEXT NOT NULL,
    script BLOB,
    environment BLOB
) STRICT;

-- `submission` is the id that the submission was answered with: the job's own, or its array's. The
-- elements of an array that have no row of their own wait in the array's; `waiting` names them once
-- they ended there, cancelled.
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    submission INTEGER NOT NULL,
    task INTEGER,
    waiting TEXT,
    uid INTEGER NOT NULL,
    name TEXT NOT NULL,
    account TEXT,
    partition TEXT NOT NULL,
    qos TEXT,
    comment TEXT,
    live INTEGER NOT NULL,
    state TEXT NOT NULL,
    submitted_at INTEGER NOT NULL,
    eligible_at INTEGER,
    not_before INTEGER,
    dependency TEXT,
    hold TEXT,
    started_at INTEGER,
    ended_at INTEGER,
    node_list TEXT,
    restarts INTEGER NOT NULL,
    ending TEXT,
    outcome TEXT,
    version INTEGER NOT NULL
) STRICT;
CREATE INDEX jobs_live ON jobs (id) WHERE live = 1;
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE live = 0;
CREATE INDEX jobs_ended_version ON jobs (version) WHERE live = 0;
CREATE INDEX jobs_array ON jobs (submission) WHERE task IS NOT NULL;
CREATE INDEX jobs_comment ON jobs (comment) WHERE comment IS NOT NULL;

-- Each start of a job: a requeue leads to another one. `priority` and `reason` are the last before
-- it. A start that was requeued ended as REQUEUED or NODE_FAIL.
CREATE TABLE job_starts (
    job INTEGER NOT NULL,
    restart INTEGER NOT NULL,
    partition TEXT NOT NULL,
    qos TEXT,
    state TEXT NOT NULL,
    submitted_at INTEGER NOT NULL,
    eligible_at INTEGER,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    time_limit INTEGER,
    node_list TEXT NOT NULL,
    shares TEXT NOT NULL,
    priority INTEGER,
    reason TEXT,
    exit_status INTEGER,
    user_cpu INTEGER,
    system_cpu INTEGER,
    peak_memory INTEGER,
    PRIMARY KEY (job, restart)
) STRICT, WITHOUT ROWID;

-- `step` is -1 for the batch script, which has a row only where the job has other steps.
CREATE TABLE steps (
    job INTEGER NOT NULL,
    restart INTEGER NOT NULL,
    step INTEGER NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    node_list TEXT NOT NULL,
    shares TEXT NOT NULL,
    holds TEXT NOT NULL,
    token TEXT NOT NULL,
    exit_status INTEGER,
    timed_out INTEGER NOT NULL,
    user_cpu INTEGER,
    system_cpu INTEGER,
    peak_memory INTEGER,
    PRIMARY KEY (job, restart, step)
) STRICT, WITHOUT ROWID;

INSERT INTO submissions
SELECT s.job, s.token, s.uid, s.gid, j.record ->> '$.user', j.record ->> '$.group', s.umask,
    s.arguments, j.record ->> '$.command', j.record ->> '$.submit_host', j.record ->> '$.batch',
    json_set(j.record -> '$.request', '$.array', json(s.elements)), s.script, s.environment
FROM former_submissions AS s JOIN former_jobs AS j
ON j.id = (SELECT min(id) FROM former_jobs WHERE id = s.job OR array_job = s.job);

INSERT INTO jobs
SELECT id, coalesce(array_job, id), record ->> '$.array.task.one',
    CASE live WHEN 0 THEN record ->> '$.array.task.waiting.indices' END,
    uid, record ->> '$.request.name', record ->> '$.request.account',
    coalesce(record ->> '$.request.partition', 'local'), record ->> '$.request.qos', comment, live,
    CASE
        WHEN live = 0 THEN CASE CASE json_type(record, '$.state.ended.outcome')
            WHEN 'text' THEN record ->> '$.state.ended.outcome'
            ELSE (SELECT key FROM json_each(record, '$.state.ended.outcome')) END
            WHEN 'completed' THEN 'COMPLETED' WHEN 'cancelled' THEN 'CANCELLED'
            WHEN 'timeout' THEN 'TIMEOUT' WHEN 'node_fail' THEN 'NODE_FAIL'
            WHEN 'out_of_memory' THEN 'OUT_OF_MEMORY' ELSE 'FAILED' END
        WHEN record -> '$.state.running' IS NOT NULL THEN 'RUNNING'
        ELSE 'PENDING' END,
    record ->> '$.submitted', record ->> '$.eligible', record ->> '$.request.begin',
    record ->> '$.request.dependency',
    CASE WHEN record ->> '$.state.pending.reason' = 'launch_failed_requeued_held'
        THEN 'launch_failed'
        WHEN record ->> '$.priority' = 0 THEN 'user' END,
    coalesce(record ->> '$.state.running.since', record ->> '$.state.ended.ran.since'), ended_at,
    (SELECT group_concat(value ->> '$.node') FROM json_each(record, CASE live
        WHEN 1 THEN '$.state.running.allocation.nodes'
        ELSE '$.state.ended.ran.allocation.nodes' END)),
    record ->> '$.restarts',
    CASE WHEN record ->> '$.state.running.ending' IS NOT NULL
        THEN record -> '$.state.running.ending' END,
    record -> '$.state.ended.outcome', version
FROM former_jobs;

-- Of starts that were requeued, which had no rows, nothing is known.
INSERT INTO job_starts
SELECT id, restarts, partition, qos, state, submitted_at, eligible_at, started_at, ended_at,
    ran ->> '$.limit', node_list, ran -> '$.allocation.nodes', record ->> '$.priority', NULL,
    CASE WHEN ended_at IS NOT NULL THEN coalesce(outcome ->> '$.failed.status',
        outcome ->> '$.cancelled.status', outcome ->> '$.timeout.status', 0) END,
    NULL, NULL, NULL
FROM (
    SELECT jobs.*, record, coalesce(record -> '$.state.running', record -> '$.state.ended.ran') AS ran
    FROM jobs JOIN former_jobs USING (id)
) WHERE started_at IS NOT NULL;

INSERT INTO steps
SELECT job, restart, step, row ->> '$.record.name',
    CASE WHEN live = 1 THEN 'RUNNING' WHEN row ->> '$.record.state.ended.timed_out' THEN 'TIMEOUT'
        WHEN row ->> '$.record.state.ended.status' = 0 THEN 'COMPLETED' ELSE 'FAILED' END,
    row ->> '$.record.since', row ->> '$.record.state.ended.at',
    (SELECT group_concat(value ->> '$.node') FROM json_each(row, '$.record.nodes')),
    row -> '$.record.nodes', coalesce(row -> '$.holds', '[]'), coalesce(row ->> '$.token', ''),
    row ->> '$.record.state.ended.status',
    coalesce(row ->> '$.record.state.ended.timed_out', 0), NULL, NULL, NULL
FROM former_steps;

DROP TABLE former_jobs;
DROP TABLE former_submissions;
DROP TABLE former_steps;
