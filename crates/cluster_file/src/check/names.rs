//! Names that there are, for what names them.

use std::collections::HashSet;
use std::rc::Rc;

/// So many of them are listed where one is wrong.
const LISTED: usize = 20;

/// Names of tables of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Names<'a> {
    pub all: Rc<Vec<&'a str>>,
    exact: Rc<HashSet<&'a str>>,
    lower: Rc<HashSet<String>>,
}

impl<'a> Names<'a> {
    pub fn new(all: impl Iterator<Item = &'a str>) -> Names<'a> {
        let all: Vec<&str> = all.collect();
        Names {
            exact: Rc::new(all.iter().copied().collect()),
            lower: Rc::new(all.iter().map(|name| name.to_ascii_lowercase()).collect()),
            all: Rc::new(all),
        }
    }

    /// Whether a name is there as it is.
    pub fn has(&self, name: &str) -> bool {
        self.exact.contains(name)
    }

    /// Whether a name is there in any case.
    pub fn has_in_any_case(&self, name: &str) -> bool {
        self.lower.contains(&name.to_ascii_lowercase())
    }

    /// The first of them in a sentence.
    pub fn listed(&self) -> String {
        let shown = self.all[..self.all.len().min(LISTED)].join(", ");
        match self.all.len() - self.all.len().min(LISTED) {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }
    }
}
