//! The columns of a monitor file that hold numbers.

/// Makes the enum of all measures, and the table of their columns.
macro_rules! measures {
    ($( $(#[doc = $doc:literal])+ $name:ident = $column:literal, )*) => {
        /// Something that is measured of a node, a rank or a GPU.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Measure {
            $( $(#[doc = $doc])+ $name, )*
        }

        impl Measure {
            /// All of them, in the order of their columns.
            pub const ALL: &'static [Measure] = &[$(Measure::$name),*];

            /// Its column.
            #[must_use]
            pub fn column(self) -> &'static str {
                match self {
                    $( Measure::$name => $column, )*
                }
            }

            /// What it is, with its unit.
            #[must_use]
            pub fn doc(self) -> &'static str {
                match self {
                    $( Measure::$name => concat!($($doc),+).trim_ascii(), )*
                }
            }
        }
    };
}

measures! {
    /// CPUs in use: 1 is one CPU all the time. Of a node that of all its processes; of a rank that
    /// of its program and everything below it.
    Cpu = "cpu",
    /// MiB of memory in use. Of a rank what is its own, and what it shares counted once.
    Memory = "memory_mib",
    /// MiB of memory of the node.
    MemoryTotal = "memory_total_mib",
    /// MiB a second read from disks. Of a node of its own disks; of a rank of any.
    Read = "read_mib_s",
    /// MiB a second written to disks.
    Write = "write_mib_s",
    /// MiB a second that came over the node's network, InfiniBand included.
    Receive = "receive_mib_s",
    /// MiB a second that went over the node's network.
    Send = "send_mib_s",
    /// MiB free on the file system of the node-local folder.
    DiskFree = "disk_free_mib",
    /// Power of a GPU in W.
    Power = "pwr",
    /// Temperature of a GPU in °C.
    Temperature = "gtemp",
    /// Percent of the time in which any work ran on a GPU.
    Busy = "sm",
    /// Percent of the time in which a GPU's memory was read or written.
    MemoryBusy = "mem",
    /// Percent of a GPU's video encoder in use.
    Encoder = "enc",
    /// Percent of a GPU's video decoder in use.
    Decoder = "dec",
    /// Clock of a GPU's memory in MHz.
    MemoryClock = "mclk",
    /// Clock of a GPU's processors in MHz.
    Clock = "pclk",
    /// MiB of a GPU's memory in use.
    GpuMemory = "fb",
    /// MiB of a GPU's memory.
    GpuMemoryTotal = "fb_total",
    /// Errors in a GPU's memory since its driver was loaded that were not corrected.
    Ecc = "ecc",
    /// Number of an Xid error that the driver reported of a GPU since the line before: the last one.
    Xid = "xid",
    /// The rank whose process was first seen on a GPU.
    Rank = "rank",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_monitor_files_has_all_columns() {
        let page = include_str!("../../../docs/monitor.md");
        for measure in Measure::ALL {
            let row = format!("| `{}` | {} |", measure.column(), measure.doc());
            assert!(
                page.contains(&row),
                "docs/monitor.md lacks the line:\n{row}"
            );
        }
    }
}
