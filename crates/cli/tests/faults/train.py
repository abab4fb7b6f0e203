"""A training whose parameters depend on every step, and which writes down all that it does.

train.py WORK STEPS HOLD PACE_MS CHECKPOINTS RESUME: one rank.
"""
import fcntl
import os
import sys
import time

work, checkpoints, resume = sys.argv[1], sys.argv[5], sys.argv[6]
steps, hold, pace = (int(text) for text in sys.argv[2:5])
rank = int(os.environ["SLURM_PROCID"])
attempt = os.environ["SLURM_JOB_ID"] + "." + os.environ.get("SLURM_RESTART_COUNT", "0")
journal = os.open(f"{work}/journal.{rank}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def note(*words):
    os.write(journal, (" ".join(str(word) for word in words) + "\n").encode())


def only_one():
    """One process at a time computes a rank: what was ended is gone before it runs again."""
    lock = os.open(f"{work}/lock.{rank}", os.O_RDWR | os.O_CREAT, 0o600)
    for _ in range(40):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            time.sleep(0.05)
    note("twice", attempt)


def newest():
    best = (0, 1)
    for name in os.listdir(resume):
        with open(f"{resume}/{name}") as file:
            step, parameters = file.read().split()
        best = max(best, (int(step), int(parameters)))
    return best


def save():
    text = f"{step} {parameters}\n"
    part = f"{checkpoints}/.part-{step}"
    try:
        with open(part, "w") as file:
            file.write(text)
        os.rename(part, f"{checkpoints}/step-{step}")
    except OSError:
        return False
    note("saved", step)
    return True


def is_held():
    """Up to the first time limit, and in the start to which it came, no step goes further: that every
    run comes back does not depend on speed."""
    try:
        with open(f"{work}/limit-came") as file:
            return file.read() in ("", attempt)
    except FileNotFoundError:
        return True


only_one()
step, parameters = newest()
note("start", attempt, step)
while step < steps:
    if step >= hold and is_held():
        time.sleep(0.05)
        continue
    step += 1
    parameters = (parameters * 6364136223846793005 + step) % 2**64
    note("step", step)
    if rank == 0 and step % 5 == 0 and step < steps:
        save()
    time.sleep(pace / 1000)
while rank == 0 and not save():
    time.sleep(0.05)
note("done", attempt, parameters)
