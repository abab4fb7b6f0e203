//! Smaller requests that would start now.

use super::fewer_gpus::GPU_OPTIONS;
use super::tries::Tries;
use crate::fault::{self, Fault};
use model::{MemoryRequest, NodeOptions, Request, Seconds, TimeLimitRequest, mebibytes_option};
use std::sync::Arc;

impl Tries<'_> {
    /// Of each amount that the job asks for the most with which it would start now.
    pub(super) fn smaller(&self) -> Vec<String> {
        let request = self.request();
        let starts = |change: &dyn Fn(&mut Request)| {
            let mut smaller = Request::clone(request);
            change(&mut smaller);
            self.would_start(smaller)
        };
        let mut found = Vec::new();
        for option in &GPU_OPTIONS {
            let asked = option.of(request);
            for (at, item) in asked.iter().enumerate() {
                let with = |less: u32| {
                    let mut fewer = asked.clone();
                    fewer[at].count = less.into();
                    fewer
                };
                let count = u32::try_from(item.count).unwrap_or(u32::MAX);
                let most = most_below(count, |less| {
                    starts(&|request| option.set(request, &with(less)))
                });
                found.extend(most.map(|less| option.text(&with(less))));
            }
        }
        let nodes = request.min_nodes.unwrap_or(1);
        // Its tasks become fewer with them.
        let tasks_on = |less: u32| {
            let all = request.tasks.map(u64::from);
            let tasks = all.map(|all| (all * u64::from(less)).div_ceil(nodes.into()));
            tasks.and_then(|tasks| u32::try_from(tasks).ok())
        };
        let most = most_below(nodes, |less| {
            starts(&|request| {
                request.tasks = tasks_on(less);
                request.min_nodes = Some(less);
                request.max_nodes = request.max_nodes.map(|_| less);
            })
        });
        found.extend(most.map(|less| match tasks_on(less) {
            Some(tasks) => format!("--nodes={less} --ntasks={tasks}"),
            None => format!("--nodes={less}"),
        }));
        let anywhere = |request: &mut Request| request.rare.nodelist = Arc::default();
        if !request.rare.nodelist.is_empty() && starts(&anywhere) {
            found.push("no --nodelist".to_owned());
        }
        if request.exclusive && starts(&share_nodes) {
            found.push("no --exclusive".to_owned());
        }
        let tasks = request.tasks.filter(|_| nodes == 1).unwrap_or(1);
        let most = most_below(tasks, |less| starts(&|request| request.tasks = Some(less)));
        found.extend(most.map(|less| format!("--ntasks={less}")));
        let cpus = request.cpus_per_task.unwrap_or(1);
        let most = most_below(cpus, |less| {
            starts(&|request| request.cpus_per_task = Some(less))
        });
        found.extend(most.map(|less| format!("--cpus-per-task={less}")));
        found.extend(self.less_memory());
        found.extend(self.less_time());
        found
    }

    fn less_memory(&self) -> Option<String> {
        let (option, mib, of): (_, _, fn(u64) -> MemoryRequest) = match self.request().memory? {
            MemoryRequest::PerNode(mib) => ("--mem", mib, MemoryRequest::PerNode),
            MemoryRequest::PerCpu(mib) => ("--mem-per-cpu", mib, MemoryRequest::PerCpu),
            MemoryRequest::PerGpu(mib) => ("--mem-per-gpu", mib, MemoryRequest::PerGpu),
        };
        let gib = u32::try_from(mib / 1024).unwrap_or(u32::MAX);
        let most = most_below(gib, |less| {
            let request = Request {
                memory: Some(of(u64::from(less) * 1024)),
                ..Request::clone(self.request())
            };
            self.would_start(request)
        })?;
        Some(format!(
            "{option}={}",
            mebibytes_option(u64::from(most) * 1024)
        ))
    }

    /// A shorter job may start before others that it would not delay.
    fn less_time(&self) -> Option<String> {
        let minutes = match self.request().time? {
            TimeLimitRequest::Limit(Seconds(seconds)) => u32::try_from(seconds / 60).ok()?,
            TimeLimitRequest::Unlimited => 365 * 24 * 60,
        };
        let limit = |minutes: u32| TimeLimitRequest::Limit(Seconds(u64::from(minutes) * 60));
        let most = most_below(minutes, |less| {
            let request = Request {
                time: Some(limit(less)),
                ..Request::clone(self.request())
            };
            self.would_start(request)
        })?;
        Some(format!("--time={}", limit(most)))
    }
}

/// A job has its nodes no more for itself, or for its user.
pub(crate) fn share_nodes(request: &mut Request) {
    request.exclusive = false;
    if let Some(mut options) = request.rare.node_options.take() {
        options.sharing = None;
        request.rare.node_options = Some(options).filter(|it| **it != NodeOptions::default());
    }
}

/// The greatest number from 1 and below `count` for which something holds, which holds for all
/// smaller ones too.
fn most_below(count: u32, holds: impl Fn(u32) -> bool) -> Option<u32> {
    if count < 2 || !holds(1) {
        return None;
    }
    let (mut yes, mut no) = (1, count);
    while no - yes > 1 {
        let middle = yes + (no - yes) / 2;
        if holds(middle) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    Some(if fault::is(Fault::OffersTooMuch) {
        no
    } else {
        yes
    })
}
