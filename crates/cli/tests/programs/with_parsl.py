"""A block of two workers, started by srun in a job of its own, computes for the program."""

import os
import sys

import parsl
from parsl import Config, python_app
from parsl.executors import HighThroughputExecutor
from parsl.launchers import SrunLauncher
from parsl.providers import SlurmProvider

provider = SlurmProvider(
    nodes_per_block=1,
    cores_per_node=2,
    init_blocks=1,
    max_blocks=1,
    walltime="00:05:00",
    worker_init=f"PATH={os.path.dirname(sys.executable)}:$PATH",
    launcher=SrunLauncher(),
    exclusive=False,
)
executor = HighThroughputExecutor(address="127.0.0.1", max_workers_per_node=2, provider=provider)


@python_app
def square(number):
    import os

    return number * number, "SLURM_JOB_ID" in os.environ


with parsl.load(Config(executors=[executor])):
    print([square(number).result(timeout=120) for number in range(3)])
