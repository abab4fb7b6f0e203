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

CREATE TEMP VIEW split AS
SELECT job, script, environment,
    CAST((SELECT json_group_array(json(value)) FROM json_each(CAST(environment AS TEXT))
     WHERE substr(value ->> 0, 1, 9) <> 'SLURM_JOB') AS BLOB) AS shared,
    (SELECT json_group_array(json(value)) FROM json_each(CAST(environment AS TEXT))
     WHERE substr(value ->> 0, 1, 9) = 'SLURM_JOB') AS own
FROM main.former_submissions;

INSERT OR IGNORE INTO contents (hash, content)
SELECT content_hash(script), script FROM split WHERE script IS NOT NULL;
INSERT OR IGNORE INTO contents (hash, content)
SELECT content_hash(shared), shared FROM split WHERE environment IS NOT NULL;

INSERT INTO submissions
SELECT job, token, uid, gid, user_name, group_name, umask, arguments, command, submit_host, batch,
    request, (SELECT id FROM contents WHERE hash = content_hash(split.script)),
    CASE WHEN split.environment IS NOT NULL
        THEN (SELECT id FROM contents WHERE hash = content_hash(shared)) END,
    CASE WHEN split.environment IS NOT NULL THEN own END
FROM former_submissions JOIN split USING (job);

INSERT INTO content_uses
SELECT content, count(*) FROM (
    SELECT script AS content FROM submissions UNION ALL SELECT environment FROM submissions
) WHERE content IS NOT NULL GROUP BY content;

DROP VIEW split;
DROP TABLE former_submissions;
