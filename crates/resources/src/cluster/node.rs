//! Nodes: their dense numbers, and what those of one class have.

use crate::Amounts;
use crate::amounts::{LANE_MAX, LANES};
use model::{GpuIndex, Sockets};

/// A node of a cluster: its place in the order in which the cluster names its nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A class of nodes of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

/// CPUs, or MiB, of a node of which nothing is said: enough for anything.
pub const UNBOUNDED: u32 = u32::MAX;

/// Nodes that have the same: interned by content, so that a thousand alike nodes are judged once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeClass {
    /// What jobs can have of an idle node. [`UNBOUNDED`] and a full lane: nothing is said.
    pub total: Amounts,
    /// Sockets, cores a socket, threads a core, where they are known.
    pub sockets: Option<Sockets>,
    /// CPUs come in whole cores of so many (`SelectTypeParameters=CR_Core`); 1 gives them one by one.
    pub core_cpus: u32,
    /// MiB of temporary disk, where it is known.
    pub tmp_mib: Option<u64>,
    /// Nodes of lower weight are taken first.
    pub weight: u32,
    /// What each lane of `total` counts; the first is all GPUs.
    pub lanes: [Option<Lane>; LANES],
    /// GPUs by type, in ascending index.
    pub gpus: Vec<GpuGroup>,
    /// May carry several shares of one job: this machine with its virtual nodes, or the one node
    /// of a trace's machine that is a number of CPUs.
    pub splits: bool,
}

/// What a lane counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// `gpu`, `nvme`, `lscratch`.
    pub name: String,
    /// The type; none counts all types together.
    pub kind: Option<String>,
    /// The lane counts in units of 2 to this power: a node has more than a lane can hold.
    pub shift: u8,
}

impl Lane {
    /// A lane for a resource of which a node has `total`.
    #[must_use]
    pub fn new(name: &str, kind: Option<&str>, total: u64) -> Lane {
        let mut shift = 0;
        while total >> shift > u64::from(LANE_MAX) {
            shift += 1;
        }
        Lane {
            name: name.to_owned(),
            kind: kind.map(str::to_owned),
            shift,
        }
    }

    /// What is there, in the lane's units.
    #[must_use]
    pub fn units_of(&self, count: u64) -> u64 {
        count >> self.shift
    }

    /// What is asked, in the lane's units: a part of one is a whole one.
    #[must_use]
    pub fn units_for(&self, count: u64) -> u64 {
        (count >> self.shift) + u64::from(count & ((1 << self.shift) - 1) != 0)
    }
}

/// GPUs of one type in a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuGroup {
    /// What they are called.
    pub kind: GpuKind,
    /// How many.
    pub count: u16,
    /// Their indices, a bit each; empty where the node has more GPUs than bits.
    pub indices: u64,
    /// The lane that counts them.
    pub lane: u8,
    /// Memory of one in MiB, where it is known.
    pub mem_mib: Option<u64>,
    /// Of these indices, those at each of the first sockets; none where that is not known.
    pub at_sockets: Vec<u64>,
}

/// By which type GPUs can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuKind {
    /// By none: they have no type.
    None,
    /// By a GRES type, letter by letter as Slurm compares it.
    Type(String),
    /// By any part of a product's name, such as `v100` for `NVIDIA Tesla V100-SXM2`: a machine
    /// without a Slurm has no types.
    Product(String),
    /// The type is not known for sure: by any of these names, or by every name where there is none.
    OneOf(Vec<String>),
}

impl GpuKind {
    /// Whether who asks for a type may get these.
    #[must_use]
    pub fn is_called(&self, kind: &str) -> bool {
        match self {
            GpuKind::None => false,
            GpuKind::Type(own) => own == kind,
            GpuKind::Product(own) => model::is_gpu_kind(own, kind),
            GpuKind::OneOf(names) => {
                names.is_empty() || names.iter().any(|own| own.eq_ignore_ascii_case(kind))
            }
        }
    }

    /// The type or the product.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            GpuKind::None => None,
            GpuKind::Type(name) | GpuKind::Product(name) => Some(name),
            GpuKind::OneOf(names) => names.first().map(String::as_str),
        }
    }
}

impl NodeClass {
    /// Whether who asks for a type may get this GPU. Where they are too many to be told apart, any of the node
    /// stands for all.
    #[must_use]
    pub fn is_gpu_called(&self, gpu: GpuIndex, kind: &str) -> bool {
        let holds = |group: &GpuGroup| {
            group.indices == 0 || gpu < u64::BITS && group.indices & (1 << gpu) != 0
        };
        let mut groups = self.gpus.iter();
        groups.any(|group| holds(group) && group.kind.is_called(kind))
    }

    /// A class without GPUs and other counted resources.
    #[must_use]
    pub fn plain(cpus: u32, mem_mib: u32) -> NodeClass {
        NodeClass {
            total: Amounts::new(cpus, mem_mib),
            sockets: None,
            core_cpus: 1,
            tmp_mib: None,
            weight: 1,
            lanes: Default::default(),
            gpus: Vec::new(),
            splits: false,
        }
    }

    /// Adds GPUs; `indices` where the machine counts them, else those behind the ones there are.
    pub fn add_gpus(
        &mut self,
        kind: GpuKind,
        count: u16,
        indices: Option<u64>,
        mem_mib: Option<u64>,
    ) {
        let before = u64::from(self.total.lane(0));
        let after = before + u64::from(count);
        if self.lanes[0].is_none() {
            self.lanes[0] = Some(Lane::new("gpu", None, 0));
        }
        self.total.set_lane(0, after);
        let lane = self.add_lane(Lane::new("gpu", kind.name(), 0), count.into());
        let indices = indices.unwrap_or_else(|| {
            if after <= 64 {
                ones(after) & !ones(before)
            } else {
                0
            }
        });
        self.gpus.push(GpuGroup {
            kind,
            count,
            indices,
            lane: lane.unwrap_or(0),
            mem_mib,
            at_sockets: Vec::new(),
        });
        if after > 64 {
            for group in &mut self.gpus {
                group.indices = 0;
                group.at_sockets.clear();
            }
        }
    }

    /// Says at which sockets the GPUs are that were added last, one after the other.
    pub(crate) fn put_gpus_at(&mut self, sockets: &[u32]) {
        let Some(group) = self.gpus.last_mut() else {
            return;
        };
        let bits = (0..64).map(|index| 1_u64 << index);
        let bits = bits.filter(|bit| group.indices & bit != 0);
        for (bit, socket) in bits.zip(sockets) {
            let socket = *socket as usize;
            if group.at_sockets.len() <= socket {
                group.at_sockets.resize(socket + 1, 0);
            }
            group.at_sockets[socket] |= bit;
        }
    }

    /// Whether it is known at which sockets its GPUs are.
    #[must_use]
    pub fn knows_gpu_sockets(&self) -> bool {
        self.gpus.iter().any(|group| !group.at_sockets.is_empty())
    }

    /// The GPUs at a socket; none where that is not known.
    #[must_use]
    pub fn gpus_at(&self, socket: usize) -> u64 {
        let groups = self.gpus.iter();
        let at = groups.filter_map(|group| group.at_sockets.get(socket));
        at.fold(0, |all, own| all | own)
    }

    /// Counts a resource in the next lane; none where all are taken, and it is not counted.
    pub fn add_lane(&mut self, lane: Lane, count: u64) -> Option<u8> {
        let free = (1..LANES).find(|free| self.lanes[*free].is_none())?;
        self.total.set_lane(free, lane.units_of(count));
        self.lanes[free] = Some(lane);
        u8::try_from(free).ok()
    }

    /// All GPUs' indices.
    #[must_use]
    pub fn gpu_indices(&self) -> u64 {
        self.gpus.iter().fold(0, |all, group| all | group.indices)
    }

    /// GPUs of a type, or of any.
    pub fn gpus_called<'a>(&'a self, kind: Option<&'a str>) -> impl Iterator<Item = &'a GpuGroup> {
        let is_called = move |group: &&GpuGroup| kind.is_none_or(|kind| group.kind.is_called(kind));
        self.gpus.iter().filter(is_called)
    }
}

/// So many bits from the lowest on.
fn ones(count: u64) -> u64 {
    match count {
        64.. => u64::MAX,
        count => (1 << count) - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_have_lanes_and_indices() {
        let mut class = NodeClass::plain(40, 1000);
        class.add_gpus(GpuKind::Type("v100".to_owned()), 4, None, None);
        class.add_gpus(GpuKind::Type("a100".to_owned()), 2, None, None);
        let shown: Vec<(u64, u8)> = class.gpus.iter().map(|g| (g.indices, g.lane)).collect();
        assert_eq!(shown, [(0b1111, 1), (0b11_0000, 2)]);
        assert_eq!([0, 1, 2].map(|lane| class.total.lane(lane)), [6, 4, 2]);
        assert_eq!(class.gpus_called(Some("a100")).count(), 1);
        assert_eq!(class.gpus_called(Some("A100")).count(), 0);
        class.add_gpus(GpuKind::Product("NVIDIA H200".to_owned()), 60, None, None);
        assert_eq!(
            class.gpu_indices(),
            0,
            "more GPUs than bits have no indices"
        );
        assert_eq!(class.gpus_called(Some("h200")).count(), 1);
    }

    #[test]
    fn large_counts_have_larger_units() {
        let lane = Lane::new("lscratch", None, 10 << 30);
        assert!(lane.units_of(10 << 30) <= u64::from(LANE_MAX));
        assert_eq!(lane.units_for(1), 1);
        assert_eq!(lane.units_for(10 << 30), lane.units_of(10 << 30));
    }
}
