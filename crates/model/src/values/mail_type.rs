//! `--mail-type`.

use serde::{Deserialize, Serialize};

/// `--mail-type`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailEvent {
    /// `BEGIN`
    Begin,
    /// `END`
    End,
    /// `FAIL`
    Fail,
    /// `REQUEUE`
    Requeue,
    /// `TIME_LIMIT`
    TimeLimit,
    /// `TIME_LIMIT_90`: nine tenths of it are over.
    TimeLimit90,
    /// `TIME_LIMIT_80`
    TimeLimit80,
    /// `TIME_LIMIT_50`
    TimeLimit50,
    /// `INVALID_DEPEND`: a dependency can never be met.
    InvalidDepend,
    /// `STAGE_OUT`: a burst buffer is written out.
    StageOut,
    /// `ARRAY_TASKS`: each element of an array, not the whole.
    ArrayTasks,
}

/// The words, in the order in which Slurm prints them.
const WORDS: &[(&str, MailEvent)] = &[
    ("ARRAY_TASKS", MailEvent::ArrayTasks),
    ("INVALID_DEPEND", MailEvent::InvalidDepend),
    ("BEGIN", MailEvent::Begin),
    ("END", MailEvent::End),
    ("FAIL", MailEvent::Fail),
    ("REQUEUE", MailEvent::Requeue),
    ("STAGE_OUT", MailEvent::StageOut),
    ("TIME_LIMIT_50", MailEvent::TimeLimit50),
    ("TIME_LIMIT_80", MailEvent::TimeLimit80),
    ("TIME_LIMIT_90", MailEvent::TimeLimit90),
    ("TIME_LIMIT", MailEvent::TimeLimit),
];

/// What `ALL` stands for: time limits and elements of arrays are left out.
const ALL: &[MailEvent] = &[
    MailEvent::InvalidDepend,
    MailEvent::Begin,
    MailEvent::End,
    MailEvent::Fail,
    MailEvent::Requeue,
    MailEvent::StageOut,
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
        let named = WORDS
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case(word));
        let mut found: Vec<MailEvent> = named.map(|(_, event)| *event).collect();
        if word.eq_ignore_ascii_case("ALL") {
            found = ALL.to_vec();
        }
        known |= !found.is_empty();
        found.retain(|event| !events.contains(event));
        events.extend(found);
    }
    known.then_some(events)
}

/// Prints events as `--mail-type` takes them; `NONE` for none.
#[must_use]
pub fn mail_types_text(events: &[MailEvent]) -> String {
    let names: Vec<&str> = WORDS
        .iter()
        .filter(|(_, event)| events.contains(event))
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
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, printed: &str) {
        let read = parse_mail_types(text).map(|events| mail_types_text(&events));
        assert_eq!(read.as_deref().unwrap_or("invalid"), printed);
    }

    #[test]
    fn words() {
        check("END", "END");
        check("fail,begin", "BEGIN,FAIL");
        check(
            "ALL,TIME_LIMIT_80",
            "INVALID_DEPEND,BEGIN,END,FAIL,REQUEUE,STAGE_OUT,TIME_LIMIT_80",
        );
        check("END,NONE", "NONE");
        check("BAD,END", "END");
        check("BAD", "invalid");
        check("", "invalid");
    }

    proptest! {
        #[test]
        fn print_then_parse(chosen in proptest::sample::subsequence(WORDS.to_vec(), 0..WORDS.len())) {
            let events: Vec<MailEvent> = chosen.iter().map(|(_, event)| *event).collect();
            prop_assert_eq!(parse_mail_types(&mail_types_text(&events)), Some(events));
        }
    }
}
