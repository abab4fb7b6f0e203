//! The files that such a Slurm reads.

use super::SlurmShape;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) struct Config {
    folder: PathBuf,
    shape: SlurmShape,
    /// GPUs of each node: devices that are none, which Slurm counts and hands out all the same.
    gpus: u16,
    /// Lines that stand for the nodes and partitions of the shape.
    lines: Option<String>,
    controller_port: u16,
    node_ports: Vec<u16>,
}

impl Config {
    /// `ports`: the controller's, then one for each node.
    pub(super) fn new(folder: &Path, shape: SlurmShape, ports: &[u16]) -> Config {
        let folder = folder.to_owned();
        let (controller_port, node_ports) = (ports[0], ports[1..].to_vec());
        Config {
            folder,
            shape,
            gpus: 0,
            lines: None,
            controller_port,
            node_ports,
        }
    }

    /// The same, each of whose nodes has so many GPUs of type `v100`.
    pub(super) fn with_gpus(self, gpus: u16) -> Config {
        Config { gpus, ..self }
    }

    /// A controller whose nodes and partitions these lines of `slurm.conf` describe.
    pub(super) fn of_controller(folder: &Path, lines: &str, port: u16) -> Config {
        let none = SlurmShape { nodes: 0, cpus: 0 };
        Config {
            lines: Some(lines.to_owned()),
            ..Config::new(folder, none, &[port])
        }
    }

    pub(super) fn node_names(&self) -> Vec<String> {
        (1..=self.shape.nodes).map(|n| format!("node{n}")).collect()
    }

    pub(super) fn munge_socket(&self) -> PathBuf {
        self.folder.join("munge/socket")
    }

    pub(super) fn munged_args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["--foreground".into(), "--force".into()];
        for (option, file) in [
            ("socket", "socket"),
            ("key-file", "key"),
            ("pid-file", "pid"),
            ("seed-file", "seed"),
            ("log-file", "log"),
        ] {
            let mut arg = OsString::from(format!("--{option}="));
            arg.push(self.folder.join("munge").join(file));
            args.push(arg);
        }
        args
    }

    pub(super) fn write(&self) -> std::io::Result<()> {
        for folder in ["munge", "state", "log", "spool"] {
            fs::create_dir(self.folder.join(folder))?;
        }
        for node in self.node_names() {
            fs::create_dir(self.folder.join("spool").join(node))?;
        }
        let key: [u8; 128] = sys::random()?;
        let key_file = self.folder.join("munge/key");
        fs::write(&key_file, key)?;
        fs::set_permissions(key_file, fs::Permissions::from_mode(0o400))?;

        let hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
        let ours = format!("127.0.0.1 {}\n", self.node_names().join(" "));
        // Ours first: a name that the machine knows already must mean our node here.
        fs::write(self.folder.join("hosts"), ours + &hosts)?;
        if self.gpus > 0 {
            self.write_gpus()?;
        }
        fs::write(self.folder.join("slurm.conf"), self.slurm_conf())
    }

    /// Character devices, since Slurm refuses plain files.
    fn write_gpus(&self) -> std::io::Result<()> {
        let devices = self.folder.join("dev");
        fs::create_dir(&devices)?;
        for number in 0..self.gpus {
            let device = devices.join(format!("nvidia{number}"));
            let made = Command::new("mknod")
                .arg(&device)
                .args(["c", "1", "3"])
                .status()?;
            if !made.success() {
                return Err(std::io::Error::other(format!("mknod {device:?}: {made}")));
            }
        }
        let text = format!(
            "Name=gpu Type=v100 File={}/nvidia[0-{}]\n",
            devices.display(),
            self.gpus - 1
        );
        fs::write(self.folder.join("gres.conf"), text)
    }

    fn slurm_conf(&self) -> String {
        let at = self.folder.display();
        let SlurmShape { cpus, nodes } = self.shape;
        let mut text = format!(
            "ClusterName=rig
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
# An expiry of 10 s makes a requeued job start again after 10 s, not 120.
AuthInfo=socket={socket},cred_expire=10
MpiDefault=none
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/spool/%n
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd-%n.pid
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
ReturnToService=2
# CPUs are pretended: more than this machine has.
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=100
SchedulerType=sched/backfill
# Batch jobs start at once, not after a batching delay of 3 s.
SchedulerParameters=batch_sched_delay=0,sched_interval=1
JobRequeue=1
KillWait=5
MinJobAge=300
",
            host = sys::host_name(),
            port = self.controller_port,
            socket = self.munge_socket().display(),
        );
        if let Some(lines) = &self.lines {
            return text + "SlurmdTimeout=0\n" + lines;
        }
        let gpus = match self.gpus {
            0 => String::new(),
            count => {
                text += "GresTypes=gpu\n";
                format!("Gres=gpu:v100:{count} ")
            }
        };
        for (node, port) in self.node_names().iter().zip(&self.node_ports) {
            text += &format!(
                "NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs={cpus} \
                 Boards=1 SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=16000 \
                 {gpus}State=UNKNOWN\n"
            );
        }
        text + &format!(
            "PartitionName=main Nodes=node[1-{nodes}] Default=YES MaxTime=INFINITE DefaultTime=01:00:00 State=UP\n"
        )
    }
}
