//! Man pages.

use super::{built, shown};
use clap::Command;
use std::io;

/// A man page.
#[derive(Debug)]
pub struct Page {
    /// The command's words after `yard`, with blanks; empty for `yard` itself.
    pub path: String,
    /// What it is in.
    pub bytes: Vec<u8>,
}

impl Page {
    /// The name of its file.
    pub fn file(&self) -> String {
        let words = self.path.split(' ').filter(|word| !word.is_empty());
        let words: Vec<&str> = std::iter::once("yard").chain(words).collect();
        format!("{}.1", words.join("-"))
    }
}

/// The page of a command, and of each below it.
pub fn pages(command: Command) -> io::Result<Vec<Page>> {
    let mut pages = Vec::new();
    add(&built(command), "", &mut pages)?;
    Ok(pages)
}

fn add(command: &Command, path: &str, pages: &mut Vec<Page>) -> io::Result<()> {
    let examples = command.get_after_help().map(ToString::to_string);
    let page = command.clone();
    let mut bytes = Vec::new();
    let man = clap_mangen::Man::new(page)
        .source(format!("yard {}", env!("CARGO_PKG_VERSION")))
        .manual("Trainyard");
    man.render_title(&mut bytes)?;
    man.render_name_section(&mut bytes)?;
    man.render_synopsis_section(&mut bytes)?;
    man.render_description_section(&mut bytes)?;
    man.render_options_section(&mut bytes)?;
    if shown(command).next().is_some() {
        man.render_subcommands_section(&mut bytes)?;
    }
    bytes.extend(section_of(&examples.unwrap_or_default()).into_bytes());
    pages.push(Page {
        path: path.to_owned(),
        bytes,
    });
    for sub in shown(command) {
        let path = format!("{path} {}", sub.get_name());
        add(sub, path.trim_start(), pages)?;
    }
    Ok(())
}

/// The examples as a section, line by line as they are.
fn section_of(examples: &str) -> String {
    let Some((_, examples)) = examples.split_once('\n') else {
        return String::new();
    };
    let examples = examples.replace('\\', "\\e").replace('-', "\\-");
    format!(".SH EXAMPLES\n.nf\n{examples}\n.fi\n")
}
