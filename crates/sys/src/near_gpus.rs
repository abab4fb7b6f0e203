//! Which CPUs are near which GPU: at its socket, or the part of one that its bus leads to.

use crate::amd_gpus::{AmdSampler, DRM};
use crate::{gpu_samples, gpus};
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use std::path::Path;

/// Words of 64 CPUs that the driver is asked for.
const WORDS: usize = 16;

/// The CPUs near each of the GPUs that `cuda`, a value of `CUDA_VISIBLE_DEVICES`, or else `rocr`, one of
/// `ROCR_VISIBLE_DEVICES`, names, in the order in which it names them. Empty where that is not known of each.
#[must_use]
pub fn near_gpus(cuda: Option<&str>, rocr: Option<&str>) -> Vec<Vec<u32>> {
    let count = |names: &str| {
        names
            .split(',')
            .filter(|name| !name.trim().is_empty())
            .count()
    };
    // Both are set where nobody knows whose GPUs they are. Of a part of one (MIG) the driver names none.
    let of_nvidia = || {
        let names = cuda.filter(|names| !names.contains("MIG-"))?;
        let nvml = gpus::load().ok().flatten()?;
        Some((of_driver(&nvml, names).ok()?, count(names)))
    };
    let of_amd = || {
        let names = rocr?;
        let found = AmdSampler::open(Path::new(DRM), Some(names)).near_cpus();
        let found = found.into_iter().map(|list| cpus_of(&list?));
        Some((found.collect::<Option<Vec<_>>>()?, count(names)))
    };
    let (found, count) = of_nvidia().or_else(of_amd).unwrap_or_default();
    // A driver that shows only a job's own may be asked for others by a word that it does not know.
    let is_known = found.len() == count && found.iter().all(|cpus| !cpus.is_empty());
    if is_known { found } else { Vec::new() }
}

fn of_driver(nvml: &Nvml, names: &str) -> Result<Vec<Vec<u32>>, NvmlError> {
    let indices = gpu_samples::named(nvml, Some(names))?.into_iter();
    let near = |index| Ok(cpus_in(&nvml.device_by_index(index)?.cpu_affinity(WORDS)?));
    indices.map(near).collect()
}

/// The numbers of the bits that are set.
fn cpus_in(words: &[u64]) -> Vec<u32> {
    let bits = words.iter().zip(0..).flat_map(|(word, at): (&u64, u32)| {
        let set = (0..u64::BITS).filter(move |bit| word >> bit & 1 == 1);
        set.map(move |bit| at * u64::BITS + bit)
    });
    bits.collect()
}

/// A list as the kernel writes it: `0-3,8`.
pub(crate) fn cpus_of(list: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in list.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<u32>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_as_the_kernel_lists_them() {
        assert_eq!(cpus_of("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(cpus_of(""), Some(Vec::new()));
        assert_eq!(cpus_of("0-x"), None);
    }

    #[test]
    fn cpus_as_the_driver_masks_them() {
        assert_eq!(cpus_in(&[0b101, 0, 1 << 63]), [0, 2, 191]);
        assert_eq!(cpus_in(&[]), [0_u32; 0]);
    }
}
