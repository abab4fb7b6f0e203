//! GPUs of several types, where a site gives a job those of one alone.

use super::{Change, Denial, Judge, LimitPath, Requested, There, finding};

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
        let of_rule = finding(
            Denial::NodeConfig,
            Requested::GpuTypes(several.clone()),
            There::OneGpuType(file.name.clone()),
            vec![Change::OneTypeOfJob],
        );
        self.found
            .push(of_rule.at(LimitPath::Cluster("one_gpu_type"), rule));
    }
}
