//! The size of a job array.

use super::Denial;
use super::change::Change;
use super::finding::{Finding, finding};
use super::requested::Requested;
use super::there::There;
use model::Request;

/// One more than the highest index that a Slurm takes whose `slurm.conf` does not say `MaxArraySize`
/// (slurm.conf(5) of 22.05).
const DEFAULT_MAX_ARRAY_SIZE: u32 = 1001;

/// An array that a Slurm refuses which has Slurm's own bound.
#[must_use]
pub fn beyond_default_array(request: &Request) -> Option<Finding> {
    beyond(request, DEFAULT_MAX_ARRAY_SIZE)
}

/// An array whose indices do not end below `most`.
pub(super) fn beyond(request: &Request, most: u32) -> Option<Finding> {
    let array = request.rare.array.as_ref()?;
    let last = array.indices.last().filter(|last| **last >= most)?;
    Some(finding(
        Denial::Array,
        Requested::ArrayUpTo(*last),
        There::IndicesBelow(most),
        vec![Change::SplitArray(most.saturating_sub(1))],
    ))
}

/// An array of more than `most` elements.
pub(super) fn too_many(request: &Request, most: u32) -> Option<Finding> {
    let array = request.rare.array.as_ref()?;
    let elements = array.indices.len();
    (elements > most as usize).then(|| {
        finding(
            Denial::Array,
            Requested::ArrayOf(elements),
            There::MostElements(most),
            vec![Change::ArraysOf(most)],
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cluster, Trust};
    use cluster_file::ClusterFile;
    use model::ArraySpec;

    #[test]
    fn an_array_has_as_many_elements_as_the_scheduler_lets_it() {
        let check = |array: &str, parameters: &str, taken: bool| {
            let text = format!("[scheduling]\nparameters = \"{parameters}\"\n");
            let file = ClusterFile::parse("lab", &text).expect("it is a cluster file");
            let rules = Cluster::build(&file, Trust::All).queue_rules();
            let mut request = Request::default();
            request.rare.array = ArraySpec::parse(array);
            let found = rules
                .most_elements
                .and_then(|most| too_many(&request, most));
            assert_eq!(found.is_none(), taken, "{array}: {found:?}");
        };
        check("0-2", "defer,max_array_tasks=3", true);
        check("0-3%1", "defer,max_array_tasks=3", false);
        check("7,50,90,99", "max_array_tasks=3,defer", false);
        check("0-3", "defer", true);
        assert!(too_many(&Request::default(), 0).is_none());
    }

    /// As a real Slurm 22.05.8 without `MaxArraySize` answered.
    #[test]
    fn an_array_ends_below_slurms_own_bound() {
        let check = |array: &str, taken: bool| {
            let mut request = Request::default();
            request.rare.array = ArraySpec::parse(array);
            let found = beyond_default_array(&request);
            assert_eq!(found.is_none(), taken, "{array}: {found:?}");
        };
        check("0-1000", true);
        check("1000", true);
        check("0-1001", false);
        check("1001", false);
        check("0-1000000%5", false);
        assert!(beyond_default_array(&Request::default()).is_none());
    }
}
