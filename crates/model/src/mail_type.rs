//! `--mail-type`.

use crate::MailEvent;

/// The words and what they stand for. `ALL` leaves out the time limits, as Slurm's does. Words
/// for what the records can't hold stand for nothing.
const WORDS: &[(&str, &[MailEvent])] = &[
    ("BEGIN", &[MailEvent::Begin]),
    ("END", &[MailEvent::End]),
    ("FAIL", &[MailEvent::Fail]),
    ("REQUEUE", &[MailEvent::Requeue]),
    ("TIME_LIMIT", &[MailEvent::TimeLimit]),
    ("TIME_LIMIT_90", &[]),
    ("TIME_LIMIT_80", &[]),
    ("TIME_LIMIT_50", &[]),
    ("INVALID_DEPEND", &[]),
    ("STAGE_OUT", &[]),
    ("ARRAY_TASKS", &[]),
    (
        "ALL",
        &[
            MailEvent::Begin,
            MailEvent::End,
            MailEvent::Fail,
            MailEvent::Requeue,
        ],
    ),
];

/// Reads what `--mail-type` takes; `NONE` takes everything back. Unknown words are passed over as
/// long as one is known: `None` where Slurm says "Invalid --mail-type specification".
#[must_use]
pub fn parse_mail_types(text: &str) -> Option<Vec<MailEvent>> {
    let mut events: Vec<MailEvent> = Vec::new();
    let mut known = false;
    for word in text.split(',').filter(|word| !word.is_empty()) {
        if word.eq_ignore_ascii_case("NONE") {
            return Some(Vec::new());
        }
        let found = WORDS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(word));
        for event in found.into_iter().flat_map(|(_, more)| *more) {
            if !events.contains(event) {
                events.push(*event);
            }
        }
        known |= found.is_some();
    }
    known.then_some(events)
}

/// Prints events as `--mail-type` takes them; `NONE` for none.
#[must_use]
pub fn mail_types_text(events: &[MailEvent]) -> String {
    let names: Vec<&str> = WORDS
        .iter()
        .filter(|(_, of)| matches!(of, [event] if events.contains(event)))
        .map(|(name, _)| *name)
        .collect();
    if names.is_empty() {
        return "NONE".to_owned();
    }
    names.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, printed: &str) {
        let read = parse_mail_types(text).map(|events| mail_types_text(&events));
        assert_eq!(read.as_deref().unwrap_or("invalid"), printed);
    }

    #[test]
    fn words() {
        check("END", "END");
        check("fail,begin", "BEGIN,FAIL");
        check("ALL,TIME_LIMIT_80", "BEGIN,END,FAIL,REQUEUE");
        check("END,NONE", "NONE");
        check("BAD,END", "END");
        check("BAD", "invalid");
        check("", "invalid");
    }
}
