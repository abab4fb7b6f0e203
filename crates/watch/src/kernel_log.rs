//! Errors of GPUs in the kernel's log: what a line of it says. Pure.
//!
//! NVIDIA's driver writes `NVRM: Xid (PCI:0000:65:00): 79, …`. AMD's has no numbers; the lines are those of
//! `amdgpu`, which begin with the device's address.

use std::fmt;

/// Where a GPU is on the machine's PCI bus: domain, bus, device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PciAddress(u32, u8, u8);

impl PciAddress {
    /// Reads `0000:65:00.0`, whose function and domain may be missing and whose domain may be longer.
    #[must_use]
    pub fn parse(text: &str) -> Option<PciAddress> {
        let device = text.split_once('.').map_or(text, |(device, _)| device);
        let mut parts = device.rsplit(':');
        let small = |part: &str| u8::from_str_radix(part, 16).ok();
        let (device, bus) = (small(parts.next()?)?, small(parts.next()?)?);
        let domain = parts
            .next()
            .map_or(Some(0), |domain| u32::from_str_radix(domain, 16).ok())?;
        parts
            .next()
            .is_none()
            .then_some(PciAddress(domain, bus, device))
    }
}

/// What a driver wrote of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DriverError {
    /// NVIDIA's number of an error.
    Xid(u32),
    /// Work on an AMD GPU did not end in time.
    AmdTimeout,
    /// An AMD GPU was reset: what ran on it is gone.
    AmdReset,
    /// A program on an AMD GPU touched memory that it does not have.
    AmdPageFault,
    /// Memory of an AMD GPU has an error that can't be corrected.
    AmdMemory,
}

/// An error of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuError {
    /// Which GPU.
    pub at: PciAddress,
    /// What.
    pub error: DriverError,
}

impl GpuError {
    /// Reads a line; `None`: it speaks of something else.
    #[must_use]
    pub fn parse(line: &str) -> Option<GpuError> {
        // `6,339,5140900,-;` before the text, as `/dev/kmsg` has it.
        let text = line.split_once(';').map_or(line, |(_, text)| text);
        nvidia(text).or_else(|| amd(text))
    }
}

fn nvidia(text: &str) -> Option<GpuError> {
    let (_, rest) = text.split_once("NVRM: Xid (")?;
    let (at, rest) = rest.split_once("): ")?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit());
    let xid = rest[..end.unwrap_or(rest.len())].parse().ok()?;
    Some(GpuError {
        at: PciAddress::parse(at.strip_prefix("PCI:").unwrap_or(at))?,
        error: DriverError::Xid(xid),
    })
}

fn amd(text: &str) -> Option<GpuError> {
    let (at, text) = text
        .trim_start()
        .strip_prefix("amdgpu ")?
        .split_once(": ")?;
    let text = text.strip_prefix("amdgpu: ").unwrap_or(text);
    let error = if text.starts_with("ring ") && text.contains(" timeout") {
        DriverError::AmdTimeout
    } else if text.starts_with("GPU reset begin") {
        DriverError::AmdReset
    } else if text.contains("page fault (src_id") {
        DriverError::AmdPageFault
    } else if text.contains(" uncorrectable hardware errors detected") && !text.starts_with("0 ") {
        DriverError::AmdMemory
    } else {
        return None;
    };
    Some(GpuError {
        at: PciAddress::parse(at)?,
        error,
    })
}

/// What it is, and what to do.
impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, next) = match self {
            DriverError::Xid(xid) => {
                let (what, next) = crate::xid::words(*xid);
                return write!(f, "Xid {xid}: {what}; {next}");
            }
            DriverError::AmdTimeout => (
                "the driver waited in vain for its work",
                "as a rule an error of the program or of its libraries",
            ),
            DriverError::AmdReset => (
                "the driver reset it, and what ran there is gone",
                "look for the error before it; if it comes back, tell who runs the cluster",
            ),
            DriverError::AmdPageFault => ("a page fault", "as a rule an error of the program"),
            DriverError::AmdMemory => (
                "an error that could not be corrected",
                "tell who runs the cluster, and keep away from that node",
            ),
        };
        write!(f, "{what}; {next}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(line: &str, want: Option<(&str, DriverError)>) {
        let want = want.map(|(at, error)| GpuError {
            at: PciAddress::parse(at).unwrap(),
            error,
        });
        assert_eq!(GpuError::parse(line), want, "{line}");
    }

    #[test]
    fn errors_of_nvidia() {
        let xid = |number| DriverError::Xid(number);
        check(
            "4,1103,98212345,-;NVRM: Xid (PCI:0000:65:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            Some(("0000:65:00", xid(79))),
        );
        check(
            "NVRM: Xid (PCI:0001:0b:00): 31, pid=4711, name=python, Ch 0000001d",
            Some(("00000001:0B:00.0", xid(31))),
        );
        // As drivers before 400 wrote it.
        check(
            "[ 1.5] NVRM: Xid (0000:03:00): 13, Ch 1",
            Some(("0000:03:00", xid(13))),
        );
        check("NVRM: Xid (PCI:zz): 79, pid=1", None);
        check("NVRM: Xid (PCI:0000:65:00): none", None);
        check("NVRM: loading NVIDIA UNIX x86_64 Kernel Module", None);
        check("", None);
    }

    #[test]
    fn errors_of_amd() {
        let own = |text: &str| format!("3,99,1234,-;amdgpu 0000:c1:00.0: amdgpu: {text}");
        let found = |error| Some(("0000:c1:00", error));
        check(
            &own("ring gfx_0.0.0 timeout, signaled seq=5, emitted seq=7"),
            found(DriverError::AmdTimeout),
        );
        check(&own("GPU reset begin!"), found(DriverError::AmdReset));
        check(
            "amdgpu 0000:c1:00.0: GPU reset begin!. Source:  1",
            found(DriverError::AmdReset),
        );
        check(
            &own("[gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:3 pasid:32770)"),
            found(DriverError::AmdPageFault),
        );
        let memory = "uncorrectable hardware errors detected in umc block";
        check(&own(&format!("2 {memory}")), found(DriverError::AmdMemory));
        check(&own(&format!("0 {memory}")), None);
        check(&own("GPU reset(2) succeeded!"), None);
        check("amdgpu: Topology: Add GPU node [0x1002:0x164e]", None);
    }

    #[test]
    fn addresses_in_each_form() {
        let want = PciAddress::parse("0000:65:00.0");
        assert!(want.is_some());
        for text in ["00000000:65:00.0", "0000:65:00", "65:00"] {
            assert_eq!(PciAddress::parse(text), want, "{text}");
        }
        for text in ["", "65", "1:0:65:00", "0000:zz:00"] {
            assert_eq!(PciAddress::parse(text), None, "{text}");
        }
    }

    #[test]
    fn each_says_what_to_do() {
        let xid = DriverError::Xid(79).to_string();
        assert!(xid.starts_with("Xid 79: the GPU has fallen off the bus; tell"));
        assert!(DriverError::AmdMemory.to_string().contains("; tell"));
    }

    proptest! {
        #[test]
        fn any_line_is_survived(line: String) {
            let _ = GpuError::parse(&line);
        }
    }
}
