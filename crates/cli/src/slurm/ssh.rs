//! `ssh` in a job of a pretended cluster: nodes of the job are reached through `srun`, the hosts that
//! submit through this machine's shell, and any other host by the real `ssh`.

use crate::printer::Printer;
use crate::slurm::variable;
use cluster_file::ClusterFile;
use model::job_environment::GPU_VARIABLES;
use model::node_list;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Letters of `ssh`'s options that take a value (OpenSSH 9.2).
const WITH_VALUE: &str = "BbcDEeFIiJLlmOopQRSWw";
/// Letters of options that ask `ssh` itself, whatever the host.
const OF_ITSELF: &str = "GOQV";
/// Letters of options that want a connection which carries something else than a command.
const OF_A_CONNECTION: &str = "DLNRWsw";
/// What `ssh` ends with where it fails itself.
const FAILED: u8 = 255;

/// Where a call leads.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    /// A node of the job; the command, none is a shell.
    Node(String, Option<String>),
    /// A host on which jobs are submitted.
    Login(Option<String>),
    /// Nowhere: this option to a host of this cluster.
    Refused(char, String),
    /// The real one.
    Elsewhere,
}

/// Runs it; only comes back where that failed.
pub fn run(args: &[OsString], printer: &Printer) -> u8 {
    let nodes = variable("SLURM_JOB_NODELIST").unwrap_or_default();
    let nodes = node_list::expand(&nodes).unwrap_or_default();
    let words: Vec<String> = args.iter().map(|arg| sys::odd_text::text(arg)).collect();
    let is_node = |host: &str| nodes.iter().any(|node| node.as_str() == host);
    let error = match way(&words, &is_node, &login_hosts()) {
        Way::Node(host, command) => {
            let own = std::env::current_exe().unwrap_or_default();
            let mut srun = Command::new(&own);
            srun.args(["slurm", "srun", "--overlap", "-N1", "-n1", "-w", &host]);
            srun.args(variable("HOME").map(|home| format!("--chdir={home}")));
            match command {
                Some(command) => match horovods_place(&command) {
                    Some([local, ranks]) => srun
                        .arg(own)
                        .args(["job", "near-gpu", &local.to_string(), &ranks.to_string()])
                        .args(["sh", "-c", &without_gpus(&command, &variable)]),
                    None => srun.args(["sh", "-c", &command]),
                },
                None => srun.args(["--pty", "sh", "-l"]),
            };
            srun.exec()
        }
        Way::Login(command) => {
            let mut shell = Command::new("sh");
            match &command {
                Some(command) => shell.args(["-c", command]),
                None => shell.arg("-l"),
            };
            if let Some(home) = variable("HOME").filter(|home| Path::new(home).is_dir()) {
                shell.current_dir(home);
            }
            shell.exec()
        }
        Way::Refused(option, host) => {
            printer.say(&format!(
                "ssh: -{option} to {host}: hosts of a pretended cluster run commands and forward nothing; connect to \
                 a port by the name of its node, and copy files with cp"
            ));
            return FAILED;
        }
        Way::Elsewhere => match real() {
            Some(program) => Command::new(program).args(args).exec(),
            None => std::io::ErrorKind::NotFound.into(),
        },
    };
    printer.say(&format!("ssh: {error}"));
    FAILED
}

fn way(words: &[String], is_node: &dyn Fn(&str) -> bool, login: &[String]) -> Way {
    let mut rest = words.iter();
    let mut options = String::new();
    let Some(host) = next_operand(&mut rest, &mut options) else {
        return Way::Elsewhere;
    };
    let host = host
        .rsplit_once('@')
        .map_or(host.as_str(), |(_, host)| host);
    // Options may follow the host, as those of horovodrun do.
    let first = next_operand(&mut rest, &mut options);
    let command = first.into_iter().chain(rest);
    let command: Vec<&str> = command.map(String::as_str).collect();
    let command = (!command.is_empty()).then(|| command.join(" "));
    let one_of = |letters: &str| options.chars().find(|option| letters.contains(*option));
    let is_own = is_node(host) || login.iter().any(|name| name == host);
    if !is_own || one_of(OF_ITSELF).is_some() {
        Way::Elsewhere
    } else if let Some(option) = one_of(OF_A_CONNECTION) {
        Way::Refused(option, host.to_owned())
    } else if is_node(host) {
        Way::Node(host.to_owned(), command)
    } else {
        Way::Login(command)
    }
}

/// The next word that is neither an option nor the value of one, after `--` the next word; the letters of the options
/// before it go to `options`.
fn next_operand<'a>(
    words: &mut std::slice::Iter<'a, String>,
    options: &mut String,
) -> Option<&'a String> {
    loop {
        let word = words.next()?;
        match word.strip_prefix('-') {
            None => return Some(word),
            Some("-") => return words.next(),
            Some(letters) => {
                // The first letter that takes a value ends the word, or has it in the next one.
                let value = letters.find(|letter| WITH_VALUE.contains(letter));
                options.push_str(&letters[..value.map_or(letters.len(), |at| at + 1)]);
                if value.is_some_and(|at| at + 1 == letters.len()) {
                    words.next();
                }
            }
        }
    }
}

/// Where `horovodrun` puts the rank that a command is: its number on the node, and how many are there.
fn horovods_place(command: &str) -> Option<[u32; 2]> {
    let number = |name: &str| {
        let mut words = command.split_whitespace();
        let value = words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        value?.parse().ok()
    };
    Some([number("HOROVOD_LOCAL_RANK")?, number("HOROVOD_LOCAL_SIZE")?])
}

/// A rank's command without this node's GPUs, which `horovodrun` hands on with all its variables: the rank has those
/// of its own node, of a job whose nodes are one machine others.
fn without_gpus(command: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let own = GPU_VARIABLES
        .into_iter()
        .filter_map(|name| Some((name, variable(name)?)));
    own.fold(command.to_owned(), |command, (name, value)| {
        command.replace(&format!(" {name}={value} "), " ")
    })
}

/// The hosts on which the cluster's jobs are submitted: those of its file, and this machine.
fn login_hosts() -> Vec<String> {
    let file = || {
        let engine = variable(sys::env_vars::TRAINYARD_ENGINE)?;
        let path = api::EngineFolder::new(engine).cluster();
        let text = std::fs::read_to_string(path).ok()?;
        ClusterFile::parse("cluster", &text).ok()?.submit_hosts
    };
    let own = variable(sys::env_vars::TRAINYARD_HOST);
    let named = file().map(|hosts| hosts.value).unwrap_or_default();
    named.into_iter().chain(own).collect()
}

/// The first on `PATH` that is not this program.
fn real() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?.canonicalize().ok()?;
    let path = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&path).map(|folder| folder.join("ssh"));
    found.find(|program| program.is_file() && program.canonicalize().is_ok_and(|it| it != own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, want: Way) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let login = ["service0001".to_owned()];
        assert_eq!(way(&words, &|host| host.starts_with("node"), &login), want);
    }

    #[test]
    fn options_stand_around_the_host_and_the_command_after_them() {
        let node =
            |command: Option<&str>| Way::Node("node2".to_owned(), command.map(str::to_owned));
        check("node2 hostname", node(Some("hostname")));
        check("node2", node(None));
        check(
            "-o PasswordAuthentication=no -p 22 me@node2 cd /x ; env A=b python",
            node(Some("cd /x ; env A=b python")),
        );
        check("-tt -p22 -oBatchMode=yes node2 -v", node(None));
        check("-q node2 -p 22 -- -v", node(Some("-v")));
        check(
            "node2 -p 22  -o ConnectTimeout=9 true -v",
            node(Some("true -v")),
        );
        check(
            "service0001 sbatch job.sh",
            Way::Login(Some("sbatch job.sh".to_owned())),
        );
        check("github.com git-upload-pack", Way::Elsewhere);
        check("-V", Way::Elsewhere);
        // The value of an option is none.
        check("-o -N node2", node(None));
        check("-l N node2 true -N", node(Some("true -N")));
    }

    #[test]
    fn a_rank_of_horovodrun_has_its_node_s_gpus() {
        let rank = "cd /x > /dev/null 2>&1 ; HOROVOD_RANK=3 HOROVOD_LOCAL_RANK=1 HOROVOD_LOCAL_SIZE=2 \
                    CUDA_VISIBLE_DEVICES=0,1 GPU_DEVICE_ORDINAL=7 A='b c' python train.py";
        assert_eq!(horovods_place(rank), Some([1, 2]));
        assert_eq!(horovods_place("env HOROVOD_LOCAL_RANK=x true"), None);
        assert_eq!(horovods_place("hostname"), None);
        // What was set by hand for the rank stays.
        let own = |name: &str| (name != GPU_VARIABLES[1]).then(|| "0,1".to_owned());
        let want = rank.replace("CUDA_VISIBLE_DEVICES=0,1 ", "");
        assert_eq!(without_gpus(rank, &own), want);
    }

    /// They opened a login shell, which read the input of another program.
    #[test]
    fn what_asks_ssh_itself_or_is_no_command_opens_no_shell() {
        for line in ["-G node2", "-O check node2", "-TG node2", "-Q cipher node2"] {
            check(line, Way::Elsewhere);
        }
        let refused = |option| Way::Refused(option, "node2".to_owned());
        check("-W node2:22 me@node2", refused('W'));
        check("node2 -N", refused('N'));
        check("-fN -L 8080:localhost:80 node2", refused('N'));
        check("-s node2 sftp", refused('s'));
        check(
            "-D1080 service0001",
            Way::Refused('D', "service0001".to_owned()),
        );
        check("-NL 80:a:80 github.com", Way::Elsewhere);
    }
}
