"""Trains a small network to read handwritten digits, data-parallel over any number of ranks.

An ordinary JAX program. Every rank holds the whole model and sees its own part of each batch;
the gradients are averaged over all ranks in every step. Alone, without other ranks, it works too:

    python train.py --write-checkpoints-to /tmp/checkpoints
"""

import argparse
import hashlib
import os
import re
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.flatten_util import ravel_pytree
from jax.sharding import NamedSharding, PartitionSpec
from sklearn.datasets import load_digits
from tensorboardX import SummaryWriter

LAYERS = (64, 256, 128, 10)
# What jax.distributed.initialize() reads of a Slurm step.
SLURM_STEP = ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--read-checkpoints-from", type=Path, metavar="DIR", help="resume from the newest in here")
    parser.add_argument("--write-checkpoints-to", type=Path, metavar="DIR")
    parser.add_argument("--tensorboard-logging-dir", type=Path, metavar="DIR")
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--batch", type=int, default=128, help="samples of one step, over all ranks")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint-every", type=int, default=25, metavar="STEPS")
    parser.add_argument("--keep-checkpoints", type=int, default=3, metavar="N", help="older ones are removed")
    parser.add_argument("--print-every", type=int, default=50, metavar="STEPS")
    parser.add_argument("--min-step-time", type=float, default=0.0, metavar="SECONDS",
                        help="a step takes at least this long, as if the model were larger")
    return parser.parse_args()


# ---- data ------------------------------------------------------------------------------------

def digits():
    """Images as rows of 64 values from 0 to 1, and their digits; every fifth one is for the test."""
    data = load_digits()
    images, labels = (data.data / 16).astype(np.float32), data.target.astype(np.int32)
    test = np.arange(len(labels)) % 5 == 0
    return (images[~test], labels[~test]), (images[test], labels[test])


def batch_of(step, samples, batch, seed):
    """The samples of a step. They follow from the seed and the step alone, so a resumed run sees the same."""
    epoch, position = divmod(step, samples // batch)
    order = np.random.default_rng([seed, epoch]).permutation(samples)
    return order[position * batch:(position + 1) * batch]


# ---- model and optimizer ---------------------------------------------------------------------

def first_state(seed):
    """Parameters and Adam's two moments."""
    random = np.random.default_rng(seed)
    params = {}
    for i, (fan_in, fan_out) in enumerate(zip(LAYERS, LAYERS[1:])):
        params[f"weight{i}"] = random.normal(0, np.sqrt(2 / fan_in), (fan_in, fan_out)).astype(np.float32)
        params[f"bias{i}"] = np.zeros(fan_out, np.float32)
    zeros = {name: np.zeros_like(value) for name, value in params.items()}
    return {"params": params, "mean": zeros, "square": dict(zeros)}


def logits(params, images):
    for i in range(len(LAYERS) - 2):
        images = jax.nn.relu(images @ params[f"weight{i}"] + params[f"bias{i}"])
    last = len(LAYERS) - 2
    return images @ params[f"weight{last}"] + params[f"bias{last}"]


def loss_of(params, images, labels):
    chosen = jax.nn.log_softmax(logits(params, images))
    return -jnp.mean(jnp.take_along_axis(chosen, labels[:, None], axis=1))


def adam(state, gradients, step, rate):
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["mean"], gradients)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, state["square"], gradients)
    count = step + 1.0
    params = jax.tree.map(
        lambda p, m, s: p - rate * (m / (1 - 0.9**count)) / (jnp.sqrt(s / (1 - 0.999**count)) + 1e-8),
        state["params"], mean, square)
    return {"params": params, "mean": mean, "square": square}


def train_step_on(mesh, rate):
    """One step over the mesh: gradients of this rank's samples, averaged over the ranks, then Adam."""
    def train_step(state, step, images, labels):
        loss, gradients = jax.value_and_grad(loss_of)(state["params"], images, labels)
        # As one vector: a message for each array would cost more than what it carries.
        vector, unravel = ravel_pytree((loss, gradients))
        loss, gradients = unravel(jax.lax.pmean(vector, "ranks"))
        return adam(state, gradients, step, rate), loss

    whole, part = PartitionSpec(), PartitionSpec("ranks")
    # Unchecked, because the check would have grad average the gradients by itself, out of sight.
    return jax.jit(jax.shard_map(train_step, mesh=mesh, in_specs=(whole, whole, part, part),
                                 out_specs=whole, check_vma=False))


# ---- checkpoints -----------------------------------------------------------------------------

def checkpoints_in(folder):
    """Complete checkpoints as (step, path), oldest first."""
    found = []
    for path in folder.iterdir() if folder and folder.is_dir() else ():
        if match := re.fullmatch(r"step-(\d+)\.npz", path.name):
            found.append((int(match[1]), path))
    return sorted(found)


def save(folder, step, state, keep):
    """Written under another name and renamed, so that a file with the final name is always whole."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"step-{step:06d}.npz"
    partial = folder / f".{path.name}.partial"
    with open(partial, "wb") as file:
        np.savez(file, step=step, **{f"{part}/{name}": value for part, values in state.items()
                                     for name, value in values.items()})
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
    for _, old in checkpoints_in(folder)[:-keep]:
        old.unlink()


def load(path):
    with np.load(path) as file:
        state = first_state(0)
        return int(file["step"]), {part: {name: file[f"{part}/{name}"] for name in values}
                                   for part, values in state.items()}


# ---- training --------------------------------------------------------------------------------

def join_the_others():
    """Meets the other ranks of a Slurm step, when this process is a rank of one."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    # The service would catch SIGTERM, and a process that is told to end would stay.
    jax.config.update("jax_enable_preemption_service", False)
    if all(name in os.environ for name in SLURM_STEP):
        jax.distributed.initialize()


def main():
    args = arguments()
    join_the_others()
    rank, ranks = jax.process_index(), jax.process_count()
    chief = rank == 0

    mesh = jax.make_mesh((jax.device_count(),), ("ranks",))
    whole, part = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("ranks"))
    (images, labels), (test_images, test_labels) = digits()
    train_step = train_step_on(mesh, args.learning_rate)

    start, state = 0, first_state(args.seed)
    if saved := checkpoints_in(args.read_checkpoints_from):
        start, state = load(saved[-1][1])
    multihost_utils.assert_equal(start, "the ranks found different checkpoints")
    state = jax.tree.map(lambda value: jax.make_array_from_process_local_data(whole, value), state)
    if chief:
        print(f"{ranks} ranks, {args.batch // ranks} samples each a step; from step {start}", flush=True)

    writer = None
    if chief and args.tensorboard_logging_dir:
        writer = SummaryWriter(str(args.tensorboard_logging_dir), purge_step=start + 1)

    for step in range(start, args.steps):
        began = time.monotonic()
        chosen = batch_of(step, len(labels), args.batch, args.seed)
        mine = np.split(chosen, ranks)[rank]
        state, loss = train_step(
            state, np.float32(step),
            jax.make_array_from_process_local_data(part, images[mine]),
            jax.make_array_from_process_local_data(part, labels[mine]))
        loss = float(loss)
        time.sleep(max(0.0, args.min_step_time - (time.monotonic() - began)))

        done = step + 1
        if not chief:
            continue
        if writer:
            writer.add_scalar("train/loss", loss, done)
        if done % args.print_every == 0 or done == args.steps:
            print(f"step {done:4d}  loss {loss:.4f}", flush=True)
        if args.write_checkpoints_to and (done % args.checkpoint_every == 0 or done == args.steps):
            save(args.write_checkpoints_to, done, jax.tree.map(np.asarray, state), args.keep_checkpoints)

    if chief:
        params = jax.tree.map(np.asarray, state["params"])
        digest = hashlib.sha256(b"".join(params[name].tobytes() for name in sorted(params))).hexdigest()
        accuracy = float(np.mean(np.argmax(logits(params, test_images), axis=1) == test_labels))
        if writer:
            writer.add_scalar("test/accuracy", accuracy, args.steps)
            writer.close()
        print(f"parameters sha256 {digest}", flush=True)
        print(f"test accuracy {accuracy:.3f}", flush=True)


if __name__ == "__main__":
    main()
