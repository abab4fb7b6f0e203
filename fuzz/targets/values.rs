#![no_main]
//! Values of options: what was read and printed is read as the same value.

use libfuzzer_sys::fuzz_target;
use model::{
    ArraySpec, Constraint, Dependency, Distribution, Export, GpuCount, GresList, SignalSpec,
    SlurmVersion, TimeLimitRequest,
};
use std::fmt::{Debug, Display};

fuzz_target!(|text: &str| {
    if let Some(limit) = TimeLimitRequest::parse(text) {
        // A length below zero becomes one beyond the 32 bits in which Slurm reads.
        let printed = limit.to_string();
        let read = TimeLimitRequest::parse_uncut(&printed);
        assert_eq!(read, Some(limit), "{text:?} became {printed:?}");
    }
    // A spec prints its indices; which step they were written with is lost.
    check(text, |text| {
        Some(ArraySpec {
            step: 1,
            ..ArraySpec::parse(text)?
        })
    });
    check(text, |text| Distribution::parse(text).ok());
    check(text, Constraint::parse);
    check(text, GresList::of_gres);
    check(text, Dependency::parse);
    check(text, GpuCount::parse);
    check(text, |text| SignalSpec::parse(text, true));
    let caller = [("A".to_owned(), "old".to_owned())];
    let export = Export::parse(text);
    let _ = (export.for_job(&caller), export.for_step(&caller));
    check(text, |text| Some(Export::parse(text)));
    if let Some(mib) = model::parse_mebibytes(text) {
        let printed = model::mebibytes_option(mib);
        assert_eq!(model::parse_mebibytes(&printed), Some(mib), "{text:?}");
    }
    if let Some(events) = model::parse_mail_types(text) {
        let _ = model::mail_types_text(&events);
    }
    for list in [GresList::of_gres(text), Some(GresList::of_gpus(text))] {
        let _ = list.map(|list| (list.items(), list.gpus(), list.has_several_kinds()));
    }
    if let Ok(version) = text.parse::<SlurmVersion>() {
        assert_eq!(version.to_string().parse(), Ok(version));
    }
    let _ = model::parse_moment(text, yard_fuzz::NOW, &jiff::tz::TimeZone::UTC);
});

fn check<T: PartialEq + Debug + Display>(text: &str, parse: impl Fn(&str) -> Option<T>) {
    let Some(value) = parse(text) else {
        return;
    };
    let printed = value.to_string();
    assert_eq!(parse(&printed), Some(value), "{text:?} became {printed:?}");
}
