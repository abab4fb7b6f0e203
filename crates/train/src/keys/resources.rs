//! `[resources]`: what each job of the run asks for.

use super::{Flag, Key, KeyDefault, KeyRow, Section, Value};
use crate::reader::{Raw, Reader, span};
use crate::{GpuMemory, Resolved, ResourceSection};

impl Section for ResourceSection {
    const KEYS: &'static [Key<ResourceSection>] = &[
        Key {
            row: KeyRow {
                name: "nodes",
                value: Value::Count(1),
                default: KeyDefault::Is("1"),
                flag: Flag::stricter("nodes", "N", "Nodes"),
                doc: "Nodes of a job.",
                example: "2",
            },
            read: |row, own, reader, raw| own.nodes = reader.count(row, raw),
        },
        Key {
            row: KeyRow {
                name: "ranks_per_node",
                value: Value::Count(1),
                default: KeyDefault::Described("a rank for each GPU of the node, 1 without GPUs"),
                flag: Flag::slurms("ntasks-per-node", "N"),
                doc: "Training processes on each node.",
                example: "4",
            },
            read: |row, own, reader, raw| own.ranks_per_node = reader.count(row, raw),
        },
        Key {
            row: KeyRow {
                name: "gpus_per_node",
                value: Value::Gpus,
                default: KeyDefault::Unless("0", "1 where `gpu_type` or `gpu_memory` is set"),
                flag: Flag::slurms("gpus-per-node", "[TYPE:]N"),
                doc: "GPUs of each node.",
                example: "4",
            },
            read: |row, own, reader, raw| {
                own.gpus_per_node = gpus(row, &mut own.gpu_type, reader, raw);
            },
        },
        Key {
            row: KeyRow {
                name: "gpus",
                value: Value::Gpus,
                default: KeyDefault::Described("`nodes` times `gpus_per_node`"),
                flag: Flag::slurms("gpus", "[TYPE:]N"),
                doc: "GPUs of all nodes together: `nodes` and `gpus_per_node` follow from it, the \
                      same number on each node, and on as few nodes as have them where neither is \
                      set. With a number of `nodes` that does not divide it, nodes have different \
                      numbers, a rank for each GPU, where the launcher takes that.",
                example: "8",
            },
            read: |row, own, reader, raw| own.gpus = gpus(row, &mut own.gpu_type, reader, raw),
        },
        Key {
            row: KeyRow {
                name: "gpu_type",
                value: Value::Text,
                default: KeyDefault::Described("any"),
                flag: Flag::own("gpu-type", "TYPE", "Type of the GPUs, such as v100"),
                doc: "Type of the GPUs, by the model or by the cluster's name for it.",
                example: "\"v100\"",
            },
            read: |row, own, reader, raw| own.gpu_type = reader.text(row, raw),
        },
        Key {
            row: KeyRow {
                name: "gpu_memory",
                value: Value::Amount,
                default: KeyDefault::Described("any"),
                flag: Flag::own(
                    "gpu-memory",
                    "SIZE",
                    "Least memory of a GPU, such as 32G: chooses a type that has it",
                ),
                doc: "Least memory of a GPU: a type that has it is chosen.",
                example: "\"32G\"",
            },
            read: |row, own, reader, raw| {
                let size = reader.mebibytes(row, raw);
                own.gpu_memory = size.map(|size| size.map(GpuMemory));
            },
        },
        Key {
            row: KeyRow {
                name: "cpus_per_rank",
                value: Value::Count(1),
                default: KeyDefault::Described(
                    "the node's CPUs, shared by its GPUs or else its ranks",
                ),
                flag: Flag::slurms("cpus-per-task", "N"),
                doc: "CPUs of one rank.",
                example: "6",
            },
            read: |row, own, reader, raw| own.cpus_per_rank = reader.count(row, raw),
        },
        Key {
            row: KeyRow {
                name: "cpus_per_gpu",
                value: Value::Count(1),
                default: KeyDefault::Described("as `cpus_per_rank`"),
                flag: Flag::slurms("cpus-per-gpu", "N"),
                doc: "CPUs for each GPU, in place of `cpus_per_rank`: a node's ranks share them.",
                example: "6",
            },
            read: |row, own, reader, raw| own.cpus_per_gpu = reader.count(row, raw),
        },
        Key {
            row: KeyRow {
                name: "memory",
                value: Value::Memory,
                default: KeyDefault::Described(
                    "on Slurm the share of a node's memory that goes with its CPUs or GPUs; \
                     on this machine no limit",
                ),
                flag: Flag::slurms("mem", "SIZE"),
                doc: "Memory of each node. `\"all\"` is all that a node has, `\"default\"` asks for \
                      none, so that the cluster's own default holds.",
                example: "\"90G\"",
            },
            read: |row, own, reader, raw| own.memory = reader.memory(row, raw),
        },
        Key {
            row: KeyRow {
                name: "memory_per_gpu",
                value: Value::Amount,
                default: KeyDefault::Described("as `memory`"),
                flag: Flag::slurms("mem-per-gpu", "SIZE"),
                doc: "Memory for each GPU, in place of `memory`.",
                example: "\"64G\"",
            },
            read: |row, own, reader, raw| own.memory_per_gpu = reader.mebibytes(row, raw),
        },
        Key {
            row: KeyRow {
                name: "memory_per_cpu",
                value: Value::Amount,
                default: KeyDefault::Described("as `memory`"),
                flag: Flag::slurms("mem-per-cpu", "SIZE"),
                doc: "Memory for each CPU of the ranks, in place of `memory`.",
                example: "\"4G\"",
            },
            read: |row, own, reader, raw| own.memory_per_cpu = reader.mebibytes(row, raw),
        },
        Key {
            row: KeyRow {
                name: "time",
                value: Value::Time,
                default: KeyDefault::Described("the cluster's default"),
                flag: Flag::stricter(
                    "time",
                    "TIME",
                    "Longest time of one job: 25s, 10m, 24h, or as Slurm has it, 10 (minutes), 24:00:00, 2-12:00:00",
                ),
                doc: "Time limit of one job. A run that needs longer continues in further jobs.",
                example: "\"24h\"",
            },
            read: |row, own, reader, raw| own.time = reader.time(row, raw),
        },
        Key {
            row: KeyRow {
                name: "account",
                value: Value::Text,
                default: KeyDefault::Described("your default there"),
                flag: Flag::slurms("account", "NAME"),
                doc: "The account that is charged.",
                example: "\"my-project\"",
            },
            read: |row, own, reader, raw| own.account = reader.text(row, raw),
        },
        Key {
            row: KeyRow {
                name: "qos",
                value: Value::Text,
                default: KeyDefault::Described("your default there"),
                flag: Flag::slurms("qos", "NAME"),
                doc: "The quality of service, which sets limits and priority.",
                example: "\"normal\"",
            },
            read: |row, own, reader, raw| own.qos = reader.text(row, raw),
        },
        Key {
            row: KeyRow {
                name: "partition",
                value: Value::Text,
                default: KeyDefault::Described(
                    "one that fits, where the cluster's file is known; else Slurm's default",
                ),
                flag: Flag::slurms("partition", "NAME"),
                doc: "The partition.",
                example: "\"gpu\"",
            },
            read: |row, own, reader, raw| own.partition = reader.text(row, raw),
        },
        Key {
            row: KeyRow {
                name: "exclusive",
                value: Value::Switch,
                default: KeyDefault::Is("false"),
                flag: Some(Flag {
                    long: "exclusive",
                    value: None,
                    help: None,
                    of_slurm: true,
                    several: false,
                }),
                doc: "No other job shares the nodes.",
                example: "true",
            },
            read: |row, own, reader, raw| own.exclusive = reader.switch(row, raw),
        },
        Key {
            row: KeyRow {
                name: "constraint",
                value: Value::Text,
                default: KeyDefault::Described("none"),
                flag: Flag::slurms("constraint", "LIST"),
                doc: "Features that the nodes must have, as Slurm writes them.",
                example: "\"v100&ib\"",
            },
            read: |row, own, reader, raw| own.constraint = reader.text(row, raw),
        },
        Key {
            row: KeyRow {
                name: "sbatch",
                value: Value::Texts,
                default: KeyDefault::Is("[]"),
                flag: Some(Flag {
                    long: "sbatch",
                    value: Some("OPTION"),
                    help: Some(
                        "A further option for sbatch, such as --sbatch=--reservation=x; can be repeated",
                    ),
                    of_slurm: false,
                    several: true,
                }),
                doc: "Further options for a real Slurm's sbatch, as they are, each with its value in \
                      one text; the embedded engine leaves them out. Those for which a run has a key, or that it keeps its books by, are refused.",
                example: "[\"--reservation=x\"]",
            },
            read: |row, own, reader, raw| own.sbatch = sbatch(row, reader, raw),
        },
    ];
}

/// A number, or Slurm's `TYPE:N`, which also says the type.
fn gpus(
    row: &KeyRow,
    gpu_type: &mut Option<Resolved<String>>,
    reader: &mut Reader<'_>,
    raw: Raw<'_>,
) -> Option<Resolved<u32>> {
    let text = match raw {
        Raw::Flag(text, _) => Some(text),
        Raw::Toml(value) => value.get_ref().as_str(),
    };
    let Some((kind, count)) = text.and_then(|text| text.rsplit_once(':')) else {
        let is_type = |text: &&str| text.starts_with(|letter: char| letter.is_ascii_alphabetic());
        let Some(kind) = text.filter(is_type) else {
            return reader.count(row, raw);
        };
        let help = format!("write \"{kind}:1\" with the number of them, or gpu_type = \"{kind}\"");
        let label = "expected a whole number or \"TYPE:N\"";
        reader.complain(span(raw), format!("{} is {kind:?}", row.name), label, help);
        return None;
    };
    let start = span(raw).end.saturating_sub(count.len());
    let number = reader.count(row, Raw::Flag(count, start))?;
    let whole = reader.text(row, raw)?;
    *gpu_type = Some(Resolved::new(kind.to_owned(), whole.source.clone()));
    Some(Resolved::new(number.value, whole.source))
}

/// Options as `--reservation=x`, one a text.
fn sbatch(row: &KeyRow, reader: &mut Reader<'_>, raw: Raw<'_>) -> Option<Resolved<Vec<String>>> {
    let options = reader.texts(row, raw)?;
    let odd = |option: &&String| !option.starts_with('-') || option.contains(['\n', '\r']);
    if let Some(odd) = options.value.iter().find(odd) {
        let message = format!("{odd:?} is not an option of sbatch");
        let help = "write each option with its value as one text, such as \"--reservation=x\"";
        reader.complain(span(raw), message, "", help);
        return None;
    }
    Some(options)
}
