"""Runs N times `bash -c true` on a HyperQueue of two cores; prints the seconds from submission to the last end."""

import sys
import tempfile
import time

from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig

count = int(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    with LocalCluster(server_dir=folder, worker_config=WorkerConfig(cores=2)) as cluster:
        client = cluster.client()
        job = Job()
        for _ in range(count):
            job.program(["bash", "-c", "true"], stdout=None, stderr=None)
        began = time.perf_counter()
        client.wait_for_jobs([client.submit(job)])
        print(time.perf_counter() - began)
