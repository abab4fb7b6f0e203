//! Scalars of TensorBoard's event files.

mod crc;
mod event;
mod records;
mod scalars;
mod wire;

pub use records::{Broken, Records};
pub use scalars::{Point, Scalars, is_event_file};
