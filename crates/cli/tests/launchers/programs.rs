//! What the ranks run, by launcher: each adds the numbers of all ranks, counted from 1, and says its number on the
//! node and the sum in one write: ranks of one agent share a pipe, and print's words would mix.

pub const TORCH: &str = "\
import os, sys, torch, torch.distributed as dist
dist.init_process_group('gloo')
t = torch.ones(1) * (dist.get_rank() + 1)
dist.all_reduce(t)
sys.stdout.write(f'rank {dist.get_rank()} local {os.environ[\"LOCAL_RANK\"]} sum {int(t.item())}\\n')
dist.barrier()
";
/// Waits to be bound to one CPU: the ranks of an agent are once they are seen.
pub const BOUND: &str = "\
import os, sys, time
until = time.monotonic() + 60
while len(os.sched_getaffinity(0)) > 1 and time.monotonic() < until:
    time.sleep(0.05)
cpus = ','.join(map(str, sorted(os.sched_getaffinity(0))))
sys.stdout.write(f'rank {os.environ[\"RANK\"]} on CPU {cpus}\\n')
";
pub const JAX: &str = "\
import os, sys, jax, jax.numpy as jnp
jax.config.update('jax_cpu_collectives_implementation', 'gloo')
jax.distributed.initialize()
from jax.experimental.multihost_utils import process_allgather
t = process_allgather(jnp.ones(1) * (jax.process_index() + 1)).sum()
sys.stdout.write(f'rank {jax.process_index()} local {os.environ[\"SLURM_LOCALID\"]} sum {int(t)}\\n')
";
pub const ACCELERATE: &str = "\
import sys, accelerate, torch
a = accelerate.Accelerator()
t = a.reduce(torch.ones(1) * (a.process_index + 1))
sys.stdout.write(f'rank {a.process_index} local {a.local_process_index} sum {int(t.item())}\\n')
a.wait_for_everyone()
";
/// Python 3.11 refuses a default of torch 1.13's, which Lightning imports.
pub const LIGHTNING: &str = "\
import dataclasses, os, sys
get_field = dataclasses._get_field
def get_any_field(cls, name, *more):
    default = getattr(cls, name, None)
    kind = type(getattr(default, 'default', default))
    if kind.__hash__ is None and kind.__module__.startswith('torch.'):
        kind.__hash__ = object.__hash__
    return get_field(cls, name, *more)
dataclasses._get_field = get_any_field
import torch, pytorch_lightning as pl
from pytorch_lightning.plugins.environments import SLURMEnvironment
from torch.utils.data import DataLoader, TensorDataset
class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        return self.layer(batch[0]).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)
t = pl.Trainer(accelerator='cpu', devices=int(os.environ['SLURM_NTASKS_PER_NODE']), num_nodes=2, max_steps=3,
               strategy='ddp', logger=False, enable_checkpointing=False, enable_progress_bar=False)
t.fit(Model(), DataLoader(TensorDataset(torch.ones(8, 4)), batch_size=2))
assert isinstance(t.strategy.cluster_environment, SLURMEnvironment)
s = t.strategy.reduce(torch.ones(1) * (t.global_rank + 1), reduce_op='sum')
sys.stdout.write(f'rank {t.global_rank} local {t.local_rank} sum {int(s.item())}\\n')
";
pub const HOROVOD: &str = "\
import sys, torch, horovod.torch as hvd
hvd.init()
t = hvd.allreduce(torch.ones(1) * (hvd.rank() + 1), op=hvd.Sum)
sys.stdout.write(f'rank {hvd.rank()} local {hvd.local_rank()} sum {int(t.item())}\\n')
";
pub const DEEPSPEED: &str = "\
import argparse, sys, torch, torch.distributed as dist
import deepspeed
parser = argparse.ArgumentParser()
parser.add_argument('--local_rank', type=int, required=True)
parser.parse_args()
deepspeed.init_distributed(dist_backend='gloo')
t = torch.ones(1) * (dist.get_rank() + 1)
dist.all_reduce(t)
sys.stdout.write(f'rank {dist.get_rank()} local {os.environ[\"LOCAL_RANK\"]} sum {int(t.item())}\\n')
dist.barrier()
";
