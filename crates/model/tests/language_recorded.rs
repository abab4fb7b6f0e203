//! What a real Slurm 22.05.8 answered, against what this crate makes of the same input. The file's
//! README tells how the rows were recorded.
#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use jiff::tz::TimeZone;
use model::file_pattern::{PatternContext, file_name};
use model::option_table::Command;
use model::sbatch::{self, Sbatch};
use model::srun::{self, Stream};
use model::{
    Diagnostic, JobId, MemoryRequest, NodeName, StepId, Surroundings, TimeLimitRequest, Timestamp,
    first_error, mebibytes_text, moment_text, node_list,
};
use std::path::Path;
use yard_model as model;

const ROWS: &str = include_str!("data/language-22.05.8.tsv");

/// Rows that are not met, with the reason: each must go from this list once it is.
const NOT_MET: &[(&str, &str, &str)] = &[
    ("size", "-N 0", "a job of no nodes is one of one node here"),
    ("size", "-w nosuch", OF_CLUSTER),
    ("size", "-x nosuch", OF_CLUSTER),
    ("size", "-C nosuch", OF_CLUSTER),
    ("size", "-p nosuch", OF_CLUSTER),
    ("gres", "--gres=gpu", NUMBERS),
    ("gres", "--gres=gpu:a100", NUMBERS),
    ("gres", "--gres=gpu:x", NUMBERS),
    ("gres", "--gres=gpu:-1", NUMBERS),
    (
        "gres",
        "--gpus=v100:2,a100:1",
        "a request holds GPUs of one type",
    ),
    ("misc", "-A nosuch", OF_CLUSTER),
    ("misc", "-q test", OF_CLUSTER),
    ("pattern", "out/%j", "folders are made, as 23.02 does"),
];
const OF_CLUSTER: &str = "what the cluster has is not the language's to know";
const NUMBERS: &str = "a request keeps numbers, not the text that asked for them";

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
        let got = answer(category, input);
        let met = got.as_ref().is_ok_and(|got| got == want)
            || got.as_ref().is_err_and(|fields| {
                let known: Vec<&str> = want.split(' ').collect();
                !fields.is_empty() && fields.iter().all(|field| holds(&known, want, field))
            });
        let listed = unmet.iter().position(|known| *known == (category, input));
        match (met, listed) {
            (true, None) => {}
            (false, Some(index)) => {
                unmet.swap_remove(index);
            }
            (true, Some(_)) => {
                wrong.push(format!("{category} {input:?} is met: take it from NOT_MET"))
            }
            (false, None) => wrong.push(format!(
                "{category} {input:?}\n  want {want}\n  got  {got:?}"
            )),
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

/// A field may hold blanks; it is then looked for as text.
fn holds(known: &[&str], want: &str, field: &str) -> bool {
    known.contains(&field) || (field.contains(' ') && want.contains(field))
}

/// Either the whole answer, or those of its fields that the language decides.
fn answer(category: &str, input: &str) -> Result<String, Vec<String>> {
    match category {
        "hostnames" | "hostlist" | "hostlistsorted" => Ok(node_names(category, input)),
        "time" => held(&["-t", input.trim_matches('"')], |job| {
            vec![time_limit(job)]
        }),
        "time-min" => held(&["-t", "3-0", "--time-min", input], |job| {
            vec![time_limit(job)]
        }),
        "array" => held(&["-a", input], array),
        "mem" => held(&[&format!("--mem={input}")], memory),
        "mem-per-cpu" => held(&["-c", "2", &format!("--mem-per-cpu={input}")], memory),
        "size" => held(&words(input), size),
        "gres" => held(&words(input), gres),
        "misc" => held(&words(input), misc),
        "begin" => begin(input),
        "pattern" => Ok(pattern(input)),
        "srunpattern" => Ok(srun_pattern(input)),
        "script" => script(input),
        "cmd" => held_script(&words(input.trim_start_matches("sbatch")), Some(""), misc),
        other => panic!("no such category: {other}"),
    }
}

fn node_names(category: &str, input: &str) -> String {
    let mut names = match node_list::expand(input) {
        Ok(names) => names,
        Err(error) => {
            let detail = error
                .detail()
                .map_or(String::new(), |d| format!("scontrol: error: {d}\\n"));
            return format!("rc=0 {detail}{error}\\n");
        }
    };
    if category == "hostlistsorted" {
        node_list::sort(&mut names);
    }
    match category {
        "hostnames" => {
            let lines: Vec<String> = names.iter().map(|name| format!("{name}\\n")).collect();
            format!("rc=0 {}", lines.concat())
        }
        _ => format!("rc=0 {}\\n", node_list::fold(&names)),
    }
}

fn resolve(args: &[&str], script: Option<&str>) -> (Sbatch, Vec<Diagnostic>) {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let zone = TimeZone::UTC;
    let surroundings = Surroundings::embedded(NOW, &zone, Path::new("/home/dave/golden"));
    sbatch::resolve(&args, &|_| None, script, &surroundings)
}

/// Submits a held job as the rows did.
fn held(args: &[&str], fields: fn(&Sbatch) -> Vec<String>) -> Result<String, Vec<String>> {
    let mut all = vec!["-H", "--parsable", "-o", "/dev/null"];
    all.extend(args);
    all.extend(["--wrap", "true"]);
    held_script(&all, None, fields)
}

fn held_script(
    args: &[&str],
    script: Option<&str>,
    fields: fn(&Sbatch) -> Vec<String>,
) -> Result<String, Vec<String>> {
    let (job, diagnostics) = resolve(args, script);
    let Some(error) = first_error(&diagnostics) else {
        return Err(fields(&job));
    };
    // What was said before it is printed before it.
    let said: Vec<String> = diagnostics
        .iter()
        .take_while(|diagnostic| *diagnostic != error)
        .chain([error])
        .map(|diagnostic| diagnostic.printed(Command::Sbatch))
        .collect();
    Ok(format!(
        "rc={} {}",
        error.exit,
        said.concat().replace('\\', "\\\\").replace('\n', "\\n")
    ))
}

fn words(input: &str) -> Vec<&str> {
    input.split_whitespace().collect()
}

fn time_limit(job: &Sbatch) -> String {
    let limit = match job.request.time {
        Some(TimeLimitRequest::Limit(seconds)) => {
            let minutes = seconds.0.div_ceil(60);
            TimeLimitRequest::Limit(model::Seconds(minutes * 60)).to_string()
        }
        Some(TimeLimitRequest::Unlimited) => "UNLIMITED".to_owned(),
        None => "01:00:00".to_owned(),
    };
    format!("TimeLimit={limit}")
}

fn array(job: &Sbatch) -> Vec<String> {
    let none = || "<none>".to_owned();
    let spec = job.request.array.as_ref();
    let throttle = spec.and_then(|spec| spec.throttle);
    vec![
        format!(
            "ArrayTaskId={}",
            spec.map_or_else(none, ToString::to_string)
        ),
        format!(
            "ArrayTaskThrottle={}",
            throttle.map_or_else(none, |n| n.to_string())
        ),
    ]
}

fn memory(job: &Sbatch) -> Vec<String> {
    match job.request.memory {
        Some(MemoryRequest::PerNode(mib)) => {
            vec![
                format!("MinMemoryNode={}", mebibytes_text(mib)),
                "MinMemoryCPU=<none>".to_owned(),
            ]
        }
        Some(MemoryRequest::PerCpu(mib)) => vec![format!("MinMemoryCPU={}", mebibytes_text(mib))],
        _ => Vec::new(),
    }
}

fn size(job: &Sbatch) -> Vec<String> {
    let request = &job.request;
    let list = |names: &[NodeName]| match names {
        [] => "(null)".to_owned(),
        names => node_list::fold(names),
    };
    let nodes = match (request.min_nodes, request.max_nodes) {
        (Some(min), Some(max)) if min != max => format!("NumNodes={min}-{max}"),
        // Slurm shows a range once it knows tasks and nodes; what stands before a dash is ours.
        (Some(min), _) => format!("NumNodes={min}"),
        (None, _) => "NumNodes=1".to_owned(),
    };
    let mut fields = vec![
        nodes,
        format!(
            "NumTasks={}",
            request.tasks.or(request.min_nodes).unwrap_or(1)
        ),
        format!("CPUs/Task={}", request.cpus_per_task.unwrap_or(1)),
        format!("ReqNodeList={}", list(&request.nodelist)),
        format!("ExcNodeList={}", list(&request.exclude)),
        format!(
            "Features={}",
            request.constraint.as_deref().unwrap_or("(null)")
        ),
        format!(
            "Partition={}",
            request.partition.as_deref().unwrap_or("gpu")
        ),
        format!(
            "OverSubscribe={}",
            if request.exclusive { "NO" } else { "OK" }
        ),
    ];
    // The number of nodes follows from the machines where it was not asked for.
    if request.min_nodes.is_none() || request.min_nodes == request.max_nodes {
        fields.remove(0);
    }
    fields
}

fn gres(job: &Sbatch) -> Vec<String> {
    let request = &job.request;
    let text =
        |gpus: &Option<model::GpuCount>| gpus.as_ref().map(|gpus| format!("gres:gpu:{gpus}"));
    let mut fields = vec![format!(
        "NumTasks={}",
        request.tasks.or(request.min_nodes).unwrap_or(1)
    )];
    for (name, gpus) in [
        ("TresPerJob", &request.gpus),
        ("TresPerTask", &request.gpus_per_task),
    ] {
        fields.push(format!(
            "{name}={}",
            text(gpus).unwrap_or("<none>".to_owned())
        ));
    }
    let per_node = text(&request.gpus_per_node);
    fields.extend(per_node.map(|gpus| format!("TresPerNode={gpus}")));
    fields
}

fn misc(job: &Sbatch) -> Vec<String> {
    let request = &job.request;
    let start = match request.begin {
        Some(begin) => moment_text(begin, &TimeZone::UTC),
        None => "Unknown".to_owned(),
    };
    vec![
        format!("JobName={}", request.name),
        format!("Nice={}", request.nice),
        format!("StartTime={start}"),
        format!("Requeue={}", u8::from(request.requeue.unwrap_or(true))),
        format!("WorkDir={}", request.chdir.display()),
        format!("Comment={}", request.comment.as_deref().unwrap_or("<none>")),
        time_limit(job),
        // Whether what it waits for is there is the controller's to say.
        format!(
            "Dependency={}",
            request
                .dependency
                .as_deref()
                .map_or("(null)".to_owned(), |text| {
                    let parts: Vec<String> = text
                        .split('?')
                        .map(|part| format!("{part}(unfulfilled)"))
                        .collect();
                    parts.join("?")
                })
        ),
    ]
}

fn begin(input: &str) -> Result<String, Vec<String>> {
    let (job, _) = resolve(&[&format!("--begin={input}"), "--wrap", "true"], None);
    let arg = format!("--begin={input}");
    let refused = held(&[&arg], |_| vec![String::new()]);
    if refused.is_ok() {
        return refused;
    }
    let Some(begin) = job.request.begin else {
        return Ok("StartTime=Unknown EligibleTime=Unknown".to_owned());
    };
    if input.starts_with("now") {
        return Ok(format!("now+{}s", begin.seconds() - NOW.seconds()));
    }
    let text = moment_text(begin, &TimeZone::UTC);
    let (_, time) = text.split_once('T').unwrap();
    Ok(format!("at {time} (next occurrence)"))
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

fn script(input: &str) -> Result<String, Vec<String>> {
    let (_, quoted) = input.split_once(' ').unwrap();
    let text = quoted
        .trim_matches('"')
        .replace("\\n", "\n")
        .replace("\\t", "\t")
        .replace("\\u0000", "\0")
        .replace("\\\"", "\"");
    held_script(&["job.sh"], Some(&text), |job| {
        let request = &job.request;
        let mut fields = vec![
            format!("JobName={}", request.name),
            time_limit(job),
            format!("NumTasks={}", request.tasks.unwrap_or(1)),
            format!("CPUs/Task={}", request.cpus_per_task.unwrap_or(1)),
        ];
        fields.extend(
            request
                .comment
                .as_ref()
                .map(|comment| format!("Comment={comment}")),
        );
        fields
    })
}
