//! The options that were given, as `--verbose` of `sbatch`, `salloc` and `srun` tells of them.

use crate::options::given::Given;
use crate::values::{TimeLimitRequest, parse_mebibytes};
use std::collections::BTreeMap;

/// A line for each option that was given, by name, between rules; none without `--verbose`.
#[must_use]
pub(crate) fn defined_options(given: &[Given], verbose: u32) -> Vec<String> {
    if verbose == 0 {
        return Vec::new();
    }
    let mut values: BTreeMap<&str, String> = BTreeMap::new();
    for one in given {
        // The last one counts.
        values.insert(one.option.long, shown(one));
    }
    values.insert("verbose", verbose.to_string());
    if let Some(nodes) = within_tasks(&values) {
        values.insert("nodes", nodes);
    }
    values.remove("quiet");
    let rule = format!("{0} {0}", "-".repeat(20));
    let mut lines = vec!["defined options".to_owned(), rule.clone()];
    let rows = values
        .iter()
        .map(|(name, value)| format!("{name:<20}: {value}"));
    lines.extend(rows);
    lines.extend([rule, "end of defined options".to_owned()]);
    lines
}

/// The range of nodes where it ends above the number of tasks: there are no more nodes than these.
fn within_tasks(values: &BTreeMap<&str, String>) -> Option<String> {
    let number = |text: &str| text.parse::<u32>().ok();
    let (least, most) = values.get("nodes")?.split_once('-')?;
    let (least, most) = (number(least)?, number(most)?);
    let tasks = number(values.get("ntasks")?)?.max(least);
    (most > tasks).then(|| {
        if tasks == least {
            least.to_string()
        } else {
            format!("{least}-{tasks}")
        }
    })
}

/// A value as Slurm prints it: mostly as it was written.
fn shown(given: &Given) -> String {
    let value = given.value.as_deref();
    match (given.option.long, value) {
        ("exclusive", None) => "exclusive".to_owned(),
        ("kill-on-bad-exit" | "immediate", None) => "1".to_owned(),
        ("requeue" | "no-requeue", None) => given.option.long.to_owned(),
        ("bell", None) => "bell-always".to_owned(),
        ("no-bell", None) => "bell-never".to_owned(),
        ("kill-command", None) => "TERM".to_owned(),
        ("open-mode", Some(text)) => text.chars().take(1).collect(),
        (_, None) => "set".to_owned(),
        ("time" | "time-min", Some(text)) => {
            TimeLimitRequest::parse(text).map_or_else(|| text.to_owned(), |limit| limit.to_string())
        }
        ("mem" | "mem-per-cpu" | "mem-per-gpu", Some(text)) => {
            parse_mebibytes(text).map_or_else(|| text.to_owned(), |mib| mib.to_string())
        }
        ("gres", Some(text)) => {
            let items = text.split(',').map(|item| format!("gres:{item}"));
            items.collect::<Vec<_>>().join(",")
        }
        ("signal", Some(text)) => text.split('@').next().unwrap_or(text).to_owned(),
        (_, Some(text)) => text.to_owned(),
    }
}
