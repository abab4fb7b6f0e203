"""Waldur's agent keeps accounts, users and limits in step with its own: as its documentation says."""

import os
import subprocess
import time

from waldur_site_agent_slurm.client import SlurmClient


def shell(line):
    return subprocess.run(line, shell=True, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


user = shell("id -un")
cluster = shell("sacctmgr -nP list cluster format=cluster")
components = {"cpu": {}, "mem": {}, "gres/gpu": {}}
client = SlurmClient(components, os.path.dirname(shell("command -v sacctmgr")), cluster)

client.create_resource("Lab", "some words", "lab")
client.create_resource("lab_a", "some words", "lab", "LAB")
account = client.get_resource("lab")
print("waldur:", account.name, account.description, client.get_account_parent("Lab_A"))
client.set_account_parent("lab_a", "root")
client.set_resource_limits("lab", {"cpu": 100, "gres/gpu": 5})
print("waldur:", client.get_account_parent("lab_a"), client.get_resource_limits("lab"))

client.create_association(user, "lab")
client.set_resource_user_limits("lab", user, {"cpu": 7})
print("waldur:", client.list_resource_users("lab") == [user], client.get_resource_user_limits("lab")[user])

client.create_qos("lab_qos", flags="DenyOnLimit,NoDecay", grp_tres="cpu=256", max_wall="1-00:00:00")
client.set_account_qos("lab", "normal,lab_qos")
print("waldur:", client.qos_exists("lab_qos"), client.qos_exists("none"), client.get_current_account_qos("lab"))

job = shell("sbatch --parsable -A lab -t 5 -o /dev/null --wrap 'sleep 100'")
while shell(f"squeue -h -j {job} -o %T") != "RUNNING":
    time.sleep(0.1)
print("waldur:", client.list_active_user_jobs("lab", user)[0] == job)
client.cancel_active_user_jobs("lab", user)
while shell("squeue -h"):
    time.sleep(0.1)
report = client.get_usage_report(["lab"])
print("waldur:", [line.account for line in report])

client.delete_association(user, "lab")
for name in ("lab", "lab_a"):
    client.delete_resource(name)
client.delete_qos("lab_qos")
print("waldur:", client.get_resource("lab"))
