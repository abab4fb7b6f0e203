//! File names with `%` in them, as sbatch(1) and srun(1) list them.

use crate::spec::StepSpec;
use api::StepTask;
use model::StepId;

/// What `%a` stands for outside an array: Slurm's NO_VAL.
const NO_VALUE: u32 = 4_294_967_294;

/// Puts the task's values into a file name. A number after `%` is the least width of a numeric
/// value, filled with zeros; a backslash anywhere switches all patterns off and is taken away.
pub(super) fn expand(pattern: &str, spec: &StepSpec, task: &StepTask) -> String {
    if pattern.contains('\\') {
        return pattern.replace('\\', "");
    }
    let mut name = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            name.push(c);
            continue;
        }
        let digits = rest.as_str().len()
            - rest
                .as_str()
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .len();
        let width: usize = rest.as_str()[..digits].parse().unwrap_or(0);
        let mut after = rest.as_str()[digits..].chars();
        let number = |value: u32| format!("{value:0width$}", width = width.min(10));
        let (array_job, array_task) = match spec.array {
            Some((job, task)) => (job.0, task),
            None => (spec.job.0, NO_VALUE),
        };
        let value = match after.next() {
            Some('%') => "%".to_owned(),
            Some('A') => number(array_job),
            Some('a') => number(array_task),
            Some('b') => number(array_task % 10),
            Some('J') => match spec.step {
                StepId::Batch => number(spec.job.0),
                StepId::Number(step) => format!("{}.{step}", spec.job),
            },
            Some('j') => number(spec.job.0),
            Some('s') => match spec.step {
                StepId::Batch => "batch".to_owned(),
                StepId::Number(step) => number(step),
            },
            Some('N') => spec.node.to_string(),
            Some('n') => number(spec.node_index),
            Some('r') => number(spec.restart),
            Some('t') => number(task.rank),
            Some('u') => spec.user.clone(),
            Some('x') => spec.job_name.clone(),
            // Not a pattern: it stays as it is.
            _ => {
                name.push('%');
                continue;
            }
        };
        name.push_str(&value);
        rest = after;
    }
    name
}

/// Whether several nodes of one step name one file.
pub(super) fn is_shared(pattern: &str) -> bool {
    if pattern.contains('\\') {
        return true;
    }
    let mut letters = pattern.chars();
    while let Some(c) = letters.next() {
        if c == '%' {
            let letter = letters.find(|c| !c.is_ascii_digit());
            if matches!(letter, Some('t' | 'n' | 'N')) {
                return false;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervisor::test_spec::spec;
    use model::JobId;

    #[track_caller]
    fn check(pattern: &str, want: &str) {
        let mut spec = spec();
        spec.job = JobId(42);
        spec.array = Some((JobId(40), 17));
        spec.step = StepId::Number(3);
        spec.node_index = 1;
        spec.job_name = "train".to_owned();
        let mut task = spec.tasks[0].clone();
        task.rank = 5;
        assert_eq!(expand(pattern, &spec, &task), want);
    }

    #[test]
    fn every_letter() {
        check("slurm-%A_%a.out", "slurm-40_17.out");
        check("%x/%j-%J-%s.%t@%N%n %u%%%b", "train/42-42.3-3.5@n11 me%7");
        check("%4t-%012j", "0005-0000000042");
        check("100%", "100%");
        check("%q%t", "%q5");
        check("a\\%j", "a%j");
    }

    #[test]
    fn outside_an_array() {
        let spec = spec();
        let task = &spec.tasks[0];
        assert_eq!(expand("%A_%a", &spec, task), "7_4294967294");
    }

    #[test]
    fn shared_unless_node_or_task_is_named() {
        assert!(is_shared("out-%j"));
        assert!(is_shared("100%%t"));
        assert!(is_shared("\\%t"));
        assert!(!is_shared("out-%4t"));
        assert!(!is_shared("%N.log"));
    }
}
