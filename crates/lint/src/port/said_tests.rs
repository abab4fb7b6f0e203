//! What is changed, and what is asked instead of guessed.

use super::tests::{cluster, ported};
use super::*;
use expect_test::{Expect, expect};

/// What is said of a script: `!` why it was refused, changes, `?` questions; not the text.
#[track_caller]
fn check_said(from: &str, to: &str, body: &str, want: Expect) {
    let (from, to) = (cluster(from), cluster(to));
    let text = format!("#!/bin/bash\n{body}");
    let ported = ported(&from, &to, &text);
    let mut said: Vec<String> = Vec::new();
    said.extend(ported.refused.iter().map(|one| format!("! {}", one.words)));
    let changes = ported.changes.iter();
    said.extend(changes.map(|one| format!("{:?} -> {:?}: {}", one.from, one.to, one.why)));
    let questions = ported.questions.iter();
    said.extend(questions.map(|one| format!("? {}; {}", one.about, one.ask)));
    want.assert_eq(&said.join("\n"));
}

#[test]
fn a_script_without_gpus_goes_to_nodes_without_gpus() {
    check_said(
        "satori",
        "wilson",
        "#SBATCH -n 4 -t 2:00:00\nsrun ./a\n",
        expect![[r#"
            ? cpu_gce, cpu_gce_test of wilson have nodes for jobs without GPUs, and the time; which of them?
            ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER
            ? satori is ppc64le, wilson is x86_64; are programs, environments and images there for x86_64? those for ppc64le don't run"#]],
    );
    check_said(
        "wilson",
        "cedar",
        "#SBATCH -p cpu_gce -N 2 -t 2:00:00\nsrun ./a\n",
        expect![[
            r#"" -p cpu_gce" -> "": cedar's file knows no partition of that name; its default has nodes for jobs without GPUs, and the time, which is assumed"#
        ]],
    );
    check_said(
        "satori",
        "wilson",
        "#SBATCH --gres=gpu:0 -n 4\nsrun ./a\n",
        expect![[r#"
            ? cpu_gce, cpu_gce_test of wilson have nodes for jobs without GPUs; which of them?
            ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER
            ? satori is ppc64le, wilson is x86_64; are programs, environments and images there for x86_64? those for ppc64le don't run"#]],
    );
}

#[test]
fn memory_that_does_not_fit_or_is_not_wanted_is_asked_about() {
    check_said(
        "satori",
        "wilson",
        "#SBATCH --gres=gpu:1 --mem=600G -t 1:00:00\n",
        expect![[r##"
            "gpu:1" -> "gpu:v100nvlinkppc64:1": it runs on v100 now; wilson has other GPUs too, and calls these v100nvlinkppc64 where nodes are ppc64le, as satori's
            "" -> "#SBATCH --partition=gpu_gce_ppc": wilson has no default that serves; gpu_gce_ppc has v100, and the time
            ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER"##]],
    );
    check_said(
        "wilson",
        "ibex",
        "#SBATCH -p gpu_gce --gres=gpu:v100:2 --mem=40G -c 2\n",
        expect![[r##"
            " -p gpu_gce" -> "": ibex's file knows no partition of that name; its default has v100
            "gpu:v100:2" -> "gpu:2": GPUs of ibex have no type: --constraint=v100
            "" -> "#SBATCH --constraint=v100": by this feature ibex gives v100
            ? --mem=40G is 20G for each of 2 GPUs; ibex wants 64G-90G for each v100; --mem-per-gpu=64G?
            ? -c 2 is 1 CPU for each of 2 GPUs; ibex wants 5-6 for each v100; more or fewer CPUs of a task?"##]],
    );
    check_said(
        "cedar",
        "wilson",
        "#SBATCH -n 8 --mem-per-cpu=16G -t 1:00:00\n",
        expect![[r#"
            ? --mem-per-cpu=16G for 8 CPUs is 128G of a node; wilson has 62G; does it run with less, or on more nodes?
            ? cpu_gce, cpu_gce_test of wilson have nodes for jobs without GPUs, and the time; which of them?
            ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER"#]],
    );
}

#[test]
fn other_machines_and_other_persons_folders_stay() {
    check_said(
        "satori",
        "wilson",
        "#SBATCH -n 1 -t 1:00:00\ncp /home/$USER/a .\nscp login:/nobackup/users/$USER/a .\nls /home/otheruser/data /nobackup/users/eve\nssh service0001 \"ls /nobackup/users/$USER\"\n",
        expect![[r#"
            ? /home/$USER is the home folder of satori; wilson's is /nashome; which folder in it is yours?
            ? /nobackup/users/$USER behind a colon is on another machine, so it stays; can jobs of wilson reach it?
            ? /nobackup/users/eve is scratch of eve on satori; whose is it, and where are those files on wilson? yours are in /wclustre/$USER
            ? /home/otheruser is the home folder of otheruser on satori; whose is it, and where are those files on wilson? yours are in /nashome
            ? ssh service0001: a host of satori; jobs of wilson can call sbatch themselves: is ssh needed?
            ? cpu_gce, cpu_gce_test of wilson have nodes for jobs without GPUs, and the time; which of them?
            ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER
            ? satori is ppc64le, wilson is x86_64; are programs, environments and images there for x86_64? those for ppc64le don't run"#]],
    );
    check_said(
        "cedar",
        "wilson",
        "#SBATCH -n 1 -t 1:00:00\ntar xf a.tar -C $SLURM_TMPDIR\nls ${SLURM_TMPDIR}/a $SLURM_TMPDIR\n",
        expect![[r#"
            ? $SLURM_TMPDIR in lines 3 and 4: cedar sets it, and wilson isn't known to; what is it there? wilson has /tmp on its nodes; the script must make a folder of its own in it, and remove that at its end
            ? cpu_gce, cpu_gce_test of wilson have nodes for jobs without GPUs, and the time; which of them?
            ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER"#]],
    );
    check_said(
        "wilson",
        "cedar",
        "#SBATCH -p cpu_gce -n 1\nexport PATH=$PATH:/wclustre/$USER/bin:/tmp/bin\napptainer exec -B /tmp:/tmp a.sif b\npython -c 'open(\"/tmp/x\")'\n",
        expect![[r#"
            " -p cpu_gce" -> "": cedar's file knows no partition of that name; its default has nodes for jobs without GPUs
            "" -> "module load singularity": cedar brings its containers by this module, which is assumed
            "/wclustre/$USER" -> "/scratch/$USER": scratch: cedar has /scratch/$USER, which is assumed
            "/tmp" -> "$SLURM_TMPDIR": the node's disk: cedar has $SLURM_TMPDIR
            "apptainer" -> "singularity": cedar runs containers with singularity
            "/tmp" -> "$SLURM_TMPDIR": the node's disk: cedar has $SLURM_TMPDIR
            ? /tmp stands where $SLURM_TMPDIR may not be expanded; which folder there?"#]],
    );
}

#[test]
fn accounts_and_addresses_are_asked_about() {
    check_said(
        "satori",
        "ibex",
        "#SBATCH --mail-user=ann@mit.edu --mail-type=END -n 1\n",
        expect![[r#"
            ? mail goes to ann@mit.edu, an address of satori; does ibex send mail there, and is it still yours?
            ? satori is ppc64le, ibex is x86_64; are programs, environments and images there for x86_64? those for ppc64le don't run"#]],
    );
    check_said(
        "wilson",
        "cedar",
        "#SBATCH -A wc_test -p cpu_gce -n 1\n",
        expect![[r#"
            " -p cpu_gce" -> "": cedar's file knows no partition of that name; its default has nodes for jobs without GPUs
            ? account wc_test: cedar's file knows only some accounts: def-fwood, rrg-kevinlb; which is yours there?"#]],
    );
    let text = "#!/bin/bash\n#SBATCH -A old\n";
    let own = "[account.physics]\n[user.\"*\"]\naccounts = [\"physics\"]\ndefault_account = \"physics\"\n";
    let own = ClusterFile::parse("own", own).unwrap();
    let ported = ported(&cluster("satori"), &own, text);
    assert_eq!(ported.text, "#!/bin/bash\n#SBATCH -A physics\n");
}

#[test]
fn a_feature_can_name_a_gpu() {
    check_said(
        "ibex",
        "wilson",
        "#SBATCH --gres=gpu:4 -C a100 -t 1:00:00\n",
        expect![[r##"
            "gpu:4" -> "gpu:a100:4": it runs on a100 now, and wilson has other GPUs too
            " -C a100" -> "": on wilson the GPU's type says a100
            "" -> "#SBATCH --partition=gpu_gce": wilson has no default that serves; gpu_gce has a100, and the time
            ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER"##]],
    );
    check_said(
        "ibex",
        "wilson",
        "#SBATCH --gres=gpu:2 -C v100 -t 1:00:00\n",
        expect![[r##"
            "gpu:2" -> "gpu:v100:2": it runs on v100 now, and wilson has other GPUs too where nodes are x86_64, as ibex's
            " -C v100" -> "": on wilson the GPU's type says v100
            "" -> "#SBATCH --partition=gpu_gce": wilson has no default that serves; gpu_gce has v100, and the time
            ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER"##]],
    );
    check_said(
        "ibex",
        "wilson",
        "#SBATCH --gres=gpu:2 -C rtx2080ti -t 1:00:00\n",
        expect![[r##"
            "" -> "#SBATCH --partition=gpu_gce": wilson has no default that serves; gpu_gce has GPUs, and the time
            ? rtx2080ti may name GPUs of ibex, and its file doesn't know it; wilson has a100, v100, p100; which of them? without a type it takes any
            ? feature rtx2080ti: wilson's file doesn't know it, so it stays; what is it called there? without any, take it out
            ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER"##]],
    );
    check_said(
        "ibex",
        "technion",
        "#SBATCH --gres=gpu:a100:2 -t 1:00:00\n",
        expect![[""]],
    );
}

#[test]
fn what_sbatch_refuses_anyway_is_said() {
    check_said(
        "satori",
        "wilson",
        "#SBATCH --nodez=2 -n 1 -t 1:00:00\n",
        expect![[r#"
            ! unrecognized option '--nodez=2'
            ? cpu_gce, cpu_gce_test of wilson have nodes for jobs without GPUs, and the time; which of them?
            ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER
            ? satori is ppc64le, wilson is x86_64; are programs, environments and images there for x86_64? those for ppc64le don't run"#]],
    );
    check_said(
        "satori",
        "wilson",
        "#SBATCH -n 1 -t 1:00:00\r\nsrun ./a\r\n",
        expect![[r#"
            ! Batch script contains DOS line breaks (\r\n) instead of expected UNIX line breaks (\n).
            ? cpu_gce, cpu_gce_test of wilson have nodes for jobs without GPUs, and the time; which of them?
            ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER
            ? satori is ppc64le, wilson is x86_64; are programs, environments and images there for x86_64? those for ppc64le don't run"#]],
    );
}

#[test]
fn gpus_of_the_job_are_not_those_of_a_node() {
    check_said(
        "ibex",
        "cedar",
        "#SBATCH --gpus=8 -C v100\n",
        expect![[r#"
        "8" -> "v100l:8": it runs on v100 now; cedar has other GPUs too, and calls these v100l
        " -C v100" -> "": on cedar the GPU's type says v100"#]],
    );
    check_said(
        "ibex",
        "cedar",
        "#SBATCH --gpus=8 -N 1 -C v100\n",
        expect![[r#"
            "8" -> "v100l:8": it runs on v100 now; cedar has other GPUs too, and calls these v100l
            " -C v100" -> "": on cedar the GPU's type says v100
            ? --gpus=8 asks 8 GPUs for the job, on 1 node; nodes of cedar with v100 have 4; spread over nodes? --nodes=2 --ntasks-per-node=4 has the same 8 in all"#]],
    );
    check_said(
        "ibex",
        "cedar",
        "#SBATCH --gpus-per-node=8 -N 2 -C v100\n",
        expect![[r#"
            "8" -> "v100l:8": it runs on v100 now; cedar has other GPUs too, and calls these v100l
            " -C v100" -> "": on cedar the GPU's type says v100
            ? --gpus-per-node=8 asks 8 GPUs of each node; nodes of cedar with v100 have 4; spread over nodes? --nodes=4 --gpus-per-node=v100l:4 --ntasks-per-node=4 has the same 16 in all"#]],
    );
}

#[test]
fn a_variable_that_is_not_set_there_is_asked_about() {
    check_said(
        "cedar",
        "ibex",
        "cleanup() {\n  rm -rf /$SLURM_TMPDIR\n}\ntrap 'rm -r ${SCRATCH}/x' TERM\ncp -r \"$SCRATCH/a\" b\n\
         X=${WORK:-/tmp}\nPROJECT=$X/p\nls $PROJECT\n[ -z \"$TMPDIR\" ] && exit\n",
        expect![[r#"
            ? $SLURM_TMPDIR in line 3: cedar sets it, and ibex isn't known to; where it is empty, `rm -rf /$SLURM_TMPDIR` in line 3 is `rm -rf /`; what is it there? ibex has /tmp on its nodes; the script must make a folder of its own in it, and remove that at its end
            ? $SCRATCH in lines 5 and 6: the script doesn't set it, and ibex isn't known to; where it is empty, `rm -r ${SCRATCH}/x` in line 5 is `rm -r /x`; what is it there? perhaps /ibex/scratch/$USER"#]],
    );
    check_said(
        "wilson",
        "cedar",
        "ls /$SLURM_TMPDIR ${SLURM_TMPDIR}/a\n",
        expect![[""]],
    );
}

#[test]
fn folders_that_no_file_knows_are_asked_about() {
    check_said(
        "ibex",
        "cedar",
        "source /ibex/ai/home/xum/env\npython /data/a/x.py --out /data/a/y /usr/bin/z /scratch/me\n\
         singularity exec -B $X:/work,/tmp:/in i.sif python /work/t.py\necho /var/x /q/r; sed -e '/s/d' f # /r\n",
        expect![[r#"
            "" -> "module load singularity": cedar brings its containers by this module, which is assumed
            "/tmp" -> "$SLURM_TMPDIR": the node's disk: cedar has $SLURM_TMPDIR
            ? /ibex/ai/home/xum/env in line 2: neither ibex's file nor cedar's says what it is, so it stays; where is that on cedar?
            ? /data/a in line 3: neither ibex's file nor cedar's says what it is, so it stays; where is that on cedar?"#]],
    );
}

#[test]
fn type_partition_and_time_agree() {
    check_said(
        "satori",
        "wilson",
        "#SBATCH -p sched_system_all -N 4 --gres=gpu:4 -t 10:00:00\n",
        expect![[r#"
            "sched_system_all" -> "gpu_gce": wilson's partition gpu_gce has v100, and the time
            "gpu:4" -> "gpu:v100:4": it runs on v100 now, and wilson has other GPUs too
            ? --gres=gpu:4 asks 4 GPUs of each node; nodes of wilson with v100 have 2; fewer? all its nodes of that kind have 8
            ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER
            ? satori is ppc64le, wilson is x86_64; are programs, environments and images there for x86_64? those for ppc64le don't run
            ? there the job would wait for ever (QOSMaxWallDurationPerJobLimit); asked --time=10:00:00 (its file isn't sure); QOS opp allows 08:00:00 (qos.opp.max_wall); --time=08:00:00, or --qos=regular"#]],
    );
    check_said(
        "ibex",
        "satori",
        "#SBATCH -p batch --gpus=8 -C v100 -t 24:00:00\n",
        expect![[r#"
            "batch" -> "normal": satori's partition normal has v100
            " -C v100" -> "": all GPUs of satori are v100
            "24:00:00" -> "12:00:00": satori allows 12:00:00 (partition.normal.max_time): the rest needs another job, from a checkpoint
            ? ibex is x86_64, satori is ppc64le; are programs, environments and images there for ppc64le? those for x86_64 don't run"#]],
    );
    check_said(
        "cedar",
        "wilson",
        "#SBATCH --gres=gpu:p100:4 -t 1:00:00\n",
        expect![[r##"
            "" -> "#SBATCH --partition=gpu_gce": wilson has no default that serves; gpu_gce has p100, and the time
            ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER"##]],
    );
    check_said(
        "cedar",
        "plai",
        "#SBATCH --gres=gpu:v100l:2\n",
        expect![[r#"
            "gpu:v100l:2" -> "gpu:2": GPUs of plai have no type
            ? the script runs on v100, and plai's file doesn't say what its GPUs are; which instead? it has GPUs (11G)"#]],
    );
}

#[test]
fn what_only_a_person_knows_is_asked() {
    check_said(
        "ibex",
        "cedar",
        "#SBATCH --cpus-per-task=40\n",
        expect![
            "? --cpus-per-task=40, with 1 task on a node: a node of cedar has 32 CPUs; does it run with fewer CPUs, or on more nodes?"
        ],
    );
    check_said(
        "cedar",
        "wilson",
        "#SBATCH -n 1\nnvidia-smi -L\n",
        expect![[r#"
            ? the script asks for no GPU, and has nvidia-smi in line 3; wilson has the partitions cpu_gce, cpu_gce_test, gpu_gce, gpu_gce_ppc; does it need GPUs there? then ask for them, and name the partition
            ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER"#]],
    );
    check_said(
        "wilson",
        "cedar",
        "#SBATCH -p gpu_gce --gres=gpu:a100:1\n#SBATCH hetjob\n#SBATCH -p cpu_gce\nsrun x\n",
        expect![[r##"
            " -p gpu_gce" -> "": cedar's file knows no partition of that name; its default has GPUs
            "#SBATCH -p cpu_gce" -> "": cedar's file knows no partition of that name; its default has nodes for jobs without GPUs
            ? the script runs on a100, and cedar has none; which instead? it has p100 (12G), p100 (16G), v100 (32G)"##]],
    );
    check_said(
        "technion",
        "cedar",
        "module purge\nsrun --container-image=\"${IMAGE}\" --container-mounts=\"${mounts}\" python t.py\n",
        expect![[r#"
            "" -> "module load singularity": cedar brings its containers by this module, which is assumed
            " --container-image=\"${IMAGE}\"" -> "": an option of Pyxis, which cedar doesn't have
            " --container-mounts=\"${mounts}\"" -> "": an option of Pyxis, which cedar doesn't have
            "" -> "singularity exec --nv --bind \"${mounts}\" \"${IMAGE}\" ": cedar runs containers with singularity
            ? ${IMAGE} is an image as Pyxis takes it: of a registry, or a file of Enroot's; what is in it? singularity takes IMAGE.sif or docker://…"#]],
    );
}

#[test]
fn folders_inside_of_a_container_are_not_those_of_the_cluster() {
    check_said(
        "wilson",
        "ibex",
        "singularity exec --pwd /code -B /stuff img.sif python /opt/x/t.py --data /stuff/a\n\
         srun -n 2 apptainer run img.sif /opt/y /elsewhere/z\n\
         srun --container-image=a/b --container-workdir=/work python /opt/z\n\
         python /mine/t.py\n",
        expect![[r#"
            ? singularity runs a container; ibex's file doesn't say what does there; Singularity, Apptainer, Pyxis, or none?
            ? /stuff in line 2: neither wilson's file nor ibex's says what it is, so it stays; where is that on ibex?
            ? /mine/t.py in line 5: neither wilson's file nor ibex's says what it is, so it stays; where is that on ibex?"#]],
    );
}

#[test]
fn each_component_is_rewritten() {
    check_said(
        "wilson",
        "cedar",
        "#SBATCH -p cpu_gce -t 1:00:00 -A def-fwood\n#SBATCH hetjob\n\
         #SBATCH -p gpu_gce --gres=gpu:v100:2 --mem=16G\n\
         #SBATCH hetjob\n#SBATCH -p gpu_gce --gres=gpu:a100:1 -w wcgpu01\nsrun x\n",
        expect![[r#"
            " -p cpu_gce" -> "": cedar's file knows no partition of that name; its default has nodes for jobs without GPUs, and the time, which is assumed
            " -p gpu_gce" -> "": cedar's file knows no partition of that name; its default has v100, and the time, which is assumed
            "gpu:v100:2" -> "gpu:v100l:2": cedar calls v100 v100l
            " -p gpu_gce" -> "": cedar's file knows no partition of that name; its default has GPUs, and the time, which is assumed
            ? component 2: the script runs on a100, and cedar has none; which instead? it has p100 (12G), p100 (16G), v100 (32G)
            ? component 2: -w wcgpu01 names nodes of wilson; what is it on cedar?"#]],
    );
}

#[test]
fn the_only_account_of_a_cluster_is_taken() {
    let (from, mut to) = (cluster("cedar"), cluster("plai"));
    let script = "#!/bin/bash\n#SBATCH --account=def-fwood --gres=gpu:1\n";
    let input = |to: &ClusterFile| {
        let ported = ported(&from, to, script);
        ported.text.lines().nth(1).map(str::to_owned)
    };
    assert!(
        input(&to).unwrap().contains("--account=def-fwood"),
        "nothing is known of accounts"
    );
    let own = "[account.physics]\n[user.\"*\"]\naccounts = [\"physics\"]\n";
    let file = ClusterFile::parse("own", own).unwrap();
    to.accounts = file.accounts;
    to.users = file.users;
    assert!(
        input(&to).unwrap().contains("--account=def-fwood"),
        "there may be others"
    );
    to.lists = file.lists;
    assert!(input(&to).unwrap().contains("--account=physics"));
}

#[test]
fn gpus_are_of_a_kind_that_enough_nodes_have() {
    check_said(
        "satori",
        "wilson",
        "#SBATCH -N 2 --gres=gpu:2 -t 1:00:00\nsrun x\n",
        expect![[r##"
            "gpu:2" -> "gpu:v100:2": it runs on v100 now, and wilson has other GPUs too
            "" -> "#SBATCH --partition=gpu_gce": wilson has no default that serves; gpu_gce has v100, and the time
            ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER
            ? satori is ppc64le, wilson is x86_64; are programs, environments and images there for x86_64? those for ppc64le don't run"##]],
    );
    check_said(
        "satori",
        "wilson",
        "#SBATCH -N 64 -t 1:00:00\nsrun x\n",
        expect![[r#"
            ? none of wilson's cpu_gce, cpu_gce_test, gpu_gce, gpu_gce_ppc is known to serve 64 nodes; which one?
            ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER"#]],
    );
}

#[test]
fn an_image_is_asked_about_once() {
    check_said(
        "cedar",
        "technion",
        "apptainer exec a.sif x\napptainer exec a.sif y\nsrun apptainer exec a.sif z\n",
        expect![[r#"
            "apptainer exec a.sif " -> "srun --container-image=a.sif --no-container-entrypoint ": technion runs containers with Pyxis, by options of srun
            "apptainer exec a.sif " -> "srun --container-image=a.sif --no-container-entrypoint ": technion runs containers with Pyxis, by options of srun
            "apptainer exec a.sif " -> "--container-image=a.sif --no-container-entrypoint ": technion runs containers with Pyxis, by options of srun
            ? a.sif is an image of Singularity, which Enroot can't read; make a .sqsh of what it was built from: enroot import docker://…"#]],
    );
    check_said(
        "technion",
        "cedar",
        "srun --container-image=/a/b.sqsh x\nsrun -n 1 --container-image=/a/b.sqsh y\n",
        expect![[r#"
            "" -> "module load singularity": cedar brings its containers by this module, which is assumed
            " --container-image=/a/b.sqsh" -> "": an option of Pyxis, which cedar doesn't have
            "" -> "singularity exec --nv /a/b.sqsh ": cedar runs containers with singularity
            " --container-image=/a/b.sqsh" -> "": an option of Pyxis, which cedar doesn't have
            "" -> "singularity exec --nv /a/b.sqsh ": cedar runs containers with singularity
            ? /a/b.sqsh is an image of Enroot, which singularity can't read; build one of what it was made of: singularity build IMAGE.sif docker://…"#]],
    );
}

#[test]
fn unknown_modules_are_asked_about_together() {
    check_said(
        "wilson",
        "cedar",
        "module load gcc/9 alpha\nmodule load beta/1.2\nmodule load gcc/9 cuda/9.2\n",
        expect![[r#"
            ? modules gcc/9, alpha, beta/1.2 in lines 2 and 3: cedar's file doesn't name them; what are they called there? module avail gcc …
            ? module cuda/9.2: cedar has cuda/11.4, another version; does the program run with it?"#]],
    );
}

#[test]
fn one_folder_is_asked_about_once() {
    check_said(
        "wilson",
        "technion",
        "singularity exec /group/a.sif x\npython /group2/a/'b'/c\"$Y\"/d.py\n\
         singularity run -B $TMPDIR:/tmp a.img y\n",
        expect![[r#"
            "singularity exec /group/a.sif " -> "srun --container-image=/group/a.sif --no-container-entrypoint ": technion runs containers with Pyxis, by options of srun
            "singularity run -B $TMPDIR:/tmp a.img " -> "srun --container-image=a.img --container-mounts=$TMPDIR:/tmp ": technion runs containers with Pyxis, by options of srun
            ? /group/a.sif is an image of Singularity, which Enroot can't read; make a .sqsh of what it was built from: enroot import docker://…
            ? /group2/a in line 3: neither wilson's file nor technion's says what it is, so it stays; where is that on technion?
            ? $TMPDIR in line 4: the script doesn't set it, and technion isn't known to; what is it there? technion has /tmp on its nodes; the script must make a folder of its own in it, and remove that at its end"#]],
    );
}

#[test]
fn cpus_of_a_task_are_asked_about_once() {
    check_said(
        "satori",
        "ibex",
        "#SBATCH -n 1 --gres=gpu:4 --cpus-per-task=56\n",
        expect![[r##"
            "" -> "#SBATCH --constraint=v100": by this feature ibex gives v100
            ? --cpus-per-task=56, with 1 task on a node: a node of ibex has 48 CPUs; it is 14 CPUs for each of 4 GPUs; ibex wants 5-6 for each v100; does it run with fewer CPUs, or on more nodes?
            ? satori is ppc64le, ibex is x86_64; are programs, environments and images there for x86_64? those for ppc64le don't run"##]],
    );
}

#[test]
fn more_memory_than_a_node_has_is_not_all_of_it() {
    check_said(
        "cedar",
        "wilson",
        "#SBATCH --gres=gpu:v100l:1 --mem=9T\npip install --no-index torch\n",
        expect![[r##"
            "gpu:v100l:1" -> "gpu:v100:1": v100 is the type on wilson where nodes are x86_64, as cedar's
            "" -> "#SBATCH --partition=gpu_gce": wilson has no default that serves; gpu_gce has v100
            ? --mem=9T: a node of wilson has 188G; does it run with less, or on more nodes?
            ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER"##]],
    );
}

#[test]
fn a_container_that_is_written_into_stays_one() {
    check_said(
        "cedar",
        "technion",
        "singularity exec -w box make\n",
        expect![[
            r#""singularity exec -w box " -> "srun --container-image=box --container-writable --no-container-entrypoint ": technion runs containers with Pyxis, by options of srun"#
        ]],
    );
}

#[test]
fn a_command_with_a_placeholder_is_asked_about_and_left() {
    let command = "srun --container-image=<path to TensorFlow container image> \\\n\
         \x20    --container-mounts=<path to Horovod GitHub folder>:/code \\\n\
         \x20    --no-container-entrypoint \\\n\
         \x20    /bin/bash -c \\\n\
         \x20    \"python -u /code/examples/tensorflow/tensorflow_synthetic_benchmark.py\"\n";
    check_said(
        "technion",
        "wilson",
        command,
        expect![[r#"
        ? <path to TensorFlow container image> is a placeholder; this command was not ported; fill it in, and port the script again
        ? cpu_gce, cpu_gce_test of wilson have nodes for jobs without GPUs; which of them?
        ? jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER"#]],
    );
    let text = format!("#!/bin/bash\n{command}");
    let ported = ported(&cluster("technion"), &cluster("wilson"), &text);
    assert!(ported.text.ends_with(command), "{}", ported.text);
    // Redirections are none.
    check_said(
        "technion",
        "plai",
        "srun --container-image=a/b sort <in.txt >out.txt\n",
        expect![[r#"
            " --container-image=a/b" -> "": an option of Pyxis, which plai doesn't have
            "" -> "singularity exec --nv docker://a/b ": plai runs containers with singularity"#]],
    );
}
