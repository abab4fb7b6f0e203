//! What is proposed is judged too: a change that the cluster would refuse is not shown.

use super::change::Change;
use super::finding::{Fate, Finding};
use model::option_table::Key;
use model::{Request, TimeLimitRequest};
use std::sync::Arc;

impl Change {
    /// The job with this change; none where the change leaves something open, or was tried on the nodes
    /// before it was proposed.
    fn applied(&self, request: &Request) -> Option<Request> {
        let mut changed = request.clone();
        match self {
            Change::Set(key, value) => match key {
                Key::Partition => changed.partition = Some(value.clone()),
                Key::Account => changed.account = Some(value.clone()),
                Key::Qos => changed.qos = Some(value.clone()),
                Key::Time => changed.time = Some(TimeLimitRequest::parse(value)?),
                Key::Nodes => {
                    let nodes = value.parse().ok()?;
                    (changed.min_nodes, changed.max_nodes) = (Some(nodes), Some(nodes));
                }
                _ => return None,
            },
            Change::LeaveOut(key) => match key {
                Key::Partition => changed.partition = None,
                Key::Account => changed.account = None,
                Key::Qos => changed.qos = None,
                Key::NodeList => changed.rare.nodelist = Arc::default(),
                Key::Exclude => changed.rare.exclude = Arc::default(),
                Key::Constraint => changed.rare.constraint = None,
                Key::Licenses => changed.rare.licenses = None,
                _ => return None,
            },
            _ => return None,
        }
        Some(changed)
    }
}

/// Leaves out changes after which the same would stand against the job, or something that did not
/// before. Where several things are against it, one change need not be enough for all.
pub(super) fn judge_again(
    findings: &mut [Finding],
    request: &Request,
    judge: impl Fn(&Request) -> Vec<Finding>,
) {
    let before: Vec<(super::Denial, super::LimitPath)> = findings
        .iter()
        .map(|finding| (finding.denial, finding.at.clone()))
        .collect();
    for finding in findings {
        let own = (finding.denial, finding.at.clone());
        let stands = |other: &Finding| {
            let other_key = (other.denial, other.at.clone());
            let is_sure = other.fate == Fate::Refused && !other.assumed;
            is_sure && (other_key == own || !before.contains(&other_key))
        };
        finding.of_nodes = finding.of_nodes.or(finding.word_of_nodes());
        finding.instead.retain(|change| {
            let changed = change.applied(request);
            changed.is_none_or(|changed| !judge(&changed).iter().any(stands))
        });
        if finding.instead.is_empty() {
            finding.instead.push(Change::SeveralOptions);
        }
    }
}
