//! Options that programs find again in their environment, whatever comes of them: how the machine's parts
//! are to be used. As 22.05.8 hands them on.

use crate::options::given_options::GivenOptions;
use crate::options::option_table::Key;
use crate::options::reading::Reading;
use crate::values::{CpuBind, GresList, Setter, Variables, cpu_frequency};

/// `INFINITE16`: no number of its own.
const ANY_NUMBER: u32 = 0xffff;

/// What a job hands on, by the names from which an `srun` in it takes them again.
pub(crate) fn of_job(o: &GivenOptions) -> Variables {
    let mut set = Setter::default();
    if let Some(bind) = o.memory_bind.as_deref().map(MemoryBind::read) {
        let text = if bind.verbose {
            bind.text()
        } else {
            bind.kinds()
        };
        set.to("SLURM_MEM_BIND", text);
        set.to("SLURM_MEM_BIND_VERBOSE", bind.verbosity());
    }
    set.maybe(
        "SLURM_CPU_FREQ_REQ",
        o.cpu_frequency.as_deref().map(frequency),
    );
    set.maybe("SLURM_PROFILE", o.profile.as_deref().map(profile));
    set.maybe("SLURM_ACCTG_FREQ", o.accounting_frequency.as_ref());
    set.maybe("SLURM_NTASKS_PER_GPU", o.tasks_per_gpu);
    set.maybe("SLURM_NTASKS_PER_TRES", o.tasks_per_tres);
    // Where there is some, the job says how much.
    set.maybe(
        "SLURM_MEM_PER_GPU",
        o.memory_per_gpu.filter(|size| *size == 0),
    );
    for (name, gpus) in [
        ("SLURM_GPUS", &o.gpus),
        ("SLURM_GPUS_PER_NODE", &o.gpus_per_node),
        ("SLURM_GPUS_PER_TASK", &o.gpus_per_task),
    ] {
        let none = gpus.as_ref().filter(|gpus| gpus.gpus().is_none());
        set.maybe(name, none.map(GresList::gpus_as_written));
    }
    set.0
}

/// What a step's tasks find.
pub(crate) fn of_step(o: &GivenOptions) -> Variables {
    let mut set = Setter::default();
    let all_threads = o.hint.as_deref() == Some("multithread");
    let of_core = o.tasks_per_core.or(all_threads.then_some(ANY_NUMBER));
    set.maybe("SLURM_NTASKS_PER_CORE", of_core);
    set.maybe("SLURM_NTASKS_PER_SOCKET", o.tasks_per_socket);
    let threads = o.threads_per_core.filter(|_| o.cpu_bind.is_none());
    set.maybe("SLURM_THREADS_PER_CORE", threads);
    set.maybe("SLURM_LABELIO", o.label.then_some(1));
    set.maybe("SLURM_OVERCOMMIT", o.overcommit.then_some(1));
    if let Some(bind) = o.memory_bind.as_deref().map(MemoryBind::read) {
        set.to("SLURM_MEM_BIND", bind.text());
        set.to("SLURM_MEM_BIND_LIST", &bind.list);
        set.to("SLURM_MEM_BIND_TYPE", &bind.kind);
        set.to("SLURM_MEM_BIND_VERBOSE", bind.verbosity());
        set.maybe("SLURM_MEM_BIND_PREFER", bind.prefer.then_some("prefer"));
        set.maybe("SLURM_MEM_BIND_SORT", bind.sort.then_some("sort"));
    }
    set.maybe(
        "SLURM_CPU_FREQ_REQ",
        o.cpu_frequency.as_deref().map(frequency),
    );
    set.maybe("SLURMD_TRES_FREQ", o.gpu_frequency.as_ref());
    set.0
}

/// How a step's tasks are bound to CPUs: as `--cpu-bind` says, else as follows from what is asked of
/// cores, threads and sockets.
pub(crate) fn cpu_bind(reading: &Reading<'_>) -> Option<CpuBind> {
    let o = &reading.options;
    let hint = o.hint.as_deref().unwrap_or_default();
    let implied = || {
        // What the job says of tasks on cores and sockets is settled.
        if hint.ends_with("_bound") || reading.by_hand(Key::TasksPerCore) {
            Some("cores")
        } else if reading.by_hand(Key::TasksPerSocket) {
            Some("sockets")
        } else if !hint.is_empty() || o.threads_per_core.is_some() {
            Some("threads")
        } else {
            None
        }
    };
    let mut bind = CpuBind::read(o.cpu_bind.as_deref().or_else(implied)?);
    let is_hinted = matches!(
        hint.to_ascii_lowercase().as_str(),
        "nomultithread" | "compute_bound" | "memory_bound"
    );
    bind.one_thread |= is_hinted || o.threads_per_core == Some(1);
    Some(bind)
}

/// `--mem-bind`, read.
struct MemoryBind {
    verbose: bool,
    prefer: bool,
    sort: bool,
    /// `local`, `map_mem:`; empty where none was said.
    kind: String,
    list: String,
}

impl MemoryBind {
    /// Reads a text that the options take.
    fn read(text: &str) -> MemoryBind {
        let mut bind = MemoryBind {
            verbose: false,
            prefer: false,
            sort: false,
            kind: String::new(),
            list: String::new(),
        };
        let mut words = text.split(',');
        while let Some(word) = words.next() {
            let (name, first) = word.split_once([':', '=']).unwrap_or((word, ""));
            let name = name.to_ascii_lowercase();
            match name.as_str() {
                "v" | "verbose" => bind.verbose = true,
                "q" | "quiet" => bind.verbose = false,
                "p" | "prefer" => bind.prefer = true,
                "sort" => bind.sort = true,
                "nosort" => bind.sort = false,
                "no" | "none" => bind.kind = "none".to_owned(),
                "map_mem" | "mask_mem" => {
                    bind.kind = format!("{name}:");
                    let list = std::iter::once(first).chain(words.by_ref());
                    let list = list.map(|item| item.strip_prefix("0x").unwrap_or(item));
                    bind.list = list.collect::<Vec<_>>().join(",");
                }
                _ => bind.kind = name,
            }
        }
        bind
    }

    fn verbosity(&self) -> &'static str {
        if self.verbose { "verbose" } else { "quiet" }
    }

    fn kinds(&self) -> String {
        let prefer = if self.prefer { "prefer," } else { "" };
        format!("{prefer}{}{}", self.kind, self.list)
    }

    fn text(&self) -> String {
        let kinds = self.kinds();
        let comma = if kinds.is_empty() { "" } else { "," };
        format!("{}{comma}{kinds}", self.verbosity())
    }
}

/// `low-high:user` as `Low-High:UserSpace`.
pub(super) fn frequency(text: &str) -> String {
    let (range, governor) = match text.split_once(':') {
        Some((range, governor)) => (range, Some(governor)),
        None => (text, None),
    };
    let range: Vec<String> = range.split('-').map(cpu_frequency::word).collect();
    let governor = governor.map(|governor| format!(":{}", cpu_frequency::word(governor)));
    range.join("-") + &governor.unwrap_or_default()
}

/// `task,energy` as `Energy,Task`.
fn profile(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    if lower.contains("none") {
        return "None".to_owned();
    }
    let all = lower.contains("all");
    let kinds = ["Energy", "Lustre", "Network", "Task"];
    let named = |kind: &&&str| all || lower.contains(&kind.to_ascii_lowercase());
    let named: Vec<&str> = kinds.iter().filter(named).copied().collect();
    named.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `srun OPTIONS env` and a batch script on 22.05.8 found it.
    #[track_caller]
    fn check_memory(text: &str, job: &str, step: &str) {
        let o = GivenOptions {
            memory_bind: Some(text.to_owned()),
            ..GivenOptions::default()
        };
        let shown = |variables: Variables| {
            let variables = variables.iter();
            let rows = variables.map(|(name, value)| format!("{}={value}", &name[14..]));
            rows.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(of_job(&o)), job, "{text}");
        assert_eq!(shown(of_step(&o)), step, "{text}");
    }

    #[test]
    fn memory() {
        check_memory(
            "local",
            "=local _VERBOSE=quiet",
            "=quiet,local _LIST= _TYPE=local _VERBOSE=quiet",
        );
        check_memory(
            "v,local",
            "=verbose,local _VERBOSE=verbose",
            "=verbose,local _LIST= _TYPE=local _VERBOSE=verbose",
        );
        check_memory(
            "mask_mem:0x1,0x3",
            "=mask_mem:1,3 _VERBOSE=quiet",
            "=quiet,mask_mem:1,3 _LIST=1,3 _TYPE=mask_mem: _VERBOSE=quiet",
        );
        check_memory(
            "prefer,local",
            "=prefer,local _VERBOSE=quiet",
            "=quiet,prefer,local _LIST= _TYPE=local _VERBOSE=quiet _PREFER=prefer",
        );
        check_memory(
            "v",
            "=verbose _VERBOSE=verbose",
            "=verbose _LIST= _TYPE= _VERBOSE=verbose",
        );
    }

    #[test]
    fn words() {
        assert_eq!(frequency("high"), "High");
        assert_eq!(frequency("low-high:userspace"), "Low-High:UserSpace");
        assert_eq!(frequency("1000-2000:Performance"), "1000-2000:Performance");
        assert_eq!(frequency("perf"), "Performance");
        assert_eq!(profile("task,energy"), "Energy,Task");
        assert_eq!(profile("all"), "Energy,Lustre,Network,Task");
        assert_eq!(profile("none"), "None");
    }
}
