//! What a real Slurm answers.

use crate::lines;
use crate::ours::FIELDS;
use testkit::RealSlurm;

/// The first lines of a record.
pub const HEAD: &str = "\
// What a real Slurm 22.05.8 (Debian 12) answered: a line, and behind a tab its exit status and words, or the fields of the job.
// Made by `TRAINYARD_RECORD=1 cargo test -p yard-cli --test oracle slow`: `sbatch -H --parsable LINE --wrap true` (or the script
// behind ` << `) in the folder /tmp, then `scontrol -o show job`, on a controller with the nodes and partitions of ours.rs.
";

/// Asks for a held job, and what became of it; cancels it again.
pub fn answer(slurm: &RealSlurm, line: &str) -> String {
    let asked = lines::read(line);
    let only_tested = asked.is_question();
    let mut args = vec!["-H".to_owned(), "--parsable".to_owned()];
    args.extend(asked.words);
    match asked.script {
        None => args.extend(["--wrap".to_owned(), "true".to_owned()]),
        Some(text) => {
            let path = slurm.folder().join("job.sh");
            std::fs::write(&path, text).expect("the script is written");
            args.push(path.display().to_string());
        }
    }
    let mut command = slurm.command("sbatch", &args);
    command
        .current_dir("/tmp")
        .env_remove("SLURM_HINT")
        .env("LC_ALL", "C")
        .env("TZ", "UTC");
    command.envs(asked.variables);
    let before = sys::now();
    let output = command.output().expect("sbatch runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\n', "\\n");
    let job = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() || job.parse::<u32>().is_err() {
        let status = output.status.code().unwrap_or(-1);
        let mut said = format!("{}{}", text(&output.stderr), text(&output.stdout));
        if only_tested && status == 0 {
            said = estimate(&said, before);
        }
        return format!("rc={status} {said}");
    }
    let mut show = slurm.command("scontrol", &["-o", "show", "job", &job]);
    let shown = show.env("TZ", "UTC").output().expect("scontrol runs");
    let record = String::from_utf8_lossy(&shown.stdout).into_owned();
    let first = record.lines().next().unwrap_or_default();
    slurm.run("scancel", &[&job]).success();
    let fields = FIELDS.iter().filter_map(|name| {
        let value = field(first, name)?.replace(&job, "<JOB>");
        Some(format!("{name}={value}"))
    });
    fields.collect::<Vec<_>>().join(" ")
}

/// What `--test-only` said without what no two controllers have in common: the job's id, which
/// nodes are taken, and the moment where that is now.
fn estimate(said: &str, before: i64) -> String {
    let Some((remarks, line)) = said.split_once("sbatch: Job ") else {
        return said.to_owned();
    };
    let words: Vec<&str> = line.split(' ').collect();
    let [
        job,
        "to",
        "start",
        "at",
        moment,
        "using",
        cpus,
        "processors",
        "on",
        "nodes",
        _,
        "in",
        "partition",
        partition,
    ] = words[..]
    else {
        return said.to_owned();
    };
    assert!(job.parse::<u32>().is_ok(), "{said}");
    let zone = jiff::tz::TimeZone::UTC;
    // A busy controller goes by the time of its last look, which may be earlier.
    let soon = (0..180).any(|second| {
        let then = model::Timestamp(before - 60_000) + model::Seconds(second);
        model::moment_text(then, &zone) == moment
    });
    let moment = if soon { "<NOW>" } else { moment };
    format!(
        "{remarks}sbatch: Job <JOB> to start at {moment} using {cpus} processors on nodes <NODES> in partition {partition}"
    )
}

/// A field's value: what stands between its name and the next one's.
fn field<'r>(record: &'r str, name: &str) -> Option<&'r str> {
    let start = format!(" {name}=");
    let at = record.find(&start)? + start.len();
    let rest = &record[at..];
    let mut end = rest.len();
    for (index, _) in rest.match_indices(' ') {
        let word = rest[index + 1..]
            .split([' ', '='])
            .next()
            .unwrap_or_default();
        let named = rest[index + 1 + word.len()..].starts_with('=');
        if named && word.starts_with(|c: char| c.is_ascii_uppercase())
            || rest[index + 1..].is_empty()
        {
            end = index;
            break;
        }
    }
    Some(rest[..end].trim_end())
}
