//! Slurm's words for what a run file calls otherwise.

/// The key that stands for one of sbatch's options, written with underscores or dashes.
#[must_use]
pub fn slurms_word(key: &str) -> Option<&'static str> {
    let key = key.replace('-', "_");
    Some(match key.as_str() {
        "mem" | "mem_per_node" => "[resources] memory",
        "mem_per_cpu" => "[resources] memory_per_cpu",
        "mem_per_gpu" => "[resources] memory_per_gpu",
        "cpus_per_task" => "[resources] cpus_per_rank",
        "ntasks_per_node" | "tasks_per_node" | "ntasks_per_gpu" => "[resources] ranks_per_node",
        "ntasks" => "[resources] nodes times ranks_per_node",
        "gpu" | "gres" => "[resources] gpus_per_node",
        "gpus_per_task" => "[resources] gpus_per_node, times the ranks of a node,",
        "array" => "repeat",
        "time_limit" | "timelimit" | "walltime" => "[resources] time",
        "job_name" => "name",
        "mail_user" => "[notify] mail",
        "mail_type" => "[notify] on",
        "requeue" | "no_requeue" => "[resume] on",
        "signal" => "[resume] notify",
        "output" | "error" => "yard logs, of a file for each rank,",
        "chdir" => "the folder of the run file",
        "export" => "[environment] variables",
        "wrap" => "command",
        "dependency" => "[after] run, or an option in [resources] sbatch",
        "reservation" | "nodelist" | "exclude" | "licenses" | "gres_flags" => {
            "an option in [resources] sbatch"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::{RunFile, key_sections, top_keys};

    #[track_caller]
    fn check(text: &str, want: &str) {
        let (_, problems) = RunFile::parse(text, "yard.toml");
        let labels: Vec<&str> = problems.iter().map(|one| one.label.as_str()).collect();
        assert_eq!(labels, [want], "{text}");
    }

    #[test]
    fn slurms_words_name_the_right_key() {
        check(
            "[resources]\nmem = \"4G\"\n",
            "Slurm's mem is [resources] memory here",
        );
        check("mem = \"4G\"\n", "Slurm's mem is [resources] memory here");
        check(
            "[resources]\ncpus_per_task = 4\n",
            "Slurm's cpus_per_task is [resources] cpus_per_rank here",
        );
        check(
            "[resources]\nntasks-per-node = 4\n",
            "Slurm's ntasks-per-node is [resources] ranks_per_node here",
        );
        check(
            "[resources]\ngpu = 1\n",
            "Slurm's gpu is [resources] gpus_per_node here",
        );
        check("job_name = \"a\"\n", "Slurm's job_name is name here");
    }

    /// It was taken for a slip of `gpus`.
    #[test]
    fn the_first_words_of_a_key_name_it() {
        check("[resources]\ncpus = 4\n", "did you mean cpus_per_rank?");
    }

    #[test]
    fn no_key_of_ours_is_one_of_them() {
        let sections = key_sections().into_iter().flat_map(|section| section.keys);
        for row in top_keys().into_iter().chain(sections) {
            assert_eq!(super::slurms_word(row.name), None, "{}", row.name);
        }
    }
}
