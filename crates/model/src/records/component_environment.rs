//! The variables of heterogeneous jobs: what each component has, under its number.

use crate::records::job_environment::{StartedJob, counts_text, salloc_variables};
use crate::records::job_variables::cpus_of;
use crate::requests::{COMPONENT_VARIABLES, ComponentPlace};
use crate::values::{NodeShare, Setter, Variables, node_list};

/// What all components of a heterogeneous job were given, each under its own number; the older names
/// (`PACK`) too, as 22.05 sets them.
#[must_use]
pub fn component_variables(place: ComponentPlace, all: &[StartedJob<'_>]) -> Variables {
    let mut set = Setter::default();
    for name in ["SLURM_HET_SIZE", "SLURM_PACK_SIZE"] {
        set.to(name, place.size);
    }
    for job in all {
        let number = job
            .record
            .request
            .rare
            .component
            .map_or(0, |own| own.offset);
        let mut own = Setter::default();
        own.allocation(job);
        for (name, value) in own.0 {
            if COMPONENT_VARIABLES.contains(&name.as_str()) {
                for group in ["HET", "PACK"] {
                    set.to(&format!("{name}_{group}_GROUP_{number}"), &value);
                }
            }
        }
    }
    set.0
}

/// The variables of a job by the nodes of a step that runs in several components.
#[must_use]
pub fn union_variables(nodes: &[NodeShare]) -> Variables {
    let mut set = Setter::default();
    let names = node_list::fold(nodes.iter().map(|share| &share.node));
    for name in ["SLURM_JOB_NODELIST", "SLURM_NODELIST"] {
        set.to(name, &names);
    }
    set.to("SLURM_JOB_NUM_NODES", nodes.len());
    let cpus: Vec<u32> = nodes.iter().map(cpus_of).collect();
    set.to("SLURM_JOB_CPUS_PER_NODE", counts_text(&cpus));
    set.0
}

/// Those that `salloc` sets for the command of a heterogeneous job: what each component has, with its
/// number, and of all together the id and the tasks alone.
#[must_use]
pub fn salloc_component_variables(place: ComponentPlace, all: &[StartedJob<'_>]) -> Variables {
    const ALSO: [&str; 4] = [
        "SLURM_JOBID",
        "SLURM_NNODES",
        "SLURM_NODELIST",
        "SLURM_NODE_ALIASES",
    ];
    let mut set = Setter(component_variables(place, all));
    let mut tasks: u32 = 0;
    for job in all {
        let offset = job.record.request.rare.component.map_or(0, |it| it.offset);
        for (name, value) in salloc_variables(job) {
            if name == "SLURM_NTASKS" {
                tasks += value.parse().unwrap_or(0);
            }
            if ALSO.contains(&name.as_str()) {
                for group in ["HET", "PACK"] {
                    set.to(&format!("{name}_{group}_GROUP_{offset}"), &value);
                }
            }
            if name == "SLURM_CLUSTER_NAME" {
                set.to(&name, value);
            }
        }
    }
    set.to("SLURM_JOB_ID", place.leader);
    for name in ["SLURM_NTASKS", "SLURM_NPROCS"] {
        set.to(name, tasks);
    }
    set.0
}
