#![no_main]
//! `srun`'s command line.

use libfuzzer_sys::fuzz_target;
use model::option_table::Command;

fuzz_target!(|data: &[u8]| {
    let (words, _) = yard_fuzz::words_and_text(data);
    yard_fuzz::somewhere(true, |surroundings| {
        let (_, diagnostics) = model::srun::resolve(&words, &|_| None, surroundings);
        for diagnostic in diagnostics {
            let _ = diagnostic.printed(Command::Srun);
        }
    });
});
