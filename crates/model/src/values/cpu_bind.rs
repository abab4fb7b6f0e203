//! `--cpu-bind`: which of a node's CPUs each task of a step is bound to.

use super::cpu_dealing::{NodeTasks, Places, Unit};
use crate::values::{Setter, Variables};
use serde::{Deserialize, Serialize};

/// How tasks are bound, and whether they say so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuBind {
    /// `verbose` or `quiet`, where one was said.
    pub verbose: Option<bool>,
    /// To what.
    pub to: BindTo,
    /// `one_thread`: to one thread of each core.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_thread: bool,
}

/// To what a task is bound. Numbers count the CPUs that the step has on the node, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BindTo {
    /// Nothing was said: to whole sockets, cores or threads where the step has as many of them as its tasks
    /// have CPUs, else to all.
    #[default]
    Auto,
    /// `none`: to all that the step has on the node.
    None,
    /// `rank`: the first task to the first CPU, and so on.
    Rank,
    /// `threads`: to its own CPUs.
    Threads,
    /// `cores`: to all of the cores of its own CPUs.
    #[serde(alias = "own")]
    Cores,
    /// `sockets`: to all of the sockets of its own CPUs.
    #[serde(alias = "socket")]
    Sockets,
    /// `ldoms`: to all of the NUMA domains of its own CPUs.
    Ldoms,
    /// `rank_ldom`: the first task to the first NUMA domain, and so on.
    RankLdom,
    /// `map_ldom:`: a NUMA domain for each task in turn.
    MapLdom(Vec<u32>),
    /// `mask_ldom:`: the NUMA domains of each task in turn.
    MaskLdom(Vec<Vec<u32>>),
    /// `map_cpu:`: a CPU for each task in turn.
    Map(Vec<u32>),
    /// `mask_cpu:`: the CPUs of each task in turn.
    Mask(Vec<Vec<u32>>),
}

impl CpuBind {
    /// Reads a text that `srun` takes; of several kinds the last counts.
    #[must_use]
    pub fn read(text: &str) -> CpuBind {
        let mut bind = CpuBind::default();
        let mut words = text.split(',').peekable();
        while let Some(word) = words.next() {
            let (name, first) = word.split_once(':').unwrap_or((word, ""));
            let name = name.to_ascii_lowercase().replace('_', "");
            match name.as_str() {
                "v" | "verbose" => bind.verbose = Some(true),
                "q" | "quiet" => bind.verbose = Some(false),
                "no" | "none" => bind.to = BindTo::None,
                "rank" => bind.to = BindTo::Rank,
                "thread" | "threads" => bind.to = BindTo::Threads,
                "core" | "cores" => bind.to = BindTo::Cores,
                "socket" | "sockets" => bind.to = BindTo::Sockets,
                "ldom" | "ldoms" => bind.to = BindTo::Ldoms,
                "rankldom" => bind.to = BindTo::RankLdom,
                "onethread" => bind.one_thread = true,
                "mapcpu" | "mapldom" => {
                    let list = std::iter::once(first).chain(words.by_ref());
                    let list = list.flat_map(|item| repeated(item, number)).collect();
                    bind.to = if name == "mapcpu" {
                        BindTo::Map(list)
                    } else {
                        BindTo::MapLdom(list)
                    };
                }
                "maskcpu" | "maskldom" => {
                    let list = std::iter::once(first).chain(words.by_ref());
                    let list = list.flat_map(|item| repeated(item, bits)).collect();
                    bind.to = if name == "maskcpu" {
                        BindTo::Mask(list)
                    } else {
                        BindTo::MaskLdom(list)
                    };
                }
                _ => {}
            }
        }
        bind
    }

    /// The CPUs of each of a step's tasks on a node. A task that a list, or the number of CPUs, leaves without
    /// any is bound to all that the step has there.
    #[must_use]
    pub fn cpus_of_tasks(&self, step: &NodeTasks<'_>) -> Vec<Vec<u32>> {
        let cpus = step.cpus;
        let places = Places::of(step);
        let dealt = |unit| places.dealt(unit, self.one_thread);
        let dealt = match &self.to {
            BindTo::Auto => places.implied().and_then(dealt),
            BindTo::Threads => dealt(Unit::Thread),
            BindTo::Cores => dealt(Unit::Core),
            BindTo::Sockets => dealt(Unit::Socket),
            BindTo::Ldoms => dealt(Unit::Domain),
            _ => None,
        };
        if let Some(dealt) = dealt {
            return dealt;
        }
        let at = |place: u32| cpus.get(place as usize).copied();
        let domains = step.layout.domains().max(1);
        let of_domain = |wanted: u32| {
            let is_in = move |cpu: &u32| step.layout.domain_of(*cpu) == Some(wanted % domains);
            cpus.iter().copied().filter(is_in)
        };
        let of_task = |local: u32| -> Vec<u32> {
            let chosen: Vec<u32> = match &self.to {
                BindTo::Rank => {
                    let place = (local as usize).checked_rem(cpus.len());
                    place
                        .and_then(|place| cpus.get(place))
                        .copied()
                        .into_iter()
                        .collect()
                }
                BindTo::Map(list) => {
                    let number = of_list(list, local).copied();
                    number.and_then(at).into_iter().collect()
                }
                BindTo::Mask(list) => {
                    let numbers = of_list(list, local).into_iter().flatten().copied();
                    numbers.filter_map(at).collect()
                }
                BindTo::RankLdom => of_domain(local).collect(),
                BindTo::MapLdom(list) => {
                    let number = of_list(list, local).copied();
                    number.into_iter().flat_map(of_domain).collect()
                }
                BindTo::MaskLdom(list) => {
                    let numbers = of_list(list, local).into_iter().flatten().copied();
                    numbers.flat_map(of_domain).collect()
                }
                _ => Vec::new(),
            };
            if chosen.is_empty() {
                cpus.to_vec()
            } else {
                chosen
            }
        };
        (0..step.tasks).map(of_task).collect()
    }

    /// The word for its kind in `verbose`'s report.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.to {
            BindTo::None => "NONE",
            BindTo::Rank => "RANK",
            BindTo::RankLdom => "LDRANK",
            BindTo::Map(_) => "MAP ",
            BindTo::MapLdom(_) => "LDMAP ",
            BindTo::MaskLdom(_) => "LDMASK",
            _ => "MASK",
        }
    }

    /// The variables that tell a task of it. `masks` are those of the node's tasks, in CPUs of the
    /// step there.
    #[must_use]
    pub fn variables(&self, masks: &[Vec<u32>]) -> Variables {
        let verbose = match self.verbose {
            Some(true) => "verbose",
            Some(false) | None => "quiet",
        };
        let (kind, list) = match &self.to {
            BindTo::None => ("none", String::new()),
            BindTo::Rank => ("rank", String::new()),
            BindTo::RankLdom => ("rank_ldom", String::new()),
            BindTo::Map(list) => ("map_cpu:", joined(list.iter().map(u32::to_string))),
            BindTo::MapLdom(list) => ("map_ldom:", joined(list.iter().map(u32::to_string))),
            BindTo::MaskLdom(list) => ("mask_ldom:", joined(list.iter().map(|one| mask_text(one)))),
            _ => {
                let masks = masks.iter().map(|cpus| mask_text(cpus));
                ("mask_cpu:", joined(masks))
            }
        };
        let mut set = Setter::default();
        set.to("SLURM_CPU_BIND", format!("{verbose},{kind}{list}"));
        set.to("SLURM_CPU_BIND_LIST", list);
        set.to("SLURM_CPU_BIND_TYPE", kind);
        set.to("SLURM_CPU_BIND_VERBOSE", verbose);
        set.0
    }

    /// `verbose`'s line for a task of process `pid`, as `task/affinity` of 22.05 prints it, which knows no
    /// pretended nodes.
    #[must_use]
    pub fn report(
        &self,
        node: &str,
        (rank, local): (u32, u32),
        pid: u32,
        cpus: &[u32],
        bound: Bound,
    ) -> String {
        let (mask, end) = match (&self.to, bound) {
            (BindTo::None, _) => ("0x0".to_owned(), ""),
            (_, Bound::Set) => (mask_text(cpus), " set"),
            (_, Bound::Failed) => (mask_text(cpus), " set FAILED"),
            (_, Bound::Pretended) => (mask_text(cpus), " (not bound: the node is pretended)"),
        };
        let kind = self.kind();
        format!("cpu-bind={kind} - {node}, task {rank:2} {local:2} [{pid}]: mask {mask}{end}")
    }
}

/// What became of the binding of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// It is bound.
    Set,
    /// The machine has not all of the CPUs.
    Failed,
    /// The CPUs are those of a pretended node.
    Pretended,
}

/// The CPUs as a mask: `0x3`.
#[must_use]
pub fn mask_text(cpus: &[u32]) -> String {
    let digits = cpus.iter().max().map_or(0, |most| most / 4) as usize + 1;
    let mut nibbles = vec![0_u8; digits];
    for cpu in cpus {
        nibbles[(cpu / 4) as usize] |= 1 << (cpu % 4);
    }
    let text: String = nibbles
        .iter()
        .rev()
        .map(|nibble| format!("{nibble:x}"))
        .collect();
    format!("0x{text}")
}

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(",")
}

/// A list shorter than the tasks begins anew.
fn of_list<T>(list: &[T], local: u32) -> Option<&T> {
    list.get((local as usize).checked_rem(list.len())?)
}

/// Most repetitions of one item: more tasks than any node has.
const MOST: usize = 4096;

/// `ITEM*COUNT`
fn repeated<T: Clone>(item: &str, read: fn(&str) -> Option<T>) -> Vec<T> {
    let (item, count) = match item.split_once('*') {
        Some((item, count)) => (item, count.parse().unwrap_or(0).min(MOST)),
        None => (item, 1),
    };
    read(item).map_or(Vec::new(), |value| vec![value; count])
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The bits that are set in a number of hexadecimal digits.
fn bits(text: &str) -> Option<Vec<u32>> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let mut set = Vec::new();
    for (place, digit) in (0..).zip(digits.chars().rev()) {
        let digit = digit.to_digit(16)?;
        set.extend(
            (0..4)
                .filter(|bit| digit & (1 << bit) != 0)
                .map(|bit| place * 4 + bit),
        );
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{CpuLayout, Dealing};

    /// Two tasks with a CPU each on a node of two, as 22.05.8 bound them:
    /// `srun -n2 -N1 --cpu-bind=TEXT grep Cpus_allowed_list /proc/self/status`.
    #[track_caller]
    fn check(text: &str, want: &[&[u32]], kind: &str) {
        let bind = CpuBind::read(text);
        let got = bind.cpus_of_tasks(&NodeTasks {
            tasks: 2,
            cpus_per_task: 1,
            cpus: &[0, 1],
            layout: &CpuLayout::pretended(None, 2),
            over_sockets: Dealing::Cyclic,
        });
        assert_eq!(got, want, "{text}");
        let variables = bind.variables(&got);
        assert_eq!(variables[2].1, kind, "{text}");
    }

    #[test]
    fn as_a_real_one_binds() {
        check("verbose", &[&[0], &[1]], "mask_cpu:");
        check("verbose,none", &[&[0, 1], &[0, 1]], "none");
        check("v,rank", &[&[0], &[1]], "rank");
        check("v,map_cpu:0,1", &[&[0], &[1]], "map_cpu:");
        check("v,map_cpu:1", &[&[1], &[1]], "map_cpu:");
        check("v,mask_cpu:0x1,0x2", &[&[0], &[1]], "mask_cpu:");
        check("v,mask_cpu:3*2", &[&[0, 1], &[0, 1]], "mask_cpu:");
        check("v,cores", &[&[0], &[1]], "mask_cpu:");
        check("v,sockets", &[&[0, 1], &[0, 1]], "mask_cpu:");
        // Of CPUs that are not there: unbound.
        check("map_cpu:7", &[&[0, 1], &[0, 1]], "map_cpu:");
    }

    #[test]
    fn the_report_and_the_variables() {
        let report_of = |text: &str, cpus: &[u32], bound: Bound| {
            CpuBind::read(text).report("node1", (1, 1), 27796, cpus, bound)
        };
        let report = |text: &str, cpus: &[u32]| report_of(text, cpus, Bound::Set);
        assert_eq!(
            report_of("v", &[1], Bound::Pretended),
            "cpu-bind=MASK - node1, task  1  1 [27796]: mask 0x2 (not bound: the node is pretended)"
        );
        assert_eq!(
            report("v", &[1]),
            "cpu-bind=MASK - node1, task  1  1 [27796]: mask 0x2 set"
        );
        assert_eq!(
            report("v,none", &[0, 1]),
            "cpu-bind=NONE - node1, task  1  1 [27796]: mask 0x0"
        );
        assert_eq!(
            report("v,map_cpu:1", &[1]),
            "cpu-bind=MAP  - node1, task  1  1 [27796]: mask 0x2 set"
        );
        let variables = CpuBind::read("q").variables(&[vec![0], vec![1]]);
        let text: Vec<String> = variables
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let want = "SLURM_CPU_BIND=quiet,mask_cpu:0x1,0x2 SLURM_CPU_BIND_LIST=0x1,0x2 \
                    SLURM_CPU_BIND_TYPE=mask_cpu: SLURM_CPU_BIND_VERBOSE=quiet";
        assert_eq!(text.join(" "), want);
        assert_eq!(mask_text(&[0, 65]), "0x20000000000000001");
    }

    #[test]
    fn a_nested_srun_reads_what_its_parent_set() {
        let variables = CpuBind::read("verbose").variables(&[vec![0], vec![1]]);
        let again = CpuBind::read(&variables[0].1);
        assert_eq!(again.to, BindTo::Mask(vec![vec![0], vec![1]]));
    }
}
