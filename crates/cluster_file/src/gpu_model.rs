//! By which name people know GPUs whose GRES type is `nvidia_a100_80gb_pcie`.

/// The longer ones first: `a100` is not `a10`.
const MODELS: [&str; 25] = [
    "gh200", "gb200", "b200", "h200", "h100", "a100", "a800", "h800", "a40", "a30", "a16", "a10",
    "v100", "p100", "l40s", "l40", "t4", "k80", "p40", "p4", "m40", "mi300", "mi250", "mi210",
    "mi100",
];

/// The model that a GRES type names, else the type itself, in lower case.
pub(crate) fn of_type(kind: &str) -> String {
    let lower = kind.to_ascii_lowercase();
    let known = MODELS.iter().find(|model| lower.contains(*model));
    known.map_or(lower, |model| (*model).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_that_people_know_is_found_in_a_type() {
        for (kind, want) in [
            ("nvidia_a100_80gb_pcie", "a100"),
            ("Tesla-V100-SXM2", "v100"),
            ("a10", "a10"),
            ("gb200", "gb200"),
            ("Fermi", "fermi"),
        ] {
            assert_eq!(of_type(kind), want, "{kind}");
        }
    }
}
