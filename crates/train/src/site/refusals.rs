//! What a cluster would not take, as a person reads it.

use super::{JobFate, Objection};
use crate::show::paragraph;

/// What the cluster would not take, each with its three parts. Several limits for one thing that was
/// asked stand together, and what to do keeps to all of them. Begins with an empty line; nothing where
/// there is none.
#[must_use]
pub fn refusals(refusals: &[Objection]) -> String {
    let mut shown = String::new();
    let mut groups: Vec<Vec<&Objection>> = Vec::new();
    for refusal in refusals {
        let same = |group: &&mut Vec<&Objection>| {
            let first = group[0];
            first.asked == refusal.asked
                && first.assumed == refusal.assumed
                && std::mem::discriminant(&first.fate) == std::mem::discriminant(&refusal.fate)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(refusal),
            None => groups.push(vec![refusal]),
        }
    }
    for group in groups {
        let first = group[0];
        let verb = match (&first.fate, first.assumed) {
            (JobFate::Waits(_), false) => "would wait for ever",
            (JobFate::Waits(_), true) => "might wait for ever",
            (JobFate::Refused, false) => "would be refused",
            (JobFate::Refused, true) => "might be refused",
            (JobFate::WaitsOnceReleased(_), _) => "is held, and would not start once released",
            (JobFate::Cut, _) => {
                "would be started, and ended at the limit (limits.cut_at_max_time)"
            }
        };
        let mut words: Vec<&str> = Vec::new();
        let mut there: Vec<String> = Vec::new();
        for refusal in &group {
            let word = match &refusal.fate {
                JobFate::Refused => Some(refusal.denial.words()),
                JobFate::Waits(reason) | JobFate::WaitsOnceReleased(reason) => {
                    Some(reason.as_str())
                }
                JobFate::Cut => None,
            };
            words.extend(word.filter(|word| !words.contains(word)));
            let text = match (&refusal.there, &refusal.at) {
                (text, Some(at)) if !text.contains(at.as_str()) => format!("{text} ({at})"),
                (text, _) => text.clone(),
            };
            if !there.contains(&text) {
                there.push(text);
            }
        }
        shown.push('\n');
        let head = if words.is_empty() {
            verb.to_owned()
        } else {
            format!("{verb}: {}", words.join(", "))
        };
        shown.push_str(&paragraph("  ", &head));
        shown.push_str(&paragraph("    asked   ", &first.asked));
        for (index, there) in there.iter().enumerate() {
            let title = match index {
                0 => "    there   ",
                _ => "            ",
            };
            shown.push_str(&paragraph(title, there));
        }
        shown.push_str(&paragraph("    do      ", &strictest(&group).todo));
    }
    shown
}

/// The one that allows least: who keeps to it keeps to all.
fn strictest<'a>(group: &[&'a Objection]) -> &'a Objection {
    let least = group.iter().filter(|refusal| refusal.most.is_some());
    least
        .min_by_key(|refusal| refusal.most)
        .unwrap_or(&group[0])
}
