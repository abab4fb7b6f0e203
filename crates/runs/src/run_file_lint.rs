//! What is wrong with a run file: its own mistakes, what it names that is not there, and what a cluster would say to it,
//! which is the judgement of `yard plan FILE --on CLUSTER`.

use crate::container_runtime::{
    Known, check_container, container_refusal, engine_of, runtimes_of_reported,
};
use crate::plan_inputs::missing_in_file;
use crate::plan_notes::missing_program;
use crate::{Failure, no_place_on, places, user_config};
use cluster_file::ClusterFile;
use lint::{
    Finding, Lines, Severity, run_file_findings, run_misses, run_refused, run_without_plan,
};
use model::option_table::Key;
use resources::{Denial, Finding as Denied, Requested, Subject};
use std::ops::Range;
use std::path::{Path, PathBuf};
use sys::users::this_user;
use train::{Overrides, Plan, PlanInput, RunFile, Source, Variables, site};

/// All that is found in the text of a run file, for a cluster where one is named. Of one that can't be read it is its
/// own mistakes.
///
/// # Errors
/// What the user has set of runs can't be read.
pub fn check_run_file(
    path: &Path,
    text: &str,
    cluster: Option<&ClusterFile>,
) -> Result<Vec<Finding>, Failure> {
    let (file, problems) = RunFile::parse(text, &path.to_string_lossy());
    if !problems.is_empty() {
        return Ok(run_file_findings(&problems));
    }
    let mut all = match cluster {
        Some(cluster) => on(cluster, path, &file, text)?,
        None => Vec::new(),
    };
    all.extend(missing(path, &file, text, cluster)?);
    Ok(all)
}

/// What stands against a run file on a cluster, which says no mistake of its own.
///
/// The user's config counts, as it does for a plan; variables do not: a file that is looked at is
/// meant for whoever starts it, as with scripts.
fn on(
    cluster: &ClusterFile,
    path: &Path,
    run_file: &RunFile,
    text: &str,
) -> Result<Vec<Finding>, Failure> {
    let places = places()?;
    let user_config = user_config(&places)?;
    let engine = engine_of(cluster, &places);
    let base = folder_of(path);
    let name = base.file_name().unwrap_or_default().to_string_lossy();
    let (variables, _) = Variables::read(&|_| None);
    let reported = runtimes_of_reported(&cluster.name, &places);
    let known = match (&engine, &reported) {
        (Some(_), _) => Known::Here,
        (None, Some(_)) => Known::OfThisMachine,
        (None, None) => Known::ByFile,
    };
    let mut facts = cluster.facts(None);
    if let Some(here) = reported {
        facts.containers.runtimes = here;
    }
    let input = PlanInput {
        user_config: user_config.as_ref(),
        run_file: Some(run_file),
        variables: &variables,
        overrides: &Overrides::default(),
        facts: &facts,
        base: &base,
        default_name: &name,
    };
    let lines = Lines::new(text);
    let at = |line: Option<usize>| Some(words(&lines, line.filter(|line| *line <= lines.count())?));
    let judged = site::judged(
        &input,
        cluster,
        Some(this_user()),
        &sys::machine(),
        engine.as_ref(),
    );
    Ok(match judged {
        Ok((mut site, refusals)) => {
            let findings = refusals.iter().map(|refusal| {
                let place = at(line_of(&site.plan, refusal));
                run_refused(refusal, &cluster.name, place)
            });
            let mut findings: Vec<Finding> = findings.collect();
            let container = check_container(&mut site.plan, &site.facts, known);
            findings.extend(container.err().map(|failure| {
                let asked = failure.asked.as_deref().unwrap_or_default();
                let place = at(said_line(asked, &path.to_string_lossy()));
                explained(
                    run_without_plan(&cluster.name, &failure.what, place),
                    &failure,
                )
            }));
            findings
        }
        Err(refusal) => {
            let place = at(said_line(&refusal.asked, &path.to_string_lossy()));
            let finding = run_without_plan(&cluster.name, &refusal.message, place);
            vec![
                finding
                    .really(format!("asked {}; there {}", refusal.asked, refusal.there))
                    .help(refusal.todo),
            ]
        }
    })
}

/// With what there is and what to do.
fn explained(finding: Finding, failure: &Failure) -> Finding {
    let finding = match &failure.there {
        Some(there) => finding.really(there.clone()),
        None => finding,
    };
    match &failure.todo {
        Some(todo) => finding.help(todo.clone()),
        None => finding,
    }
}

/// What a run file names that is not there, and the folder that its run would lack: what `yard plan` refuses, and the
/// program that it notes. With a cluster what its nodes alone must see is left to it.
fn missing(
    path: &Path,
    run_file: &RunFile,
    text: &str,
    cluster: Option<&ClusterFile>,
) -> Result<Vec<Finding>, Failure> {
    let base = folder_of(path);
    let places = places()?;
    let lines = Lines::new(text);
    let at = |line: Option<usize>| Some(words(&lines, line.filter(|line| *line <= lines.count())?));
    let mut failures = missing_in_file(run_file, &base, &places, cluster.is_none());
    failures.extend(cluster.and_then(|cluster| no_place_on(cluster, &places)));
    let mut findings: Vec<Finding> = failures
        .iter()
        .map(|failure| {
            let asked = failure.asked.as_deref().unwrap_or_default();
            let place =
                said_line(asked, &path.to_string_lossy()).or_else(|| header_line(text, asked));
            explained(
                run_misses(Severity::Error, &failure.what, at(place)),
                failure,
            )
        })
        .collect();
    const IMAGE: &str = "[environment.container] image";
    let names_image = |failure: &Failure| {
        let asked = failure.asked.as_deref();
        asked.is_some_and(|asked| asked.starts_with(IMAGE))
    };
    // What would run an image that is not there is no matter yet.
    if cluster.is_none()
        && !failures.iter().any(names_image)
        && let Some((mut failure, is_of_here)) = container_refusal(run_file, &base)
    {
        let asked = failure.asked.as_deref().unwrap_or_default();
        let place = at(said_line(asked, &path.to_string_lossy()));
        let severity = if is_of_here {
            let todo = failure.todo.unwrap_or_default();
            failure.todo = Some(format!("{todo}; --on CLUSTER judges by another cluster"));
            Severity::Warning
        } else {
            Severity::Error
        };
        let finding = run_misses(severity, &failure.what, place);
        findings.push(explained(finding, &failure));
    }
    let has_image = run_file.body.environment.container.image.is_some();
    if let Some(command) = run_file.body.command.as_ref().filter(|_| !has_image)
        && let Some(what) = missing_program(&command.value, &base)
    {
        let place = at(own_line(&command.source));
        findings.push(run_misses(Severity::Warning, &what, place));
    }
    Ok(findings)
}

/// The line of a section's name.
fn header_line(text: &str, header: &str) -> Option<usize> {
    let inner = header.strip_suffix(']')?;
    let at = text
        .lines()
        .position(|line| line.trim_start().starts_with(inner))?;
    Some(at + 1)
}

fn folder_of(path: &Path) -> PathBuf {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    folder
        .canonicalize()
        .unwrap_or_else(|_| folder.to_path_buf())
}

/// The line of the run file that decides what is refused; none where another place does.
fn line_of(plan: &Plan, refusal: &Denied) -> Option<usize> {
    let named = match &refusal.asked {
        Requested::Option(key, _) => Some(*key),
        Requested::PartitionOf(..) => Some(Key::Partition),
        _ => None,
    };
    let source = |value: Option<&Source>| value.and_then(own_line);
    let partition = || source(plan.partition.as_ref().map(|value| &value.source));
    let gpus = || {
        let kind = plan.gpu_type.as_ref().map(|value| &value.source);
        own_line(&plan.gpus_per_node.source).or_else(|| source(kind))
    };
    let nodes = || own_line(&plan.nodes.source);
    let time = || source(plan.time.as_ref().map(|value| &value.source));
    match (named, refusal.denial) {
        (Some(Key::Account), _) | (_, Denial::Account) => {
            source(plan.account.as_ref().map(|value| &value.source))
        }
        (Some(Key::Qos), _) | (_, Denial::Qos) => {
            source(plan.qos.as_ref().map(|value| &value.source))
        }
        (Some(Key::Constraint), _) | (_, Denial::Feature) => {
            source(plan.constraint.as_ref().map(|value| &value.source))
        }
        (Some(Key::Time), _) | (_, Denial::TimeLimit) => time(),
        (Some(Key::Nodes), _) | (_, Denial::NodeCount) => nodes(),
        (Some(Key::Mem), _) => {
            source(plan.memory.as_ref().map(|value| &value.source)).or_else(gpus)
        }
        (_, Denial::NodeConfig) => gpus().or_else(nodes),
        (_, Denial::Policy) if refusal.about == Subject::Nodes => nodes(),
        (_, Denial::Policy) if refusal.about == Subject::Gpus => gpus(),
        (Some(Key::Partition), _) | (_, Denial::Partition | Denial::NoPartition) => partition(),
        _ => None,
    }
}

/// The line of the run file that a value comes from.
fn own_line(source: &Source) -> Option<usize> {
    match source {
        Source::RunFile { line, .. } | Source::ClusterSection { line, .. } => {
            usize::try_from(*line).ok()
        }
        Source::Derived { source, .. } => own_line(source),
        _ => None,
    }
}

/// The first line that a text names as `FILE:LINE`.
fn said_line(text: &str, file: &str) -> Option<usize> {
    let (_, rest) = text.split_once(&format!("{file}:"))?;
    let digits = rest.find(|c: char| !c.is_ascii_digit());
    rest[..digits.unwrap_or(rest.len())].parse().ok()
}

/// The words of a line of a run file.
fn words(lines: &Lines<'_>, line: usize) -> Range<usize> {
    let range = lines.range(line);
    let text = lines.line(line);
    let start = range.start + text.len() - text.trim_start().len();
    start..range.start + text.trim_end().len()
}
