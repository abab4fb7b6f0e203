//! A plan for a cluster file as a person reads it.

pub(super) use super::refusals::refusals;
use super::{InQueue, SitePlan};
use crate::show::{Row, paragraph, table};
use crate::{Plan, Resolved};

impl SitePlan {
    /// The headline, the table, what would be refused, and the notes. Ends with a line feed.
    #[must_use]
    pub fn show(&self) -> String {
        let mut shown = format!("{}\n\n", self.headline());
        shown.push_str(&table(&self.rows()));
        shown.push_str(&refusals(&self.refusals));
        shown.push_str(&notes(&self.notes()));
        shown
    }

    /// What a person should know and can't see in the values, in words.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut all = self.plan.notes.clone();
        all.extend(self.in_queue.note(&self.refusals));
        all.extend(assumed_note(&self.assumed, &self.facts.name));
        all
    }

    /// As [`Plan::headline`]; GPUs without a type by their model.
    #[must_use]
    pub fn headline(&self) -> String {
        let named = |plan: &Plan| plan.headline(&self.facts);
        match (&self.left.gpu_model, &self.plan.gpu_type) {
            (Some(model), None) => {
                let mut plan = self.plan.clone();
                let source = plan.gpus_per_node.source.clone();
                plan.gpu_type = Some(Resolved::new(model.clone(), source));
                named(&plan)
            }
            _ => named(&self.plan),
        }
    }

    /// Each value with its name and reason.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = self.plan.rows(&self.facts);
        rows.retain(|row| row.name != "cluster");
        let left = [
            ("partition", &self.left.partition),
            ("account", &self.left.account),
            ("qos", &self.left.qos),
        ];
        let mut at = rows
            .iter()
            .position(|row| row.name == "time a job")
            .map_or(rows.len(), |at| at + 1);
        for (name, value) in left {
            // Named ones stand here already, in this order.
            if rows.get(at).is_some_and(|row| row.name == name) {
                at += 1;
            } else if let Some(value) = value {
                let row = Row {
                    name,
                    value: value.value.clone(),
                    why: value.source.to_string(),
                };
                rows.insert(at, row);
                at += 1;
            }
        }
        if let (Some(model), None) = (&self.left.gpu_model, &self.plan.gpu_type) {
            let gpus = rows.iter_mut().find(|row| row.name == "gpus per node");
            if let Some(row) = gpus {
                row.value = format!("{} {model}", row.value);
            }
        }
        if let Some(memory) = &self.left.memory
            && let Some(row) = rows.iter_mut().find(|row| row.name == "memory")
        {
            row.why = format!("{}; {memory}", row.why);
        }
        rows.push(queue_row(&self.in_queue));
        rows
    }
}

/// What a plan rests on that is assumed: the first few keys.
pub(super) fn assumed_note(assumed: &[(String, String)], cluster: &str) -> Option<String> {
    const SHOWN: usize = 3;
    let first: Vec<&str> = assumed
        .iter()
        .take(SHOWN)
        .map(|(path, _)| path.as_str())
        .collect();
    let more = match assumed.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!assumed.is_empty()).then(|| {
        format!(
            "rests on what {cluster} is assumed to have: {}{more} (yard cluster show {cluster})",
            first.join(", ")
        )
    })
}

pub(super) fn queue_row(in_queue: &InQueue) -> Row {
    let limit = match &in_queue.limit {
        Some((limit, path)) => format!("{limit} may ({path})"),
        None => "no limit known".to_owned(),
    };
    let parts = [in_queue.why.clone(), limit];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Row {
        name: "in the queue",
        value: match in_queue.jobs {
            1 => "1 job".to_owned(),
            jobs => format!("{jobs} jobs"),
        },
        why: parts.join("; "),
    }
}

pub(super) fn notes(notes: &[String]) -> String {
    let mut shown = String::new();
    if !notes.is_empty() {
        shown.push('\n');
    }
    for note in notes {
        shown.push_str(&paragraph("  note: ", note));
    }
    shown
}
