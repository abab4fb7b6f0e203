//! Batch scripts as `sbatch` reads them.
//!
//! A directive is a line that begins with `#SBATCH`, blanks before it or other case make it a
//! comment. Reading stops at the first line that holds anything but blanks and is no comment. The
//! words of all directives form one command line. From 22.05.8's `opt.c` and `sbatch.c`.

use crate::options::diagnostic::{Diagnostic, Span};
use crate::options::getopt::Word;

/// What a directive line begins with.
pub(crate) const DIRECTIVE: &str = "#SBATCH";
/// What it began with once; still read, with a complaint.
pub(crate) const OLD_DIRECTIVE: &str = "#SLURM";
/// Directives of other systems, which Slurm translates.
pub(crate) const FOREIGN: &[&str] = &["#PBS", "#BSUB"];
/// Words that part the components of a heterogeneous job.
const SEPARATORS: &[&str] = &["hetjob", "packjob"];

/// Checks a script before its directives are read; the message is Slurm's.
pub(crate) fn check(text: &str) -> Option<Diagnostic> {
    let refuse = |code, message: &str| Some(Diagnostic::error(code, Span::Whole, message, 1));
    if text.is_empty() {
        return refuse("script-empty", "Batch script is empty!");
    }
    if text.bytes().all(|byte| is_space(&byte)) {
        return refuse("script-empty", "Batch script contains only whitespace!");
    }
    if !text.starts_with("#!") {
        return refuse(
            "script-interpreter",
            "This does not look like a batch script.  The first\n\
             line must start with #! followed by the path to an interpreter.\n\
             For instance: #!/bin/sh",
        );
    }
    if text.contains('\0') {
        return refuse(
            "script-nul",
            "The Slurm controller does not allow scripts that\ncontain a NULL character '\\0'.",
        );
    }
    if text.contains("\r\n") {
        return refuse(
            "script-line-ends",
            "Batch script contains DOS line breaks (\\r\\n)\n\
             instead of expected UNIX line breaks (\\n).",
        );
    }
    None
}

/// Reads the directives of one component of a script, counted from 0; `name` is its file name, for
/// messages. Tells too whether another component follows.
pub(crate) fn directives(
    name: &str,
    text: &str,
    component: usize,
) -> (Vec<Word>, Vec<Diagnostic>, bool) {
    let mut reader = Reader::new(name);
    let (mut scanned, mut more) = (0, false);
    for (index, line) in text.split('\n').enumerate() {
        let number = index + 1;
        let (tail, old) = match (
            line.strip_prefix(DIRECTIVE),
            line.strip_prefix(OLD_DIRECTIVE),
        ) {
            (Some(tail), _) => (tail, false),
            (None, Some(tail)) => (tail, true),
            (None, None) => {
                let start = line.trim_ascii_start();
                if !start.is_empty() && !start.starts_with('#') {
                    break;
                }
                continue;
            }
        };
        if old {
            reader.old(line, number);
        }
        scanned += usize::from(is_separator(tail));
        if scanned < component {
            continue;
        }
        if scanned > component {
            more = true;
            break;
        }
        reader.line(line, line.len() - tail.len(), number);
    }
    (reader.words, reader.diagnostics, more)
}

/// Whether what follows `#SBATCH` parts the components of a heterogeneous job.
pub(crate) fn is_separator(tail: &str) -> bool {
    let tail = tail.trim_ascii_start();
    SEPARATORS.iter().any(|word| is_word(tail, word))
}

fn is_word(text: &str, word: &str) -> bool {
    let (Some(start), rest) = (text.get(..word.len()), text.as_bytes().get(word.len())) else {
        return false;
    };
    start.eq_ignore_ascii_case(word) && rest.is_none_or(is_space)
}

/// Takes directives apart into words.
pub(crate) struct Reader<'a> {
    name: &'a str,
    words: Vec<Word>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    /// `name` is the script's, for messages.
    pub(crate) fn new(name: &'a str) -> Reader<'a> {
        Reader {
            name,
            words: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    pub(crate) fn into_parts(self) -> (Vec<Word>, Vec<Diagnostic>) {
        (self.words, self.diagnostics)
    }

    fn old(&mut self, line: &str, number: usize) {
        let code = "directive-slurm";
        if !self.diagnostics.iter().any(|known| known.code == code) {
            let message = "Change from #SLURM to #SBATCH in your script and verify the options \
                           are valid in sbatch";
            let span = whole(line, number);
            self.diagnostics.push(Diagnostic {
                voice: crate::options::Voice::Error,
                ..Diagnostic::warning(code, span, message)
            });
        }
    }

    /// Takes the words of a directive that begin at byte `from`.
    pub(crate) fn line(&mut self, line: &str, from: usize, number: usize) {
        let bytes = line.as_bytes();
        let mut at = from;
        let mut rest_from = from
            + bytes[from..]
                .iter()
                .take_while(|byte| is_space(byte))
                .count();
        loop {
            while bytes.get(at).is_some_and(is_space) {
                at += 1;
            }
            match bytes.get(at) {
                None | Some(b'#') => return,
                Some(b':') => {
                    let rest = &line[rest_from..];
                    return self.fatal(line, number, format!("Unexpected `:` in [{rest}]"));
                }
                // A separator behind other words ends the line, and parts nothing.
                Some(_) if SEPARATORS.iter().any(|word| is_word(&line[at..], word)) => return,
                Some(_) => {}
            }
            let (word, end) = match argument(bytes, at) {
                Ok(found) => found,
                Err(quote) => {
                    let rest = &line[rest_from..];
                    return self.fatal(line, number, format!("Unmatched `{quote}` in [{rest}]"));
                }
            };
            let span = Span::Script {
                line: number,
                start: at,
                end,
            };
            // An escape that ends in nothing leaves no word, and Slurm reads no further.
            let Some(text) = word else { return };
            self.words.push(Word { text, span });
            (at, rest_from) = (end, end);
        }
    }

    fn fatal(&mut self, line: &str, number: usize, what: String) {
        let message = format!("{}: line {number}: {what}", self.name);
        let span = whole(line, number);
        self.diagnostics
            .push(Diagnostic::fatal("directive-syntax", span, message));
    }
}

fn whole(line: &str, number: usize) -> Span {
    Span::Script {
        line: number,
        start: 0,
        end: line.len(),
    }
}

/// A blank as `isspace(3)` has it, a vertical tab among them.
fn is_space(byte: &u8) -> bool {
    byte.is_ascii_whitespace() || *byte == b'\x0b'
}

/// One word: quotes group, a backslash escapes, a bare `#` begins a comment even inside a word. An
/// unmatched quote comes back as the error.
fn argument(bytes: &[u8], from: usize) -> Result<(Option<String>, usize), char> {
    let mut word: Option<Vec<u8>> = None;
    let (mut at, mut quote, mut escaped) = (from, None, false);
    while let Some(&byte) = bytes.get(at) {
        if quote.is_none() && is_space(&byte) {
            break;
        }
        if escaped {
            escaped = false;
        } else if byte == b'\\' {
            escaped = true;
            at += 1;
            continue;
        } else if let Some(open) = quote {
            if byte == open {
                quote = None;
                at += 1;
                continue;
            }
        } else if byte == b'"' || byte == b'\'' {
            quote = Some(byte);
            at += 1;
            continue;
        } else if byte == b'#' {
            break;
        }
        word.get_or_insert_default().push(byte);
        at += 1;
    }
    match quote {
        Some(open) => Err(char::from(open)),
        None => Ok((
            word.map(|word| String::from_utf8_lossy(&word).into_owned()),
            at,
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::option_table::Command;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check_words(text: &str, want: Expect) {
        let (words, diagnostics, more) = directives("job.sh", text, 0);
        let mut lines: Vec<String> = words
            .iter()
            .map(|word| format!("{:?}", word.text))
            .collect();
        lines.extend(diagnostics.iter().map(|d| d.printed(Command::Sbatch)));
        lines.extend(more.then(|| "more".to_owned()));
        want.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn words_of_directives() {
        check_words(
            "#!/bin/bash\n#SBATCH -J 'q name' --comment=\"a 'b'\" x\\ y\n# c\n\n##SBATCH no\n #SBATCH no\n\
             #sbatch no\n#SBATCH--time=3 a#b\n#SBATCH \"a \\\" b\"\ncmd\n#SBATCH late\n",
            expect![[r#"
                "-J"
                "q name"
                "--comment=a 'b'"
                "x"
                "y"
                "--time=3"
                "a"
                "a \" b""#]],
        );
    }

    #[test]
    fn a_vertical_tab_is_a_blank() {
        check_words(
            "#!/bin/sh\n#SBATCH \x0b-n2\x0b-N1\n",
            expect![[r#"
            "-n2"
            "-N1""#]],
        );
    }

    #[test]
    fn what_is_wrong() {
        check_words(
            "#SBATCH -n 1\n#SBATCH -J \"a b\n",
            expect![[r#"
            "-n"
            "1"
            "-J"
            sbatch: fatal: job.sh: line 2: Unmatched `"` in [ "a b]
        "#]],
        );
        check_words(
            "#SBATCH : -N 2\n",
            expect![[r#"
            sbatch: fatal: job.sh: line 1: Unexpected `:` in [: -N 2]
        "#]],
        );
        check_words(
            "#SLURM -t 1\n#SLURM -n 2\n#PBS -l x\n#PBS y\n",
            expect![[r#"
                "-t"
                "1"
                "-n"
                "2"
                sbatch: error: Change from #SLURM to #SBATCH in your script and verify the options are valid in sbatch
            "#]],
        );
        check_words(
            "#SBATCH -N 1\n#SBATCH HetJob\n#SBATCH -N 2\n",
            expect![[r#"
                "-N"
                "1"
                more"#]],
        );
    }

    #[test]
    fn scripts_that_are_refused() {
        let code = |text| check(text).map(|d| d.code);
        assert_eq!(code(""), Some("script-empty"));
        assert_eq!(code(" \n"), Some("script-empty"));
        assert_eq!(code("echo\n"), Some("script-interpreter"));
        assert_eq!(code("\u{feff}#!/bin/sh\n"), Some("script-interpreter"));
        assert_eq!(code("#!/bin/sh\n\0\n"), Some("script-nul"));
        assert_eq!(code("#!/bin/sh\r\n"), Some("script-line-ends"));
        assert_eq!(code("#!/bin/sh\n"), None);
    }
}
