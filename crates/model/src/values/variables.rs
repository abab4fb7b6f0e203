//! Environment variables as they are put together.

/// Pairs of name and value.
pub type Variables = Vec<(String, String)>;

/// Collects variables; a name set twice keeps its last value.
#[derive(Default)]
pub(crate) struct Setter(pub(crate) Variables);

impl Setter {
    pub(crate) fn to(&mut self, name: &str, value: impl ToString) {
        let value = value.to_string();
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    pub(crate) fn maybe(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.to(name, value);
        }
    }
}
