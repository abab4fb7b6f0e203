"""Four workers, each a job of its own, share a computation."""

from dask_jobqueue import SLURMCluster
from distributed import Client

cluster = SLURMCluster(
    cores=1, processes=1, memory="200MB", walltime="00:05:00", interface="lo", local_directory="/tmp"
)
cluster.scale(jobs=4)
client = Client(cluster)
client.wait_for_workers(4, timeout=120)
print("workers:", len(client.scheduler_info(n_workers=-1)["workers"]))
print("sum:", sum(client.gather(client.map(lambda x: x * x, range(100)))))
client.close()
cluster.close()
