"""toil runs a workflow of three jobs on Slurm."""

from toil.common import Toil
from toil.job import Job


def square(job, number):
    return number * number


def top(job):
    return [job.addChildJobFn(square, number, memory="200M", cores=1, disk="10M").rv() for number in (2, 3)]


if __name__ == "__main__":
    options = Job.Runner.getDefaultArgumentParser().parse_args()
    with Toil(options) as toil:
        print("toil:", toil.start(Job.wrapJobFn(top, memory="200M", cores=1, disk="10M")))
