"""Stands in for torch.distributed.run: starts a node's ranks with the variables that torchrun sets."""

import argparse
import os
import subprocess
import sys

parser = argparse.ArgumentParser()
for name in ("nnodes", "nproc_per_node", "rdzv_backend", "rdzv_endpoint", "rdzv_id", "rdzv_conf", "max_restarts"):
    parser.add_argument(f"--{name}", required=True)
parser.add_argument("command", nargs=argparse.REMAINDER)
given = parser.parse_args()
assert given.rdzv_backend == "c10d", given
# The real agents agree on their order; here it is that of the nodes.
local, nodes, node = int(given.nproc_per_node), int(given.nnodes), int(os.environ["SLURM_NODEID"])
# They tell each other how many ranks they have; of two nodes with different numbers the second has the last.
size = int(os.environ["YARD_WORLD_SIZE"])
first = node * local if size == nodes * local or node == 0 else size - local
address, port = given.rdzv_endpoint.rsplit(":", 1)
ranks = [subprocess.Popen([sys.executable, *given.command], env={
    **os.environ, "RANK": str(first + rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size),
    "MASTER_ADDR": address, "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": given.rdzv_id,
}) for rank in range(local)]
sys.exit(max(rank.wait() for rank in ranks))
