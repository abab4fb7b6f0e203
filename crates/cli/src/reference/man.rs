//! Man pages.

use super::built;
use clap::Command;
use std::io;

/// A man page.
#[derive(Debug)]
pub struct Page {
    /// The command's words behind `yard`, with blanks; empty for `yard` itself.
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
    // Clap's own `help` has a page of no use.
    let page = command.clone().disable_help_subcommand(true);
    let mut bytes = Vec::new();
    let man = clap_mangen::Man::new(page)
        .source(format!("yard {}", env!("CARGO_PKG_VERSION")))
        .manual("Trainyard");
    man.render(&mut bytes)?;
    pages.push(Page {
        path: path.to_owned(),
        bytes,
    });
    for sub in super::shown(command) {
        let path = format!("{path} {}", sub.get_name());
        add(sub, path.trim_start(), pages)?;
    }
    Ok(())
}
