//! Which nodes a partition has.

use super::value::{Value, Wrong, quoted, text};
use model::node_list;
use toml::de::DeValue;

/// Which nodes a partition has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionNodes {
    /// `"ALL"`
    All,
    /// A node list, such as `"node[1-3]"`.
    List(String),
    /// Groups of nodes by their names in the file, such as `["v100", "a100"]`.
    Groups(Vec<String>),
}

impl Value for PartitionNodes {
    const TAKES: &'static str =
        "a node list such as \"node[1-3]\", \"ALL\", or a list of [nodes.…] names";

    fn read(value: &DeValue<'_>) -> Result<PartitionNodes, Wrong> {
        if matches!(value, DeValue::Array(_)) {
            return Vec::<String>::read(value).map(PartitionNodes::Groups);
        }
        let text = text(value)?;
        if text.eq_ignore_ascii_case("all") {
            return Ok(PartitionNodes::All);
        }
        node_list::expand(text).map_err(|error| Wrong {
            help: error.todo(),
            ..Wrong::because(error.to_string())
        })?;
        Ok(PartitionNodes::List(text.to_owned()))
    }

    fn toml(&self) -> String {
        match self {
            PartitionNodes::All => "\"ALL\"".to_owned(),
            PartitionNodes::List(list) => quoted(list),
            PartitionNodes::Groups(groups) => groups.toml(),
        }
    }

    fn plain(&self) -> String {
        match self {
            PartitionNodes::All => "all".to_owned(),
            PartitionNodes::List(list) => list.clone(),
            PartitionNodes::Groups(groups) => groups.plain(),
        }
    }
}
