//! The command-line oracle's answers: command lines with what a real Slurm printed.
#![allow(dead_code, reason = "each test uses a part")]

const ORACLE: &str = include_str!("../../../cli/tests/oracle/manage/answers-22.05.8.txt");

/// A command line and its answer: lines of standard output after two spaces, of standard error
/// after `! `, and an exit status other than 0 after `= `.
pub struct Recorded {
    pub line: String,
    pub answer: Vec<String>,
}

impl Recorded {
    /// The words after the command's name.
    pub fn args(&self) -> Vec<String> {
        words(&self.line).split_off(1)
    }
}

/// The answers of the parts of which the titles begin so.
pub fn part(title: &str) -> Vec<Recorded> {
    let text = format!("\n{ORACLE}");
    let parts = text.split("\n# ").filter(|part| part.starts_with(title));
    let answers = parts.flat_map(|part| part.split("\n$ ").skip(1));
    let answers = answers.map(|answered| {
        let (line, rest) = answered.split_once('\n').unwrap_or((answered, ""));
        let rest = rest.lines().filter(|line| !line.starts_with('@'));
        Recorded {
            line: line.to_owned(),
            answer: rest.map(str::to_owned).collect(),
        }
    });
    answers.collect()
}

/// An answer of ours in the same form.
pub fn answer(status: u8, stdout: &str, stderr: &str) -> Vec<String> {
    let mut lines: Vec<String> = stdout.lines().map(|line| format!("  {line}")).collect();
    lines.extend(stderr.lines().map(|line| format!("! {line}")));
    if status != 0 {
        lines.push(format!("= {status}"));
    }
    lines
}

/// The words of a command line, with quotation marks as a shell reads them.
pub fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut within = None;
    let mut quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(mut letter) = letters.next() {
        if within == Some('"') && letter == '\\' && letters.peek() == Some(&'$') {
            letter = letters.next().unwrap_or(letter);
        }
        match (within, letter) {
            (None, '"' | '\'') => (within, quoted) = (Some(letter), true),
            (Some(mark), letter) if letter == mark => within = None,
            (None, ' ') => {
                if quoted || words.last().is_some_and(|word| !word.is_empty()) {
                    words.push(String::new());
                }
                quoted = false;
            }
            (_, letter) => {
                if let Some(word) = words.last_mut() {
                    word.push(letter);
                }
            }
        }
    }
    words
}
