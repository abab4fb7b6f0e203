//! Features: `--constraint`.

use super::porter::Porter;
use cluster_file::{ClusterFile, GpuKind, List};
use model::Constraint;
use model::option_table::Key;
use resources::Denial;

/// Whether nodes of a cluster have a feature.
pub(super) fn has(cluster: &ClusterFile, name: &str) -> bool {
    let features = cluster.nodes.iter().map(|nodes| nodes.features.as_ref());
    let mut features = features.flatten();
    features.any(|features| features.iter().any(|own| own == name))
}

/// The names in a feature expression; none of what is no expression.
pub(super) fn names(expression: &str) -> Vec<String> {
    let read = Constraint::parse(expression);
    let names = read.as_ref().map_or(Vec::new(), Constraint::names);
    names.into_iter().map(str::to_owned).collect()
}

impl<'a> Porter<'a> {
    /// Features: those of GPUs are translated; those that the other cluster isn't known to have are
    /// asked about, and stay unless it has none of that name for sure.
    pub(super) fn constraint(&mut self, target: Option<&GpuKind<'a>>) {
        let wanted = target.and_then(|kind| Some(kind.gpu.feature.as_ref()?.value.clone()));
        let Some(given) = self.last(Key::Constraint) else {
            if let Some(feature) = wanted {
                let model = self.model.clone().unwrap_or_default();
                let why = format!("by this feature {} gives {model}", self.to.name);
                self.add(&format!("--constraint={feature}"), why);
            }
            return;
        };
        let text = given.value.clone().unwrap_or_default();
        let names = names(&text);
        let there = self.to.name.clone();
        let (odd, known): (Vec<&String>, Vec<&String>) =
            names.iter().partition(|name| !has(self.to, name));
        if odd.is_empty() && wanted.as_ref().is_none_or(|own| known.contains(&own)) {
            return;
        }
        let of_gpus = |name: &&&String| {
            let kinds = self.from.gpus(None);
            let mut features = kinds.iter().filter_map(|kind| kind.gpu.feature.as_ref());
            features.any(|own| own.value == ***name) || self.model.as_ref() == Some(**name)
        };
        let gpu: Vec<&String> = odd.iter().filter(of_gpus).copied().collect();
        let other: Vec<&String> = odd.iter().filter(|n| !gpu.contains(n)).copied().collect();
        if text.contains(['|', '(', '[', '*']) {
            let about = format!(
                "--constraint={text}: {there} isn't known to have {}",
                joined(&odd)
            );
            let about = if odd.is_empty() {
                format!("--constraint={text}: {there} names its GPUs by features too")
            } else {
                about
            };
            let ask = "what of it is needed there?";
            return self.ask_about(self.line(given), about, ask, Some(Denial::Feature));
        }
        let whole = self.to.knows_all(List::Features);
        for name in &other {
            let (about, ask) = if whole {
                (
                    format!("feature {name}: {there} has none, so it was taken out"),
                    "was it for speed, or does the program need it?",
                )
            } else {
                (
                    format!("feature {name}: {there}'s file doesn't know it, so it stays"),
                    "what is it called there? without any, take it out",
                )
            };
            self.ask_about(self.line(given), about, ask, Some(Denial::Feature));
        }
        // A feature of GPUs goes where the type says it, or another feature.
        let gpus_go = target.is_some();
        let stays = |name: &&String| {
            if gpu.contains(name) {
                !gpus_go
            } else {
                !(whole && other.contains(name))
            }
        };
        let mut kept: Vec<&String> = names.iter().filter(stays).collect();
        if !gpu.is_empty() && !gpus_go {
            let about = format!("feature {}: {there} has no GPU of that name", joined(&gpu));
            let ask = "which GPUs there, and how are they asked for?";
            self.ask_about(self.line(given), about, ask, Some(Denial::Feature));
        }
        if let Some(feature) = wanted.as_ref().filter(|own| !kept.contains(own)) {
            kept.insert(0, feature);
        }
        let kept = kept.iter().map(|name| name.as_str());
        let kept = kept.collect::<Vec<_>>().join("&");
        if kept == names.join("&") {
            return;
        }
        let mut why: Vec<String> = Vec::new();
        if !gpu.is_empty() && gpus_go {
            why.push(match &wanted {
                Some(own) => format!("{there} calls it {own}"),
                None if target.is_some_and(|kind| kind.gpu.kind.is_some()) => {
                    format!("on {there} the GPU's type says {}", joined(&gpu))
                }
                None => format!("all GPUs of {there} are {}", joined(&gpu)),
            });
        }
        if whole && !other.is_empty() {
            why.push(format!("{there} has no feature {}", joined(&other)));
        }
        if why.is_empty() {
            why.push(format!("by this feature {there} gives the GPU"));
        }
        if kept.is_empty() {
            self.remove(given, why.join("; "))
        } else {
            self.set_value(given, &kept, why.join("; "))
        }
    }
}

fn joined(names: &[&String]) -> String {
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    names.join(", ")
}
