#!/usr/bin/env python3
"""Records what `--json` of a real Slurm 22.05 says of eight kinds of jobs and of nodes, value by value.

As root, beside `../manage/cluster.sh`, which brings one up:
    LAB=/tmp/slurm-lab ../manage/cluster.sh up && LAB=/tmp/slurm-lab ./record.py > values-22.05.8.txt
A line is a command, a job's or node's name, the path of a value and the value as JSON. Left out are moments and
lengths of time, numbers that jobs and associations were given, and what is the recorded machine's own.
"""
import json, os, re, subprocess, time

ENV = {"PATH": os.environ["PATH"], "HOME": "/", "USER": "root", "SLURM_CONF": os.environ["LAB"] + "/etc/slurm.conf"}
JOBS = [
    ("run", "-N2 -n2 -t 5 --comment=hi", "sleep 600"),
    ("gres", "--gres=gpu:v100:2 -n1 -c2 --mem=500 -t 5", "srun sleep 600"),
    ("arr", "-a 1-6%2 -t 5", "sleep 600"),
    ("held", "-H -n3 --mem-per-cpu=200 -t 10", "sleep 600"),
    ("dep", "-d afterok:RUN -t 10", "sleep 600"),
    ("failed", "-t 5", "exit 3"),
    ("done", "-t 5", "srun true"),
    ("het", "-n1 -t 5 : -J het2 -n2 -t 5", "sleep 600"),
]
OWN = re.compile(
    r"time|start|\.end|submi|eligible|elapsed|_sched|reinstated|_id\b|_id_set|\.id$|pid|address|hostname|port|load"
    r"|free_mem|last_busy|priority|directory|cluster|sockets\.|system|user\.|total\.|version|nodes|name_?list|\.energy"
)


def slurm(line):
    return subprocess.run(line, shell=True, env=ENV, capture_output=True, text=True, check=True).stdout


def values(value, path):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from values(inner, f"{path}.{name}")
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for index, inner in enumerate(value):
            # Rows of one that has more of them stand at other places.
            kind, name = inner.get("type"), inner.get("name")
            row = index if not isinstance(kind, str) else f"{kind}/{name}" if name else kind
            yield from values(inner, f"{path}[{row}]")
    else:
        yield path, value


def name_of(entry, command):
    if command == "squeue":
        task = entry["array_task_id"] if entry["array_task_id"] is not None else entry["array_task_string"]
        return f"{entry['name']}_{task}" if task not in (None, "") else entry["name"]
    if command == "sacct":
        task = entry["array"]["task_id"]
        return f"{entry['name']}_{task}" if task is not None else entry["name"]
    return entry["name"]


ids = {}
for name, options, command in JOBS:
    options = options.replace("RUN", ids.get("run", ""))
    line = f"sbatch --parsable -J {name} -o /dev/null {options} --wrap '{command}'"
    ids[name] = slurm(line).strip()
    while name == "run" and "RUNNING" not in slurm(f"squeue -h -o %T -j {ids['run']}"):
        time.sleep(0.1)
while not all(word in slurm("squeue -h -t all -o '%j %T'") for word in ("failed FAILED", "done COMPLETED", "het2 RUNNING")):
    time.sleep(0.2)
time.sleep(6)  # accounting lags
first = min(int(number) for number in ids.values())
for command, entries in (("squeue", "jobs"), ("sacct", "jobs"), ("sinfo", "nodes")):
    for entry in json.loads(slurm(f"{command} --json"))[entries]:
        if entries == "jobs" and entry["job_id"] < first:
            continue
        name = name_of(entry, command)
        for path, value in values(entry, ""):
            if not OWN.search(path):
                print(command, name, path, json.dumps(value))
slurm("scancel " + " ".join(ids.values()))
