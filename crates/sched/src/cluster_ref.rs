//! The cluster that a state is about.

use resources::Cluster;
use std::ops::Deref;
use std::sync::Arc;

/// A cluster that several hold. Two are equal when they are the same one.
#[derive(Clone, Debug)]
pub(crate) struct ClusterRef(pub(crate) Arc<Cluster>);

impl PartialEq for ClusterRef {
    fn eq(&self, other: &ClusterRef) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for ClusterRef {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.0
    }
}
