"""Programs that hand work to a cluster and ask it for its groups and records, each as its documentation says."""

import logging
import os
import sqlite3
import subprocess
import sys
import time

import cluster_tools
import flow
import signac
import slurm2sql
from cluster_tools.schedulers import slurm
from dpdispatcher import Machine, Resources, Submission, Task

BIN = os.path.dirname(sys.executable)


def shell(line):
    return subprocess.run(line, shell=True, check=True, stdout=subprocess.PIPE, text=True).stdout


def square(number):
    return number * number


def stop(code):
    os._exit(code)


def by_cluster_tools():
    slurm.SLURM_QUEUE_CHECK_INTERVAL = 1
    asked = {"mem": "100M", "time": "5"}
    with cluster_tools.get_executor("slurm", job_resources=asked) as executor:
        print("cluster_tools:", list(executor.map(square, [1, 2, 3])))
        try:
            executor.submit(stop, 5).result()
        except Exception as error:
            print("cluster_tools:", type(error).__name__)


PROJECT = """from flow import FlowProject
class Squares(FlowProject):
    pass
@Squares.post.isfile("square")
@Squares.operation(directives={"walltime": 0.1})
def write(job):
    open(job.fn("square"), "w").write(str(job.sp.x ** 2))
Squares().main()
"""


def by_signac():
    with open("project.py", "w") as project:
        project.write(PROJECT)
    project = signac.init_project()
    for x in (2, 3):
        project.open_job({"x": x}).init()
    print("signac-flow:", flow.environment.get_environment().__name__)
    shell(f"{sys.executable} project.py submit")
    while not all(job.isfile("square") for job in project):
        time.sleep(0.1)
    print("signac-flow:", sorted(open(job.fn("square")).read() for job in project))


def by_dpdispatcher():
    for folder in ("in/a", "in/b", "remote"):
        os.makedirs(folder)
    machine = Machine.load_from_dict(
        dict(
            batch_type="Slurm",
            context_type="LocalContext",
            local_root="in",
            remote_root=os.path.abspath("remote"),
            remote_profile={},
        )
    )
    resources = Resources.load_from_dict(
        dict(number_node=1, cpu_per_node=1, gpu_per_node=1, queue_name="all", group_size=1)
    )
    command = "echo $SLURM_NTASKS $CUDA_VISIBLE_DEVICES > out"
    tasks = [Task(command=command, task_work_path=name, backward_files=["out"]) for name in "ab"]
    Submission("./", machine, resources, task_list=tasks).run_submission(check_interval=1)
    print("dpdispatcher:", [len(open(f"in/{name}/out").read().split()) for name in "ab"])


def by_clustershell():
    os.environ["CLUSTERSHELL_CFGDIR"] = os.path.abspath("groups")
    os.makedirs("groups/groups.conf.d")
    example = os.path.join(BIN, "../etc/clustershell/groups.conf.d/slurm.conf.example")
    with open("groups/groups.conf.d/slurm.conf", "w") as groups:
        groups.write(open(example).read())
    with open("groups/groups.conf", "w") as main:
        main.write(f"[Main]\ndefault: slurmpart\nconfdir: {os.path.abspath('groups/groups.conf.d')}\n")
    job = shell("sbatch --parsable -N2 -t 5 -o /dev/null --wrap 'sleep 100'").strip()
    while shell(f"squeue -h -j {job} -o %T").strip() != "RUNNING":
        time.sleep(0.1)
    print("clustershell:", shell(f"{BIN}/nodeset -s slurmpart -ll").strip())
    print("clustershell:", shell(f"{BIN}/nodeset -f @slurmjob:{job}").strip())
    print("clustershell:", shell(f"{BIN}/clush -R exec -b -w @sj:{job} echo ran").split()[-1])
    shell(f"scancel {job}")


def by_slurm2sql():
    job = shell("sbatch --parsable -W -n2 -t 5 --gres=gpu:1 -J kept -o /dev/null --wrap 'srun true'").strip()
    database = sqlite3.connect(":memory:")
    while not database.execute("select 1 from sqlite_master where name = 'slurm'").fetchall():
        slurm2sql.slurm2sql(database, ["-j", job])
    asked = "select JobName, State, ExitCode, NCPUS, NTasks, NGpus, Timelimit from slurm order by JobIDrawonly, JobStep"
    print("slurm2sql:", database.execute(asked).fetchall())


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    by_cluster_tools()
    by_signac()
    by_dpdispatcher()
    by_clustershell()
    by_slurm2sql()
