//! Numbers that a seed decides: the same ones on every machine.

/// SplitMix64: small, quick, and good enough to choose faults.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `from` to `to`, both included.
    pub fn between(&mut self, from: u32, to: u32) -> u32 {
        let span = u64::from(to - from) + 1;
        from + u32::try_from(self.next() % span).unwrap()
    }

    /// One of the choices.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        let last = u32::try_from(choices.len()).unwrap() - 1;
        choices[self.between(0, last) as usize]
    }
}

#[test]
fn a_seed_gives_the_same_numbers_everywhere() {
    let mut random = Random::new(7);
    let numbers: Vec<u32> = (0..4).map(|_| random.between(0, 99)).collect();
    let mut again = Random::new(7);
    let repeated: Vec<u32> = (0..4).map(|_| again.between(0, 99)).collect();
    assert_eq!(numbers, repeated);
    assert_ne!(numbers, [numbers[0]; 4]);
}
