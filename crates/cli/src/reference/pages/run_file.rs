//! `docs/run-file.md`

use super::table;
use train::{INPUT_VARIABLES, KeyRow, Launcher, PLACEHOLDERS, SectionRow, Value};

/// The page.
pub fn page() -> String {
    let mut page = INTRO.to_owned();
    page.push_str(&keys("", &train::top_keys()));
    page.push_str(&launchers());
    for section in train::key_sections() {
        page.push_str(&self::section(&section));
    }
    page.push_str(CLUSTERS);
    page.push_str(&keys("config", &train::config_keys()));
    page.push_str(&placeholders());
    page.push_str(&variables());
    page
}

const INTRO: &str = r#"# Run files

<!-- Made of the tables that the program reads (crates/train/src/keys, placeholders.rs, env_vars.rs):
     UPDATE_EXPECT=1 cargo test --release -p yard-cli --bin yard reference -->

A run file describes a training run once: `yard.toml` beside the training script. `yard init` writes
one, `yard plan` shows what comes of it and where each value is from, `yard run` runs it. The
[commands](commands.md) have a page of their own.

```toml
name = "digits"
launcher = "jax"
command = ["python", "train.py", "--resume-from", "{resume}", "--write-to", "{checkpoints}"]

[resources]
ranks_per_node = 2
time = "25s"

[environment]
requirements = "requirements.txt"
```

It is written in [TOML](https://toml.io): text stands in quotes, an array in brackets, and what belongs
to no section stands above the first one. An unknown key is an error. No key but `command` is needed.

- A **length of time** has a unit: `"25s"`, `"10m"`, `"24h"`, `"2d"`, `"1h30m"`; Slurm's form with colons
  or a dash is understood too: `"24:00:00"`, `"1-12:00:00"`.
- An **amount of memory** has a unit, in powers of 1,024: `"512M"`, `"90G"`, `"1T"`.
- A **path** is against the run file's folder, and `~` is not replaced.

A value of a run is the default below, unless the [user's config](#the-users-config), then the run file,
then its [`[cluster.NAME]`](#clustername), then one of
[sbatch's variables](#variables-of-sbatch), then a flag of `yard run` says otherwise.

"#;

const CLUSTERS: &str = r#"## `[cluster.NAME]`

What differs on one cluster: the same keys and sections, below the cluster's name. They go before the
rest of the file when the run is for that cluster. `local` is the embedded engine on this machine.

```toml
[cluster.wilson.resources]
account = "wc_test"
partition = "gpu_gce"

[cluster.wilson.environment]
modules = ["cuda/12.4"]
```

## The user's config

`~/.config/trainyard/config.toml` (`$XDG_CONFIG_HOME/trainyard`, or `$TRAINYARD_HOME/config`) holds what
all of a user's runs share, with the same keys and sections, `[cluster.NAME]` among them. What belongs
to one run alone is refused there: the keys above the first section, and `[data]`. Its paths are against
its own folder. It alone has this key, above its first section:

"#;

fn section(section: &SectionRow) -> String {
    let head = format!("## `[{}]`\n\n{}\n\n", section.name, section.doc);
    format!("{head}{}", keys(section.name, &section.keys))
}

/// A table of the keys, then what each is for.
fn keys(section: &str, keys: &[&KeyRow]) -> String {
    let title = match section {
        "" => "## Keys above the first section\n\n",
        _ => "",
    };
    let row = |row: &&KeyRow| {
        vec![
            format!("`{}`", row.name),
            row.value.to_string(),
            row.default.to_string(),
            set_by(section, row),
        ]
    };
    let rows: Vec<Vec<String>> = keys.iter().map(row).collect();
    // Most sections have no flags.
    let has_ways = rows
        .iter()
        .any(|row| row.last().is_some_and(|ways| !ways.is_empty()));
    let head = if has_ways {
        &["key", "value", "default", "also set by"][..]
    } else {
        &["key", "value", "default"]
    };
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|row| row[..head.len()].to_vec())
        .collect();
    let table = table(head, &rows);
    let meanings: String = keys.iter().map(|row| meaning(row)).collect();
    format!("{title}{table}{meanings}\n")
}

/// The flag of `yard run` and the variable of sbatch.
fn set_by(section: &str, row: &KeyRow) -> String {
    let mut ways = Vec::new();
    if (section, row.name) == ("", "command") {
        ways.push("`-- COMMAND`".to_owned());
    }
    if let Some(flag) = row.flag {
        let slurms = model::option_table::find(flag.long).filter(|_| flag.of_slurm);
        let short = match flag.long {
            "name" => Some('J'),
            _ => slurms.and_then(|option| option.short),
        };
        ways.push(format!("`--{}`", flag.long));
        ways.extend(short.map(|short| format!("`-{short}`")));
    }
    if ["", "resources"].contains(&section) {
        let variables = INPUT_VARIABLES.iter();
        let own = variables.filter(|(_, key)| *key == row.name);
        ways.extend(own.map(|(variable, _)| format!("`{variable}`")));
    }
    ways.join(", ")
}

fn meaning(row: &KeyRow) -> String {
    let more = match row.value {
        Value::Section(_) => String::new(),
        _ => format!(" `{} = {}`", row.name, row.example),
    };
    format!("- **`{}`** {}{more}\n", row.name, row.doc)
}

fn launchers() -> String {
    let row = |launcher: &Launcher| {
        let word = format!("`\"{}\"`", launcher.word());
        vec![word, launcher.doc().to_owned()]
    };
    let rows: Vec<Vec<String>> = Launcher::ALL.iter().map(row).collect();
    format!(
        "{}The [launchers](launchers.md) have a page, with the command line that each becomes.\n\n",
        table(&["launcher", "what it does"], &rows)
    )
}

fn placeholders() -> String {
    let row = |known: &train::Placeholder| {
        vec![
            format!("`{{{}}}`", known.name),
            known.doc.to_owned(),
            format!("`{}`", known.variable),
        ]
    };
    let rows: Vec<Vec<String>> = PLACEHOLDERS.iter().map(row).collect();
    format!(
        "## Placeholders\n\n\
         In `command` and in `[resume] args`, on each node. `{{{{name}}}}` is a plain `{{name}}`; \
         `${{name}}`, and a brace before anything\nbut lower-case letters, digits, `_` and `.`, are left \
         alone, so that JSON passes. An unknown name is an error.\n\n{}",
        table(&["placeholder", "what it stands for", "variable"], &rows)
    )
}

fn variables() -> String {
    let rows = |known: &[(&str, &str)]| -> Vec<Vec<String>> {
        let row = |(name, doc): &(&str, &str)| vec![format!("`{name}`"), (*doc).to_owned()];
        known.iter().map(row).collect()
    };
    let part = |title: &str, text: &str, known: &[(&str, &str)]| {
        let table = table(&["variable", "what it is"], &rows(known));
        format!("### {title}\n\n{text}\n\n{table}")
    };
    let parts = [
        part(
            "What each rank gets",
            "Beside Slurm's own, and beside what the launcher sets.",
            train::env_vars::OF_RANKS,
        ),
        part(
            "What you can set",
            "In the shell in which `yard` is started.",
            sys::env_vars::FOR_USERS,
        ),
        part(
            "What other programs read, too",
            "Their folders count where they are absolute and yours to write.",
            sys::env_vars::OF_OTHERS,
        ),
        part(
            "Variables of sbatch",
            "Those of sbatch's own variables that `yard run` and `yard plan` read, in Slurm's language. \
             Others of sbatch's are named in a note and not used.",
            train::env_vars::OF_SBATCH,
        ),
        part(
            "What a job of the embedded engine gets",
            "Beside what Slurm itself sets in a job.",
            sys::env_vars::IN_JOBS,
        ),
        part(
            "For tests of Trainyard itself",
            "Of no use otherwise.",
            sys::env_vars::FOR_TESTS,
        ),
    ];
    format!("## Environment variables\n\n{}", parts.concat().trim_end()) + "\n"
}
