//! What a command line starts: a script or module of Python, or another program.

use std::ops::Range;

/// The interpreter of the command, when it is started with nothing but a script or a module.
pub(super) fn python_of(command: &[String]) -> Option<&str> {
    python_target(command).map(|_| command[0].as_str())
}

/// Which words name the script, or `-m` and a module, where Python has no options of its own but
/// `-u`.
pub(super) fn python_target(command: &[String]) -> Option<Range<usize>> {
    let is_python = is_python(command.first()?);
    let start = match command.get(1).map(String::as_str) {
        Some("-u") => 2,
        _ => 1,
    };
    let length = match command.get(start).map(String::as_str) {
        Some("-m") if command.len() > start + 1 => 2,
        Some(word) if !word.starts_with('-') => 1,
        _ => return None,
    };
    is_python.then_some(start..start + length)
}

/// `python`, `python3`, `/opt/bin/python3.11`.
fn is_python(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_version = |letter: u8| letter.is_ascii_digit() || letter == b'.';
    name.strip_prefix("python")
        .is_some_and(|version| version.bytes().all(is_version))
}

/// What a launcher of Python's starts: the script, `-m` and a module, or any other program as it is.
pub(super) fn target_of(command: Vec<String>) -> Vec<String> {
    match python_target(&command) {
        // The launchers start their ranks with `-u`.
        Some(target) => command[target.start..].to_vec(),
        None => std::iter::once("--no_python".to_owned())
            .chain(command)
            .collect(),
    }
}

/// A command that begins with a script of Python's, started by the interpreter: the script needs
/// neither a `#!` line nor to be executable, and no launcher takes it for a program.
pub(super) fn with_interpreter(mut command: Vec<String>, python: &str) -> Vec<String> {
    if command.first().is_some_and(|word| word.ends_with(".py")) {
        command.insert(0, python.to_owned());
    }
    command
}

/// Whether a command line begins with these words; `python` stands for any of its names, and the
/// last word for whatever begins with it and a dot.
pub(super) fn begins_with(command: &[String], words: &[&str]) -> bool {
    let is_word = |(at, word): (usize, &&str)| {
        let Some(given) = command.get(at) else {
            return false;
        };
        let name = given.rsplit('/').next().unwrap_or(given);
        match *word {
            "python" => is_python(given),
            word => {
                let more = name.strip_prefix(word);
                more.is_some_and(|more| more.is_empty() || more.starts_with('.') && at > 0)
            }
        }
    };
    words.iter().enumerate().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn scripts_of_python() {
        let check = |line: &str, want: Option<&str>| {
            let words = words(line);
            let target = python_target(&words).map(|range| words[range].join(" "));
            assert_eq!(target.as_deref(), want, "{line}");
        };
        check("python t.py --lr 1", Some("t.py"));
        check("python -u t.py", Some("t.py"));
        check("/opt/bin/python3.11 -m my.module -x", Some("-m my.module"));
        check("python -X dev t.py", None);
        check("python -u -O t.py", None);
        check("python", None);
        check("python -m", None);
        check("pythonic t.py", None);
        check("./train --fast", None);
    }

    #[test]
    fn a_script_gets_its_interpreter() {
        let check = |line: &str, want: &str| {
            assert_eq!(with_interpreter(words(line), "python3").join(" "), want);
        };
        check("train.py --lr 1", "python3 train.py --lr 1");
        check("./sub/train.py", "python3 ./sub/train.py");
        check("python train.py", "python train.py");
        check("./train --of x.py", "./train --of x.py");
    }

    #[test]
    fn what_a_line_begins_with() {
        let check = |line: &str, start: &[&str], want: bool| {
            assert_eq!(begins_with(&words(line), start), want, "{line} {start:?}");
        };
        check("/usr/bin/torchrun t.py", &["torchrun"], true);
        check("torchrun.sh t.py", &["torchrun"], false);
        let module = ["python", "-m", "torch.distributed.run"];
        check("python3 -m torch.distributed.run t.py", &module, true);
        check("python3 -m torch.distributed", &module, false);
        let launcher = ["python", "-m", "deepspeed.launcher"];
        check("python -m deepspeed.launcher.runner", &launcher, true);
    }
}
