//! `yard port`

use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::output_file;
use crate::printer::Printer;
use crate::words::shortened;
use clap::Args as ClapArgs;
use cluster_file::ClusterFile;
use lint::port::{Change, Mistake, PortInput, Ported, Question, fits, port};
use model::{counted, wrap};
use runs::cluster_files as files;
use runs::{Described, input_file, places};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use sys::Places;
use sys::users::this_user;

/// Rewrite a batch script for another cluster; what can't be decided comes back as questions
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The script; `-` is standard input
    script: String,
    /// The cluster that it runs on: a name of `yard cluster ls`, or a cluster file; found by what
    /// the script names where it is left out
    #[arg(long)]
    from: Option<String>,
    /// The cluster that it shall run on
    #[arg(long)]
    to: String,
    /// Show what changes as a patch
    #[arg(long)]
    diff: bool,
    /// Write the script there, where there is no file yet; `-` is standard output
    #[arg(long, short, value_name = "FILE", conflicts_with = "diff")]
    output: Option<PathBuf>,
    /// With --output: in place of a file that is there
    #[arg(long, requires = "output")]
    force: bool,
    /// As JSON
    #[arg(long, conflicts_with = "diff")]
    json: bool,
}

/// No script that sbatch takes is larger.
const LARGEST: usize = 4 << 20;

/// Runs `yard port`. The script goes to standard output, reasons and questions to standard error.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let script = read_script(&args.script)?;
    let text = &script.text;
    let places = places()?;
    let to = cluster(&args.to, &places, printer)?;
    let from = match &args.from {
        Some(from) => cluster(from, &places, printer)?,
        None => guessed(&places, args, text, printer)?,
    };
    let name = args.script.rsplit('/').next().unwrap_or(&args.script);
    let ported = port(&PortInput {
        name,
        text,
        from: &from,
        to: &to,
        user: Some(this_user()),
    });
    let output = args.output.as_deref();
    let output = output.filter(|path| path.as_os_str() != input_file::STDIN);
    if let Some(output) = output {
        write(output, &script.bytes_of(&ported.text), args.force)?;
    }
    // What sbatch refuses no cluster takes, ported or not.
    let code = if ported.refused.is_empty() {
        exit_code::DONE
    } else {
        exit_code::FOUND
    };
    if args.json {
        printer.line(&as_json(&ported, &script, &from, &to).to_string());
        return Ok(code);
    }
    if args.diff {
        let diff = lint::render::diff(text, &ported.text, &args.script);
        printer.patch(&script.bytes_of(&diff));
    } else if output.is_none() {
        printer.patch(&script.bytes_of(&ported.text));
    }
    report(&ported, &from, &to, printer);
    Ok(code)
}

/// A cluster by name, as it answers where it is here.
fn cluster(name: &str, places: &Places, printer: &Printer) -> Result<ClusterFile, Failure> {
    let (cluster, notes) = Described::named(name, places)?;
    for note in notes {
        printer.say(&format!("note: {note}"));
    }
    cluster.file()
}

/// Where the file has no other name, whoever reads it finds the old text or the new.
fn write(output: &Path, bytes: &[u8], force: bool) -> Result<(), Failure> {
    let wrong = |error: std::io::Error| {
        let failure = Failure::new(
            FailureKind::Io,
            format!("{} can't be written: {error}", output.display()),
        );
        match error.kind() {
            ErrorKind::AlreadyExists => failure
                .there("a file of that name, which stays as it is")
                .todo("name another file with --output, or add --force"),
            _ => failure.todo("name another file with --output"),
        }
    };
    if force {
        output_file::replace(output, bytes).map_err(wrong)?
    } else {
        sys::atomic::create(output, bytes).map(drop).map_err(wrong)
    }
}

/// A script as it was read.
struct ScriptText {
    text: String,
    /// It was no UTF-8: each of its bytes is one character of the text.
    bytewise: bool,
}

impl ScriptText {
    fn of(bytes: Vec<u8>) -> ScriptText {
        match String::from_utf8(bytes) {
            Ok(text) => ScriptText {
                text,
                bytewise: false,
            },
            Err(error) => ScriptText {
                text: error.into_bytes().into_iter().map(char::from).collect(),
                bytewise: true,
            },
        }
    }

    /// The bytes of a text that was made of it: what wasn't changed is as it was.
    fn bytes_of(&self, text: &str) -> Vec<u8> {
        if !self.bytewise {
            return text.as_bytes().to_vec();
        }
        let mut bytes = Vec::with_capacity(text.len());
        for letter in text.chars() {
            match u8::try_from(u32::from(letter)) {
                Ok(byte) => bytes.push(byte),
                // From a cluster file, which is UTF-8.
                Err(_) => bytes.extend(letter.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
        bytes
    }
}

fn read_script(name: &str) -> Result<ScriptText, Failure> {
    let bytes = input_file::read(Path::new(name))?.bytes;
    if bytes.len() > LARGEST {
        return Err(Failure::new(
            FailureKind::Io,
            format!("{name} is over 4 MiB, which sbatch doesn't take"),
        )
        .todo("name a batch script, or - for standard input"));
    }
    Ok(ScriptText::of(bytes))
}

/// The one cluster whose partitions, accounts, GPUs, features or folders the script names.
fn guessed(
    places: &Places,
    args: &Args,
    text: &str,
    printer: &Printer,
) -> Result<ClusterFile, Failure> {
    let (texts, _) = files::all(places);
    let all: Vec<ClusterFile> = texts
        .iter()
        .filter_map(|text| ClusterFile::parse(&text.name, &text.text).ok())
        .collect();
    let fits = fits(&args.script, text, &all);
    let names: Vec<&str> = fits
        .iter()
        .map(|(cluster, _)| cluster.name.as_str())
        .collect();
    match &fits[..] {
        [(cluster, found)] => {
            printer.say(&format!(
                "from {}: the script names {}",
                cluster.name,
                found.join(", ")
            ));
            Ok((*cluster).clone())
        }
        fits => {
            let all: Vec<&str> = all.iter().map(|cluster| cluster.name.as_str()).collect();
            Err(Failure::new(
                FailureKind::Usage,
                "for which cluster the script was written is not clear",
            )
            .asked(format!("yard port {} --to {}", args.script, args.to))
            .there(if fits.is_empty() {
                format!("it names nothing of {}", all.join(", "))
            } else {
                format!("it could be {}", names.join(" or "))
            })
            .todo("say it with --from"))
        }
    }
}

/// What was changed and why, and what is left to decide.
fn report(ported: &Ported, from: &ClusterFile, to: &ClusterFile, printer: &Printer) {
    if !ported.refused.is_empty() {
        printer.say(&format!(
            "sbatch refuses the script as it is, on {} too; this port doesn't correct that",
            from.name
        ));
    }
    for mistake in &ported.refused {
        printer.say(&at(mistake.line, &mistake.words));
    }
    printer.say(&format!(
        "{} to {}: {}, {}",
        from.name,
        to.name,
        counted(ported.changes.len(), "change"),
        counted(ported.questions.len(), "question"),
    ));
    for change in &ported.changes {
        printer.say(&format!(
            "  line {:<4} {}",
            change.line,
            shortened(&step(change), 88)
        ));
        printer.say(&below(&change.why));
    }
    if !ported.questions.is_empty() {
        printer.say("questions");
    }
    for question in &ported.questions {
        printer.say(&at(question.line, &question.about));
        printer.say(&below(&question.ask));
    }
}

/// Where a reason begins.
const BELOW: &str = "            ";

/// What concerns a line of the script, or all of it.
fn at(line: Option<usize>, text: &str) -> String {
    let place = line.map_or("  script    ".to_owned(), |line| {
        format!("  line {line:<4} ")
    });
    wrapped(&place, BELOW, text)
}

/// A reason, or a question, below what it concerns. It goes on a little deeper.
fn below(text: &str) -> String {
    wrapped(BELOW, &format!("{BELOW}  "), text)
}

fn wrapped(head: &str, more: &str, text: &str) -> String {
    let mut shown = String::new();
    wrap(&mut shown, head, more, text);
    shown.pop();
    shown
}

fn step(change: &Change) -> String {
    // A line's end that is continued is no word.
    let line = |text: &str| {
        let words = text.split_whitespace().filter(|word| *word != "\\");
        words.collect::<Vec<_>>().join(" ")
    };
    match (line(&change.from).as_str(), line(&change.to).as_str()) {
        ("", to) => format!("+ {to}"),
        (from, "") => format!("- {from}"),
        (from, to) => format!("{from} → {to}"),
    }
}

fn as_json(ported: &Ported, script: &ScriptText, from: &ClusterFile, to: &ClusterFile) -> Value {
    let mistake = |mistake: &Mistake| json!({ "line": mistake.line, "message": mistake.words });
    let change = |change: &Change| json!({ "line": change.line, "from": change.from, "to": change.to, "why": change.why });
    let question = |question: &Question| json!({ "line": question.line, "about": question.about, "ask": question.ask });
    json!({
        "from": from.name,
        "to": to.name,
        "text": ported.text,
        "encoding": if script.bytewise { "latin-1" } else { "utf-8" },
        "refused": ported.refused.iter().map(mistake).collect::<Vec<_>>(),
        "changes": ported.changes.iter().map(change).collect::<Vec<_>>(),
        "questions": ported.questions.iter().map(question).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::narrow::narrowed;

    #[test]
    fn a_reason_is_broken_once_whatever_the_width() {
        let reason = "it runs on v100 now; wilson has other GPUs too, and calls these \
                      v100nvlinkppc64 where nodes are ppc64le, as satori's";
        assert_eq!(
            narrowed(&below(reason), 80, false),
            "            it runs on v100 now; wilson has other GPUs too, and calls these\n              \
             v100nvlinkppc64 where nodes are ppc64le, as satori's"
        );
    }
}
