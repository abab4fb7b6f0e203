//! What was measured of a run, and what it means: samples of nodes, ranks and GPUs and their file,
//! scalars of TensorBoard's event files, findings in words, and the report as a page.
//!
//! **Invariant:** pure. Bytes, times and samples come in; values and text go out.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test fails loudly"))]

mod csv;
mod finding;
mod kernel_log;
mod measure;
mod recent;
mod report;
mod sample;
pub mod tensorboard;
mod usage;
mod xid;

pub use csv::{CsvReader, HEADER, csv_row};
pub use finding::{Finding, findings};
pub use kernel_log::{DriverError, GpuError, PciAddress};
pub use measure::Measure;
pub use recent::{Latest, Recent};
pub use report::{Mark, MarkKind, Requested, RunFacts, StartFacts, page};
pub use sample::{Sample, Subject};
pub use usage::{Extent, Track, Usage};
