"""slmtop, slurm-wtf and sfollow look at a cluster and at a job: nodes, shares of accounts, output as it comes."""

import json
import os
import pwd
import subprocess
import sys
import time


def program(*words):
    path = os.path.join(os.path.dirname(sys.executable), words[0])
    done = subprocess.run([path, *words[1:]], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


user = pwd.getpwuid(os.getuid()).pw_name
program("sacctmgr", "-i", "add", "account", "lab")
program("sacctmgr", "-i", "add", "user", user, "account=lab")
script = "echo first; until [ -e end ]; do sleep 0.1; done; echo last"
words = ["-A", "lab", "-t", "5", "--gres=gpu:1", "-J", "looked-at", "-o", "output", "--wrap", script]
job = program("sbatch", "--parsable", *words).strip()
while program("squeue", "-h", "-j", job, "-o", "%T").strip() != "RUNNING":
    time.sleep(0.1)

rows = [line.split() for line in program("slmtop").splitlines()]
print("slmtop:", [row[3] for row in rows if row and row[0].startswith("node")])
print("slmtop:", [row[-1] for row in rows if row and row[0] == job])

seen = json.loads(program("wtf", "--json", "--no-update-check", "-u", user))
accounts = [(row["account"], row["my_running"], row["partition_free"]) for row in seen["accounts"]]
print("slurm-wtf:", accounts)

open("end", "w").close()
print("sfollow:", program("sfollow", job).split())
