//! The fields in which they are printed: letters, names and widths.

pub(crate) mod field_table;
pub(crate) mod sacct_fields;
pub(crate) mod sinfo_fields;
pub(crate) mod squeue_format;
pub(crate) mod squeue_json;
pub(crate) mod step_field_table;

pub use field_table::{Cell, FieldKind, JOB_FIELDS, JobField};
pub use sacct_fields::{SACCT_FIELDS, SACCT_FORMAT, SACCT_LONG, SacctField};
pub use sinfo_fields::{SINFO_FIELDS, SinfoField, SinfoValue};
pub use squeue_format::{FieldTable, Format, Part};
pub use squeue_json::{JobJson, QueueJson};
pub use step_field_table::{STEP_FIELDS, StepField, StepInfo};
