//! What many jobs have alike is in memory once, and stands once in an answer.

use model::{ArraySpec, Request, Submitter};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// More are not looked through: who submits one job ten thousand times does so in a row.
const MOST: usize = 1024;

/// Requests and submitters of the jobs that were looked at lately.
#[derive(Debug, Default)]
pub(crate) struct SharedParts {
    /// By their text and the partition that they go to.
    requests: HashMap<(String, Option<String>), Arc<Request>>,
    submitters: HashSet<Arc<Submitter>>,
}

impl SharedParts {
    /// The request that stands in the store as `text`, and apart from it the elements of its array;
    /// `read` makes it where none like it was seen lately. Those of arrays are not kept.
    pub(crate) fn request<E>(
        &mut self,
        text: &str,
        partition: Option<&str>,
        read: impl FnOnce() -> Result<Request, E>,
    ) -> Result<(Arc<Request>, Option<ArraySpec>), E> {
        let key = (text.to_owned(), partition.map(str::to_owned));
        if let Some(known) = self.requests.get(&key) {
            return Ok((Arc::clone(known), None));
        }
        let mut request = read()?;
        let array = request.rare.take_array();
        let request = Arc::new(request);
        if array.is_none() {
            if self.requests.len() >= MOST {
                self.requests.clear();
            }
            self.requests.insert(key, Arc::clone(&request));
        }
        Ok((request, array))
    }

    /// That submitter.
    pub(crate) fn submitter(&mut self, submitter: Submitter) -> Arc<Submitter> {
        if let Some(known) = self.submitters.get(&submitter) {
            return Arc::clone(known);
        }
        if self.submitters.len() >= MOST {
            self.submitters.clear();
        }
        let submitter = Arc::new(submitter);
        self.submitters.insert(Arc::clone(&submitter));
        submitter
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn each_array_has_its_elements() {
        let mut parts = SharedParts::default();
        for _ in 0..2 {
            let mut request = Request::default();
            request.rare.array = ArraySpec::parse("1-3");
            let made = || Ok::<_, Infallible>(request);
            let (request, array) = parts.request("{}", None, made).unwrap();
            assert!(request.rare.array.is_none() && array.is_some());
        }
    }

    #[test]
    fn what_is_alike_is_there_once() {
        let mut parts = SharedParts::default();
        let mut request = |text: &str, partition| {
            let made = || Ok::<_, Infallible>(Request::default());
            parts.request(text, partition, made).unwrap().0
        };
        let first = request("{}", Some("a"));
        assert!(Arc::ptr_eq(&first, &request("{}", Some("a"))));
        assert!(!Arc::ptr_eq(&first, &request("{}", Some("b"))));
        assert!(!Arc::ptr_eq(&first, &request("{ }", Some("a"))));
        let ann = || Submitter {
            user: "ann".to_owned(),
            ..Submitter::default()
        };
        let first = parts.submitter(ann());
        assert!(Arc::ptr_eq(&first, &parts.submitter(ann())));
        assert!(!Arc::ptr_eq(&first, &parts.submitter(Submitter::default())));
        for number in 0..MOST {
            parts.submitter(Submitter {
                uid: u32::try_from(number).unwrap(),
                ..ann()
            });
        }
        assert!(parts.submitters.len() <= MOST);
    }
}
