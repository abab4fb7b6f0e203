#![no_main]
//! Values of options: what was read and printed is read as the same value.

use libfuzzer_sys::fuzz_target;
use model::{ArraySpec, Dependency, Export, GpuCount, SignalSpec, TimeLimitRequest};
use std::fmt::{Debug, Display};

fuzz_target!(|text: &str| {
    check(text, TimeLimitRequest::parse);
    check(text, ArraySpec::parse);
    check(text, Dependency::parse);
    check(text, GpuCount::parse);
    check(text, |text| SignalSpec::parse(text, true));
    check(text, |text| Some(Export::parse(text)));
    if let Some(mib) = model::parse_mebibytes(text) {
        let printed = model::mebibytes_option(mib);
        assert_eq!(model::parse_mebibytes(&printed), Some(mib), "{text:?}");
    }
    if let Some(events) = model::parse_mail_types(text) {
        let _ = model::mail_types_text(&events);
    }
    let _ = GpuCount::parse_gres(text);
    let _ = model::parse_moment(text, yard_fuzz::NOW, &jiff::tz::TimeZone::UTC);
});

fn check<T: PartialEq + Debug + Display>(text: &str, parse: impl Fn(&str) -> Option<T>) {
    let Some(value) = parse(text) else {
        return;
    };
    let printed = value.to_string();
    assert_eq!(parse(&printed), Some(value), "{text:?} became {printed:?}");
}
