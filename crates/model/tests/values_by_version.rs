//! What each version of Slurm makes of a value: rows where later ones differ from 22.05. Each names
//! the file of Slurm's source in which the change stands.

use jiff::tz::TimeZone;
use std::path::Path;
use yard_model::{
    SlurmVersion, Surroundings, Timestamp, first_error, option_table::Command, sbatch,
};

/// Words, the first version that takes them, the last one that does, the source.
const ROWS: &[(&str, Option<&str>, Option<&str>, &str)] = &[
    (
        "--exclusive=topo",
        Some("24.05"),
        None,
        "slurm_opt.c, arg_set_exclusive",
    ),
    (
        "-N1,3",
        Some("23.02"),
        None,
        "proc_args.c, verify_node_count",
    ),
    (
        "-N2-10:2",
        Some("23.02"),
        None,
        "proc_args.c, verify_node_count",
    ),
    (
        "-N1,x",
        Some("never"),
        None,
        "proc_args.c, verify_node_count",
    ),
    (
        "-N3000000000",
        None,
        Some("22.05"),
        "proc_args.c, str_to_nodes",
    ),
    (
        "-n3000000000",
        None,
        Some("22.05"),
        "proc_args.c, parse_int",
    ),
    (
        "--signal=CHLD@60",
        Some("23.11"),
        None,
        "proc_args.c, sig_name2num",
    ),
    (
        "--signal=B:PIPE",
        Some("23.11"),
        None,
        "proc_args.c, sig_name2num",
    ),
    (
        "--begin=elevenses",
        Some("24.05"),
        None,
        "parse_time.c, parse_time",
    ),
    (
        "--gpu-bind=c",
        None,
        Some("22.05"),
        "tres_bind.c, _valid_gpu_bind",
    ),
    (
        "--gpu-bind=closest",
        None,
        None,
        "tres_bind.c, _valid_gpu_bind",
    ),
    (
        "--gpu-bind=map:0,1",
        Some("23.11"),
        None,
        "tres_bind.c, _valid_gres_bind",
    ),
    (
        "--gpu-bind=mask:0x3",
        Some("23.11"),
        None,
        "tres_bind.c, _valid_gres_bind",
    ),
    (
        "--mem-bind=sort,local",
        None,
        Some("25.05"),
        "slurm_resource_info.c",
    ),
    (
        "--gres-flags=one-task-per-sharing",
        Some("23.11"),
        None,
        "slurm_opt.c, arg_set_gres_flags",
    ),
    (
        "--gres-flags=allow-task-sharing",
        Some("never"),
        None,
        "slurm_opt.c, arg_set_gres_flags",
    ),
    (
        "--gres-flags=disable-binding,enforce-binding",
        Some("never"),
        None,
        "slurm_opt.c, arg_set_gres_flags",
    ),
    (
        "-m arbitrary -w node[1-2] -N2",
        None,
        Some("23.02"),
        "slurm_opt.c, _validate_arbitrary",
    ),
];

fn said(words: &str, version: SlurmVersion) -> Option<String> {
    let words = format!("{words} --wrap true");
    let args: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let zone = TimeZone::UTC;
    let now = Timestamp(1_790_000_000_000);
    let around = Surroundings::slurm(version, now, &zone, Path::new("/"));
    let (_, remarks) = sbatch::resolve(&args, &|_| None, None, &around);
    first_error(&remarks).map(|error| error.printed(Command::Sbatch))
}

#[test]
fn each_version_takes_its_values() {
    for (words, since, until, source) in ROWS {
        for version in SlurmVersion::KNOWN {
            let text = version.to_string();
            let taken = since.is_none_or(|since| text.as_str() >= since)
                && until.is_none_or(|until| text.as_str() <= until);
            let error = said(words, version);
            assert_eq!(
                error.is_none(),
                taken,
                "{words} in {version} ({source}): {error:?}"
            );
        }
    }
}

#[test]
fn refusals_in_each_versions_words() {
    for (words, version, want) in [
        (
            "-n3000000000",
            SlurmVersion::V23_02,
            "Numeric argument (3000000000) to big for --ntasks.",
        ),
        (
            "-n3000000000",
            SlurmVersion::V23_11,
            "Numeric argument (3000000000) too large for --ntasks.",
        ),
        (
            "--gres-flags=x",
            SlurmVersion::V23_02,
            "Invalid --gres-flags specification",
        ),
        (
            "--gres-flags=x",
            SlurmVersion::V23_11,
            "Invalid --gres-flags specification: x",
        ),
        (
            "--gpu-bind=x",
            SlurmVersion::V23_02,
            "Invalid --gpu-bind argument: gpu:x",
        ),
        (
            "--gpu-bind=x",
            SlurmVersion::V23_11,
            "Invalid --gpu-bind argument: x",
        ),
        (
            "-N1,x",
            SlurmVersion::V23_02,
            "\"1,x\" is not a valid node count",
        ),
    ] {
        let error = said(words, version).unwrap_or_default();
        assert_eq!(
            error,
            format!("sbatch: error: {want}\n"),
            "{words} in {version}"
        );
    }
}
