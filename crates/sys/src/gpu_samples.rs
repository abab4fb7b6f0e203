//! What the machine's GPUs do, asked again and again.

use crate::gpus::{GpusError, failed, load};
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enum_wrappers::device::{Clock, EccCounter, MemoryError, TemperatureSensor};
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::event::EventSet;

/// What one GPU does now; a value that its driver or model does not give is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuSample {
    /// NVML's index.
    pub index: u32,
    /// Its address on the PCI bus, as its driver writes it.
    pub bus: Option<String>,
    /// Power in W.
    pub power: Option<f32>,
    /// Temperature in °C.
    pub temperature: Option<u32>,
    /// Percent of the time in which any work ran, over the driver's last sample period.
    pub busy: Option<u32>,
    /// Percent of the time in which its memory was read or written.
    pub memory_busy: Option<u32>,
    /// Percent of its video encoder in use.
    pub encoder: Option<u32>,
    /// Percent of its video decoder in use.
    pub decoder: Option<u32>,
    /// MHz.
    pub memory_clock: Option<u32>,
    /// MHz.
    pub clock: Option<u32>,
    /// MiB of memory in use.
    pub used_mib: Option<u64>,
    /// MiB of memory.
    pub total_mib: Option<u64>,
    /// Errors of its memory since the driver was loaded that were not corrected.
    pub ecc_errors: Option<u64>,
    /// The last Xid error that the driver reported since the sample before.
    pub xid: Option<u32>,
    /// The processes that compute on it.
    pub processes: Vec<u32>,
}

/// Asks the driver again and again.
#[derive(Debug)]
pub struct GpuSampler {
    /// As long as the process: it is opened once, and what waits for errors borrows it.
    nvml: &'static Nvml,
    /// The GPUs that are asked, with their addresses: one that is lost gives none any more.
    gpus: Vec<(u32, Option<String>)>,
    /// What takes the errors of each, where the driver reports them.
    errors: Vec<(u32, EventSet<'static>)>,
}

impl GpuSampler {
    /// For the GPUs that `visible`, a value of `CUDA_VISIBLE_DEVICES`, names by index or uuid, or
    /// all; none without a driver.
    ///
    /// # Errors
    /// A driver is installed and NVML fails.
    pub fn open(visible: Option<&str>) -> Result<Option<GpuSampler>, GpusError> {
        let Some(nvml) = load()? else {
            return Ok(None);
        };
        let indices = named(&nvml, visible).map_err(|error| failed(&error))?;
        let nvml: &'static Nvml = Box::leak(Box::new(nvml));
        let errors = indices.iter();
        let errors = errors.filter_map(|index| Some((*index, error_events(nvml, *index)?)));
        Ok(Some(GpuSampler {
            nvml,
            errors: errors.collect(),
            gpus: indices
                .iter()
                .map(|index| (*index, bus(nvml, *index)))
                .collect(),
        }))
    }

    /// What they do now. One that was lost has no values.
    pub fn sample(&self) -> Vec<GpuSample> {
        let gpus = self.gpus.iter();
        gpus.map(|(index, bus)| self.one(*index, bus.clone()))
            .collect()
    }

    fn one(&self, index: u32, bus: Option<String>) -> GpuSample {
        let mut sample = GpuSample {
            index,
            bus,
            ..GpuSample::default()
        };
        let events = self.errors.iter().find(|(own, _)| *own == index);
        sample.xid = events.and_then(|(_, events)| last_xid(events));
        let Ok(device) = self.nvml.device_by_index(index) else {
            return sample;
        };
        if let Ok(rates) = device.utilization_rates() {
            sample.busy = Some(rates.gpu);
            sample.memory_busy = Some(rates.memory);
        }
        if let Ok(memory) = device.memory_info() {
            sample.used_mib = Some(memory.used >> 20);
            sample.total_mib = Some(memory.total >> 20);
        }
        sample.power = device.power_usage().ok().map(|mw| mw as f32 / 1000.0);
        sample.temperature = device.temperature(TemperatureSensor::Gpu).ok();
        sample.encoder = device
            .encoder_utilization()
            .ok()
            .map(|use_| use_.utilization);
        sample.decoder = device
            .decoder_utilization()
            .ok()
            .map(|use_| use_.utilization);
        sample.memory_clock = device.clock_info(Clock::Memory).ok();
        sample.clock = device.clock_info(Clock::SM).ok();
        let errors = device.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile);
        sample.ecc_errors = errors.ok();
        let processes = device.running_compute_processes().unwrap_or_default();
        sample.processes = processes.into_iter().map(|process| process.pid).collect();
        sample
    }
}

fn bus(nvml: &Nvml, index: u32) -> Option<String> {
    let facts = nvml.device_by_index(index).ok()?.pci_info().ok()?;
    Some(facts.bus_id)
}

/// Takes what the driver reports of one GPU from now on.
fn error_events(nvml: &'static Nvml, index: u32) -> Option<EventSet<'static>> {
    let device = nvml.device_by_index(index).ok()?;
    let events = nvml.create_event_set().ok()?;
    let kind = EventTypes::CRITICAL_XID_ERROR;
    device.register_events(kind, events).ok()
}

/// The last of the errors that came since the last look.
fn last_xid(events: &EventSet<'_>) -> Option<u32> {
    /// A GPU that reports without end must not hold up the samples.
    const MOST: usize = 64;
    let mut last = None;
    for _ in 0..MOST {
        // None waits: a time-out is an error there.
        let Ok(event) = events.wait(0) else {
            break;
        };
        if let Some(xid) = event.event_data {
            last = Some(match xid {
                XidError::Value(number) => u32::try_from(number).unwrap_or(u32::MAX),
                XidError::Unknown => 999,
            });
        }
    }
    last
}

/// The indices of the GPUs that `visible`, a value of `CUDA_VISIBLE_DEVICES`, names by index or uuid, or of all.
pub(crate) fn named(nvml: &Nvml, visible: Option<&str>) -> Result<Vec<u32>, NvmlError> {
    let uuids = |index: u32| nvml.device_by_index(index)?.uuid();
    let uuids = (0..nvml.device_count()?).map(|index| uuids(index).unwrap_or_default());
    Ok(chosen(visible, &uuids.collect::<Vec<_>>()))
}

/// The indices that are named; where a word names none, all: the driver then shows only those of
/// the job, counted anew.
pub(crate) fn chosen(visible: Option<&str>, uuids: &[String]) -> Vec<u32> {
    let all = || (0..u32::try_from(uuids.len()).unwrap_or(0)).collect();
    let Some(visible) = visible else {
        return all();
    };
    let words = visible
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty());
    let index = |word: &str| {
        let by_number = word.parse().ok().filter(|index| *index < uuids.len());
        let by_uuid = || uuids.iter().position(|uuid| uuid.starts_with(word));
        by_number
            .or_else(by_uuid)
            .and_then(|index| u32::try_from(index).ok())
    };
    let indices: Option<Vec<u32>> = words.map(index).collect();
    indices.unwrap_or_else(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_chosen_by_index_and_uuid() {
        let uuids = ["GPU-aa", "GPU-bb", "GPU-cc"].map(str::to_owned);
        let check = |visible, want: &[u32]| assert_eq!(chosen(visible, &uuids), want);
        check(None, &[0, 1, 2]);
        check(Some(""), &[]);
        check(Some("2, 0"), &[2, 0]);
        check(Some("GPU-b"), &[1]);
        check(Some("5"), &[0, 1, 2]);
        check(Some("MIG-1"), &[0, 1, 2]);
    }
}
