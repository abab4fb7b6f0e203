//! What there is and what is asked: whether a cluster would take a job, and why not.
//!
//! **Invariant:** pure. A cluster file and a request come in, a verdict goes out.

mod admit;

pub use admit::{
    Admission, Denial, Fate, GpuTypes, Refusal, admission, admit, fewest_nodes, gpu_types, refusals,
};
