//! Keywords of `scontrol` that set how the commands after them are answered, or that end its own prompt: options
//! say the same.

use super::command::ScontrolCommand;
use super::daemons::said;
use super::usage_error::ScontrolUsageError;
use crate::values::abbreviates;

/// Each with how many of its letters are enough.
const SETTINGS: &[(&str, usize)] = &[
    ("all", 2),
    ("details", 1),
    ("exit", 2),
    ("hide", 2),
    ("oneliner", 1),
    ("quiet", 4),
    ("quit", 4),
    ("verbose", 4),
];

/// What one of these answers where it is the only command; none where it is another keyword.
pub(super) fn setting(
    keyword: &str,
    words: &[String],
) -> Option<Result<ScontrolCommand, ScontrolUsageError>> {
    if abbreviates(keyword, "cluster", 2) {
        return Some(Ok(ScontrolCommand::TalkTo(words.first().cloned())));
    }
    let mut all = SETTINGS.iter();
    let (name, _) = all.find(|(name, least)| abbreviates(keyword, name, *least))?;
    Some(match (*name, words) {
        // These two are read no further.
        ("all" | "hide", _) | (_, []) => Ok(said("", "", 0)),
        ("verbose", _) => Err(ScontrolUsageError::TooManyAfter(keyword.to_owned())),
        _ => Err(ScontrolUsageError::TooMany(keyword.to_owned())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_words_are_refused_by_some() {
        let check = |line: &str, want: Option<&str>| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let got = setting(&words[0], &words[1..]).map(|answer| match answer {
                Ok(_) => String::new(),
                Err(error) => error.to_string(),
            });
            assert_eq!(got.as_deref(), want, "{line}");
        };
        check("all x", Some(""));
        check("hid", Some(""));
        check("de", Some(""));
        check("del", None);
        check(
            "oneliner x",
            Some("too many arguments for keyword:oneliner"),
        );
        check("verbose x", Some("too many arguments for verbose keyword"));
        check("quit x", Some("too many arguments for keyword:quit"));
        check("c", None);
        check("a", None);
    }
}
