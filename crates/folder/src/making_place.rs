//! Where and by whom what a run's ranks need is made.

use model::Internet;
use std::path::{Path, PathBuf};

/// Where environments and images are made and kept, and by whom: by who submits, or by a job of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MakingPlace {
    /// The cache below which they are kept.
    pub cache: PathBuf,
    /// Another cache of which one that is whole is used: where they were kept before.
    pub before: Option<PathBuf>,
    /// From where the cluster reaches registries.
    pub internet: Internet,
    /// Whether what is not there is left to a job of its own.
    pub in_job: bool,
}

impl MakingPlace {
    /// In that cache alone, by the process itself.
    #[must_use]
    pub fn here(cache: &Path, internet: Internet) -> MakingPlace {
        MakingPlace {
            cache: cache.to_owned(),
            before: None,
            internet,
            in_job: false,
        }
    }

    /// The cache that has one whole, as `has` says; that below which it is made where none has.
    #[must_use]
    pub fn cache_with(&self, has: impl Fn(&Path) -> bool) -> &Path {
        let mut all = [Some(&self.cache), self.before.as_ref()]
            .into_iter()
            .flatten();
        all.find(|cache| has(cache)).unwrap_or(&self.cache)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_whole_where_it_was_kept_before_is_used() {
        let mut place = MakingPlace::here(Path::new("/scratch"), Internet::Login);
        place.before = Some(PathBuf::from("/home"));
        let check = |whole: &[&str], want: &str| {
            let has = |cache: &Path| whole.iter().any(|one| cache == Path::new(one));
            assert_eq!(place.cache_with(has), Path::new(want), "{whole:?}");
        };
        check(&[], "/scratch");
        check(&["/home"], "/home");
        check(&["/home", "/scratch"], "/scratch");
    }
}
