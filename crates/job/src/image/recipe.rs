//! The files that a recipe copies into its image: what it makes changes with them.

use std::path::{Path, PathBuf};
use train::Image;

/// What a recipe with this text copies from this machine, in its order; `beside` is the folder that it lies in, to
/// which names are relative. Of a name with a wildcard or a variable it is the folder that all it can stand for is in.
pub fn copied(recipe: &Image, text: &str, beside: &Path) -> Vec<PathBuf> {
    let names = match recipe {
        Image::Dockerfile(_) => of_dockerfile(text),
        Image::Definition(_) => of_definition(text),
        _ => Vec::new(),
    };
    let is_dockerfile = matches!(recipe, Image::Dockerfile(_));
    let place = |name: &String| {
        let fixed = fixed_part(name);
        if is_dockerfile {
            // An absolute one counts from the folder too.
            beside.join(fixed.trim_start_matches('/'))
        } else {
            beside.join(fixed)
        }
    };
    names.iter().map(place).collect()
}

/// The folders before the first part of a path that is not the same whatever it stands for.
fn fixed_part(name: &str) -> String {
    let is_open = |part: &&str| part.contains(['*', '?', '[', '$', '{']);
    if !name.split('/').any(|part| is_open(&part)) {
        return name.to_owned();
    }
    let parts: Vec<&str> = name.split('/').take_while(|part| !is_open(part)).collect();
    match parts[..] {
        [""] => "/".to_owned(),
        _ => parts.join("/"),
    }
}

/// The sources of `COPY` and `ADD`, but for those of another stage, an address or the recipe itself.
fn of_dockerfile(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in joined(text) {
        let line = line.trim();
        let (instruction, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if !["COPY", "ADD"].contains(&&*instruction.to_uppercase()) {
            continue;
        }
        let mut rest = rest.trim();
        let mut is_of_a_stage = false;
        while let Some(option) = rest.strip_prefix("--") {
            is_of_a_stage |= option.starts_with("from=");
            let after = option.split_once(char::is_whitespace);
            rest = after.map_or("", |(_, after)| after.trim_start());
        }
        if is_of_a_stage {
            continue;
        }
        let words: Vec<String> = serde_json::from_str(rest).unwrap_or_else(|_| words(rest));
        let sources = words.split_last().map_or(&[][..], |(_, sources)| sources);
        let is_file = |name: &&String| !name.contains("://") && !name.starts_with("<<");
        names.extend(sources.iter().filter(is_file).cloned());
    }
    names
}

/// The sources of `%files`, but for those of another stage; and the image that it is made from, where that is a file.
fn of_definition(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut is_local, mut is_files) = (false, false);
    for line in joined(text) {
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        if let Some(section) = line.strip_prefix('%') {
            let mut words = section.split_whitespace();
            let name = words.next().unwrap_or_default();
            is_files = name == "files" && words.next() != Some("from") || name == "appfiles";
        } else if is_files {
            names.extend(words(line).into_iter().next());
        } else if let Some((key, value)) = line.split_once(':') {
            let (key, value) = (key.trim().to_lowercase(), value.trim());
            match &*key {
                "bootstrap" => is_local = value == "localimage",
                "from" if is_local => names.push(value.to_owned()),
                _ => {}
            }
        }
    }
    names
}

/// Lines, those that end with a backslash joined with the next; comments between them are left out.
fn joined(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = String::new();
    for line in text.lines() {
        if !open.is_empty() && line.trim_start().starts_with('#') {
            continue;
        }
        open.push_str(line.trim_end());
        if open.ends_with('\\') {
            open.pop();
            open.push(' ');
        } else {
            lines.push(std::mem::take(&mut open));
        }
    }
    lines.push(open);
    lines
}

/// Words, without quotes around them.
fn words(text: &str) -> Vec<String> {
    let words = text.split_whitespace();
    words
        .map(|word| word.trim_matches(['"', '\'']).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(recipe: &str, text: &str, want: &[&str]) {
        let image = if recipe.ends_with(".def") {
            Image::Definition(recipe.into())
        } else {
            Image::Dockerfile(recipe.into())
        };
        let beside = Path::new("/r");
        let found = copied(&image, text, beside);
        let want: Vec<PathBuf> = want.iter().map(PathBuf::from).collect();
        assert_eq!(found, want, "{text}");
    }

    #[test]
    fn what_a_dockerfile_copies() {
        let file = "/r/Dockerfile";
        check(
            file,
            "FROM a\nCOPY x y /to/\nRUN COPY z /\n",
            &["/r/x", "/r/y"],
        );
        check(file, "copy --chown=1:1 --link x /\n", &["/r/x"]);
        check(file, "COPY --from=build /x /x\nADD https://h/x /x\n", &[]);
        check(file, "ADD [\"a b\", \"c\", \"/to\"]\n", &["/r/a b", "/r/c"]);
        check(
            file,
            "COPY x \\\n# why\n  y \\\n  /to\nCOPY z /\n",
            &["/r/x", "/r/y", "/r/z"],
        );
        check(
            file,
            "COPY src/*.py /to\nCOPY $WHAT /to\n",
            &["/r/src", "/r/"],
        );
        check(file, "COPY . /app\nCOPY /etc /etc\n", &["/r/.", "/r/etc"]);
        check(file, "COPY <<EOF /x\nCOPY\nEOF\n# COPY w /\n", &[]);
    }

    #[test]
    fn what_a_definition_copies() {
        let file = "/r/a.def";
        let text = "Bootstrap: docker\nFrom: ubuntu\n%files\n  x /to\n  # no\n  /etc/y\n%post\n  z\n\
                    %files from build\n  w /w\n%appfiles one\n  v/* v\n";
        check(file, text, &["/r/x", "/etc/y", "/r/v"]);
        check(
            file,
            "Bootstrap: localimage\nFrom: base.sif\n",
            &["/r/base.sif"],
        );
    }
}
