"""Stands in for wandb agent, which takes one trial of a sweep and runs its program."""

import os
import sys

assert sys.argv[1:4] == ["agent", "--count", "1"], sys.argv
assert os.environ["WANDB_API_KEY"] == "not-a-key"
print(f"sweep {sys.argv[4]} trial {os.environ['SLURM_ARRAY_TASK_ID']}", flush=True)
os.execvp(sys.executable, [sys.executable, "train.py", "--learning_rate=0.4"])
