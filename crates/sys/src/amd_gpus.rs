//! What AMD's GPUs do, from the files of their driver (`amdgpu`) below `/sys/class/drm`.
//!
//! The files are those of the kernel's documentation, `gpu/amdgpu/thermal` and `gpu/amdgpu/ras`. One
//! that a model does not have is no value.

use crate::gpu_samples::{GpuSample, chosen};
use std::fs;
use std::path::{Path, PathBuf};

/// Where the kernel has them.
pub const DRM: &str = "/sys/class/drm";
/// AMD's number as a maker of PCI devices.
const AMD: &str = "0x1002";

/// Reads the files again and again.
#[derive(Debug)]
pub struct AmdSampler {
    /// Number, folder and address of each GPU.
    devices: Vec<(u32, PathBuf, Option<String>)>,
}

impl AmdSampler {
    /// For the GPUs below `root` that `visible`, a value of `ROCR_VISIBLE_DEVICES`, names by index, or
    /// all; they are counted by the numbers of their cards.
    #[must_use]
    pub fn open(root: &Path, visible: Option<&str>) -> AmdSampler {
        let cards = fs::read_dir(root).into_iter().flatten().flatten();
        let mut cards: Vec<(u32, PathBuf)> = cards
            .filter_map(|card| {
                // `card1-DP-1` is a connector.
                let number = card.file_name().to_str()?.strip_prefix("card")?.parse();
                Some((number.ok()?, card.path().join("device")))
            })
            .filter(|(_, device)| text(device, "vendor").as_deref() == Some(AMD))
            // A processor's own display unit computes nothing.
            .filter(|(_, device)| device.join("gpu_busy_percent").exists())
            .collect();
        cards.sort();
        let folders: Vec<PathBuf> = cards.into_iter().map(|(_, device)| device).collect();
        let names = vec![String::new(); folders.len()];
        let devices = chosen(visible, &names).into_iter();
        let device = |index: u32| {
            let folder = folders.get(index as usize)?.clone();
            let bus = bus(&folder);
            Some((index, folder, bus))
        };
        AmdSampler {
            devices: devices.filter_map(device).collect(),
        }
    }

    /// The CPUs near each, as the kernel writes lists of them: `0-3,8`.
    pub(crate) fn near_cpus(&self) -> Vec<Option<String>> {
        let all = self.devices.iter();
        all.map(|(_, device, _)| text(device, "local_cpulist"))
            .collect()
    }

    /// What they do now. One that was lost has no values.
    #[must_use]
    pub fn sample(&self) -> Vec<GpuSample> {
        let all = self.devices.iter();
        all.map(|(index, device, bus)| GpuSample {
            bus: bus.clone(),
            ..sample(*index, device)
        })
        .collect()
    }
}

fn sample(index: u32, device: &Path) -> GpuSample {
    let number = |name: &str| text(device, name)?.parse::<u64>().ok();
    let small = |name: &str| number(name).and_then(|value| u32::try_from(value).ok());
    let mib = |name: &str| number(name).map(|bytes| bytes >> 20);
    let monitor = fs::read_dir(device.join("hwmon"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .min();
    let measured = |names: &[&str]| {
        let monitor = monitor.as_ref()?;
        let mut values = names.iter().map(|name| text(monitor, name));
        values.find_map(|value| value?.parse::<u64>().ok())
    };
    GpuSample {
        index,
        // Microwatts, and thousandths of a degree.
        power: measured(&["power1_average", "power1_input"]).map(|value| value as f32 / 1e6),
        temperature: measured(&["temp1_input"]).and_then(|it| u32::try_from(it / 1000).ok()),
        busy: small("gpu_busy_percent"),
        memory_busy: small("mem_busy_percent"),
        clock: text(device, "pp_dpm_sclk").and_then(|levels| chosen_level(&levels)),
        memory_clock: text(device, "pp_dpm_mclk").and_then(|levels| chosen_level(&levels)),
        used_mib: mib("mem_info_vram_used"),
        total_mib: mib("mem_info_vram_total"),
        ecc_errors: text(device, "ras/umc_err_count").and_then(|text| uncorrected(&text)),
        ..GpuSample::default()
    }
}

/// The device's folder is named for its address.
fn bus(device: &Path) -> Option<String> {
    let folder = fs::canonicalize(device).ok()?;
    let name = folder.file_name()?.to_str()?;
    name.contains(':').then(|| name.to_owned())
}

fn text(folder: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(folder.join(name)).ok()?;
    Some(text.trim().to_owned())
}

/// MHz of the level with a star: `1: 1700Mhz *`.
fn chosen_level(levels: &str) -> Option<u32> {
    let level = levels.lines().find(|line| line.trim_end().ends_with('*'))?;
    let (_, value) = level.split_once(':')?;
    let digits = value.trim().trim_end_matches('*').trim();
    let end = digits.find(|letter: char| !letter.is_ascii_digit());
    digits[..end.unwrap_or(digits.len())].parse().ok()
}

/// `ue: 2` of `ue: 2` and `ce: 17`.
fn uncorrected(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("ue:"));
    line?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(root: &Path, card: &str, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(card).join("device").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn what_the_files_say() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        // Of an MI250X, with numbers of the kernel's documentation.
        let full = [
            ("vendor", "0x1002\n"),
            ("gpu_busy_percent", "97\n"),
            ("mem_busy_percent", "40\n"),
            ("mem_info_vram_used", "32212254720\n"),
            ("mem_info_vram_total", "68702699520\n"),
            ("hwmon/hwmon3/power1_average", "412000000\n"),
            ("hwmon/hwmon3/temp1_input", "61000\n"),
            ("pp_dpm_sclk", "0: 500Mhz\n1: 1700Mhz *\n"),
            ("ras/umc_err_count", "ue: 2\nce: 17\n"),
        ];
        make(root, "card10", &full);
        make(
            root,
            "card2",
            &[("vendor", "0x1002"), ("gpu_busy_percent", "busy")],
        );
        make(
            root,
            "card0",
            &[("vendor", "0x10de"), ("gpu_busy_percent", "1")],
        );
        make(root, "card1", &[("vendor", "0x1002")]);
        make(root, "card2-DP-1", &full);
        let found = AmdSampler::open(root, None).sample();
        let [broken, other] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(*broken, GpuSample::default());
        let want = GpuSample {
            index: 1,
            power: Some(412.0),
            temperature: Some(61),
            busy: Some(97),
            memory_busy: Some(40),
            clock: Some(1700),
            used_mib: Some(30720),
            total_mib: Some(65520),
            ecc_errors: Some(2),
            ..GpuSample::default()
        };
        assert_eq!(*other, want);
        assert_eq!(AmdSampler::open(root, Some("1")).sample(), [want]);
        // It is lost, and one that never was.
        let one = AmdSampler::open(root, Some("1"));
        fs::remove_dir_all(root.join("card10")).unwrap();
        let lost = GpuSample {
            index: 1,
            ..GpuSample::default()
        };
        assert_eq!(one.sample(), [lost]);
        assert!(
            AmdSampler::open(&root.join("none"), None)
                .sample()
                .is_empty()
        );
    }
}
