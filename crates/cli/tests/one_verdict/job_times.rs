//! The time limit of jobs that name none.

use crate::doors::{Doors, NODES};
use serde_json::Value;
use testkit::{Outcome, this_user};

/// The lab of which the answers were recorded.
fn lab() -> String {
    include_str!("job_times.toml").replace("{user}", &this_user())
}

/// As a real Slurm gave it, with the commands that made it.
const RECORDED: &str = include_str!("job_times-22.05.8.txt");

/// `sbatch` of the engine, and `plan` by the file, give the recorded limit.
#[test]
fn a_job_without_a_time_gets_that_of_a_real_slurm() {
    let doors = Doors::of(&lab(), NODES);
    doors.env.write("job.sh", "#!/bin/sh\ntrue\n");
    let (mut wrong, mut rows) = (Vec::new(), 0);
    for row in RECORDED.lines().filter(|row| !row.starts_with('#')) {
        let (options, want) = row.rsplit_once(' ').unwrap();
        let options: Vec<&str> = options.split_whitespace().collect();
        let mut sbatch = doors
            .env
            .command(&["slurm", "sbatch", "--parsable", "--hold"]);
        sbatch.args(&options).arg("job.sh");
        let job = Outcome::of(&sbatch.env("TRAINYARD_ENGINE", "twin").output().unwrap());
        let mut show = doors.env.command(&["slurm", "scontrol", "show", "job"]);
        let show = show.arg(job.stdout.trim()).env("TRAINYARD_ENGINE", "twin");
        let shown = Outcome::of(&show.output().unwrap()).stdout;
        let mut words = shown.split_whitespace();
        let limit = words.find_map(|word| word.strip_prefix("TimeLimit="));
        let by_engine = limit.filter(|_| job.status == 0).unwrap_or("-");

        let text = format!("#!/bin/sh\n#SBATCH {}\ntrue\n", options.join(" "));
        let script = doors.env.write("planned.sh", &text).display().to_string();
        let plan = doors
            .env
            .yard(&["plan", &script, "--on", &doors.file, "--json"]);
        let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
        let is_refused = plan["refusals"]
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["waits"] == false);
        let by_file = match &plan["allocation"]["time_s"] {
            _ if is_refused => "-".to_owned(),
            Value::Number(time) => {
                let time = time.as_u64().unwrap();
                format!("{:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60)
            }
            Value::String(word) => word.to_uppercase(),
            none => none.to_string(),
        };
        rows += 1;
        if [by_engine, &by_file] != [want, want] {
            wrong.push(format!(
                "{row}: {by_engine} by the engine, {by_file} by its file {}",
                job.stderr
            ));
        }
    }
    assert_eq!(rows, 42);
    assert_eq!(wrong, [""; 0]);
}
