//! Where every value of a cluster file came from.

use crate::words;
use cluster_file::{ClusterFile, Section, Source};
use serde_json::{Map, Value, json};

/// Every value with its source: key, value, source; in lines of at most `width` columns.
pub fn lines(file: &ClusterFile, width: usize) -> String {
    let mut text = String::new();
    each(file, &mut |path, key, entry| {
        let source = match &entry.source {
            Source::Stated => String::new(),
            Source::Quote(words) => words.clone(),
            Source::Assumed(why) => format!("assumed: {why}"),
        };
        let at = if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        };
        let line = format!("{at} = {}", entry.plain);
        text.push_str(&format!("{}\n", words::shortened(&line, width)));
        if !source.is_empty() {
            text.push_str(&format!("    {}\n", words::shortened(&source, width - 4)));
        }
        for (_, plain, quote) in &entry.others {
            let other = format!("also said: {plain}, {quote}");
            text.push_str(&format!("    {}\n", words::shortened(&other, width - 4)));
        }
    });
    text
}

/// Every value as `{ value, from | assumed, or }`, below its key.
pub fn json(file: &ClusterFile) -> Value {
    let mut values = Map::new();
    each(file, &mut |path, key, entry| {
        let mut one = Map::new();
        one.insert("value".to_owned(), value(&entry.toml));
        match &entry.source {
            Source::Stated => {}
            Source::Quote(words) => drop(one.insert("from".to_owned(), json!(words))),
            Source::Assumed(why) => drop(one.insert("assumed".to_owned(), json!(why))),
        }
        if !entry.others.is_empty() {
            let others = entry.others.iter();
            let others: Vec<Value> = others
                .map(|(toml, _, quote)| json!({ "value": value(toml), "from": quote }))
                .collect();
            one.insert("or".to_owned(), Value::Array(others));
        }
        let at = if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        };
        values.insert(at, Value::Object(one));
    });
    json!({ "name": file.name, "values": values })
}

/// Single values and lists of a cluster file are written in TOML as in JSON.
fn value(toml: &str) -> Value {
    serde_json::from_str(toml).unwrap_or_else(|_| Value::String(toml.to_owned()))
}

/// Visits every value. Of several tables of one path each has its number after it.
fn each(file: &ClusterFile, visit: &mut dyn FnMut(&str, &str, &cluster_file::Entry)) {
    let mut last = (String::new(), 0);
    file.visit("", &mut |path, form, entries| {
        let mut path = path.to_owned();
        if form == cluster_file::Form::Listed {
            last = if last.0 == path {
                (path.clone(), last.1 + 1)
            } else {
                (path.clone(), 0)
            };
            path = format!("{path}.{}", last.1);
        }
        for entry in &entries {
            visit(&path, entry.key, entry);
        }
    });
}
