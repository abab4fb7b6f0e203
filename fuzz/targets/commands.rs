#![no_main]
//! Command lines of the commands that ask and order: squeue, scancel, scontrol.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (words, _) = yard_fuzz::words_and_text(data);
    let none = |_: &str| None;
    let _ = model::SqueueArgs::parse("squeue", &words, &none);
    let _ = model::scancel::parse("scancel", &words, &none);
    let _ = model::scontrol::parse("scontrol", &words);
});
