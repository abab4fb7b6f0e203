//! What an ignore file leaves out of the files beside a recipe: `.containerignore`, or else `.dockerignore`; one that
//! begins with the recipe's own name goes before both.

use globset::{GlobBuilder, GlobMatcher};
use std::fs;
use std::path::Path;

/// The patterns, in their order: the last that says something of a file, or of a folder that it is in, counts.
#[derive(Debug, Default)]
pub struct Ignored(Vec<Pattern>);

#[derive(Debug)]
struct Pattern {
    glob: GlobMatcher,
    /// Begins with `!`: what it says stays.
    stays: bool,
}

impl Ignored {
    /// Of the recipe `name` in a folder.
    pub fn of(beside: &Path, name: &str) -> Ignored {
        let names = [&format!("{name}."), "."].map(|before| {
            ["containerignore", "dockerignore"].map(|after| beside.join(format!("{before}{after}")))
        });
        let text = names
            .iter()
            .flatten()
            .find_map(|path| fs::read_to_string(path).ok());
        text.map_or_else(Ignored::default, |text| Ignored::read(&text))
    }

    fn read(text: &str) -> Ignored {
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let pattern = |line: &str| {
            let (stays, glob) = match line.strip_prefix('!') {
                Some(rest) => (true, rest.trim()),
                None => (false, line),
            };
            // All are relative to the folder, however they are written; braces mean nothing.
            let parts = glob.split('/').filter(|part| !["", "."].contains(part));
            let glob = parts.collect::<Vec<_>>().join("/");
            let glob = glob.replace('{', "[{]").replace('}', "[}]");
            let glob = GlobBuilder::new(&glob).literal_separator(true).build();
            // One that is no pattern leaves out nothing, as it names nothing.
            Some(Pattern {
                glob: glob.ok()?.compile_matcher(),
                stays,
            })
        };
        Ignored(lines.filter_map(pattern).collect())
    }

    /// Whether nothing is left out.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a file or folder at a path below the recipe's folder is left out. Of a folder `false` where something in
    /// it may stay.
    pub fn leaves_out(&self, path: &Path, is_folder: bool) -> bool {
        if is_folder && self.0.iter().any(|pattern| pattern.stays) {
            return false;
        }
        let says = |pattern: &&Pattern| {
            let mut all = path.ancestors().filter(|path| !path.as_os_str().is_empty());
            all.any(|path| pattern.glob.is_match(path))
        };
        self.0
            .iter()
            .rev()
            .find(says)
            .is_some_and(|last| !last.stays)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, left_out: &[&str], stay: &[&str]) {
        let ignored = Ignored::read(text);
        for (paths, want) in [(left_out, true), (stay, false)] {
            for path in paths {
                assert_eq!(
                    ignored.leaves_out(Path::new(path), false),
                    want,
                    "{path}: {text}"
                );
            }
        }
    }

    #[test]
    fn as_docker_reads_it() {
        check(
            "# no\n\ndata\n/out/\n",
            &["data", "data/a/b", "out/x"],
            &["a/data", "# no", "src"],
        );
        check(
            "*.pyc\n**/*.tmp\n",
            &["a.pyc", "a.tmp", "d/e/a.tmp"],
            &["d/a.pyc"],
        );
        check(
            "*\n!src\n!./a.py\n",
            &["b", "data/x"],
            &["src", "src/x/y", "a.py"],
        );
        check("*/temp*\n", &["d/temp1", "d/temp/x"], &["temp", "d/e/temp"]);
        check("a\n!a/b\na\n", &["a/b"], &[]);
        check("d/**\n!d/keep\n", &["d/x"], &["d/keep", "d"]);
        check("{a,b}\n[\n", &["{a,b}"], &["a", "["]);
        check("", &[], &["a"]);
    }

    #[test]
    fn a_folder_is_left_out_where_nothing_in_it_stays() {
        let path = Path::new("data");
        assert!(Ignored::read("data").leaves_out(path, true));
        assert!(!Ignored::read("data\n!data/x").leaves_out(path, true));
    }

    #[test]
    fn the_recipe_s_own_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let leaves_out = |path: &str| {
            let ignored = Ignored::of(folder.path(), "Dockerfile");
            ignored.leaves_out(Path::new(path), false)
        };
        assert!(!leaves_out("d"));
        for (name, left_out) in [
            (".dockerignore", "d"),
            (".containerignore", "c"),
            ("Dockerfile.dockerignore", "own"),
        ] {
            fs::write(folder.path().join(name), left_out).unwrap();
            assert!(leaves_out(left_out), "{name}");
        }
        assert!(!leaves_out("d"));
    }
}
