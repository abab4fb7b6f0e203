//! What an entry consists of, as far as the next of its series can be compared with it.

use folder::{Position, series};
use std::collections::BTreeMap;

/// The files of an entry by name (its path below the entry; empty where the entry is a file itself)
/// with their sizes. Links and empty folders are names with nothing in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape(BTreeMap<String, u64>);

impl FromIterator<(String, u64)> for Shape {
    fn from_iter<I: IntoIterator<Item = (String, u64)>>(files: I) -> Shape {
        Shape(files.into_iter().collect())
    }
}

impl Shape {
    /// Why this may not be all that `before`, a finished one that is named `named`, lets expect; in
    /// words. It has the same names; no file has less than half of the bytes, and all together have
    /// nine tenths: files with numbers in words differ, weights don't.
    #[must_use]
    pub fn lacks(&self, before: &Shape, named: &str) -> Option<String> {
        let (mine, theirs) = (self.by_series(), before.by_series());
        for (series, there) in &theirs {
            let here = mine.get(series).map_or(&[][..], Vec::as_slice);
            if here.len() < there.len() {
                let missing = there.iter().find(|(_, file)| !self.0.contains_key(*file));
                let (_, file) = missing.unwrap_or(&there[0]);
                return Some(if file.is_empty() {
                    format!("it is a folder with files, and {named} was a file or an empty folder")
                } else {
                    format!("it lacks {file}, which {named} has")
                });
            }
            let short = here.iter().zip(there).find(|(a, b)| a.0 * 2 < b.0);
            if let Some(((bytes, file), (asked, _))) = short {
                let what = if file.is_empty() { "it" } else { file };
                return Some(format!(
                    "{what} has {bytes} bytes, and {asked} in the previous checkpoint {named}"
                ));
            }
        }
        let is_more = |(series, here): &(&String, &Vec<(u64, &str)>)| {
            theirs
                .get(*series)
                .is_none_or(|there| there.len() < here.len())
        };
        if let Some((_, here)) = mine.iter().find(is_more) {
            let new = here.iter().find(|(_, file)| !before.0.contains_key(*file));
            let (_, file) = new.unwrap_or(&here[0]);
            return Some(format!("it has {file}, which {named} has not"));
        }
        let (bytes, asked) = (self.bytes(), before.bytes());
        (u128::from(bytes) * 10 < u128::from(asked) * 9).then(|| {
            format!("it has {bytes} bytes, and the previous checkpoint {named} has {asked}")
        })
    }

    /// Whether `before` may have become this by more being written, and not by being begun anew.
    #[must_use]
    pub fn is_grown_from(&self, before: &Shape) -> bool {
        let grown =
            |(file, bytes): (&String, &u64)| self.0.get(file).is_some_and(|now| now >= bytes);
        self != before && before.0.iter().all(grown)
    }

    /// The first file or folder in it whose name is that of a checkpoint by its epoch or step, or as Hugging Face
    /// names them.
    #[must_use]
    pub fn checkpoint_inside(&self) -> Option<&str> {
        let is_one = |part: &&str| {
            let position = Position::of(part);
            position.is_some_and(|position| position.is_named() || part.starts_with("checkpoint"))
        };
        self.0.keys().find_map(|path| path.split('/').find(is_one))
    }

    fn bytes(&self) -> u64 {
        self.0.values().sum()
    }

    /// Sizes and names, by series: a step stands in the names of files too.
    fn by_series(&self) -> BTreeMap<String, Vec<(u64, &str)>> {
        let mut all: BTreeMap<String, Vec<(u64, &str)>> = BTreeMap::new();
        for (file, bytes) in &self.0 {
            all.entry(series(file)).or_default().push((*bytes, file));
        }
        for same in all.values_mut() {
            same.sort_unstable();
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a.pkl 3 b.pkl 4`; `- 5` is a single file.
    fn shape(text: &str) -> Shape {
        let words: Vec<&str> = text.split_whitespace().collect();
        let file = |pair: &[&str]| {
            (
                pair[0].trim_matches('-').to_owned(),
                pair[1].parse().unwrap(),
            )
        };
        words.chunks(2).map(file).collect()
    }

    #[track_caller]
    fn check(now: &str, before: &str, want: &str) {
        let lacks = shape(now).lacks(&shape(before), "step-2");
        assert_eq!(lacks.unwrap_or_default(), want, "{now} after {before}");
    }

    #[test]
    fn a_checkpoint_is_believed_that_is_like_the_one_before() {
        check("a.pkl 3 b.pkl 3", "a.pkl 3 b.pkl 3", "");
        check(
            "a.pkl 3",
            "a.pkl 3 b.pkl 3",
            "it lacks b.pkl, which step-2 has",
        );
        check("", "a.pkl 3", "it lacks a.pkl, which step-2 has");
        check(
            "a.pkl 3 b.tmp 0",
            "a.pkl 3",
            "it has b.tmp, which step-2 has not",
        );
        check(
            "a.pkl 100 b.pkl 0",
            "a.pkl 100 b.pkl 1",
            "b.pkl has 0 bytes, and 1 in the previous checkpoint step-2",
        );
        check("a.pkl 100 b.txt 0", "a.pkl 100 b.txt 0", "");
        check("a.pkl 100 b.txt 5", "a.pkl 100 b.txt 9", "");
        check("- 10", "- 9", "");
        check("- 9", "- 10", "");
        check(
            "- 8",
            "- 16",
            "it has 8 bytes, and the previous checkpoint step-2 has 16",
        );
        check(
            "- 7",
            "- 16",
            "it has 7 bytes, and 16 in the previous checkpoint step-2",
        );
    }

    /// The reason was "it lacks , which my_exp has".
    #[test]
    fn what_was_an_empty_folder_or_a_file_is_said() {
        let empty = Shape::from_iter([(String::new(), 0)]);
        let lacks = shape("a.pkl 3").lacks(&empty, "my_exp");
        let want = "it is a folder with files, and my_exp was a file or an empty folder";
        assert_eq!(lacks.as_deref(), Some(want));
    }

    #[test]
    fn checkpoints_inside() {
        let check = |text: &str, want: Option<&str>| {
            assert_eq!(shape(text).checkpoint_inside(), want, "{text}");
        };
        check("log 1 checkpoint-15/model.bin 3", Some("checkpoint-15"));
        check(
            "version_0/checkpoints/epoch=1-v.ckpt 3 version_0/metrics.csv 1",
            Some("epoch=1-v.ckpt"),
        );
        check("model-1.safetensors 3 config.json 1", None);
        check("", None);
    }

    #[test]
    fn steps_and_ranks_in_the_names_of_files() {
        check("m-3.r0 5 m-3.r1 5", "m-2.r0 5 m-2.r1 5", "");
        check(
            "m-3.r0 5",
            "m-2.r0 5 m-2.r1 5",
            "it lacks m-2.r0, which step-2 has",
        );
        check("m.r0 5", "m.r0 5 m.r1 5", "it lacks m.r1, which step-2 has");
    }

    #[test]
    fn more_is_written_or_all_is_begun_anew() {
        assert!(shape("- 9").is_grown_from(&shape("- 8")));
        assert!(shape("a 8 b 0").is_grown_from(&shape("a 8")));
        assert!(!shape("- 8").is_grown_from(&shape("- 8")), "another inode");
        assert!(!shape("- 0").is_grown_from(&shape("- 8")));
        assert!(!shape("a 9").is_grown_from(&shape("a 8 b 8")));
    }
}
