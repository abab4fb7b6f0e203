//! What 22.05's `sbatch` says to scripts before it asks a controller: for measuring against a real
//! one. Reads the files that standard input names, one a line, and prints a line for each: the
//! name, the exit status (0 where nothing is wrong), and what is said, its lines parted by `|`.
//!
//! The other side is `SLURM_CONF=FILE sbatch SCRIPT` with a configuration that names a controller
//! which is not there: what passes ends with "Unable to contact slurm controller".

use jiff::tz::TimeZone;
use model::option_table::Command;
use model::{GresTypes, Severity, SlurmVersion, Surroundings, Timestamp, sbatch};
use std::io::{BufRead, Write};
use std::path::Path;
use yard_model as model;

fn main() -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let zone = TimeZone::UTC;
    for name in std::io::stdin().lock().lines() {
        let name = name?;
        let bytes = std::fs::read(&name)?;
        let around = Surroundings {
            gres_types: GresTypes::Only(&["gpu"]),
            ..Surroundings::slurm(
                SlurmVersion::V22_05,
                Timestamp(1_770_000_000_000),
                &zone,
                Path::new("/"),
            )
        };
        let text = String::from_utf8_lossy(&bytes);
        let args = [name.clone()];
        let (_, remarks) = sbatch::resolve(&args, &|_| None, Some(&text), &around);
        // A controller that is not there refuses nothing.
        let mut said = remarks.iter().filter(|remark| remark.code != "refused");
        let error = said.find(|remark| remark.severity == Severity::Error);
        let exit = error.map_or(0, |error| error.exit);
        let said = error.map(|error| error.printed(Command::Sbatch));
        let said = said.unwrap_or_default().trim_end().replace('\n', "|");
        let base = name.rsplit('/').next().unwrap_or(&name);
        writeln!(out, "{base}\t{exit}\t{said}")?;
    }
    out.flush()
}
