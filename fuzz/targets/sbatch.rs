#![no_main]
//! `sbatch`: command line and script together; a run file that is made of it can be read.

use libfuzzer_sys::fuzz_target;
use model::{Span, Surroundings, option_table::Command};

fuzz_target!(|data: &[u8]| {
    let (words, text) = yard_fuzz::words_and_text(data);
    for embedded in [true, false] {
        yard_fuzz::somewhere(embedded, |surroundings| check(&words, &text, surroundings));
    }
});

fn check(words: &[String], text: &str, surroundings: &Surroundings<'_>) {
    let (sbatch, diagnostics) = model::sbatch::resolve(words, &|_| None, Some(text), surroundings);
    let lines: Vec<&str> = sbatch.script.split('\n').collect();
    let diagnosed = diagnostics.iter().map(|diagnostic| &diagnostic.span);
    for span in diagnosed.chain(sbatch.given.iter().map(|given| &given.span)) {
        match span {
            Span::Script { line, start, end } => {
                let line = lines[line - 1];
                assert!(
                    line.get(*start..*end).is_some(),
                    "{start}..{end} is no part of {line:?}"
                );
            }
            Span::Argument(word) => assert!(*word <= words.len(), "no word {word}"),
            Span::Whole | Span::Variable(_) => {}
        }
    }
    for diagnostic in &diagnostics {
        let _ = diagnostic.printed(Command::Sbatch);
    }
    if model::first_error(&diagnostics).is_some() {
        return;
    }
    let file = train::from_script("job.sh", &sbatch, None).text();
    let (_, problems) = train::RunFile::parse(&file, "yard.toml");
    assert!(problems.is_empty(), "{problems:?}\n{file}");
}
