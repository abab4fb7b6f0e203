//! Commands of `scontrol` and `sacctmgr` that are read one by one from standard input, where none is on the
//! command line.

use crate::printer::Printer;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use sys::poll::{Interest, Poll};

/// A program that reads its commands.
pub struct CommandLoop<'a> {
    /// Its name, which stands before each command.
    pub name: &'a str,
    /// Commands that hold for those after them, each with the option that does the same, and how many of its
    /// letters are enough.
    pub settings: &'a [(&'a str, usize, &'a str)],
    /// Commands that end it, likewise.
    pub ends: &'a [(&'a str, usize)],
}

impl CommandLoop<'_> {
    /// Has `run` carry out each command, with the options that were set before it, until `exit`, `quit` or the end
    /// of standard input; returns the worst exit status.
    pub fn read(
        &self,
        options: &[String],
        printer: &Printer,
        run: &mut dyn FnMut(&[String]) -> u8,
    ) -> u8 {
        let mut options = options.to_vec();
        let mut last: Vec<String> = Vec::new();
        let mut worst = 0;
        loop {
            printer.data(&format!("{}: ", self.name));
            let _ = io::stdout().flush();
            let line = read_line(io::stdin());
            // A terminal shows what is typed; of what is read elsewhere the output would not tell.
            match &line {
                Some(line) if !io::stdin().is_terminal() => printer.line(line),
                Some(_) => {}
                None => printer.line(""),
            }
            let Some(line) = line else { return worst };
            // Slurm's `sacctmgr` has comments, its `scontrol` none.
            if self.name == "sacctmgr" && line.starts_with('#') {
                continue;
            }
            let mut words = words_of(&line);
            if words.first().is_some_and(|word| word == "!!") {
                words.clone_from(&last);
            }
            let Some(first) = words.first() else { continue };
            let is_end = |(name, least): &(&str, usize)| model::abbreviates(first, name, *least);
            if self.ends.iter().any(is_end) {
                return worst;
            }
            if first.starts_with('-') {
                // Options stand on the command line alone.
                printer.say(&format!("invalid keyword: {first}"));
                worst = worst.max(1);
                continue;
            }
            let mut settings = self.settings.iter();
            let setting = settings.find(|(name, least, _)| model::abbreviates(first, name, *least));
            if let Some((.., option)) = setting {
                options.push((*option).to_owned());
                continue;
            }
            let end = "--".to_owned();
            let all = options.iter().chain([&end]).chain(&words);
            let all: Vec<String> = all.cloned().collect();
            worst = worst.max(run(&all));
            last = words;
        }
    }
}

/// A line without its end, read byte by byte: what follows it is left for whoever reads next. `None` at the end,
/// or where nothing can be read.
fn read_line(source: impl AsFd) -> Option<String> {
    let mut source = File::from(source.as_fd().try_clone_to_owned().ok()?);
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    loop {
        match source.read(&mut byte) {
            Ok(0) | Err(_) if bytes.is_empty() => return None,
            Ok(0) | Err(_) => break,
            Ok(_) if byte == *b"\n" => break,
            Ok(_) => bytes.push(byte[0]),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether a line that comes from `source` begins with a yes; of one that is not whole within a time what there is
/// counts. `None` where nothing comes.
pub fn agrees(source: impl AsFd, within: Duration) -> Option<bool> {
    let begun = Instant::now();
    let mut source = File::from(source.as_fd().try_clone_to_owned().ok()?);
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    loop {
        let mut poll = Poll::new();
        poll.add(&source, Interest::Read);
        poll.wait(Some(within.saturating_sub(begun.elapsed())))
            .ok()?;
        let comes = poll.readable(0);
        drop(poll);
        match comes.then(|| source.read(&mut byte)) {
            // A signal came.
            None if begun.elapsed() < within => {}
            None if bytes.is_empty() => return None,
            Some(Ok(1)) if byte != *b"\n" => bytes.push(byte[0]),
            _ => break,
        }
    }
    let line = String::from_utf8_lossy(&bytes);
    Some(line.trim_start().starts_with(['y', 'Y']))
}

/// The words of a line; quotes keep blanks.
fn words_of(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.chars() {
        match quote {
            Some(open) if letter == open => quote = None,
            None if letter == '"' || letter == '\'' => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]

    use super::*;

    #[test]
    fn words_and_quotes() {
        let check = |line: &str, want: &[&str]| assert_eq!(words_of(line), want, "{line}");
        check("  show  job 7 ", &["show", "job", "7"]);
        check(
            "set comment='a b'\"c d\" ''",
            &["set", "comment=a bc d", ""],
        );
        check("", &[]);
    }

    /// What a pipe brings with these bytes in it, and what is left in it.
    fn asked(text: &str) -> (Option<bool>, Option<String>) {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(text.as_bytes()).unwrap();
        let agreed = agrees(&reader, Duration::from_millis(1));
        drop(writer);
        (agreed, read_line(&reader))
    }

    #[test]
    fn a_yes_is_a_line_that_begins_so_and_silence_is_none() {
        assert_eq!(asked("y\nnext\n"), (Some(true), Some("next".to_owned())));
        assert_eq!(asked("Yes"), (Some(true), None));
        assert_eq!(asked("n\n"), (Some(false), None));
        assert_eq!(asked("\n"), (Some(false), None));
        assert_eq!(asked(""), (None, None));
    }
}
