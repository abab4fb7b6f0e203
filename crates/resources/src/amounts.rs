//! Amounts of a node: CPUs, memory and counted resources in lanes, compared without a branch.

/// Lanes of an [`Amounts`]: the first counts all GPUs, what the others count a class of nodes says.
pub const LANES: usize = 8;

/// The greatest count of a lane. A resource of which a node has more is counted in larger units
/// ([`crate::Lane`]).
pub const LANE_MAX: u16 = 0x7fff;

/// What is there, is free, or is asked of one node.
///
/// Eight lanes of 15 bits and a guard bit stand in two words, so that all are compared at once:
/// a lane that is short takes its own guard and no other lane's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// CPUs as Slurm counts them on the node.
    pub cpus: u32,
    /// MiB.
    pub mem_mib: u32,
    lanes: [u64; 2],
}

const GUARDS: u64 = 0x8000_8000_8000_8000;

impl Amounts {
    /// CPUs and memory, and nothing in the lanes.
    #[must_use]
    pub fn new(cpus: u32, mem_mib: u32) -> Amounts {
        Amounts {
            cpus,
            mem_mib,
            lanes: [0; 2],
        }
    }

    /// The same with so many CPUs.
    #[must_use]
    pub fn with_cpus(self, cpus: u32) -> Amounts {
        Amounts { cpus, ..self }
    }

    /// The same with so much memory.
    #[must_use]
    pub fn with_mem(self, mem_mib: u32) -> Amounts {
        Amounts { mem_mib, ..self }
    }

    /// What a lane holds.
    ///
    /// # Panics
    /// There is no such lane.
    #[inline]
    #[must_use]
    pub fn lane(&self, lane: usize) -> u16 {
        let word = self.lanes[lane / 4] >> (lane % 4 * 16);
        u16::try_from(word & u64::from(LANE_MAX)).unwrap_or(LANE_MAX)
    }

    /// Sets a lane; more than [`LANE_MAX`] is that.
    ///
    /// # Panics
    /// There is no such lane.
    pub fn set_lane(&mut self, lane: usize, count: u64) {
        let count = count.min(u64::from(LANE_MAX));
        let shift = lane % 4 * 16;
        let word = &mut self.lanes[lane / 4];
        *word = (*word & !(0xffff << shift)) | (count << shift);
    }

    /// Whether each amount is at least that of `need`.
    #[inline]
    #[must_use]
    pub fn fits(&self, need: &Amounts) -> bool {
        let holds = |have: u64, need: u64| ((have | GUARDS) - need) & GUARDS == GUARDS;
        (self.cpus >= need.cpus)
            & (self.mem_mib >= need.mem_mib)
            & holds(self.lanes[0], need.lanes[0])
            & holds(self.lanes[1], need.lanes[1])
    }

    /// Takes what [`Amounts::fits`]; of an amount that is not there, what there is.
    #[inline]
    pub fn take(&mut self, need: &Amounts) {
        self.cpus = self.cpus.saturating_sub(need.cpus);
        self.mem_mib = self.mem_mib.saturating_sub(need.mem_mib);
        for (own, taken) in self.lanes.iter_mut().zip(need.lanes) {
            if taken != 0 {
                *own = by_lane(*own, taken, u64::saturating_sub);
            }
        }
    }

    /// The lesser of each amount.
    #[must_use]
    pub fn least(&self, other: &Amounts) -> Amounts {
        let mut least = Amounts::new(self.cpus.min(other.cpus), self.mem_mib.min(other.mem_mib));
        for (lanes, (own, other)) in least
            .lanes
            .iter_mut()
            .zip(self.lanes.iter().zip(other.lanes))
        {
            if *own != 0 && other != 0 {
                *lanes = by_lane(*own, other, u64::min);
            }
        }
        least
    }

    /// Gives back what was taken.
    #[inline]
    pub fn give(&mut self, back: &Amounts) {
        self.cpus = self.cpus.saturating_add(back.cpus);
        self.mem_mib = self.mem_mib.saturating_add(back.mem_mib);
        for (own, given) in self.lanes.iter_mut().zip(back.lanes) {
            if given != 0 {
                *own = by_lane(*own, given, |own, given| (own + given).min(LANE_MAX.into()));
            }
        }
    }
}

/// A word of which each lane is that of two words.
fn by_lane(one: u64, other: u64, of: impl Fn(u64, u64) -> u64) -> u64 {
    let lane = |word: u64, shift: u32| word >> shift & u64::from(LANE_MAX);
    [0, 16, 32, 48].into_iter().fold(0, |word, shift| {
        word | of(lane(one, shift), lane(other, shift)) << shift
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn amounts(cpus: u32, mem_mib: u32, lanes: [u16; LANES]) -> Amounts {
        let mut all = Amounts::new(cpus, mem_mib);
        for (lane, count) in lanes.into_iter().enumerate() {
            all.set_lane(lane, count.into());
        }
        all
    }

    #[test]
    fn a_short_lane_takes_from_no_other() {
        let have = amounts(4, 100, [2, 0, 0, LANE_MAX, 1, 0, 0, 3]);
        for (need, fits) in [
            ([2, 0, 0, 0, 0, 0, 0, 0], true),
            ([3, 0, 0, 0, 0, 0, 0, 0], false),
            ([2, 1, 0, 0, 0, 0, 0, 0], false),
            ([0, 0, 0, LANE_MAX, 1, 0, 0, 3], true),
            ([0, 0, 0, 0, 0, 0, 0, 4], false),
        ] {
            assert_eq!(have.fits(&amounts(4, 100, need)), fits, "{need:?}");
        }
        assert!(!have.fits(&Amounts::new(5, 0)));
        assert!(!have.fits(&Amounts::new(0, 101)));
    }

    proptest! {
        #[test]
        fn as_lane_by_lane(
            have in (0_u32..9, 0_u32..9, prop::array::uniform8(0_u16..=LANE_MAX)),
            need in (0_u32..9, 0_u32..9, prop::array::uniform8(0_u16..=LANE_MAX)),
        ) {
            let (mut free, want) = (amounts(have.0, have.1, have.2), amounts(need.0, need.1, need.2));
            let each = have.2.iter().zip(&need.2).all(|(have, need)| have >= need);
            prop_assert_eq!(free.fits(&want), have.0 >= need.0 && have.1 >= need.1 && each);
            if free.fits(&want) {
                let before = free;
                free.take(&want);
                free.give(&want);
                prop_assert_eq!(free, before);
            }
        }
    }
}
