//! The batch scripts of plans.

use super::*;

#[test]
fn scripts() {
    let digits = planned(DIGITS, &[], &laptop(2, vec![])).unwrap();
    expect![[r##"
        #!/bin/bash
        #SBATCH --job-name=digits
        #SBATCH --nodes=1
        #SBATCH --ntasks-per-node=2
        #SBATCH --cpus-per-task=1
        #SBATCH --time=00:01:00
        #SBATCH --chdir="/scratch/my runs/digits-k3f9"
        #SBATCH --output="/scratch/my runs/digits-k3f9/logs/%j.conductor"
        #SBATCH --comment=digits-k3f9.1.7Q
        #SBATCH --open-mode=append
        #SBATCH --requeue

        exec /opt/yard job conductor '/scratch/my runs/digits-k3f9' "$@"
    "##]]
    .assert_eq(&digits.script(&place()));
    let resnet = planned(RESNET, &[], &wilson()).unwrap();
    expect![[r##"
        #!/bin/bash
        #SBATCH --job-name=resnet50
        #SBATCH --partition=gpu_gce
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        #SBATCH --cpus-per-task=32
        #SBATCH --gpus-per-node=v100:2
        #SBATCH --mem=192000M
        #SBATCH --time=01:00:00
        #SBATCH --chdir="/scratch/my runs/digits-k3f9"
        #SBATCH --output="/scratch/my runs/digits-k3f9/logs/%j.conductor"
        #SBATCH --comment=digits-k3f9.1.7Q
        #SBATCH --mail-user=me@example.org
        #SBATCH --mail-type=END,FAIL
        #SBATCH --open-mode=append
        #SBATCH --requeue
        #SBATCH --reservation=x

        exec /opt/yard job conductor '/scratch/my runs/digits-k3f9' "$@"
    "##]]
    .assert_eq(&resnet.script(&place()));
    let text = "launcher = \"torchrun\"\ncommand = [\"t.py\"]\n[resources]\ngpus = \"v100:3\"\nnodes = 2\n";
    let uneven = planned(text, &[], &wilson()).unwrap();
    expect![[r##"
        #!/bin/bash
        #SBATCH --job-name=digits
        #SBATCH --nodes=2
        #SBATCH --ntasks=3
        #SBATCH --cpus-per-task=16
        #SBATCH --gpus-per-task=v100:1
        #SBATCH --mem-per-cpu=6000M
        #SBATCH --time=01:00:00
        #SBATCH --chdir="/scratch/my runs/digits-k3f9"
        #SBATCH --output="/scratch/my runs/digits-k3f9/logs/%j.conductor"
        #SBATCH --comment=digits-k3f9.1.7Q
        #SBATCH --open-mode=append
        #SBATCH --requeue

        exec /opt/yard job conductor '/scratch/my runs/digits-k3f9' "$@"
    "##]]
    .assert_eq(&uneven.script(&place()));
}

/// That of the job which makes a run's environment: without GPUs, and no larger than the run.
#[test]
fn environment_jobs() {
    let resnet = planned(RESNET, &[], &wilson()).unwrap();
    expect![[r##"
        #!/bin/bash
        #SBATCH --job-name=resnet50-environment
        #SBATCH --partition=gpu_gce
        #SBATCH --nodes=1
        #SBATCH --ntasks=1
        #SBATCH --cpus-per-task=4
        #SBATCH --mem=10240M
        #SBATCH --time=01:00:00
        #SBATCH --chdir="/scratch/my runs/digits-k3f9"
        #SBATCH --output="/scratch/my runs/digits-k3f9/logs/%j.conductor"
        #SBATCH --comment=digits-k3f9.1.7Q
        #SBATCH --open-mode=append
        #SBATCH --requeue

        exec /opt/yard job environment '/scratch/my runs/digits-k3f9'
    "##]]
    .assert_eq(&resnet.environment_script(&place()));
    let digits = planned(DIGITS, &[], &laptop(2, vec![])).unwrap();
    expect![[r##"
        #!/bin/bash
        #SBATCH --job-name=digits-environment
        #SBATCH --nodes=1
        #SBATCH --ntasks=1
        #SBATCH --cpus-per-task=1
        #SBATCH --time=00:10:00
        #SBATCH --chdir="/scratch/my runs/digits-k3f9"
        #SBATCH --output="/scratch/my runs/digits-k3f9/logs/%j.conductor"
        #SBATCH --comment=digits-k3f9.1.7Q
        #SBATCH --open-mode=append
        #SBATCH --requeue

        exec /opt/yard job environment '/scratch/my runs/digits-k3f9'
    "##]]
    .assert_eq(&digits.environment_script(&place()));
}
