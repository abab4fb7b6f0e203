//! At which socket of a node each of its GPUs is.

use super::value::{Value, Wrong, quoted, text};
use std::fmt;
use toml::de::DeValue;

/// The socket of each GPU, in their order: `0,0,1,1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuSockets(pub Vec<u32>);

impl fmt::Display for GpuSockets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, socket) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{socket}")?;
        }
        Ok(())
    }
}

impl Value for GpuSockets {
    const TAKES: &'static str = "the socket of each GPU, such as \"0,0,1,1\"";

    fn read(value: &DeValue<'_>) -> Result<GpuSockets, Wrong> {
        let text = text(value)?;
        let sockets = text.split(',').map(|socket| socket.trim().parse().ok());
        sockets
            .collect::<Option<Vec<u32>>>()
            .map(GpuSockets)
            .ok_or_else(|| Wrong::because(format!("{text:?} is no list of sockets")))
    }

    fn toml(&self) -> String {
        quoted(&self.to_string())
    }

    fn plain(&self) -> String {
        self.to_string()
    }
}
