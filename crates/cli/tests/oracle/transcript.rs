//! The recorded transcript: what was typed on a real Slurm, and what it printed.

/// What a line of the transcript is.
pub enum Line {
    /// The title of a part.
    Part,
    /// Until `squeue` prints this state of the job.
    WaitState { state: String, job: String },
    /// Until so many steps of the job run.
    WaitSteps { job: String, count: usize },
    /// Until jobs are over that do nothing for long: the real one had seconds for it.
    Pause,
    /// The controller is started again.
    Restart,
    /// A command line with its answer.
    Command { text: String, answer: Vec<String> },
}

/// A transcript, in the order in which it was recorded.
pub fn lines(recorded: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for row in recorded.lines() {
        if let Some(text) = row.strip_prefix("$ ") {
            lines.push(Line::Command {
                text: text.to_owned(),
                answer: Vec::new(),
            });
        } else if row.starts_with("# ") {
            lines.push(Line::Part);
        } else if row == "@pause" {
            lines.push(Line::Pause);
        } else if row == "@restart" {
            lines.push(Line::Restart);
        } else if let Some(wait) = row.strip_prefix("@wait ") {
            let (state, job) = wait.split_once(' ').expect("a state and a job");
            let (state, job) = (state.to_owned(), job.to_owned());
            lines.push(Line::WaitState { state, job });
        } else if let Some(wait) = row.strip_prefix("@steps ") {
            let (job, count) = wait.split_once(' ').expect("a job and a number");
            lines.push(Line::WaitSteps {
                job: job.to_owned(),
                count: count.parse().expect("a number"),
            });
        } else if let Some(Line::Command { answer, .. }) = lines.last_mut() {
            answer.push(row.to_owned());
        }
    }
    lines
}

/// What a command printed, in the form of the transcript.
pub fn answer(stdout: &str, stderr: &str, status: &str) -> Vec<String> {
    let rows = |mark: &str, text: &str| -> Vec<String> {
        let mut rows: Vec<String> = text.lines().map(|row| format!("{mark} {row}")).collect();
        if !text.is_empty()
            && !text.ends_with('\n')
            && let Some(last) = rows.last_mut()
        {
            last.push('\\');
        }
        rows
    };
    let mut lines = rows(" ", stdout);
    lines.extend(rows("!", stderr));
    if status != "0" {
        lines.push(format!("= {status}"));
    }
    lines
}

/// The names of all values in a JSON text, each with its type: what `@keys` records.
pub fn keys(json: &str) -> String {
    let mut found = std::collections::BTreeSet::new();
    match serde_json::from_str(json) {
        Ok(value) => collect(&value, "", &mut found),
        Err(error) => return format!("no JSON: {error}\n"),
    }
    found.iter().map(|key| format!("{key}\n")).collect()
}

fn collect(value: &serde_json::Value, path: &str, found: &mut std::collections::BTreeSet<String>) {
    use serde_json::Value;
    let kind = match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                collect(inner, &format!("{path}{dot}{name}"), found);
            }
            return;
        }
        Value::Array(items) => {
            let path = format!("{path}[]");
            found.insert(path.clone());
            for inner in items {
                collect(inner, &path, found);
            }
            return;
        }
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Null => "null",
    };
    found.insert(format!("{path} {kind}"));
}

/// Replaces a name where it is not a part of a longer word.
pub fn replace_word(text: &str, name: &str, by: &str) -> String {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let whole = !before.ends_with(is_part) && !after.starts_with(is_part);
        replaced.push_str(before);
        replaced.push_str(if whole { by } else { name });
        rest = after;
    }
    replaced + rest
}

/// Hides what differs from day to day and from machine to machine: moments, times since a start,
/// and the width of what stands for a folder or a machine.
pub fn masked(command: &str, line: &str) -> String {
    // Daemons of several nodes on a machine have the node in their names.
    if let Some((before, after)) = line.split_once("slurmstepd-node") {
        let after = after.split_once(':').map_or("", |(_, after)| after);
        return masked(command, &format!("{before}slurmstepd:{after}"));
    }
    if command.starts_with("sdiag") {
        return without_figures(&masked("", line), "");
    }
    // What was used until now, and what may still be, hangs on the moment.
    let used = ["UsageRaw", "GrpWall=", "TRESMins=", "TRESRunMins="];
    if command.contains("show assoc_mgr") && used.iter().any(|name| line.contains(name)) {
        return without_figures(line, "");
    }
    // Of a figure only the unit may differ; tasks and nodes are no figures, but which task used least
    // hangs on the moment.
    let figures = !command.contains("-o jobid") || command.contains("mincputask");
    if command.starts_with("sstat") && figures && !line.starts_with('!') {
        return without_figures(line, "KMG");
    }
    // These print what is left of a limit.
    let left = ["%L\"", "timeleft", "squeue -o \"%all\""];
    let left = left.iter().any(|part| command.contains(part));
    let masks = || {
        MASKS
            .iter()
            .filter(|mask| left || !mask.1.ends_with("LEFT>"))
    };
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let within_word = text
            .chars()
            .next_back()
            .is_some_and(|before| before.is_ascii_alphanumeric() || before == '-' || before == ':');
        match masks().find_map(|(pattern, name)| {
            let length = matched(pattern, rest).filter(|_| !within_word)?;
            Some((length, *name))
        }) {
            Some((length, name)) => {
                text.push_str(name);
                rest = &rest[length..];
            }
            None => {
                text.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    if let Some((before, pid)) = text.split_once("SrunHost:Pid=") {
        let (host, pid) = pid.split_once(':').unwrap_or((pid, ""));
        let rest = pid.trim_start_matches(|digit: char| digit.is_ascii_digit());
        if !pid.starts_with('0') {
            text = format!("{before}SrunHost:Pid={host}:<PID>{rest}");
        }
    }
    for name in OF_THE_MACHINE {
        text = without_value(&text, name);
    }
    // The recorded machine had these users.
    if command.contains("show assoc") || command.contains("show cache") {
        text = without_uid(&text);
    }
    if ["<WORK>", "<LAB>", "<HOST>", "<LEFT>"]
        .iter()
        .any(|name| text.contains(name))
    {
        text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    text
}

/// A line in which `#` stands for each number with its unit, one of `units`, and a blank for all
/// that stand together.
fn without_figures(line: &str, units: &str) -> String {
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = String::with_capacity(line.len());
    let mut rest = line.as_str();
    while let Some(first) = rest.chars().next() {
        let is_word = text.ends_with(|letter: char| letter.is_ascii_alphanumeric());
        if !first.is_ascii_digit() || is_word {
            text.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        rest = rest
            .strip_prefix(|unit| units.contains(unit))
            .unwrap_or(rest);
        text.push('#');
    }
    text
}

/// Whether a line is our own after Slurm's: one of the three parts that follow a refusal, or that an
/// option has no effect.
pub fn explains(line: &str) -> bool {
    let parts = [":   asked   ", ":   there   ", ":   do      "];
    let is_ours = parts.iter().any(|part| line.contains(part));
    let is_said = line.starts_with('!') || line.starts_with("  srun:");
    is_said && (is_ours || line.contains(" has no effect here"))
}

/// Whether an answer is that of an `sbatch` whose job was not taken; with `-Q` one that was taken is not told of
/// either.
pub fn refuses_job(answer: &[String]) -> bool {
    let failed = answer.iter().any(|row| row.starts_with("= "));
    failed && answer.iter().any(|row| row.starts_with("! sbatch: "))
}

/// The number of the job that an answer of `sbatch` tells of, with `--parsable` alone.
pub fn submitted(answer: &[String]) -> Option<&str> {
    let is_number = |row: &str| !row.is_empty() && row.bytes().all(|byte| byte.is_ascii_digit());
    let mut rows = answer.iter();
    rows.find_map(|row| {
        let said = row.strip_prefix("  Submitted batch job ");
        said.or_else(|| row.strip_prefix("  ").filter(|said| is_number(said)))
    })
}

/// A line without the values of some names.
pub fn hide(line: String, names: &[&str]) -> String {
    names
        .iter()
        .fold(line, |line, name| without_value(&line, name))
}

/// A look at a job that was just requeued: it may still end, or run again by now.
const AFTER_REQUEUE: &str = r#"squeue -j 10 -o "%i %t %r""#;

/// Whether a line depends on the moment: one of the statistics that is there only for some counts, of
/// calls and means of what was counted, or the state of a job that changes by itself.
pub fn is_incidental(command: &str, line: &str) -> bool {
    if command == AFTER_REQUEUE {
        return [" CG ", " R ", " PD "]
            .iter()
            .any(|state| line.contains(state));
    }
    // Whether the controller tells of the end before its `salloc` is gone, and whether what the last one had
    // is free by then.
    if command.contains("salloc ") && !command.contains("scancel") {
        let of_moment = [
            "has been revoked.",
            "queued and waiting for resources",
            "has been allocated resources",
        ];
        let is_pending = line.contains("Pending job allocation ");
        if is_pending || of_moment.iter().any(|words| line.ends_with(words)) {
            return true;
        }
    }
    // How many records were looked through, and of when they were.
    if command.starts_with("squeue -v") && line.starts_with("  last_update_time=") {
        return true;
    }
    // Which jobs are ending just then.
    if command == "scontrol completing" {
        return true;
    }
    if command.starts_with("cat slurm-") {
        let name = line.trim_start().split('=').next().unwrap_or_default();
        return OF_A_DAEMON.contains(&name);
    }
    let parts = [
        " count:",
        "Mean cycle",
        "Mean depth",
        "Depth Mean",
        "Cycles per minute",
    ];
    let more = ["Queue length mean", "Mean table"];
    let mut parts = parts.iter().chain(&more);
    command.starts_with("sdiag") && parts.any(|part| line.contains(part))
}

/// Variables of processes and ports, of a controller's own configuration, and of later versions.
const OF_A_DAEMON: &[&str] = &[
    "SLURM_TASK_PID",
    "SLURM_SRUN_COMM_PORT",
    "SLURM_STEP_LAUNCHER_PORT",
    "SLURM_WORKING_CLUSTER",
    "SLURM_CONF",
    "SLURM_JOB_GROUP",
    "SLURM_JOB_START_TIME",
    "SLURM_JOB_END_TIME",
];

/// Values of `scontrol show` that say which machine a node is, and how it fares.
const OF_THE_MACHINE: &[&str] = &[
    "CPULoad=",
    "FreeMem=",
    "NodeAddr=",
    "NodeHostName=",
    " Port=",
    "Version=",
    "AllocNode:Sid=",
    "OS=Linux ",
];

/// Puts rows of `sinfo` in one order where the real one has none of its own: a thread of it lists each
/// partition, and whichever comes first does so. What it sorts by stays in order: the last column.
pub fn sort_racing(line: &str, rows: &mut Vec<String>) {
    let sorts = line
        .split_once(" -S ")
        .map(|(_, sort)| sort.trim_start_matches('\''));
    let sorts = sorts.and_then(|sort| sort.split(['\'', ' ']).next());
    let shows_partitions = !line.contains(" -o ") && !line.contains(" -O ")
        || ["%P", "%R"].iter().any(|column| line.contains(column));
    let is_settled = match sorts {
        Some(keys) => keys.contains('P'),
        None => shows_partitions && !line.contains(" -N"),
    };
    if !line.starts_with("sinfo ") || is_settled {
        return;
    }
    let last = |row: &String| row.rsplit(' ').next().unwrap_or_default().to_owned();
    // Slurm sorts by nothing that these letters show.
    let sorts = sorts.filter(|keys| !keys.ends_with(['B', 'C', 'G', 'I', 'L', 'S']));
    let order = sorts.map(|_| rows.iter().map(last).collect::<Vec<_>>().join(" "));
    rows.sort();
    rows.extend(order);
}

/// A text in which the value behind a name is left out; that of the system ends with the line or
/// before the memory.
fn without_value(text: &str, name: &str) -> String {
    let Some(at) = text.find(name) else {
        return text.to_owned();
    };
    let (before, value) = text.split_at(at + name.len());
    let end = match name {
        "OS=Linux " => value.find(" RealMemory").unwrap_or(value.len()),
        _ => value.find(' ').unwrap_or(value.len()),
    };
    // What has no port of its own does not name it.
    let before = before.strip_suffix(" Port=").unwrap_or(before);
    format!("{before}{}", &value[end..])
}

/// A line without the number after a user's name.
fn without_uid(text: &str) -> String {
    let mut parts = text.splitn(2, "UserName=");
    let (Some(before), Some(user)) = (parts.next(), parts.next()) else {
        return text.to_owned();
    };
    match (user.find('('), user.find(')')) {
        (Some(open), Some(close)) if open < close => {
            format!("{before}UserName={}{}", &user[..open], &user[close + 1..])
        }
        _ => text.to_owned(),
    }
}

/// `9` stands for a digit, `a` for a letter, `_` for a digit or a space.
const MASKS: &[(&str, &str)] = &[
    ("2029-99-99T99:99:99", "<MOMENT>"),
    ("Aaa Aaa _9 99:99:99 2029", "<MOMENT>"),
    ("00:0_:99", "<PASSED>"),
    ("9:99", "<PASSED>"),
    ("99:99", "<LEFT>"),
    ("9:99:99", "<LEFT>"),
    ("99:99:99", "<LEFT>"),
    // Of one that has just begun.
    ("9-99:99:99", "<LEFT>"),
];

/// The length of the text that a pattern stands for at the start, where no digit follows.
fn matched(pattern: &str, text: &str) -> Option<usize> {
    let mut letters = text.bytes();
    for wanted in pattern.bytes() {
        let letter = letters.next()?;
        let fits = match wanted {
            b'9' => letter.is_ascii_digit(),
            b'_' => letter.is_ascii_digit() || letter == b' ',
            b'a' => letter.is_ascii_lowercase(),
            b'A' => letter.is_ascii_uppercase(),
            exact => letter == exact,
        };
        if !fits {
            return None;
        }
    }
    let ends = letters
        .next()
        .is_none_or(|next| !next.is_ascii_digit() && next != b':');
    ends.then_some(pattern.len())
}
