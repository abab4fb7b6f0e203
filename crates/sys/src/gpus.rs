//! The machine's GPUs, and who holds them.

use crate::device_cgroup::DeviceNumber;
use crate::env_vars::TRAINYARD_TEST_DEV;
use crate::number_locks::NumberLocks;
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

/// One GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// NVML's index: PCI bus order.
    pub index: u32,
    /// Stays with the device: `GPU-…`.
    pub uuid: String,
    /// What it calls itself: `NVIDIA H200`.
    pub name: String,
    /// MiB of its memory.
    pub memory_mib: u64,
    /// Its device, where the driver tells which it is.
    pub device: Option<DeviceNumber>,
}

/// A driver is there and gave no answer.
#[derive(Debug, thiserror::Error)]
#[error("the NVIDIA driver does not answer ({message}): see whether nvidia-smi works")]
pub struct GpusError {
    /// What NVML said.
    pub message: String,
}

/// The machine's GPUs in NVML's order; none without a driver.
///
/// # Errors
/// A driver is installed and NVML fails.
pub fn ask() -> Result<Vec<Gpu>, GpusError> {
    match load()? {
        Some(nvml) => read(&nvml).map_err(|error| failed(&error)),
        None => Ok(Vec::new()),
    }
}

/// Whether this machine has one that answers.
#[must_use]
pub fn are_there() -> bool {
    ask().is_ok_and(|found| !found.is_empty())
}

/// The driver's library; none without a driver.
pub(crate) fn load() -> Result<Option<Nvml>, GpusError> {
    // The library is loaded at run time: the same program runs where there is none. Its name with
    // the version is what the driver installs; the plain one comes with development files.
    let path = OsStr::new("libnvidia-ml.so.1");
    match Nvml::builder().lib_path(path).init() {
        Ok(nvml) => Ok(Some(nvml)),
        Err(NvmlError::LibloadingError(_) | NvmlError::DriverNotLoaded) => Ok(None),
        Err(error) => Err(failed(&error)),
    }
}

fn read(nvml: &Nvml) -> Result<Vec<Gpu>, NvmlError> {
    let mut gpus = Vec::new();
    for index in 0..nvml.device_count()? {
        let device = nvml.device_by_index(index)?;
        gpus.push(Gpu {
            index,
            uuid: device.uuid()?,
            name: product(device.name()?),
            memory_mib: device.memory_info()?.total >> 20,
            device: device.minor_number().ok().and_then(number_of),
        });
    }
    Ok(gpus)
}

/// The device of the GPU that the driver counts so.
fn number_of(minor: u32) -> Option<DeviceNumber> {
    let folder = std::env::var_os(TRAINYARD_TEST_DEV).unwrap_or_else(|| "/dev".into());
    DeviceNumber::at(&Path::new(&folder).join(format!("nvidia{minor}"))).ok()
}

/// As drivers since 470 say it: older ones call an `NVIDIA A40` just `A40`.
fn product(name: String) -> String {
    if name.contains(' ') {
        name
    } else {
        format!("NVIDIA {name}")
    }
}

pub(crate) fn failed(error: &NvmlError) -> GpusError {
    GpusError {
        message: error.to_string(),
    }
}

/// A GPU that no other process takes until this is dropped or its process ends.
#[derive(Debug)]
pub struct GpuLock {
    _locks: NumberLocks,
}

/// Takes the machine-wide lock of a GPU, which engines of all users respect.
///
/// Whoever takes it needs it alone, and then holds it so that it can be [`share`]d with the
/// processes that use the GPU: as long as one of them lives, no other process takes it. `None` where
/// another has it.
///
/// # Errors
/// There are no locks here.
pub fn lock(uuid: &str) -> io::Result<Option<GpuLock>> {
    let mut locks = NumberLocks::of_gpu(uuid)?;
    let is_ours = locks.take([NUMBER])?.is_empty();
    Ok(is_ours.then_some(GpuLock { _locks: locks }))
}

/// Holds, with whoever took it, the lock of a GPU.
///
/// # Errors
/// There are no locks here.
pub fn share(uuid: &str) -> io::Result<GpuLock> {
    let mut locks = NumberLocks::of_gpu(uuid)?;
    locks.share([NUMBER])?;
    Ok(GpuLock { _locks: locks })
}

/// Of a GPU among the numbers of its own.
const NUMBER: u32 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_taker_a_gpu() {
        let [one, other] =
            [1, 2].map(|number| format!("GPU-of-a-test-{}-{number}", std::process::id()));
        let lock = |uuid: &str| lock(uuid).unwrap();
        let held = lock(&one);
        assert!(held.is_some());
        assert!(lock(&one).is_none());
        assert!(lock(&other).is_some());
        // Who uses it keeps it when its taker is gone.
        let user = share(&one).unwrap();
        drop(held);
        assert!(lock(&one).is_none());
        drop(user);
        assert!(lock(&one).is_some());
    }

    #[test]
    fn the_driver_answers_or_is_not_there() {
        let gpus = ask().unwrap();
        assert!(gpus.iter().all(|gpu| gpu.memory_mib > 0));
    }
}
