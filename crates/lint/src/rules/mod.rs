//! All rules. Each is a file: its code, its page, its check and the scripts on which it speaks or
//! is silent.

use crate::rule::Rule;

mod abbreviation;
mod all_memory;
mod ambiguous_option;
mod array_output;
mod conda_activate;
mod conflict;
mod cut_by_hash;
mod directive_syntax;
mod dos_line_ends;
mod empty_directive;
mod empty_value;
mod exclusive_shared;
mod fewer_tasks;
mod fixed_port;
mod foreign_directive;
pub(crate) mod given_twice;
mod gpus_per_task;
mod gpus_twice;
mod idle_gpus;
mod invalid_array;
mod invalid_value;
mod late_directive;
mod launcher_in_launcher;
mod launcher_per_task;
mod local_address;
mod mail_domain;
mod mail_types;
mod mail_without_type;
mod mail_word;
mod minutes_seconds;
mod missing_value;
mod nccl_level;
mod near_directive;
mod no_jobs_here;
mod no_launcher;
mod no_limit;
mod no_such_gpu;
mod node_count;
mod node_too_small;
mod not_a_member;
mod not_a_script;
pub(crate) mod not_looked_at;
mod not_taken;
mod one_process;
mod output_folder;
mod outside_policy;
mod per_gpu_without_gpu;
mod placeholder;
mod requeue_output;
mod run_file;
mod shell_variable;
mod short_with_equals;
mod signal_without_trap;
mod single_dash;
mod site;
mod spool_copy;
mod srun_cpus;
mod stray_word;
mod swallowed_option;
mod tasks_mismatch;
mod tilde;
mod time_over_a_year;
mod time_over_limit;
mod tiny_memory;
mod trailing_backslash;
mod trap_in_foreground;
mod trap_of_steps;
mod unicode_punctuation;
mod unknown_feature;
pub(crate) mod unknown_ignore;
mod unknown_option;
mod unknown_partition;
mod unknown_pattern;
mod unknown_variable;
pub(crate) mod unused_ignore;

pub use not_taken::{run_refused, run_without_plan};
pub(crate) use placeholder::gap_in_command;
pub use run_file::{run_file_findings, run_misses};

/// All rules, ascending by their codes.
pub const RULES: &[Rule] = &[
    unknown_option::RULE,
    ambiguous_option::RULE,
    invalid_value::RULE,
    missing_value::RULE,
    swallowed_option::RULE,
    stray_word::RULE,
    directive_syntax::RULE,
    conflict::RULE,
    not_a_script::RULE,
    dos_line_ends::RULE,
    late_directive::RULE,
    given_twice::RULE,
    near_directive::RULE,
    empty_directive::RULE,
    abbreviation::RULE,
    shell_variable::RULE,
    placeholder::RULE,
    short_with_equals::RULE,
    empty_value::RULE,
    single_dash::RULE,
    foreign_directive::RULE,
    cut_by_hash::RULE,
    trailing_backslash::RULE,
    unicode_punctuation::RULE,
    invalid_array::RULE,
    requeue_output::RULE,
    output_folder::RULE,
    array_output::RULE,
    tilde::RULE,
    unknown_pattern::RULE,
    minutes_seconds::RULE,
    no_limit::RULE,
    time_over_a_year::RULE,
    tiny_memory::RULE,
    mail_without_type::RULE,
    mail_types::RULE,
    mail_word::RULE,
    one_process::RULE,
    no_launcher::RULE,
    gpus_twice::RULE,
    gpus_per_task::RULE,
    srun_cpus::RULE,
    launcher_per_task::RULE,
    launcher_in_launcher::RULE,
    tasks_mismatch::RULE,
    fewer_tasks::RULE,
    all_memory::RULE,
    per_gpu_without_gpu::RULE,
    exclusive_shared::RULE,
    idle_gpus::RULE,
    fixed_port::RULE,
    local_address::RULE,
    nccl_level::RULE,
    unknown_variable::RULE,
    spool_copy::RULE,
    conda_activate::RULE,
    signal_without_trap::RULE,
    trap_in_foreground::RULE,
    trap_of_steps::RULE,
    unknown_partition::RULE,
    time_over_limit::RULE,
    not_a_member::RULE,
    no_such_gpu::RULE,
    outside_policy::RULE,
    no_jobs_here::RULE,
    unknown_feature::RULE,
    node_too_small::RULE,
    mail_domain::RULE,
    node_count::RULE,
    not_taken::RULE,
    run_file::RULE,
    unused_ignore::RULE,
    unknown_ignore::RULE,
    not_looked_at::RULE,
];

#[cfg(test)]
mod tests;
