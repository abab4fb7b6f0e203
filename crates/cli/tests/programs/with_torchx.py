"""torchx starts the roles of an application together, as components of one job: as its documentation says."""

import glob
import os

from torchx.runner import get_runner
from torchx.specs import AppDef, Resource, Role


def role(name, script, replicas=1):
    return Role(
        name=name,
        image=os.getcwd(),
        entrypoint="/bin/sh",
        args=["-c", script],
        num_replicas=replicas,
        env={"WHO": name},
        resource=Resource(cpu=1, gpu=1, memMB=100),
    )


def written(job):
    lines = []
    for name in glob.glob(f"slurm-{job}-*.out"):
        lines += [line.strip() for line in open(name)]
    return sorted(lines)


settings = {"partition": "all", "time": "5"}
with get_runner() as runner:
    say = "echo $WHO $SLURM_PROCID of $SLURM_NTASKS, GPU $CUDA_VISIBLE_DEVICES"
    app = AppDef(name="both", roles=[role("trainer", say, 2), role("reader", say)])
    handle = runner.run(app, "slurm", settings)
    status = runner.wait(handle, 0.1)
    replicas = [(it.role, len(it.replicas)) for it in status.roles]
    print("torchx:", status.state.name, sorted(replicas))
    print("torchx:", written(handle.split("/")[-1]))
