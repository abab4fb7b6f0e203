"""ReFrame's tests, a pilot system's job service (radical.saga) and a sweep of HyperHerd: jobs, their ends, their nodes."""

import json
import os
import subprocess
import sys
import time

import radical.saga

BIN = os.path.dirname(sys.executable)

SETTINGS = """
site_configuration = {
    'systems': [{
        'name': 'ours', 'hostnames': ['.*'], 'modules_system': 'nomod',
        'partitions': [
            {'name': 'sacct', 'scheduler': 'slurm', 'launcher': 'srun', 'environs': ['builtin'],
             'access': ['-p all'], 'resources': [{'name': 'gpu', 'options': ['--gres=gpu:{n}']}]},
            {'name': 'squeue', 'scheduler': 'squeue', 'launcher': 'srun', 'environs': ['builtin'],
             'access': ['-p all'], 'resources': [{'name': 'gpu', 'options': ['--gres=gpu:{n}']}]}]}],
    'environments': [{'name': 'builtin'}],
    'general': [{'remote_detect': False}]}
"""

CHECKS = """
import reframe as rfm
import reframe.utility.sanity as sn


class Check(rfm.RunOnlyRegressionTest):
    valid_systems = ['*']
    valid_prog_environs = ['*']
    time_limit = '2m'


@rfm.simple_test
class Nodes(Check):
    executable = 'hostname'
    num_tasks = 4
    num_tasks_per_node = 2

    @sanity_function
    def four(self):
        return sn.assert_eq(sn.count(sn.findall('node', self.stdout)), 4)


@rfm.simple_test
class Gpus(Check):
    executable = 'printenv'
    executable_opts = ['CUDA_VISIBLE_DEVICES']
    extra_resources = {'gpu': {'n': 2}}
    exclusive_access = True

    @sanity_function
    def both(self):
        return sn.assert_found('0,1', self.stdout)


@rfm.simple_test
class Fails(Check):
    valid_systems = ['ours:sacct']
    executable = 'false'

    @sanity_function
    def fails(self):
        return sn.assert_eq(self.job.exitcode, 1)
"""

HERD = """
name: herd
grid: all
slurm: {partition: all, time: "5:00", mem: 100M, cpus_per_task: 1}
launcher: ./launch.sh
parameters:
  rate: {abbrev: r, type: discrete, values: [1, 2, 3]}
"""

LAUNCH = """#!/bin/sh
case "$*" in *rate=2*) exit 2;; esac
"""


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def program(name, *words):
    path = os.path.join(BIN, name)
    return subprocess.run([path, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


write("settings.py", SETTINGS)
write("checks.py", CHECKS)
for more in ([], ["--distribute=all", "-n", "Nodes", "--system=ours:sacct"]):
    printed = program("reframe", "--nocolor", "-C", "settings.py", "-c", "checks.py", "-r", *more)
    print("reframe:", [line.split("] ")[1] for line in printed.splitlines() if " Ran " in line])


def job(service, executable, **more):
    description = radical.saga.job.Description()
    description.executable = executable
    description.queue = "all"
    description.wall_time_limit = 5
    description.working_directory = os.getcwd()
    for name, value in more.items():
        setattr(description, name, value)
    made = service.create_job(description)
    made.run()
    return made


service = radical.saga.job.Service("slurm://localhost/")
ended = [job(service, "/bin/hostname", output="host", total_gpu_count=1), job(service, "/bin/false")]
for each in ended:
    each.wait(60)
print("saga:", [(each.state, each.exit_code) for each in ended], open("host").read().strip())
held = job(service, "/bin/sleep", arguments=["100"])


def reached(state):
    # A thread of the library's own writes down what it asked for a moment ago.
    while held.state != state:
        time.sleep(0.1)
    return state


states = [reached(radical.saga.job.RUNNING)]
for change, state in (
    (held.suspend, radical.saga.job.SUSPENDED),
    (held.resume, radical.saga.job.RUNNING),
    (held.cancel, radical.saga.job.CANCELED),
):
    change()
    states.append(reached(state))
print("saga:", states)

os.mkdir("herd")
write("herd/hyperherd.yaml", HERD)
write("herd/launch.sh", LAUNCH)
os.chmod("herd/launch.sh", 0o755)
program("herd", "run", "herd")
while program("squeue", "-h"):
    time.sleep(0.1)
trials = json.loads(program("herd", "snapshot", "herd"))["trials"]
print("hyperherd:", [trial["status"] for trial in trials])
