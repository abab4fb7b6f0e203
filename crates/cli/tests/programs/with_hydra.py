"""A sweep of Hydra through its launcher for submitit, as its documentation says."""

import os

import hydra


@hydra.main(version_base=None, config_path=None)
def sweep(config):
    with open(os.path.join(os.environ["RESULTS"], str(config.x)), "w") as result:
        result.write(os.environ["SLURM_ARRAY_TASK_ID"])


if __name__ == "__main__":
    sweep()
