//! A submission whose answer was lost: the controller may have the job all the same.

use crate::values::JobId;

/// What is asked of `squeue` to find a job of this user by its comment.
pub const FIND_BY_COMMENT: [&str; 4] = [
    "--noheader",
    "--me",
    "--states=all",
    "--Format=ArrayJobID:12|,Comment:256|",
];

/// The job with that comment, of what `squeue` answers to [`FIND_BY_COMMENT`].
#[must_use]
pub fn job_with_comment(answer: &str, comment: &str) -> Option<JobId> {
    answer.lines().find_map(|line| {
        let (id, rest) = line.split_once('|')?;
        let is_it = rest.trim_end_matches('|').trim() == comment;
        is_it.then(|| id.trim().parse().ok().map(JobId))?
    })
}

/// Whether `sbatch` complains that its request went out and no answer came.
///
/// Source: the texts of the communication errors in Slurm's `slurm_errno.c`.
#[must_use]
pub fn answer_was_lost(complaint: &str) -> bool {
    const LOST: [&str; 4] = [
        "Socket timed out on send/recv operation",
        "Zero Bytes were transmitted or received",
        "Message receive failure",
        "Transport endpoint is not connected",
    ];
    LOST.iter().any(|text| complaint.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_found_by_its_comment() {
        let answer = "7           |other |\n12          |digits-k3f9.1.x |\n";
        assert_eq!(job_with_comment(answer, "digits-k3f9.1.x"), Some(JobId(12)));
        assert_eq!(job_with_comment(answer, "digits"), None);
        assert_eq!(job_with_comment("", "digits"), None);
    }

    #[test]
    fn a_lost_answer_is_no_refusal() {
        let failed = |why: &str| format!("sbatch: error: Batch job submission failed: {why}");
        assert!(answer_was_lost(&failed(
            "Socket timed out on send/recv operation"
        )));
        assert!(!answer_was_lost(&failed("Invalid qos specification")));
        assert!(!answer_was_lost(&failed(
            "Unable to contact slurm controller (connect failure)"
        )));
    }
}
