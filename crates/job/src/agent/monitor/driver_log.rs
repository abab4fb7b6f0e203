//! What the drivers of the job's GPUs write into the kernel's log, where the machine lets a user read it.
//!
//! NVIDIA's errors belong to the GPU's sample; those of AMD's driver, which have no numbers, are said.

use std::collections::BTreeSet;
use std::path::Path;
use sys::{GpuSample, KernelLog};
use watch::{DriverError, GpuError, PciAddress};

/// The log, from the moment on at which the monitor began.
#[derive(Debug)]
pub(super) struct DriverLog {
    log: KernelLog,
    /// What was said of which GPU: a driver may repeat itself a thousand times.
    said: BTreeSet<(u32, DriverError)>,
}

impl DriverLog {
    /// `None` where it may not be read.
    pub fn open(path: &Path) -> Option<DriverLog> {
        Some(DriverLog {
            log: KernelLog::open(path)?,
            said: BTreeSet::new(),
        })
    }

    /// Adds what is new to the samples of the job's GPUs; the rest in words.
    pub fn read(&mut self, node: &str, gpus: &mut [GpuSample]) -> Vec<String> {
        let mut notes = Vec::new();
        for line in self.log.lines() {
            let Some(found) = GpuError::parse(&line) else {
                continue;
            };
            let own = |gpu: &&mut GpuSample| {
                let bus = gpu.bus.as_deref().and_then(PciAddress::parse);
                bus == Some(found.at)
            };
            let Some(gpu) = gpus.iter_mut().find(own) else {
                continue;
            };
            match found.error {
                // The driver's own word comes first.
                DriverError::Xid(xid) => {
                    let _ = gpu.xid.get_or_insert(xid);
                }
                error if self.said.insert((gpu.index, error)) => {
                    notes.push(format!("GPU {} on {node}: {error}", gpu.index));
                }
                _ => {}
            }
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;

    #[test]
    fn errors_of_the_jobs_own_gpus_are_said_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kmsg");
        File::create(&path).unwrap();
        let mut log = DriverLog::open(&path).unwrap();
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(
            b"4,1,1,-;NVRM: Xid (PCI:0000:65:00): 79, pid=1, GPU has fallen off the bus.\n\
              4,2,2,-;NVRM: Xid (PCI:0000:b1:00): 31, of another job\n\
              3,3,3,-;amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!\n\
              3,4,4,-;amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!\n",
        )
        .unwrap();
        let gpu = |index, bus: &str| GpuSample {
            index,
            bus: Some(bus.to_owned()),
            ..GpuSample::default()
        };
        let mut gpus = [gpu(0, "00000000:65:00.0"), gpu(3, "0000:c1:00.0")];
        let notes = log.read("n1", &mut gpus);
        assert_eq!(gpus[0].xid, Some(79));
        assert_eq!(gpus[1].xid, None);
        let [reset] = &notes[..] else {
            panic!("{notes:?}");
        };
        assert!(reset.starts_with("GPU 3 on n1: the driver reset it"));
        assert_eq!(log.read("n1", &mut gpus), Vec::<String>::new());
    }
}
