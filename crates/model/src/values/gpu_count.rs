//! A number of GPUs.

use serde::{Deserialize, Serialize};

/// A number of GPUs, of one type or of any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuCount {
    /// The GRES type, such as `v100`.
    pub kind: Option<String>,
    /// How many.
    pub count: u32,
}
