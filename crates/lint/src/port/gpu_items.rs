//! Values of `--gres` and `--gpus`: types, counts, and how they are written with another type.

use model::Given;

/// The GPU types in the value of a `--gres` or a `--gpus*`.
pub(super) fn types(given: &Given) -> Vec<String> {
    let items = items(given).filter(|item| item.is_of_gpus(given));
    items.filter_map(|item| item.kind).collect()
}

/// Whether an option asks for GPUs.
pub(super) fn asks(given: &Given) -> bool {
    items(given).any(|item| item.is_of_gpus(given) && item.count != Some(0))
}

fn items(given: &Given) -> impl Iterator<Item = Item> {
    let value = given.value.as_deref().unwrap_or_default();
    value.split(',').map(Item::read)
}

/// One item of `--gres` or `--gpus`.
pub(super) struct Item {
    /// `gpu:` or `gres:gpu:`, for `--gres`.
    pub before: String,
    /// `v100`
    pub kind: Option<String>,
    /// `:2`, `2`, or nothing.
    pub count: Option<u32>,
}

impl Item {
    /// `gpu:v100:2`, `gpu:2`, `v100:2`, `2`.
    pub fn read(text: &str) -> Item {
        let bare = text.strip_prefix("gres:").unwrap_or(text);
        let (before, rest) = match bare.split_once([':', '/']) {
            Some(("gpu", rest)) => (text[..text.len() - rest.len()].to_owned(), rest),
            None if bare == "gpu" => (text.to_owned(), ""),
            _ => (String::new(), text),
        };
        let mut item = Item {
            before,
            kind: None,
            count: None,
        };
        match rest.rsplit_once(':') {
            Some((kind, count)) => {
                item.kind = Some(kind.to_owned());
                item.count = count.parse().ok();
            }
            None => match rest.parse() {
                Ok(count) => item.count = Some(count),
                Err(_) if rest.is_empty() => {}
                Err(_) => item.kind = Some(rest.to_owned()),
            },
        }
        item
    }

    /// The same with another type.
    pub fn with_kind(&self, kind: Option<&str>) -> String {
        let mut parts = Vec::new();
        if !self.before.is_empty() {
            parts.push(self.before.trim_end_matches(':').to_owned());
        }
        parts.extend(kind.map(str::to_owned));
        match (self.count, &self.kind, kind) {
            (Some(count), _, _) => parts.push(count.to_string()),
            // `--gpus=v100` without its type would be no number.
            (None, Some(_), None) => parts.push("1".to_owned()),
            (None, _, _) => {}
        }
        parts.join(":")
    }

    /// `--gres` has items that are no GPUs.
    pub fn is_of_gpus(&self, given: &Given) -> bool {
        given.option.long != "gres" || !self.before.is_empty()
    }
}
