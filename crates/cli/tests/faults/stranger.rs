//! Another user of the machine, who does what other users can do.

use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What the other user does, over and over: makes our names in world-writable folders first, writes
/// into sockets and files that can be reached, signals processes.
const PROGRAM: &str = r#"
import glob, os, signal, socket, sys, time
root, uid = sys.argv[1], sys.argv[2]
tmp = root + "/tmp"
def attempt(do, *args):
    try:
        do(*args)
    except OSError:
        pass
def write(path):
    fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    os.write(fd, b"garbage")
    os.close(fd)
def talk(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(0.1)
        one.connect(path)
        one.sendall(b'{"garbage"\n')
attempt(os.mkdir, f"{tmp}/trainyard-{uid}", 0o777)
attempt(os.mkfifo, f"{tmp}/trainyard-{uid}.lock")
print("ready", flush=True)
while True:
    for path in glob.glob(f"{tmp}/*") + glob.glob(f"{tmp}/*/*"):
        attempt(write, path)
        attempt(os.unlink, path)
    for path in glob.glob(f"{root}/yard/state/*/*/engine.sock"):
        attempt(talk, path)
    for path in glob.glob(f"{root}/yard/**", recursive=True)[:200]:
        attempt(write, path)
    for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
        attempt(os.kill, pid, 0)
    time.sleep(0.02)
"#;

/// The other user; ends when it is dropped.
pub struct Stranger {
    process: Child,
}

impl Stranger {
    /// Lets the other user begin.
    ///
    /// # Errors
    /// Why not, in words: only root can act as another.
    pub fn new(python: &Path, root: &Path) -> Result<Stranger, String> {
        use std::io::Read as _;
        use std::os::unix::fs::PermissionsExt as _;
        if sys::process::user() != 0 {
            return Err("only root can act as another user".to_owned());
        }
        let open = |path: &Path, mode: u32| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        open(root, 0o755);
        open(&root.join("yard"), 0o755);
        open(&root.join("tmp"), 0o1777);
        let mut process = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(python)
            .args(["-c", PROGRAM])
            .arg(root)
            .arg("0")
            // Not one of the processes of the run, which its environment would make it.
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("setpriv can't be started: {error}"))?;
        let mut ready = [0; 5];
        let said = process.stdout.take().unwrap().read_exact(&mut ready);
        let stranger = Stranger { process };
        match said {
            Ok(()) => Ok(stranger),
            Err(_) => Err("the other user can't run python".to_owned()),
        }
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}
