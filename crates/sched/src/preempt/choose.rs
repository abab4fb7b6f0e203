//! Which of those that may be preempted are: as few as are needed.

use crate::fault::{self, Fault};

/// The first of `candidates`, in their order, that together make room, without those of them that
/// are not needed; `fits` says whether there is room once some are gone. None where all are too few.
///
/// The last one that is taken is needed. Of those before it the later ones are spared first: they
/// are worth more.
pub(crate) fn choose<V: Clone>(
    candidates: &[V],
    mut fits: impl FnMut(&[V]) -> bool,
) -> Option<Vec<V>> {
    if candidates.is_empty() || !fits(candidates) {
        return None;
    }
    let (mut too_few, mut enough) = (0, candidates.len());
    while too_few + 1 < enough {
        let middle = too_few.midpoint(enough);
        if fits(&candidates[..middle]) {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    let mut chosen = candidates[..enough].to_vec();
    for at in (0..enough - 1).rev() {
        if fault::is(Fault::NoneSpared) {
            break;
        }
        let one = chosen.remove(at);
        if !fits(&chosen) {
            chosen.insert(at, one);
        }
    }
    Some(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(candidates: &[u32], needed: u32, want: Option<&[u32]>) {
        let chosen = choose(candidates, |some| some.iter().sum::<u32>() >= needed);
        assert_eq!(chosen.as_deref(), want, "{candidates:?} for {needed}");
    }

    #[test]
    fn as_few_as_are_needed() {
        check(&[], 1, None);
        check(&[1, 1], 3, None);
        check(&[1, 2, 4], 1, Some(&[1]));
        check(&[1, 3], 3, Some(&[3]));
        check(&[1, 1, 1, 3], 3, Some(&[1, 1, 1]));
        check(&[1, 1, 3], 3, Some(&[3]));
        check(&[2, 1, 1], 3, Some(&[2, 1]));
        check(&[1, 2, 3, 4], 9, Some(&[2, 3, 4]));
    }

    proptest! {
        #[test]
        fn none_is_taken_that_is_not_needed(
            candidates in prop::collection::vec(1_u32..9, 0..12),
            needed in 1_u32..60,
        ) {
            let fits = |some: &[u32]| some.iter().sum::<u32>() >= needed;
            match choose(&candidates, fits) {
                None => prop_assert!(candidates.is_empty() || !fits(&candidates)),
                Some(chosen) => {
                    prop_assert!(fits(&chosen));
                    for at in 0..chosen.len() {
                        let mut fewer = chosen.clone();
                        fewer.remove(at);
                        prop_assert!(fewer.is_empty() || !fits(&fewer), "{chosen:?}");
                    }
                }
            }
        }
    }
}
