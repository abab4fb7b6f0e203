"""Adapters through which other programs reach a queue: each as its documentation says, with one short job."""

import os
import subprocess
import time

import cfut
from executorlib import SlurmJobExecutor
from fireworks.user_objects.queue_adapters.common_adapter import CommonAdapter
from pysqa import QueueAdapter
from qtoolkit.core.data_objects import QResources, QState
from qtoolkit.io.slurm import SlurmIO


def shell(line):
    done = subprocess.run(line, shell=True, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def wait():
    while shell("squeue -h")[1].strip():
        time.sleep(0.1)


def square(number):
    return number * number


def main():
    with SlurmJobExecutor(max_workers=2) as executor:
        futures = [executor.submit(square, number, resource_dict={"cores": 1}) for number in (1, 2, 3)]
        print("executorlib:", [future.result() for future in futures])

    with cfut.SlurmExecutor(keep_logs=False) as executor:
        print("clusterfutures:", list(executor.map(square, [4, 5])))

    slurm = SlurmIO()
    resources = QResources(nodes=1, processes_per_node=1, job_name="qtoolkit", time_limit=300)
    with open("qtoolkit.sh", "w") as script:
        script.write(slurm.get_submission_script("sleep 60", resources))
    submitted = slurm.parse_submit_output(*shell(slurm.get_submit_cmd("qtoolkit.sh")))
    while True:
        job = slurm.parse_job_output(*shell(slurm.get_job_cmd(submitted.job_id)))
        if job.state == QState.RUNNING:
            break
        time.sleep(0.1)
    listed = slurm.parse_jobs_list_output(*shell(slurm.get_jobs_list_cmd(jobs=[submitted.job_id], user=None)))
    cancelled = slurm.parse_cancel_output(*shell(slurm.get_cancel_cmd(submitted.job_id)))
    print("qtoolkit:", job.name, [(one.name, one.state.value) for one in listed], cancelled.status.value)

    works = CommonAdapter("SLURM", "fireworks", rocket_launch="echo launched > rocket", nodes=1, ntasks=1, walltime="00:05:00")
    with open("fireworks.sh", "w") as script:
        script.write(works.get_script_str(os.getcwd()))
    number = works.submit_to_queue("fireworks.sh")
    wait()
    print("fireworks:", number.isdigit(), open("rocket").read().strip())

    folder = os.path.abspath("pysqa")
    os.makedirs(folder)
    queue = QueueAdapter(queue_type="SLURM")
    number = queue.submit_job(
        job_name="pysqa", working_directory=folder, cores=1, partition="all", command="sleep 60"
    )
    while queue.get_status_of_job(number) != "running":
        time.sleep(0.1)
    queue.delete_job(number)
    wait()
    print("pysqa:", queue.get_status_of_jobs([number]))


if __name__ == "__main__":
    main()
