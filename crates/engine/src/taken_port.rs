//! A task that failed as another one has its port: whose it is. Nodes of a pretended cluster share this
//! machine's ports, unless each has a network of its own.

use std::collections::BTreeMap;
use std::path::Path;
use sys::env_vars::TRAINYARD_ENGINE;
use sys::process::first_variable;

/// What programs say, in lower case.
const SAID: [&str; 2] = ["address already in use", "eaddrinuse"];
/// Jobs that are named, where the program does not say which port it wanted.
const NAMED: usize = 4;

/// A job's process that listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listener {
    pub(crate) port: u16,
    pub(crate) job: String,
    pub(crate) node: String,
    /// Whether it is one of this engine's; else of another one, or of a Slurm.
    pub(crate) is_own: bool,
}

/// What there is to say to the user of a failed task of the engine in that folder, of the end of its output;
/// none where that does not say that a port is taken, or where no job has it.
pub(crate) fn conflict(output: &[u8], engine: &Path) -> Option<String> {
    let text = String::from_utf8_lossy(output).to_lowercase();
    if SAID.iter().any(|words| text.contains(words)) {
        words(&text, &of_jobs(engine))
    } else {
        None
    }
}

/// The jobs' processes that listen, as far as this one may look.
fn of_jobs(engine: &Path) -> Vec<Listener> {
    let named = |(port, pid)| {
        Some(Listener {
            port,
            job: first_variable(pid, "SLURM_JOB_ID")?,
            node: first_variable(pid, "SLURMD_NODENAME")?,
            is_own: first_variable(pid, TRAINYARD_ENGINE)
                .is_some_and(|it| Path::new(&it) == engine),
        })
    };
    sys::listeners().into_iter().filter_map(named).collect()
}

fn words(output: &str, listeners: &[Listener]) -> Option<String> {
    let holders: BTreeMap<u16, (bool, String)> = listeners
        .iter()
        .map(|it| {
            (
                it.port,
                (it.is_own, format!("job {} on {}", it.job, it.node)),
            )
        })
        .collect();
    let numbers = output.split(|letter: char| !letter.is_ascii_digit());
    let mut wanted = numbers.filter_map(|word| word.parse::<u16>().ok());
    let taken = match wanted.find_map(|port| holders.get_key_value(&port)) {
        Some((port, (_, holder))) => format!("port {port} ({holder}) is taken"),
        None if holders.is_empty() => return None,
        None => {
            // Those of other engines are the less likely ones.
            let mut all: Vec<_> = holders.iter().collect();
            all.sort_by_key(|(_, (is_own, _))| !is_own);
            let all = all.iter().take(NAMED);
            let all: Vec<String> = all
                .map(|(port, (_, holder))| format!("{port} ({holder})"))
                .collect();
            format!("jobs have taken these ports: {}", all.join(", "))
        }
    };
    Some(format!(
        "{taken}; nodes share this machine's ports: let the program take a free one, as YARD_COORDINATOR's is"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, want: Option<&str>) {
        let listener = |port, job: &str, is_own| Listener {
            port,
            job: job.to_owned(),
            node: "n1".to_owned(),
            is_own,
        };
        let listeners = [
            listener(29500, "7", true),
            listener(6006, "8", true),
            listener(80, "9", false),
        ];
        let found = words(output, &listeners);
        let found = found.as_deref().and_then(|text| text.split(';').next());
        assert_eq!(found, want);
    }

    #[test]
    fn whose_the_port_is() {
        check(
            "bind to [::]:29500: address already in use",
            Some("port 29500 (job 7 on n1) is taken"),
        );
        // Python does not say which.
        check(
            "oserror: [errno 98] address already in use",
            Some(
                "jobs have taken these ports: 6006 (job 8 on n1), 29500 (job 7 on n1), 80 (job 9 on n1)",
            ),
        );
        assert_eq!(words("port 29500", &[]), None);
        assert_eq!(conflict(b"segmentation fault", Path::new("/x")), None);
    }
}
