#![no_main]
//! What output should look like: squeue's letters and names, patterns of file names.

use libfuzzer_sys::fuzz_target;
use model::file_pattern::{PatternContext, differs_between_tasks, file_name};
use model::{Format, JobField, JobId, StepField, StepId};

fuzz_target!(|text: &str| {
    let mut header = String::new();
    for format in [Format::by_letters(text), Format::by_names(text)] {
        format.put(&mut header, JobField::header_cell);
    }
    for format in [Format::by_letters(text), Format::by_names(text)] {
        format.put(&mut header, StepField::header_cell);
    }
    let _ = differs_between_tasks(text);
    let context = PatternContext {
        job: JobId(7),
        array: Some((JobId(6), 3)),
        step: StepId::Number(0),
        node: "node1",
        node_index: 0,
        task: 12,
        user: "user",
        job_name: "train",
    };
    let _ = file_name(text, &context);
});
