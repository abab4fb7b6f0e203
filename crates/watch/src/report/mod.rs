//! The report: one page of HTML about one run, or about several beside each other.

mod advice;
mod chart;
mod facts;
mod html;
mod page;
mod timeline;

pub use facts::{Mark, MarkKind, Requested, RunFacts, StartFacts};
pub use page::page;
