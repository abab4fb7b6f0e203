//! What a job's priority is made of, as a cluster says it.

use cluster_file::{ClusterFile, Sourced, UsageReset};
use model::Seconds;

/// The weights of `priority/multifactor`.
#[derive(Clone, Debug, PartialEq)]
pub struct PriorityPolicy {
    /// Weights count (`PriorityType=priority/multifactor`): it was said, or a weight was.
    pub is_multifactor: bool,
    /// `PriorityWeightAge`
    pub age: u32,
    /// `PriorityWeightFairshare`
    pub fair_share: u32,
    /// `PriorityWeightJobSize`
    pub job_size: u32,
    /// `PriorityWeightPartition`
    pub partition: u32,
    /// `PriorityWeightQOS`
    pub qos: u32,
    /// `PriorityWeightAssoc`
    pub association: u32,
    /// `PriorityWeightTRES`: names as Slurm writes them, in small letters.
    pub tres: Vec<(String, f64)>,
    /// `PriorityMaxAge`
    pub max_age: Seconds,
    /// `PriorityDecayHalfLife`; 0: usage is never forgotten.
    pub half_life: Seconds,
    /// `PriorityCalcPeriod`: priorities are worked out anew so often.
    pub calc_period: Seconds,
    /// `PriorityUsageResetPeriod`: all usage begins anew then.
    pub usage_reset: UsageReset,
    /// `PriorityFavorSmall`
    pub favor_small: bool,
    /// `PriorityFlags`, in Slurm's words.
    pub flags: Vec<String>,
}

/// Slurm's week.
const WEEK: Seconds = Seconds(7 * 24 * 3600);

impl Default for PriorityPolicy {
    /// Slurm's own: no weight, so that all priorities are equal.
    fn default() -> PriorityPolicy {
        PriorityPolicy {
            is_multifactor: false,
            age: 0,
            fair_share: 0,
            job_size: 0,
            partition: 0,
            qos: 0,
            association: 0,
            tres: Vec::new(),
            max_age: WEEK,
            half_life: WEEK,
            calc_period: Seconds(300),
            usage_reset: UsageReset::None,
            favor_small: false,
            flags: Vec::new(),
        }
    }
}

impl PriorityPolicy {
    /// What a file says; of `priority/basic` no weight counts.
    pub(super) fn of(file: &ClusterFile) -> PriorityPolicy {
        let said = &file.priority;
        let plain = PriorityPolicy::default();
        let is_basic = said.kind.as_ref().is_some_and(|kind| {
            let kind = kind.value.to_ascii_lowercase();
            kind.trim_start_matches("priority/") == "basic"
        });
        if is_basic {
            return plain;
        }
        let weight = |weight: &Option<Sourced<u32>>| weight.as_ref().map_or(0, |it| it.value);
        let length = |length: &Option<Sourced<Seconds>>, other: Seconds| {
            length.as_ref().map_or(other, |length| length.value)
        };
        let tres = said.tres.as_ref().map(|tres| tres_weights(&tres.value));
        let weights = [
            &said.age,
            &said.fair_share,
            &said.job_size,
            &said.partition,
            &said.qos,
            &said.association,
        ];
        PriorityPolicy {
            is_multifactor: said.kind.is_some()
                || tres.is_some()
                || weights.iter().any(|weight| weight.is_some()),
            age: weight(&said.age),
            fair_share: weight(&said.fair_share),
            job_size: weight(&said.job_size),
            partition: weight(&said.partition),
            qos: weight(&said.qos),
            association: weight(&said.association),
            tres: tres.unwrap_or_default(),
            max_age: length(&said.max_age, plain.max_age),
            half_life: length(&said.half_life, plain.half_life),
            calc_period: length(&said.calc_period, plain.calc_period),
            usage_reset: said
                .usage_reset
                .as_ref()
                .map_or(plain.usage_reset, |it| it.value),
            favor_small: said.favor_small.as_ref().is_some_and(|it| it.value),
            flags: said
                .flags
                .as_ref()
                .map_or_else(Vec::new, |it| it.value.clone()),
        }
    }

    /// Whether a flag is set, in any case.
    #[must_use]
    pub fn has_flag(&self, flag: &str) -> bool {
        self.flags.iter().any(|own| own.eq_ignore_ascii_case(flag))
    }
}

/// `CPU=700,gres/gpu=3000`; what is no weight is left out.
fn tres_weights(text: &str) -> Vec<(String, f64)> {
    let weights = text.split(',').filter_map(|part| {
        let (name, weight) = part.split_once('=')?;
        let weight: f64 = weight.trim().parse().ok()?;
        (weight.is_finite() && weight >= 0.0).then(|| (name.trim().to_ascii_lowercase(), weight))
    });
    weights.collect()
}
