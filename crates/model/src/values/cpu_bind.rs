//! `--cpu-bind`: which of a node's CPUs each task of a step is bound to.

use crate::values::{Setter, Variables};
use serde::{Deserialize, Serialize};

/// How tasks are bound, and whether they say so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuBind {
    /// `verbose` or `quiet`, where one was said.
    pub verbose: Option<bool>,
    /// To what.
    pub to: BindTo,
}

/// To what a task is bound. Numbers count the CPUs that the step has on the node, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BindTo {
    /// Nothing was said: to its own CPUs where tasks and CPUs come out even.
    #[default]
    Auto,
    /// `none`: to all that the step has on the node.
    None,
    /// `rank`: the first task to the first CPU, and so on.
    Rank,
    /// `cores`, `threads`: to its own CPUs. A core here has one thread.
    Own,
    /// `sockets`, `ldoms` and their like: to all of the socket, of which a node here has one.
    Socket,
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
                "core" | "cores" | "thread" | "threads" => bind.to = BindTo::Own,
                "socket" | "sockets" | "ldom" | "ldoms" | "rankldom" | "mapldom" | "maskldom" => {
                    bind.to = BindTo::Socket;
                }
                "mapcpu" => {
                    let list = std::iter::once(first).chain(words.by_ref());
                    bind.to = BindTo::Map(list.flat_map(|item| repeated(item, number)).collect());
                }
                "maskcpu" => {
                    let list = std::iter::once(first).chain(words.by_ref());
                    bind.to = BindTo::Mask(list.flat_map(|item| repeated(item, bits)).collect());
                }
                _ => {}
            }
        }
        bind
    }

    /// The CPUs of the task that is `local`th of `tasks` on a node where the step has `cpus`, with
    /// `each` CPUs a task. Where a list names none of the node's CPUs it is bound to all of them.
    #[must_use]
    pub fn cpus_of(&self, local: u32, tasks: u32, each: usize, cpus: &[u32]) -> Vec<u32> {
        let all = || cpus.to_vec();
        let own = || -> Vec<u32> {
            let from = local as usize * each;
            cpus.iter().copied().skip(from).take(each).collect()
        };
        let chosen: Vec<u32> = match &self.to {
            BindTo::Auto if each * tasks as usize == cpus.len() => own(),
            BindTo::Auto | BindTo::None | BindTo::Socket => all(),
            BindTo::Own => own(),
            BindTo::Rank => {
                let place = (local as usize).checked_rem(cpus.len());
                place
                    .and_then(|place| cpus.get(place))
                    .copied()
                    .into_iter()
                    .collect()
            }
            BindTo::Map(list) => of_list(list, local)
                .and_then(|number| cpus.get(*number as usize))
                .copied()
                .into_iter()
                .collect(),
            BindTo::Mask(list) => of_list(list, local)
                .into_iter()
                .flatten()
                .filter_map(|number| cpus.get(*number as usize).copied())
                .collect(),
        };
        if chosen.is_empty() { all() } else { chosen }
    }

    /// The word for its kind in `verbose`'s report.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.to {
            BindTo::Auto | BindTo::Own | BindTo::Socket | BindTo::Mask(_) => "MASK",
            BindTo::None => "NONE",
            BindTo::Rank => "RANK",
            BindTo::Map(_) => "MAP ",
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
            BindTo::Map(list) => ("map_cpu:", joined(list.iter().map(u32::to_string))),
            BindTo::Auto | BindTo::Own | BindTo::Socket | BindTo::Mask(_) => {
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
            (_, Bound::Failed) => (mask_text(cpus), " FAILED"),
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

    /// Two tasks with a CPU each on a node of two, as 22.05.8 bound them:
    /// `srun -n2 -N1 --cpu-bind=TEXT grep Cpus_allowed_list /proc/self/status`.
    #[track_caller]
    fn check(text: &str, want: &[&[u32]], kind: &str) {
        let bind = CpuBind::read(text);
        let got: Vec<Vec<u32>> = (0..2)
            .map(|local| bind.cpus_of(local, 2, 1, &[0, 1]))
            .collect();
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
