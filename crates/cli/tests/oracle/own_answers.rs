//! What ours answers to the command lines that are listed as answered otherwise than a real Slurm answers them:
//! `own.txt` beside each list, so that a change of such an answer is noticed too. `UPDATE_EXPECT=1` writes it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The own answers of a part, by the names of the lines.
pub struct OwnAnswers {
    file: PathBuf,
    written: BTreeMap<String, Vec<String>>,
    given: BTreeMap<String, Vec<String>>,
}

impl OwnAnswers {
    /// Those beside the list `differ`, a file in the folder of the tests.
    pub fn beside(differ: &str) -> OwnAnswers {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle");
        let file = folder.join(differ).with_file_name("own.txt");
        // Where none was written yet, each of its lines is missing.
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let mut written: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut name = None;
        for row in text.lines() {
            match row.strip_prefix("$ ") {
                Some(own) => {
                    written.insert(own.to_owned(), Vec::new());
                    name = Some(own);
                }
                None => {
                    let rows = name.and_then(|name| written.get_mut(name));
                    rows.expect("a command line stands first")
                        .push(row.to_owned());
                }
            }
        }
        OwnAnswers {
            file,
            written,
            given: BTreeMap::new(),
        }
    }

    /// Notes what ours answered to a line that is listed.
    pub fn note(&mut self, name: &str, answer: Vec<String>) {
        self.given.insert(name.to_owned(), answer);
    }

    /// What is otherwise than it was written, in the words of `difference`; nothing once it is written anew.
    pub fn differences(
        self,
        updates: bool,
        difference: impl Fn(&str, &[String], &[String]) -> String,
    ) -> String {
        if updates {
            let rows = self.given.iter().map(|(name, rows)| {
                let rows: String = rows.iter().map(|row| format!("{row}\n")).collect();
                format!("$ {name}\n{rows}")
            });
            let text: String = rows.collect();
            if text.is_empty() {
                // Where it is missing that is right.
                let _removed = std::fs::remove_file(&self.file);
            } else {
                std::fs::write(&self.file, text).expect("own answers are written");
            }
            return String::new();
        }
        let mut wrong = String::new();
        for (name, got) in &self.given {
            match self.written.get(name) {
                Some(want) if want == got => {}
                Some(want) => {
                    wrong.push_str("an answer of ours that is listed has changed: ");
                    wrong.push_str(&difference(name, want, got));
                }
                None => {
                    wrong.push_str(&format!("{name}\n  is listed, and own.txt has no answer\n"))
                }
            }
        }
        for name in self.written.keys() {
            if !self.given.contains_key(name) {
                wrong.push_str(&format!("{name}\n  stands in own.txt, and is not listed\n"));
            }
        }
        wrong
    }
}
