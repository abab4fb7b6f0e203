//! The program by which a control group of version 2 keeps its processes from devices: the kernel runs it
//! whenever one of them opens or makes a device.
//!
//! It is so small that it is written here as instructions, one after another, instead of by a compiler.

use crate::device_cgroup::DeviceNumber;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

/// An instruction as the kernel reads it (`struct bpf_insn`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
struct Instruction {
    code: u8,
    /// The register that is written or compared in the lower half, the one read from in the upper.
    registers: u8,
    /// How many instructions a jump passes over, or where in the memory a value stands.
    offset: i16,
    value: i32,
}

/// Loads 32 bits of memory into a register.
const LOAD: u8 = 0x61;
/// Keeps the bits of a register that the value has.
const AND: u8 = 0x57;
/// Jumps if a register is the value.
const JUMP_IF: u8 = 0x15;
/// Jumps if it is not.
const JUMP_UNLESS: u8 = 0x55;
/// Puts the value into a register.
const MOVE: u8 = 0xb7;
/// Ends with what stands in register 0.
const EXIT: u8 = 0x95;

/// The register of the result: 1 allows, 0 denies.
const RESULT: u8 = 0;
/// Where the kernel names the device (`struct bpf_cgroup_dev_ctx`).
const CONTEXT: u8 = 1;
const KIND: u8 = 2;
const MAJOR: u8 = 3;
const MINOR: u8 = 4;

/// What the kernel calls a character device.
const CHARACTER_DEVICE: i32 = 2;

const fn instruction(code: u8, register: u8, offset: i16, value: i32) -> Instruction {
    Instruction {
        code,
        registers: register,
        offset,
        value,
    }
}

const fn load(register: u8, at: i16) -> Instruction {
    instruction(LOAD, register | CONTEXT << 4, at, 0)
}

/// The program that denies these character devices and allows all others.
fn program(denied: &[DeviceNumber]) -> Vec<Instruction> {
    let end = |result: i32| {
        [
            instruction(MOVE, RESULT, 0, result),
            instruction(EXIT, 0, 0, 0),
        ]
    };
    let mut program = vec![
        load(KIND, 0),
        // What is to be done with it stands in the upper half.
        instruction(AND, KIND, 0, 0xffff),
        instruction(JUMP_IF, KIND, 2, CHARACTER_DEVICE),
    ];
    program.extend(end(1));
    program.extend([load(MAJOR, 4), load(MINOR, 8)]);
    for DeviceNumber { major, minor } in denied {
        // Numbers of devices have 12 and 20 bits.
        program.extend([
            instruction(JUMP_UNLESS, MAJOR, 3, major.cast_signed()),
            instruction(JUMP_UNLESS, MINOR, 2, minor.cast_signed()),
        ]);
        program.extend(end(0));
    }
    program.extend(end(1));
    program
}

/// The part of `union bpf_attr` by which a program is loaded.
#[repr(C)]
struct Load {
    kind: u32,
    count: u32,
    instructions: u64,
    licence: u64,
    /// How much is said about a program that is not taken, and where: nothing.
    log: [u64; 2],
    kernel_version: u32,
    flags: u32,
}

/// The part of `union bpf_attr` by which it is attached to a group.
#[repr(C)]
struct Attach {
    group: u32,
    program: u32,
    event: u32,
    flags: u32,
}

/// Keeps the processes of a group of version 2 from these devices, as long as the group is there.
///
/// # Errors
/// This process may load no such program, or a group around it allows no further one.
pub(crate) fn deny(group: &Path, denied: &[DeviceNumber]) -> io::Result<()> {
    /// `BPF_PROG_LOAD`, and a program of the kind `BPF_PROG_TYPE_CGROUP_DEVICE`.
    const LOAD: libc::c_int = 5;
    const DEVICE_PROGRAM: u32 = 15;
    /// `BPF_PROG_ATTACH`, at `BPF_CGROUP_DEVICE`, beside those of the groups around it.
    const ATTACH: libc::c_int = 8;
    const DEVICE_EVENT: u32 = 6;
    const BESIDE_OTHERS: u32 = 2;

    let instructions = program(denied);
    let load = Load {
        kind: DEVICE_PROGRAM,
        count: u32::try_from(instructions.len()).map_err(io::Error::other)?,
        instructions: instructions.as_ptr() as u64,
        licence: c"Apache-2.0".as_ptr() as u64,
        log: [0; 2],
        kernel_version: 0,
        flags: 0,
    };
    // SAFETY: the kernel reads the instructions and the licence, which outlive the call, and gives out a
    // descriptor that no one else has.
    let program = unsafe { OwnedFd::from_raw_fd(call(LOAD, &load)?) };
    let group = File::open(group)?;
    let number = |file: libc::c_int| u32::try_from(file).map_err(io::Error::other);
    let attach = Attach {
        group: number(group.as_raw_fd())?,
        program: number(program.as_raw_fd())?,
        event: DEVICE_EVENT,
        flags: BESIDE_OTHERS,
    };
    // SAFETY: it holds numbers alone.
    unsafe { call(ATTACH, &attach) }.map(drop)
}

/// `bpf(2)`.
///
/// # Safety
/// What the addresses in `attributes` name must be as the command wants it.
unsafe fn call<A>(command: libc::c_int, attributes: &A) -> io::Result<libc::c_int> {
    // SAFETY: the kernel reads as many bytes as the size says, and takes those that are missing for 0.
    let done = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<A>(),
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    libc::c_int::try_from(done).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a program answers of a device of this kind, run as the kernel runs it.
    fn run(program: &[Instruction], kind: u32, device: DeviceNumber) -> i64 {
        // To open it for reading, which is nothing to the program.
        let context = [2 << 16 | kind, device.major, device.minor];
        let mut registers = [0i64; 5];
        let mut at = 0;
        loop {
            let Instruction {
                code,
                registers: named,
                offset,
                value,
            } = program[at];
            let register = usize::from(named & 0xf);
            let jump = usize::try_from(offset);
            at += 1;
            match code {
                LOAD => {
                    assert_eq!(named >> 4, CONTEXT);
                    registers[register] = i64::from(context[jump.unwrap() / 4]);
                }
                AND => registers[register] &= i64::from(value),
                JUMP_IF if registers[register] == i64::from(value) => at += jump.unwrap(),
                JUMP_UNLESS if registers[register] != i64::from(value) => at += jump.unwrap(),
                JUMP_IF | JUMP_UNLESS => {}
                MOVE => registers[register] = i64::from(value),
                EXIT => return registers[usize::from(RESULT)],
                other => panic!("no instruction {other:#x}"),
            }
        }
    }

    #[track_caller]
    fn check(denied: &[(u32, u32)], kind: u32, (major, minor): (u32, u32), want: i64) {
        let number = |(major, minor): (u32, u32)| DeviceNumber { major, minor };
        let denied: Vec<DeviceNumber> = denied.iter().copied().map(number).collect();
        assert_eq!(run(&program(&denied), kind, number((major, minor))), want);
    }

    #[test]
    fn the_named_character_devices_alone_are_denied() {
        let (character, block) = (2, 1);
        let two = &[(195, 0), (195, 2)];
        check(two, character, (195, 0), 0);
        check(two, character, (195, 1), 1);
        check(two, character, (195, 2), 0);
        check(two, character, (1, 2), 1);
        check(two, block, (195, 0), 1);
        check(&[], character, (195, 0), 1);
        let last = (0xfff, 0xf_ffff);
        check(&[last], character, last, 0);
        let many: Vec<(u32, u32)> = (0..256).map(|minor| (195, minor)).collect();
        check(&many, character, (195, 255), 0);
        check(&many, character, (195, 256), 1);
    }
}
