"""simple_slurm, slurmpy and psij submit, reportseff and slurm_gpustat look: each as its documentation says."""

import datetime
import os
import subprocess
import sys
import time

from psij import Job, JobAttributes, JobExecutor, JobSpec, ResourceSpecV1
from simple_slurm import Slurm
from slurmpy import Slurm as Slurmpy


def program(*words):
    path = os.path.join(os.path.dirname(sys.executable), words[0])
    done = subprocess.run([path, *words[1:]], check=True, capture_output=True, text=True)
    return done.stdout


def quietly(work):
    """What these print of their submissions is not compared."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        return work()
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)


def wait():
    while program("squeue", "-h").strip():
        time.sleep(0.1)


array = Slurm(
    array=range(1, 4),
    cpus_per_task=1,
    job_name="array",
    output=f"{Slurm.JOB_ARRAY_MASTER_ID}_{Slurm.JOB_ARRAY_ID}.out",
    time=datetime.timedelta(minutes=5),
)
first = quietly(lambda: array.sbatch("echo element " + Slurm.SLURM_ARRAY_TASK_ID))
wait()
print("simple_slurm:", [open(f"{first}_{task}.out").read().strip() for task in (1, 2, 3)])

before = quietly(lambda: Slurmpy("before", {"time": "5"}).run("echo one > order"))
after = quietly(lambda: Slurmpy("after", {"time": "5"}).run("echo two >> order", depends_on=[before]))
wait()
print("slurmpy:", open("order").read().split())

jobs = []
for code in (0, 3):
    spec = JobSpec(executable="/bin/sh", arguments=["-c", f"exit {code}"])
    spec.resources = ResourceSpecV1(node_count=1, processes_per_node=1)
    spec.attributes = JobAttributes(duration=datetime.timedelta(minutes=5))
    job = Job(spec)
    JobExecutor.get_instance("slurm").submit(job)
    jobs.append(job)
ends = [job.wait(timeout=datetime.timedelta(seconds=120)) for job in jobs]
print("psij:", [(end.state.name, end.exit_code) for end in ends])

rows = program("reportseff", str(first)).splitlines()[1:]
print("reportseff:", [row.split()[1] for row in rows])

lines = program("slurm_gpustat").splitlines()
print("slurm_gpustat:", [line.split() for line in lines if line.startswith("total ")][0])
