//! Command lines and scripts that a real Slurm and ours are asked: chosen ones, and a generated
//! table that is the same on every run.

/// What is asked: variables of the environment, words after `sbatch`, a script where none is
/// wrapped.
pub struct Asked {
    pub variables: Vec<(String, String)>,
    pub words: Vec<String>,
    pub script: Option<String>,
}

impl Asked {
    /// Whether `--test-only` is among its words.
    pub fn is_question(&self) -> bool {
        self.words.iter().any(|word| word == "--test-only")
    }
}

/// Reads a line: variables, words, and behind ` << ` a script with `\n`, `\t` and `\r` in it.
pub fn read(line: &str) -> Asked {
    let (call, script) = match line.split_once(" << ") {
        Some((call, script)) => (call, Some(script)),
        None => (line, None),
    };
    let mut words: Vec<String> = call.split_whitespace().map(str::to_owned).collect();
    let count = words.iter().take_while(|word| is_variable(word)).count();
    let variables = words.drain(..count).collect::<Vec<_>>();
    let split = |word: &String| {
        word.split_once('=')
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    let unescaped = |text: &str| {
        text.replace("\\n", "\n")
            .replace("\\t", "\t")
            .replace("\\r", "\r")
    };
    Asked {
        variables: variables.iter().filter_map(split).collect(),
        words,
        script: script.map(unescaped),
    }
}

/// The same line as a question, of which no job comes.
fn tested(line: &str) -> String {
    let words = line.split(' ');
    let variables = words.take_while(|word| is_variable(word));
    let length: usize = variables.map(|word| word.len() + 1).sum();
    format!("{}--test-only {}", &line[..length], &line[length..])
}

fn is_variable(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    let named = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    name.len() < word.len() && name.bytes().all(named)
}

/// All lines, each also with `--test-only`.
pub fn all() -> Vec<String> {
    let mut lines: Vec<String> = CHOSEN.lines().map(str::to_owned).collect();
    lines.retain(|line| !line.is_empty());
    let mut dice = Dice(20_260_310);
    for _ in 0..GENERATED {
        let count = 1 + dice.roll(4);
        let mut words: Vec<String> = Vec::new();
        for _ in 0..count {
            let (option, values) = OPTIONS[dice.roll(OPTIONS.len())];
            let values: Vec<&str> = values.split(' ').collect();
            let value = values[dice.roll(values.len())];
            let word = format!("{option}{value}");
            // An option given twice is a matter of its own, and stands among the chosen ones.
            if !words.iter().any(|known| known.starts_with(option)) {
                words.push(word);
            }
        }
        lines.push(words.join(" "));
    }
    let questions: Vec<String> = lines.iter().map(|line| tested(line)).collect();
    lines.extend(questions);
    lines.sort();
    lines.dedup();
    lines
}

const GENERATED: usize = 600;

/// A linear congruential generator: enough for a table, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % sides
    }
}

/// Options and the values that they are given, glued on.
const OPTIONS: &[(&str, &str)] = &[
    ("-N", "1 2 3 4 1-2 2-4 2-2 0 5 1k x"),
    ("-n", "1 2 3 4 5 8 9 16 17 32 0 x"),
    ("-c", "1 2 3 4 8 9 0"),
    ("--ntasks-per-node=", "1 2 3 4 8 0"),
    ("--ntasks-per-socket=", "1 2 x"),
    ("--ntasks-per-core=", "1 2 0"),
    ("--ntasks-per-gpu=", "1 2 3"),
    ("--mem=", "0 1 1000 1G 2G 16000 1024K 1x 1.5G"),
    ("--mem-per-cpu=", "1 100 1G 2048M x"),
    ("--mem-per-gpu=", "1G 500 x"),
    (
        "--gpus=",
        "0 1 2 3 4 8 v100:2 a100 v100:2,a100:1 v100: x:y:z",
    ),
    ("--gpus-per-node=", "1 2 4 v100:1 0"),
    ("--gpus-per-task=", "1 2 v100:1"),
    ("--gpus-per-socket=", "1 2"),
    (
        "--gres=",
        "gpu gpu:1 gpu:2 gpu:4 gpu:v100 gpu:v100:2 gpu:a100:1,gpu:v100:1 none gpu:0 gpu: fpga:1 gpu:1,gpu:v100:1 gpu:k",
    ),
    ("--cpus-per-gpu=", "1 2 4 0"),
    ("--sockets-per-node=", "1 2"),
    ("--cores-per-socket=", "1 2 0"),
    ("--threads-per-core=", "1 2"),
    ("-B", "1 1:2 1:2:1 *:2 x 1-2:*"),
    ("--mincpus=", "1 2 8 0"),
    ("--tmp=", "1 10G x"),
    ("-t", "1 0 90 1:30 1:30:15 1-0 1-1:30 UNLIMITED x -1 5:00"),
    ("--time-min=", "1 30 1-0 x"),
    ("-p", "cpu test gpu cpu,gpu"),
    (
        "-C",
        "v100 a100 v100|a100 v100&cuda [v100|a100] v100*1 (v100|a100)&cuda cuda*2&v100 nosuch",
    ),
    ("-w", "node1 node[1-2] node1,node3 node[1-4] node1,node1"),
    ("-x", "node1 node[2-4] node[3-4]"),
    (
        "-d",
        "afterok:1 afterany:1:2 singleton after:1+5 afternotok:1?afterany:2 aftercorr:1 x 0",
    ),
    ("-a", "0 1-4 0-10:5 1-4%2 1,3,7-9 4-1 x 1-3,2-5"),
    ("--begin=", "2031-01-20T12:34:00 2031-01-20 01/20/31 x"),
    (
        "--signal=",
        "USR1@120 B:TERM R:INT@60 9 B:USR2@0 X USR1@99999",
    ),
    ("--nice", "=5 =-5 =x"),
    ("--requeue", " "),
    ("--no-requeue", " "),
    ("--exclusive", "=user =mcs =x ="),
    ("--oversubscribe", " "),
    ("--overcommit", " "),
    ("--contiguous", " "),
    (
        "--mail-type=",
        "END ALL FAIL,END BAD NONE TIME_LIMIT ARRAY_TASKS",
    ),
    ("--mail-user=", "someone"),
    ("-J", "name a/b"),
    ("--comment=", "word"),
    ("-o", "out%j.txt /dev/null sub/%x.%j none"),
    ("-e", "err%j.txt none"),
    ("-D", "/tmp"),
    (
        "--distribution=",
        "block cyclic block:cyclic plane=2 arbitrary x plane *:*:* pack",
    ),
    (
        "--hint=",
        "nomultithread compute_bound memory_bound multithread x",
    ),
    ("--switches=", "1 2@10:00 0 x"),
    ("--licenses=", "a a:2"),
    ("--network=", "x"),
    ("--wckey=", "k"),
    ("--profile=", "none task x"),
    ("--acctg-freq=", "30 task=10 x"),
    ("--cpu-freq=", "high 100 x"),
    ("--gpu-bind=", "closest single:1 map_gpu:0,1 x"),
    ("--gpu-freq=", "high x"),
    ("--mem-bind=", "local x"),
    ("--export=", "ALL NONE A=b"),
    ("--open-mode=", "append truncate x"),
    ("--priority=", "5 TOP -1"),
    ("--propagate=", "ALL STACK x"),
    ("--kill-on-invalid-dep=", "yes x"),
    ("--no-kill", "=set =off =x"),
    ("--wait-all-nodes=", "0 1 2"),
    ("--spread-job", " "),
    ("--use-min-nodes", " "),
    ("--reboot", " "),
    ("--get-user-env", "=10L =X"),
    ("--core-spec=", "1 x"),
    ("--delay-boot=", "10 x"),
    ("--deadline=", "2031-01-21 x"),
];

const CHOSEN: &str = r#"
-N 2 -n 1
-N 4-2
-N 1,3
-N 2-4 -n 3
-N 2 --ntasks-per-node=2 -n 4
-n 8 --ntasks-per-node=4
-w node[1-2] -N 1
-w node[1-3] -n 2
-w node1,node1
--ntasks-per-gpu=2 -G 2
--ntasks-per-gpu=2 -n 4
--ntasks-per-gpu=2 -n 3
--ntasks-per-gpu=2 --gpus-per-task=1
--ntasks-per-gpu=2 --ntasks-per-node=2
--ntasks-per-gpu=2 --ntasks-per-tres=3
--gpus-per-task=1
--gpus-per-task=2 -n 2
--gpus-per-task=2 -G 4
--gpus-per-task=2 -G 4 -n 3
--gpus-per-task=3 -G 4
--gpus-per-task=1 --gpus-per-node=4 -n 4
--gpus-per-task=1 --gpus-per-node=4 --ntasks-per-node=2 -n 2
--gpus-per-node=2 --gres=gpu:4
--gres=gpu:4 --gpus-per-node=2
--gpus-per-node=v100:2 --gres=gpu:4
-G 8 -N 2 --gpus-per-node=4
-G 8 --gpus-per-node=3
-G 1 -N 2
-G 2 --cpus-per-gpu=2 -c 2
--gpus-per-task=2 -n 2 --cpus-per-gpu=3
--mem-per-gpu=1G
--mem-per-gpu=1G -G 2
--mem-per-gpu=1G --gpus-per-node=2 -N 2
--mem-per-gpu=1G --gpus-per-task=1 -n 3
--mem=1G --mem-per-cpu=1G
--mem=1G --mem=2G
-t 5 -t 7
-p cpu -p test
-B 2:4:1 -N 2
-B 2:4 -n 3
-m plane=2 -N 3 -n 4
-m plane=4 -N 3 -n 4
-m arbitrary -w node[1-2]
-m arbitrary
--exclusive --oversubscribe
--bb=x --bbf=y
-v -Q
--deadline=2031-01-20 --begin=2031-01-21
--core-spec=1 --thread-spec=1
--jo=x
--n 3
--mem 1G --tim 5 --nod 2
--nosuch
-Z
-n4N2
SBATCH_TIMELIMIT=5 -n 1
SBATCH_TIMELIMIT=5 -t 7
SBATCH_EXCLUSIVE=user -n 1
SBATCH_REQUEUE=1 -n 1
SBATCH_NO_REQUEUE=1 -n 1
SBATCH_OVERCOMMIT=no -N 2
SBATCH_MEM_PER_CPU=1G --mem=2G
SBATCH_MEM_PER_CPU=1G SBATCH_MEM_PER_NODE=2G -n 1
SBATCH_GPUS=2 -n 2
SBATCH_GPUS_PER_TASK=1 SBATCH_GPUS=2 -n 2
SBATCH_PARTITION=test -n 1
SBATCH_ARRAY_INX=1-3 -n 1
SBATCH_JOB_NAME=fromenv -n 1
SBATCH_MEM_PER_NODE=x -n 1
SLURM_HINT=x -n 1
-n 1 << #!/bin/sh\n#SBATCH -t 3 -N 2\n#SBATCH --comment="two words"\ntrue\n
-n 1 << #!/bin/sh\n#SBATCH -n 4 -t 3\ntrue\n#SBATCH -t 9\n
-n 1 << #!/bin/sh\n#SBATCH -t=3\ntrue\n
-n 1 << #!/bin/sh\n#SBATCH -J a#b\ntrue\n
-n 1 << #!/bin/sh\n#SBATCH -J "a#b"\ntrue\n
-n 1 << #!/bin/sh\n#SBATCH -J a\\ b\ntrue\n
-n 1 << #!/bin/sh\n#SBATCH -J "a b\ntrue\n
-n 1 << #!/bin/sh\n#SBATCH --job-name=one word\ntrue\n
-n 1 << #!/bin/sh\n#SBATCH : -t 3\ntrue\n
-n 1 << #!/bin/sh\n #SBATCH -t 3\n#sbatch -t 4\n# SBATCH -t 5\n##SBATCH -t 6\ntrue\n
-n 1 << #!/bin/sh\n#SLURM -t 3\ntrue\n
-n 1 << #!/bin/sh\n#SBATCH--time=3\ntrue\n
-n 1 << #!/bin/sh\n#SBATCH --time=3 # three\ntrue\n
-n 1 << #!/bin/sh\n#SBATCH --wrap=x -v\ntrue\n
-n 1 << #!/bin/sh\n#SBATCH --constraint=v100\n#SBATCH --constraint=a100\ntrue\n
-n 1 << #!/bin/sh\n#SBATCH --mail-type=END\n#SBATCH --mail-type=FAIL\ntrue\n
-n 1 << #!/bin/sh\n#PBS -l walltime=5:00:00\n#PBS -q test\n#SBATCH -t 3\ntrue\n
-J pbs << #!/bin/sh\n#PBS -N name -l nodes=2:ppn=3,mem=4gb\ntrue\n
-J pbs << #!/bin/sh\n#PBS -l select=2:ncpus=4:mpiprocs=2\ntrue\n
-J pbs << #!/bin/sh\n#PBS -l nodes=node1+node2:ppn=2:gpus=1\ntrue\n
-J pbs << #!/bin/sh\n#PBS -m abe -M me -j oe -V -r n\ntrue\n#PBS -p 5\n
-J pbs << #!/bin/sh\n#PBS -X\ntrue\n
-J pbs << #!/bin/sh\n#PBS word\ntrue\n
-J pbs << #!/bin/sh\n#PBS -l naccelerators=2,pmem=1gb,vmem=2gb\ntrue\n
-J pbs << #!/bin/sh\n#PBS -t 1-3 -W depend=afterok:1 -h\ntrue\n
--ignore-pbs -J pbs << #!/bin/sh\n#PBS -X\ntrue\n
-J bsub << #!/bin/sh\n#BSUB -J name -W 10 -n 2,4 -M 1000\ntrue\n
-J bsub << #!/bin/sh\n#BSUB -R x\ntrue\n
-J bsub << #!/bin/sh\n#BSUB -cwd /tmp -x -q test -m node1\ntrue\n
-J bsub << #!/bin/sh\n#BSUB -n 4\n#PBS -N other\ntrue\n
-n 1 << #!/bin/sh\r\ntrue\r\n
-n 1 << echo\n
-n 1 <<  \n
"#;
