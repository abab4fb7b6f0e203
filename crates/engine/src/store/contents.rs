//! Contents that submissions have alike, each kept once: scripts, and environments without the variables
//! that are a submission's own.

use model::JobId;
use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, OptionalExtension, params};

/// Variables whose names begin so are of one submission, and not part of what many have alike: its name,
/// what it waits for, and the job that it was submitted in.
const OWN_VARIABLES: &str = "SLURM_JOB";

/// Lets SQL ask for `content_hash(BLOB)`.
pub(super) fn add_function(db: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    db.create_scalar_function("content_hash", 1, flags, |call| {
        let content = call.get_raw(0).as_blob_or_null()?;
        Ok(content.map(hash))
    })
}

fn hash(content: &[u8]) -> [u8; 32] {
    *blake3::hash(content).as_bytes()
}

/// Keeps a content for one submission more; its id.
pub(super) fn keep(db: &Connection, content: &[u8]) -> rusqlite::Result<i64> {
    let hash = hash(content);
    let known = db
        .prepare_cached("SELECT id FROM contents WHERE hash = ?1")?
        .query_row([hash], |row| row.get(0))
        .optional()?;
    let id = match known {
        Some(id) => id,
        None => db
            .prepare_cached("INSERT INTO contents (hash, content) VALUES (?1, ?2)")?
            .insert(params![hash, content])?,
    };
    db.prepare_cached(
        "INSERT INTO content_uses VALUES (?1, 1) ON CONFLICT DO UPDATE SET uses = uses + 1",
    )?
    .execute([id])?;
    Ok(id)
}

/// Forgets script and environment of a submission, and what no other one uses.
pub(super) fn forget(db: &Connection, submitted: JobId) -> rusqlite::Result<()> {
    let used: Option<[Option<i64>; 2]> = db
        .prepare_cached("SELECT script, environment FROM submissions WHERE job = ?1")?
        .query_row([submitted.0], |row| Ok([row.get(0)?, row.get(1)?]))
        .optional()?;
    let used = used.into_iter().flatten().flatten();
    for content in used {
        let left: i64 = db
            .prepare_cached(
                "UPDATE content_uses SET uses = uses - 1 WHERE content = ?1 RETURNING uses",
            )?
            .query_row([content], |row| row.get(0))?;
        if left == 0 {
            db.prepare_cached("DELETE FROM content_uses WHERE content = ?1")?
                .execute([content])?;
            db.prepare_cached("DELETE FROM contents WHERE id = ?1")?
                .execute([content])?;
        }
    }
    db.prepare_cached(
        "UPDATE submissions SET script = NULL, environment = NULL, own_environment = NULL
         WHERE job = ?1",
    )?
    .execute([submitted.0])?;
    Ok(())
}

/// What submissions have alike of an environment, and what is one's own.
pub(crate) fn split_environment(variables: Vec<(String, String)>) -> [Vec<(String, String)>; 2] {
    let is_own = |(name, _): &(String, String)| name.starts_with(OWN_VARIABLES);
    let (own, shared) = variables.into_iter().partition(is_own);
    [shared, own]
}

/// The two parts of an environment, lists in JSON, as one list.
pub(super) fn joined_environment(mut shared: Vec<u8>, own: &str) -> Vec<u8> {
    match (&*shared, own) {
        (_, "[]") => shared,
        (b"[]", _) => own.as_bytes().to_vec(),
        _ => {
            shared.pop();
            shared.push(b',');
            shared.extend(own.bytes().skip(1));
            shared
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_of_two_parts_is_read_as_one() {
        let check = |shared: &str, own: &str, want: &str| {
            let joined = joined_environment(shared.as_bytes().to_vec(), own);
            assert_eq!(String::from_utf8(joined).unwrap(), want);
        };
        check("[]", "[]", "[]");
        check(r#"[["A","1"]]"#, "[]", r#"[["A","1"]]"#);
        check("[]", r#"[["SLURM_A","1"]]"#, r#"[["SLURM_A","1"]]"#);
        check(
            r#"[["A","1"],["B","]"]]"#,
            r#"[["SLURM_A","["]]"#,
            r#"[["A","1"],["B","]"],["SLURM_A","["]]"#,
        );
    }
}
