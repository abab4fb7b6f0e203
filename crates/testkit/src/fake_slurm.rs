//! A stand-in for a Slurm at its lowest edge: the commands that a transport runs, as shell scripts
//! that answer from files. No real Slurm is needed, and an outage lasts as long as a test wants.

use crate::TestEnv;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The cluster's name.
pub const FAKE_CLUSTER: &str = "fake";

/// Each command's part after what all have.
const COMMANDS: [(&str, &str); 6] = [
    (
        "sinfo",
        "case \"$*\" in *CPUsState*) cat \"$here/nodes\"; exit ;; esac\n\
         echo 'main*|1|4|16000|(null)|1:00:00|OFF|1:00:00|1-infinite|node1'",
    ),
    (
        "scontrol",
        "printf 'ClusterName = fake\\nSLURM_VERSION = 22.05.8\\nKillWait = 30 sec\\n'; cat \"$here/config\"",
    ),
    ("squeue", SQUEUE),
    ("sbatch", "echo 17"),
    ("scancel", ":"),
    ("srun", ":"),
];

/// Prints the asked jobs' lines; all of them where none is named.
const SQUEUE: &str = r#"case "$*" in *UserName*) cat "$here/queue"; exit ;; esac
ids=
for arg in "$@"; do case $arg in --jobs=*) ids=,${arg#--jobs=}, ;; esac; done
while IFS= read -r line; do
  case "$ids" in ''|*,"${line%%|*}",*) printf '%s\n' "$line" ;; esac
done < "$here/jobs""#;

/// The stand-in, in a test's folder.
pub struct FakeSlurm {
    folder: PathBuf,
}

impl FakeSlurm {
    /// Its node as a cluster file has it.
    pub const CLUSTER_FILE: &str = r#"
[nodes.all]
names = "node1"
cpus = 4
memory = "16000M"
[partition.main]
default = true
nodes = "node1"
max_time = "1:00:00"
"#;

    /// Makes one that answers, and puts it first on the `PATH` of the commands that follow.
    ///
    /// # Panics
    /// When a file can't be written.
    #[must_use]
    pub fn start(env: &mut TestEnv) -> FakeSlurm {
        let folder = env.root().join("slurm");
        fs::create_dir(&folder).expect("a folder can be made");
        let fake = FakeSlurm { folder };
        fake.write("slurm.conf", "ClusterName=fake\n");
        fake.set_jobs(&[]);
        fake.set_cluster("", "");
        fake.set_config("AccountingStorageType = accounting_storage/none\n");
        for (name, own) in COMMANDS {
            let here = fake.folder.display();
            let script = format!(
                "#!/bin/sh\nhere='{here}'\necho '{name}' \"$@\" >> \"$here/asked\"\n\
                 while [ -e \"$here/hangs\" ]; do sleep 0.05; done\n\
                 if [ -e \"$here/down\" ]; then\n\
                 echo '{name}: error: Unable to contact slurm controller (connect failure)' >&2\n\
                 exit 1\nfi\n{own}\n"
            );
            let path = fake.write(name, &script);
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(path, mode).expect("a file of its own");
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut first = OsString::from(&fake.folder);
        first.push(":");
        first.push(path);
        env.set_var("PATH", first);
        env.set_var("SLURM_CONF", fake.folder.join("slurm.conf"));
        fake
    }

    /// From now on its controller can't be contacted, or can.
    ///
    /// # Panics
    /// When a file can't be made.
    pub fn set_down(&self, down: bool) {
        self.set("down", down);
    }

    /// From now on its commands hang, or don't.
    ///
    /// # Panics
    /// When a file can't be made.
    pub fn set_hanging(&self, hangs: bool) {
        self.set("hangs", hangs);
    }

    /// The jobs that it knows: number, state in Slurm's word, name.
    ///
    /// # Panics
    /// When a file can't be written.
    pub fn set_jobs(&self, jobs: &[(u32, &str, &str)]) {
        let line = |(id, state, name): &(u32, &str, &str)| {
            format!("{id}|{state}|0|None|N/A|N/A|N/A|0:0|node1|{id}|N/A|{name}|\n")
        };
        let text: String = jobs.iter().map(line).collect();
        let beside = self.write("jobs.new", &text);
        fs::rename(beside, self.folder.join("jobs")).expect("a file can be renamed");
    }

    /// What it answers about all of its nodes, and about the jobs of all users: lines in the form in
    /// which they are asked.
    ///
    /// # Panics
    /// When a file can't be written.
    pub fn set_cluster(&self, nodes: &str, queue: &str) {
        self.write("nodes", nodes);
        self.write("queue", queue);
    }

    /// What else it answers of its configuration: lines of `scontrol show config`.
    ///
    /// # Panics
    /// When a file can't be written.
    pub fn set_config(&self, lines: &str) {
        self.write("config", lines);
    }

    /// How often one of its commands was run.
    #[must_use]
    pub fn asked(&self, command: &str) -> usize {
        let asked = fs::read_to_string(self.folder.join("asked")).unwrap_or_default();
        let own = asked
            .lines()
            .filter(|line| line.split(' ').next() == Some(command));
        own.count()
    }

    fn set(&self, name: &str, is: bool) {
        if is {
            self.write(name, "");
        } else {
            // It may not have been there.
            let _ = fs::remove_file(self.folder.join(name));
        }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        fs::write(&path, text).expect("a file can be written");
        path
    }
}
