//! Lets SQL ask which jobs held a node, of the lists in which their nodes stand. A row for each node of each start
//! would be 10,000 for one large job, and a list of as many is one range.

use model::{NodeName, node_list};
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

/// Lets SQL ask for `has_node(LIST, NAMES)`, where the names are a JSON array; false of no list.
pub(super) fn add_function(db: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    db.create_scalar_function("has_node", 2, flags, |call| {
        // One text for all rows of a question.
        let names = call.get_or_create_aux(1, |names| -> Result<Vec<NodeName>, AnyError> {
            Ok(serde_json::from_str(names.as_str()?)?)
        })?;
        let list = call.get_raw(0).as_str_or_null()?;
        let Some(list) = list else {
            return Ok(false);
        };
        node_list::has_any(list, &names)
            .map_err(|error| rusqlite::Error::UserFunctionError(error.into()))
    })
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;
