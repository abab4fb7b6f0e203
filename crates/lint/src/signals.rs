//! The warning signal of a job and the traps of its script.

use crate::script::Script;
use crate::shell::Command;
use model::{SignalSpec, SignalTarget, parse_signal};

/// The traps of a script: the command, and the numbers of the signals it is for. Traps that ignore
/// a signal or take a trap back are left out.
pub(crate) fn traps<'s, 'a>(
    script: &'s Script<'a>,
) -> impl Iterator<Item = (&'s Command<'a>, Vec<i32>)> {
    let traps = script
        .shell
        .commands
        .iter()
        .filter(|command| command.name() == "trap");
    traps.filter_map(|command| {
        let mut words = command
            .program()
            .iter()
            .skip(1)
            .map(|word| &*word.text)
            .peekable();
        words.next_if_eq(&"--");
        let action = words.next()?;
        if matches!(action, "" | "-" | "-p" | "-l") {
            return None;
        }
        let signals: Vec<i32> = words.filter_map(parse_signal).collect();
        Some((command, signals))
    })
}

/// The warning signal that goes to the batch shell.
pub(crate) fn to_the_shell(script: &Script<'_>) -> Option<SignalSpec> {
    let signal = script.request().rare.signal?;
    (signal.target == SignalTarget::BatchShell).then_some(signal)
}
