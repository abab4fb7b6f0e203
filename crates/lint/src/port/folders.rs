//! Where a script names a folder of a cluster, and in what surroundings.

use std::ops::Range;

/// How people write the user's name in a path.
const USER_FORMS: [&str; 6] = [
    "${USER}",
    "$USER",
    "$(whoami)",
    "`whoami`",
    "$(id -un)",
    "$LOGNAME",
];

/// Where a text names a folder of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Its bytes.
    pub range: Range<usize>,
    /// How the user's name is written in it, where the folder has one.
    pub user: User,
}

/// Whose folder it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum User {
    /// The folder has no user's name in it.
    Unnamed,
    /// Of whoever runs the script, written so.
    Whoever(String),
    /// Of the person of that name, who may be another.
    Named(String),
}

/// Where a text names a folder of a cluster, in the order of the text.
pub(super) fn find(text: &str, folder: &str) -> Vec<Place> {
    let (before, after) = match folder.split_once("$USER") {
        Some((before, after)) => (before, Some(after)),
        None => (folder, None),
    };
    let mut found = Vec::new();
    for before in spellings(before) {
        let mut from = 0;
        while let Some(at) = text.get(from..).and_then(|rest| rest.find(&before)) {
            let start = from + at;
            from = start + before.len();
            // `/data/tmp` is not `/tmp`.
            let joined =
                text[..start].ends_with(|c: char| c.is_alphanumeric() || "_/.-}".contains(c));
            if joined {
                continue;
            }
            let rest = &text[from..];
            let (user, length) = match after {
                None => (User::Unnamed, 0),
                Some(after) => {
                    let Some((user, length)) = user_of(rest) else {
                        continue;
                    };
                    if !rest[length..].starts_with(after) {
                        continue;
                    }
                    (user, length + after.len())
                }
            };
            // `/scratch2` is not `/scratch`.
            let next = text[from + length..].chars().next();
            if next.is_some_and(|c| c.is_alphanumeric() || "_-.".contains(c))
                && !before.ends_with('/')
            {
                continue;
            }
            if next.is_some_and(|c| c.is_alphanumeric() || "_-.".contains(c)) && after.is_some() {
                continue;
            }
            found.push(Place {
                range: start..from + length,
                user,
            });
            from += length;
        }
    }
    found.sort_by_key(|place| place.range.start);
    found
}

/// A folder as it may be written: a variable with and without braces.
fn spellings(folder: &str) -> Vec<String> {
    match folder.strip_prefix('$') {
        Some(name) if name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric()) => {
            vec![format!("${{{name}}}"), folder.to_owned()]
        }
        _ => vec![folder.to_owned()],
    }
}

/// The user's name at the start of a text, and its length: a variable, or a plain name.
fn user_of(text: &str) -> Option<(User, usize)> {
    if let Some(form) = USER_FORMS.iter().find(|form| text.starts_with(**form)) {
        return Some((User::Whoever((*form).to_owned()), form.len()));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
    let end = text.find(|c| !plain(c)).unwrap_or(text.len());
    (end > 0).then(|| (User::Named(text[..end].to_owned()), end))
}

/// Whether a text names a folder of a cluster.
pub(super) fn mentions(text: &str, folder: &str) -> bool {
    !find(text, folder).is_empty()
}

/// What stands before a colon that stands before a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// No colon: the path stands for itself.
    Nothing,
    /// Another machine's name, or what may be one: `host:/path`.
    Host,
    /// A folder outside of a container, of which this is the one inside: `/data:/path`.
    Mount,
    /// Other folders, as in `PATH=/bin:/path`.
    List,
}

/// Options whose values are folders outside and inside of a container, with colons between them.
const BINDS: [&str; 6] = [
    "-B",
    "--bind",
    "-v",
    "--volume",
    "--container-mounts",
    "--overlay",
];

/// What a path at that byte stands behind.
pub(super) fn before(text: &str, at: usize) -> Before {
    let Some(rest) = text[..at].strip_suffix(':') else {
        return Before::Nothing;
    };
    let start = rest.rfind(|c: char| c.is_whitespace() || "\"'`(;&|<>".contains(c));
    let word = &rest[start.map_or(0, |start| start + 1)..];
    let (name, value) = word.split_once('=').unwrap_or(("", word));
    // `-B $X:/y`, and `--bind="$X:/y"`, where the quote ends the word that was looked at.
    let option = match name {
        "" => {
            let before = &text[..rest.len() - word.len()];
            before
                .trim_end_matches(['"', '\''])
                .split_whitespace()
                .next_back()
        }
        name => Some(name),
    };
    let option = option.map_or("", |option| option.trim_end_matches('='));
    let name = name.to_ascii_uppercase();
    let variable = option.to_ascii_uppercase();
    let binds = BINDS.contains(&option)
        || ["_BIND", "_BINDPATH"]
            .iter()
            .any(|end| variable.ends_with(end));
    if binds {
        return Before::Mount;
    }
    if !name.starts_with('-') && (name.ends_with("PATH") || name.ends_with("DIRS")) {
        return Before::List;
    }
    let last = value.rsplit(',').next().unwrap_or(value);
    if last.contains('/') || last.starts_with(['~', '.']) {
        Before::Mount
    } else {
        Before::Host
    }
}

/// Whether the shell would expand a variable at that byte of a line: not between single quotes.
pub(super) fn expands(line: &str, at: usize) -> bool {
    let (mut single, mut double, mut escaped) = (false, false, false);
    for byte in line.bytes().take(at) {
        match byte {
            _ if std::mem::take(&mut escaped) => {}
            b'\\' if !single => escaped = true,
            b'\'' if !double => single = !single,
            b'"' if !single => double = !double,
            _ => {}
        }
    }
    !single && !escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, folder: &str, want: &[&str]) {
        let found = find(text, folder);
        let found: Vec<&str> = found
            .iter()
            .map(|place| &text[place.range.clone()])
            .collect();
        assert_eq!(found, want);
    }

    #[test]
    fn folders_are_found_as_people_write_them() {
        check(
            "H=/nobackup/users/$(whoami)/x; cd /nobackup/users/${USER} /nobackup/users/ann/y /nobackup2/users/ann",
            "/nobackup/users/$USER",
            &[
                "/nobackup/users/$(whoami)",
                "/nobackup/users/${USER}",
                "/nobackup/users/ann",
            ],
        );
        check(
            "a=/tmp/$X b=/data/tmp c=/tmp2 d=/tmp",
            "/tmp",
            &["/tmp", "/tmp"],
        );
        check(
            "$SLURM_TMPDIR/a ${SLURM_TMPDIR} $SLURM_TMPDIRS",
            "$SLURM_TMPDIR",
            &["$SLURM_TMPDIR", "${SLURM_TMPDIR}"],
        );
        check("/nashome/a", "/nashome", &["/nashome"]);
    }

    #[test]
    fn whose_folder_it_is() {
        let user = |text: &str| find(text, "/home/$USER").pop().map(|place| place.user);
        assert_eq!(
            user("/home/$USER/a"),
            Some(User::Whoever("$USER".to_owned()))
        );
        assert_eq!(user("/home/ann/a"), Some(User::Named("ann".to_owned())));
        assert_eq!(user("/home/"), None);
        let folder = find("/data/x", "/data").pop().map(|place| place.user);
        assert_eq!(folder, Some(User::Unnamed));
    }

    #[track_caller]
    fn check_before(text: &str, want: Before) {
        let at = text.find('«').expect("a mark");
        assert_eq!(before(&text.replace('«', ""), at), want, "{text}");
    }

    #[test]
    fn what_a_path_stands_behind() {
        check_before("cd «/nobackup", Before::Nothing);
        check_before("scp a host:«/nobackup", Before::Host);
        check_before("rsync -a ann@host.edu:«/nobackup .", Before::Host);
        check_before("rsync $HOST:«/nobackup .", Before::Host);
        check_before("singularity exec -B /a:«/nobackup", Before::Mount);
        check_before(
            "srun --container-mounts=/a:/b,$X/c:«/nobackup",
            Before::Mount,
        );
        check_before("singularity run -B $TMPDIR:«/tmp", Before::Mount);
        check_before("apptainer run --bind=$A,$B:«/tmp", Before::Mount);
        check_before("export SINGULARITY_BIND=\"$X:«/tmp\"", Before::Mount);
        check_before("export SINGULARITY_BINDPATH=$X:«/tmp", Before::Mount);
        check_before("export PATH=$PATH:«/nobackup", Before::List);
        check_before("PYTHONPATH=/a:«/nobackup", Before::List);
    }

    #[test]
    fn where_variables_are_expanded() {
        let line = r#"a '/x' "/x" "it's /x" \'/x"#;
        let places = line.match_indices("/x").map(|(at, _)| expands(line, at));
        assert_eq!(places.collect::<Vec<_>>(), [false, true, true, true]);
    }
}
