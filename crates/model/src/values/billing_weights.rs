//! What jobs of a partition are billed for what they have (`TRESBillingWeights`).

use serde::{Deserialize, Serialize};

/// What jobs of a partition are billed for what they have (`TRESBillingWeights`); without weights, for their CPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BillingWeights {
    /// By Slurm's name of the TRES, in small letters; memory by MiB.
    weights: Vec<(String, f64)>,
    /// Of what nodes have, what weighs most counts alone (`PriorityFlags=MAX_TRES`).
    takes_largest: bool,
}

impl BillingWeights {
    /// Reads `CPU=1.0,Mem=0.25G,GRES/gpu=2.0`: a weight of memory with a unit is for so much of it. What is no
    /// weight is left out.
    #[must_use]
    pub fn parse(text: &str, takes_largest: bool) -> BillingWeights {
        let weights = text.split(',').filter_map(|part| {
            let (name, weight) = part.split_once('=')?;
            let (name, weight) = (name.trim().to_ascii_lowercase(), weight.trim());
            let unit = match weight.chars().last()?.to_ascii_uppercase() {
                'K' => 1.0 / 1024.0,
                'G' => 1024.0,
                'T' => 1024.0 * 1024.0,
                'P' => 1024.0 * 1024.0 * 1024.0,
                _ => 1.0,
            };
            let number = weight.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
            let weight: f64 = number.parse().ok()?;
            let is_weight = weight.is_finite() && weight >= 0.0;
            is_weight.then_some((name, weight / unit))
        });
        BillingWeights {
            weights: weights.collect(),
            takes_largest,
        }
    }

    /// Whether there are any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// What is billed a second for what `of` says of each TRES by its name, as `assoc_mgr_tres_weighted` of 22.05
    /// counts it.
    #[must_use]
    pub fn billed(&self, of: &dyn Fn(&str) -> f64) -> f64 {
        if self.weights.is_empty() {
            return of("cpu");
        }
        let (mut largest, mut sum) = (0.0_f64, 0.0);
        for (name, weight) in &self.weights {
            let own = weight * of(name);
            let is_of_nodes =
                matches!(name.as_str(), "cpu" | "mem" | "node") || name.starts_with("gres/");
            if self.takes_largest && is_of_nodes {
                largest = largest.max(own);
            } else {
                sum += own;
            }
        }
        largest + sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, takes_largest: bool, want: f64) {
        let of = |name: &str| match name {
            "cpu" => 4.0,
            "mem" => 2048.0,
            "gres/gpu" => 2.0,
            "license/matlab" => 3.0,
            _ => 0.0,
        };
        let billed = BillingWeights::parse(text, takes_largest).billed(&of);
        assert!((billed - want).abs() < 1e-9, "{text}: {billed}");
    }

    #[test]
    fn what_a_job_has_is_weighted() {
        check("", false, 4.0);
        check("nonsense", false, 4.0);
        check("CPU=2", false, 8.0);
        check("CPU=1.0,Mem=0.25G,GRES/gpu=2.0", false, 8.5);
        check("Mem=1024K,CPU=0", false, 2048.0 * 1024.0 * 1024.0);
        // Of what nodes have the largest counts, and what has no node beside it.
        check("CPU=1.0,Mem=0.25G,GRES/gpu=2.5", true, 5.0);
        check("CPU=1.0,GRES/gpu=2.5,license/matlab=2", true, 11.0);
    }
}
