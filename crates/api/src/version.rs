//! Who may talk to whom.

/// This program's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Grows with every change of the messages (`wire_tests/lines.txt` has them). An engine with a smaller number is older.
pub const PROTOCOL: u32 = 23;
