//! The words of commands that start containers: options, image, and where the program begins.

use crate::shell::{Command, Word};
use model::option_table::{OPTIONS, Takes};
use std::ops::Range;

/// What a container command says.
#[derive(Default)]
pub(super) struct Run {
    pub image: Option<String>,
    pub mounts: Vec<String>,
    /// Quotes stood around some of it.
    pub quoted: bool,
    pub workdir: Option<String>,
    /// What it writes stays in the container's file system.
    pub writable: bool,
    /// Options that have no counterpart.
    pub lost: Vec<String>,
}

/// Pyxis's options of an `srun`.
pub(super) struct Found<'a> {
    pub run: Run,
    pub words: Vec<&'a Range<usize>>,
}

pub(super) fn pyxis<'a>(words: &'a [Word<'_>]) -> Option<Found<'a>> {
    let end = program_of_srun(words).unwrap_or(words.len());
    let mut found = Found {
        run: Run::default(),
        words: Vec::new(),
    };
    for word in &words[1..end.max(1)] {
        let text = &*word.text;
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        match name {
            "--container-image" => found.run.image = Some(value.to_owned()),
            "--container-mounts" => found.run.mounts.extend(value.split(',').map(str::to_owned)),
            "--container-workdir" => found.run.workdir = Some(value.to_owned()),
            "--no-container-entrypoint" => {}
            name if name.starts_with("--container-") || name.starts_with("--no-container-") => {
                found.run.lost.push(text.to_owned());
            }
            _ => continue,
        }
        found.words.push(&word.range);
    }
    (!found.words.is_empty()).then_some(found)
}

/// Where the program stands among the words of an `srun`; none where it names none.
pub(super) fn program_of_srun(words: &[Word<'_>]) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let text = &*word.text;
        if text == "--" {
            return (at + 1 < words.len()).then_some(at + 1);
        }
        if !text.starts_with('-') || text == "-" {
            return Some(at);
        }
        at += 1;
        let takes = |takes: Takes| takes == Takes::Required;
        let next = match text.strip_prefix("--") {
            Some(name) if name.contains('=') => false,
            Some(name) => OPTIONS
                .iter()
                .any(|option| option.long == name && takes(option.takes)),
            // `-N1` has its value, `-N 1` has it in the next word.
            None => {
                text.chars().count() == 2
                    && OPTIONS.iter().any(|option| {
                        option.short.map(String::from).as_deref() == text.get(1..)
                            && takes(option.takes)
                    })
            }
        };
        at += usize::from(next);
    }
    None
}

/// Options of `singularity exec`, the image, and where the program stands.
pub(super) fn starter_options(words: &[Word<'_>]) -> Option<(Run, usize)> {
    const VALUED: [&str; 14] = [
        "-B",
        "--bind",
        "--pwd",
        "--cwd",
        "-H",
        "--home",
        "-W",
        "--workdir",
        "-S",
        "--scratch",
        "--env",
        "--env-file",
        "--overlay",
        "--network",
    ];
    let mut run = Run::default();
    let mut at = 2;
    while let Some(word) = words.get(at) {
        let text = &*word.text;
        if !text.starts_with('-') {
            run.image = Some(text.to_owned());
            return Some((run, at + 1));
        }
        at += 1;
        let (name, mut value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        if value.is_none() && VALUED.contains(&name) {
            value = Some(words.get(at)?.text.clone().into_owned());
            at += 1;
        }
        match (name, value) {
            // Pyxis always has the GPUs.
            ("--nv" | "--rocm", _) => {}
            ("-B" | "--bind", Some(mounts)) => {
                for mount in mounts.split(',') {
                    // A folder alone is bound to itself.
                    run.mounts.push(if mount.contains(':') {
                        mount.to_owned()
                    } else {
                        format!("{mount}:{mount}")
                    });
                }
            }
            ("-w" | "--writable", None) => run.writable = true,
            ("--pwd" | "--cwd", Some(folder)) => run.workdir = Some(folder),
            (name, Some(value)) => run.lost.push(format!("{name}={value}")),
            (name, None) => run.lost.push(name.to_owned()),
        }
    }
    None
}

/// `docker://nvcr.io/nvidia/x` → `nvcr.io#nvidia/x`.
pub(super) fn pyxis_image(image: &str) -> String {
    match image.strip_prefix("docker://") {
        Some(rest) => match rest.split_once('/') {
            Some((host, path)) if host.contains('.') => format!("{host}#{path}"),
            _ => rest.to_owned(),
        },
        None => image.to_owned(),
    }
}

/// Pyxis's name of an image for Singularity, and whether it is a file that only Enroot reads.
pub(super) fn starter_image(image: &str) -> (String, bool) {
    let is_path = image.starts_with(['/', '.', '$', '~']);
    match (image.split_once('#'), is_path) {
        (Some((host, path)), false) => (format!("docker://{host}/{path}"), false),
        (None, false) if !image.ends_with(".sqsh") && !image.ends_with(".sif") => {
            (format!("docker://{image}"), false)
        }
        _ => (image.to_owned(), image.ends_with(".sqsh")),
    }
}

/// Whether a byte of the script names a folder inside of a container: it stands in the words of the
/// program that runs there, or is where that begins.
pub(super) fn is_inside(command: &Command<'_>, at: usize) -> bool {
    let mut words = command.program();
    let Some(place) = words.iter().position(|word| word.range.contains(&at)) else {
        return false;
    };
    if begins_there(words, place) {
        return true;
    }
    let mut place = Some(place);
    if words[0].text == "srun" {
        let Some(program) = program_of_srun(words) else {
            return false;
        };
        if pyxis(words).is_some() {
            return place >= Some(program);
        }
        words = &words[program..];
        place = place.and_then(|place| place.checked_sub(program));
    }
    let starts = matches!(&*words[0].text, "singularity" | "apptainer");
    let runs = words
        .get(1)
        .is_some_and(|verb| matches!(&*verb.text, "exec" | "run"));
    match starter_options(words) {
        Some((_, program)) if starts && runs => place >= Some(program),
        _ => false,
    }
}

/// `--pwd /x`, `--container-workdir=/x`
fn begins_there(words: &[Word<'_>], place: usize) -> bool {
    const OPTIONS: [&str; 3] = ["--container-workdir", "--pwd", "--cwd"];
    let before = place.checked_sub(1).and_then(|before| words.get(before));
    let own = words[place].text.split_once('=');
    own.is_some_and(|(name, _)| OPTIONS.contains(&name))
        || before.is_some_and(|before| OPTIONS.contains(&&*before.text))
}
