//! What is free for as long as a job would run that starts now.

/// What is free now, and at the later moments before an end at which something less may be free than before: a job
/// that starts now and runs until then has to fit into each of them.
#[derive(Clone, Debug)]
pub(crate) struct Window<R> {
    /// With the moment from which on it is free; ascending, the first is now.
    steps: Vec<(i64, R)>,
}

impl<R: Clone> Window<R> {
    /// In ascending order, the first is now.
    pub fn new(steps: impl Iterator<Item = (i64, R)>) -> Window<R> {
        Window {
            steps: steps.collect(),
        }
    }

    /// Changes what is free from now until an end: more where a running job is gone that would have lasted until
    /// then, less where another takes something for so long.
    pub fn change(&mut self, end: i64, mut change: impl FnMut(&mut R)) {
        let before = self.steps.iter_mut().take_while(|(at, _)| *at < end);
        before.for_each(|(_, free)| change(free));
    }

    /// What `find` gives a job of what is free all the time; none where it does not fit at one of the moments.
    pub fn find<H>(
        &self,
        fits: impl Fn(&R) -> bool,
        keep: impl Fn(&mut R, &R),
        find: impl FnOnce(&R) -> Option<H>,
    ) -> Option<H> {
        let ((_, now), later) = self.steps.split_first()?;
        if later.is_empty() {
            return find(now);
        }
        if !self.steps.iter().all(|(_, free)| fits(free)) {
            return None;
        }
        let mut whole = now.clone();
        later.iter().for_each(|(_, free)| keep(&mut whole, free));
        find(&whole)
    }
}
