//! The virtual twin of the cluster on which the transcripts were recorded, and how it answers their lines.

use crate::recorded_lines::words;
use crate::transcript;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use testkit::{Outcome, TestEnv, wait_until};

/// The configuration of the recorded cluster.
const SLURM_CONF: &str = include_str!("manage/slurm.conf");
/// What `cluster.sh` entered into its accounting.
const ACCOUNTS: &str = include_str!("manage/accounts.txt");

/// The longest that one runs here, but for those that hung there: on a busy machine any takes its time.
pub(crate) const LONGEST: Duration = Duration::from_secs(120);
/// So long it may take to end once it is told to.
const TO_END: Duration = Duration::from_secs(10);
/// The recorded answer of a command that was ended because of that.
pub(crate) const HANGS: &str = "= hangs";

/// The virtual twin of the recorded cluster, with its accounts.
pub(crate) struct Twin {
    pub(crate) env: TestEnv,
}

impl Twin {
    pub(crate) fn start(conf: &str) -> Twin {
        Twin::with_gres(conf, None)
    }

    /// Of nodes with two sockets, where their GPUs are said to be at those.
    pub(crate) fn with_gres(conf: &str, gres_conf: Option<&str>) -> Twin {
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        let mut import = vec!["cluster", "import", "--slurm-conf"];
        let path = env.root().join("slurm.conf").display().to_string();
        let gres = env.root().join("gres.conf").display().to_string();
        import.push(&path);
        let mut text = format!("{SLURM_CONF}\n{conf}");
        if let Some(gres_conf) = gres_conf {
            let two = "SocketsPerBoard=2 CoresPerSocket=4";
            text = text.replace("SocketsPerBoard=1 CoresPerSocket=8", two);
            env.write("../gres.conf", gres_conf);
            import.extend(["--gres-conf", &gres]);
        }
        env.write("../slurm.conf", &text);
        let file = env.yard(&import).success();
        let file = env.write("../lab.toml", &file).display().to_string();
        env.yard(&["engine", "start", "lab", "--cluster", &file])
            .success();
        env.set_var("TRAINYARD_ENGINE", "lab");
        // For lines with pipes, which a shell runs.
        let links = env.root().join("links");
        std::fs::create_dir(&links).expect("a folder");
        for name in [
            "salloc", "sattach", "sbatch", "scancel", "scontrol", "sdiag", "sinfo", "sprio",
            "sacct", "sacctmgr", "squeue", "srun", "sshare", "sstat",
        ] {
            symlink(env!("CARGO_BIN_EXE_yard"), links.join(name)).expect("a link");
        }
        let path = std::env::var("PATH").unwrap_or_default();
        env.set_var("PATH", format!("{}:{path}", links.display()));
        env.set_var("LC_ALL", "C");
        env.set_var("USER", "root");
        let twin = Twin { env };
        for line in ACCOUNTS.lines() {
            let said = twin.answer(line);
            assert!(
                !said.iter().any(|row| row.starts_with("= ")),
                "{line}: {said:?}"
            );
        }
        twin
    }

    /// Has nodes that are down say again that they are there, as the `slurmd`s of the recorded cluster do
    /// from time to time: its `ReturnToService` is 2.
    pub(crate) fn register_nodes(&self) {
        for row in self.answer("sinfo -h -N -o '%N %T'") {
            let mut words = row.split_whitespace();
            let (node, state) = (words.next(), words.next());
            if let (Some(node), Some("down" | "down$")) = (node, state) {
                let restore = ["engine", "restore-node", node, "--on", "lab"];
                self.env.yard(&restore).success();
            }
        }
    }

    /// A program of the transcript, with what it prints in pipes.
    fn spawn(&self, line: &str) -> Child {
        let dump = self.env.root().join("dump.cfg").display().to_string();
        let line = line.replace("/tmp/sacctmgr-dump.cfg", &dump);
        let root = self.env.root().display().to_string();
        let line = line.replace("/tmp/sacctmgr-", &format!("{root}/sacctmgr-"));
        let words = words(&line);
        let mut command = match &words[..] {
            // Pipes and commands in the line itself, not in a quoted script.
            _ if words
                .iter()
                .any(|word| ["|", "<", ">", "<<<"].contains(&&**word))
                || line.contains("$PWD")
                || line.contains(r#"\""#)
                || line.starts_with("scontrol ") && line.contains("$(") =>
            {
                self.env.program("bash", &["-c", &line])
            }
            [program, ..]
                if matches!(program.as_str(), "cat" | "ls" | "printf" | "stat")
                    || program.contains('=') =>
            {
                self.env.program("bash", &["-c", &line])
            }
            _ => {
                let mut all = vec!["slurm".to_owned()];
                all.extend(words);
                self.env.command(&all)
            }
        };
        // A group of its own: all programs of a pipe are ended together, any of which may hold the others' output.
        command.process_group(0);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("a command can be started")
    }

    fn answer(&self, line: &str) -> Vec<String> {
        self.answer_within(LONGEST, line)
    }

    pub(crate) fn answer_within(&self, longest: Duration, line: &str) -> Vec<String> {
        let (keys, line) = match line.strip_prefix("@keys ") {
            Some(line) => (true, line),
            None => (false, line),
        };
        let child = self.spawn(line);
        let id = child.id();
        let (sender, ended) = std::sync::mpsc::channel();
        let watch = std::thread::spawn(move || {
            let late = ended.recv_timeout(longest).is_err();
            let mut ended_now = !late;
            for signal in ["-TERM", "-KILL"] {
                if !ended_now {
                    // The process is a child that was not waited for: its number is its group's own.
                    let group = format!("-{id}");
                    let _killed = Command::new("kill").args([signal, "--", &group]).status();
                    ended_now = ended.recv_timeout(TO_END).is_ok();
                }
            }
            late
        });
        let output = child.wait_with_output().expect("its output can be read");
        let _watched = sender.send(());
        let late = watch.join().expect("the watch ends");
        let outcome = Outcome::of(&output);
        if late {
            return vec![HANGS.to_owned()];
        }
        let stdout = if keys {
            transcript::keys(&outcome.stdout)
        } else {
            outcome.stdout.clone()
        };
        let dump = self.env.root().join("dump.cfg").display().to_string();
        let work = self.env.work().display().to_string();
        let home = self.env.root().display().to_string();
        let general = |text: &str| {
            let text = text
                .replace(&dump, "/tmp/sacctmgr-dump.cfg")
                .replace(&work, "<WORK>")
                .replace(&home, "<LAB>");
            transcript::replace_word(&text, &sys::host_name(), "<HOST>")
        };
        let status = outcome.status.to_string();
        transcript::answer(&general(&stdout), &general(&outcome.stderr), &status)
    }

    /// Uses up the number of a job that is refused here, so that those after it have theirs.
    pub(crate) fn take_number(&self, job: &str) {
        let wrap = ["--parsable", "-o", "/dev/null", "--wrap", "true"];
        let taken = self.env.slurm("sbatch", &wrap).success();
        assert_eq!(taken.trim(), job, "another number than the recorded job's");
    }

    /// Between the commands of a real one seconds pass: nothing ended in the one in which it is asked, and what
    /// runs did so for longer than what waits.
    pub(crate) fn outlive_second(&self) {
        let second = jiff::Timestamp::now().as_second();
        wait_until("jobs have run for a second", || {
            let times = self.prints(&["-h", "-t", "R", "-o", "%M"]);
            jiff::Timestamp::now().as_second() > second
                && times.lines().all(|time| time.trim() != "0:00")
        });
    }

    pub(crate) fn prints(&self, args: &[&str]) -> String {
        self.env.slurm("squeue", args).stdout
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        let _cancelled = self.env.slurm("scancel", &["-u", "root"]);
        wait_until("no job is left", || self.prints(&["-h"]).is_empty());
        let _stopped = self.env.yard(&["engine", "stop", "lab"]);
    }
}
