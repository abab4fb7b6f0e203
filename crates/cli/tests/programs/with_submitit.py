"""A function, an array of them, and one that is interrupted, saved and goes on."""

import os
import time

import submitit


def add(a, b):
    return a + b


class Count:
    """Counts to ten; submitit keeps how far it came when the job is signalled."""

    def __init__(self):
        self.at = 0

    def __call__(self, path):
        while self.at < 10:
            self.at += 1
            with open(path, "a") as file:
                file.write(f"{self.at} {os.environ.get('SLURM_RESTART_COUNT', '0')}\n")
            time.sleep(0.2)
        return self.at

    def checkpoint(self, path):
        return submitit.helpers.DelayedSubmission(self, path)


def lines(path):
    return open(path).readlines() if os.path.exists(path) else []


executor = submitit.AutoExecutor(folder="logs/%j", cluster="slurm")
executor.update_parameters(timeout_min=5, cpus_per_task=1)
print("function:", executor.submit(add, 2, 3).result())
print("array:", [job.result() for job in executor.map_array(add, [1, 2, 3], [10, 20, 30])])
path = os.path.abspath("count")
job = executor.submit(Count(), path)
while len(lines(path)) < 3:
    time.sleep(0.05)
# What its own tests do for a time limit: `scancel --signal`.
job._interrupt(timeout=True)
print("interrupted:", job.result())
print("restarts:", sorted({line.split()[1] for line in lines(path)}))
