//! What a real Slurm 22.05.8 answered, against what this crate makes of the same input. The file's
//! README tells how the rows were recorded.
use crate::held_job::{ControllerDefaults, HeldJob};
use cluster_file::ClusterFile;
use jiff::tz::TimeZone;
use model::file_pattern::{PatternContext, file_name};
use model::option_table::Command;
use model::sbatch::{self, Sbatch};
use model::srun::{self, Stream};
use model::{
    Diagnostic, GresTypes, JobId, Seconds, SlurmVersion, StepId, Surroundings, TimeLimitRequest,
    Timestamp, first_error, moment_text, node_list,
};
use std::path::Path;
use yard_resources as resources;
use yard_resources::Fate;

const ROWS: &str = include_str!("../data/language-22.05.8.tsv");

/// Rows that are not met, with the reason: each must go from this list once it is.
const NOT_MET: &[(&str, &str, &str)] = &[("pattern", "out/%j", "folders are made, as 23.02 does")];

/// 2026-03-10 03:04:05 UTC: before every time of day that the rows name.
const NOW: Timestamp = Timestamp(1_773_111_845_000);

#[test]
fn recorded_rows_are_met() {
    let mut wrong = Vec::new();
    let mut unmet: Vec<(&str, &str)> = NOT_MET.iter().map(|row| (row.0, row.1)).collect();
    for row in ROWS.lines() {
        let columns: Vec<&str> = row.split('\t').collect();
        let [category, input, want] = columns[..] else {
            panic!("not three columns: {row}");
        };
        let got = answer(category, input, want);
        let met = got == want;
        let listed = unmet.iter().position(|known| *known == (category, input));
        match (met, listed) {
            (true, None) => {}
            (false, Some(index)) => {
                unmet.swap_remove(index);
            }
            (true, Some(_)) => {
                wrong.push(format!("{category} {input:?} is met: take it from NOT_MET"))
            }
            (false, None) => {
                wrong.push(format!("{category} {input:?}\n  want {want}\n  got  {got}"))
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\n{} wrong",
        wrong.join("\n"),
        wrong.len()
    );
    assert!(
        unmet.is_empty(),
        "NOT_MET names rows that are not there: {unmet:?}"
    );
}

/// The answer in the form of the recorded one, which tells which fields were asked for.
fn answer(category: &str, input: &str, want: &str) -> String {
    match category {
        "hostnames" | "hostlist" | "hostlistsorted" => node_names(category, input),
        "time" => held(&["-t", input.trim_matches('"')], want),
        "time-min" => held(&["-t", "3-0", "--time-min", input], want),
        "array" => held(&["-a", input], want),
        "mem" => held(&[&format!("--mem={input}")], want),
        "mem-per-cpu" => held(&["-c", "2", &format!("--mem-per-cpu={input}")], want),
        "size" | "gres" | "misc" => held(&words(input), want),
        "begin" => begin(input, want),
        "pattern" => pattern(input),
        "srunpattern" => srun_pattern(input),
        "script" => script(input, want),
        "cmd" => held_script(&words(input.trim_start_matches("sbatch")), Some(""), want),
        other => panic!("no such category: {other}"),
    }
}

fn node_names(category: &str, input: &str) -> String {
    let folded = match category {
        "hostnames" => Ok(String::new()),
        _ => node_list::fold_list(input, category == "hostlistsorted"),
    };
    let (names, folded) = match node_list::expand(input).and_then(|names| Ok((names, folded?))) {
        Ok(both) => both,
        Err(error) => {
            let detail = error
                .detail()
                .map_or(String::new(), |d| format!("scontrol: error: {d}\\n"));
            return format!("rc=0 {detail}{error}\\n");
        }
    };
    match category {
        "hostnames" => {
            let lines: Vec<String> = names.iter().map(|name| format!("{name}\\n")).collect();
            format!("rc=0 {}", lines.concat())
        }
        _ => format!("rc=0 {folded}\\n"),
    }
}

fn resolve(args: &[&str], script: Option<&str>) -> (Sbatch, Vec<Diagnostic>) {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let zone = TimeZone::UTC;
    let surroundings = Surroundings {
        gres_types: GresTypes::Only(&["gpu"]),
        ..Surroundings::slurm(
            SlurmVersion::V22_05,
            NOW,
            &zone,
            Path::new("/home/dave/golden"),
        )
    };
    sbatch::resolve(&args, &|_| None, script, &surroundings)
}

/// Submits a held job as the rows did.
fn held(args: &[&str], want: &str) -> String {
    let mut all = vec!["-H", "--parsable", "-o", "/dev/null"];
    all.extend(args);
    all.extend(["--wrap", "true"]);
    held_script(&all, None, want)
}

fn held_script(args: &[&str], script: Option<&str>, want: &str) -> String {
    let (job, diagnostics) = resolve(args, script);
    let escaped = |text: String| text.replace('\\', "\\\\").replace('\n', "\\n");
    if let Some(error) = first_error(&diagnostics) {
        // What was said before it is printed before it.
        let said: Vec<String> = diagnostics
            .iter()
            .take_while(|diagnostic| *diagnostic != error)
            .chain([error])
            .map(|diagnostic| diagnostic.printed(Command::Sbatch))
            .collect();
        return format!("rc={} {}", error.exit, escaped(said.concat()));
    }
    match resources::admit(&golden(), &job.request, Some("dave")) {
        Ok(()) => record(&job, want),
        Err(refusal) if refusal.fate != Fate::Refused => record(&job, want),
        Err(refusal) => format!("rc=1 {}", escaped(refusal.printed())),
    }
}

fn golden() -> ClusterFile {
    ClusterFile::parse("golden", include_str!("../data/golden.toml")).unwrap()
}

/// The fields that the recorded answer has, in its order.
fn record(job: &Sbatch, want: &str) -> String {
    let defaults = ControllerDefaults {
        partition: "gpu",
        time: |partition| {
            let minutes = match partition {
                "cpu" => 30,
                "test" => 5,
                _ => 60,
            };
            TimeLimitRequest::Limit(Seconds(minutes * 60))
        },
        memory_per_cpu: 100,
        cpus_per_node: 8,
        memory_per_node: 16_000,
        counted: &["gres/gpu", "gres/gpu:v100", "gres/gpu:a100"],
        account: "proj1",
        qos: "normal",
        user: "dave",
    };
    let record = HeldJob::new(job, defaults);
    if let Some(words) = record.refused_time() {
        return format!("rc=1 sbatch: error: Batch job submission failed: {words}\\n");
    }
    // A field's value may hold blanks; its name doesn't, and begins with a capital.
    let mut answer = String::new();
    for word in want.split_inclusive(' ') {
        let named = word
            .split_once('=')
            .filter(|(name, _)| name.starts_with(|c: char| c.is_ascii_uppercase()));
        match named {
            Some((name, _)) => {
                let value = match name {
                    "StdIn" => Some("/dev/null".to_owned()),
                    name => record.field(name, &TimeZone::UTC),
                };
                answer.push_str(&format!("{name}={} ", value.unwrap_or("<none>".to_owned())));
            }
            // The rest of a value that the field gave whole.
            None if word.starts_with("rc=") => answer.push_str(word),
            None => {}
        }
    }
    if want.ends_with(' ') {
        answer
    } else {
        answer.trim_end().to_owned()
    }
}

fn words(input: &str) -> Vec<&str> {
    input.split_whitespace().collect()
}

fn begin(input: &str, want: &str) -> String {
    let arg = format!("--begin={input}");
    let (job, said) = resolve(&[&arg, "--wrap", "true"], None);
    let (None, Some(begin)) = (first_error(&said), job.request.rare.begin) else {
        return held(&[&arg], want);
    };
    if input.starts_with("now") {
        return format!("now+{}s", begin.seconds() - NOW.seconds());
    }
    let text = moment_text(begin, &TimeZone::UTC);
    let (_, time) = text.split_once('T').unwrap();
    format!("at {time} (next occurrence)")
}

fn pattern(input: &str) -> String {
    let (pattern, array) = match input.split_once(" -a ") {
        Some((pattern, task)) => (pattern, Some((JobId(31_337), task.parse().unwrap()))),
        None => (input, None),
    };
    let name = file_name(pattern, &context(array, StepId::Batch, 0));
    let job = if pattern.contains("%4j") {
        ("31337", "<JOB:04>")
    } else {
        ("31337", "<JOB>")
    };
    format!("rc=0 files={}", name.replace(job.0, job.1))
}

fn context(array: Option<(JobId, u32)>, step: StepId, task: u32) -> PatternContext<'static> {
    PatternContext {
        job: JobId(31_337),
        array,
        step,
        node: "node1",
        node_index: 0,
        task,
        user: "dave",
        job_name: "nm",
    }
}

fn srun_pattern(input: &str) -> String {
    let args = ["-n", "4", "-o", input, "true"].map(str::to_owned);
    let zone = TimeZone::UTC;
    let surroundings = Surroundings::embedded(NOW, &zone, Path::new("/"));
    let (srun, _) = srun::resolve(&args, &|_| None, &surroundings);
    let mut files: Vec<(String, Vec<String>)> = Vec::new();
    let mut out = String::new();
    match &srun.launch.output {
        Stream::All => panic!("no row for it"),
        Stream::Task(task) => out = format!("t{task}"),
        Stream::File(pattern) if pattern == "/dev/null" => {}
        Stream::File(pattern) => {
            for task in 0..4 {
                let name = file_name(pattern, &context(None, StepId::Number(0), task))
                    .replace("31337", "<JOB>");
                match files.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, tasks)) => tasks.push(format!("t{task}")),
                    None => files.push((name, vec![format!("t{task}")])),
                }
            }
        }
    }
    let files: Vec<String> = files
        .iter()
        .map(|(name, tasks)| format!("{name}({})", tasks.join(",")))
        .collect();
    format!("rc=0 files={} out={out}", files.join(" "))
}

fn script(input: &str, want: &str) -> String {
    let (_, quoted) = input.split_once(' ').unwrap();
    let text = quoted
        .trim_matches('"')
        .replace("\\n", "\n")
        .replace("\\t", "\t")
        .replace("\\u0000", "\0")
        .replace("\\\"", "\"");
    held_script(&["job.sh"], Some(&text), want)
}
