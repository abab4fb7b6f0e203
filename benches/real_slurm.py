"""A real Slurm on this machine, in a folder of its own: what benchmarks measure `yard` beside."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(what, holds, seconds=60):
    end = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > end:
            raise RuntimeError(f"waited {seconds} s until {what}")
        time.sleep(0.02)
    return found


class RealSlurm:
    """`nodes` nodes of `each` CPUs. With `accounting` its database too, which `sacct` reads (mariadb-server and
    slurmdbd)."""

    name = "Slurm"

    def __init__(self, folder, nodes, each, accounting=False):
        needed = ["munged", "slurmctld", "slurmd", "srun"]
        needed += ["slurmdbd", "mariadbd", "mariadb-install-db"] * accounting
        for program in needed:
            if not shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin"):
                raise RuntimeError(f"{program} is missing: apt-get install slurm-wlm munge slurmdbd mariadb-server")
        if os.geteuid() != 0:
            raise RuntimeError("only root can start one")
        self.folder, self.processes = folder, []
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        names = [f"node{node}" for node in range(1, nodes + 1)]
        for name in ("munge", "state", *(f"spool/{name}" for name in names)):
            (folder / name).mkdir(parents=True)
        key = folder / "munge" / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.env = {"PATH": f"{os.environ['PATH']}:/usr/sbin", "HOME": str(folder), "LANG": "C.UTF-8",
                    "SLURM_CONF": str(folder / "slurm.conf")}
        munge = [f"--{option}-file={folder / 'munge' / option}" for option in ("key", "pid", "seed", "log")]
        self.start("munged", "--foreground", "--force", f"--socket={self.munge}", *munge)
        until("munged listens", self.munge.exists)
        kept = self.start_database() if accounting else ""
        lines = "".join(f"NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={free_port()} CPUs={each} "
                        f"CoresPerSocket={each} RealMemory=16000 State=UNKNOWN\n" for name in names)
        (folder / "slurm.conf").write_text(
            f"ClusterName=bench\nSlurmctldHost={self.host}(127.0.0.1)\nSlurmctldPort={free_port()}\n"
            "SlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\nCredType=cred/munge\n"
            f"AuthInfo=socket={self.munge}\nMpiDefault=none\nSlurmdSpoolDir={folder}/spool/%n\n"
            f"StateSaveLocation={folder / 'state'}\nSlurmctldPidFile={folder / 'pid'}\nSlurmdPidFile={folder}/%n.pid\n"
            f"SlurmctldLogFile={folder / 'log'}\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
            "SlurmdTimeout=0\nMaxJobCount=200000\nSlurmdParameters=config_overrides\nReturnToService=2\n"
            f"{kept}SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n"
            f"{lines}PartitionName=main Nodes={','.join(names)} Default=YES State=UP\n")
        if accounting:
            self.ask("sacctmgr", "-i", "add", "cluster", "bench")
        self.start("slurmctld", "-D")
        until("the controller answers", lambda: self.status("scontrol", "ping") == 0)
        for name in names:
            self.start("unshare", "--uts", "sh", "-c", f"hostname {name}; exec slurmd -D -N {name}")
        until("all nodes are idle", lambda: len(self.ask("sinfo", "-hN", "-t", "idle").split("\n")) > nodes)

    @property
    def munge(self):
        return self.folder / "munge" / "socket"

    @property
    def host(self):
        return socket.gethostname().split(".")[0]

    def start_database(self):
        """MariaDB and slurmdbd; the lines for `slurm.conf`."""
        data, listens, port = self.folder / "data", self.folder / "mysql.sock", free_port()
        subprocess.run(["mariadb-install-db", "--user=root", f"--datadir={data}", "--auth-root-authentication-method=normal",
                        "--skip-test-db"], check=True, capture_output=True)
        self.start("mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", f"--socket={listens}",
                   "--skip-networking", "--innodb-buffer-pool-size=256M", f"--pid-file={self.folder}/mariadb.pid")
        until("the database answers", listens.exists)
        conf = self.folder / "slurmdbd.conf"
        conf.write_text(
            f"AuthType=auth/munge\nAuthInfo=socket={self.munge}\nDbdHost={self.host}\nDbdAddr=127.0.0.1\nDbdPort={port}\n"
            f"SlurmUser=root\nPidFile={self.folder}/dbd.pid\nLogFile={self.folder}/dbd.log\n"
            "StorageType=accounting_storage/mysql\nStorageHost=localhost\nStorageUser=root\nStorageLoc=bench\n")
        conf.chmod(0o600)
        home = {**os.environ, **self.env, "MYSQL_UNIX_PORT": str(listens)}
        self.start("slurmdbd", "-D", env=home)
        log = self.folder / "dbd.log"
        until("slurmdbd has started", lambda: log.exists() and "started" in log.read_text())
        return ("AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\n"
                f"AccountingStoragePort={port}\nAccountingStoragePass={self.munge}\n"
                "JobAcctGatherType=jobacct_gather/linux\n")

    def command(self, *words):
        return list(words)

    def ask(self, *words):
        return subprocess.run(words, env=self.env, capture_output=True, text=True).stdout

    def status(self, *words):
        return subprocess.run(words, env=self.env, capture_output=True).returncode

    def start(self, *words, env=None):
        env = env or {**os.environ, **self.env}
        self.processes.append(subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def srun(self, *words):
        subprocess.run(["srun", *words], env=self.env, cwd=self.folder, check=True, stdin=subprocess.DEVNULL,
                       capture_output=True)

    def daemons(self):
        """The controller and what serves its nodes, without the database and munge."""
        own = ("slurmctld", "slurmd")
        return [process.pid for process in self.processes
                if process.poll() is None and Path(f"/proc/{process.pid}/comm").read_text().strip() in own]

    def let_users_in(self):
        """Another user's commands reach its configuration."""
        self.folder.parent.chmod(0o755)

    def supervisors(self):
        """None: its node's daemon is waited for when it is stopped."""
        return []

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait()
