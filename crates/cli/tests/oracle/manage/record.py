#!/usr/bin/env python3
"""Records what a real Slurm 22.05 with four nodes and its accounting answers to commands.txt.

As root, beside `cluster.sh`, which brings one up:
    LAB=/tmp/slurm-lab ./cluster.sh up && LAB=/tmp/slurm-lab ./record.py > answers-22.05.8.txt
five minutes after it came up: by then it has counted the shares of its new associations, which are 0 before;
and of later/commands.txt, on a cluster without jobs, with `later` as its argument; of changes/commands.txt, on
one that was just brought up with FRESH=1, with `changes`.
reservations/commands.txt (`reservations`, likewise) has pipes of the shell, and is read by people alone.
accounting/commands.txt (`accounting`, likewise) is what sacctmgr shows beside accounts, and what the controller keeps of them.
bad/commands.txt (`bad`, likewise) is what each command says of jobs, nodes, users, fields and moments that there are not.
environment/commands.txt (`environment`, also on a cluster without jobs) is 165 ways to ask for resources, each with
its job and the environment of its script and of its first task; gpu_bind/commands.txt (`gpu_bind`, likewise) what tasks
are told of their GPUs; steps/commands.txt (`steps`, likewise) which nodes and GPUs steps get;
node_lists/commands.txt (`node_lists`, likewise) is about files that name nodes, and tasks that
follow a list of nodes; hold/commands.txt (`hold`, likewise) is about jobs that are held, requeue/commands.txt and job_keys/commands.txt
(`requeue`, `job_keys`, as `updates`) about those that are queued again and all keys of `scontrol update`, updates/commands.txt (`updates`, on one that was
just brought up with FRESH=1 and SCHEDPARAMS=bf_interval=1) what `scontrol update` changes of jobs;
the last part of requeue (FIRSTJOB=8, SCHEDPARAMS as for gpu_sockets) is which of a job's starts `sacct` finds;
resize/commands.txt (`resize`, likewise) is about running jobs that give back nodes, end_time/commands.txt (`end_time`, likewise)
about when they end.
future/commands.txt (`future`) is about nodes that are not there yet, and licences/commands.txt (`licences`) about licences of
reservations; each on a cluster that was brought up with its own slurm.conf as EXTRA.
gpu_sockets/commands.txt (`gpu_sockets`, on one that was brought up with SOCKETS=2 and
SCHEDPARAMS=batch_sched_delay=0,sched_min_interval=0,bf_interval=1) is which CPUs and GPUs jobs get where GPUs are at sockets.
looks/commands.txt (`looks`, likewise) is what programs read of the configuration, GPUs at sockets, jobs of several
partitions and jobs that are over. sinfo/commands.txt (`sinfo`, likewise) is `sinfo`, option by option; its node4 is down and comes back in the second part when its
slurmd registers again, for which its pauses stand.
options/commands.txt (`options`, on one that was just brought up with FRESH=1 and SCHEDPARAMS as for gpu_sockets, five minutes
after it came up) is `sshare`, `sdiag`, `sprio`, `sstat`, `sattach` and `salloc`, option by option; its part `sstat` was recorded
anew on a fresh one (FIRSTJOB=14). cancel/commands.txt (`cancel`, on one like that) is `scancel`, of which
what it says is replayed: what stands of a job that is just ending hangs on the moment.
details/commands.txt (`details`, on one that was just brought up with FRESH=1 and
SCHEDPARAMS=bf_interval=1,batch_sched_delay=0,sched_min_interval=0) is about accounts that are moved, output in missing folders,
changes of GPUs, lists of reservations, odd scripts and `srun --bcast`.
het/commands.txt (`het`, on one that was just brought up with FRESH=1 and SCHEDPARAMS=bf_interval=1) is about
heterogeneous jobs, which only backfill starts there.

arrays/commands.txt and lost/commands.txt (`arrays`, `lost`, each on one that was just brought up with FRESH=1 and
SCHEDPARAMS=bf_interval=1,batch_sched_delay=0,sched_min_interval=0) are about arrays of which elements run, wait and are over,
and about lists of nodes that can't all be changed, jobs that lose their node, and variables that commands read;
reasons/commands.txt (`reasons`, likewise) about what cancelled jobs waited for, and what is left of dependencies;
job_records/commands.txt (`job_records`, likewise) about what accounting records of jobs and steps; dump/commands.txt, waiting/commands.txt,
no_kill/commands.txt, overlap/commands.txt, told/commands.txt and admin/commands.txt (`dump`, `waiting`, `no_kill`, `overlap`, `told`, `admin`, likewise) about files of accounts, what is changed of
jobs that wait, jobs that keep the nodes that are left to them, steps that share nodes, what tasks are told,
and accounts, users and QOS that are added and deleted; data/commands.txt (`data`, likewise) about what `--json` leaves out,
and wrappers/commands.txt (`wrappers`, likewise) about what starts at once or not at all, hints, -QQ, `sinfo -v` and jobs that are stopped.
rest/commands.txt (`rest`, likewise) is about counts of features, nodes and GPUs that steps leave out, lines of an end and filters
that nothing meets; `srun -n1 -C 'v100*2'`, outside of a job, hangs a real slurmctld for good.
words/commands.txt (`words`, likewise) is about the first words of scontrol and sacctmgr, changes of all accounts and users,
conditions and columns of what sacctmgr shows, and columns of steps.

ends/commands.txt (`ends`, likewise) is about nodes of jobs that wait, ends of scripts and steps, and limits of steps, and is read by people alone.

asked/commands.txt (`asked`, likewise) is about values that are empty, what is handed on and shown of options of `sbatch` and
`salloc`, and steps that their job can't have.

corners/commands.txt (`corners`, likewise) is about what commands say with -v and -Q, files that there are not, and
commands that are read one by one; jobs that were just cancelled were looked at again once accounting had them.

A line of commands.txt is a command line, or one of:
    # TITLE          a part
    @wait STATE JOB  until `squeue` prints that state of the job
    @steps JOB N     until so many steps of the job run
    @pause           four seconds, in which the real one schedules
    @restart         slurmctld is ended and started again
    @keys COMMAND    of the JSON that it prints, the names of all values with their types
An answer stands after its command: what came to standard output after two spaces, what came to
standard error after `! `, an exit status other than 0 after `= `; `= hangs` is one that took ten seconds. `\\` ends a last line without an
end of line.
"""
import json, os, re, signal, socket, subprocess, sys, time

LAB = os.environ["LAB"]
HERE = os.path.dirname(os.path.abspath(__file__))
WORK = os.path.join(LAB, "work")
HOST = socket.gethostname().split(".")[0]
os.makedirs(WORK, exist_ok=True)
ENV = {
    "PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "USER": "root",
    "SLURM_CONF": f"{LAB}/etc/slurm.conf", "LC_ALL": "C", "TZ": "UTC",
}


def run(command):
    try:
        done = subprocess.run(["bash", "-c", command], env=ENV, cwd=WORK, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=10)
    except subprocess.TimeoutExpired:
        return "", "", "hangs"

    def hide(data):
        text = data.decode(errors="replace").replace(WORK, "<WORK>").replace(LAB, "<LAB>")
        return re.sub(rf"\b{re.escape(HOST)}\b", "<HOST>", text)

    return hide(done.stdout), hide(done.stderr), done.returncode


def wait(what, holds):
    for _ in range(200):
        if holds():
            return
        time.sleep(0.1)
    print(f"in vain: {what}", file=sys.stderr, flush=True)


def keys(value, path, found):
    if isinstance(value, dict):
        for name, inner in value.items():
            keys(inner, f"{path}.{name}" if path else name, found)
    elif isinstance(value, list):
        found.add(f"{path}[]")
        for inner in value:
            keys(inner, f"{path}[]", found)
    else:
        kind = {bool: "bool", int: "number", float: "number", str: "text", type(None): "null"}
        found.add(f"{path} {kind[type(value)]}")


def lines(mark, text):
    if not text:
        return
    whole = text.endswith("\n")
    rows = (text[:-1] if whole else text).split("\n")
    for index, row in enumerate(rows):
        print(f"{mark} {row}" + ("" if whole or index + 1 < len(rows) else "\\"))


def main():
    for line in open(os.path.join(HERE, *sys.argv[1:], "commands.txt")):
        line = line.rstrip("\n")
        print(f"$ {line}" if line[:1] not in "#@" or line.startswith("@keys") else line, flush=True)
        if line.startswith("# "):
            continue
        if line.startswith("@wait "):
            _, state, job = line.split()
            # A heterogeneous job has a row for each component.
            wait(line, lambda: set(run(f"squeue -h -t all -o %t -j {job}")[0].split()) == {state})
        elif line.startswith("@steps "):
            _, job, count = line.split()
            wait(line, lambda: run("squeue -h -s -o ' %i'")[0].count(f" {job}.") >= int(count))
        elif line == "@pause":
            time.sleep(4)
        elif line == "@restart":
            with open(f"{LAB}/run/pid/slurmctld.pid") as file:
                os.kill(int(file.read()), signal.SIGTERM)
            time.sleep(2)
            subprocess.run([os.path.join(HERE, "cluster.sh"), "up"], check=True, stdout=sys.stderr)
        elif line.startswith("@keys "):
            found = set()
            try:
                keys(json.loads(run(line[6:])[0]), "", found)
            except ValueError:
                print("! no JSON")
            lines(" ", "".join(f"{key}\n" for key in sorted(found)))
        else:
            out, err, code = run(line)
            lines(" ", out)
            lines("!", err)
            if code:
                print(f"= {code}")


main()
