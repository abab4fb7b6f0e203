//! GPUs of several types, where a site gives a job those of one alone.

use super::{Denial, Judge, refusal};
use model::GresList;

impl Judge<'_, '_> {
    /// `limits.one_gpu_type`: several types in one job are refused.
    pub(super) fn one_gpu_type(&mut self) {
        let file = self.file;
        let rule = file.limits.one_gpu_type.as_ref();
        let Some(rule) = rule.filter(|rule| rule.value) else {
            return;
        };
        let asked = &self.request.rare.asked;
        let mut lists = [&asked.per_job, &asked.per_node, &asked.per_task].into_iter();
        let Some(several) = lists.find(|list| list.has_several_kinds()) else {
            return;
        };
        let there = format!("{} gives a job GPUs of one type", file.name);
        let todo = "GPUs of one type, or a job for each type";
        let of_rule = refusal(Denial::NodeConfig, words(several), there, todo);
        self.found
            .push(of_rule.at("limits.one_gpu_type".to_owned(), rule));
    }
}

/// `8 v100 and 8 p100`
fn words(list: &GresList) -> String {
    let items = list.items().unwrap_or_default().into_iter();
    let gpus = items.filter(|item| item.name == "gpu").map(|item| {
        let kind = item.kind.as_deref().unwrap_or("GPUs of any type");
        format!("{} {kind}", item.count)
    });
    gpus.collect::<Vec<String>>().join(" and ")
}
