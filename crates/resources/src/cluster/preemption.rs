//! Who may take another job's place, as a cluster says it.

use super::{Qos, QosId};
use cluster_file::{ClusterFile, PreemptMode, PreemptType, Sourced};
use model::Seconds;

/// Who may take another job's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreemptPolicy {
    /// `PreemptType`
    pub by: PreemptType,
    /// What happens to a job whose partition or QOS doesn't say it (`PreemptMode`).
    pub mode: PreemptMode,
    /// No place is taken before a job ran so long (`PreemptExemptTime`).
    pub exempt_time: Seconds,
    /// Those that started last lose their place first, whatever their tier or QOS
    /// (`preempt_youngest_first`).
    pub youngest_first: bool,
}

impl Default for PreemptPolicy {
    /// Slurm's own: no job takes another's place.
    fn default() -> PreemptPolicy {
        PreemptPolicy {
            by: PreemptType::None,
            mode: PreemptMode::Off,
            exempt_time: Seconds(0),
            youngest_first: false,
        }
    }
}

impl PreemptPolicy {
    /// That of a cluster file.
    pub(super) fn of(file: &ClusterFile) -> PreemptPolicy {
        let own = &file.preemption;
        let parameters = file.scheduling.parameters.as_ref();
        let mut words = parameters.into_iter().flat_map(|it| it.value.split(','));
        PreemptPolicy {
            by: value(&own.kind).unwrap_or(PreemptType::None),
            mode: value(&own.mode).unwrap_or(PreemptMode::Off),
            exempt_time: value(&own.exempt_time).unwrap_or(Seconds(0)),
            youngest_first: words.any(|word| word.trim() == "preempt_youngest_first"),
        }
    }
}

fn value<T: Copy>(value: &Option<Sourced<T>>) -> Option<T> {
    value.as_ref().map(|value| value.value)
}

/// Leaves out of the `Preempt` lists what would go round: of two QOS of which each could take the
/// other's places, directly or through others, neither takes the other's.
pub(super) fn without_cycles(qos: &mut [Qos]) {
    let lists: Vec<Vec<QosId>> = qos.iter().map(|one| one.preempt.clone()).collect();
    for (from, one) in qos.iter_mut().enumerate() {
        one.preempt
            .retain(|to| !reaches(&lists, usize::from(to.0), from));
    }
}

/// Whether one QOS comes to another by the lists.
fn reaches(lists: &[Vec<QosId>], from: usize, to: usize) -> bool {
    let mut seen = vec![false; lists.len()];
    let mut left = vec![from];
    while let Some(at) = left.pop() {
        if at == to {
            return true;
        }
        if !std::mem::replace(&mut seen[at], true) {
            left.extend(lists[at].iter().map(|next| usize::from(next.0)));
        }
    }
    false
}
