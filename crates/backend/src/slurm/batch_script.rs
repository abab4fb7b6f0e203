//! Batch scripts on a real Slurm: submitted as they stand, and where their jobs write.

use super::command::ask;
use super::transport::{SlurmTransport, parse_parsable};
use crate::output_file::OutputFile;
use crate::transport::{Transport, TransportError};
use model::JobId;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Longest wait for the job's number; a busy controller can take tens of seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long what `sbatch` says after the number is waited for: with `--wait` it stays to the job's
/// end.
const LAST_WORD: Duration = Duration::from_secs(1);

impl SlurmTransport {
    /// Submits a batch script as the user's own `sbatch` would: in this folder, with this
    /// environment, and with these arguments, the script among them. Returns the job, and what was
    /// said to standard error.
    ///
    /// # Errors
    /// `sbatch` refuses it, can't be run, or gives no number in time.
    pub fn sbatch(&self, args: &[String]) -> Result<(JobId, String), TransportError> {
        let name = "sbatch".to_owned();
        let mut child = Command::new(self.bin().join(&name))
            .arg("--parsable")
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C leaves a submission alone: it would not be known whether it was taken.
            .process_group(0)
            .spawn()
            .map_err(|source| TransportError::File {
                path: self.bin().join(&name),
                source,
            })?;
        let (number, numbers) = mpsc::channel();
        let (word, words) = mpsc::channel();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        thread::spawn(move || {
            let mut line = String::new();
            // An error leaves the line empty: there is no number then.
            let _ = stdout.map(|out| BufReader::new(out).read_line(&mut line));
            let _ = number.send(line);
        });
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stderr.map(|mut err| err.read_to_end(&mut bytes));
            let _ = word.send(String::from_utf8_lossy(&bytes).trim().to_owned());
        });
        let line = numbers.recv_timeout(PATIENCE);
        let said = words.recv_timeout(LAST_WORD).unwrap_or_default();
        // With `--wait` it waits on in vain: the job is known.
        let _ = child.kill();
        let _ = child.wait();
        match line {
            Ok(line) if !line.trim().is_empty() => parse_parsable(&line).map(|job| (job, said)),
            Ok(_) => Err(super::refused(
                self.cluster(),
                format!("sbatch {}", args.join(" ")),
                said,
                "change the request, or choose another cluster with --on",
            )),
            Err(_) => Err(TransportError::TimedOut {
                command: name,
                seconds: PATIENCE.as_secs(),
            }),
        }
    }

    /// Where a job writes, or each element of an array that its controller knows by itself, as
    /// `scontrol show job` says. Empty for one that it has forgotten.
    ///
    /// # Errors
    /// The controller does not answer.
    pub(super) fn files_of_job(
        &self,
        job: JobId,
        element: Option<u32>,
    ) -> Result<Vec<OutputFile>, TransportError> {
        let name = match element {
            Some(element) => format!("{job}_{element}"),
            None => job.to_string(),
        };
        let mut command = self.command("scontrol");
        command.args(["show", "job", &name]);
        let answer = ask(command)?;
        if answer.status.success() {
            return Ok(files_of(&answer.stdout));
        }
        if answer.stderr.contains("Invalid job id specified") {
            return Ok(Vec::new());
        }
        Err(TransportError::Command {
            command: "scontrol".to_owned(),
            status: answer.status.to_string(),
            message: answer.stderr,
        })
    }
}

/// The files that the paragraphs of `scontrol show job` name, output before errors.
fn files_of(text: &str) -> Vec<OutputFile> {
    let mut files: Vec<OutputFile> = Vec::new();
    for paragraph in text.split("\n\n") {
        let line = |key: &str| {
            let mut lines = paragraph.lines();
            lines.find_map(|line| line.trim_start().strip_prefix(key))
        };
        let mut words = paragraph.split_whitespace();
        let element = words.find_map(|word| word.strip_prefix("ArrayTaskId="));
        let element = element.map(str::parse::<u32>);
        // Elements that wait together have written nothing.
        if matches!(element, Some(Err(_))) {
            continue;
        }
        let element = element.and_then(Result::ok);
        for path in ["StdOut=", "StdErr="].into_iter().filter_map(line) {
            let path = PathBuf::from(path);
            match files.iter_mut().find(|file| file.path == path) {
                Some(known) if known.element != element => known.element = None,
                Some(_) => {}
                None => files.push(OutputFile {
                    path,
                    element,
                    since: None,
                    is_final: false,
                }),
            }
        }
    }
    // The controller tells the last element first.
    files.sort_by_key(|file| file.element);
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &[(&str, Option<u32>)]) {
        let found = files_of(text);
        let found: Vec<(&str, Option<u32>)> = found
            .iter()
            .map(|file| (file.path.to_str().unwrap(), file.element))
            .collect();
        assert_eq!(found, want);
    }

    #[test]
    fn where_jobs_write() {
        check("", &[]);
        check(
            "JobId=7 JobName=a b\n   Command=/a b/job.sh\n   StdErr=/a b/slurm-7.out\n   \
             StdIn=/dev/null\n   StdOut=/a b/slurm-7.out\n   Power=\n\n",
            &[("/a b/slurm-7.out", None)],
        );
        check(
            "JobId=7 JobName=a\n   StdErr=/e\n   StdOut=/o\n",
            &[("/o", None), ("/e", None)],
        );
        let array = "JobId=9 ArrayJobId=8 ArrayTaskId=1 JobName=a\n   StdErr=/o/8_1\n   StdOut=/o/8_1\n\n\
                     JobId=8 ArrayJobId=8 ArrayTaskId=2-3%1 JobName=a\n   StdErr=/o/8_4294967294\n   StdOut=/o/8_4294967294\n\n";
        check(array, &[("/o/8_1", Some(1))]);
        let shared = "JobId=9 ArrayTaskId=1 JobName=a\n   StdErr=/o\n   StdOut=/o\n\n\
                      JobId=8 ArrayTaskId=2 JobName=a\n   StdErr=/o\n   StdOut=/o\n\n";
        check(shared, &[("/o", None)]);
    }
}
