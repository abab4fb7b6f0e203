//! Whose a step's record is.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Stands for one submission to one store, in the names of the records of its steps. A number of a
/// job may come twice, when a store is moved away or an older copy of it is restored; this does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RecordTag(u64);

impl RecordTag {
    /// Of the submission with this token to the store with this id. Frozen: a later version must
    /// find the records of running supervisors.
    #[must_use]
    pub fn new(store: &str, token: &str) -> RecordTag {
        let mut hasher = blake3::Hasher::new();
        hasher.update(store.as_bytes());
        hasher.update(&[0]);
        hasher.update(token.as_bytes());
        let mut first = [0; 8];
        hasher.finalize_xof().fill(&mut first);
        RecordTag(u64::from_be_bytes(first))
    }
}

/// Sixteen hexadecimal digits.
impl fmt::Display for RecordTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_and_token_both_count() {
        let tag = |store, token| RecordTag::new(store, token).to_string();
        assert_eq!(tag("store", "token"), tag("store", "token"));
        assert_ne!(tag("store", "token"), tag("store", "other"));
        assert_ne!(tag("store", "token"), tag("other", "token"));
        assert_ne!(tag("ab", "c"), tag("a", "bc"));
        assert_eq!(tag("a", "b").len(), 16);
    }
}
