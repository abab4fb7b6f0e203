//! The project's words are those of the field: a reader who knows Slurm and PyTorch needs no other.
//!
//! Texts that a user reads are string literals and doc comments (which are help texts); names are
//! identifiers. Ordinary comments are not looked at.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates whose texts and names are looked at.
const CRATES: [&str; 15] = [
    "api",
    "backend",
    "cli",
    "cluster_file",
    "engine",
    "folder",
    "job",
    "lint",
    "model",
    "resources",
    "runs",
    "sched",
    "sys",
    "train",
    "watch",
];

/// What no text says, in small letters, and what to write.
const TEXTS: [(&str, &str); 31] = [
    ("nobody", "no process, no job, no user"),
    ("somebody", "another process"),
    ("is told", "receives, gets, knows"),
    ("are told", "receive, get, know"),
    ("was told", "received, knew"),
    ("were told", "received, knew"),
    ("told to end", "signalled to end"),
    ("that are none", "other"),
    ("that is none", "other"),
    ("is out (", "saved ("),
    ("checkpoint is out", "checkpoint is saved"),
    ("checkpoints are out", "checkpoints are saved"),
    ("checkpoints out", "checkpoints saved"),
    ("is not out", "not saved"),
    ("not proven", "could not verify that it is complete"),
    ("is meant", "the noun itself"),
    ("are meant", "the noun itself"),
    ("was meant", "the noun itself"),
    ("none escapes", "no descendant is lost"),
    ("behind the option", "after the option"),
    (
        "without a word",
        "without a message, without giving a reason",
    ),
    ("is free yet", "waiting for free CPUs"),
    ("a job not asked", "no limit"),
    ("come later", "are not supported yet"),
    ("does not run\"", "is not running"),
    ("said hello", "connected"),
    ("nursery", "fork server"),
    ("brood", "child pool"),
    ("farewell", "shutdown"),
    ("strays", "orphans"),
    ("the hunt", "reaping"),
];

/// What no name has in it: parts of identifiers, in small letters.
const NAMES: [(&str, &str); 8] = [
    ("nursery", "fork server"),
    ("brood", "child pool"),
    ("farewell", "shutdown"),
    ("parting", "leaving"),
    ("strays", "orphans"),
    ("hunt", "reap"),
    ("nobody", "no process, no job"),
    ("trouble", "error"),
];

/// What no type or variant is called.
const TYPES: [(&str, &str); 11] = [
    ("Holding", "ActiveJob"),
    ("Meant", "the thing itself"),
    ("Goes", "Outcome"),
    ("Happening", "Event"),
    ("Heard", "Message"),
    ("Told", "CancelCause"),
    ("Asked", "Request"),
    ("Said", "Message"),
    ("Words", "the noun itself"),
    ("Door", "Transport"),
    ("Succeed", "SubmitSuccessor"),
];

/// Files that need a word of the lists: file, word, why.
const EXCEPTIONS: [(&str, &str, &str); 0] = [];

#[test]
fn texts_and_names_use_the_words_of_the_field() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in CRATES {
        find(&crates.join(name).join("src"), &mut files);
    }
    files.sort();
    assert!(files.len() > 200, "the sources are there");
    let mut found = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).expect("a source is text");
        let name = path.strip_prefix(&crates).expect("below it");
        let name = name.display().to_string();
        for (line, piece) in pieces(&text) {
            let wrong = piece.wrong();
            let allowed = |word: &str| {
                let mut exceptions = EXCEPTIONS.iter();
                exceptions.any(|(file, known, _)| *file == name && *known == word)
            };
            if let Some((word, instead)) = wrong.filter(|(word, _)| !allowed(word)) {
                found.push(format!("{name}:{line}: {word:?}: write {instead}"));
            }
        }
    }
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn what_is_looked_at() {
    let source = "//! Nobody.\n// nobody\nlet brood_size = \"a \\\" nobody\"; // x\n\
                  let c = '\"'; enum Told {}\nlet r = r#\"it \"is meant\"#;\nlet a: &'a str;\n";
    let found: Vec<(usize, &str)> = pieces(source)
        .iter()
        .filter_map(|(line, piece)| Some((*line, piece.wrong()?.0)))
        .collect();
    let want = [
        (1, "nobody"),
        (3, "brood"),
        (3, "nobody"),
        (4, "Told"),
        (5, "is meant"),
    ];
    assert_eq!(found, want);
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// What is looked at.
enum Piece {
    Text(String),
    Name(String),
}

impl Piece {
    /// The first word of the lists in it, and what to write.
    fn wrong(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Piece::Text(text) => {
                let text = text.to_lowercase();
                TEXTS.into_iter().find(|(word, _)| text.contains(word))
            }
            Piece::Name(name) => {
                let exact = TYPES.into_iter().find(|(word, _)| name == word);
                let small = name.to_lowercase();
                exact.or_else(|| NAMES.into_iter().find(|(word, _)| small.contains(word)))
            }
        }
    }
}

/// The doc comments, string literals and identifiers of a source, each with its line.
fn pieces(source: &str) -> Vec<(usize, Piece)> {
    let mut pieces = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let (length, piece) = if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            let is_doc = rest.starts_with("///") || rest.starts_with("//!");
            (end, is_doc.then(|| Piece::Text(rest[..end].to_owned())))
        } else if let Some(length) = raw_string(rest) {
            (length, Some(Piece::Text(rest[..length].to_owned())))
        } else if first == '"' {
            let length = string(rest);
            // A line end in it that is escaped joins words.
            (length, Some(Piece::Text(joined(&rest[..length]))))
        } else if first == '\'' {
            (character(rest), None)
        } else if first.is_alphabetic() || first == '_' {
            let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
            let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
            (end, Some(Piece::Name(rest[..end].to_owned())))
        } else {
            (first.len_utf8(), None)
        };
        pieces.extend(piece.map(|piece| (line, piece)));
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    pieces
}

/// The length of `r"…"` or `r#"…"#`.
fn raw_string(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('r').or(rest.strip_prefix("br"))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end)?;
    Some(rest.len() - body.len() + length + end.len())
}

/// The length of `"…"`.
fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of `'x'`, or of the quote of a lifetime.
fn character(rest: &str) -> usize {
    let mut letters = rest.char_indices().skip(1);
    match letters.next() {
        Some((_, '\\')) => rest[3..].find('\'').map_or(1, |end| 3 + end + 1),
        Some((at, letter)) if rest[at + letter.len_utf8()..].starts_with('\'') => {
            at + letter.len_utf8() + 1
        }
        _ => 1,
    }
}

/// A literal without its escaped line ends.
fn joined(literal: &str) -> String {
    let mut text = String::new();
    for (index, line) in literal.split("\\\n").enumerate() {
        text.push_str(if index == 0 { line } else { line.trim_start() });
    }
    text
}
