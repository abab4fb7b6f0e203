//! GPUs that a job asks for, as options, and how fewer are asked for of one type.

use model::{AskedTres, GpuCount, GresItem, GresList, Request};

/// An option by which a job asks for GPUs.
pub(super) struct GpuOption {
    name: &'static str,
    /// What was written.
    list: fn(&mut AskedTres) -> &mut GresList,
    /// The same, all types together; sockets have none.
    count: Option<Count>,
}

type Count = fn(&mut Request) -> &mut Option<GpuCount>;

/// All of them.
pub(super) const GPU_OPTIONS: [GpuOption; 4] = [
    GpuOption {
        name: "--gpus",
        list: |asked| &mut asked.per_job,
        count: Some(|request| &mut request.gpus),
    },
    GpuOption {
        name: "--gpus-per-node",
        list: |asked| &mut asked.per_node,
        count: Some(|request| &mut request.gpus_per_node),
    },
    GpuOption {
        name: "--gpus-per-socket",
        list: |asked| &mut asked.per_socket,
        count: None,
    },
    GpuOption {
        name: "--gpus-per-task",
        list: |asked| &mut asked.per_task,
        count: Some(|request| &mut request.rare.gpus_per_task),
    },
];

impl GpuOption {
    /// What a request asks for by it, by type.
    pub(super) fn of(&self, request: &Request) -> Vec<GresItem> {
        let mut request = request.clone();
        let items = (self.list)(&mut request.rare.asked).items();
        let mut items = items.unwrap_or_default();
        items.retain(|item| item.name == "gpu");
        let Some(count) = self.count else {
            return items;
        };
        match count(&mut request) {
            None => Vec::new(),
            Some(_) if items.len() > 1 => items,
            Some(gpus) => vec![GresItem {
                name: "gpu".to_owned(),
                kind: gpus.kind.clone(),
                count: gpus.count.into(),
            }],
        }
    }

    /// The option with other numbers.
    pub(super) fn text(&self, items: &[GresItem]) -> String {
        format!("{}={}", self.name, gpus_text(items))
    }

    /// A request asks for other numbers.
    pub(super) fn set(&self, request: &mut Request, items: &[GresItem]) {
        let list = (self.list)(&mut request.rare.asked);
        let others = list.items().unwrap_or_default().into_iter();
        let others = others.filter(|item| item.name != "gpu").map(|item| {
            let GresItem { name, kind, count } = item;
            let kind = kind.map_or_else(String::new, |kind| format!(":{kind}"));
            format!("{name}{kind}:{count}")
        });
        let others: Vec<String> = others.collect();
        let was_written = !list.is_empty();
        if was_written {
            *list = GresList::of_gpus(&gpus_text(items));
            list.extend(&GresList::of_gres(&others.join(",")).unwrap_or_default());
        }
        if let Some(count) = self.count {
            *count(request) = GresList::of_gpus(&gpus_text(items)).gpus();
        }
    }
}

/// `[TYPE:]COUNT`, several with commas.
fn gpus_text(items: &[GresItem]) -> String {
    let texts = items.iter().map(|item| match &item.kind {
        Some(kind) => format!("{kind}:{}", item.count),
        None => item.count.to_string(),
    });
    texts.collect::<Vec<_>>().join(",")
}
