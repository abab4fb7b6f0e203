//! What is checked in is what the program says, and the program says enough.

use super::{commands, compatibility, containers, launchers, run_file, slurm_commands};
use crate::commands::{command, example_calls};
use crate::reference::{built, man_pages, shown};
use clap::Command;
use std::path::Path;

/// Compares a page with the file that is checked in; with `UPDATE_EXPECT` the file is written.
#[track_caller]
fn check(file: &str, page: &str) {
    let docs = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"));
    let path = docs.join(file);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, page).expect("docs can be written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = page
        .lines()
        .zip(there.lines())
        .find(|(new, old)| new != old);
    assert!(
        page == there,
        "docs/{file} is not what the program says: \
         UPDATE_EXPECT=1 cargo test --release -p yard-cli --bin yard reference\n{differs:#?}"
    );
}

#[test]
fn the_page_of_run_files_is_up_to_date() {
    check("run-file.md", &run_file::page());
}

#[test]
fn the_page_of_commands_is_up_to_date() {
    check("commands.md", &commands::page(command()));
}

#[test]
fn the_page_of_launchers_is_up_to_date() {
    check("launchers.md", &launchers::page());
}

#[test]
fn the_page_of_containers_is_up_to_date() {
    check("containers.md", &containers::page());
}

#[test]
fn the_page_of_compatibility_is_up_to_date() {
    check("compatibility.md", &compatibility::page());
}

#[test]
fn the_page_of_slurms_commands_is_up_to_date() {
    check("slurm-commands.md", &slurm_commands::page());
}

/// A heading as a code host names it in links.
fn anchor(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading
        .chars()
        .filter(|letter| letter.is_alphanumeric() || "-_ ".contains(*letter));
    kept.collect::<String>().replace(' ', "-")
}

#[test]
fn links_lead_somewhere() {
    let docs = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"));
    for page in [
        run_file::page(),
        launchers::page(),
        commands::page(command()),
        slurm_commands::page(),
    ] {
        let headings = page.lines().filter(|line| line.starts_with('#'));
        let anchors: Vec<String> = headings.map(anchor).collect();
        for link in page.split("](").skip(1) {
            let link = link.split(')').next().unwrap_or_default();
            match link.strip_prefix('#') {
                Some(own) => assert!(anchors.iter().any(|anchor| anchor == own), "#{own}"),
                None if link.starts_with("https://") => {}
                None => assert!(docs.join(link).is_file(), "{link}"),
            }
        }
    }
}

/// Each command, from `yard` on.
fn each(look: &mut dyn FnMut(&Command)) {
    fn below(command: &Command, look: &mut dyn FnMut(&Command)) {
        look(command);
        shown(command).for_each(|sub| below(sub, look));
    }
    below(&built(command()), look);
}

#[test]
fn help_of_every_command_fits_100_columns() {
    each(&mut |command| {
        for help in [
            command.clone().render_help(),
            command.clone().render_long_help(),
        ] {
            for line in help.to_string().lines() {
                assert!(
                    line.chars().count() <= 100,
                    "{}: {line}",
                    command.get_name()
                );
            }
        }
    });
}

#[test]
fn every_command_says_in_a_sentence_what_it_does_and_has_examples() {
    each(&mut |command| {
        let name = command.get_name();
        let about = command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert!(
            about.len() > 10 && !about.ends_with('.'),
            "{name}: {about:?}"
        );
        if shown(command).next().is_none() {
            let examples = command.get_after_help().map(ToString::to_string);
            let examples = examples.unwrap_or_default();
            let hint = "give it examples in commands/examples.rs";
            assert!(examples.starts_with("Examples:\n"), "{name}: {hint}");
        }
    });
}

#[test]
fn every_argument_says_what_it_is() {
    each(&mut |command| {
        for argument in command.get_arguments() {
            let help = argument
                .get_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                !help.is_empty(),
                "{} {}",
                command.get_name(),
                argument.get_id()
            );
        }
    });
}

#[test]
fn examples_can_be_typed() {
    for call in example_calls() {
        let words = call.split(' ');
        if let Err(error) = command().try_get_matches_from(words) {
            panic!("{call}: {error}");
        }
    }
}

#[test]
fn every_command_has_a_man_page() {
    let pages = man_pages(command()).expect("pages can be made");
    let mut count = 0;
    each(&mut |_| count += 1);
    assert_eq!(pages.len(), count);
    let run = pages
        .iter()
        .find(|page| page.path == "run")
        .expect("a page of run");
    let text = String::from_utf8_lossy(&run.bytes);
    assert!(text.contains(r"\-\-gpus\-per\-node"), "{text}");
    assert_eq!(run.file(), "yard-run.1");
}

#[test]
fn every_flag_of_the_table_of_keys_is_one_of_run_and_plan() {
    let keys = train::key_sections()
        .into_iter()
        .flat_map(|section| section.keys);
    let keys: Vec<_> = keys.chain(train::top_keys()).collect();
    each(&mut |command| {
        if !["run", "plan"].contains(&command.get_name()) {
            return;
        }
        for flag in keys.iter().filter_map(|row| row.flag) {
            let own = command
                .get_arguments()
                .find(|arg| arg.get_long() == Some(flag.long));
            let own = own.unwrap_or_else(|| panic!("--{}", flag.long));
            let takes_value = own.get_action().takes_values();
            assert_eq!(takes_value, flag.value.is_some(), "--{}", flag.long);
        }
    });
}
