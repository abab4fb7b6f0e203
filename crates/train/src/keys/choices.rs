//! The words of keys that take one of several.

use crate::{CompleteWord, HookForm, Launcher, Notify, OnHang, ResumeBy, ResumeOn};
use model::MailEvent;

/// Values that are written as words.
pub(crate) trait Choice: Copy + 'static {
    /// Each word with its value, in the order in which they are shown.
    const WORDS: &'static [(&'static str, Self)];
}

/// The words of a choice.
pub(super) fn words<T: Choice>() -> Vec<&'static str> {
    T::WORDS.iter().map(|(word, _)| *word).collect()
}

impl Choice for Launcher {
    const WORDS: &'static [(&'static str, Launcher)] = &Launcher::WORDS;
}

impl Choice for CompleteWord {
    const WORDS: &'static [(&'static str, CompleteWord)] = &[
        ("rename", CompleteWord::Rename),
        ("marker", CompleteWord::Marker),
        ("settle", CompleteWord::Settle),
    ];
}

impl Choice for ResumeOn {
    const WORDS: &'static [(&'static str, ResumeOn)] = &[
        ("timeout", ResumeOn::Timeout),
        ("preemption", ResumeOn::Preemption),
        ("node-failure", ResumeOn::NodeFailure),
    ];
}

impl Choice for ResumeBy {
    const WORDS: &'static [(&'static str, ResumeBy)] = &[
        ("requeue", ResumeBy::Requeue),
        ("successor", ResumeBy::Successor),
    ];
}

impl Choice for Notify {
    const WORDS: &'static [(&'static str, Notify)] = &[
        ("none", Notify::None),
        ("file", Notify::File),
        ("SIGTERM", Notify::Sigterm),
        ("SIGUSR1", Notify::Sigusr1),
    ];
}

impl Choice for OnHang {
    const WORDS: &'static [(&'static str, OnHang)] = &[
        ("restart", OnHang::Restart),
        ("end", OnHang::End),
        ("log", OnHang::Log),
    ];
}

impl Choice for HookForm {
    const WORDS: &'static [(&'static str, HookForm)] = &[
        ("json", HookForm::Json),
        ("slack", HookForm::Slack),
        ("mattermost", HookForm::Mattermost),
    ];
}

impl Choice for MailEvent {
    const WORDS: &'static [(&'static str, MailEvent)] = &[
        ("begin", MailEvent::Begin),
        ("end", MailEvent::End),
        ("fail", MailEvent::Fail),
        ("requeue", MailEvent::Requeue),
        ("timeout", MailEvent::TimeLimit),
    ];
}
