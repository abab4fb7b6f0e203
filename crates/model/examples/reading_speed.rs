//! How long reading takes: `benches/language` runs it. A line each: what, and milliseconds, the best
//! of a few rounds.

use jiff::tz::TimeZone;
use std::io::Write;
use std::path::Path;
use std::time::Instant;
use yard_model::{SlurmVersion, Surroundings, Timestamp, node_list, sbatch};

const ROUNDS: usize = 5;
const HOSTS: usize = 1_000_000;
/// Slurm takes no more than 64 Ki hosts in one range.
const RANGE: usize = 62_500;

fn main() {
    let ranges: Vec<String> = (0..HOSTS / RANGE)
        .map(|range| format!("n[{}-{}]", range * RANGE + 1, (range + 1) * RANGE))
        .collect();
    let names: Vec<String> = (1..=HOSTS).map(|host| format!("n{host}")).collect();
    for (what, list) in [
        ("1,000,000 hosts as ranges", ranges.join(",")),
        ("1,000,000 hosts name by name", names.join(",")),
    ] {
        row(what, || node_list::expand(&list).expect("a node list"));
        row(&format!("sbatch -w of {what}"), || {
            read(&["-w", &list], "true\n")
        });
    }
    for line in [
        "srun python train.py --epoch 1   # and once more",
        "#SBATCH --ntasks=4 --time=1:00:00",
        "#SBATCH -n4",
        "#PBS -l nodes=2:ppn=3,mem=4gb",
        "#BSUB -W 10",
    ] {
        let text = format!("{line}\n").repeat(1024 * 1024 / (line.len() + 1));
        row(&format!("1 MB of {line}"), || read(&[], &text));
    }
}

/// `sbatch OPTION … job.sh` with a script of such lines.
fn read(options: &[&str], lines: &str) -> usize {
    let args: Vec<String> = options
        .iter()
        .chain(&["job.sh"])
        .map(ToString::to_string)
        .collect();
    let zone = TimeZone::UTC;
    let around = Surroundings::slurm(SlurmVersion::V22_05, Timestamp(0), &zone, Path::new("/"));
    let script = format!("#!/bin/sh\n{lines}");
    let (read, remarks) = sbatch::resolve(&args, &|_| None, Some(&script), &around);
    read.given.len() + remarks.len()
}

/// Times a call, what it made being dropped included.
#[expect(clippy::disallowed_methods, reason = "what measures reads the clock")]
fn row<T>(what: &str, call: impl Fn() -> T) {
    let times = (0..ROUNDS).map(|_| {
        let began = Instant::now();
        drop(std::hint::black_box(call()));
        began.elapsed().as_secs_f64() * 1000.0
    });
    let best = times.fold(f64::INFINITY, f64::min);
    writeln!(std::io::stdout(), "{what}\t{best:.1}").expect("the table can be written");
}
