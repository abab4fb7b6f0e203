"""Runs N times `bash -c true` on a HyperQueue of two cores; the last line is the seconds from submission to the last end."""

import sys
import tempfile
import time
from pathlib import Path

from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig

count = int(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    stamp = Path(folder) / "stamp"
    with LocalCluster(server_dir=folder, worker_config=WorkerConfig(cores=2)) as cluster:
        client = cluster.client()
        job = Job()
        tasks = [job.program(["bash", "-c", "true"], stdout=None, stderr=None) for _ in range(count)]
        # Its wait looks once a second. One task more, after all others, tells the moment.
        job.program(["bash", "-c", f"true >{stamp}"], stdout=None, stderr=None, deps=tasks)
        began = time.time()
        client.wait_for_jobs([client.submit(job)])
        print(stamp.stat().st_mtime - began)
