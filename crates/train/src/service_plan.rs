//! Programs that run beside the ranks.

use crate::launchers::known;
use crate::{Plan, Resolved, ServiceSection, Source, UnknownPlaceholder, Values, fill};
use serde::{Deserialize, Serialize};

/// A program beside the ranks, on the first node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServicePlan {
    /// Its name.
    pub name: String,
    /// Program and arguments, placeholders unreplaced; never empty.
    pub command: Resolved<Vec<String>>,
    /// Its port; `None` is a free one.
    pub port: Option<Resolved<u32>>,
}

/// TensorBoard on the run's event files.
const TENSORBOARD: &[&str] = &[
    "tensorboard",
    "--logdir",
    "{logs}",
    "--host",
    "127.0.0.1",
    "--port",
    "{port}",
];
/// JupyterLab; its token is its own, in its log. In most containers the user is root, whom Jupyter refuses
/// unless it is allowed.
const JUPYTER: &[&str] = &[
    "jupyter",
    "lab",
    "--allow-root",
    "--no-browser",
    "--ip",
    "127.0.0.1",
    "--port",
    "{port}",
];

/// What a section asks for.
pub(crate) fn services(section: ServiceSection) -> Vec<ServicePlan> {
    let known = [
        ("tensorboard", section.tensorboard, TENSORBOARD),
        ("jupyter", section.jupyter, JUPYTER),
    ];
    let known = known.into_iter().filter_map(|(name, asked, words)| {
        let source: Source = asked.filter(|asked| asked.value)?.source;
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Some(ServicePlan {
            name: name.to_owned(),
            command: Resolved::new(words, source),
            port: None,
        })
    });
    let mut services: Vec<ServicePlan> = known.collect();
    services.extend(section.named.into_iter().filter_map(|(name, service)| {
        Some(ServicePlan {
            name,
            command: service.command?,
            port: service.port,
        })
    }));
    services
}

impl ServicePlan {
    /// Program and arguments of one start.
    ///
    /// # Errors
    /// A placeholder that is not known.
    pub fn words(
        &self,
        plan: &Plan,
        values: &Values,
        port: u16,
    ) -> Result<Vec<String>, UnknownPlaceholder> {
        let mut known = known(plan, values);
        known.insert("port", port.to_string());
        let words = self.command.value.iter();
        words.map(|word| fill(word, &known)).collect()
    }
}
