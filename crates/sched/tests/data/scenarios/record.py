#!/usr/bin/env python3
"""Plays scenarios.txt on a real Slurm, and writes what that answers into it.

    record.py FOLDER scenarios.txt [CLUSTER]...      (root; slurm-wlm, slurmdbd, mariadb-server, munge)

A cluster of the file is a slurmctld and four slurmds of its own in FOLDER; all are played side by side.
Those with `sacctmgr` lines share a slurmdbd and a MariaDB. Nothing of the machine is changed.
The format stands at the top of scenarios.txt.
"""

import os, re, shlex, socket, subprocess, sys, threading, time
from pathlib import Path

LAB, FILE, ONLY = Path(sys.argv[1]).absolute(), Path(sys.argv[2]), sys.argv[3:]
QUIET = 2.5  # seconds without a change
STARTED = []
ACCOUNTS = threading.Lock()


def port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(command, log, **more):
    out = open(log, "w")
    STARTED.append(subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, **more))


def wait_for(what, seconds=120):
    for _ in range(seconds * 5):
        if what():
            return
        time.sleep(0.2)
    sys.exit(f"timeout: {what}")


def munge():
    """A munged of our own: others may end the machine's."""
    folder = LAB / "munge"
    folder.mkdir()
    (folder / "key").write_bytes(os.urandom(128))
    (folder / "key").chmod(0o400)
    files = (("socket", "socket"), ("key-file", "key"), ("pid-file", "pid"), ("seed-file", "seed"), ("log-file", "log"))
    start(["munged", "--foreground", "--force", *(f"--{option}={folder / file}" for option, file in files)], LAB / "munged.out")
    wait_for((folder / "socket").exists)


def accounting(clusters):
    """A database, and slurmdbd over it; returns its port."""
    db = LAB / "db"
    for folder in (db, LAB / "dbtmp"):
        folder.mkdir(exist_ok=True)
        subprocess.run(["chown", "mysql", folder])
    with open(LAB / "install", "w") as log:
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", "--user=mysql", f"--datadir={db}", "--skip-test-db",
             "--auth-root-authentication-method=socket"], stdout=log, stderr=log)
    sql_port, dbd_port, sock = port(), port(), LAB / "dbtmp/s"
    start(["mariadbd", "--no-defaults", "--user=mysql", f"--datadir={db}", f"--socket={sock}",
           f"--pid-file={LAB}/dbtmp/pid", "--bind-address=127.0.0.1", f"--port={sql_port}",
           f"--tmpdir={LAB}/dbtmp", "--skip-name-resolve"], LAB / "mariadb")
    sql = lambda text: subprocess.run(["mariadb", "--no-defaults", "-S", sock, "-e", text], capture_output=True).returncode == 0
    wait_for(lambda: sql("select 1"))
    sql("create database if not exists acct; create user if not exists 's'@'127.0.0.1' identified by 'p';"
        "grant all on acct.* to 's'@'127.0.0.1'")
    conf = LAB / "slurmdbd.conf"
    conf.write_text(f"""AuthType=auth/munge
AuthInfo=socket={LAB}/munge/socket
DbdHost=localhost
DbdPort={dbd_port}
SlurmUser=root
LogFile={LAB}/slurmdbd.log
PidFile={LAB}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={sql_port}
StorageUser=s
StoragePass=p
StorageLoc=acct
""")
    conf.chmod(0o600)
    (LAB / "any.conf").write_text(
        f"ClusterName=any\nSlurmctldHost=localhost\nAuthInfo=socket={LAB}/munge/socket\nAccountingStorageType=accounting_storage/slurmdbd\n"
        f"AccountingStorageHost=localhost\nAccountingStoragePort={dbd_port}\nAccountingStoragePass={LAB}/munge/socket\nNodeName=x\nPartitionName=x Nodes=x\n")
    start(["slurmdbd", "-D"], LAB / "slurmdbd.out", env={**os.environ, "SLURM_CONF": str(LAB / "any.conf")})
    ask = lambda: subprocess.run(["sacctmgr", "-n", "list", "cluster"], capture_output=True,
                                 env={**os.environ, "SLURM_CONF": str(LAB / "any.conf")}).returncode == 0
    wait_for(ask)
    return dbd_port


class Slurm:
    def __init__(self, cluster, common, dbd):
        self.name, self.ids, self.names = cluster.name, {}, {}
        self.folder = LAB / cluster.name
        for name in ("state", "log", "ctl", "dev", *(f"spool/n{n}" for n in range(1, 5))):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "ctl").chmod(0o777)
        for n in range(8):
            (self.folder / f"dev/g{n}").touch()
        conf = self.folder / "slurm.conf"
        self.env = {**os.environ, "SLURM_CONF": str(conf)}
        ports = [port() for _ in range(5)]
        at = self.folder
        text = f"""ClusterName={cluster.name}
SlurmctldHost={socket.gethostname().split('.')[0]}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
MpiDefault=none
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/spool/%n
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd-%n.pid
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
ReturnToService=2
SlurmdParameters=config_overrides
UnkillableStepTimeout=60
"""
        nodes = 0
        for line in common + cluster.conf:
            if line.startswith("NodeName="):
                names = re.search(r"n\[?([\d,-]+)", line).group(1)
                for part in names.rstrip("]").split(","):
                    first, _, last = part.partition("-")
                    for n in range(int(first), int(last or first) + 1):
                        one = re.sub(r"^NodeName=\S+", f"NodeName=n{n} NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[n]}", line)
                        text += one + " State=UNKNOWN\n"
                        nodes += 1
            else:
                text += line.replace("AuthInfo=", f"AuthInfo=socket={LAB}/munge/socket,") + "\n"
        if cluster.sacctmgr:
            text += ("AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=localhost\n"
                     f"AccountingStoragePort={dbd}\nAccountingStoragePass={LAB}/munge/socket\n")
        conf.write_text(text)
        if cluster.topology:
            (self.folder / "topology.conf").write_text("\n".join(cluster.topology) + "\n")
        if cluster.gres:
            (self.folder / "gres.conf").write_text("\n".join(cluster.gres).replace("DEV", str(self.folder / "dev/g")) + "\n")
        (self.folder / "job").write_text(
            "#!/bin/bash\n"
            f"f={self.folder}/ctl/${{SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}}${{SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}}\n"
            f"until [ -e $f ]; do sleep .3; [ -d {self.folder}/ctl ] || exit; done\nexit $(cat $f)\n")
        is_up = False
        if cluster.sacctmgr:
            with ACCOUNTS:
                self.run("sacctmgr", "-i", "add", "cluster", cluster.name)
                for line in cluster.sacctmgr:
                    # A GRES is known to the accounting once a controller has named it.
                    if "gres/" in line and not is_up:
                        is_up = self.start_controller()
                    done = self.run("sacctmgr", "-i", *shlex.split(line))
                    if done.returncode:
                        print(cluster.name, line, done.stdout, done.stderr, file=sys.stderr)
        if not is_up:
            self.start_controller()
        for n in range(1, nodes + 1):
            start(["slurmd", "-D", "-N", f"n{n}"], at / f"log/slurmd-n{n}", env=self.env)
        wait_for(lambda: self.run("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").stdout.split().__len__() >= nodes)

    def start_controller(self):
        start(["slurmctld", "-D"], self.folder / "log/slurmctld", env=self.env)
        wait_for(lambda: "is UP" in self.run("scontrol", "ping").stdout)
        return True

    def run(self, *command):
        return subprocess.run(command, capture_output=True, text=True, env=self.env, stdin=subprocess.DEVNULL)

    def named(self, text):
        return re.sub(r"@([a-z]+)", lambda found: self.ids.get(found[1], "0"), text)

    def id(self, name):
        base, _, task = name.partition("_")
        return self.ids.get(base, "0") + (f"_{task}" if task else "")

    def snapshot(self):
        form = "%F|%K|%t|%N|%r"
        names = {id: name for name, id in self.ids.items()}
        rows = []
        for line in self.run("squeue", "-h", "-r", "-a", "-o", form).stdout.splitlines():
            job, task, state, nodes, reason = line.split("|")
            if job not in names:
                continue
            name = names[job] + ("" if task == "N/A" else f"_{task}")
            where = {"PD": reason}.get(state, nodes)
            rows.append((name, state, where))
        order = list(self.ids)
        place = lambda row: (order.index(row[0].partition("_")[0]), len(row[0]), row[0])
        return sorted(rows, key=place)

    def settled(self):
        last, since, until = None, time.time(), time.time() + 40
        while time.time() < until:
            rows = self.snapshot()
            busy = any(state in ("CG", "CF") or where == "None" for _, state, where in rows)
            if rows != last or busy:
                last, since = rows, time.time()
            if time.time() - since >= QUIET:
                break
            time.sleep(0.4)
        return "; ".join(" ".join(row) for row in last) or "nothing"

    def step(self, line):
        """Does what a line says; what is to be written below it."""
        word, *rest = shlex.split(line)
        done = None
        if word == "sbatch":
            name, _, user = rest[0].partition("@")
            who = [f"--uid={user}"] if user else []
            done = self.run("sbatch", "--parsable", *who, "-D", "/", "-o", "/dev/null", "-J", name,
                            *(self.named(one) for one in rest[1:]), str(self.folder / "job"))
            if done.returncode == 0:
                self.ids[name] = done.stdout.strip().split(";")[0]
                return None
            words = [one.partition("error: ")[2] for one in done.stderr.splitlines() if "error: " in one]
            return "refused " + words[-1]
        elif word == "finish":
            (self.folder / "ctl" / self.id(rest[0])).write_text((rest + ["0"])[1])
        elif word == "cancel":
            done = self.run("scancel", self.id(rest[0]))
        elif word in ("hold", "release", "requeue", "suspend", "resume", "top"):
            done = self.run("scontrol", {"hold": "uhold"}.get(word, word), self.id(rest[0]))
        elif word == "update":
            done = self.run("scontrol", "update", f"JobId={self.id(rest[0])}", *map(self.named, rest[1:]))
        elif word == "where":
            return self.where(rest[0])
        elif word == "planned":
            return self.planned()
        elif word == "priority":
            return self.run("squeue", "-h", "-a", "-j", self.id(rest[0]), "-o", "%Q").stdout.strip()
        elif word == "state":
            return self.run("squeue", "-h", "-a", "-t", "all", "-j", self.id(rest[0]), "-o", "%T %r %l").stdout.strip()
        elif word == "node":
            done = self.run("scontrol", "update", f"NodeName={rest[0]}", f"State={rest[1]}", "Reason=test")
        elif word == "partition":
            done = self.run("scontrol", "update", f"PartitionName={rest[0]}", *rest[1:])
        elif word == "reserve":
            done = self.run("scontrol", "create", "reservation", f"ReservationName={rest[0]}", *rest[1:])
        elif word == "unreserve":
            done = self.run("scontrol", "delete", f"ReservationName={rest[0]}")
        elif word == "wait":
            time.sleep(float(rest[0]))
        else:
            sys.exit(f"{self.name}: {line}: no such step")
        if done is not None and done.returncode:
            names = {id: name for name, id in self.ids.items()}
            said = done.stderr.strip().splitlines()[-1]
            return "refused " + re.sub(r"(?<=for job )\d+", lambda found: names.get(found[0], found[0]), said)
        return None

    def planned(self):
        """The nodes that are planned for jobs that wait."""
        names = {id: name for name, id in self.ids.items()}
        rows = []
        for line in self.run("squeue", "-h", "-a", "-t", "PD", "-S", "i", "-o", "%F|%Y").stdout.splitlines():
            job, nodes = line.split("|")
            rows.append(f"{names[job]} {nodes}")
        return "; ".join(rows) or "nothing"

    def where(self, name):
        """CPUs and GPUs of a job, node by node."""
        text = self.run("scontrol", "-d", "-o", "show", "job", self.id(name)).stdout
        form = r"Nodes=(\S+) CPU_IDs=(\S+) Mem=(\d+) GRES=(\S*)"
        rows = []
        for nodes, cpus, mib, gres in re.findall(form, text):
            gpus = set()
            for part in ",".join(re.findall(r"IDX:([\d,-]+)", gres)).split(","):
                first, _, last = part.partition("-")
                gpus |= set(range(int(first), int(last or first) + 1)) if part else set()
            said = f" gpus {','.join(map(str, sorted(gpus)))}" if gpus else ""
            rows.append(f"{nodes} cpus {cpus} mem {mib}{said}")
        return "; ".join(rows) or "nowhere"

    def play(self, steps):
        out = []
        for line in steps:
            words = line.strip()
            if words == "=" or words.startswith("= "):
                out.append("  = " + self.settled())
            elif words.startswith("! "):
                continue
            else:
                out.append(line)
                if not words.startswith(("#", "meant ")):
                    said = self.step(words)
                    if said:
                        out.append("  ! " + said)
        self.clear()
        return out

    def clear(self):
        for line in self.run("squeue", "-h", "-a", "-o", "%A").stdout.split():
            self.run("scancel", line)
        for name in re.findall(r"ReservationName=(\S+)", self.run("scontrol", "show", "reservation").stdout):
            wait_for(lambda: not self.run("squeue", "-h", "-a").stdout.strip())
            self.run("scontrol", "delete", f"ReservationName={name}")
        wait_for(lambda: not self.run("squeue", "-h", "-a").stdout.strip())
        for n in range(1, 5):
            self.run("scontrol", "update", f"NodeName=n{n}", "State=RESUME")
        for file in (self.folder / "ctl").iterdir():
            file.unlink()
        self.ids = {}
        time.sleep(1.5)


class Cluster:
    def __init__(self, name):
        self.name, self.conf, self.gres, self.sacctmgr, self.topology, self.scenarios = name, [], [], [], [], []


def main():
    lines = FILE.read_text().splitlines()
    common, clusters, cluster, spans = [], {}, None, []
    for index, line in enumerate(lines):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if words[0] == "cluster":
            cluster = clusters[words[1]] = Cluster(words[1])
        elif words[0] == "scenario":
            end = index + 1
            while end < len(lines) and lines[end].startswith("  "):
                end += 1
            spans.append((index, end))
            cluster.scenarios.append((index, end))
        elif words[0] == "conf":
            (cluster.conf if cluster else common).append(line.strip()[5:])
        elif words[0] in ("gres", "sacctmgr", "topology") and line.startswith("  ") and not cluster.scenarios:
            getattr(cluster, words[0]).append(line.strip().split(None, 1)[1])
    played = [one for one in clusters.values() if not ONLY or one.name in ONLY]
    LAB.mkdir(parents=True, exist_ok=True)
    LAB.chmod(0o755)
    munge()
    dbd = accounting(clusters) if any(one.sacctmgr for one in played) else None
    new = {}

    def play(one):
        slurm = Slurm(one, common, dbd)
        print(one.name, "is up", file=sys.stderr)
        for begin, end in one.scenarios:
            new[begin] = slurm.play(lines[begin + 1:end])
            print(one.name, "|", lines[begin], file=sys.stderr)

    threads = [threading.Thread(target=play, args=(one,), daemon=True) for one in played]
    for thread in threads:
        thread.start()
        time.sleep(1)
    for thread in threads:
        thread.join()
    out, index = [], 0
    ends = dict(spans)
    while index < len(lines):
        out.append(lines[index])
        if index in new:
            out += new[index]
            index = ends[index]
        else:
            index += 1
    FILE.write_text("\n".join(out) + "\n")


try:
    main()
except KeyboardInterrupt:
    sys.exit("stopped: nothing was written")
finally:
    for folder in LAB.glob("*/ctl"):
        folder.rename(folder.with_name("over"))
    for process in reversed(STARTED):
        process.terminate()
