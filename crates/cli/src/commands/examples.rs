//! Examples of each command, for its help, its man page and `docs/commands.md`.

use clap::Command;

/// The columns of a common terminal.
const COMMON_WIDTH: usize = 80;

/// A command's words after `yard`, and calls of it, each with what it does.
type Examples = (&'static str, &'static [(&'static str, &'static str)]);

/// By command; those that only hold further commands have none.
const EXAMPLES: &[Examples] = &[
    (
        "run",
        &[
            ("yard run", "the yard.toml of this folder"),
            (
                "yard run examples/digits --time 10m",
                "of another one, with another limit",
            ),
            (
                "yard run --gpus-per-node 2 -- python train.py",
                "a command without a run file",
            ),
            (
                "yard run --repeat 5 --at-once 2",
                "five runs as one array, two at a time",
            ),
            (
                "yard run --from resnet50-k3f9",
                "at the newest checkpoint of another run",
            ),
            ("yard run job.sbatch", "a batch script, as it stands"),
            (
                "yard run --on local --detach",
                "on this machine, without waiting for it",
            ),
        ],
    ),
    (
        "sweep",
        &[(
            "yard sweep --wandb me/digits/x1y2z3 --trials 20 --at-once 5",
            "twenty trials of a sweep as one array, five at a time",
        )],
    ),
    (
        "plan",
        &[
            ("yard plan", "the yard.toml of this folder"),
            (
                "yard plan --on ibex",
                "for a cluster that is known by its file",
            ),
            (
                "yard plan --on ibex --beside job.sbatch",
                "compared with a batch script",
            ),
            (
                "yard plan --script",
                "the batch script that would be submitted",
            ),
        ],
    ),
    (
        "stage",
        &[(
            "yard stage datasets/imagenet labels.tar --to /local/me",
            "onto another disk",
        )],
    ),
    (
        "init",
        &[
            ("yard init", "from what is in this folder"),
            (
                "yard init job.sbatch",
                "what a batch script asks for, as a run file",
            ),
            ("yard init -- python train.py --lr 3", "for this command"),
        ],
    ),
    (
        "lint",
        &[
            ("yard lint job.sbatch", "what Slurm would make of it"),
            (
                "yard lint --on ibex --fix job.sbatch",
                "by one cluster's rules, and repaired",
            ),
            ("yard lint --explain Y012", "what a finding is about"),
        ],
    ),
    (
        "ls",
        &[
            ("yard ls", "runs, and other jobs of the last day"),
            (
                "yard ls --live --json",
                "what still waits or runs, for a program",
            ),
        ],
    ),
    (
        "top",
        &[
            ("yard top", "what waits and runs, as it changes"),
            ("yard top --all", "with what has ended"),
        ],
    ),
    (
        "serve",
        &[("yard serve", "and open the address that it prints")],
    ),
    (
        "show",
        &[
            ("yard show", "the newest run"),
            ("yard show digits-vfjk", "one run, by its id"),
            ("yard show 17", "a job, by its number"),
        ],
    ),
    (
        "logs",
        &[
            ("yard logs -f", "the newest run's output, as it comes"),
            (
                "yard logs digits-vfjk --rank 0 --last",
                "of one rank, since the last start",
            ),
        ],
    ),
    (
        "report",
        &[
            (
                "yard report",
                "a page about the newest run, in its run folder",
            ),
            (
                "yard report --compare digits-vfjk digits-k3f9 -o both.html",
                "two runs beside each other",
            ),
        ],
    ),
    (
        "tensorboard",
        &[(
            "yard tensorboard digits-vfjk",
            "on this machine; Ctrl-C ends it",
        )],
    ),
    (
        "notebook",
        &[("yard notebook", "in the newest run's folder")],
    ),
    (
        "wait",
        &[(
            "yard wait digits-vfjk 17",
            "until both are over; 0 if both succeeded",
        )],
    ),
    (
        "why",
        &[
            (
                "yard why digits-vfjk",
                "what the run waits for, and when it starts",
            ),
            ("yard why 17 --json", "the same of a job, for a program"),
        ],
    ),
    (
        "cancel",
        &[
            ("yard cancel digits-vfjk", "its checkpoints stay"),
            ("yard cancel @", "the newest run"),
        ],
    ),
    (
        "simulate",
        &[
            (
                "yard simulate KTH-SP2-1996-2.1-cln.swf.gz",
                "the machine of the log, with EASY backfill",
            ),
            (
                "yard simulate jobs.csv --cluster ibex --policy fifo,easy,conservative",
                "a table of jobs on a cluster, three policies compared",
            ),
            (
                "yard simulate log.swf --policy conservative --starts starts.csv",
                "when each job starts and ends",
            ),
            (
                "yard simulate log.swf --policy fifo,easy,slurm --pictures pictures",
                "use over time, waits by size and who held what, as SVG and PNG",
            ),
            (
                "yard simulate log.swf --cluster lab.toml --policy slurm --order multifactor",
                "partitions, tiers and fair shares of a cluster file",
            ),
        ],
    ),
    (
        "rm",
        &[(
            "yard rm digits-vfjk digits-k3f9",
            "two runs that are over, with all that their folders hold",
        )],
    ),
    (
        "du",
        &[("yard du", "what each run and cache holds, the largest last")],
    ),
    (
        "clean",
        &[
            ("yard clean --dry-run", "what would be removed, and why"),
            (
                "yard clean --force",
                "also checkpoints of which no other copy is there",
            ),
        ],
    ),
    (
        "shell",
        &[
            ("yard shell", "as the ranks of this folder's yard.toml run"),
            (
                "yard shell --image docker://ubuntu:24.04 --save mine",
                "changes an image, and saves it under another name",
            ),
            (
                "yard shell --gpus-per-node 1 -- nvidia-smi",
                "a command in its place",
            ),
        ],
    ),
    (
        "cache ls",
        &[("yard cache ls", "what is kept, and which runs use it")],
    ),
    (
        "cache prune",
        &[
            ("yard cache prune --dry-run", "what no run uses"),
            (
                "yard cache prune --all",
                "also what only runs use that are over",
            ),
        ],
    ),
    (
        "requeue",
        &[(
            "yard requeue digits-vfjk",
            "it continues from its newest checkpoint",
        )],
    ),
    (
        "attach",
        &[
            ("yard attach", "a shell beside the newest run's ranks"),
            ("yard attach digits-vfjk -- nvidia-smi", "one command there"),
        ],
    ),
    (
        "engine start",
        &[
            ("yard engine start", "it also starts by itself on first use"),
            (
                "yard engine start rig --nodes 4 --gpus-per-node 8",
                "another engine, of four pretended nodes: yard run --on rig",
            ),
            (
                "yard engine start twin --cluster satori",
                "the nodes, partitions and limits of a cluster file",
            ),
        ],
    ),
    (
        "engine stop",
        &[
            ("yard engine stop", "jobs that run are not ended"),
            ("yard engine stop rig", "another one"),
        ],
    ),
    (
        "engine rm",
        &[(
            "yard engine rm rig",
            "one that was stopped; runs keep their folders",
        )],
    ),
    (
        "engine status",
        &[("yard engine status --json", "for a program")],
    ),
    (
        "engine fail-node",
        &[(
            "yard engine fail-node node2 rig",
            "its jobs end as at a node's failure, or come back elsewhere",
        )],
    ),
    (
        "engine restore-node",
        &[(
            "yard engine restore-node node2 rig",
            "jobs start there again",
        )],
    ),
    (
        "engine preempt",
        &[
            (
                "yard engine preempt 12",
                "what its QOS, partition or cluster says of jobs whose place is taken",
            ),
            (
                "yard engine preempt 12_3 --mode requeue --on rig",
                "one element of an array, on another engine",
            ),
        ],
    ),
    (
        "engine ls",
        &[("yard engine ls", "this machine's own and those of clusters")],
    ),
    (
        "cluster ls",
        &[("yard cluster ls", "their names, nodes and GPUs")],
    ),
    (
        "cluster show",
        &[
            ("yard cluster show ibex", "in tables"),
            (
                "yard cluster show ibex --sources",
                "each value with its source",
            ),
        ],
    ),
    (
        "cluster check",
        &[("yard cluster check mine.toml", "1 where there is an error")],
    ),
    (
        "cluster import",
        &[(
            "yard cluster import --slurm-conf /etc/slurm/slurm.conf",
            "printed as a cluster file",
        )],
    ),
    (
        "port",
        &[
            (
                "yard port job.sbatch --to wilson --diff",
                "what would change, as a patch",
            ),
            (
                "yard port job.sbatch --from ibex --to wilson -o wilson.sbatch",
                "into a new file",
            ),
        ],
    ),
    (
        "slurm",
        &[
            ("yard slurm sbatch job.sbatch", "as Slurm's own sbatch does"),
            ("yard slurm squeue --me", "its queue"),
        ],
    ),
    (
        "completions",
        &[
            (
                "yard completions bash",
                "for ~/.local/share/bash-completion/completions/yard",
            ),
            (
                "yard completions zsh",
                "for a file _yard in a folder of fpath",
            ),
        ],
    ),
    (
        "man",
        &[
            ("yard man", "yard's own page; yard man | man -l - shows it"),
            ("yard man run", "the page of a command"),
            (
                "yard man --out ~/.local/share/man/man1",
                "all of them as files",
            ),
        ],
    ),
];

#[cfg(test)]
/// The calls of all examples.
pub fn calls() -> impl Iterator<Item = &'static str> {
    EXAMPLES
        .iter()
        .flat_map(|(_, examples)| examples.iter().map(|(call, _)| *call))
}

/// Puts the examples below the help of every command.
pub fn add_to(command: Command) -> Command {
    EXAMPLES.iter().fold(command, |command, (path, examples)| {
        let mut words: Vec<&str> = path.split(' ').collect();
        words.reverse();
        at(command, &mut words, &text(examples))
    })
}

/// The same for the command at the end of a path.
fn at(command: Command, rest: &mut Vec<&str>, text: &str) -> Command {
    match rest.pop() {
        None => command.after_help(text.to_owned()),
        Some(word) => command.mut_subcommand(word, |sub| at(sub, rest, text)),
    }
}

/// What a call does stands beside it where all of them fit a common terminal, else above it.
fn text(examples: &[(&str, &str)]) -> String {
    let widest = examples.iter().map(|(call, _)| call.len()).max();
    let widest = widest.unwrap_or(0);
    let beside = |(call, what): &(&str, &str)| format!("\n  {call:<widest$}  # {what}");
    let above = |(call, what): &(&str, &str)| format!("\n  # {what}\n  {call}");
    let lines: String = examples.iter().map(beside).collect();
    let lines = if lines.lines().all(|line| line.len() <= COMMON_WIDTH) {
        lines
    } else {
        examples.iter().map(above).collect()
    };
    format!("Examples:{lines}")
}
