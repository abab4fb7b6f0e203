//! What `yard run` says of a script before it submits it.

use super::around::Around;
use crate::exit_code;
use crate::failure::Failure;
use crate::printer::Printer;
use ::lint::{Finding, Lines, Severity};
use cluster_file::ClusterFile;
use runs::input_file;
use std::path::Path;

/// Looks at a script before it is submitted: what is wrong is said briefly, and an error refuses it.
/// So does what `cluster` would not take, the file of the cluster that it goes to.
pub fn before_submission(
    script: &Path,
    args: &[String],
    cluster: Option<ClusterFile>,
    printer: &Printer,
) -> Result<(), Failure> {
    let name = script.display().to_string();
    // What is read from a pipe is gone for sbatch.
    if !input_file::is_plain(script) {
        return Ok(());
    }
    // A script that can't be read is sbatch's to complain of.
    let Ok(file) = input_file::read(script) else {
        return Ok(());
    };
    let text = String::from_utf8_lossy(&file.bytes);
    let by_file = cluster.is_some();
    let findings = Around::of(cluster, None)?.check(&name, &text, args);
    let lines = Lines::new(&text);
    for finding in findings
        .iter()
        .filter(|finding| finding.severity != Severity::Note)
    {
        let line = finding
            .labels
            .first()
            .map_or(1, |_| lines.number(finding.start()));
        printer.say(&format!(
            "{}[{}]: {name}:{line}: {}",
            finding.severity.name(),
            finding.code,
            finding.message
        ));
    }
    // What sbatch refuses it refuses in its own words; by a cluster's file that is known before.
    let dropped =
        |finding: &&Finding| finding.severity == Severity::Error && (by_file || !finding.refused);
    match findings.iter().filter(dropped).count() {
        0 => Ok(()),
        count => Err(Failure::new(
            exit_code::REFUSED,
            format!(
                "{name} was not submitted: it has {}",
                model::counted(count, "error")
            ),
        )
        .todo(format!(
            "yard lint {name} shows what to change; --no-lint submits it as it is"
        ))),
    }
}
