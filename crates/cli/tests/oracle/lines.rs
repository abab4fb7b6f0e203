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
    let mut dice = Dice(20_261_121);
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

const GENERATED: usize = 900;

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
    ("-N", "1 2 3 4 1-2 2-4 3-1 +2 2- -2 2-x 1,2 4k 1-8 0-2 2:3"),
    ("-n", "1 2 3 4 6 7 8 12 24 32 33 +4 4.5 1k 2k 0x4 -1"),
    ("-c", "1 2 3 5 8 9 1.5 x -1 1k"),
    ("--ntasks-per-node=", "1 2 3 5 8 9 x -1 2.5"),
    ("--ntasks-per-socket=", "1 2 3 0 -1"),
    ("--ntasks-per-core=", "1 2 x -1"),
    ("--ntasks-per-gpu=", "1 2 3 0 x -1"),
    ("--ntasks-per-tres=", "1 2 0 x"),
    ("--tasks=", "2 4 512"),
    ("--tasks-per-node=", "1 2"),
    (
        "--mem=",
        "0 1 100 15999 16000 16001 1G 1g 1M 1T 1K 512k 1GB 1MB 16G 1.5 -1 +5 1P",
    ),
    ("--mem-per-cpu=", "0 1 100 1G 2048M 2000 1T x -1 1GB"),
    ("--mem-per-gpu=", "0 1G 500 x 2T -1"),
    (
        "--gpus=",
        "0 1 2 3 4 5 12 16 17 v100:1 v100:4 a100:4 a100:5 v100:0 k80:1 gpu:1 gpu:v100:2 v100:x v100=2 v100 -1 1,2 v100:1,v100:1 :2 v100:2:1",
    ),
    (
        "--gpus-per-node=",
        "1 2 3 4 5 v100:1 v100:5 a100:1 0 x v100:1,a100:1 gpu:2",
    ),
    (
        "--gpus-per-task=",
        "1 2 4 5 v100:1 0 x a100:2 v100:1,a100:1",
    ),
    ("--gpus-per-socket=", "1 2 0 x v100:1"),
    (
        "--gres=",
        "gpu gpu:1 gpu:3 gpu:5 gpu:v100:4 gpu:v100:5 gpu:a100:1 gpu=2 gpu:v100=2 gpu:1,gpu:2 gpu:v100:1,gpu:v100:1 none none,gpu:1 NONE gpu:0 gpu:-1 gpu:1.5 fpga mps:10 shard:1 gres:gpu:1 gres/gpu:1 gpu:2M gpu:1k help gpu:k80:1 gpu:v100:a100:1 ,gpu:1 gpu:1, craynetwork:1 gpu,gpu",
    ),
    ("--cpus-per-gpu=", "1 2 3 8 9 x -1"),
    ("--sockets-per-node=", "1 2 0 x 1-2"),
    ("--cores-per-socket=", "1 2 4 8 9 x"),
    ("--threads-per-core=", "1 2 0 x"),
    (
        "-B",
        "1 2 1:2 1:8:1 1:9 *:2 *:*:* x 1-2:* 2:2:2 1: :1 1:2:3:4",
    ),
    ("--extra-node-info=", "1:4 2"),
    ("--mincpus=", "1 2 8 9 x -1"),
    ("--tmp=", "0 1 1G x -1 1T"),
    (
        "-t",
        "1 10 60 61 1:30 90:00 100:00:00 1:30:15 1-0 1-1:30 1-1:30:30 7-0 7-0:1 8-0 365-0 UNLIMITED INFINITE infinite -1 0:30 0:61 1:60:61 10-25:61 2- :30 1-:30 1:2:3:4 1d 2h 1e3 +5",
    ),
    ("--time-min=", "1 30 60 1-0 x 0 UNLIMITED"),
    (
        "-p",
        "cpu test gpu cpu,gpu test,cpu gpu,test nosuch cpu,nosuch GPU",
    ),
    (
        "-C",
        "v100 a100 v100|a100 v100&cuda v100,cuda [v100|a100] [v100*2&a100*1] v100*1 v100*4 cuda*2 (v100|a100)&cuda v100&a100 cuda*2&v100 nosuch v100|nosuch ! v100& |v100 (v100 v100) [v100 v100*x v100*0 V100 [v100*1|a100*1] v100&(a100|cuda)",
    ),
    (
        "-w",
        "node1 node[1-2] node1,node3 node[1-4] node1,node1 node9 node[1-5] node[2,1] node[1-2],node4 NODE1",
    ),
    ("-x", "node1 node[2-4] node[3-4] node[1-4] node[1-3]"),
    (
        "-d",
        "afterok:1 afterany:1:2 singleton after:1+5 after:1+x afternotok:1?afterany:2 afterok:1,afterany:2 aftercorr:1 AFTEROK:1 afterok: afterok afterburstbuffer:1 afterok:31337 afterok:99999999 singleton,afterok:1 afterok:1?singleton x: 0 1",
    ),
    (
        "-a",
        "0 1-4 0-10:5 0-10:3 1-4%2 1-4%0 1-4%9 1,3,7-9 10001 1-3,2-5 5,1-3 1-4:0 1-4:2,9 0-3%x %2 1- -3 3,3 0-31%4 1-2-3",
    ),
    (
        "--begin=",
        "2031-01-20T12:34:00 2031-01-20 01/20/31 1/2/31 013031 2031-13-01 2031-02-30 16:00x now+x 20310120 2031-01-20T25:00 2031-01-20-12:00",
    ),
    (
        "--deadline=",
        "2031-01-21 2031-01-21T10:00 2020-01-01 x now+1x",
    ),
    (
        "--signal=",
        "USR1 USR1@120 SIGUSR1@60 B:TERM R:INT@60 BR:9@5 RB:9 10 9 0 64 65 B:USR2@0 usr1 x@5 USR1@x USR1@65535 USR1@65536 B: @60 TERM@",
    ),
    (
        "--nice",
        " =5 =-5 =0 =100 =2147483645 =2147483646 =-2147483645 =1.5 =",
    ),
    ("--requeue", " "),
    ("--no-requeue", " "),
    ("--exclusive", " =user =mcs =topo =x"),
    ("--oversubscribe", " "),
    ("--share", " "),
    ("--overcommit", " "),
    ("--contiguous", " "),
    (
        "-m",
        "block cyclic plane=2 plane arbitrary block:block cyclic:cyclic:block *:* block:x,Pack cyclic,NoPack fcyclic block:fcyclic:* Pack x plane=0 plane=x",
    ),
    (
        "--mail-type=",
        "END,FAIL ALL BEGIN NONE REQUEUE INVALID_DEPEND TIME_LIMIT TIME_LIMIT_50,TIME_LIMIT_90 ARRAY_TASKS STAGE_OUT end END, x END,x NONE,END TIME_LIMIT_70",
    ),
    ("--mail-user=", "someone a@b,c@d"),
    ("-J", "name a/b x.y 1"),
    ("--comment=", "word"),
    (
        "-o",
        "out%j.txt /dev/null sub/%x.%j none %A_%a-%N.%u.txt %3j.out %% %8x %J a%z %b %t out%012j",
    ),
    ("-e", "err%j.txt none %j /abs/%x"),
    ("-i", "in.txt none /dev/null in%j"),
    ("-D", "/tmp / /nosuch /tmp/ /tmp/.."),
    (
        "--hint=",
        "compute_bound memory_bound multithread nomultithread x COMPUTE_BOUND",
    ),
    ("-A", "acct ACCT a-b"),
    ("-q", "normal high"),
    ("--switches=", "1 2@10:00 0 x 1@x 1@0 -1 4@UNLIMITED"),
    ("--acctg-freq=", "30 task=10 x energy=30,task=5 task=x"),
    ("--prefer=", "v100 a100&cuda x("),
    ("--power=", "level"),
    ("--network=", "x"),
    ("--wckey=", "k *k"),
    ("--profile=", "none task all energy,task x"),
    (
        "--cpu-freq=",
        "high 100 low-high low-high:performance 100-50 performance x medium highm1 :userspace",
    ),
    (
        "--gpu-bind=",
        "closest single:1 map_gpu:0,1 x verbose,closest mask_gpu:0x1 per_task:1 none v,single:x map_gpu:x single:0",
    ),
    (
        "--gpu-freq=",
        "high x low,memory=high 1000 memory=x medium,verbose",
    ),
    (
        "--mem-bind=",
        "local x none verbose,rank map_mem:0,1 prefer,local mask_mem:0x1 v,q sort",
    ),
    ("--export=", "ALL NONE A=b NIL ALL,A=b"),
    ("--open-mode=", "append truncate a t A x appendix"),
    ("--priority=", "5 TOP top -1 0 4294967294 4294967295 x 1.5"),
    (
        "--propagate=",
        "ALL STACK NONE STACK,CORE x stack RLIMIT_CORE",
    ),
    ("--kill-on-invalid-dep=", "yes no x YES y"),
    ("--no-kill", " =set =off =x"),
    ("--wait-all-nodes=", "0 1 2 x"),
    ("--use-min-nodes", " "),
    ("--reboot", " "),
    ("--get-user-env", " =10 =10L =X =L"),
    ("--core-spec=", "1 2 0 x -1 8"),
    ("--thread-spec=", "1 2 x"),
    ("--delay-boot=", "10 x 1:00 -1 0"),
    (
        "--gres-flags=",
        "enforce-binding disable-binding x enforce-binding,disable-binding",
    ),
    ("--bb=", "x capacity=1"),
    ("--mcs-label=", "x"),
    ("--chdir=", "tmp"),
    ("--time=", "5"),
    ("--parsable", " "),
    ("--hold", " "),
    ("--ignore-pbs", " "),
    ("--kill-on-bad-exit=", "1"),
    ("--label", " "),
    ("--x11", " =all"),
    ("--nice=", "10"),
    ("--wait", "=x"),
    ("--nod", "=2"),
    ("--gpu", "=1"),
    ("--cpus", "=2"),
    ("--mem-per", "=2"),
    ("--tim", "=2 =x"),
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
-C!
-Cv100&
-C|v100
-C(v100
-Cv100)
-C[v100
-Cv100]
-Cv100*x
-Cv100*0
-Cv100*
-CV100
-C[v100*1|a100*1]
-Cv100&(a100|cuda)
-Cv100,cuda
-Cv100,,cuda
-Cv100&&cuda
-Cv100||a100
-Cv100&|a100
-C&
-C|
-C,
-C(
-C)
-C()
-C[]
-C*
-C*2
-C[v100&a100]
-C[v100*2&a100*1]
-C[v100*2|a100*1]
-Cv100*2&cuda
-C(v100&cuda)
-C(v100&cuda)|a100
-C[(v100&cuda)|a100]
-C((v100|a100)&cuda)
-C(v100|a100)*2
-C[v100|a100]*2
-Cv100*1&a100*1
-Cv100*2|a100
-C(v100*2)
-C[v100]&cuda
-Ccuda&[v100|a100]
-Cv100*-1
-Cv100*1.5
-Cv100*99
-Cv100|a100&cuda
-Cv100&a100|cuda
-C[v100|a100]&[cuda]
-C(v100|a100)&(cuda)
-Cv100(a100)
-Cv100[a100]
-Cv100:1
-Cv100=1
-Cv100!a100
-C!v100
-Ca;b
-Cv100*2*2
-C(v100|)&cuda
-Cv100|
-C[v100|]
-C[v100*2]
-C[v100*2&a100]
-C[v100*0&a100*1]
-Ccuda*2&v100*1
-C(v100&(cuda|a100))
-C(v100&cuda&a100)
-Cv100&cuda|a100
-Cnosuch
-Cnosuch*2
-C[nosuch]
-C(nosuch
-Cv100&nosuch
--prefer=v100
--prefer=v100&
--prefer=x(
--prefer=v100*2
--prefer=[v100|a100]
--prefer=(v100|a100)
--prefer=v100&a100
--prefer=v100*0
--prefer=|
--prefer=v100|a100
--gres=gpu:1,
--gres=,gpu:1
--gres=gpu:1,,gpu:2
--gres=,
--gres=gpu:1.5
--gres=gpu:v100:1.5
--gres=gpu:1x
--gres=gpu:x
--gres=gpu:
--gres=gpu::
--gres=gpu:1:
--gres=gpu:1g
--gres=gpu:1K
--gres=gpu:0x1
--gres=gpu:+1
--gres=gpu:01
--gres=gpu:99999999999
--gres=gpu:18446744073709551616
--gres=GPU:1
--gres=gpu:V100:1
--gres=gpu:v100
--gres=gpu:v100,gpu
--gres=gpu:k80
--gres=gpu:v100:1:2
--gres=fpga:1
--gres=gpu:1;gpu:2
--gres=gpu:1:v100
--gres=gpu:-1
--gres=gpu:1e3
--gres=gpu:1T
--gres=gpu:1P
--gres=gpu:1kb
--gres=gpu:1ki
--gres=gpu:v100:2k
--gres=gpu:a-b:1
--gres=gpu:a_b:1
--gres=gpu:3g.20gb:1
--gres=gpu:3g.20gb
--gres=help
--gres=none
--gres=NONE
--gres=None
--gres=none:1
--gres=gpu:none
--gpus=1,
--gpus=,1
--gpus=1,,2
--gpus=,
--gpus=1.5
--gpus=v100:1.5
--gpus=1x
--gpus=x:
--gpus=:
--gpus=1:
--gpus=1k
--gpus=+1
--gpus=0x1
--gpus=-1
--gpus=v100:1,a100:1
--gpus=v100:1,
--gpus=v100,a100
--gpus=1,v100:1
--gpus=99999999999
--gpus=a-b:1
--gpus=3g.20gb:1
--gpus=3g.20gb
--gpus=help
--gpus=none
--gpus=v100:help
--gpus-per-node=1,
--gpus-per-node=,1
--gpus-per-node=1.5
--gpus-per-node=v100:1.5
--gpus-per-node=x:
--gpus-per-node=1:
--gpus-per-node=1k
--gpus-per-node=v100:1,a100:1
--gpus-per-node=-1
--gpus-per-node=none
--gpus-per-node=help
--gpus-per-task=1,
-n2 --gpus-per-task=1,
-n2 --gpus-per-task=v100:1.5
-n2 --gpus-per-task=1.5
-wnode3,node1
-wnode[2,1]
-wnode[3-4],node[1-2]
-wnode2,node1,node2
-wnode4,node[1-2]
-wNODE1
-wnode[1
-wnode1]
-wnode[1-2
-wnode01
-wnode[01-02]
-wlocalhost
-wnode1,
-wnode1,,node2
-xnode3,node1
-xnode9
-xnode1,
-xnode[1-2],node9
-w node1 -x node1
-w node[1-2] -x node2
-w node1 -x node[1-3]
-w node[1-2] -x node3
-x node[1-4]
-p cpu,nosuch
-p nosuch,cpu
-p cpu,cpu
-p cpu,
--signal=63
--signal=64
--signal=65
--signal=100
--signal=65535
--signal=65536
--signal=65537
--signal=70000
--signal=SIGKILL
--signal=KILL@0
--signal=RTMIN
--signal=USR1@60s
--signal=R:USR1
--signal=RB:USR1
--signal=BR:USR1
--signal=R:B:USR1@120
--signal=B:R:USR1
--signal=RUSR1
--signal=BUSR1
--signal=b:usr1
--signal=USR1@-1
--signal=USR1@+5
--signal=:USR1
--signal=::USR1
--signal=STKFLT
--signal=PIPE
--signal=CHLD
--signal=IO
--signal=10@@5
--signal=10:5
-B1:2:3:4
-B1:2:1:x
-B1:1:1:
-B:::
-B1:1-2
-B1-2:1-2:1-2
-B*:*
-B-1
-B1-0
-B1:*:*
-B1:x
--nice
--nice=
--nice=0
--nice=x
--nice=-0
--nice=1x
--nice=-1
--deadline=2020-01-01
--deadline=2031-01-01
--switches=1@0
--switches=1@1
--switches=1@5
--switches=1@10
--switches=1@1:30
--switches=1@5:00
--switches=1@UNLIMITED
--switches=1@x
--switches=1@
--switches=2@0:30
--switches=1@-1
--switches=0@5
--switches=1.5
--switches=1x
--switches=x
--switches=@5
--cpu-freq=100-50
--cpu-freq=50-50
--cpu-freq=50-100
--cpu-freq=high-low
--cpu-freq=low-high
--cpu-freq=high-high
--cpu-freq=medium-high
--cpu-freq=high-medium
--cpu-freq=100-low
--cpu-freq=low-100
--cpu-freq=highm1-high
--cpu-freq=high-highm1
--cpu-freq=him1
--cpu-freq=performance
--cpu-freq=perf-high
--cpu-freq=low-high:perf
--cpu-freq=userspace-low
--cpu-freq=1-2:x
--cpu-freq=OnDemand
--cpu-freq=high:performance
--mem-per-cpu=0
--mem-per-cpu=0 -n4
--mem-per-cpu=0 -N2
--mem-per-cpu=0 --mem=1G
--mem-per-gpu=0
--mem-per-gpu=0 -G2
--mem-per-gpu=0 --gpus-per-node=2 -N2
--mem=0 -N2
--mem=0 --exclusive
--reboot
--reboot --exclusive
--reboot --oversubscribe
--reboot --exclusive=user
--oversubscribe --exclusive
--exclusive=user --oversubscribe
--gpu-bind=map_gpu:x
--gpu-bind=map_gpu:0,x
--gpu-bind=mask_gpu:g
--gpu-bind=mask_gpu:0x3,0x4
--gpu-bind=map_gpu:0*2,1
--gpu-bind=map_gpu:0*x
--gpu-bind=map_gpu:-1
--gpu-bind=verbose,map_gpu:x
--gpu-bind=single
--gpu-bind=single:
--gpu-bind=single:-1
--gpu-bind=per_task:2
--gpu-bind=per_task
--gpu-bind=none
--gpu-bind=closest
--gpu-bind=verbose,closest,x
--gpu-bind=c
--gpu-bind=cx
--gpu-bind=n1
--gpu-bind=per_gpu:1
--nosuch --mem=x
--mem=x --nosuch
--mem=x -Z
-Z --mem=x
-t x --mem
-N x -n
--nod=2 -t x
-t x --nod=2
--time=x --requeue=1
--requeue=1 --time=x
--mem=1x --time=1x
SBATCH_TIMELIMIT=x --nosuch
SBATCH_TIMELIMIT=x -t x
--gres=help --nosuch
--nosuch --gres=help
--gres=help --mem=x
--mem=x --gres=help
--nosuch << #!/bin/sh\n#SBATCH -t x\ntrue\n
-t x << #!/bin/sh\n#SBATCH --nosuch\ntrue\n
-n 1 << #!/bin/sh\n#SBATCH -t x --nosuch\ntrue\n
-n 1 << #!/bin/sh\n#SBATCH --nosuch -t x\n#SBATCH --mem=x\ntrue\n
-n 1 << #!/bin/sh\n#SBATCH --gres=help\ntrue\n
-n 1 << #!/bin/sh\n#SBATCH word -t x\ntrue\n
-n 1 << #!/bin/sh\n#SBATCH -t x word\n#SBATCH --nosuch\ntrue\n
--nosuch << echo\n
-t x << echo\n
-a10000
-a10001
-a0-20000
-a1-5:9
-a0-3%
-a0-3%%
-a1-3%2%1
-a1,2%1
-a%2
-a0x1-3
-a+1-3
-a1-3,
--tasks=512
--tasks=4
--tasks-per-node=2
--task=2
-dafterok:1_2
-dafterok:1_*
-daftercorr:7_3:8_*
-dafterok:1_[1-3]
-dafter:1_2+5
-dafterok:1:2_3:4_*
-dafterok:0
-dafterok:1,singleton
-dsingleton,afterok:1:2
-dafterok:1,afterok:1
-dafterok:1_x
-dafter:1+0
-dafter:1+-5
-dafter:1:2+5
-dafter:1+5:2+6
-dafterok:4294967295
-dafterok:4294967294
-dafterok:67108864
-dafterok:67108863
-d1:2
-d1,2
-d1
-dafterok:1?
-dafterok:1,
-d,afterok:1
-dAfterOK:1
-n9 --use-min-nodes
--mail-type=ARRAY_TASKS
--mail-type=END,ARRAY_TASKS
--mail-type=TIME_LIMIT_80,END
--mail-type=all
--mail-type=BEGIN,BEGIN
--mail-type=NONE,END
--mail-type=END,NONE
--mail-type=INVALID_DEPEND
--mail-type=STAGE_OUT
--mail-type=TIME_LIMIT
--mail-type=
--mail-type=,
--mail-type=END,
-t1:2:3:4
-t1-2:3:4
-t1-2:3
-t1-2
-t1:2:3
-t1:2
-t 0:0:1
-t 0:59
-t 0:61
-t 1-0:0:1
-t 00
-t 0-0
-t 0:00
-t infinite
-t Unlimited
-t UNLIM
-t 5m
-t +5
-t 1-
-t -5
-t 1:
-t :1
-t 1.5
--mem=1.5G
--mem=1t
--mem=1025K
--mem=1K
--mem=1023
--mem=0.5G
--mem=1GB
--mem=1GiB
--mem=g
--mem=18446744073709551615
--mem=-1
--mem=+1
--mem-per-cpu=1GB
--tmp=1GB
--tmp=1023K
-N1-2,4
-N 1-4:2
-N2k
-N0
-N0-0
-N1-
-N-2
-N 5-4
-N 1m
-N01
-N+1
-N 1.0
-n 0
-n 1m
-n 01
-n +1
-n1e3
-c 65535
-c 0
--begin=2031-01-20T12:34:56
--begin=2031-1-2
--begin=010231
--begin=01.02.31
--begin=12/31/2031
--begin=2031-01-20T12:34:56.5
--begin=2031-01-20T24:00
--begin=2031-01-20T1:2:3
--begin=1925-01-01
--begin=20310120
--begin=2031-01-20T12
--begin=uts1926892800
--begin=uts0
--begin=utsx
--begin=2031-01
--begin=2031-02-29
--begin=2032-02-29
-J a%b
-J %j
-J @
-o %j/%x
-o a%%b
-o a\%j
-o %5j
-o %05j-%A-%a
-o %N-%n-%t-%s-%u-%x
-o %b
-o %z
-o %
-o a%
-o %0j
-o %11j
-o %10j
-a1 -o %A_%a
-a1-3 -o %4a
-a1 -o %b
--export=A,B=c
--export=
--export=NONE,A
--nice=2147483646
--priority=4294967293
--array=1,1,2
--array=3,1,2
--array=1-3,2
--array=0-9:3,1
--array=0-100:7%3
--array=1-1
--array=007
--array=1-9:4
--array=5-1
--array=1:2
--array=,1
--array=1--2
--array=1-3%
--array=1-3%1000000
--array=0,2,4,6,8
--array=0,2,4,6,8,9
--array=1,3,5-9:2
--array=10-20:5,1
--array=1-2,4-5,7-8
"#;
