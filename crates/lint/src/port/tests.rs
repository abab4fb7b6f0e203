//! Ports between the clusters that come with the program.

use super::*;
use cluster_file::{find, shipped};
use expect_test::{Expect, expect};
use proptest::prelude::*;

pub(super) fn cluster(name: &str) -> ClusterFile {
    find(name).unwrap().unwrap()
}

/// A script for another cluster.
pub(super) fn ported(from: &ClusterFile, to: &ClusterFile, text: &str) -> Ported {
    let name = "job.sh";
    port(&PortInput {
        name,
        text,
        from,
        to,
        user: None,
    })
}

/// The lines that differ, the reasons, the questions.
#[track_caller]
fn check(from: &str, to: &str, text: &str, want: Expect) {
    let (from, to) = (cluster(from), cluster(to));
    let ported = ported(&from, &to, text);
    let mut lines: Vec<String> = ported
        .text
        .lines()
        .map(|line| format!("  {line}").trim_end().to_owned())
        .collect();
    lines.extend(ported.refused.iter().map(|mistake| {
        let line = mistake.line.map_or("-".to_owned(), |line| line.to_string());
        format!("! {line}: {}", mistake.words)
    }));
    lines.extend(ported.changes.iter().map(|change| {
        format!(
            "{}: {:?} -> {:?}: {}",
            change.line, change.from, change.to, change.why
        )
    }));
    lines.extend(ported.questions.iter().map(|question| {
        let line = question
            .line
            .map_or("-".to_owned(), |line| line.to_string());
        format!("? {line}: {}; {}", question.about, question.ask)
    }));
    want.assert_eq(&lines.join("\n"));
}

const SATORI: &str = "#!/bin/bash\n#SBATCH -J my4\n#SBATCH --mail-user=ann@mit.edu\n#SBATCH --gres=gpu:4\n\
#SBATCH --gpus-per-node=4\n#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=4\n#SBATCH --mem=1T\n#SBATCH --time=12:00:00\n\
#SBATCH --exclusive\n\nHOME2=/nobackup/users/$(whoami)\nsource ${HOME2}/anaconda3/etc/profile.d/conda.sh\n# see /nobackup/users/ann\n\
ssh service0001 \"sbatch next.sh\"\nsrun python train.py\n";

#[test]
fn satori_to_wilson() {
    check(
        "satori",
        "wilson",
        SATORI,
        expect![[r##"
              #!/bin/bash
              #SBATCH -J my4
              #SBATCH --mail-user=ann@mit.edu
              #SBATCH --gres=gpu:v100nvlinkppc64:4
              #SBATCH --gpus-per-node=v100nvlinkppc64:4
              #SBATCH --nodes=1
              #SBATCH --ntasks-per-node=4
              #SBATCH --mem=0
              #SBATCH --time=12:00:00
              #SBATCH --exclusive
              #SBATCH --partition=gpu_gce_ppc

              HOME2=/wclustre/$(whoami)
              source ${HOME2}/anaconda3/etc/profile.d/conda.sh
              # see /nobackup/users/ann
              ssh service0001 "sbatch next.sh"
              srun python train.py
            4: "gpu:4" -> "gpu:v100nvlinkppc64:4": it runs on v100 now; wilson has other GPUs too, and calls these v100nvlinkppc64 where nodes are ppc64le, as satori's
            5: "4" -> "v100nvlinkppc64:4": it runs on v100 now; wilson has other GPUs too, and calls these v100nvlinkppc64 where nodes are ppc64le, as satori's
            8: "1T" -> "0": 1T is all of a node on satori; 0 is all of a node on wilson, 1000G
            11: "" -> "#SBATCH --partition=gpu_gce_ppc": wilson has no default that serves; gpu_gce_ppc has v100, and the time
            12: "/nobackup/users/$(whoami)" -> "/wclustre/$(whoami)": scratch: wilson has /wclustre/$USER
            ? 3: mail goes to ann@mit.edu, an address of satori; does wilson send mail there, and is it still yours?
            ? 15: ssh service0001: a host of satori; jobs of wilson can call sbatch themselves: is ssh needed?
            ? -: jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER
            ? -: there the job would wait for ever (QOSMaxWallDurationPerJobLimit); asked --time=12:00:00 (its file isn't sure); QOS opp allows 08:00:00 (qos.opp.max_wall); --time=08:00:00, or --qos=regular"##]],
    );
}

#[test]
fn satori_to_cedar() {
    check(
        "satori",
        "cedar",
        SATORI,
        expect![[r#"
              #!/bin/bash
              #SBATCH -J my4
              #SBATCH --mail-user=ann@mit.edu
              #SBATCH --gres=gpu:v100l:4
              #SBATCH --gpus-per-node=v100l:4
              #SBATCH --nodes=1
              #SBATCH --ntasks-per-node=4
              #SBATCH --mem=0
              #SBATCH --time=12:00:00
              #SBATCH --exclusive

              HOME2=/scratch/$(whoami)
              source ${HOME2}/anaconda3/etc/profile.d/conda.sh
              # see /nobackup/users/ann
              ssh service0001 "sbatch next.sh"
              srun python train.py
            4: "gpu:4" -> "gpu:v100l:4": it runs on v100 now; cedar has other GPUs too, and calls these v100l
            5: "4" -> "v100l:4": it runs on v100 now; cedar has other GPUs too, and calls these v100l
            8: "1T" -> "0": 1T is all of a node on satori; 0 is all of a node on cedar, 187G
            12: "/nobackup/users/$(whoami)" -> "/scratch/$(whoami)": scratch: cedar has /scratch/$USER, which is assumed
            ? 3: mail goes to ann@mit.edu, an address of satori; does cedar send mail there, and is it still yours?
            ? 15: ssh service0001: a host of satori; jobs of cedar can call sbatch themselves: is ssh needed?
            ? -: satori is ppc64le, cedar is x86_64; are programs, environments and images there for x86_64? those for ppc64le don't run"#]],
    );
}

const IBEX: &str = "#!/bin/bash --login\n#SBATCH --time=24:00:00\n#SBATCH --gpus=8\n#SBATCH --gpus-per-task=1\n#SBATCH --tasks-per-node=8\n\
#SBATCH --cpus-per-gpu=6\n#SBATCH --mem-per-gpu=90G\n#SBATCH --constraint=v100&cpu_intel_platinum_8260\n#SBATCH --partition=batch\n\
#SBATCH --output=../results/%x/slurm-%j.out\nmodule purge\nmodule load cuda/10.1.243\nLOCAL=/tmp/$SLURM_JOB_NAME/$SLURM_JOB_ID/logs\n\
DATA=/local/reference/CV\nhorovodrun -np $SLURM_NTASKS python train.py\n";

#[test]
fn ibex_to_cedar() {
    check(
        "ibex",
        "cedar",
        IBEX,
        expect![[r##"
              #!/bin/bash --login
              #SBATCH --time=24:00:00
              #SBATCH --gpus=v100l:8
              #SBATCH --gpus-per-task=v100l:1
              #SBATCH --tasks-per-node=8
              #SBATCH --cpus-per-gpu=6
              #SBATCH --mem-per-gpu=90G
              #SBATCH --constraint=cpu_intel_platinum_8260
              #SBATCH --output=../results/%x/slurm-%j.out
              module purge
              module load cuda/10.1.243
              LOCAL=$SLURM_TMPDIR/$SLURM_JOB_NAME/$SLURM_JOB_ID/logs
              DATA=/local/reference/CV
              horovodrun -np $SLURM_NTASKS python train.py
            3: "8" -> "v100l:8": it runs on v100 now; cedar has other GPUs too, and calls these v100l
            4: "1" -> "v100l:1": it runs on v100 now; cedar has other GPUs too, and calls these v100l
            8: "v100&cpu_intel_platinum_8260" -> "cpu_intel_platinum_8260": on cedar the GPU's type says v100
            9: "#SBATCH --partition=batch" -> "": cedar's file knows no partition of that name; its default has v100, and the time, which is assumed
            13: "/tmp" -> "$SLURM_TMPDIR": the node's disk: cedar has $SLURM_TMPDIR
            ? 3: --gpus=8 asks 8 GPUs for the job, with 8 tasks on a node; nodes of cedar with v100 have 4; spread over nodes? --nodes=2 --ntasks-per-node=4 has the same 8 in all
            ? 7: --mem-per-gpu=90G: cedar wants 1G-46G for each v100, which is assumed; --mem-per-gpu=46G?
            ? 8: feature cpu_intel_platinum_8260: cedar's file doesn't know it, so it stays; what is it called there? without any, take it out
            ? 12: module cuda/10.1.243: cedar has cuda/11.4, another version; does the program run with it?
            ? 14: /local/reference is the site's data of ibex; where is it on cedar? its file doesn't say"##]],
    );
}

/// One `--constraint` replaces the other unseen, and with the last taken out the first
/// would count again.
#[test]
fn a_constraint_that_another_replaces_is_asked_about() {
    let both = "--constraint=v100&cpu_intel_platinum_8260";
    let two = "--constraint=v100\n#SBATCH --constraint=cpu_intel_platinum_8260";
    let text = IBEX.replace(both, two);
    let ported = ported(&cluster("ibex"), &cluster("wilson"), &text);
    let says = |line: usize, part: &str| {
        let mut questions = ported.questions.iter();
        questions.any(|one| one.line == Some(line) && one.about.contains(part))
    };
    assert!(says(8, "line 9 replaces it"), "{:#?}", ported.questions);
    assert!(
        says(3, "line 8 says v100, but line 9 replaces it"),
        "{:#?}",
        ported.questions
    );
}

/// GPUs of a node there, not as many as the script has tasks; CPUs and memory of one kind of nodes;
/// and of GPUs that are not chosen yet nothing is cut.
#[test]
fn shares_of_a_gpu_are_those_of_one_node() {
    let text = IBEX.replace("#SBATCH --constraint=v100&cpu_intel_platinum_8260\n", "");
    let ported = ported(&cluster("ibex"), &cluster("cedar"), &text);
    assert!(ported.text.contains("--cpus-per-gpu=6"), "{}", ported.text);
    assert!(ported.text.contains("--mem-per-gpu=90G"), "{}", ported.text);
    let of = |option: &str| {
        let mut questions = ported.questions.iter();
        questions.find(|one| one.about.starts_with(option))
    };
    assert_eq!(of("--cpus-per-gpu"), None);
    let memory = of("--mem-per-gpu").unwrap();
    assert!(memory.about.contains("for 4 GPUs"), "{memory:?}");
}

/// What a cluster file assumes of a policy changes no script.
#[test]
fn an_assumed_policy_is_asked_about() {
    let text = "#!/bin/sh\n#SBATCH --gpus 2 --constraint=v100\n#SBATCH --mem-per-gpu=16G\ntrue\n";
    let ported = ported(&cluster("ibex"), &cluster("satori"), text);
    assert!(ported.text.contains("--mem-per-gpu=16G"), "{}", ported.text);
    let mut questions = ported.questions.iter();
    let asked = questions.find(|one| one.about.starts_with("--mem-per-gpu=16G"));
    assert_eq!(asked.unwrap().ask, "--mem-per-gpu=128G?");
}

#[test]
fn ibex_to_technion() {
    check(
        "ibex",
        "technion",
        IBEX,
        expect![[r##"
              #!/bin/bash --login
              #SBATCH --time=24:00:00
              #SBATCH --gpus=8
              #SBATCH --gpus-per-task=1
              #SBATCH --tasks-per-node=8
              #SBATCH --cpus-per-gpu=6
              #SBATCH --mem-per-gpu=90G
              #SBATCH --constraint=v100&cpu_intel_platinum_8260
              #SBATCH --output=../results/%x/slurm-%j.out
              module purge
              module load cuda/10.1.243
              LOCAL=/tmp/$SLURM_JOB_NAME/$SLURM_JOB_ID/logs
              DATA=/local/reference/CV
              horovodrun -np $SLURM_NTASKS python train.py
            9: "#SBATCH --partition=batch" -> "": technion's file knows no partition of that name; its default has GPUs, and the time, which is assumed
            ? 3: the script runs on v100, and technion has none; which instead? it has a100 (40G)
            ? 8: feature cpu_intel_platinum_8260: technion's file doesn't know it, so it stays; what is it called there? without any, take it out
            ? 8: feature v100: technion has no GPU of that name; which GPUs there, and how are they asked for?
            ? 12: module cuda/10.1.243: technion's file doesn't name it; what is it called there? module avail cuda
            ? 14: /local/reference is the site's data of ibex; where is it on technion? its file doesn't say"##]],
    );
}

#[test]
fn wilson_to_ibex() {
    check(
        "wilson",
        "ibex",
        "#!/bin/bash\n#SBATCH --partition=gpu_gce --account=wc_test --qos=regular\n#SBATCH --gres=gpu:v100:2\n#SBATCH -c 4\n\
         #SBATCH -t 8:00:00\nmodule load apptainer\nexport APPTAINER_CACHEDIR=/wclustre/simone/cache\n\
         apptainer exec --nv --home=/work1/simone a.sif python t.py\n",
        expect![[r##"
              #!/bin/bash
              #SBATCH --account=wc_test --qos=regular
              #SBATCH --gres=gpu:2
              #SBATCH -c 4
              #SBATCH -t 8:00:00
              #SBATCH --constraint=v100
              module load apptainer
              export APPTAINER_CACHEDIR=/wclustre/simone/cache
              apptainer exec --nv --home=/work1/simone a.sif python t.py
            2: " --partition=gpu_gce" -> "": ibex's file knows no partition of that name; its default has v100, and the time, which is assumed
            3: "gpu:v100:2" -> "gpu:2": GPUs of ibex have no type: --constraint=v100
            6: "" -> "#SBATCH --constraint=v100": by this feature ibex gives v100
            ? 2: account wc_test: ibex's file knows no accounts, so it stays; which account there? without any, take the line out
            ? 2: QOS regular: ibex's file knows no QOS, so it stays; which QOS there? without any, take the line out
            ? 4: -c 4 is 2 CPUs for each of 2 GPUs; ibex wants 5-6 for each v100; more or fewer CPUs of a task?
            ? 6: module apptainer: ibex's file doesn't name it; what is it called there? module avail apptainer
            ? 7: /wclustre/simone is scratch of simone on wilson; whose is it, and where are those files on ibex? yours are in /ibex/scratch/$USER
            ? 8: apptainer runs a container; ibex's file doesn't say what does there; Singularity, Apptainer, Pyxis, or none?
            ? 8: /work1/simone is the project's folder of wilson; where is it on ibex? its file doesn't say"##]],
    );
}

#[test]
fn containers() {
    check(
        "technion",
        "wilson",
        "#!/bin/bash\n#SBATCH --ntasks=2\n#SBATCH --gpus=a100:2\nsrun --container-image=nvcr.io#nvidia/pytorch:23.02-py3 \\\n     --container-mounts=/home/me/code:/code \\\n     --no-container-entrypoint \\\n     /bin/bash -c \\\n     \"python -u /code/t.py\"\n",
        expect![[r##"
              #!/bin/bash
              #SBATCH --ntasks=2
              #SBATCH --gpus=a100:2
              #SBATCH --partition=gpu_gce
              srun \
                   apptainer exec --nv --bind /home/me/code:/code docker://nvcr.io/nvidia/pytorch:23.02-py3 /bin/bash -c \
                   "python -u /code/t.py"
            4: "" -> "#SBATCH --partition=gpu_gce": wilson has no default that serves; gpu_gce has a100
            4: " --container-image=nvcr.io#nvidia/pytorch:23.02-py3" -> "": an option of Pyxis, which wilson doesn't have
            4: " \\\n     --container-mounts=/home/me/code:/code" -> "": an option of Pyxis, which wilson doesn't have
            5: " \\\n     --no-container-entrypoint" -> "": an option of Pyxis, which wilson doesn't have
            7: "" -> "apptainer exec --nv --bind /home/me/code:/code docker://nvcr.io/nvidia/pytorch:23.02-py3 ": wilson runs containers with apptainer
            ? 5: /home/me/code in line 5: neither technion's file nor wilson's says what it is, so it stays; where is that on wilson?
            ? -: jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER"##]],
    );
    check(
        "cedar",
        "technion",
        "#!/bin/bash\n#SBATCH --account=def-fwood --gres=gpu:v100l:4\nmodule load singularity\nsrun -n 4 singularity exec --nv -B $SLURM_TMPDIR/data:/data -B /project --cleanenv img.sif python t.py --data /data\n",
        expect![[r#"
              #!/bin/bash
              #SBATCH --account=def-fwood --gres=gpu:v100l:4
              module load singularity
              srun -n 4 --container-image=img.sif --container-mounts=$SLURM_TMPDIR/data:/data,/project:/project --no-container-entrypoint python t.py --data /data
            4: "singularity exec --nv -B $SLURM_TMPDIR/data:/data -B /project --cleanenv img.sif " -> "--container-image=img.sif --container-mounts=$SLURM_TMPDIR/data:/data,/project:/project --no-container-entrypoint ": technion runs containers with Pyxis, by options of srun, which need no --nv for GPUs
            ? 2: the script runs on v100, and technion has none; which instead? it has a100 (40G)
            ? 2: account def-fwood: technion's file knows no accounts, so it stays; which account there? without any, take the line out
            ? 3: module singularity: technion runs containers with pyxis, and names no module for it; is a module needed there?
            ? 4: img.sif is an image of Singularity, which Enroot can't read; make a .sqsh of what it was built from: enroot import docker://…
            ? 4: no option of Pyxis stands for --cleanenv: taken out; is it needed?
            ? 4: /project in line 4: neither cedar's file nor technion's says what it is, so it stays; where is that on technion?
            ? 4: $SLURM_TMPDIR in line 4: cedar sets it, and technion isn't known to; what is it there? technion has /tmp on its nodes; the script must make a folder of its own in it, and remove that at its end"#]],
    );
    check(
        "plai",
        "wilson",
        "#!/bin/bash\n#SBATCH --partition=plai --gres=gpu:1\nexport SINGULARITY_CACHEDIR=/scratch-ssd/$USER/c\nsingularity run --nv i.sif\n",
        expect![[r#"
              #!/bin/bash
              #SBATCH --partition=gpu_gce --gres=gpu:1
              module load apptainer
              export APPTAINER_CACHEDIR=/scratch-ssd/$USER/c
              apptainer run --nv i.sif
            2: "plai" -> "gpu_gce": wilson's partition gpu_gce has GPUs
            3: "" -> "module load apptainer": wilson brings its containers by this module
            3: "SINGULARITY" -> "APPTAINER": wilson runs containers with apptainer
            4: "singularity" -> "apptainer": wilson runs containers with apptainer
            ? 2: on plai the script takes any GPU, and its file knows only some: GPUs of unknown model; wilson has a100, v100, p100; which of them? without a type it takes any
            ? 3: /scratch-ssd/$USER is a folder of yours; wilson has /tmp for all; which folder in it? the script must make it
            ? -: jobs of wilson can't run in /nashome; submit it from /wclustre/$USER or /work1/$USER"#]],
    );
}

#[test]
fn which_cluster_a_script_is_for() {
    let all: Vec<ClusterFile> = shipped().iter().map(|(name, _)| cluster(name)).collect();
    let best = |text: &str| {
        let fits = fits("job.sh", text, &all);
        let names: Vec<&str> = fits
            .iter()
            .map(|(cluster, _)| cluster.name.as_str())
            .collect();
        names.join(" ")
    };
    assert_eq!(best(IBEX), "ibex");
    assert_eq!(best(SATORI), "satori");
    assert_eq!(
        best("#!/bin/sh\n#SBATCH -p gpu_gce --gres=gpu:p100:1\n"),
        "wilson"
    );
    // A constraint that no cluster has hides no partition.
    assert_eq!(
        best("#!/bin/sh\n#SBATCH -p gpu_gce --gres=gpu:v100:1 --constraint=cput_intel\n"),
        "wilson"
    );
    assert_eq!(best("#!/bin/sh\ntrue\n"), "");
}

fn script() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "#SBATCH --(gres=gpu:|gpus=|gpus-per-node=)(v100:|a100:|v100l:|)[0-9]",
        "#SBATCH -(p|A|q|C|t|c) ?(batch|gpu_gce|opp|def-fwood|v100|1-0|4|'x y'|a&b|\\[a\\|b\\])",
        "#SBATCH --(mem|mem-per-gpu|cpus-per-gpu|mail-user|nodelist)=(1T|90G|6|me@mit.edu|n1)",
        "(module load cuda/10 apptainer|cd /tmp/a|X=/nobackup/users/\\$USER|singularity exec --nv a.sif b|srun --container-image=a#b -n 2 c|sbatch d)",
        "\\PC{0,20}",
    ];
    prop::collection::vec(line, 0..10)
        .prop_map(|lines| format!("#!/bin/bash\n{}\n", lines.join("\n")))
}

proptest! {
    #[test]
    fn a_port_to_the_same_changes_nothing(text in script(), which in 0..6_usize) {
        let one = cluster(shipped()[which].0);
        let other = ClusterFile { name: "other".to_owned(), ..one.clone() };
        let ported = ported(&one, &other, &text);
        prop_assert_eq!(&ported.text, &text);
        prop_assert!(ported.changes.is_empty() && ported.questions.is_empty());
    }

    #[test]
    fn what_is_ported_reads_as_well_as_before(text in script(), from in 0..6_usize, to in 0..6_usize) {
        let (from, to) = (cluster(shipped()[from].0), cluster(shipped()[to].0));
        let ported = ported(&from, &to, &text);
        let errors = |text: &str| {
            let script = read("j", text, &to);
            script.diagnostics.iter().filter(|d| d.severity == model::Severity::Error).count()
        };
        // GPUs that are asked for in two ways may differ in their types alone, which go.
        let twice = text.matches("gpu").count() > 1;
        prop_assert!(twice || errors(&ported.text) <= errors(&text), "{}\nbecame\n{}", text, ported.text);
        // Lines that no change names are the same, byte for byte.
        let lines_of = |change: &Change| change.line..change.line + change.from.lines().count().max(1);
        let changed: Vec<usize> = ported.changes.iter().flat_map(lines_of).collect();
        let now: Vec<&str> = ported.text.lines().collect();
        for (index, line) in text.lines().enumerate() {
            prop_assert!(changed.contains(&(index + 1)) || now.contains(&line), "{}", line);
        }
    }
}

#[test]
fn an_option_that_was_replaced_does_not_come_back() {
    let text = "#!/bin/bash\n#SBATCH --constraint=v100\n#SBATCH --gpus=1\n\
                #SBATCH --constraint=cpu_intel_platinum_8260\nsrun python t.py\n";
    let from = cluster("ibex");
    let to = "[nodes.a]\nfeatures = [\"ib\"]\ngpu = { type = \"v100\", model = \"v100\" }\n";
    let to = ClusterFile::parse("to", to).unwrap();
    let ported = ported(&from, &to, text);
    assert!(!ported.text.contains("--constraint"), "{}", ported.text);
}

/// The scripts of the documents, and those of the rules' pages.
fn scripts() -> Vec<&'static str> {
    let mut all = vec![
        include_str!("../../../train/tests/data/seeds/cedar-standard.sbatch"),
        include_str!("../../../train/tests/data/seeds/cedar-torchrun.sbatch"),
        include_str!("../../../train/tests/data/seeds/ibex-multi-node.sbatch"),
        include_str!("../../../train/tests/data/seeds/ibex-single-node.sbatch"),
        include_str!("../../../train/tests/data/seeds/plai-lightning.sbatch"),
        include_str!("../../../train/tests/data/seeds/plai-sweep.sbatch"),
        include_str!("../../../train/tests/data/seeds/satori-1gpu.sbatch"),
        include_str!("../../../train/tests/data/seeds/satori-2nodes.sbatch"),
        include_str!("../../../train/tests/data/seeds/satori-4gpu.sbatch"),
        include_str!("../../../train/tests/data/seeds/technion-16gpu.sbatch"),
        include_str!("../../../train/tests/data/seeds/technion-2gpu.sbatch"),
        include_str!("../../../train/tests/data/seeds/wilson-v100.sbatch"),
    ];
    let pages = crate::RULES.iter().map(|rule| rule.page);
    let examples = pages.flat_map(|page| page.split("```").skip(1).step_by(2));
    all.extend(examples.map(|example| {
        example
            .trim_start_matches(|c: char| c.is_ascii_lowercase())
            .trim_start()
    }));
    all
}

/// What the other cluster would refuse or never start, and no question tells of.
fn unasked(text: &str, from: &ClusterFile, to: &ClusterFile) -> Vec<String> {
    let ported = ported(from, to, text);
    let script = read("job.sh", &ported.text, to);
    let refusals = resources::findings(to, script.request(), None);
    let told = |refusal: &resources::Finding| {
        ported.questions.iter().any(|question| {
            let node = [Key::NodeList, Key::Exclude].map(Subject::Option);
            let node = node.contains(&refusal.about);
            question.covers == Some(refusal.denial)
                || node && question.covers == Some(Denial::NodeName)
                || question.about.contains(&refusal.asked())
        })
    };
    let refusals = refusals.iter().filter(|refusal| !told(refusal));
    let mut unasked: Vec<String> = refusals.map(ToString::to_string).collect();
    // What sbatch took before it takes now, or a question says why not.
    if ported.refused.is_empty() {
        let new = mistakes(&script).into_iter().map(|mistake| mistake.words);
        unasked.extend(new.filter(|words| {
            !ported
                .questions
                .iter()
                .any(|question| question.about.contains(words))
        }));
    }
    unasked
}

#[test]
fn what_is_refused_there_is_asked_about() {
    let all: Vec<ClusterFile> = shipped().iter().map(|(name, _)| cluster(name)).collect();
    let mut ported = 0;
    for text in scripts() {
        for from in &all {
            for to in all.iter().filter(|to| to.name != from.name) {
                let unasked = unasked(text, from, to);
                assert!(
                    unasked.is_empty(),
                    "{} to {}: {unasked:?}\n{text}",
                    from.name,
                    to.name
                );
                ported += 1;
            }
        }
    }
    assert!(ported > 1000, "{ported}");
}
