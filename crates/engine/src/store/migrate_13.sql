-- Scripts, and environments without the variables that each submission has of its own, are kept once,
-- whatever number of submissions brought them along. How many use one stands in a table beside: a
-- submission writes no page of what is there already.
ALTER TABLE submissions RENAME TO former_submissions;

CREATE TABLE contents (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    content BLOB NOT NULL
) STRICT;

CREATE TABLE content_uses (
    content INTEGER PRIMARY KEY,
    uses INTEGER NOT NULL
) STRICT;

-- What a submission brought along, an array's once. `script` and `environment` are of `contents`; they go
-- some time after the end of the last job that came of it. The variables of `own_environment` follow those
-- of `environment`.
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
    script INTEGER,
    environment INTEGER,
    own_environment TEXT
) STRICT;

-- The two parts of each environment that differs from all others.
CREATE TEMP VIEW environments AS
SELECT raw, CAST((SELECT json_group_array(json(value)) FROM json_each(text)
        WHERE substr(value ->> 0, 1, 9) <> 'SLURM_JOB') AS BLOB) AS shared,
    (SELECT json_group_array(json(value)) FROM json_each(text)
        WHERE substr(value ->> 0, 1, 9) = 'SLURM_JOB') AS own
FROM (SELECT raw, CAST(environment AS TEXT) AS text FROM main.former_submissions JOIN (
    SELECT content_hash(environment) AS raw, min(job) AS job FROM main.former_submissions
    WHERE environment IS NOT NULL GROUP BY raw
) USING (job));

INSERT OR IGNORE INTO contents (hash, content)
SELECT content_hash(script), script FROM former_submissions WHERE script IS NOT NULL;
INSERT OR IGNORE INTO contents (hash, content)
SELECT content_hash(shared), shared FROM environments;

CREATE TEMP TABLE split (raw BLOB PRIMARY KEY, environment INTEGER, own TEXT);
INSERT INTO split
SELECT raw, (SELECT id FROM contents WHERE hash = content_hash(shared)), own FROM environments;

INSERT INTO submissions
SELECT job, token, uid, gid, user_name, group_name, umask, arguments, command, submit_host, batch,
    request, (SELECT id FROM contents WHERE hash = content_hash(script)), split.environment, own
FROM former_submissions AS former LEFT JOIN split ON raw = content_hash(former.environment);

INSERT INTO content_uses
SELECT content, count(*) FROM (
    SELECT script AS content FROM submissions UNION ALL SELECT environment FROM submissions
) WHERE content IS NOT NULL GROUP BY content;

DROP TABLE split;
DROP VIEW environments;
DROP TABLE former_submissions;
