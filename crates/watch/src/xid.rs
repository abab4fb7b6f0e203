//! Xid errors of NVIDIA's driver in words.

/// A bug of the program is to be looked for.
const PROGRAM: &str = "as a rule an error of the program; compute-sanitizer finds it";
/// The hardware is to be looked at.
const HARDWARE: &str = "tell who runs the cluster, and keep away from that node";

/// What an error is, and what to do.
///
/// Source: NVIDIA's "XID Errors" (docs.nvidia.com/deploy/xid-errors), its catalogue of numbers.
#[must_use]
pub fn words(xid: u32) -> (&'static str, &'static str) {
    match xid {
        13 => ("an exception of the graphics engine", PROGRAM),
        31 => ("a page fault of the GPU", PROGRAM),
        43 => ("the GPU stopped processing", PROGRAM),
        45 => (
            "work was removed after an earlier error, or the program was killed",
            "look for the error before it",
        ),
        48 => (
            "an error of its memory that could not be corrected",
            HARDWARE,
        ),
        61 | 62 => ("its microcontroller stopped", HARDWARE),
        63 | 64 => ("pages or rows of its memory were retired", HARDWARE),
        74 => ("an error of NVLink", HARDWARE),
        79 => ("the GPU has fallen off the bus", HARDWARE),
        92 => ("many errors of its memory were corrected", HARDWARE),
        94 => (
            "a contained error of its memory ended the program",
            "start it again; if it comes back, tell who runs the cluster",
        ),
        95 => ("an uncontained error of its memory", HARDWARE),
        119 | 120 => ("its system processor does not answer", HARDWARE),
        _ => ("see NVIDIA's list of Xid errors", HARDWARE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_programs_and_of_hardware() {
        assert_eq!(words(31).1, PROGRAM);
        assert_eq!(words(79), ("the GPU has fallen off the bus", HARDWARE));
        assert!(words(4_000_000).0.contains("list"));
    }
}
